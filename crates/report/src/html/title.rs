//! What a page is about, in a reader's words: the application, and the runtimes that serve it.

use stampede_core::StudyKind;

use crate::StudyView;
use crate::conclusion::join;

/// More names than this are counted.
const MOST_NAMES: usize = 4;

/// What a study is about: `shop on nginx-fpm and frankenphp`.
pub(super) fn of_study(view: &StudyView<'_>) -> String {
    let study = view.study;
    let cases = || study.cases.iter().map(|case| case.id.as_str());
    let first = study.cases.first();
    // Cases of these are one deployment under other loads, limits or settings.
    let runtime = || first.map(|case| case.runtime.as_str()).into_iter();
    match study.kind {
        StudyKind::Compare => on(study.workload.as_str(), cases()),
        StudyKind::OwnRates => format!("{}, each at its own rate", on(study.workload.as_str(), cases())),
        StudyKind::Calibrate => format!("{}, compared with itself", on(study.workload.as_str(), runtime())),
        StudyKind::Gate => format!("{}, before and after a change", on(study.workload.as_str(), runtime())),
        StudyKind::Capacity => format!("{}: how much load it takes", on(study.workload.as_str(), runtime())),
        StudyKind::Tune => format!("{}: settings that were tried", on(study.workload.as_str(), runtime())),
        StudyKind::Scale => format!("{}, started and stopped on demand", on(study.workload.as_str(), cases())),
        StudyKind::Why => {
            let first = first.map(|case| case.id.as_str());
            format!("{}: what holds it back", on(study.workload.as_str(), first.into_iter()))
        }
    }
}

/// `shop on nginx-fpm, apache-fpm and 3 others`.
pub(super) fn on<'a>(workload: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.len() {
        0 => workload.to_owned(),
        1..=MOST_NAMES => format!("{workload} on {}", join(&names)),
        all => {
            let shown = &names[..MOST_NAMES - 1];
            format!("{workload} on {} and {} others", shown.join(", "), all - shown.len())
        }
    }
}

/// By which name it is stored, and when it was started.
pub(super) fn origin(view: &StudyView<'_>) -> String {
    format!("study {}, {} UTC", view.study.id, view.study.started_at.strftime("%Y-%m-%d %H:%M"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_are_counted() {
        for (names, title) in [
            (&[][..], "shop"),
            (&["a"], "shop on a"),
            (&["a", "b"], "shop on a and b"),
            (&["a", "b", "c", "d"], "shop on a, b, c and d"),
            (&["a", "b", "c", "d", "e"], "shop on a, b, c and 2 others"),
        ] {
            assert_eq!(on("shop", names.iter().copied()), title);
        }
    }
}
