//! `stampede init`: a plan for an application, with the answers that it gives now.

pub(crate) mod args;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use stampede_conduct::{ANSWERS, Bench, Host, NewPlan, RequestsOfPlan, SiteWalk, init};
use stampede_plan::{ComparePlan, PLAN_FILE};
use stampede_traffic::{PlannedTraffic, SCENARIO};

use crate::exit::{Exit, Failure};
use crate::flags::WaitArgs;
use crate::init::args::InitArgs;
use crate::{Outcome, screen};
use stampede_catalogue::BuiltIn;

pub(crate) fn run(args: &InitArgs, host: &dyn Host) -> Outcome {
    let InitArgs { dir, site, databases, traffic, force, wait: WaitArgs { no_wait } } = args;
    let file = dir.join(PLAN_FILE);
    if !dir.is_dir() {
        return Err(Failure::usage(format!("folder {} does not exist; name your application's folder", dir.display())));
    }
    let files = [file.clone(), dir.join(ANSWERS), dir.join(SCENARIO)];
    if let Some(there) = files.into_iter().find(|path| path.exists()).filter(|_| !force) {
        let file = there.display();
        return Err(Failure::usage(format!("{file} exists already; add --force to overwrite it")));
    }
    stampede_machine::writable(&file)
        .map_err(|error| Failure::usage(format!("{} cannot be written: {error}", file.display())))?;
    let requests = match (traffic.crawl, traffic.source()) {
        (Some(most), _) => RequestsOfPlan::Walked(Box::new(SiteWalk::new(most)?)),
        (None, Some(source)) => {
            let traffic = PlannedTraffic::read(source, site.host.as_deref(), &open);
            RequestsOfPlan::Read(traffic.map_err(Failure::usage)?)
        }
        (None, None) => RequestsOfPlan::OfApplication,
    };
    let plan = ComparePlan::of_application(dir, site, databases, host.size(), &BuiltIn).map_err(Failure::usage)?;
    let Some(plan) = init(Bench { host, no_wait: *no_wait, quiet: false }, plan, requests)? else {
        screen::warning("interrupted; nothing was written");
        return Ok(Exit::Interrupted);
    };
    let scenario = plan.scenario_file().map(|scenario| format!(", {}", dir.join(scenario).display()));
    write(dir, plan, databases.dump.database.as_deref())?;
    let scenario = scenario.unwrap_or_default();
    screen::print(&format!("wrote {}{scenario} and {}/\n", file.display(), dir.join(ANSWERS).display()))?;
    screen::note(&format!("next: stampede compare {}", dir.display()));
    Ok(Exit::Done)
}

/// Opens a file that requests are read from.
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn io::Read>> {
    Ok(Box::new(File::open(path)?))
}

/// Writes a plan with its files in the place of one that is there.
fn write(dir: &Path, plan: NewPlan, dump: Option<&Path>) -> Result<(), Failure> {
    let failed = |what: &str, path: &Path| {
        let problem = format!("cannot {what} {}", path.display());
        move |error: io::Error| Failure::missing(format!("{problem}: {error}"))
    };
    let (answers, scenario) = (dir.join(ANSWERS), dir.join(SCENARIO));
    if scenario.exists() {
        fs::remove_file(&scenario).map_err(failed("remove", &scenario))?;
    }
    if answers.exists() {
        fs::remove_dir_all(&answers).map_err(failed("write", &answers))?;
    }
    fs::create_dir_all(&answers).map_err(failed("write", &answers))?;
    let dump = dump.map(|dump| from_plan(dir, dump));
    plan.files(dir, dump.as_deref()).into_iter().try_for_each(|(path, content)| {
        let path = dir.join(path);
        fs::write(&path, content).map_err(failed("write", &path))
    })
}

/// A file as the plan in this folder names it: from there, or whole where it lies elsewhere.
fn from_plan(dir: &Path, file: &Path) -> PathBuf {
    let whole = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let file = whole(file);
    file.strip_prefix(whole(dir)).map(Path::to_owned).unwrap_or(file)
}
