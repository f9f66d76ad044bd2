//! What one thread of PHP runs: its frames, read from the stack of the virtual machine.

use std::fmt;
use std::sync::{Arc, LazyLock};

use stampede_core::InsideRecord;

use crate::Offsets;
use crate::function::{Functions, PhpFunction, Torn};
use crate::memory::{MemoryPart, RemoteMemory, is_address, word_at};
use crate::offsets::{FRAME_FUNCTION, FRAME_OPLINE, FRAME_PREVIOUS, FRAME_SIZE};
use crate::request::{self, SAPI_SIZE};
use crate::threads::PhpThread;

/// The frames of a thread of PHP, innermost first; none while it runs no PHP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PhpStack {
    /// The innermost first.
    pub frames: Vec<PhpFrame>,
    /// Whether outer frames are left out, for there are more than [`MOST_FRAMES`].
    pub is_cut: bool,
}

/// A call that has not returned.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PhpFrame {
    /// What is called.
    pub function: Arc<PhpFunction>,
    /// The line that it is at; none in a function of PHP's own, and where compiled code does not keep it.
    pub line: Option<u32>,
}

/// As many frames of a stack are read, the innermost.
pub const MOST_FRAMES: usize = 512;

/// What was read of a thread at an instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadView {
    pub(crate) stack: Arc<PhpStack>,
    /// The path of the request that it serves, without its query.
    pub(crate) request: Option<Arc<str>>,
}

impl fmt::Display for PhpStack {
    /// As one line of a folded stack, outermost first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_cut {
            f.write_str("(cut);")?;
        }
        for (index, frame) in self.frames.iter().rev().enumerate() {
            let separator = if index > 0 { ";" } else { "" };
            write!(f, "{separator}{}", frame.function)?;
        }
        Ok(())
    }
}

/// A function that stands for loading a file, which PHP does without a call.
fn loading() -> Arc<PhpFunction> {
    static LOADING: LazyLock<Arc<PhpFunction>> = LazyLock::new(|| {
        Arc::new(PhpFunction { class: None, name: Some(InsideRecord::LOAD.into()), file: None, first_line: 0 })
    });
    Arc::clone(&LOADING)
}

/// Frames without a function are passed over, but no end of them.
const MOST_STEPS: usize = 2 * MOST_FRAMES;
/// As much of the stack as is read at once, below its top.
const WINDOW: u64 = 64 << 10;
/// And above the top, which moves meanwhile.
const SLACK: u64 = 2 << 10;

/// Reads the stacks of one thread. It remembers where the stack was, so that the next is read in one call of the kernel.
pub(crate) struct StackReader {
    thread: PhpThread,
    current_frame: u64,
    window_at: u64,
    window: Vec<u8>,
}

/// What the stack's place was when it was read.
struct Place {
    top: u64,
    end: u64,
    page: u64,
    current: u64,
    sapi: [u8; SAPI_SIZE],
}

impl StackReader {
    pub(crate) const fn new(thread: PhpThread, offsets: Offsets) -> Self {
        Self { thread, current_frame: offsets.current_frame, window_at: 0, window: Vec::new() }
    }

    pub(crate) const fn thread(&self) -> PhpThread {
        self.thread
    }

    /// What the thread runs now; `None` when its memory cannot be read any more.
    pub(crate) fn read(
        &mut self,
        memory: &dyn RemoteMemory,
        functions: &mut Functions,
    ) -> Option<Result<ThreadView, Torn>> {
        let mut place = self.read_place(memory)?;
        if place.current == 0 {
            return Some(Ok(ThreadView::default()));
        }
        // The stack was elsewhere or shorter when it was last read: once more from where it is now.
        if !self.holds(place.current) && place.page <= place.current && place.current < place.top {
            let end = (place.top + SLACK).next_multiple_of(8).min(place.end.max(place.top));
            let start = place.page.max(place.top.saturating_sub(WINDOW));
            self.window_at = start;
            self.window.resize((end - start) as usize, 0);
            place = self.read_place(memory)?;
        }
        if place.current == 0 {
            return Some(Ok(ThreadView::default()));
        }
        Some(self.frames(memory, functions, &place))
    }

    fn holds(&self, frame: u64) -> bool {
        frame >= self.window_at && frame + FRAME_SIZE as u64 <= self.window_at + self.window.len() as u64
    }

    /// Reads where the stack is and, as soon after as can be, the window of it.
    fn read_place(&mut self, memory: &dyn RemoteMemory) -> Option<Place> {
        let (mut head, mut sapi) = ([0; 40], [0; SAPI_SIZE]);
        let mut parts = vec![MemoryPart { address: self.thread.executor + self.current_frame - 32, bytes: &mut head }];
        parts.extend(self.thread.sapi.map(|address| MemoryPart { address, bytes: &mut sapi }));
        let least = parts.len();
        if !self.window.is_empty() {
            parts.push(MemoryPart { address: self.window_at, bytes: &mut self.window });
        }
        let (all, read) = (parts.len(), memory.read_parts(&mut parts));
        drop(parts);
        if read < least {
            return None;
        }
        if read < all {
            self.window.clear();
        }
        Some(Place {
            top: word_at(&head, 0),
            end: word_at(&head, 8),
            page: word_at(&head, 16),
            current: word_at(&head, 32),
            sapi,
        })
    }

    fn frames(&self, memory: &dyn RemoteMemory, functions: &mut Functions, place: &Place) -> Result<ThreadView, Torn> {
        let mut frames = Vec::new();
        let mut at = place.current;
        let (mut anchor, mut steps) = (0, 0_usize);
        while at != 0 && frames.len() < MOST_FRAMES && steps < MOST_STEPS {
            // A frame that leads back to one before it: its place was used again meanwhile. (Brent's algorithm)
            if !is_address(at) || at == anchor {
                return Err(Torn);
            }
            steps += 1;
            if steps.is_power_of_two() {
                anchor = at;
            }
            let mut bytes = [0; FRAME_SIZE];
            if self.holds(at) {
                let start = (at - self.window_at) as usize;
                bytes.copy_from_slice(&self.window[start..start + FRAME_SIZE]);
            } else if !memory.read(at, &mut bytes) {
                return Err(Torn);
            }
            let function = word_at(&bytes, FRAME_FUNCTION);
            // Frames without a function link generators and calls from C.
            if function != 0 {
                is_address(function).then_some(()).ok_or(Torn)?;
                frames.push((function, word_at(&bytes, FRAME_OPLINE)));
            }
            at = word_at(&bytes, FRAME_PREVIOUS);
        }
        let is_cut = at != 0;
        let mut addresses: Vec<_> = frames.iter().map(|(function, _)| *function).collect();
        addresses.sort_unstable();
        addresses.dedup();
        functions.learn(memory, &addresses)?;
        let mut known = Vec::with_capacity(frames.len());
        for (function, opline) in frames {
            let function = functions.get(function).ok_or(Torn)?;
            let place = function.place(memory, opline);
            // PHP's own functions without a name stand for calls from C.
            let is_nameless = function.function.name.is_none() && function.function.file.is_none();
            if is_nameless {
                continue;
            }
            if known.is_empty() && place.is_some_and(|place| place.loads_file) {
                known.push(PhpFrame { function: loading(), line: None });
            }
            let line = place.map(|place| place.line);
            known.push(PhpFrame { function: Arc::clone(&function.function), line });
        }
        let request = request::path(memory, &place.sapi, self.thread.executor);
        Ok(ThreadView { stack: Arc::new(PhpStack { frames: known, is_cut }), request })
    }
}
