//! Prepares an application: its own commands are run once, in a copy that all trials are then copied from.
//!
//! That copy lies in the folder of a run of its own, whose warden runs the commands and removes everything at the end,
//! whatever happens to Stampede.

use std::env;
use std::fmt::Display;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stampede_core::{App, with_causes};
use stampede_seam::{PrepareError, Vantage};

use super::LocalConfig;
use super::message::{News, Order};
use super::running::WardenLine;
use crate::layout::app_copy::{self, Survey};
use crate::layout::folder::{Folder, HOME};
use crate::log_tail::{self, with_log};
use crate::machine::user;
use crate::runs::process_owner::ProcessOwner;
use crate::units::{COMMAND_TIME, Command, DEFAULT_PATH};

/// A prepared copy; it is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Preparation {
    app: PathBuf,
    remark: Option<String>,
    // The line goes first: the warden ends the run when it closes, and the owner waits for that.
    _warden: WardenLine,
    _owner: ProcessOwner,
}

impl Preparation {
    /// Where the copy is.
    pub(crate) fn folder(&self) -> PathBuf {
        self.app.clone()
    }

    /// How long an application took to copy whose packages runs share.
    pub(crate) fn remark(&self) -> Option<String> {
        self.remark.clone()
    }
}

/// Copies an application and runs its commands, one after the other. One with a survey shares its packages with its runs.
pub(crate) async fn prepare(
    config: &LocalConfig,
    app: &App,
    shared: Option<&Survey>,
    vantage: &Arc<dyn Vantage>,
) -> Result<Preparation, PrepareError> {
    let (config, source) = (config.clone(), app.source.clone());
    let begun = vantage.now();
    let copied = tokio::task::spawn_blocking(move || copy(&config, &source)).await.map_err(failed)??;
    let Copied { owner, folder, socket, begin } = copied;
    let took = vantage.now().since(begun);
    let mut warden = WardenLine::new(socket, Arc::clone(vantage)).map_err(failed)?;
    warden.send(&begin).await.map_err(failed)?;
    let mut env = app.env.clone();
    let path = || env::var("PATH").unwrap_or_else(|_| DEFAULT_PATH.to_owned());
    env.entry("PATH".to_owned()).or_insert_with(path);
    env.entry("HOME".to_owned()).or_insert_with(|| folder.path().join(HOME).display().to_string());
    for (number, words) in app.prepare.iter().enumerate() {
        let Some((program, args)) = words.split_first() else { continue };
        let log = folder.log(&format!("prepare-{number}"));
        let command = Command {
            path: program.clone(),
            args: args.to_vec(),
            env: env.clone(),
            dir: folder.app(),
            log: log.clone(),
        };
        let problem =
            match warden.ask(&Order::Check { command, part: None, limit: COMMAND_TIME }).await.map_err(failed)? {
                News::Checked(Ok(())) => continue,
                News::Checked(Err(problem)) => problem,
                other => format!("the warden answered something else: {other:?}"),
            };
        let problem = with_log(&problem, &log_tail::read(&log));
        return Err(PrepareError::Command { command: words.join(" "), problem });
    }
    let mut remark = None;
    if let Some(survey) = shared {
        let app = folder.app();
        let done = tokio::task::spawn_blocking(move || app_copy::share_packages(&app)).await.map_err(failed)?;
        done.map_err(|error| failed(with_causes(&error)))?;
        remark = Some(survey.copied_once(took));
    }
    Ok(Preparation { app: folder.app(), remark, _warden: warden, _owner: owner })
}

struct Copied {
    owner: ProcessOwner,
    folder: Folder,
    socket: UnixStream,
    begin: Order,
}

/// Makes the run's lease, folder and warden. It has no control group: what is prepared is not measured.
fn copy(config: &LocalConfig, source: &Path) -> Result<Copied, PrepareError> {
    let user = user::for_units().map_err(failed)?;
    let mut owner = ProcessOwner::begin(&config.state_dir, None).map_err(failed)?;
    let folder = Folder::create(&owner.run().folder, user).map_err(|error| failed(with_causes(&error)))?;
    folder
        .copy_app(source)
        .and_then(|()| folder.make_writable(Path::new(HOME)))
        .map_err(|error| failed(with_causes(&error)))?;
    let socket = owner.start_warden(&config.warden).map_err(failed)?;
    let begin = Order::Begin { run: owner.run().clone(), user, cpus: config.server_cpus.clone() };
    Ok(Copied { owner, folder, socket, begin })
}

fn failed(error: impl Display) -> PrepareError {
    PrepareError::Copy(error.to_string())
}
