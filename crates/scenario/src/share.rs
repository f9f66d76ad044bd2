//! What the users of a crowd on one thread have in common: who comes next, which rows are taken, what has been counted.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use stampede_core::Random;

use crate::feeder::{Feeder, RowOrder};
use crate::in_turn::in_turn;
use crate::scenario::{Choice, Crowd, Flow};

/// One thread's share of a crowd. Flow `j` that begins on thread `k` of `T` is flow `n = k + j T` of the crowd, and row `j`
/// that it takes from a feeder is row `k + j T` of it: threads share nothing, and where each flow takes a row, flow `n` takes
/// row `n`. Each crowd begins a feeder with its first row.
#[derive(Debug)]
pub(crate) struct Share {
    thread: u64,
    threads: u64,
    seed: u64,
    /// Flows that have begun here, those without a row included.
    begun: u64,
    /// Rows that have been taken here from each feeder.
    taken: Vec<u64>,
    /// The flows in the order in which they are begun, over and over; empty unless they are spread.
    turn: Vec<u32>,
    pub(crate) tally: Tally,
}

/// A user who begins a flow.
#[derive(Debug)]
pub(crate) struct Beginner {
    pub(crate) flow: usize,
    /// Randomness of this user's own.
    pub(crate) random: Random,
}

impl Share {
    pub(crate) fn new(thread: u64, threads: u64, seed: u64, feeders: usize, crowd: &Crowd) -> Self {
        let turn = match crowd.choice {
            Choice::Spread => {
                let weight = |flow: &Flow| NonZeroU32::new(flow.weight).unwrap_or(NonZeroU32::MIN);
                in_turn(&crowd.flows.iter().map(weight).collect::<Vec<_>>())
            }
            Choice::InTurn | Choice::Weighted => Vec::new(),
        };
        let tally = Tally::new(crowd, feeders);
        Self { thread, threads, seed, begun: 0, taken: vec![0; feeders], turn, tally }
    }

    /// The next user, and what it does.
    pub(crate) fn next(&mut self, crowd: &Crowd) -> Beginner {
        let number = self.thread + self.begun * self.threads;
        self.begun += 1;
        let mut random = self.random(number);
        let flow = match crowd.choice {
            Choice::InTurn => usize::try_from(number % crowd.flows.len().max(1) as u64).unwrap_or(0),
            Choice::Spread => {
                let place = usize::try_from(number % self.turn.len().max(1) as u64).unwrap_or(0);
                self.turn.get(place).map_or(0, |flow| *flow as usize)
            }
            Choice::Weighted => {
                let weights = || crowd.flows.iter().map(|flow| u64::from(flow.weight));
                let mut drawn = below(random.draw(), weights().sum());
                let chosen = weights().position(|weight| match drawn.checked_sub(weight) {
                    Some(rest) => {
                        drawn = rest;
                        false
                    }
                    None => true,
                });
                chosen.unwrap_or(0)
            }
        };
        Beginner { flow, random }
    }

    /// Takes a row of each of these feeders; none of any when one of them has no more.
    pub(crate) fn take(&mut self, wanted: &[usize], feeders: &[Feeder], rows: &mut [usize]) -> bool {
        for number in wanted {
            let (Some(feeder), Some(row)) = (feeders.get(*number), rows.get_mut(*number)) else { continue };
            let count = feeder.table.rows() as u64;
            let turn = self.thread + self.taken.get(*number).copied().unwrap_or(0) * self.threads;
            let taken = match feeder.order {
                RowOrder::Once if turn >= count => {
                    if let Some(exhausted) = self.tally.exhausted.get_mut(*number) {
                        *exhausted = true;
                    }
                    return false;
                }
                RowOrder::Once => turn,
                // The user knows which identity it is.
                RowOrder::Identity => continue,
                RowOrder::Loop => turn % count.max(1),
                RowOrder::Random => below(self.random(turn ^ (*number as u64 + 1) << 48).draw(), count),
            };
            *row = usize::try_from(taken).unwrap_or(0);
        }
        for number in wanted {
            if let Some(taken) = self.taken.get_mut(*number) {
                *taken += 1;
            }
        }
        true
    }

    /// Randomness that belongs to a number, whoever asks for it.
    fn random(&self, number: u64) -> Random {
        Random(Random(Random(self.seed).draw() ^ number).draw())
    }
}

/// A number below another from 64 random bits (Lemire 2019, without its rejection: at 2^32 values the bias is 2^-32).
fn below(random: u64, count: u64) -> u64 {
    ((u128::from(random) * u128::from(count)) >> 64) as u64
}

/// What has happened in a crowd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// In the crowd's order.
    pub flows: Vec<FlowTally>,
    /// Of all flows, one after the other.
    pub steps: Vec<StepTally>,
    /// The feeders that had no row for a flow.
    pub exhausted: Vec<bool>,
}

/// What has happened to a flow. Flows that are neither completed nor abandoned were under way at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowTally {
    /// Flows that began.
    pub begun: u64,
    /// Flows that came to their end.
    pub completed: u64,
    /// Flows that ended with a request that failed.
    pub abandoned: u64,
}

/// What has happened to a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepTally {
    /// Right answers.
    pub right: u64,
    /// Left out by its condition.
    pub skipped: u64,
    /// Left out because an earlier step had failed.
    pub unreached: u64,
    /// Right answers in which each capture had a value.
    pub matched: Vec<u64>,
}

impl Tally {
    /// Nothing has happened.
    pub fn new(crowd: &Crowd, feeders: usize) -> Self {
        let steps = crowd.flows.iter().flat_map(|flow| &flow.steps);
        Self {
            flows: vec![FlowTally::default(); crowd.flows.len()],
            steps: steps
                .map(|step| StepTally { matched: vec![0; step.captures.len()], ..StepTally::default() })
                .collect(),
            exhausted: vec![false; feeders],
        }
    }

    /// Adds what has happened on another thread.
    pub fn merge(&mut self, other: &Self) {
        for (flow, other) in self.flows.iter_mut().zip(&other.flows) {
            let FlowTally { begun, completed, abandoned } = other;
            flow.begun += begun;
            flow.completed += completed;
            flow.abandoned += abandoned;
        }
        for (step, other) in self.steps.iter_mut().zip(&other.steps) {
            let StepTally { right, skipped, unreached, matched } = other;
            step.right += right;
            step.skipped += skipped;
            step.unreached += unreached;
            step.matched.iter_mut().zip(matched).for_each(|(count, other)| *count += other);
        }
        self.exhausted.iter_mut().zip(&other.exhausted).for_each(|(exhausted, other)| *exhausted |= other);
    }

    /// Captures that had no value in any right answer, of steps that had one: flow, step and name.
    pub fn never_matched<'a>(&'a self, crowd: &'a Crowd) -> impl Iterator<Item = (&'a str, &'a str, &'a str)> {
        let steps = crowd.flows.iter().flat_map(|flow| flow.steps.iter().map(move |step| (flow, step)));
        steps.zip(&self.steps).filter(|(_, tally)| tally.right > 0).flat_map(|((flow, step), tally)| {
            let unmatched = step.captures.iter().zip(&tally.matched).filter(|(_, count)| **count == 0);
            unmatched.filter_map(move |(capture, _)| {
                Some((flow.name.as_str(), step.name.as_str(), flow.captures.get(capture.number)?.as_str()))
            })
        })
    }
}
