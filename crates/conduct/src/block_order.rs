//! How the cases of a study's rounds are measured, and how many of them may be up together.

use std::time::Duration;

use stampede_core::{BlockOrder, Bytes, Load, Study, StudyKind};
use stampede_harness::too_few;
use stampede_plan::{ComparePlan, OrderChoice};

use crate::exit::Failure;

/// A window that is longer is there to see what a server becomes in that time, and not to be cut into pieces.
const LONGEST: Duration = Duration::from_secs(60);

/// What is left free: a deployment may need more than its pilot did.
const SPARE: f64 = 1.2;

/// Says how the cases of a study are measured, which has its cases and what pilots found by now, `cycle` as far as it is known: how long
/// a client of the slowest waits for an answer. Writes it into the study.
///
/// # Errors
///
/// When turns are asked for and cannot be.
pub(crate) fn settle(
    study: &mut Study,
    plan: &ComparePlan,
    memory: Bytes,
    cycle: Option<Duration>,
) -> Result<(), Failure> {
    let up = up_together(study, memory);
    let (order, why) = match plan.order {
        OrderChoice::Always(BlockOrder::Windows) => (BlockOrder::Windows, None),
        OrderChoice::Always(BlockOrder::Turns) => match &up {
            Ok(_) => (BlockOrder::Turns, None),
            Err(problem) => {
                return Err(Failure::usage(format!(
                    "--order turns has cases up together, and {problem}; lower --memory, or use --order windows"
                )));
            }
        },
        OrderChoice::Auto => {
            let against = against(study, plan.scenario.is_some() || plan.workload.cookies).map(str::to_owned);
            let against = against.or_else(|| too_few(study.duration, cycle.unwrap_or_default()));
            match against.map_or_else(|| up.as_ref().err().cloned(), Some) {
                None => (BlockOrder::Turns, Some("their loads are closed, and they fit into the memory".to_owned())),
                Some(why) => (BlockOrder::Windows, Some(why)),
            }
        }
    };
    study.order = order;
    study.groundwork.order_why = why;
    let cases = study.cases.len();
    study.groundwork.up_together = up.ok().filter(|up| order == BlockOrder::Turns && *up < cases).map(|up| up as u32);
    Ok(())
}

/// What speaks against turns, whatever memory there is.
fn against(study: &Study, is_scenario: bool) -> Option<&'static str> {
    let is_compared = match study.kind {
        StudyKind::Compare | StudyKind::Calibrate | StudyKind::Gate | StudyKind::Why | StudyKind::Tune => true,
        StudyKind::Capacity | StudyKind::Scale | StudyKind::OwnRates => false,
    };
    if !is_compared {
        return Some("its deployments are not compared with each other");
    }
    if study.cases.len() < 2 {
        return Some("there is one case");
    }
    if is_scenario {
        return Some("the state of virtual users runs on");
    }
    if study.cases.iter().any(|case| !case.beside.is_empty()) {
        return Some("its user classes have loads of their own");
    }
    if study.cases.iter().any(|case| !matches!(case.load, Load::Closed { .. })) {
        return Some("the queue of an open or changing load takes time to build up");
    }
    if study.metric.as_deref() == Some("response_p999_us") {
        return Some("p99.9 is made of rare events that turns may miss");
    }
    (study.duration > LONGEST).then_some("its windows are long, to show what servers become")
}

/// How many cases may be up at once, whichever these are, or why not even two: each as large as its pilot was and a fifth more, or
/// where it had none, at its limit.
fn up_together(study: &Study, memory: Bytes) -> Result<usize, String> {
    let Study { cases, groundwork, .. } = study;
    let mut needs: Vec<u64> = cases
        .iter()
        .map(|case| {
            let limit = case.limits.memory.get();
            let spared = |peak: &Bytes| ((peak.get() as f64 * SPARE) as u64).min(limit);
            groundwork.peaks.get(&case.id).map_or(limit, spared)
        })
        .collect();
    // The largest first: so many fit, whichever are drawn.
    needs.sort_unstable_by(|a, b| b.cmp(a));
    let mut sum = 0;
    let fit = needs.iter().take_while(|need| {
        sum += *need;
        sum <= memory.get()
    });
    match fit.count() {
        0 | 1 if cases.len() > 1 => {
            Err(format!("two of them may take {} of this machine's {memory}", Bytes::new(needs.iter().take(2).sum())))
        }
        fit => Ok(fit),
    }
}

#[cfg(test)]
mod tests {
    use stampede_core::{Case, CaseId, Limits};

    use super::*;
    use crate::resumption::tests::study;

    #[test]
    fn how_many_fit_follows_from_the_largest() {
        let mib = Bytes::from_mib;
        for (limits, peaks, memory, expected) in [
            (&[512, 512, 512][..], &[][..], 1536, Ok(3)),
            (&[512, 512, 512], &[], 1535, Ok(2)),
            (&[512, 512, 512], &[100, 100, 100], 400, Ok(3)),
            // A fifth more than the peak, and never more than the limit.
            (&[512, 512, 512], &[500, 100, 100], 752, Ok(3)),
            (&[512, 512, 512], &[500, 100, 100], 751, Ok(2)),
            (&[512, 512], &[500, 100], 600, Err("two of them may take 632Mi of this machine's 600Mi")),
            (&[512], &[], 600, Ok(1)),
        ] {
            let mut study = study();
            let first = study.cases[0].clone();
            let case = |(number, limit): (usize, &u64)| Case {
                id: CaseId::new(number.to_string()),
                limits: Limits { memory: mib(*limit), ..first.limits },
                ..first.clone()
            };
            study.cases = limits.iter().enumerate().map(case).collect();
            let named = |(number, peak): (usize, &u64)| (CaseId::new(number.to_string()), mib(*peak));
            study.groundwork.peaks = peaks.iter().enumerate().map(named).collect();
            let found = up_together(&study, mib(memory));
            assert_eq!(
                found.as_ref().map_err(String::as_str),
                expected.as_ref().map_err(|told| *told),
                "{limits:?} {peaks:?} {memory}"
            );
        }
    }

    #[test]
    fn turns_are_for_loads_that_are_the_same_whenever_they_begin() {
        type Change = fn(&mut Study);
        let changes: [(&str, Change, Option<&str>); 7] = [
            ("two closed loads", |_| (), None),
            ("one case", |study| study.cases.truncate(1), Some("there is one case")),
            ("an open load", |study| study.cases[1].load = "open:50".parse().unwrap(), Some("the queue of an open")),
            ("user classes", |study| study.cases[0].beside.push("closed:1".parse().unwrap()), Some("its user classes")),
            ("p99.9", |study| study.metric = Some("response_p999_us".to_owned()), Some("p99.9 is made")),
            ("ten minutes", |study| study.duration = Duration::from_secs(600), Some("its windows are long")),
            ("a search", |study| study.kind = StudyKind::Capacity, Some("its deployments are not compared")),
        ];
        for (name, change, expected) in changes {
            let mut study = study();
            change(&mut study);
            let found = against(&study, false);
            assert_eq!(found.is_some(), expected.is_some(), "{name}");
            assert!(
                found.zip(expected).is_none_or(|(found, expected)| found.starts_with(expected)),
                "{name}: {found:?}"
            );
        }
        assert!(against(&study(), true).is_some(), "a scenario");
    }
}
