//! Under which circumstances something was measured: kept with each figure of a run that is made in pieces, as pieces may differ.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::machine;

/// Of one measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Circumstances {
    /// What the program under test says of its version.
    version: String,
    processor: String,
    /// What else went on, in words.
    remark: String,
}

impl Circumstances {
    /// Of what is measured here and now.
    pub(crate) fn now(version: &str, remark: &str) -> Self {
        Self { version: version.to_owned(), processor: machine::processor(), remark: remark.to_owned() }
    }

    /// Each that is among them, once, as sentences.
    pub(crate) fn sentences<'a>(all: impl Iterator<Item = &'a Self>) -> String {
        let distinct: BTreeSet<&Self> = all.collect();
        let sentence = |Self { version, processor, remark }: &Self| {
            format!("{version}, {processor}; while they were measured: {remark}.")
        };
        distinct.into_iter().map(sentence).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_that_differ_are_all_told_and_equal_ones_once() {
        let one = Circumstances::now("stampede 1", "nothing");
        let other = Circumstances::now("stampede 2", "builds");
        let told = Circumstances::sentences([&one, &other, &one].into_iter());
        assert_eq!(told.matches("while they were measured").count(), 2, "{told}");
        assert!(told.starts_with("stampede 1, ") && told.ends_with("builds."), "{told}");
    }
}
