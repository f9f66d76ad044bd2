//! Buffers that the kernel chooses from when bytes come (IORING_REGISTER_PBUF_RING, io_uring_register(2)).

use std::ffi::c_void;
use std::ptr::NonNull;
use std::slice;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::Submitter;
use io_uring::types::BufRingEntry;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// The number of this set of buffers; a ring has but one.
pub(crate) const GROUP: u16 = 0;

/// Bytes of a buffer. Small answers touch its first cache lines only; large ones come in pieces of this size.
const BUFFER: usize = 16 << 10;

/// The kernel goes round all buffers, so that few of them keep the caches warm; each connection may have an answer waiting.
const FEWEST: usize = 16;
const MOST: usize = 256;

/// A page is the kernel's unit of alignment for the ring of entries; no page is larger than this.
const ALIGNMENT: usize = 64 << 10;

/// A mapping that holds the ring of entries, through which buffers are offered, and behind it the buffers.
#[derive(Debug)]
pub(crate) struct Buffers {
    memory: NonNull<u8>,
    /// A power of two.
    count: u16,
    /// How many were offered so far.
    tail: u16,
}

impl Buffers {
    /// Buffers for so many connections, all offered.
    pub(crate) fn new(connections: usize) -> Result<Self, Errno> {
        let count = connections.next_power_of_two().clamp(FEWEST, MOST);
        // SAFETY: a new mapping at a place of the kernel's choice.
        let memory = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                ALIGNMENT + count * BUFFER,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }?;
        let memory = NonNull::new(memory.cast::<u8>()).ok_or(Errno::NOMEM)?;
        let count = u16::try_from(count).map_err(|_| Errno::INVAL)?;
        let mut buffers = Self { memory, count, tail: 0 };
        (0..count).for_each(|id| buffers.offer(id));
        Ok(buffers)
    }

    /// Tells the kernel of them. They must live as long as anything is under way on the ring.
    pub(crate) fn register(&self, submitter: &Submitter<'_>) -> Result<(), Errno> {
        // SAFETY: the entries are in a mapping that lives as long as this, is aligned to a page, and has room for them.
        unsafe { submitter.register_buf_ring_with_flags(self.memory.as_ptr() as u64, self.count, GROUP, 0) }
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }

    /// What the kernel wrote to a buffer that it has chosen and that was not offered again since.
    pub(crate) fn filled(&self, id: u16, length: usize) -> &[u8] {
        if id >= self.count {
            return &[];
        }
        // SAFETY: within the mapping; the kernel does not write to a buffer that is not on offer, and offering needs `&mut`.
        unsafe { slice::from_raw_parts(self.at(id).as_ptr(), length.min(BUFFER)) }
    }

    /// Offers a buffer.
    pub(crate) fn offer(&mut self, id: u16) {
        let entries = self.memory.cast::<BufRingEntry>();
        let place = usize::from(self.tail & (self.count - 1));
        let address = self.at(id).as_ptr() as u64;
        // SAFETY: the place is below the number of entries; the kernel reads it after the tail has passed it, and zeros are
        // a valid entry.
        let entry = unsafe { entries.add(place).as_mut() };
        entry.set_addr(address);
        entry.set_len(BUFFER as u32);
        entry.set_bid(id);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail of the ring lies in its first entry, is aligned, and is written by nobody else.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(entries.as_ptr()).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }

    fn at(&self, id: u16) -> NonNull<u8> {
        // SAFETY: callers have ids below the count, so that this is within the mapping.
        unsafe { self.memory.add(ALIGNMENT + usize::from(id) * BUFFER) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        let length = ALIGNMENT + usize::from(self.count) * BUFFER;
        // SAFETY: the mapping is this value's own. It does not fail for a whole mapping.
        let _ = unsafe { munmap(self.memory.as_ptr().cast::<c_void>(), length) };
    }
}
