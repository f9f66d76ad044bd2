//! Samples the stacks of a deployment's PHP beside a load.
//!
//! It takes samples in half of the window's seconds where it is told to rest, so that the others show what it costs.

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use stampede_core::{InsideEffort, InsideRecord, MeterSource};
use stampede_inside::{JitteredInstants, StackProfile, StackSampler, recorded};
use stampede_priority::{Precedence, ThreadRole};
use stampede_seam::{InsideTargets, SampleTargets};

/// How often it looks which processes and threads there are.
const RENEWAL: Duration = Duration::from_secs(1);
/// The same instants in each window do no harm: they are in step with nothing.
const SEED: u64 = 1;
/// Of whole seconds.
const SECOND: Duration = Duration::from_secs(1);

/// Samples until its window closes. Dropped before, it ends by itself with the next sample.
pub(crate) struct InsideWatch {
    thread: JoinHandle<InsideRecord>,
    /// Its end ends the thread.
    running: Sender<()>,
}

impl InsideWatch {
    /// Starts to sample, where that is asked for.
    pub(crate) fn start(targets: &SampleTargets, window: Range<Instant>) -> io::Result<Option<Self>> {
        let Some(inside) = targets.inside else { return Ok(None) };
        let groups = targets.meters.iter().map(group).collect();
        let own = targets.listeners.iter().map(|(_, endpoint)| endpoint.to_string()).collect();
        let (running, stopped) = channel();
        let precedence = Precedence::here();
        let watched = Watched { groups, own, inside, window };
        let thread = Builder::new().name("sample-inside".to_owned()).spawn(move || {
            precedence.adopt(ThreadRole::Watch);
            watched.sample(&stopped)
        })?;
        Ok(Some(Self { thread, running }))
    }

    /// What was seen until now.
    pub(crate) fn cut(self) -> InsideRecord {
        let Self { thread, running } = self;
        drop(running);
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// What was seen, at the end of the window.
    pub(crate) fn finish(self) -> InsideRecord {
        let Self { thread, running } = self;
        let record = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        drop(running);
        record
    }
}

/// The folder of a control group in which its processes are listed.
fn group(meter: &MeterSource) -> PathBuf {
    match meter {
        MeterSource::CgroupV1 { cpu, .. } => cpu.clone(),
        MeterSource::CgroupV2 { dir } => dir.clone(),
    }
}

/// What is sampled, and when.
struct Watched {
    groups: Vec<PathBuf>,
    /// Addresses of the deployment.
    own: Vec<String>,
    inside: InsideTargets,
    window: Range<Instant>,
}

impl Watched {
    fn sample(self, stopped: &Receiver<()>) -> InsideRecord {
        let Self { groups, own, inside: InsideTargets { per_second, rests }, window } = self;
        // Programs are read before the window opens, and their files stay open through it.
        let mut sampler = StackSampler::of_groups(groups);
        let length = window.end.saturating_duration_since(window.start);
        let mut profile = StackProfile::default();
        let is_over = |until: Instant| {
            let wait = stopped.recv_timeout(until.saturating_duration_since(Instant::now()));
            !matches!(wait, Err(RecvTimeoutError::Timeout))
        };
        let mut is_cut = is_over(window.start);
        let ran_before = thread_time();
        sampler.renew();
        let mut renewed = Duration::ZERO;
        for instant in JitteredInstants::new(SEED, per_second).take_while(|instant| *instant < length) {
            if rests && !InsideTargets::is_sampled(instant.as_secs()) {
                continue;
            }
            if is_cut || is_over(window.start + instant) {
                is_cut = true;
                break;
            }
            let now = window.start.elapsed();
            if now.saturating_sub(renewed) > RENEWAL {
                sampler.count(now);
                sampler.renew();
                renewed = now;
            }
            sampler.sample(now).iter().for_each(|sample| profile.add(sample));
        }
        // The last seconds may have no samples, but their time counts.
        let _ = !is_cut && is_over(window.end);
        let ended = window.start.elapsed().min(length);
        sampler.count(window.start.elapsed());
        let cpu = thread_time().saturating_sub(ran_before);
        profile.weigh(sampler.time_spent());
        let mut record = recorded(&profile, Some(&sampler), &own);
        record.effort = InsideEffort { cpu, ..record.effort };
        record.sampled = parts(ended, rests);
        if record.effort.taken == 0 && record.problems.is_empty() {
            record.problems.push("no PHP runs in it".to_owned());
        }
        record
    }
}

/// The parts of a window in which samples are taken.
fn parts(length: Duration, rests: bool) -> Vec<Range<Duration>> {
    if !rests {
        return vec![Duration::ZERO..length];
    }
    let mut parts: Vec<Range<Duration>> = Vec::new();
    for second in (0..length.as_secs_f64().ceil() as u64).filter(|second| InsideTargets::is_sampled(*second)) {
        let (from, to) = (SECOND * second as u32, (SECOND * (second as u32 + 1)).min(length));
        match parts.last_mut() {
            Some(part) if part.end == from => part.end = to,
            _ => parts.push(from..to),
        }
    }
    parts
}

/// The time that the calling thread has run.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_seconds_have_samples() {
        let shown = |seconds: f64, rests| {
            let parts = parts(Duration::from_secs_f64(seconds), rests);
            parts.iter().map(|part| (part.start.as_secs_f64(), part.end.as_secs_f64())).collect::<Vec<_>>()
        };
        assert_eq!(shown(8.0, true), [(0.0, 1.0), (3.0, 5.0), (7.0, 8.0)]);
        assert_eq!(shown(3.5, true), [(0.0, 1.0), (3.0, 3.5)]);
        assert_eq!(shown(0.5, true), [(0.0, 0.5)]);
        assert_eq!(shown(1.5, false), [(0.0, 1.5)]);
    }
}
