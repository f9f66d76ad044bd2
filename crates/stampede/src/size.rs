//! `stampede size`: which deployment is the cheapest that holds an objective under a load?

use stampede_analysis::{SizeFound, SizeOutcome, SizeReading, analyse};
use stampede_conduct::{Ended, Exit, Failure, Host, Sizing};
use stampede_plan::SizePlan;
use stampede_report::size::SizeView;
use stampede_report::{ReportAnswer, StudyView};

use crate::args::SizeArgs;
use crate::show::Report;
use crate::{Outcome, folders, screen};
use stampede_catalogue::BuiltIn;

pub(crate) fn run(args: SizeArgs, host: &dyn Host) -> Outcome {
    let SizeArgs { flags, resume, output, store, bench } = args;
    let plan = SizePlan::read(&flags, host.size(), &BuiltIn);
    let (plan, report) = Failure::both(plan.map_err(Failure::usage), Report::new(output))?;
    let mut sizing = Sizing::begin(bench.on(host), plan, folders::store(&store)?, resume.resume.as_ref())?;
    let ended = sizing.carry_out()?;
    match ended? {
        Ended::Complete => conclude(&sizing, &report),
        Ended::Interrupted => {
            screen::interrupted(sizing.id());
            Ok(Exit::Interrupted)
        }
    }
}

fn conclude(sizing: &Sizing<'_>, report: &Report) -> Outcome {
    let (plan, found, runtimes) = (sizing.plan(), sizing.found(), sizing.runtimes());
    let analyses: Vec<_> = sizing.studies().iter().map(|stored| analyse(&stored.study, &stored.trials)).collect();
    let studies: Vec<StudyView<'_>> =
        sizing.studies().iter().zip(&analyses).map(|(stored, analysis)| StudyView::of(stored, analysis)).collect();
    report.put(&ReportAnswer::Size(&SizeView {
        id: sizing.id(),
        workload: plan.plan.workload.id.as_str(),
        load: &plan.load,
        rate: plan.rate,
        headroom: plan.headroom,
        slo: plan.plan.slo.as_ref(),
        runtimes: &runtimes,
        grid: sizing.grid(),
        readings: sizing.readings(),
        found: &found,
        tariff: &plan.tariff,
        is_out_of_time: sizing.is_out_of_time(),
        studies: &studies,
    }))?;
    Ok(exit(&found, sizing.readings()))
}

/// A search without a choice says whether sizes miss, do not serve, or cannot be told.
fn exit(found: &SizeFound, readings: &[SizeReading]) -> Exit {
    let is_any = |test: fn(&SizeOutcome) -> bool| readings.iter().any(|reading| test(&reading.outcome));
    match () {
        () if found.choice.is_some() => Exit::Done,
        () if is_any(|outcome| matches!(outcome, SizeOutcome::Served(_))) => Exit::GateFailed,
        () if is_any(|outcome| matches!(outcome, SizeOutcome::Unusable(_))) => Exit::Invalid,
        () => Exit::TrialFailed,
    }
}
