//! Functions of PHP, and the cache of them: what was read of one is kept with the bytes that prove it is still the same.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use stampede_core::InsideFunction;

use crate::Offsets;
use crate::memory::{MemoryPart, RemoteMemory, half_at, is_address, word_at};
use crate::offsets::{
    CLASS_NAME, FUNCTION_CLASS, FUNCTION_NAME, FUNCTION_SIZE, FUNCTION_TYPE, LOADS_FILE, OPLINE_CODE, OPLINE_LINE,
    OPLINE_SIZE, STRING_HASH, STRING_LENGTH, STRING_TEXT,
};
use crate::text::shown;

/// A function, a method, or the code of a file outside any.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhpFunction {
    /// The class of a method.
    pub class: Option<Arc<str>>,
    /// Its name; none of a file's own code.
    pub name: Option<Arc<str>>,
    /// Where it is written; none of a function of PHP's or of an extension.
    pub file: Option<Arc<str>>,
    /// The line on which it begins; 0 where it has no file.
    pub first_line: u32,
}

impl fmt::Display for PhpFunction {
    /// As its record.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        InsideFunction::from(self).fmt(f)
    }
}

impl From<&PhpFunction> for InsideFunction {
    fn from(PhpFunction { class, name, file, first_line }: &PhpFunction) -> Self {
        let text = |text: &Option<Arc<str>>| text.as_deref().map(str::to_owned);
        Self { class: text(class), name: text(name), file: text(file), first_line: *first_line }
    }
}

/// What stands where a function should: it changed while it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Torn;

/// A function in memory.
#[derive(Clone)]
pub(crate) struct KnownFunction {
    pub(crate) function: Arc<PhpFunction>,
    /// Its first opcode and how many there are; of PHP's own functions none.
    opcodes: Option<(u64, u64)>,
    places: HashMap<u64, CodePlace>,
    proofs: Vec<(u64, Vec<u8>)>,
}

/// Where in a function's code an opcode is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodePlace {
    pub(crate) line: u32,
    /// Whether it loads a file: looks it up, and compiles it where no cache holds it.
    pub(crate) loads_file: bool,
}

impl KnownFunction {
    /// The place of an opcode, when it is one of this function's.
    pub(crate) fn place(&mut self, memory: &dyn RemoteMemory, opline: u64) -> Option<CodePlace> {
        let (first, count) = self.opcodes?;
        let is_its =
            (first..first + count * OPLINE_SIZE).contains(&opline) && (opline - first).is_multiple_of(OPLINE_SIZE);
        if !is_its {
            return None;
        }
        if let Some(place) = self.places.get(&opline) {
            return Some(*place);
        }
        let mut bytes = [0; OPLINE_CODE + 1];
        memory.read(opline + OPLINE_LINE, &mut bytes).then_some(())?;
        let place = CodePlace { line: half_at(&bytes, 0), loads_file: bytes[OPLINE_CODE] == LOADS_FILE };
        self.places.insert(opline, place);
        Some(place)
    }
}

/// Functions by their address in a process.
pub(crate) struct Functions {
    offsets: Offsets,
    known: HashMap<u64, KnownFunction>,
    names: HashSet<Arc<str>>,
    functions: HashSet<Arc<PhpFunction>>,
}

/// Closures are copied each time one is made: what is known is forgotten when there are more.
const MOST_KNOWN: usize = 50_000;
/// PHP sets no end to names; longer ones are a sign of a read that is torn.
const LONGEST_NAME: u64 = 4096;
/// More opcodes than any function has: 256 MiB of them.
const MOST_OPCODES: u32 = 8 << 20;
/// Of a string its hash, its length and the first 8 characters.
const PROOF_OF_STRING: usize = 24;

impl Functions {
    pub(crate) fn new(offsets: Offsets) -> Self {
        Self { offsets, known: HashMap::new(), names: HashSet::new(), functions: HashSet::new() }
    }

    /// Makes all that stand at these addresses known: those that are and have not changed are proved in one read.
    pub(crate) fn learn(&mut self, memory: &dyn RemoteMemory, addresses: &[u64]) -> Result<(), Torn> {
        if self.known.len() > MOST_KNOWN {
            self.known.clear();
            self.names.clear();
            self.functions.clear();
        }
        let expected: Vec<_> = addresses.iter().filter_map(|at| Some((*at, &self.known.get(at)?.proofs))).collect();
        let mut now: Vec<Vec<u8>> =
            expected.iter().flat_map(|(_, proofs)| proofs.iter().map(|(_, bytes)| vec![0; bytes.len()])).collect();
        let places = expected.iter().flat_map(|(_, proofs)| proofs.iter().map(|(address, _)| *address));
        let mut parts: Vec<_> =
            places.zip(&mut now).map(|(address, bytes)| MemoryPart { address, bytes: bytes.as_mut_slice() }).collect();
        let whole = memory.read_parts(&mut parts);
        drop(parts);
        let mut at = 0;
        let mut changed = Vec::new();
        for (address, proofs) in expected {
            let range = at..at + proofs.len();
            at = range.end;
            let is_same = range.end <= whole && proofs.iter().zip(&now[range]).all(|((_, then), now)| then == now);
            if !is_same {
                changed.push(address);
            }
        }
        for address in changed {
            self.known.remove(&address);
        }
        for address in addresses {
            if !self.known.contains_key(address) {
                let read = self.read(memory, *address)?;
                self.known.insert(*address, read);
            }
        }
        Ok(())
    }

    pub(crate) fn get(&mut self, address: u64) -> Option<&mut KnownFunction> {
        self.known.get_mut(&address)
    }

    fn read(&mut self, memory: &dyn RemoteMemory, address: u64) -> Result<KnownFunction, Torn> {
        let mut head = vec![0; FUNCTION_SIZE];
        if !memory.read(address, &mut head) {
            // The last function of a mapping may be a short one, of PHP's own.
            head.truncate(FUNCTION_CLASS + 8);
            memory.read(address, &mut head).then_some(()).ok_or(Torn)?;
        }
        let is_user = match head[FUNCTION_TYPE] {
            // ZEND_INTERNAL_FUNCTION
            1 => false,
            // ZEND_USER_FUNCTION and ZEND_EVAL_CODE
            2 | 4 => true,
            _ => return Err(Torn),
        };
        head.truncate(if is_user { FUNCTION_SIZE } else { FUNCTION_CLASS + 8 });
        let mut proofs = Vec::new();
        let name = self.string(memory, word_at(&head, FUNCTION_NAME), &mut proofs)?;
        let class = match word_at(&head, FUNCTION_CLASS) {
            0 => None,
            class => {
                let name = memory.word(class + CLASS_NAME).filter(|_| is_address(class)).ok_or(Torn)?;
                proofs.push((class + CLASS_NAME, name.to_le_bytes().to_vec()));
                Some(self.string(memory, name, &mut proofs)?.ok_or(Torn)?)
            }
        };
        let (mut file, mut first_line, mut opcodes) = (None, 0, None);
        if is_user {
            let (count, first) = (half_at(&head, self.offsets.last), word_at(&head, self.offsets.opcodes));
            // A call of a method that does not exist (__call) has a single opcode, in memory of its own.
            if !is_address(first) || count > MOST_OPCODES {
                return Err(Torn);
            }
            opcodes = Some((first, u64::from(count)));
            file = self.string(memory, word_at(&head, self.offsets.file), &mut proofs)?;
            first_line = half_at(&head, self.offsets.first_line);
        }
        proofs.push((address, head));
        let function = Arc::new(PhpFunction { class, name, file, first_line });
        let function = self.functions.get(&function).cloned().unwrap_or_else(|| {
            self.functions.insert(Arc::clone(&function));
            function
        });
        Ok(KnownFunction { function, opcodes, places: HashMap::new(), proofs })
    }

    fn string(
        &mut self,
        memory: &dyn RemoteMemory,
        address: u64,
        proofs: &mut Vec<(u64, Vec<u8>)>,
    ) -> Result<Option<Arc<str>>, Torn> {
        if address == 0 {
            return Ok(None);
        }
        if !is_address(address) {
            return Err(Torn);
        }
        let mut proof = vec![0; PROOF_OF_STRING];
        memory.read(address + STRING_HASH, &mut proof).then_some(()).ok_or(Torn)?;
        let length = word_at(&proof, (STRING_LENGTH - STRING_HASH) as usize);
        if length > LONGEST_NAME {
            return Err(Torn);
        }
        let mut text = vec![0; length as usize];
        memory.read(address + STRING_TEXT, &mut text).then_some(()).ok_or(Torn)?;
        proofs.push((address + STRING_HASH, proof));
        let text: Arc<str> = shown(&text).into();
        let text = self.names.get(&text).cloned().unwrap_or_else(|| {
            self.names.insert(Arc::clone(&text));
            text
        });
        Ok(Some(text))
    }
}
