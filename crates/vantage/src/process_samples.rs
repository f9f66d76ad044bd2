//! Samples of PHP processes that this program did not start.

use std::pin::pin;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use stampede_core::InsideNative;
use stampede_inside::{JitteredInstants, NativeSampler, SampledProcess, StackProfile, StackSampler};

/// Timers of the asynchronous runtime end at whole milliseconds
/// (<https://docs.rs/tokio/latest/tokio/time/fn.sleep.html>), and so does the scheduler's tick, with which what runs begins: instants
/// that are in step with both meet some functions more often than others.
const COARSE: Duration = Duration::from_millis(2);
/// A program with this seed has the same instants again, which do no harm: they are in step with nothing.
const SEED: u64 = 1;

/// What came of sampling processes.
#[derive(Debug)]
pub struct ProcessSamples {
    /// Their stacks.
    pub profile: StackProfile,
    /// Where in machine code they ran.
    pub native: InsideNative,
    /// The processes that were seen last.
    pub processes: Vec<SampledProcess>,
    /// How long it took.
    pub lasted: Duration,
    /// Time of a processor that this program took for it.
    pub cpu: Duration,
}

/// Takes so many samples a second until the time is over, `ended` is, or no process is left.
pub async fn sample_processes(
    sampler: &mut StackSampler,
    duration: Duration,
    rate: u32,
    ended: impl Future<Output = ()>,
) -> ProcessSamples {
    let mut ended = pin!(ended);
    let mut profile = StackProfile::default();
    let mut processes = sampler.processes();
    let mut native = NativeSampler::new(rate);
    native.follow(sampler.threads());
    let (from, ran_before) = (Instant::now(), ran());
    native.set(true);
    for instant in JitteredInstants::new(SEED, rate).take_while(|instant| *instant < duration) {
        tokio::select! {
            () = tokio::time::sleep_until((from + instant).checked_sub(COARSE).unwrap_or(from).into()) => {}
            () = &mut ended => break,
        }
        std::thread::sleep(instant.saturating_sub(from.elapsed()));
        let now = from.elapsed();
        if JitteredInstants::is_missed(instant, now, rate) {
            sampler.miss();
            continue;
        }
        if sampler.is_due(now) {
            sampler.renew(now);
            if sampler.processes().is_empty() {
                break;
            }
            processes = sampler.processes();
            native.follow(sampler.threads());
        }
        sampler.sample(now).iter().for_each(|sample| profile.add(sample));
    }
    native.set(false);
    let lasted = from.elapsed();
    profile.weigh(sampler.time_spent());
    let cpu = ran() - ran_before;
    ProcessSamples { profile, native: native.finish(), processes, lasted, cpu }
}

/// Time that this program ran.
fn ran() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
