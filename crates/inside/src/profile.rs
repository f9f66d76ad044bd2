//! Samples added up, weighted by the scheduler's counters.
//!
//! The scheduler's counters tell exactly how long threads ran, were ready and waited; samples tell how that divides between
//! functions. So a sample of a thread that ran stands for its share of the time run, and so on: a sampler that comes late
//! where processors are short does not change what each state has.

use std::collections::HashMap;
use std::sync::Arc;

use crate::sampler::StackSample;
use crate::scheduler::TimeSpent;
use crate::stack::PhpStack;
use crate::wait::ThreadState;

/// Samples by stack.
#[derive(Clone, Debug, Default)]
pub struct StackProfile {
    stacks: HashMap<Key, u64>,
    spent: TimeSpent,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    stack: Arc<PhpStack>,
    state: ThreadState,
    request: Option<Arc<str>>,
}

impl StackProfile {
    /// Adds a sample.
    pub fn add(&mut self, sample: &StackSample) {
        let StackSample { stack, state, request, .. } = sample;
        let key = Key { stack: Arc::clone(stack), state: state.clone(), request: request.clone() };
        *self.stacks.entry(key).or_default() += 1;
    }

    /// Gives it the time that its samples stand for.
    pub fn weigh(&mut self, spent: TimeSpent) {
        self.spent = spent;
    }

    /// The time that its samples stand for.
    pub const fn spent(&self) -> TimeSpent {
        self.spent
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }

    /// Each stack in each state and request with its samples.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (&PhpStack, &ThreadState, Option<&str>, u64)> {
        self.stacks
            .iter()
            .map(|(Key { stack, state, request }, samples)| (&**stack, state, request.as_deref(), *samples))
    }
}
