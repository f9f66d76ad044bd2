//! The commands that run a study again, as far as its record tells them.

use std::collections::BTreeSet;

use stampede_core::{Case, Rounds, StudyKind, shell_line};

use crate::StudyView;

/// The command that measures the same again; none where flags alone cannot say it: then it came from a plan, a gate or an
/// experiment, whose files are not kept.
pub(super) fn again(view: &StudyView<'_>) -> Option<String> {
    let study = view.study;
    let first = study.cases.first()?;
    if !matches!(study.kind, StudyKind::Compare | StudyKind::Calibrate)
        || !study.cases.iter().all(|case| said_by_flags(study.kind, case, first))
    {
        return None;
    }
    let runtimes: BTreeSet<&str> = study.cases.iter().map(|case| case.runtime.as_str()).collect();
    let mut words = vec!["stampede".to_owned(), "compare".to_owned(), study.workload.to_string()];
    let mut flag = |name: &str, value: String| words.extend([name.to_owned(), value]);
    flag("--runtimes", runtimes.into_iter().collect::<Vec<_>>().join(","));
    flag("--cpus", first.limits.cpus.to_string());
    flag("--memory", first.limits.memory.to_string());
    flag("--load", first.load.to_string());
    flag("--duration", humantime::format_duration(study.duration).to_string().replace(' ', ""));
    if study.groundwork.warm_ups.is_empty() {
        flag("--warm-up", humantime::format_duration(study.warm_up).to_string().replace(' ', ""));
    }
    match study.rounds {
        Rounds::Fixed(rounds) => flag("--rounds", rounds.to_string()),
        Rounds::Auto { max_time } => {
            // A closed part has half of it.
            let max_time = if view.open_part.is_some() { max_time * 2 } else { max_time };
            flag("--max-time", humantime::format_duration(max_time).to_string().replace(' ', ""));
            flag("--precision", format!("{}%", study.precision * 100.0));
        }
    }
    if let Some(open) = view.open_part {
        flag("--at", format!("{}%", open.part.share.percent()));
    }
    flag("--seed", study.seed.to_string());
    if let Some(metric) = &study.metric {
        flag("--metric", metric.clone());
    }
    let asked: BTreeSet<String> = study.cases.iter().flat_map(Case::flags).collect();
    asked.into_iter().for_each(|setting| flag("--set", setting));
    if study.cases.iter().all(|case| case.app == first.app) {
        flag("--app", first.app.clone());
    }
    if study.kind == StudyKind::Calibrate {
        words.push("--calibrate".to_owned());
    }
    Some(shell_line(&words))
}

/// A calibration has its only runtime twice, under other names.
fn said_by_flags(kind: StudyKind, case: &Case, first: &Case) -> bool {
    let Case { id, runtime, limits, topology, load, beside, .. } = case;
    let is_twin = kind == StudyKind::Calibrate && case.tuning == first.tuning && case.runtime == first.runtime;
    (id.as_str() == runtime.as_str() || is_twin)
        && (limits, load) == (&first.limits, &first.load)
        && topology.is_default()
        && beside.is_empty()
}
