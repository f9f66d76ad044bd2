//! What decisions about errors rest on: `stampede-bench simulate`. Studies of made-up cases, decided by rules that are used and by those that
//! were not taken.

mod lifetimes;
mod rules;

use std::path::PathBuf;

use crate::failure::Failure;
use crate::files;

/// What is to be simulated.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Simulated {
    /// Which figures
    #[arg(value_enum)]
    pub(crate) figures: Figures,
    /// Studies of each kind, in per cent of those that the decision rests on
    #[arg(long, value_name = "PERCENT", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) studies: u64,
    /// Recorded trials
    #[arg(long, value_name = "FILE", default_value = "crates/bench/data/identical-trials.csv")]
    pub(crate) data: PathBuf,
}

/// The figures of a decision.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Figures {
    /// How the errors of many pairs are found in studies of one look (ADR 33)
    Rules,
    /// How an error is spent in studies of several looks (ADR 33)
    Spending,
    /// One lifetime of a case in a block, or two, in studies of one look (ADR 36)
    Lifetimes,
    /// The same in studies of several looks (ADR 36)
    Looks,
}

/// Simulates, and prints a line for each kind of study.
pub(crate) fn run(simulated: &Simulated) -> Result<(), Failure> {
    let studies = |all: u64| (all * simulated.studies).div_ceil(100);
    let unusable = || Failure::Unusable("a study has no figure".to_owned());
    let print = |line: &str| files::print(&format!("{line}\n")).map_err(Failure::from);
    match simulated.figures {
        Figures::Rules => rules::of_one_look(studies, print),
        Figures::Spending => rules::of_spending(studies, print),
        Figures::Lifetimes => lifetimes::of_one_look(studies, &lifetimes::recorded(&simulated.data)?, print),
        Figures::Looks => lifetimes::of_several_looks(studies, &lifetimes::recorded(&simulated.data)?, print),
    }?
    .ok_or_else(unusable)
}
