//! Which of Stampede's threads go before what else runs on the machine.
//!
//! A load that is late because a compiler had the processor is no load, and counters that are read late are no counters. Threads go
//! first by the kernel's real-time scheduling, since `nice` weighs a program only against those of its own session
//! ([autogroups](https://man7.org/linux/man-pages/man7/sched.7.html)). It knows nothing of servers: what makes their neighbours wait is the
//! weight of their control group.

use std::io;
use std::marker::PhantomData;

/// What a thread that goes first does. The first of them goes before the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadRole {
    /// Conducts: sleeps until an edge of a window is due, and then has little to do.
    Conduct,
    /// Watches a deployment some times a second.
    Watch,
    /// Sends load, or hands it on: it is busy.
    Load,
}

impl ThreadRole {
    /// The [real-time priority](https://man7.org/linux/man-pages/man7/sched.7.html), of which the larger goes first.
    fn priority(self) -> libc::c_int {
        match self {
            Self::Conduct => 3,
            Self::Watch => 2,
            Self::Load => 1,
        }
    }
}

/// Whether a thread goes first, to be handed to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Precedence(bool);

impl Precedence {
    /// That of the calling thread.
    pub fn here() -> Self {
        Self(policy() & !libc::SCHED_RESET_ON_FORK == libc::SCHED_RR)
    }

    /// Whether it goes first.
    pub fn goes_first(self) -> bool {
        self.0
    }

    /// Has the calling thread go first in its role, where the thread before it does.
    pub fn adopt(self, role: ThreadRole) {
        if self.0 {
            // Who was allowed to is so still; else it is as every thread.
            let _ = set(role);
        }
    }
}

/// Has the calling thread go before all programs that share their time: those wait when it has something to do. Threads and processes
/// that it starts are as usual, but for threads that adopt it.
///
/// Not for a thread that shares its processors with a server that is measured.
///
/// # Errors
///
/// When this process may not (`CAP_SYS_NICE`, or `RLIMIT_RTPRIO`). All stays as it was then.
pub fn go_first() -> io::Result<()> {
    set(ThreadRole::Conduct)
}

/// Has the calling thread go first until this is dropped, for a moment that must not be missed: a start that others share. It is as
/// before then.
#[derive(Debug)]
pub struct Hurry {
    /// Its policy before, with the flags of that.
    before: libc::c_int,
    /// It is the calling thread that is as before again.
    _of_this_thread: PhantomData<*const ()>,
}

impl Hurry {
    /// `None` where the thread has a real-time policy already, whoever gave it that, or may not have one.
    pub fn begin(role: ThreadRole) -> Option<Self> {
        let before = policy();
        match before & !libc::SCHED_RESET_ON_FORK {
            libc::SCHED_OTHER | libc::SCHED_BATCH | libc::SCHED_IDLE => {
                set(role).ok().map(|()| Self { before, _of_this_thread: PhantomData })
            }
            _ => None,
        }
    }
}

impl Drop for Hurry {
    fn drop(&mut self) {
        // Who goes first may always share its time again (sched(7)).
        let _ = schedule(self.before, 0);
    }
}

/// The calling thread's policy, with its flags.
fn policy() -> libc::c_int {
    // SAFETY: 0 stands for the calling thread; nothing is written.
    unsafe { libc::sched_getscheduler(0) }
}

fn set(role: ThreadRole) -> io::Result<()> {
    schedule(libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, role.priority())
}

fn schedule(policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    // SAFETY: all zeros are a valid sched_param, whose fields are numbers.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: 0 stands for the calling thread; the parameters live until the call returns.
    let set = unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::thread;

    use super::*;

    fn in_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        thread::spawn(work).join().unwrap()
    }

    #[test]
    fn threads_are_as_usual_unless_they_adopt_it() {
        assert_eq!(Precedence::here(), Precedence(false));
        in_a_thread(|| {
            if let Err(error) = go_first() {
                let _ = writeln!(io::stderr(), "SKIP precedence: needs the right to go first: {error}");
                return;
            }
            let first = Precedence::here();
            assert_eq!(first, Precedence(true));
            assert_eq!(in_a_thread(Precedence::here), Precedence(false));
            let adopted = in_a_thread(move || {
                first.adopt(ThreadRole::Load);
                Precedence::here()
            });
            assert_eq!(adopted, first);
        });
    }

    #[test]
    fn a_hurry_ends() {
        in_a_thread(|| {
            let Some(hurry) = Hurry::begin(ThreadRole::Load) else {
                let _ = writeln!(io::stderr(), "SKIP hurry: needs the right to go first");
                return;
            };
            assert_eq!(Precedence::here(), Precedence(true));
            assert!(Hurry::begin(ThreadRole::Load).is_none());
            drop(hurry);
            assert_eq!(Precedence::here(), Precedence(false));
            schedule(libc::SCHED_BATCH, 0).unwrap();
            drop(Hurry::begin(ThreadRole::Load).unwrap());
            assert_eq!(policy(), libc::SCHED_BATCH, "it is as before");
            schedule(libc::SCHED_FIFO, 40).unwrap();
            assert!(Hurry::begin(ThreadRole::Load).is_none(), "who is before all others stays so");
        });
    }

    #[test]
    fn nothing_is_adopted_of_a_thread_that_is_as_usual() {
        in_a_thread(|| {
            Precedence(false).adopt(ThreadRole::Watch);
            assert_eq!(Precedence::here(), Precedence(false));
        });
    }
}
