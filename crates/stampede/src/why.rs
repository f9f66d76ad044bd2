//! `stampede why`: what holds a measured case back, shown by changing one limit at a time.

pub(crate) mod args;

use stampede_analysis::php_settings;
use stampede_conduct::{Deciding, Failure, Host, StudyRequest, WhyQuestion, carry_out};
use stampede_core::{Machine, Study, StudyKind};
use stampede_plan::{ChangedCase, RetrialPlan};
use stampede_store::Store;

use crate::why::args::WhyArgs;
use crate::{Outcome, screen};
use stampede_catalogue::BuiltIn;

pub(crate) fn run(args: WhyArgs, host: &dyn Host) -> Outcome {
    let WhyArgs { case, study, flags, place } = args;
    let store = Store::open_existing(&place.store.file()?).map_err(Failure::missing)?;
    let resume = place.resume.resume.clone();
    let question = match &resume {
        Some(name) => WhyQuestion::interrupted(&store, name.as_deref(), case.as_deref())?,
        None => WhyQuestion::of_study(&store, &study.study, case.as_deref())?,
    };
    let WhyQuestion { study, case, changed } = &question;
    let asked: Vec<ChangedCase<'_>> =
        changed.iter().map(|case| ChangedCase { case, ini: php_settings(&case.id) }).collect();
    let plan = RetrialPlan::read(&flags, (study, case), &asked, host.size(), &BuiltIn);
    let (plan, place) = Failure::both(plan.map_err(Failure::usage), place.on(host))?;
    let RetrialPlan { base, changed, left_out } = &plan;
    if !place.bench.quiet {
        tell_differences(study, &host.machine());
        for (change, why) in left_out {
            screen::paragraph(&format!("skipped: {change}: {why}"), 2);
        }
    }
    let request = StudyRequest {
        beside: changed,
        deciding: Deciding::Metric(study.metric.clone()),
        resume: resume.map(|_| Some(study.id.to_string())),
        ..StudyRequest::of(base, StudyKind::Why)
    };
    let (ended, mut record) = carry_out(place.bench, &place.store, &request)?;
    place.conclude(ended, &mut record)
}

/// The case is measured again, so that another machine does no harm; it must be known all the same. Which node of a cluster it will be is not.
fn tell_differences(study: &Study, machine: &Machine) {
    if study.machine != *machine && study.groundwork.node.is_none() {
        screen::warning(&format!(
            "study {} was measured on another machine, or under another kernel; this run shows what holds the case back here",
            study.id
        ));
    }
}
