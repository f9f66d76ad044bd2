//! `stampede why`: what holds a measured case back, shown by changing one limit at a time.

use stampede_analysis::{analyse, interventions, php_settings};
use stampede_core::{Case, Failures, Machine, Study, StudyKind};
use stampede_plan::{ChangedCase, RetrialFlags, RetrialPlan};
use stampede_report::terminal::paragraph;
use stampede_store::{Store, StoredStudy};

use crate::args::{StoreArgs, WhyArgs};
use crate::backend::BackendChoice;
use crate::catalogue::BuiltIn;
use crate::compare::{Order, carry_out, conclude};
use crate::exit::Failure;
use crate::host::Host;
use crate::show::Report;
use crate::{Outcome, folders, resumption, screen};

pub(crate) fn run(args: WhyArgs, host: &dyn Host) -> Outcome {
    let WhyArgs {
        case,
        study,
        from,
        exchanges,
        base_image,
        ready_timeout,
        duration,
        rounds,
        max_time,
        precision,
        seed,
        resume,
        no_wait,
        output,
        store,
        quiet,
    } = args;
    let question = match &resume {
        Some(name) => Question::interrupted(&open(&store)?, name.as_deref())?,
        None => Question::of_study(&open(&store)?, &study, case.as_deref())?,
    };
    let Question { study, case, changed } = &question;
    let flags =
        RetrialFlags { from, exchanges, base_image, ready_timeout, duration, rounds, max_time, precision, seed };
    let asked: Vec<ChangedCase<'_>> =
        changed.iter().map(|case| ChangedCase { case, ini: php_settings(&case.id) }).collect();
    let plan = RetrialPlan::read(&flags, (study, case), &asked, host.size(), &BuiltIn);
    let (plan, report) = Failure::both(plan.map_err(Failure::usage), Report::new(output))?;
    let RetrialPlan { base, changed, left_out } = &plan;
    if !quiet {
        tell_differences(study, &host.machine());
        for (change, why) in left_out {
            screen::note(&paragraph(&format!("left out: {change}: {why}"), 2, screen::width()));
        }
    }
    let order = Order {
        plan: base,
        beside: changed,
        id: None,
        kind: StudyKind::Why,
        metric: study.metric.clone(),
        failures: Failures::Faults,
        resume: resume.map(|_| Some(study.id.to_string())),
        backend: BackendChoice::default(),
        no_wait,
        quiet,
    };
    let (ended, mut record, path) = carry_out(&order, host, &store)?;
    conclude(ended, &report, &mut record, &path, host)
}

/// What is asked: of which case, and what is changed to find out.
struct Question {
    study: Study,
    case: Case,
    changed: Vec<Case>,
}

impl Question {
    /// About a case of a stored study: the one of this name, or the slowest that was measured.
    fn of_study(store: &Store, study: &str, case: Option<&str>) -> Result<Self, Failure> {
        let StoredStudy { study, trials, .. } = store.load(study).map_err(Failure::unknown_or_missing)?;
        if study.kind == StudyKind::Why && case.is_none() {
            return Err(Failure::usage(format!(
                "study {} says why already: stampede show {0}\n  name a case of it, or another --study",
                study.id
            )));
        }
        if study.kind == StudyKind::Capacity && case.is_none() {
            return Err(Failure::usage(format!(
                "the cases of study {} are one deployment under many loads\n  name a case of it, or another --study",
                study.id
            )));
        }
        let autoscaled = || {
            Failure::usage(format!(
                "study {} is of an autoscaled service, and one deployment is asked about here\n  measure one with stampede compare; \
                 what holds instances back is among the findings of stampede show {0}",
                study.id
            ))
        };
        if study.kind == StudyKind::Scale {
            return Err(autoscaled());
        }
        let analysis = analyse(&study, &trials);
        // The best come first, and those that were never measured last.
        let measured = analysis.cases.iter().take_while(|summary| summary.summary.contains_key(analysis.primary.key));
        let id = match case {
            Some(case) => analysis.cases.iter().find(|summary| summary.case.as_str() == case),
            None => measured.last(),
        };
        let found = id.and_then(|summary| study.cases.iter().find(|case| case.id == summary.case)).cloned();
        let names: Vec<&str> = study.cases.iter().map(|case| case.id.as_str()).collect();
        match found {
            Some(case) if trials.iter().any(|trial| trial.case == case.id && trial.scale.is_some()) => {
                Err(autoscaled())
            }
            Some(case) => Ok(Self { changed: interventions(&study, &trials, &case), study, case }),
            None => Err(Failure::usage(match case {
                Some(case) => {
                    format!("study {} has no case {case}\n  it has {}", study.id, names.join(", "))
                }
                None => format!("no case of study {} was measured\n  name another one with --study", study.id),
            })),
        }
    }

    /// Of a study of this kind that was interrupted.
    fn interrupted(store: &Store, name: Option<&str>) -> Result<Self, Failure> {
        let StoredStudy { study, .. } = resumption::find(store, name, StudyKind::Why)?;
        match study.cases.split_first() {
            Some((case, changed)) if study.kind == StudyKind::Why => {
                Ok(Self { case: case.clone(), changed: changed.to_vec(), study })
            }
            _ => Err(Failure::usage(format!(
                "study {} was not begun by stampede why\n  go on with it by the command that began it, or name another",
                study.id
            ))),
        }
    }
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
