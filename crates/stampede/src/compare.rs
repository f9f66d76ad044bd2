//! `stampede compare`: which runtime is fastest under these limits, and how sure are we?

use std::path::Path;

use stampede_conduct::{
    Deciding, Ended, Exit, Failure, Host, Record, StudyRequest, carry_out, compare_with_open_part, exit_of, read_metric,
};
use stampede_core::{Failures, Rounds, StudyKind, Trial};
use stampede_plan::ComparePlan;

use crate::args::CompareArgs;
use crate::show::Report;
use crate::{Outcome, capacity, doctor, folders, screen};
use stampede_catalogue::BuiltIn;

pub(crate) fn run(args: Box<CompareArgs>, host: &dyn Host) -> Outcome {
    let CompareArgs { flags, at, metric, dry_run, backend, resume, output, store, bench } = *args;
    let plan = ComparePlan::read_with_open_part(&flags, &at, host.size(), &BuiltIn).map_err(Failure::usage);
    let (plan, report) = Failure::both(plan, Report::new(output))?;
    let metric = read_metric(metric.metric)?;
    if dry_run {
        screen::print(&planned(&plan))?;
        return Ok(Exit::Done);
    }
    let request = StudyRequest {
        plan: &plan,
        beside: &[],
        id: None,
        kind: if plan.calibrate { StudyKind::Calibrate } else { StudyKind::Compare },
        deciding: Deciding::InWindow(metric),
        slo: plan.slo.clone(),
        failures: Failures::Faults,
        resume: resume.resume,
        backend: backend.backend.chosen(),
    };
    let path = folders::store(&store)?;
    doctor::introduce(&path, bench.quiet.quiet);
    let (ended, mut record) = match plan.at {
        Some(share) => compare_with_open_part(bench.on(host), &path, &request, share)?,
        None => carry_out(bench.on(host), &path, &request)?,
    };
    conclude(ended, &report, &mut record, &path, host)
}

/// What would be measured, as far as it is known before anything is started.
fn planned(plan: &ComparePlan) -> String {
    let ComparePlan { workload, candidates, limits, load, warm_up, duration, rounds, .. } = plan;
    let ids: Vec<&str> = candidates.iter().map(|candidate| candidate.id.as_str()).collect();
    let time = humantime::format_duration;
    let windows = if plan.window_by_pilots {
        format!("windows of {} at most, as pilots choose", time(*duration))
    } else {
        format!("windows of {}", time(*duration))
    };
    let rounds = match rounds {
        Rounds::Fixed(rounds) => {
            let load = (*warm_up + *duration) * *rounds * ids.len() as u32;
            format!("{rounds} rounds of {} trials: {} of load", ids.len(), time(load))
        }
        Rounds::Auto { max_time } => format!("rounds until the verdicts are clear: {} at most", time(*max_time)),
    };
    format!(
        "{}: {}\n{} CPU and {} each, load {load}\n{windows}, {rounds}\n",
        workload.id,
        ids.join(", "),
        limits.cpus,
        limits.memory
    )
}

/// Prints what was measured, and says how it ended. What is printed does not depend on the store, which may be full.
pub(crate) fn conclude(
    ended: Result<Ended, Failure>,
    report: &Report,
    record: &mut Record,
    store: &Path,
    host: &dyn Host,
) -> Outcome {
    let finished_at = matches!(ended, Ok(Ended::Complete)).then(|| host.now());
    let mut open_part = None;
    if let Some(study) = record.study().cloned() {
        let stored = match finished_at {
            Some(finished_at) => record.store().finish_study(&study.id, finished_at),
            None => Ok(()),
        };
        // The report comes last: its end is what a reader looks for.
        if report.on_terminal() && stored.is_ok() {
            screen::print(&format!("\nstored in {}\n", store.display()))?;
        }
        open_part = record.store().open_part(&study.id).ok().flatten();
        report.write(&study, finished_at, record.trials(), record.yard_stick(), open_part.clone())?;
        stored.map_err(Failure::missing)?;
    }
    match ended? {
        Ended::Complete => Ok(match record.study() {
            Some(study) if study.kind == StudyKind::Capacity => capacity::exit(study, record.trials()),
            study => {
                let parts = open_part.iter().flat_map(|part| std::iter::once(&part.shared).chain(&part.own));
                let trials: Vec<Trial> = parts.flat_map(|part| &part.trials).chain(record.trials()).cloned().collect();
                exit_of(study, &trials)
            }
        }),
        Ended::Interrupted => {
            let of_open_part = open_part.iter().flat_map(|part| std::iter::once(&part.shared).chain(&part.own));
            let kept = record.trials().len() + of_open_part.map(|part| part.trials.len()).sum::<usize>();
            let advice = if kept > 0 { "; the same command with --resume continues" } else { "" };
            screen::warning(&format!("interrupted; {kept} finished trials are kept{advice}"));
            Ok(Exit::Interrupted)
        }
    }
}
