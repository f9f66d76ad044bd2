//! Prepares an application: its own commands are run once, in a container and in a copy that all trials are then copied from.

use std::path::{Path, PathBuf};

use stampede_core::{App, with_causes};
use stampede_seam::PrepareError;

use super::engine::Engine;
use super::sandbox::{Order, Purpose, Sandbox};
use crate::layout::folder::{Folder, HOME};
use crate::log_tail::{self, with_log};
use crate::machine::user;
use crate::units::{COMMAND_TIME, Command, DEFAULT_PATH};

/// A prepared copy, in the folder of a run; it is removed with its container when this is dropped.
#[derive(Debug)]
pub(super) struct Preparation {
    pub(super) folder: Folder,
    _sandbox: Sandbox,
}

/// Copies an application and runs its commands, one after the other.
pub(super) async fn prepare(
    engine: &Engine,
    state_dir: &Path,
    image: String,
    app: &App,
    offline: bool,
) -> Result<Preparation, PrepareError> {
    let failed = |error: &dyn std::error::Error| PrepareError::Copy(with_causes(error));
    let user = user::for_units().map_err(|error| failed(&error))?;
    let order = Order { image, user, shown: None, purpose: Purpose::Preparation };
    let mut sandbox = Sandbox::open(engine, state_dir, order).await.map_err(|error| failed(&error))?;
    let nothing = || PrepareError::Copy("the container has no folder".to_owned());
    let folder = sandbox.folder.take().ok_or_else(nothing)?;
    let (copied, source) = (folder.clone(), app.source.clone());
    let copied = tokio::task::spawn_blocking(move || {
        copied.copy_app(&source)?;
        [HOME, "logs"].into_iter().try_for_each(|writable| copied.make_writable(Path::new(writable)))
    });
    copied.await.map_err(|error| failed(&error))?.map_err(|error| failed(&error))?;
    let mut env = app.env.clone();
    env.entry("PATH".to_owned()).or_insert_with(|| DEFAULT_PATH.to_owned());
    env.entry("HOME".to_owned()).or_insert_with(|| folder.path().join(HOME).display().to_string());
    if offline {
        // <https://getcomposer.org/doc/03-cli.md#composer-disable-network>
        env.entry("COMPOSER_DISABLE_NETWORK".to_owned()).or_insert_with(|| "1".to_owned());
    }
    for (number, words) in app.prepare.iter().enumerate() {
        let Some((program, args)) = words.split_first() else { continue };
        let log: PathBuf = folder.log(&format!("prepare-{number}"));
        let command = Command {
            path: program.clone(),
            args: args.to_vec(),
            env: env.clone(),
            dir: folder.app(),
            log: log.clone(),
        };
        if let Err(problem) = sandbox.inside.run(&command, None, COMMAND_TIME).await.map_err(|error| failed(&error))? {
            let problem = with_log(&problem, &log_tail::read(&log));
            return Err(PrepareError::Command { command: words.join(" "), problem });
        }
    }
    Ok(Preparation { folder, _sandbox: sandbox })
}
