//! Memory of another process: the one thing of it that is read without asking the kernel's files.

use std::io;

/// A part of another process's memory that is to be read.
pub struct MemoryPart<'a> {
    /// Where it begins, in the other process.
    pub address: u64,
    /// Where it is put; its length is what is read.
    pub bytes: &'a mut [u8],
}

/// Reads memory of one process, which goes on running meanwhile.
pub trait RemoteMemory {
    /// Reads the parts in order and gives how many leading ones were read whole. The rest holds anything.
    fn read_parts(&self, parts: &mut [MemoryPart<'_>]) -> usize;

    /// Whether one part was read whole.
    fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        self.read_parts(&mut [MemoryPart { address, bytes }]) == 1
    }

    /// The 8 bytes at an address as a number.
    fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes).then(|| u64::from_le_bytes(bytes))
    }
}

/// The memory of a process of this machine, by `process_vm_readv(2)`: it stops nothing and changes nothing.
#[derive(Clone, Copy, Debug)]
pub struct ProcessMemory {
    pid: libc::pid_t,
}

impl ProcessMemory {
    /// The memory of a process.
    pub const fn new(pid: u32) -> Self {
        Self { pid: pid.cast_signed() }
    }

    /// Whether it may be read, by reading a byte of it.
    ///
    /// # Errors
    ///
    /// What the kernel says.
    pub fn probe(self, address: u64) -> io::Result<()> {
        let mut byte = [0];
        if self.read(address, &mut byte) { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Most parts in one call (`UIO_MAXIOV` of the kernel).
const MOST_PARTS: usize = 1024;

impl RemoteMemory for ProcessMemory {
    fn read_parts(&self, parts: &mut [MemoryPart<'_>]) -> usize {
        let mut whole = 0;
        for some in parts.chunks_mut(MOST_PARTS) {
            let (local, remote): (Vec<_>, Vec<_>) = some.iter_mut().map(both_ends).unzip();
            // SAFETY: each local vector is a buffer that is borrowed for as long as `some`, with its length; the kernel checks
            // the remote ones.
            let read = unsafe {
                libc::process_vm_readv(
                    self.pid,
                    local.as_ptr(),
                    local.len() as libc::c_ulong,
                    remote.as_ptr(),
                    remote.len() as libc::c_ulong,
                    0,
                )
            };
            let mut left = usize::try_from(read).unwrap_or(0);
            let complete = some.iter().take_while(|part| {
                let is_whole = left >= part.bytes.len();
                left = left.saturating_sub(part.bytes.len());
                is_whole
            });
            let complete = complete.count();
            whole += complete;
            if complete < some.len() {
                break;
            }
        }
        whole
    }
}

fn both_ends(part: &mut MemoryPart<'_>) -> (libc::iovec, libc::iovec) {
    let length = part.bytes.len();
    let local = libc::iovec { iov_base: part.bytes.as_mut_ptr().cast(), iov_len: length };
    let remote = libc::iovec { iov_base: std::ptr::without_provenance_mut(part.address as usize), iov_len: length };
    (local, remote)
}

/// The 8 bytes of a buffer at an offset as a number; 0 past its end.
pub(crate) fn word_at(bytes: &[u8], offset: usize) -> u64 {
    let word = bytes.get(offset..offset + 8).and_then(|word| word.try_into().ok());
    u64::from_le_bytes(word.unwrap_or_default())
}

/// The 4 bytes of a buffer at an offset as a number; 0 past its end.
pub(crate) fn half_at(bytes: &[u8], offset: usize) -> u32 {
    let half = bytes.get(offset..offset + 4).and_then(|half| half.try_into().ok());
    u32::from_le_bytes(half.unwrap_or_default())
}

/// Whether a number may be the address of something in a 64-bit process: aligned, above the pages that are never mapped,
/// and in the lower half (user space).
pub(crate) const fn is_address(word: u64) -> bool {
    word.is_multiple_of(8) && word >= 0x1_0000 && word < 1 << 56
}
