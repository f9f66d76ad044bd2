//! The result of a load that several generators drove, each a [`Shard`](crate::Shard) of it.
//!
//! Nothing is lost or rounded: counts are sums, and histograms count what each of them counts.

use std::collections::BTreeMap;

use stampede_scenario::FlowTally;
use thiserror::Error;

use crate::load_result::{FlowResult, LoadResult, Measures, StepResult};
use crate::saturation::{LittlesLaw, Saturation};
use crate::slice::Slice;

/// As many as a generator keeps.
const WRONG_ANSWERS: usize = 3;

/// Results that are not those of one load.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MergeError {
    /// There is none.
    #[error("add up results: there is none")]
    Nothing,
    /// They have other steps or flows, or reached the kernel in another way.
    #[error(
        "add up results: number {number} is of another plan ({what}); run the same Stampede with the same plan everywhere"
    )]
    OtherPlan {
        /// Which of them, from 1.
        number: usize,
        /// What differs.
        what: &'static str,
    },
}

impl LoadResult {
    /// What several generators have measured together.
    ///
    /// The window is the longest of theirs. Wrong answers and the first failure are those of the first who had any, since clocks
    /// apart do not say who was first. Whether the generator was too slow is judged of all together, and where each of them was not,
    /// of the first that was.
    ///
    /// # Errors
    ///
    /// When they are not those of one plan.
    pub fn merged(parts: &[Self]) -> Result<Self, MergeError> {
        let (first, others) = parts.split_first().ok_or(MergeError::Nothing)?;
        let mut all = first.clone();
        for (number, other) in (2..).zip(others) {
            all.add(other).map_err(|what| MergeError::OtherPlan { number, what })?;
        }
        all.unmatched_captures = unmatched(parts);
        let judged = Saturation::find(&all.total.lateness, &all.total.response, &all.littles_law);
        all.saturation = judged.or_else(|| parts.iter().find_map(|part| part.saturation));
        Ok(all)
    }

    /// Adds another result, or tells what differs.
    fn add(&mut self, other: &Self) -> Result<(), &'static str> {
        let Self {
            window,
            turns,
            by_target,
            total,
            steps,
            flows,
            unmatched_captures: _,
            exhausted_feeders,
            slices,
            backend,
            reconnects,
            bytes_sent,
            bytes_received,
            generator,
            spin,
            begun_late,
            littles_law,
            saturation: _,
            facts,
            wrong_answers,
            first_failure,
        } = other;
        if !self.steps.iter().map(|step| &step.name).eq(steps.iter().map(|step| &step.name)) {
            return Err("its steps");
        }
        if !self.flows.iter().map(|flow| &flow.name).eq(flows.iter().map(|flow| &flow.name)) {
            return Err("its flows");
        }
        if self.turns.len() != turns.len() {
            return Err("its turns");
        }
        if self.backend != *backend {
            return Err("how it reaches the kernel");
        }
        self.window = self.window.max(*window);
        self.turns.iter_mut().zip(turns).for_each(|(sum, turn)| *sum += *turn);
        if self.by_target.len() == by_target.len() {
            self.by_target.iter_mut().zip(by_target).for_each(|(sum, count)| *sum += count);
        } else {
            self.by_target.clear();
        }
        self.total.add(total);
        for (sum, StepResult { name: _, measures }) in self.steps.iter_mut().zip(steps) {
            sum.measures.add(measures);
        }
        for (sum, FlowResult { name: _, count }) in self.flows.iter_mut().zip(flows) {
            let FlowTally { begun, completed, abandoned } = count;
            sum.count.begun += begun;
            sum.count.completed += completed;
            sum.count.abandoned += abandoned;
        }
        for feeder in exhausted_feeders {
            if !self.exhausted_feeders.contains(feeder) {
                self.exhausted_feeders.push(feeder.clone());
            }
        }
        Slice::add_all(&mut self.slices, slices);
        self.reconnects += reconnects;
        self.bytes_sent += bytes_sent;
        self.bytes_received += bytes_received;
        self.generator.threads += generator.threads;
        self.generator.cpu += generator.cpu;
        self.spin += *spin;
        self.begun_late = self.begun_late.max(*begun_late);
        let LittlesLaw { seen, summed } = littles_law;
        self.littles_law.seen += *seen;
        self.littles_law.summed += *summed;
        self.facts.add(facts);
        self.wrong_answers.extend(wrong_answers.iter().cloned());
        self.wrong_answers.truncate(WRONG_ANSWERS);
        self.first_failure = self.first_failure.take().or_else(|| first_failure.clone());
        Ok(())
    }

    /// Right answers of a step, by the name that captures have before it: `flow/step`.
    fn right_answers(&self, step: &str) -> u64 {
        let is_it = |name: &str| name == step || step.split_once('/') == Some((name, name));
        let steps = self.steps.iter().filter(|found| is_it(&found.name));
        steps.map(|found| found.measures.requests.ok + found.measures.warm_up.ok).sum()
    }
}

impl Measures {
    /// Adds what was measured of other requests.
    pub fn add(&mut self, other: &Self) {
        let Self {
            requests,
            warm_up,
            unsent,
            service,
            response,
            censored,
            first_byte,
            connect,
            tls,
            lateness,
            warm_up_status,
            status,
            errors,
            events,
        } = other;
        self.requests += *requests;
        self.warm_up += *warm_up;
        self.unsent += unsent;
        for (sum, latencies) in [
            (&mut self.service, service),
            (&mut self.response, response),
            (&mut self.first_byte, first_byte),
            (&mut self.connect, connect),
            (&mut self.tls, tls),
            (&mut self.lateness, lateness),
        ] {
            sum.merge(latencies);
        }
        self.censored.merge(*censored);
        add_counts(&mut self.warm_up_status, warm_up_status);
        add_counts(&mut self.status, status);
        add_counts(&mut self.errors, errors);
        if let Some(events) = events {
            self.events.get_or_insert_default().add(events);
        }
    }
}

impl Slice {
    /// Adds the seconds of another generator to those of one, each to the same second.
    pub fn add_all(sums: &mut Vec<Self>, slices: &[Self]) {
        for slice in slices {
            match sums.binary_search_by_key(&slice.second, |sum| sum.second) {
                Ok(place) => sums[place].merge(slice),
                Err(place) => sums.insert(place, slice.clone()),
            }
        }
    }
}

/// Captures that nobody had a value of. Who had no right answer of the step had no occasion.
fn unmatched(parts: &[LoadResult]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for capture in parts.iter().flat_map(|part| &part.unmatched_captures) {
        let step = capture.split_once(": ").map_or(capture.as_str(), |(step, _)| step);
        let had_none = |part: &LoadResult| part.unmatched_captures.contains(capture) || part.right_answers(step) == 0;
        if !all.contains(capture) && parts.iter().all(had_none) {
            all.push(capture.clone());
        }
    }
    all
}

fn add_counts<K: Copy + Ord>(sums: &mut BTreeMap<K, u64>, counts: &BTreeMap<K, u64>) {
    for (key, count) in counts {
        *sums.entry(*key).or_default() += count;
    }
}
