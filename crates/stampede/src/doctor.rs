//! `stampede doctor`: is this machine fit to measure?

pub(crate) mod args;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use stampede_core::{Finding, Load, Machine, NoiseFloor, Severity, Study, with_causes};
use stampede_platforms::{docker, doctor, scope};
use stampede_report::doctor as report;
use stampede_store::Store;

use self::args::DoctorArgs;
use crate::destination::{is_stdout, put, writable};
use crate::exit::{Exit, Failure};
use crate::open_files::raise_open_files;
use crate::{Outcome, list, screen};
use stampede_conduct::Host;

pub(crate) fn run(args: &DoctorArgs, host: &dyn Host) -> Outcome {
    let DoctorArgs { json, store } = args;
    if let Some(path) = json.as_deref().filter(|path| !is_stdout(path)) {
        writable(path)
            .map_err(|error| Failure::usage(format!("--json {} cannot be written: {error}", path.display())))?;
    }
    // What it fails for is found again, with advice.
    let _ = scope::enter(Path::new("/"));
    raise_open_files();
    let machine = host.machine();
    let mut findings = doctor::examine();
    findings.push(docker::examine());
    findings.push(runtimes()?);
    findings.push(calibrated(&store.file()?, &machine));
    if let Some(path) = json {
        put(path, &report::json(&machine, &findings))?;
    }
    if !json.as_deref().is_some_and(is_stdout) {
        screen::print(&report::terminal(&machine, &findings, screen::width(), screen::colour_on(&io::stdout())))?;
    }
    Ok(if report::is_fit(&findings) { Exit::Done } else { Exit::Missing })
}

/// Says in a line whether this machine can measure, to a person who measures with this store for the first time.
pub(crate) fn introduce(store: &Path, quiet: bool) {
    if quiet || store.exists() || !screen::is_terminal(&io::stderr()) {
        return;
    }
    // As in `run`.
    let _ = scope::enter(Path::new("/"));
    raise_open_files();
    screen::note(&format!("{} More: stampede doctor", report::line(&doctor::examine())));
}

/// Which runtimes are here.
fn runtimes() -> Result<Finding, Failure> {
    let found = list::installed()?;
    let count = found.len();
    let (severity, text, advice) = if found.is_empty() {
        (Severity::Error, "no runtime is installed".to_owned(), "see what each needs: stampede list runtimes")
    } else {
        let others = "stampede list runtimes says how to get others";
        (Severity::Info, format!("{count} here: {}", found.join(", ")), others)
    };
    let evidence = BTreeMap::from([("runtimes".to_owned(), count as f64)]);
    Ok(Finding { id: "runtimes".to_owned(), severity, text, evidence, advice: advice.to_owned() })
}

/// What calibrations of this machine say.
fn calibrated(store: &Path, machine: &Machine) -> Finding {
    let stored = Store::open_existing(store).and_then(|store| stampede_conduct::calibrations_of(&store, machine));
    let (severity, text, advice) = match stored {
        Err(error) => (Severity::Warning, with_causes(&error), "choose another store with --store"),
        Ok(known) if known.is_empty() => (
            Severity::Info,
            "not measured on this machine: nothing is known of its bias".to_owned(),
            "stampede compare markdown --calibrate, under the limits and the load that you compare under",
        ),
        Ok(known) => (Severity::Info, newest(&known), ""),
    };
    Finding { id: "noise-floor".to_owned(), severity, text, evidence: BTreeMap::new(), advice: advice.to_owned() }
}

/// The newest calibration of each platform, limits and model of load: `1.8 % in throughput under 0.5 CPU and 256Mi, closed load,
/// platform local`.
fn newest(known: &[(Study, NoiseFloor)]) -> String {
    let mut told: Vec<(String, String)> = Vec::new();
    for (study, floor) in known {
        let Some(case) = study.cases.first() else { continue };
        let (model, primary) = (
            if matches!(case.load, Load::Open { .. }) { "open" } else { "closed" },
            stampede_analysis::primary(&case.load),
        );
        let (limits, platform) = (&case.limits, &case.platform);
        let conditions = format!("{} CPU and {}, {model} load, platform {platform}", limits.cpus, limits.memory);
        let Some(floor) = floor.metrics.get(primary.key) else { continue };
        if told.iter().all(|(before, _)| *before != conditions) {
            told.push((conditions, format!("{:.1} % in {}", floor.share * 100.0, primary.title)));
        }
    }
    let told = told.iter().map(|(conditions, floor)| format!("{floor} under {conditions}"));
    told.collect::<Vec<_>>().join("; ")
}
