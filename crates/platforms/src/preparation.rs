//! Prepares an application: its own commands are run once, in a copy that all trials are then copied from.
//!
//! That copy lies in the folder of a run of its own, whose warden runs the commands and removes everything at the end,
//! whatever happens to Stampede.

use std::env;
use std::fmt::Display;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use stampede_core::{App, with_causes};
use stampede_seam::{PrepareError, Vantage};

use crate::custody::Custody;
use crate::folder::Folder;
use crate::local::LocalConfig;
use crate::log_tail::{self, with_log};
use crate::message::{Command, News, Order};
use crate::running::{DEFAULT_PATH, WardenLine};
use crate::user;

/// How long a command may take: a `composer install` over a slow line.
pub(crate) const LIMIT: Duration = Duration::from_secs(600);

/// What programs take for the user's own folder, relative to the run's: tools keep caches there.
pub(crate) const HOME: &str = "home";

/// A prepared copy; it is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Preparation {
    app: PathBuf,
    // The line goes first: the warden ends the run when it closes, and the custody waits for that.
    _warden: WardenLine,
    _custody: Custody,
}

impl Preparation {
    /// Where the copy is.
    pub(crate) fn folder(&self) -> PathBuf {
        self.app.clone()
    }
}

/// Copies an application and runs its commands, one after the other.
pub(crate) async fn prepare(
    config: &LocalConfig,
    app: &App,
    vantage: &Arc<dyn Vantage>,
) -> Result<Preparation, PrepareError> {
    let (config, source) = (config.clone(), app.source.clone());
    let copied = tokio::task::spawn_blocking(move || copy(&config, &source)).await.map_err(failed)??;
    let Copied { custody, folder, socket, begin } = copied;
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
        let problem = match warden.ask(&Order::Check { command, part: None, limit: LIMIT }).await.map_err(failed)? {
            News::Checked(Ok(())) => continue,
            News::Checked(Err(problem)) => problem,
            other => format!("the warden answered something else: {other:?}"),
        };
        let problem = with_log(&problem, &log_tail::read(&log));
        return Err(PrepareError::Command { command: words.join(" "), problem });
    }
    Ok(Preparation { app: folder.app(), _warden: warden, _custody: custody })
}

struct Copied {
    custody: Custody,
    folder: Folder,
    socket: UnixStream,
    begin: Order,
}

/// Makes the run's lease, folder and warden. It has no control group: what is prepared is not measured.
fn copy(config: &LocalConfig, source: &Path) -> Result<Copied, PrepareError> {
    let user = user::for_units().map_err(failed)?;
    let mut custody = Custody::begin(&config.state_dir, None).map_err(failed)?;
    let folder = Folder::create(&custody.run().folder, user).map_err(|error| failed(with_causes(&error)))?;
    folder
        .copy_app(source)
        .and_then(|()| folder.make_writable(Path::new(HOME)))
        .map_err(|error| failed(with_causes(&error)))?;
    let socket = custody.start_warden(&config.warden).map_err(failed)?;
    let begin = Order::Begin { run: custody.run().clone(), user, cpus: config.server_cpus.clone() };
    Ok(Copied { custody, folder, socket, begin })
}

fn failed(error: impl Display) -> PrepareError {
    PrepareError::Copy(error.to_string())
}
