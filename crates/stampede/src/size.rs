//! `stampede size`: which deployment is the cheapest that holds an objective under a load?

pub(crate) mod args;

use stampede_analysis::analyse;
use stampede_conduct::{Ended, Exit, Failure, Host, Sizing, size_exit};
use stampede_plan::SizePlan;
use stampede_report::size::SizeView;
use stampede_report::{ReportAnswer, StudyView};

use crate::size::args::SizeArgs;
use crate::study_place::Report;
use crate::{Outcome, screen};
use stampede_catalogue::BuiltIn;

pub(crate) fn run(args: SizeArgs, host: &dyn Host) -> Outcome {
    let SizeArgs { flags, study } = args;
    let plan = SizePlan::read(&flags, host.size(), &BuiltIn);
    let (plan, place) = Failure::both(plan.map_err(Failure::usage), study.on(host))?;
    let mut sizing = Sizing::begin(place.bench, plan, place.store, place.resume.as_ref())?;
    let ended = sizing.carry_out()?;
    match ended? {
        Ended::Complete => conclude(&sizing, &place.report),
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
    Ok(size_exit(&found, sizing.readings()))
}
