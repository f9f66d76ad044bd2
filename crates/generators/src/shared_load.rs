//! A load that several generators drive.

use std::ops::Range;
use std::sync::Arc;

use stampede_agent::{ClockCheck, ClockOffset};
use stampede_core::{Endpoint, Fut, LinkUse};
use stampede_seam::{
    GeneratorRecord, LoadError, LoadHandle, LoadOutcome, LoadProgress, LoadResult, LoadStatus, Moment, RoughLatencies,
    Slice, StartSkew,
};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::faults::{Seen, faults};
use crate::member::Member;

/// The part that one of them drives.
pub(crate) struct LoadPart {
    member: Arc<Member>,
    handle: Result<Box<dyn LoadHandle>, LoadError>,
    /// When it was to begin, by our clock and by its own.
    begins: (Instant, Moment),
    /// What was known of its clock then.
    offset: ClockOffset,
    /// How far it was when it was last looked at.
    progress: LoadProgress,
    latencies: RoughLatencies,
    /// The last second that it has told.
    told: Option<u64>,
    is_finished: bool,
}

impl LoadPart {
    pub(crate) fn new(
        member: Arc<Member>,
        handle: Result<Box<dyn LoadHandle>, LoadError>,
        begins: (Instant, Moment),
        offset: ClockOffset,
    ) -> Self {
        let is_finished = handle.is_err();
        Self {
            member,
            handle,
            begins,
            offset,
            progress: LoadProgress::default(),
            latencies: RoughLatencies::new(),
            told: None,
            is_finished,
        }
    }

    /// Waits for its end. Where it was lost, there is a record all the same.
    async fn finish(self) -> (GeneratorRecord, Option<LinkUse>) {
        let Self { member, handle, begins: (begins, begins_there), offset, progress, .. } = self;
        let most_rps = member.most.get().copied();
        let lost = |problem: &str| {
            let LoadProgress { ok, failed } = progress;
            let said = Some(member.said()).filter(|said| !said.is_empty()).map(|said| format!("; it said: {said}"));
            let fault = format!(
                "generator {} is lost after {ok} right answers and {failed} failed requests: {problem}{}",
                member.name(),
                said.unwrap_or_default()
            );
            GeneratorRecord {
                name: member.name().to_owned(),
                result: None,
                held_up: None,
                start: None,
                most_rps,
                faults: vec![fault],
            }
        };
        let finished = match handle {
            Ok(handle) => handle.finish().await,
            Err(error) => Err(error),
        };
        let LoadOutcome { result, link, held_up, generators: _ } = match finished {
            Ok(outcome) => outcome,
            Err(LoadError(problem)) => return (lost(&problem), None),
        };
        let last = match member.agent.check_clock().await {
            Ok(ClockCheck { last, .. }) => last,
            Err(error) => return (lost(&error.to_string()), None),
        };
        let start = result.begun_late.map(|late| {
            let begun = member.agent.instant_at(begins_there + late, last);
            let after = begun.saturating_duration_since(begins).as_nanos() as i64;
            let before = begins.saturating_duration_since(begun).as_nanos() as i64;
            StartSkew { ns: after - before, bound: last.bound }
        });
        let seen = Seen {
            name: member.name(),
            result: &result,
            held_up,
            start,
            clock: ClockCheck { first: offset, last },
            elapsed: begins.elapsed(),
        };
        let faults = faults(&seen);
        let name = member.name().to_owned();
        (GeneratorRecord { name, result: Some(result), held_up, start, most_rps, faults }, link)
    }
}

pub(crate) struct SharedLoad {
    window: Range<Moment>,
    parts: Vec<LoadPart>,
    /// Seconds that not all parts have told.
    slices: Vec<Slice>,
}

impl SharedLoad {
    pub(crate) fn new(window: Range<Moment>, parts: Vec<LoadPart>) -> Self {
        Self { window, parts, slices: Vec::new() }
    }
}

impl LoadHandle for SharedLoad {
    fn window(&self) -> Range<Moment> {
        self.window.clone()
    }

    fn look(&mut self) -> LoadStatus {
        let mut view = LoadStatus { is_finished: true, ..LoadStatus::default() };
        for part in &mut self.parts {
            if let Ok(handle) = &mut part.handle {
                let LoadStatus { progress, latencies, slices, is_finished } = handle.look();
                part.told = slices.iter().map(|slice| slice.second).max().or(part.told);
                Slice::add_all(&mut self.slices, &slices);
                (part.progress, part.latencies, part.is_finished) = (progress, latencies, is_finished);
            }
            view.progress.ok += part.progress.ok;
            view.progress.failed += part.progress.failed;
            view.latencies.merge(&part.latencies);
            view.is_finished &= part.is_finished;
        }
        // Up to the last second that each of them has told; what they tell with their results comes at the end.
        let complete = match self.parts.iter().map(|part| part.told).min().flatten() {
            Some(told) => self.slices.partition_point(|slice| slice.second <= told),
            None => 0,
        };
        view.slices = self.slices.drain(..complete).collect();
        view
    }

    fn set_targets(&mut self, targets: &[Endpoint]) {
        for handle in self.parts.iter_mut().filter_map(|part| part.handle.as_mut().ok()) {
            handle.set_targets(targets);
        }
    }

    fn cut(&mut self) {
        for handle in self.parts.iter_mut().filter_map(|part| part.handle.as_mut().ok()) {
            handle.cut();
        }
    }

    fn finish(self: Box<Self>) -> Fut<'static, Result<LoadOutcome, LoadError>> {
        Box::pin(async move {
            let Self { window: _, parts, slices } = *self;
            let mut finishing = JoinSet::new();
            for (place, part) in parts.into_iter().enumerate() {
                finishing.spawn(async move { (place, part.finish().await) });
            }
            let mut finished = finishing.join_all().await;
            finished.sort_by_key(|(place, _)| *place);
            let (generators, links): (Vec<_>, Vec<_>) = finished.into_iter().map(|(_, part)| part).unzip();
            let results: Vec<LoadResult> = generators.iter().filter_map(|part| part.result.clone()).collect();
            if results.is_empty() {
                let faults: Vec<String> = generators.into_iter().flat_map(|generator| generator.faults).collect();
                return Err(LoadError(faults.join("; ")));
            }
            let mut result = LoadResult::merged(&results).map_err(|error| LoadError(error.to_string()))?;
            Slice::add_all(&mut result.slices, &slices);
            let link = links.into_iter().flatten().reduce(add_links);
            Ok(LoadOutcome { result, link, held_up: None, generators })
        })
    }
}

/// What the ways of two generators cost together.
fn add_links(one: LinkUse, other: LinkUse) -> LinkUse {
    let LinkUse { cpu, late_p50, late_p99, bytes } = other;
    LinkUse {
        cpu: one.cpu + cpu,
        late_p50: one.late_p50.max(late_p50),
        late_p99: one.late_p99.max(late_p99),
        bytes: one.bytes + bytes,
    }
}
