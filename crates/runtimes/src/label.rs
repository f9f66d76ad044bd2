//! How what was found is called in tables.

use stampede_core::{Found, Programs};

/// `PHP 8.2.29 NTS`.
pub(crate) fn php(programs: &Programs, key: &str) -> String {
    match programs.get(key) {
        Some(Found { php: Some(build), .. }) => {
            format!("PHP {} {}", build.version, if build.thread_safe { "ZTS" } else { "NTS" })
        }
        _ => "PHP".to_owned(),
    }
}

/// `nginx 1.22.1`.
pub(crate) fn program(programs: &Programs, key: &str, name: &str) -> String {
    programs.get(key).map_or_else(|| name.to_owned(), |found| format!("{name} {}", found.version))
}

/// The numbers of a version: `2025.1.15` or `v3.4.0`, up to the first part that is none.
pub(crate) fn numbers(version: &str) -> Vec<u32> {
    version.trim_start_matches('v').split('.').map_while(|part| part.parse().ok()).collect()
}
