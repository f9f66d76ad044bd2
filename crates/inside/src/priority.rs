//! Being on time where processors are short.

/// Lets the calling thread run before all others, so that instants are when they are due and not when a processor happens to be
/// free, which is just when the program that is looked at waits. Gives whether the kernel allows it, which it does for root.
///
/// A sampler runs for a small part of a millisecond at a time, and sleeps.
pub fn run_before_others() -> bool {
    let least = libc::sched_param { sched_priority: 1 };
    // SAFETY: it reads `least` and changes nothing but how this thread is scheduled.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const least) == 0 }
}
