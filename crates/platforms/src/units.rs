//! What becomes of a deployment's units on any platform: their programs with places filled in, where they listen, how they end.
//! Knows neither the warden nor the container engine.

pub(crate) mod app_log;
pub(crate) mod end;
pub(crate) mod readiness;
pub(crate) mod restart;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fs, io};

use serde::{Deserialize, Serialize};
use stampede_core::{
    AddressId, Deployment, Endpoint, Places, Program, StatusSource, StopSignal, Unit, UnitExit, UnitId, UnitRestart,
    UnitStatus,
};
use stampede_seam::{LaunchError, Located, LogTail, Moment, Vantage};
use tokio::sync::watch;

use crate::layout::folder::Folder;
use crate::log_tail;

/// How long a program's check of its configuration may take.
pub(crate) const CHECK_TIME: Duration = Duration::from_secs(10);

/// How long the preparation of an application may take: a container is compiled in seconds, ten times longer on a tenth
/// of a processor.
pub(crate) const PREPARATION_TIME: Duration = Duration::from_secs(120);
/// How long a command that prepares an application may take: a `composer install` over a slow line.
pub(crate) const COMMAND_TIME: Duration = Duration::from_secs(600);

/// The search path of units that are given none.
pub(crate) const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A program with all places filled in.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Command {
    pub(crate) path: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    /// Where it is run.
    pub(crate) dir: PathBuf,
    /// Where standard output and standard error go.
    pub(crate) log: PathBuf,
}

/// A unit that was started.
pub(crate) struct StartedUnit {
    pub(crate) id: UnitId,
    /// What it prints, and its own files.
    logs: Vec<PathBuf>,
    /// The copy of the application.
    app: PathBuf,
    pub(crate) grace: Duration,
}

impl StartedUnit {
    pub(crate) fn new(unit: &Unit, folder: &Folder) -> Result<Self, LaunchError> {
        let own = unit.logs.iter().map(|path| app_log::inside(folder, path));
        let logs = [Ok(folder.log(unit.id.as_str()))].into_iter().chain(own).collect::<Result<_, _>>();
        let logs = logs.map_err(|error| LaunchError::Prepare(error.to_string()))?;
        Ok(Self { id: unit.id.clone(), logs, app: folder.app(), grace: unit.stop.grace })
    }
}

/// The ends of a unit's logs.
pub(crate) fn logs<'a>(units: impl IntoIterator<Item = &'a StartedUnit>, unit: &UnitId) -> LogTail {
    let units = units.into_iter().filter(|started| started.id == *unit);
    let files = units.flat_map(|started| started.logs.iter().flat_map(|log| app_log::files(&started.app, log)));
    let texts: Vec<String> = files.map(|file| log_tail::text(&file)).collect();
    LogTail::of(texts.iter().flat_map(|text| text.lines()))
}

/// The address of this name.
pub(crate) fn endpoint(endpoints: &BTreeMap<AddressId, Endpoint>, id: &AddressId) -> Result<Endpoint, LaunchError> {
    let none = || LaunchError::Prepare(format!("find the address {id}: the deployment has none"));
    endpoints.get(id).cloned().ok_or_else(none)
}

/// Where a deployment is that begins to run now.
pub(crate) fn located(
    deployment: &Deployment,
    endpoints: BTreeMap<AddressId, Endpoint>,
    places: Places,
    vantage: Arc<dyn Vantage>,
) -> Result<Located, LaunchError> {
    let (front, started) = (endpoint(&endpoints, &deployment.front)?, vantage.now());
    Ok(Located { vantage, front, endpoints, places, started })
}

/// Where units tell of themselves.
pub(crate) fn statuses(
    deployment: &Deployment,
    endpoints: &BTreeMap<AddressId, Endpoint>,
) -> Result<Vec<UnitStatus>, LaunchError> {
    let all = deployment.units.iter().flat_map(|unit| unit.statuses.iter().map(|status| (&unit.id, status)));
    let resolved = all.map(|(unit, StatusSource { address, transport, format })| {
        let address = endpoint(endpoints, address)?;
        Ok((unit.clone(), StatusSource { address, transport: transport.clone(), format: format.clone() }))
    });
    resolved.collect()
}

/// The text of a file that is named with places, where it is there.
pub(crate) fn read_file(places: &Places, file: &str) -> Result<Option<String>, String> {
    let path = places.resolve(file).map_err(|error| error.to_string())?;
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("read {path}: {error}")),
    }
}

/// Units that were started again, each with when after the first start.
pub(crate) fn restarts(told: &Mutex<Vec<(Moment, UnitExit)>>, started: Moment) -> Vec<UnitRestart> {
    let told = told.lock().unwrap_or_else(PoisonError::into_inner);
    let after = |at: &Moment| at.since(started);
    told.iter()
        .map(|(at, UnitExit { unit, how })| UnitRestart { unit: unit.clone(), how: how.clone(), after: after(at) })
        .collect()
}

/// Tells that a unit has ended. The first end is the one that matters; others often follow from it.
pub(crate) fn tell(exit: &watch::Sender<Option<UnitExit>>, ended: UnitExit) {
    exit.send_if_modified(|known| {
        let first = known.is_none();
        known.get_or_insert(ended);
        first
    });
}

/// Fills in the places of a program.
pub(crate) fn command(
    program: &Program,
    folder: &Folder,
    places: &Places,
    log: PathBuf,
) -> Result<Command, LaunchError> {
    let resolve = |text: &String| {
        places.resolve(text).map_err(|error| LaunchError::Prepare(format!("{}: {error}", program.path)))
    };
    let args = program.args.iter().map(resolve);
    let env = program.env.iter().map(|(name, value)| Ok((name.clone(), resolve(value)?)));
    let mut env = env.collect::<Result<BTreeMap<_, _>, LaunchError>>()?;
    env.entry("PATH".to_owned()).or_insert_with(|| DEFAULT_PATH.to_owned());
    Ok(Command {
        path: resolve(&program.path)?,
        args: args.collect::<Result<_, _>>()?,
        env,
        dir: folder.path().to_owned(),
        log,
    })
}

pub(crate) fn signal_number(signal: StopSignal) -> i32 {
    match signal {
        StopSignal::Term => libc::SIGTERM,
        StopSignal::Quit => libc::SIGQUIT,
        StopSignal::Int => libc::SIGINT,
        StopSignal::Winch => libc::SIGWINCH,
        StopSignal::Usr1 => libc::SIGUSR1,
    }
}
