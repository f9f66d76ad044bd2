//! A thread's clock that the kernel keeps: where its code is, each time that it has run for so long (perf_event_open(2)).

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::param::page_size;

use crate::memory::{half_at, word_at};

/// Where a thread was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the kernel.
    Kernel,
    /// At this address of its process.
    Process(u64),
}

/// A thread's clock, and the memory in which the kernel notes where the thread was.
pub(super) struct ThreadClock {
    event: OwnedFd,
    /// One page on what is noted, and then the notes.
    shared: NonNull<u8>,
    notes: usize,
}

// SAFETY: the memory is a mapping of this value's own, which no other thread of this program knows.
unsafe impl Send for ThreadClock {}

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
/// `PERF_COUNT_SW_TASK_CLOCK`: nanoseconds that the thread has run.
const TASK_CLOCK: u64 = 1;
/// `PERF_SAMPLE_IP`.
const ADDRESS: u64 = 1;
/// Bits of `flags`.
const DISABLED: u64 = 1;
const WITHOUT_KERNEL: u64 = 1 << 5;
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
/// Of a sample: its header, and the address.
const LENGTH: usize = 16;
/// Pages of notes: 512 samples.
const PAGES: usize = 2;

impl ThreadClock {
    /// A clock that stands still until it is told to go.
    ///
    /// # Errors
    ///
    /// What the kernel says: not allowed, no such thread, no such call.
    pub(super) fn of(thread: u32, period: Duration, with_kernel: bool) -> io::Result<Self> {
        let attributes = Attributes {
            kind: SOFTWARE,
            size: size_of::<Attributes>() as u32,
            config: TASK_CLOCK,
            period: u64::try_from(period.as_nanos()).unwrap_or(u64::MAX),
            sample_type: ADDRESS,
            read_format: 0,
            flags: DISABLED | if with_kernel { 0 } else { WITHOUT_KERNEL },
            wakeup: 0,
            breakpoint: 0,
            config1: 0,
        };
        const CLOSE_ON_EXEC: libc::c_ulong = 8;
        // SAFETY: the attributes live through the call and say how long they are; the other arguments are plain numbers.
        let event = unsafe {
            libc::syscall(libc::SYS_perf_event_open, &raw const attributes, thread.cast_signed(), -1, -1, CLOSE_ON_EXEC)
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
    pub(super) fn take(&mut self) -> Vec<Place> {
        let (head, tail) = (self.counter(HEAD).load(Ordering::Acquire), self.counter(TAIL).load(Ordering::Relaxed));
        let bytes: Vec<u8> = (tail..head).map(|at| self.note(at as usize % self.notes)).collect();
        self.counter(TAIL).store(head, Ordering::Release);
        places(&bytes)
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

impl Drop for ThreadClock {
    fn drop(&mut self) {
        // SAFETY: the mapping that `of` made; nothing refers to it any more.
        let _ = unsafe { munmap(self.shared.as_ptr().cast(), page_size() + self.notes) };
    }
}

/// Reads `struct perf_event_header` (type, misc, size) and what follows it, one after the other; what is no sample is passed over.
fn places(mut bytes: &[u8]) -> Vec<Place> {
    let mut places = Vec::with_capacity(bytes.len() / LENGTH);
    while bytes.len() >= 8 {
        let (kind, rest) = (half_at(bytes, 0), half_at(bytes, 4));
        let (mode, length) = (rest & MODE, (rest >> 16) as usize);
        if kind == SAMPLE && length >= LENGTH {
            places.push(if mode == KERNEL { Place::Kernel } else { Place::Process(word_at(bytes, 8)) });
        }
        // A length of nothing would have no end.
        let Some(after) = bytes.get(length.max(8)..) else { break };
        bytes = after;
    }
    places
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
        let all =
            [note(SAMPLE, 2, &[0x4711]), note(LOST, 0, &[1, 2]), note(SAMPLE, 1, &[9]), note(SAMPLE, 0x4002, &[5])];
        assert_eq!(places(&all.concat()), [Place::Process(0x4711), Place::Kernel, Place::Process(5)]);
        assert_eq!(places(&[9, 0, 0, 0, 0, 0, 0, 0]), []);
        assert_eq!(places(&note(SAMPLE, 2, &[7])[..15]), [Place::Process(0)]);
    }
}
