//! Results of several generators are added up without loss.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use stampede_core::{Censored, Counts, ErrorClass, GeneratorUse, Latencies};
use stampede_seam::{
    FlowResult, FlowTally, LittlesLaw, LoadResult, Measures, MergeError, RequestFailure, Saturation, Slice, StepResult,
    WrongAnswer,
};
use stampede_testkit::samples;

/// A request of step 0 or 1: in which second it was answered, after how long, and with which status.
type Answer = (usize, u64, u64, u16);

/// What a generator that had these answers has measured.
fn result(answers: &[Answer]) -> LoadResult {
    let empty = || Measures {
        requests: Counts::default(),
        warm_up: Counts::default(),
        unsent: 0,
        service: Latencies::new(),
        response: Latencies::new(),
        censored: Censored::default(),
        first_byte: Latencies::new(),
        connect: Latencies::new(),
        tls: Latencies::new(),
        lateness: Latencies::new(),
        warm_up_status: BTreeMap::new(),
        status: BTreeMap::new(),
        errors: BTreeMap::new(),
        events: Some(Box::default()),
    };
    let add = |measures: &mut Measures, (_, second, ns, status): Answer| {
        let is_right = status < 400;
        measures.requests.sent += 1;
        if let Some(events) = &mut measures.events {
            events.events += 1;
            events.gaps.record_ns(ns);
        }
        measures.requests.ok += u64::from(is_right);
        measures.requests.failed += u64::from(!is_right);
        measures.warm_up.unfinished += second % 2;
        measures.unsent += second % 3;
        for (latencies, factor) in [
            (&mut measures.service, 1),
            (&mut measures.response, 2),
            (&mut measures.first_byte, 3),
            (&mut measures.connect, 4),
            (&mut measures.tls, 5),
            (&mut measures.lateness, 6),
        ] {
            latencies.record_ns(ns / factor);
        }
        measures.censored.add(Duration::from_nanos(ns));
        *measures.status.entry(status).or_default() += 1;
        *measures.warm_up_status.entry(status).or_default() += second;
        if !is_right {
            *measures.errors.entry(ErrorClass::WrongStatus).or_default() += 1;
        }
    };
    let (mut total, mut steps) = (empty(), [empty(), empty()]);
    let mut slices = BTreeMap::new();
    for answer in answers {
        let (step, second, ns, status) = *answer;
        add(&mut total, *answer);
        add(&mut steps[step], *answer);
        let slice: &mut Slice = slices.entry(second).or_insert_with(|| Slice::new(second));
        slice.sent += 1;
        slice.ok += u64::from(status < 400);
        slice.failed += u64::from(status >= 400);
        slice.bytes_sent += ns;
        slice.bytes_received += 2 * ns;
        slice.service.record_ns(ns);
        slice.response.record_ns(2 * ns);
    }
    let count = answers.len() as u64;
    let time = Duration::from_millis(count);
    let saturation = Saturation::find(&total.lateness, &total.response, &LittlesLaw { seen: time, summed: time });
    LoadResult {
        total: total.clone(),
        steps: ["a", "b"]
            .into_iter()
            .zip(steps)
            .map(|(name, measures)| StepResult { name: name.to_owned(), measures })
            .collect(),
        flows: vec![FlowResult {
            name: "flow".to_owned(),
            count: FlowTally { begun: count, completed: count / 2, abandoned: 0 },
        }],
        turns: vec![total.requests, total.warm_up],
        by_target: vec![count, 3 * count],
        slices: slices.into_values().collect(),
        reconnects: count,
        bytes_sent: 3 * count,
        bytes_received: 4 * count,
        generator: GeneratorUse { threads: 1, cpu: time },
        spin: time,
        // The latest of all, as it is of the answers.
        begun_late: answers.iter().map(|(_, _, ns, _)| Duration::from_nanos(*ns)).max(),
        littles_law: LittlesLaw { seen: time, summed: time },
        saturation,
        ..samples::load_result()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whoever has how many of the answers, the sum is what one would have measured who had all of them.
    #[test]
    fn the_sum_of_parts_is_the_whole(
        answers in prop::collection::vec(((0..2_usize, 0..5_u64, 1..4_000_000_000_000_u64, prop::sample::select(vec![200, 204, 500])), 0..7_usize), 0..150),
        parts in 1..8_usize,
    ) {
        let of_part = |part: usize| {
            let its = answers.iter().filter(|(_, owner)| owner % parts == part).map(|(answer, _)| *answer);
            result(&its.collect::<Vec<_>>())
        };
        let merged = LoadResult::merged(&(0..parts).map(of_part).collect::<Vec<_>>()).unwrap();
        let mut whole = result(&answers.iter().map(|(answer, _)| *answer).collect::<Vec<_>>());
        whole.generator.threads = parts as u32;
        // Halves of odd numbers.
        whole.flows[0].count.completed = merged.flows[0].count.completed;
        whole.saturation = merged.saturation;
        prop_assert_eq!(merged, whole);
    }
}

#[test]
fn results_of_other_plans_are_refused() {
    let one = result(&[(0, 0, 1_000_000, 200)]);
    let mut other_steps = one.clone();
    other_steps.steps.pop();
    let mut other_flows = one.clone();
    other_flows.flows[0].name = "other".to_owned();
    let other_backend = LoadResult { backend: stampede_seam::Backend::IoUring, ..one.clone() };
    assert_eq!(LoadResult::merged(&[]), Err(MergeError::Nothing));
    for (what, other) in
        [("its steps", other_steps), ("its flows", other_flows), ("how it reaches the kernel", other_backend)]
    {
        let merged = LoadResult::merged(&[one.clone(), one.clone(), other]);
        assert_eq!(merged, Err(MergeError::OtherPlan { number: 3, what }));
    }
}

#[test]
fn what_is_no_sum_is_what_the_first_says_who_knows() {
    let mut parts = [result(&[]), result(&[(0, 0, 1_000_000, 200)]), result(&[(1, 1, 1_000_000, 500)])];
    let wrong = |offset| WrongAnswer { step: 1, status: 500, offset, bytes: Vec::new() };
    let failure = |step| RequestFailure { class: ErrorClass::WrongStatus, step, detail: "500".to_owned() };
    parts[1].first_failure = Some(failure(1));
    parts[2].first_failure = Some(failure(2));
    parts[1].wrong_answers = vec![wrong(1), wrong(2)];
    parts[2].wrong_answers = vec![wrong(3), wrong(4)];
    parts[2].exhausted_feeders = vec!["users".to_owned()];
    parts[2].window = Duration::from_secs(11);
    parts[2].saturation = Some(Saturation::Accounts { ratio: 2.0 });
    // The first had no answer, the second had one without the token.
    parts[1].unmatched_captures = vec!["a/a: token".to_owned(), "b/b: id".to_owned()];
    let merged = LoadResult::merged(&parts).unwrap();
    assert_eq!(merged.first_failure, Some(failure(1)));
    assert_eq!(merged.wrong_answers, [wrong(1), wrong(2), wrong(3)]);
    assert_eq!(merged.exhausted_feeders, ["users"]);
    assert_eq!(merged.window, Duration::from_secs(11));
    assert_eq!(merged.saturation, Some(Saturation::Accounts { ratio: 2.0 }));
    assert_eq!(merged.unmatched_captures, ["a/a: token", "b/b: id"]);
    // Another one had a value of it.
    parts[0] = result(&[(0, 0, 1_000_000, 200)]);
    assert_eq!(LoadResult::merged(&parts).unwrap().unmatched_captures, ["b/b: id"]);
}
