//! `stampede why`: what holds a measured case back, shown by changing one limit at a time.

use stampede_analysis::php_settings;
use stampede_conduct::{Deciding, Failure, Host, StudyRequest, WhyQuestion, carry_out};
use stampede_core::{Failures, Machine, Study, StudyKind};
use stampede_plan::{ChangedCase, RetrialPlan};
use stampede_store::Store;

use crate::args::{ResumeArgs, StoreArgs, WhyArgs};
use crate::compare::conclude;
use crate::show::Report;
use crate::{Outcome, folders, screen};
use stampede_catalogue::BuiltIn;

pub(crate) fn run(args: WhyArgs, host: &dyn Host) -> Outcome {
    let WhyArgs { case, study, flags, resume: ResumeArgs { resume }, output, store, bench } = args;
    let question = match &resume {
        Some(name) => WhyQuestion::interrupted(&open(&store)?, name.as_deref())?,
        None => WhyQuestion::of_study(&open(&store)?, &study.study, case.as_deref())?,
    };
    let WhyQuestion { study, case, changed } = &question;
    let asked: Vec<ChangedCase<'_>> =
        changed.iter().map(|case| ChangedCase { case, ini: php_settings(&case.id) }).collect();
    let plan = RetrialPlan::read(&flags, (study, case), &asked, host.size(), &BuiltIn);
    let (plan, report) = Failure::both(plan.map_err(Failure::usage), Report::new(output))?;
    let RetrialPlan { base, changed, left_out } = &plan;
    if !bench.quiet.quiet {
        tell_differences(study, &host.machine());
        for (change, why) in left_out {
            screen::paragraph(&format!("left out: {change}: {why}"), 2);
        }
    }
    let request = StudyRequest {
        plan: base,
        beside: changed,
        id: None,
        kind: StudyKind::Why,
        deciding: Deciding::Metric(study.metric.clone()),
        slo: None,
        failures: Failures::Faults,
        resume: resume.map(|_| Some(study.id.to_string())),
        backend: None,
    };
    let path = folders::store(&store)?;
    let (ended, mut record) = carry_out(bench.on(host), &path, &request)?;
    conclude(ended, &report, &mut record, &path, host)
}

fn open(store: &StoreArgs) -> Result<Store, Failure> {
    Store::open_existing(&folders::store(store)?).map_err(Failure::missing)
}

/// The case is measured again, so that another machine does no harm; it must be known all the same.
fn tell_differences(study: &Study, machine: &Machine) {
    if study.machine != *machine {
        screen::warning(&format!(
            "study {} was measured on another machine, or under another kernel; what holds the case back here is asked",
            study.id
        ));
    }
}
