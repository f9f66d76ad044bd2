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
