//! A sampler that is driven by the machine's clock.

use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use stampede_core::InsideRecord;
use stampede_inside::{JitteredInstants, NativeSampler, SampleCounts, StackProfile, StackSampler, recorded};

/// As profilers take them, so that nothing that is done a hundred times a second is in step.
pub(crate) const PER_SECOND: u32 = 199;

pub(crate) struct Driven {
    pub(crate) record: InsideRecord,
    pub(crate) counts: SampleCounts,
    /// What the sampler's thread ran, as a share of a processor.
    pub(crate) cost: f64,
    /// The share of the instants that were over before a sample was taken.
    pub(crate) missed: f64,
}

/// Samples for as long as it is to go on, on a thread that alone runs before others.
pub(crate) fn drive(pids: &[u32], goes_on: impl FnMut() -> bool + Send) -> Driven {
    thread::scope(|scope| scope.spawn(|| driven(pids, goes_on)).join().expect("it samples"))
}

fn driven(pids: &[u32], mut goes_on: impl FnMut() -> bool) -> Driven {
    let patience = Instant::now();
    let mut sampler = loop {
        match StackSampler::attach(pids) {
            Ok(sampler) => break sampler,
            Err(error) => assert!(patience.elapsed() < Duration::from_secs(10), "{error}"),
        }
        thread::yield_now();
    };
    // Without the right to it instants are late on a busy machine.
    let _ = stampede_priority::go_first();
    let mut profile = StackProfile::default();
    let mut native = NativeSampler::new(PER_SECOND);
    native.follow(sampler.threads());
    native.set(true);
    let (from, ran_before) = (Instant::now(), ran());
    let mut instants = 0_u32;
    for instant in JitteredInstants::new(1, PER_SECOND) {
        // The instants are the test.
        thread::sleep(instant.saturating_sub(from.elapsed()));
        if !goes_on() {
            break;
        }
        let now = from.elapsed();
        instants += 1;
        if JitteredInstants::is_missed(instant, now, PER_SECOND) {
            sampler.miss();
            continue;
        }
        if sampler.is_due(now) {
            sampler.renew(now);
            native.follow(sampler.threads());
        }
        for sample in sampler.sample(from.elapsed()) {
            profile.add(&sample);
        }
    }
    let lasted = from.elapsed();
    profile.weigh(sampler.time_spent());
    let cost = (ran() - ran_before).div_duration_f64(lasted);
    assert!(sampler.problems().is_empty(), "{:?}", sampler.problems());
    let record = InsideRecord { native: native.finish(), ..recorded(&profile, Some(&sampler), &[]) };
    let missed = sampler.counts().missed as f64 / f64::from(instants.max(1));
    Driven { record, counts: sampler.counts(), cost, missed }
}

/// Time that this thread ran.
fn ran() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
