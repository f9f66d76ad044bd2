//! A profile as a record: plain values that are kept with a study.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use stampede_core::{InsideEffort, InsideFunction, InsideNative, InsideRecord, InsideStack, InsideState, InsideTimes};

use crate::function::PhpFunction;
use crate::profile::StackProfile;
use crate::sampler::{SampleCounts, StackSampler};
use crate::scheduler::TimeSpent;
use crate::stack::PhpStack;
use crate::wait::ThreadState;

/// Stands for the outer functions of a stack that is too deep to be read whole.
const CUT: &str = "(cut)";

/// A profile that was weighed, as a record of how it was sampled. A connection to one of its `own` addresses leads a deployment to
/// itself.
pub fn recorded(profile: &StackProfile, sampler: Option<&StackSampler>, own: &[String]) -> InsideRecord {
    let mut functions = Vec::new();
    let mut places: HashMap<Arc<PhpFunction>, u32> = HashMap::new();
    let mut place = |function: &Arc<PhpFunction>| {
        *places.entry(Arc::clone(function)).or_insert_with(|| {
            functions.push(InsideFunction::from(&**function));
            functions.len() as u32 - 1
        })
    };
    let cut = Arc::new(PhpFunction { class: None, name: Some(CUT.into()), file: None, first_line: 0 });
    let stacks = profile.counted().map(|(PhpStack { frames, is_cut }, state, request, samples)| InsideStack {
        frames: is_cut
            .then_some(&cut)
            .into_iter()
            .chain(frames.iter().rev().map(|frame| &frame.function))
            .map(&mut place)
            .collect(),
        line: frames.iter().find(|frame| frame.function.file.is_some()).and_then(|frame| frame.line),
        state: state_record(state, own),
        request: request.map(|path| path.to_string()),
        samples,
    });
    let stacks = stacks.collect();
    let TimeSpent { running, ready, waiting } = profile.spent();
    let SampleCounts { taken, torn, moved, ended: _, skipped, missed } =
        sampler.map(StackSampler::counts).unwrap_or_default();
    let mut record = InsideRecord {
        functions,
        stacks,
        spent: InsideTimes { running, ready, waiting, waits: sampler.map_or(0, StackSampler::waits) },
        effort: InsideEffort { taken, torn, moved, skipped, missed, cpu: Duration::ZERO },
        sampled: Vec::new(),
        native: InsideNative::default(),
        problems: sampler.into_iter().flat_map(StackSampler::problems).map(|error| error.problem.to_string()).collect(),
    };
    record.problems.sort();
    record.problems.dedup();
    record.settle();
    record
}

fn state_record(state: &ThreadState, own: &[String]) -> InsideState {
    match state {
        ThreadState::Running => InsideState::Running,
        ThreadState::Ready => InsideState::Ready,
        ThreadState::Waiting(wait) => InsideState::Waiting(wait.record(own)),
    }
}
