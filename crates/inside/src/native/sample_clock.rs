//! A clock of a processor or of a thread that the kernel keeps: whose code runs and where, each time that it has run for so long
//! (perf_event_open(2)).

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::param::page_size;

use crate::memory::{half_at, word_at};

/// What ran when a clock struck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Strike {
    pub(super) process: u32,
    pub(super) thread: u32,
    pub(super) place: Place,
}

/// Where a thread was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the kernel.
    Kernel,
    /// At this address of its process.
    Process(u64),
}

/// What a clock goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// All that this processor runs. Threads pay nothing for it when they are scheduled, and only who may see all processes is let.
    Processor(u32),
    /// The time that this thread runs. The kernel sets a timer whenever the thread is scheduled, and takes it back after.
    Thread(u32),
}

/// A clock, and the memory in which the kernel notes what ran.
pub(super) struct SampleClock {
    event: OwnedFd,
    /// One page on what is noted, and then the notes.
    shared: NonNull<u8>,
    notes: usize,
}

// SAFETY: the memory is a mapping of this value's own, which no other thread of this program knows.
unsafe impl Send for SampleClock {}

/// `struct perf_event_attr` as far as its first version goes (`PERF_ATTR_SIZE_VER0`, include/uapi/linux/perf_event.h), which each later
/// kernel takes.
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    config1: u64,
}

/// `PERF_TYPE_SOFTWARE`: clocks are there on each machine, also where no counter of a processor is.
const SOFTWARE: u32 = 1;
/// `PERF_COUNT_SW_CPU_CLOCK`: nanoseconds of a processor.
const CPU_CLOCK: u64 = 0;
/// `PERF_COUNT_SW_TASK_CLOCK`: nanoseconds that the thread has run.
const TASK_CLOCK: u64 = 1;
/// `PERF_SAMPLE_IP` and `PERF_SAMPLE_TID`.
const ADDRESS_AND_THREAD: u64 = 1 | 2;
/// Bits of `flags`.
const DISABLED: u64 = 1;
const WITHOUT_KERNEL: u64 = 1 << 5;
const WITHOUT_IDLE: u64 = 1 << 7;
/// `PERF_EVENT_IOC_ENABLE` and `PERF_EVENT_IOC_DISABLE`.
const ENABLE: libc::c_ulong = 0x2400;
const DISABLE: libc::c_ulong = 0x2401;
/// `PERF_RECORD_SAMPLE`.
const SAMPLE: u32 = 9;
/// `PERF_RECORD_MISC_CPUMODE_MASK`, and in it `PERF_RECORD_MISC_KERNEL`.
const MODE: u32 = 7;
const KERNEL: u32 = 1;
/// Of `struct perf_event_mmap_page`: how far the kernel has written, and how far this program has read.
const HEAD: usize = 1024;
const TAIL: usize = 1032;
/// Of a sample: its header, the address, the process and the thread.
const LENGTH: usize = 24;
/// Pages of notes: 340 samples.
const PAGES: usize = 2;

impl SampleClock {
    /// A clock that stands still until it is told to go.
    ///
    /// # Errors
    ///
    /// What the kernel says: not allowed, no such processor or thread, no such call.
    pub(super) fn of(subject: Subject, period: Duration, with_kernel: bool) -> io::Result<Self> {
        let (clock, thread, processor) = match subject {
            Subject::Processor(number) => (CPU_CLOCK, -1, number.cast_signed()),
            Subject::Thread(thread) => (TASK_CLOCK, thread.cast_signed(), -1),
        };
        let attributes = Attributes {
            kind: SOFTWARE,
            size: size_of::<Attributes>() as u32,
            config: clock,
            period: u64::try_from(period.as_nanos()).unwrap_or(u64::MAX),
            sample_type: ADDRESS_AND_THREAD,
            read_format: 0,
            flags: DISABLED | WITHOUT_IDLE | if with_kernel { 0 } else { WITHOUT_KERNEL },
            wakeup: 0,
            breakpoint: 0,
            config1: 0,
        };
        const CLOSE_ON_EXEC: libc::c_ulong = 8;
        // SAFETY: the attributes live through the call and say how long they are; the other arguments are plain numbers.
        let event = unsafe {
            libc::syscall(libc::SYS_perf_event_open, &raw const attributes, thread, processor, -1, CLOSE_ON_EXEC)
        };
        let event = i32::try_from(event).ok().filter(|event| *event >= 0).ok_or_else(io::Error::last_os_error)?;
        // SAFETY: the kernel has just opened it for this program, and nothing else owns it.
        let event = unsafe { OwnedFd::from_raw_fd(event) };
        let notes = PAGES * page_size();
        // SAFETY: a new mapping at a place that the kernel chooses; it ends with this value.
        let shared = unsafe {
            mmap(
                ptr::null_mut(),
                page_size() + notes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                event.as_fd(),
                0,
            )
        }?;
        let shared = NonNull::new(shared.cast()).ok_or_else(|| io::Error::other("a mapping at 0"))?;
        Ok(Self { event, shared, notes })
    }

    /// Lets it go, or stand still.
    pub(super) fn set(&self, goes: bool) {
        // SAFETY: a call with no memory on a descriptor of this value's own.
        unsafe { libc::ioctl(self.event.as_raw_fd(), if goes { ENABLE } else { DISABLE }, 0) };
    }

    /// Takes what was noted since the last time.
    pub(super) fn take(&mut self) -> Vec<Strike> {
        let (head, tail) = (self.counter(HEAD).load(Ordering::Acquire), self.counter(TAIL).load(Ordering::Relaxed));
        let bytes: Vec<u8> = (tail..head).map(|at| self.note(at as usize % self.notes)).collect();
        self.counter(TAIL).store(head, Ordering::Release);
        strikes(&bytes)
    }

    fn counter(&self, at: usize) -> &AtomicU64 {
        // SAFETY: within the first page, aligned to 8 bytes, and written by the kernel as one word.
        unsafe { AtomicU64::from_ptr(self.shared.as_ptr().add(at).cast()) }
    }

    fn note(&self, at: usize) -> u8 {
        // SAFETY: `at` is less than the bytes of notes, which follow the first page; the kernel writes none that were not yet taken.
        unsafe { self.shared.as_ptr().add(page_size() + at).read_volatile() }
    }
}

impl Drop for SampleClock {
    fn drop(&mut self) {
        // SAFETY: the mapping that `of` made; nothing refers to it any more.
        let _ = unsafe { munmap(self.shared.as_ptr().cast(), page_size() + self.notes) };
    }
}

/// Reads `struct perf_event_header` (type, misc, size) and what follows it, one after the other; what is no sample is passed over.
fn strikes(mut bytes: &[u8]) -> Vec<Strike> {
    let mut strikes = Vec::with_capacity(bytes.len() / LENGTH);
    while bytes.len() >= 8 {
        let (kind, rest) = (half_at(bytes, 0), half_at(bytes, 4));
        let (mode, length) = (rest & MODE, (rest >> 16) as usize);
        if kind == SAMPLE && length >= LENGTH {
            let place = if mode == KERNEL { Place::Kernel } else { Place::Process(word_at(bytes, 8)) };
            strikes.push(Strike { process: half_at(bytes, 16), thread: half_at(bytes, 20), place });
        }
        // A length of nothing would have no end.
        let Some(after) = bytes.get(length.max(8)..) else { break };
        bytes = after;
    }
    strikes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_read_and_other_notes_passed_over() {
        let note = |kind: u32, mode: u16, body: &[u64]| {
            let mut bytes = kind.to_le_bytes().to_vec();
            bytes.extend(mode.to_le_bytes());
            bytes.extend((8 + body.len() as u16 * 8).to_le_bytes());
            bytes.extend(body.iter().flat_map(|word| word.to_le_bytes()));
            bytes
        };
        const LOST: u32 = 2;
        let of = |process: u64, thread: u64| process | thread << 32;
        let all = [
            note(SAMPLE, 2, &[0x4711, of(7, 8)]),
            note(LOST, 0, &[1, 2]),
            note(SAMPLE, 1, &[9, of(7, 7)]),
            note(SAMPLE, 0x4002, &[5, of(1, 2)]),
        ];
        let strike = |process, thread, place| Strike { process, thread, place };
        assert_eq!(
            strikes(&all.concat()),
            [strike(7, 8, Place::Process(0x4711)), strike(7, 7, Place::Kernel), strike(1, 2, Place::Process(5))]
        );
        assert_eq!(strikes(&[9, 0, 0, 0, 0, 0, 0, 0]), []);
        assert_eq!(strikes(&note(SAMPLE, 2, &[7, 0])[..20]), [strike(0, 0, Place::Process(7))]);
    }
}
