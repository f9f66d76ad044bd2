//! What holds up the process that drives a load: processors that are taken, a quota that is used up, or that it is stopped.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::process;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use stampede_seam::HeldUp;

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(50);

/// How the threads of a load are named.
const LOAD_THREADS: &str = "load-";

/// Watches this process from when a window opens until it closes. Dropped before, it ends by itself with the next look.
#[derive(Debug)]
pub struct HoldUps {
    thread: JoinHandle<HeldUp>,
    /// Its end ends the thread.
    running: Sender<()>,
}

impl HoldUps {
    /// Begins.
    ///
    /// # Errors
    ///
    /// When no thread can be started.
    pub fn watch(window: Range<Instant>) -> io::Result<Self> {
        let (running, ended) = channel::<()>();
        let thread = Builder::new().name("hold-ups".to_owned()).spawn(move || {
            let rests = |until: Instant| {
                let rest = until.saturating_duration_since(Instant::now());
                ended.recv_timeout(rest) == Err(RecvTimeoutError::Timeout)
            };
            let mut held_up = HeldUp::default();
            if !rests(window.start) {
                return held_up;
            }
            let throttled = throttled();
            let mut waits: HashMap<String, Range<Duration>> = HashMap::new();
            let mut looked = window.start;
            loop {
                for (thread, waited) in waits_of_load_threads() {
                    waits.entry(thread).or_insert(waited..waited).end = waited;
                }
                let now = Instant::now();
                held_up.paused = held_up.paused.max(now.saturating_duration_since(looked).saturating_sub(LOOK));
                looked = now;
                // What comes last is read before the threads can end.
                if now + LOOK >= window.end || !rests(now + LOOK) {
                    break;
                }
            }
            held_up.throttled = self::throttled().saturating_sub(throttled);
            held_up.waited = waits.into_values().map(|waited| waited.end.saturating_sub(waited.start)).sum();
            held_up
        })?;
        Ok(Self { thread, running })
    }

    /// What was seen; waits for the end of a look at the most.
    pub fn finish(self) -> HeldUp {
        drop(self.running);
        match self.thread.join() {
            Ok(held_up) => held_up,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn throttled() -> Duration {
    stampede_cgroup::throttled(Path::new("/"), process::id()).unwrap_or_default()
}

/// How long each load thread has waited for a processor since its start.
fn waits_of_load_threads() -> Vec<(String, Duration)> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let wait = |task: fs::DirEntry| {
        let folder = task.path();
        fs::read_to_string(folder.join("comm")).ok().filter(|name| name.starts_with(LOAD_THREADS))?;
        let stat = fs::read_to_string(folder.join("schedstat")).ok()?;
        let waited = stat.split_whitespace().nth(1)?.parse().ok()?;
        Some((task.file_name().to_string_lossy().into_owned(), Duration::from_nanos(waited)))
    };
    tasks.filter_map(wait).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_thread_beside_another_on_one_processor_waits() {
        let began = Instant::now();
        let (opens, closes) = (began + Duration::from_millis(20), began + Duration::from_millis(400));
        let cpu = rustix::thread::sched_getaffinity(None).unwrap();
        let first = (0..rustix::thread::CpuSet::MAX_CPU).find(|place| cpu.is_set(*place)).unwrap();
        let spin = move || {
            let mut set = rustix::thread::CpuSet::new();
            set.set(first);
            rustix::thread::sched_setaffinity(None, &set).unwrap();
            while Instant::now() < closes {
                std::hint::spin_loop();
            }
        };
        let threads = ["load-0", "other"].map(|name| Builder::new().name(name.to_owned()).spawn(spin).unwrap());
        let watch = HoldUps::watch(opens..closes).unwrap();
        for thread in threads {
            thread.join().unwrap();
        }
        let held_up = watch.finish();
        assert!(held_up.waited > Duration::from_millis(50), "{held_up:?}");
        assert!(held_up.waited < Duration::from_millis(400), "{held_up:?}");
    }

    #[test]
    fn what_has_not_begun_was_not_held_up() {
        let opens = Instant::now() + Duration::from_secs(600);
        assert_eq!(HoldUps::watch(opens..opens).unwrap().finish(), HeldUp::default());
    }
}
