//! `stampede --version`: which version this is, what it was built from, and which versions of its files it writes.

use stampede_agent::Preamble;

use crate::exit::Exit;
use crate::{Outcome, screen};

/// The day of the commit that this was built from; empty where that is unknown.
pub(crate) const DATE: &str = env!("STAMPEDE_DATE");

pub(crate) fn run(verbose: bool) -> Outcome {
    screen::print(&format!("stampede {}\n", env!("CARGO_PKG_VERSION")))?;
    if verbose {
        screen::print(&details())?;
    }
    Ok(Exit::Done)
}

fn details() -> String {
    let known = |value: &'static str| if value.is_empty() { "unknown" } else { value };
    let linked = if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" };
    let built = if cfg!(debug_assertions) { "with checks for development" } else { "optimised" };
    let rows = [
        ("commit", known(env!("STAMPEDE_COMMIT")).to_owned()),
        ("date", known(DATE).to_owned()),
        ("target", env!("STAMPEDE_TARGET").to_owned()),
        ("rustc", env!("STAMPEDE_RUSTC").to_owned()),
        ("features", format!("{linked}, {built}")),
        ("store", stampede_store::VERSION.to_string()),
        ("study files", stampede_store::STUDY_FILE_VERSION.to_string()),
        ("JSON", stampede_report::json::SCHEMA.to_owned()),
        ("agents", Preamble::ours().protocol.to_string()),
    ];
    rows.map(|(name, value)| format!("{name:<12} {value}\n")).concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_have_no_empty_value() {
        let details = details();
        assert_eq!(details.lines().count(), 9, "{details}");
        for line in details.lines() {
            assert!(line.len() > 13, "{line:?}");
        }
        assert!(details.contains("rustc        1."), "{details}");
    }
}
