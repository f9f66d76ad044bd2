//! `stampede reproduce`: a published experiment again, each of its tables a study, and its figures beside ours.

pub(crate) mod args;

use std::path::Path;

use stampede_conduct::{Ended, Exit, Experiment, Failure, Host};
use stampede_plan::ReproducePlan;

use crate::reproduce::args::ReproduceArgs;
use crate::study_place::Report;
use crate::{Outcome, screen};
use stampede_catalogue::{self as catalogue, BuiltIn};

pub(crate) fn run(args: Box<ReproduceArgs>, host: &dyn Host) -> Outcome {
    let ReproduceArgs { name, flags, studies, resume, backend, output, store, bench } = *args;
    let Some(name) = name else { return list() };
    let (name, known) = catalogue::experiments(name).map_err(Failure::usage)?;
    let plan = ReproducePlan::read(&name, &flags, &known, host.size(), &BuiltIn);
    let (plan, report) = Failure::both(plan.map_err(Failure::usage), Report::new(output.0))?;
    let bench = bench.on(host);
    let store = store.file()?;
    if let Some(names) = studies {
        let experiment = Experiment::of_stored(bench, &plan, store.clone(), &names)?;
        return conclude(&experiment, Ok(Ended::Complete), &report, &store);
    }
    let experiment = Experiment::new(bench, &plan, store.clone());
    let mut experiment = if resume.resume.is_some() { experiment.resumed() } else { experiment };
    let ended = experiment.carry_out(backend.backend.chosen())?;
    conclude(&experiment, ended, &report, &store)
}

fn list() -> Outcome {
    let mut rows = Vec::new();
    for known in catalogue::publications() {
        let title = known.title().map_err(Failure::usage)?;
        rows.push((known.name, vec![title]));
    }
    screen::print(&(stampede_report::list::named(rows, screen::width()).join("\n") + "\n"))?;
    Ok(Exit::Done)
}

/// Prints what came of it, all of it or as far as it went.
fn conclude(experiment: &Experiment<'_>, ended: Result<Ended, Failure>, report: &Report, store: &Path) -> Outcome {
    let exit = stampede_answers::experiment(experiment, &|answer| {
        report.put(answer)?;
        if report.on_terminal() {
            screen::note(&format!("stored in {}", store.display()));
        }
        Ok(())
    })?;
    match ended? {
        Ended::Interrupted => {
            screen::warning("interrupted; what was measured is kept, and the same command with --resume continues");
            Ok(Exit::Interrupted)
        }
        Ended::Complete => Ok(exit),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::time::Duration;

    use stampede_core::{Bytes, CaseId, ClaimTest, Runtime};
    use stampede_plan::{Catalogue, KnownPublication, MachineSize, ReproduceFlags};

    use super::*;

    /// What is in the repository, of which nothing has to be unpacked.
    struct Repository;

    const WORKLOADS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads");

    impl Catalogue for Repository {
        fn runtimes(&self) -> &[&'static dyn Runtime] {
            stampede_runtimes::all()
        }

        fn workloads(&self) -> Vec<String> {
            let folders = fs::read_dir(WORKLOADS).unwrap().filter_map(Result::ok);
            folders.filter_map(|folder| folder.file_name().into_string().ok()).collect()
        }

        fn workload_folder(&self, name: &str) -> Result<PathBuf, String> {
            Ok(Path::new(WORKLOADS).join(name))
        }

        fn generated(&self, workload: &Path, command: &[String]) -> Result<PathBuf, String> {
            BuiltIn.generated(workload, command)
        }
    }

    const LARGE: MachineSize = MachineSize { cpus: 8, memory: Bytes::from_mib(16_384), connections: 100_000 };

    /// Rows that nothing in the repository can serve: binaries that hold an application.
    fn is_served_elsewhere(row: &CaseId) -> bool {
        row.as_str().starts_with("binary")
    }

    /// Builds of PHP that rows name, and where nothing has to be for a plan.
    fn builds_of(name: &str) -> Vec<String> {
        let builds: &[&str] = match name {
            "musl" => &["musl"],
            "thread-safe" => &["zts"],
            _ => &[],
        };
        builds.iter().map(|build| format!("{build}=/opt/{build}/bin/php")).collect()
    }

    #[test]
    fn the_times_of_a_scenario_are_scaled_once() {
        let rinha = catalogue::publications().into_iter().find(|known| known.name == "rinha").unwrap();
        let flags = ReproduceFlags {
            scale: Some("0.1".to_owned()),
            tables: Some("entry".to_owned()),
            ..ReproduceFlags::default()
        };
        // The scenario's own length is 205 s.
        for (duration, expected) in [("", 20_500), ("    duration: 100s\n", 10_000)] {
            let text = rinha.text.replace("    warm_up: 0s\n", &format!("    warm_up: 0s\n{duration}"));
            let known = [KnownPublication { text, ..rinha.clone() }];
            let plan = ReproducePlan::read("rinha", &flags, &known, LARGE, &Repository);
            let plan = plan.unwrap();
            let row = plan.tables[0].rows[0].plan.as_ref().unwrap();
            assert_eq!(row.duration, Duration::from_millis(expected), "{duration:?}");
            let crowds = row.scenario.as_ref().map(|scenario| scenario.crowds[0].load.clone());
            assert_eq!(crowds, Some(row.load.clone()));
        }
    }

    #[test]
    fn every_row_of_every_experiment_can_be_planned_and_every_metric_is_known() {
        for known in catalogue::publications() {
            for full in [false, true] {
                let builds = builds_of(&known.name);
                let flags = ReproduceFlags { full, builds, ..ReproduceFlags::default() };
                let (name, all) = (&known.name, catalogue::publications());
                let plan = ReproducePlan::read(name, &flags, &all, LARGE, &Repository);
                let plan = plan.unwrap();
                for row in plan.tables.iter().flat_map(|table| &table.rows) {
                    match &row.plan {
                        Ok(plan) => assert_eq!(plan.candidates[0].id, row.case, "{}", known.name),
                        Err(problem) => {
                            let name = &known.name;
                            assert!(is_served_elsewhere(&row.case), "{name} {}: {problem}", row.case);
                        }
                    }
                }
                for table in &plan.publication.tables {
                    for column in &table.columns {
                        assert!(stampede_analysis::metric(&column.metric).is_some(), "{}", column.metric);
                    }
                    // With the figures, a line of 80 characters holds no more.
                    for row in &table.rows {
                        assert!(row.title.chars().count() <= 32, "{}: {}", known.name, row.title);
                    }
                }
                for claim in &plan.publication.claims {
                    let metric = match &claim.test {
                        ClaimTest::Ratio { metric, .. } => metric.as_deref(),
                        ClaimTest::Figure { metric, .. } => Some(metric.as_str()),
                        ClaimTest::Untested { .. } => None,
                    };
                    assert!(metric.is_none_or(|key| stampede_analysis::metric(key).is_some()), "{metric:?}");
                }
            }
        }
    }
}
