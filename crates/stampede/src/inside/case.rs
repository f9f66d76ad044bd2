//! Where the time of PHP went in a case of a study that was measured with `--inside`.

use std::io;
use std::time::Duration;

use stampede_analysis::analyse;
use stampede_core::{InsideRecord, Outcome as TrialOutcome};
use stampede_report::{StudyView, terminal};

use super::args::InsideArgs;
use crate::exit::{Exit, Failure};
use crate::{Outcome, destination, screen, show};

/// Shows a case, and writes its stacks where they were asked for.
pub(super) fn show(args: &InsideArgs) -> Outcome {
    let [case] = &args.subjects[..] else {
        return Err(Failure::usage("name processes by their numbers, or one case of a study"));
    };
    let stored = show::load(&args.store, &args.study.study)?;
    let study = &stored.study;
    let names: Vec<&str> = study.cases.iter().map(|case| case.id.as_str()).collect();
    if !names.contains(&case.as_str()) {
        return Err(Failure::usage(format!("study {} has no case {case}\n  it has {}", study.id, names.join(", "))));
    }
    let measured =
        stored.trials.iter().filter(|trial| trial.case.as_str() == case && trial.outcome == TrialOutcome::Measured);
    let samplings = measured.filter_map(|trial| trial.measurement.as_ref()?.sampling.as_ref());
    let mut record = InsideRecord::default();
    for inside in samplings.filter_map(|sampling| sampling.inside.as_deref()) {
        record.go_on(inside, Duration::ZERO);
    }
    if record.stacks.is_empty() {
        let why = record.problems.first().map_or_else(String::new, |problem| format!(": {problem}"));
        return Err(Failure::missing(format!(
            "case {case} of study {} has no samples of PHP's stacks{why}\n  measure it with stampede compare --inside",
            study.id
        )));
    }
    super::save(args, &record, case)?;
    if !args.folded.as_deref().is_some_and(destination::is_stdout) {
        let analysis = analyse(study, &stored.trials);
        let view = StudyView::of(&stored, &analysis);
        let colour = screen::colour_on(&io::stdout());
        screen::print(&terminal::inside(&view, case, screen::width(), colour))?;
    }
    Ok(Exit::Done)
}
