//! Finds calls that do not come back. LuaJIT's compiled loops look at no hook, so that nothing but the process's end stops them:
//! whoever has a watch decides about that.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::calls::{Calls, Present};
use crate::trouble::Trouble;

/// How often it looks while it guards a job.
const GLANCE: Duration = Duration::from_millis(50);

/// Looks at all states of a script from outside.
#[derive(Debug)]
pub struct Watch {
    patience: Duration,
    watched: Mutex<Vec<Watched>>,
}

#[derive(Debug)]
struct Watched {
    calls: Arc<Calls>,
    /// The call that was under way at the last look, and since when.
    seen: Option<(Present, Instant)>,
}

impl Watch {
    /// One that takes a call for endless after this time.
    pub fn new(patience: Duration) -> Arc<Self> {
        Arc::new(Self { patience, watched: Mutex::new(Vec::new()) })
    }

    pub(crate) fn add(&self, calls: Arc<Calls>) {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).push(Watched { calls, seen: None });
    }

    /// The call that does not come back, if there is one. To be asked again and again.
    pub fn look(&self, now: Instant) -> Option<Trouble> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.iter_mut().find_map(|watched| watched.look(now, self.patience))
    }

    /// Does a job on a thread of its own, which is left alone when a call of it does not come back.
    ///
    /// # Errors
    ///
    /// The call that does not come back; or there is no thread.
    pub fn guard<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, Trouble> {
        let (sender, done) = mpsc::channel();
        let work = move || drop(sender.send(job()));
        let worker = thread::Builder::new().name("script".to_owned()).spawn(work);
        let worker = worker.map_err(|error| Trouble::NoThread(error.to_string()))?;
        loop {
            match done.recv_timeout(GLANCE) {
                Ok(value) => return Ok(value),
                Err(RecvTimeoutError::Timeout) => match self.look(Instant::now()) {
                    Some(trouble) => return Err(trouble),
                    None => continue,
                },
                Err(RecvTimeoutError::Disconnected) => match worker.join() {
                    Err(panic) => std::panic::resume_unwind(panic),
                    Ok(()) => return Err(Trouble::NoThread("it ended early".to_owned())),
                },
            }
        }
    }
}

impl Watched {
    fn look(&mut self, now: Instant, patience: Duration) -> Option<Trouble> {
        let Some(present) = self.calls.present() else {
            self.seen = None;
            return None;
        };
        match &self.seen {
            Some((seen, since)) if *seen == present => {
                let after = now.saturating_duration_since(*since);
                let Present { entry, call, .. } = present;
                (after >= patience).then(|| Trouble::Endless {
                    place: self.calls.place(entry),
                    entry,
                    thread: self.calls.thread,
                    call,
                    after,
                })
            }
            _ => {
                self.seen = Some((present, now));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trouble::Entry;

    #[test]
    fn a_call_that_does_not_come_back_is_found_and_others_are_not() {
        let watch = Watch::new(Duration::from_secs(10));
        let calls = Arc::new(Calls::new(Some(2), "a.lua"));
        calls.set_place(Entry::Request, "a.lua:7".to_owned());
        watch.add(Arc::clone(&calls));
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        calls.during(Entry::Request, || {
            assert_eq!(watch.look(start), None);
            assert_eq!(watch.look(after(9)), None);
        });
        calls.during(Entry::Request, || {
            // Another call of the same function.
            assert_eq!(watch.look(after(11)), None);
            let found = watch.look(after(21)).unwrap().to_string();
            assert_eq!(
                found,
                "a.lua:7: request() has not returned for 10 s (thread 2, call 2)\n  look for a loop without an end"
            );
        });
        assert_eq!(watch.look(after(99)), None);
    }

    #[test]
    fn a_job_is_done_or_left() {
        let watch = Watch::new(Duration::ZERO);
        assert_eq!(watch.guard(|| 7), Ok(7));
        let calls = Arc::new(Calls::new(None, "a.lua"));
        watch.add(Arc::clone(&calls));
        let (release, held) = mpsc::channel::<()>();
        let job = move || calls.during(Entry::Done, || held.recv().is_err());
        let found = watch.guard(job).unwrap_err().to_string();
        assert!(found.starts_with("a.lua:1: done() has not returned for 0 s\n"), "{found}");
        drop(release);
    }
}
