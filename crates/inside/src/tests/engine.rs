//! PHP's engine in memory that is made up: functions, strings, a stack and the globals that lead to them.
//!
//! Written by the layout of PHP's headers, and not by what the decoder reads, but for the offsets that differ by version.

use crate::Offsets;
use crate::threads::PhpThread;

use super::fake_memory::FakeMemory;

const GLOBALS: u64 = 0x10_0000;
const SAPI: u64 = 0x10_8000;
pub(super) const FUNCTIONS: u64 = 0x20_0000;
pub(super) const STACK: u64 = 0x100_0000;
const STACK_SIZE: u64 = 2 << 20;
const HEAP: u64 = 0x400_0000;
const HEAP_SIZE: u64 = 1 << 20;

pub(super) struct Engine {
    pub(super) memory: FakeMemory,
    pub(super) offsets: Offsets,
    next_function: u64,
    next_in_heap: u64,
    top: u64,
}

impl Engine {
    pub(super) fn new(offsets: Offsets) -> Self {
        let mut memory = FakeMemory::default();
        memory.map(GLOBALS, 0x1000);
        memory.map(SAPI, 0x1000);
        memory.map(FUNCTIONS, 0x1_0000);
        memory.map(STACK, STACK_SIZE as usize);
        memory.map(HEAP, HEAP_SIZE as usize);
        // The page of a stack begins with its own head.
        let mut engine = Self { memory, offsets, next_function: FUNCTIONS, next_in_heap: HEAP, top: STACK + 0x100 };
        engine.memory.put_word(engine.globals() - 16, STACK);
        engine.memory.put_word(engine.globals() - 24, STACK + STACK_SIZE);
        engine.memory.put_word(engine.globals() - 32, engine.top);
        engine
    }

    pub(super) fn thread(&self) -> PhpThread {
        PhpThread { tid: 1, executor: GLOBALS, sapi: Some(SAPI) }
    }

    fn globals(&self) -> u64 {
        GLOBALS + self.offsets.current_frame
    }

    pub(super) fn current(&self) -> u64 {
        self.memory.get(self.globals())
    }

    fn allocate(&mut self, size: u64) -> u64 {
        let at = self.next_in_heap;
        self.next_in_heap += size.next_multiple_of(8);
        at
    }

    pub(super) fn string(&mut self, text: &str) -> u64 {
        self.string_of_bytes(text.as_bytes())
    }

    fn string_of_bytes(&mut self, text: &[u8]) -> u64 {
        let at = self.allocate(24 + text.len() as u64 + 1);
        self.memory.put_word(at + 16, text.len() as u64);
        self.memory.put(at + 24, text);
        at
    }

    fn class(&mut self, name: &str) -> u64 {
        let at = self.allocate(64);
        let name = self.string(name);
        self.memory.put_word(at + 8, name);
        at
    }

    fn function(&mut self, kind: u8, class: Option<&str>, name: Option<&[u8]>) -> u64 {
        let at = self.next_function;
        self.next_function += 256;
        self.memory.put(at, &[kind]);
        if let Some(name) = name {
            let name = self.string_of_bytes(name);
            self.memory.put_word(at + 8, name);
        }
        if let Some(class) = class {
            let class = self.class(class);
            self.memory.put_word(at + 16, class);
        }
        at
    }

    /// A function whose opcodes are on the lines from its first on, one a line.
    pub(super) fn user(&mut self, class: Option<&str>, name: Option<&str>, file: &str, first_line: u32) -> u64 {
        let at = self.function(2, class, name.map(str::as_bytes));
        self.body(at, file, first_line);
        at
    }

    pub(super) fn user_of_bytes(&mut self, name: &[u8], file: &str) -> u64 {
        let at = self.function(2, None, Some(name));
        self.body(at, file, 1);
        at
    }

    fn body(&mut self, at: u64, file: &str, first_line: u32) {
        const OPCODES: u32 = 8;
        let (file, opcodes) = (self.string(file), self.allocate(u64::from(OPCODES) * 32));
        for index in 0..OPCODES {
            self.memory.put(opcodes + u64::from(index) * 32 + 24, &(first_line + index).to_le_bytes());
        }
        let Offsets { last, opcodes: opcodes_at, file: file_at, first_line: line_at, .. } = self.offsets;
        self.memory.put(at + last as u64, &OPCODES.to_le_bytes());
        self.memory.put_word(at + opcodes_at as u64, opcodes);
        self.memory.put_word(at + file_at as u64, file);
        self.memory.put(at + line_at as u64, &first_line.to_le_bytes());
    }

    pub(super) fn internal(&mut self, class: Option<&str>, name: &str) -> u64 {
        self.function(1, class, Some(name.as_bytes()))
    }

    /// One of PHP's own, of which no more is mapped than it is long.
    pub(super) fn internal_at_end(&mut self, name: &str) -> u64 {
        let at = HEAP + HEAP_SIZE - 136;
        let name = self.string(name);
        self.memory.put(at, &[1]);
        self.memory.put_word(at + 8, name);
        at
    }

    /// Calls a function, which is at a line then.
    pub(super) fn call(&mut self, function: u64, line: u32) {
        let is_user = self.memory.bytes(function, 1) == [2];
        let opline = if is_user {
            let first = self.memory.get(function + self.offsets.opcodes as u64);
            let first_line = self.memory.bytes(function + self.offsets.first_line as u64, 4);
            let first_line = u32::from_le_bytes(first_line.try_into().expect("4 bytes"));
            first + u64::from(line - first_line) * 32
        } else {
            0xdead_beef
        };
        self.frame(function, opline);
    }

    pub(super) fn frame(&mut self, function: u64, opline: u64) {
        let (at, previous) = (self.top, self.current());
        self.memory.put_word(at, opline);
        self.memory.put_word(at + 24, function);
        self.memory.put_word(at + 48, previous);
        // Its head and two variables.
        self.top += 80 + 32;
        self.memory.put_word(self.globals(), at);
        self.memory.put_word(self.globals() - 32, self.top);
    }

    pub(super) fn request(&mut self, uri: &str) {
        let at = self.allocate(uri.len() as u64 + 1);
        self.memory.put(at, uri.as_bytes());
        self.memory.put_word(SAPI + 48, at);
    }

    /// `$_SERVER` with this element alone, a reference as `global $_SERVER` leaves it.
    pub(super) fn server_variable(&mut self, key: &str, value: &str) {
        let value = self.string(value);
        let server = self.allocate(56);
        self.array_of_one(server, key, 6, value);
        let reference = self.allocate(32);
        self.memory.put_word(reference + 8, server);
        self.memory.put(reference + 16, &[7]);
        self.array_of_one(GLOBALS + 304, "_SERVER", 10, reference);
    }

    /// A hash of 8 places and one bucket.
    fn array_of_one(&mut self, at: u64, key: &str, kind: u8, value: u64) {
        let hash = key.bytes().fold(5381_u64, |hash, byte| hash.wrapping_mul(33).wrapping_add(u64::from(byte)));
        let hash = hash | 1 << 63;
        let places = self.allocate(8 * 4 + 8 * 32);
        let buckets = places + 8 * 4;
        self.memory.put(places, &[0xff; 32]);
        self.memory.put(places + (hash % 8) * 4, &0_u32.to_le_bytes());
        self.memory.put(at + 12, &(-8_i32).to_le_bytes());
        self.memory.put_word(at + 16, buckets);
        let key = self.string(key);
        self.memory.put_word(key + 8, hash);
        self.memory.put_word(buckets, value);
        self.memory.put(buckets + 8, &[kind]);
        self.memory.put(buckets + 12, &u32::MAX.to_le_bytes());
        self.memory.put_word(buckets + 16, hash);
        self.memory.put_word(buckets + 24, key);
    }
}
