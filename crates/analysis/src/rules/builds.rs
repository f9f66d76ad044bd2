//! Whether the cases compare the same PHP.

use std::collections::BTreeSet;

use stampede_core::{Finding, RuntimeId, Severity};

use super::finding;
use crate::record::Record;

/// The finding of cases with different builds of PHP.
pub(crate) const PHP_BUILDS_DIFFER: &str = "php-builds-differ";

/// This case's PHP is another version or build than that of some other runtime, which was not measured with this one's too: where it
/// was, or where the runtime is the same, PHP is what is compared.
pub(super) fn differ(record: &Record<'_>) -> Option<Finding> {
    record.measurements().next()?;
    let own = php_build(&record.case.runtime_version)?;
    let cases = &record.study.cases;
    let builds: BTreeSet<&str> = cases.iter().filter_map(|case| php_build(&case.runtime_version)).collect();
    let has_own = |runtime: &RuntimeId| {
        let mut ours = cases.iter().filter(|case| case.runtime == *runtime);
        ours.any(|case| php_build(&case.runtime_version).is_none_or(|build| build == own))
    };
    cases.iter().any(|case| !has_own(&case.runtime)).then(|| {
        finding(
            PHP_BUILDS_DIFFER,
            Severity::Warning,
            format!("It runs {own}, and other cases run another PHP: the runtime is not the only difference."),
            [("php_builds", builds.len() as f64)],
            "Install the same PHP version for all of them, or read the ratio as that of runtime and PHP together.",
        )
    })
}

/// A buffer for JIT was requested, and JIT is off all the same.
pub(super) fn jit_is_off(record: &Record<'_>) -> Option<Finding> {
    record.measurements().next()?;
    let php = record.trials.iter().find_map(|trial| trial.php.as_ref())?;
    let buffer = php.settings.get("opcache.jit_buffer_size")?;
    if php.jit || !buffer.starts_with(|first| ('1'..='9').contains(&first)) {
        return None;
    }
    Some(finding(
        "jit-is-off",
        Severity::Warning,
        format!(
            "It has a JIT buffer of {buffer}, and JIT is off: from PHP 8.4 on a buffer alone does not switch it on."
        ),
        [("jit", 0.0)],
        "Set opcache.jit to tracing too, or leave the buffer out.",
    ))
}

/// The PHP in a line of programs and versions: `PHP 8.2.29 NTS` of `nginx 1.22.1, PHP 8.2.29 NTS`.
fn php_build(versions: &str) -> Option<&str> {
    versions.split(',').map(str::trim).find(|program| program.starts_with("PHP "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stampede_core::PhpReadBack;

    use super::*;
    use crate::rules::tests::found;
    use crate::samples;

    #[test]
    fn a_jit_buffer_without_jit_is_told() {
        let with = |buffer: &'static str, jit: bool| {
            found(jit_is_off, move |trial| {
                let settings = BTreeMap::from([("opcache.jit_buffer_size".to_owned(), buffer.to_owned())]);
                trial.php = Some(PhpReadBack { settings, jit, ..PhpReadBack::default() });
            })
        };
        assert_eq!(with("0", false), None);
        assert_eq!(with("64M", true), None);
        assert!(with("64M", false).unwrap().text.starts_with("It has a JIT buffer of 64M, and JIT is off"));
    }

    #[test]
    fn other_php_versions_are_found_and_programs_without_php_are_not_held_against_them() {
        let mut study = samples::study(&["a", "b", "go"]);
        study.cases[0].runtime_version = "nginx 1.22.1, PHP 8.2.29 NTS".to_owned();
        study.cases[2].runtime_version = "go 1.26".to_owned();
        let trials = ["a", "b", "go"].map(|case| samples::measured(case, 1, 1_000.0));
        let finding = |study: &stampede_core::Study, i: usize| differ(&Record::new(study, &study.cases[i], &trials));
        assert_eq!(finding(&study, 0), None);
        study.cases[1].runtime_version = "Apache 2.4.62, PHP 8.2.30 NTS".to_owned();
        assert!(finding(&study, 0).unwrap().text.starts_with("It runs PHP 8.2.29 NTS, and other"));
        assert_eq!(finding(&study, 1).unwrap().evidence["php_builds"], 2.0);
        assert_eq!(finding(&study, 2), None);
        // Of one runtime PHP is what is compared, and it is where each runtime has both.
        study.cases[1].runtime = study.cases[0].runtime.clone();
        assert_eq!((finding(&study, 0), finding(&study, 1)), (None, None));
    }
}
