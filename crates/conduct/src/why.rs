//! What holds a measured case back: which case that is, and what is changed to find out.

use stampede_analysis::{analyse, interventions};
use stampede_core::{Case, Study, StudyKind};
use stampede_store::{Store, StoredStudy};

use crate::exit::Failure;
use crate::resumption;

/// A case, and what is changed in it to find out what holds it back.
#[derive(Clone, Debug)]
pub struct WhyQuestion {
    /// The study that measured the case.
    pub study: Study,
    /// The case.
    pub case: Case,
    /// The same with one limit changed, each.
    pub changed: Vec<Case>,
}

impl WhyQuestion {
    /// About a case of a stored study: the one of this name, or the slowest that was measured.
    ///
    /// # Errors
    ///
    /// When there is no such case, or none that this can be asked of.
    pub fn of_study(store: &Store, study: &str, case: Option<&str>) -> Result<Self, Failure> {
        let StoredStudy { study, trials, .. } = store.load(study).map_err(Failure::unknown_or_missing)?;
        if study.kind == StudyKind::Why && case.is_none() {
            return Err(Failure::usage(format!(
                "study {} is already one of stampede why: stampede show {0}\n  name a case of it, or another --study",
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

    /// Of a study of this kind that was interrupted: the one of this name, or the newest. A case that is named must be the one that it
    /// asks about.
    ///
    /// # Errors
    ///
    /// When there is none, or it asks about another case.
    pub fn interrupted(store: &Store, name: Option<&str>, named: Option<&str>) -> Result<Self, Failure> {
        let StoredStudy { study, .. } = resumption::find(store, name, StudyKind::Why)?;
        match study.cases.split_first() {
            Some((case, _)) if study.kind == StudyKind::Why && named.is_some_and(|named| named != case.id.as_str()) => {
                Err(Failure::usage(format!(
                    "the interrupted study {} is about {1}\n  stampede why --resume {0}, or without --resume to begin a new one",
                    study.id, case.id
                )))
            }
            Some((case, changed)) if study.kind == StudyKind::Why => {
                Ok(Self { case: case.clone(), changed: changed.to_vec(), study })
            }
            _ => Err(Failure::usage(format!(
                "study {} was not started by stampede why\n  resume it with the command that started it, or name another",
                study.id
            ))),
        }
    }
}
