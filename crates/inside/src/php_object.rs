//! The file that holds PHP's engine in a process: its version, and where its globals are.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use object::elf::{EM_AARCH64, EM_X86_64, FileHeader64, PF_W, PT_LOAD};
use object::read::ReadCache;
use object::read::StringTable;
use object::read::elf::{FileHeader as _, ProgramHeader as _, SectionHeader as _, Sym as _};
use object::{Endianness, ReadRef};

use crate::PhpVersion;
use crate::maps::Mapping;

/// What a file says of PHP; addresses are those of the file, before it is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PhpObject {
    pub(crate) version: Option<PhpVersion>,
    pub(crate) globals: Globals,
    /// Memory that is zero at the start, where a file without symbols of its own keeps what is local to it.
    pub(crate) zeroed: Vec<(u64, u64)>,
    first_segment: FirstSegment,
}

/// Where the engine keeps its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Globals {
    /// Without threads: one of each.
    Plain { executor: u64, sapi: Option<u64> },
    /// With threads: numbers of resources, which each thread has its own of. The table of threads and its size are local
    /// symbols, which a stripped file lacks.
    Threads { executor_id: u64, sapi_id: Option<u64>, table: Option<u64>, table_size: Option<u64> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FirstSegment {
    address: u64,
    offset: u64,
    /// A file that is loaded where it says, and not anywhere.
    is_fixed: bool,
}

/// What kind of file it is for us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Looked {
    /// It holds the engine.
    Php(Arc<PhpObject>),
    /// It does not, or keeps no symbols: nothing tells the two apart but the text that PHP carries.
    NoSymbols { says_php: bool },
    /// It is for another kind of processor, or of 32 bits.
    Foreign,
}

/// Pages, to which a segment's ends are rounded.
const PAGE: u64 = 4096;

/// In every build of PHP: `SAPI_PHP_VERSION_HEADER` of `main/SAPI.h`.
const VERSION_TEXT: &[u8] = b"X-Powered-By: PHP/";

impl PhpObject {
    /// Looks into a file, thoroughly where it is likely to hold PHP: into all of its symbols, and for PHP's text where it has none. Of
    /// others what they export is enough: a database has fifty libraries, some of them as large as PHP. `None` where it cannot be
    /// read as an ELF file.
    pub(crate) fn look(path: &Path, is_likely: bool) -> Option<Looked> {
        let cache = ReadCache::new(File::open(path).ok()?);
        let data = &cache;
        let header = FileHeader64::<Endianness>::parse(data);
        let Ok(header) = header else {
            // An ELF file all the same: of 32 bits.
            let magic = data.read_bytes_at(0, 4).ok()?;
            return (magic == [0x7f, b'E', b'L', b'F']).then_some(Looked::Foreign);
        };
        let endian = header.endian().ok()?;
        if header.e_machine(endian) != machine() {
            return Some(Looked::Foreign);
        }
        let sections = header.sections(endian, data).ok()?;
        let mut found = Symbols::default();
        for kind in [object::elf::SHT_DYNSYM, object::elf::SHT_SYMTAB] {
            let table = sections.symbols(endian, data, kind).ok()?;
            // All names in one piece: one by one they would be read from the file so.
            let names = sections.section(table.string_section()).and_then(|section| section.data(endian, data));
            let names = names.unwrap_or_default();
            let names = StringTable::new(names, 0, names.len() as u64);
            for symbol in table.iter().filter(|symbol| !symbol.is_undefined(endian)) {
                found.note(symbol.name(endian, names).unwrap_or_default(), symbol.st_value(endian));
            }
            // Local symbols matter only for the table of threads.
            if found.executor.is_some() {
                break;
            }
            if !is_likely && found.globals().is_none() {
                return Some(Looked::NoSymbols { says_php: false });
            }
        }
        let read_only = sections.iter().filter(|section| {
            sections.section_name(endian, section).is_ok_and(|name| name == b".rodata" || name == b".data.rel.ro")
        });
        let version = read_only.filter_map(|section| section.data(endian, data).ok()).find_map(version_in);
        let Some(globals) = found.globals() else {
            return Some(Looked::NoSymbols { says_php: version.is_some() });
        };
        let segments = header.program_headers(endian, data).ok()?;
        let loaded = || segments.iter().filter(|segment| segment.p_type(endian) == PT_LOAD);
        let first = loaded().next()?;
        let zeroed =
            loaded().filter(|segment| segment.p_flags(endian) & PF_W != Default::default()).filter_map(|segment| {
                let start = segment.p_vaddr(endian) + segment.p_filesz(endian);
                let end = segment.p_vaddr(endian) + segment.p_memsz(endian);
                (end > start).then_some((start.next_multiple_of(8), end))
            });
        Some(Looked::Php(Arc::new(Self {
            version,
            globals,
            zeroed: zeroed.collect(),
            first_segment: FirstSegment {
                address: first.p_vaddr(endian) / PAGE * PAGE,
                offset: first.p_offset(endian) / PAGE * PAGE,
                is_fixed: header.e_type(endian) == object::elf::ET_EXEC,
            },
        })))
    }

    /// What is to be added to its addresses in a process that maps it so.
    pub(crate) fn bias<'m>(&self, mappings: impl IntoIterator<Item = &'m Mapping>) -> Option<u64> {
        let FirstSegment { address, offset, is_fixed } = self.first_segment;
        if is_fixed {
            return Some(0);
        }
        let first =
            mappings.into_iter().filter(|mapping| mapping.offset == offset).map(|mapping| mapping.start).min()?;
        Some(first.wrapping_sub(address))
    }
}

#[derive(Default)]
struct Symbols {
    executor: Option<u64>,
    sapi: Option<u64>,
    executor_id: Option<u64>,
    sapi_id: Option<u64>,
    table: Option<u64>,
    table_size: Option<u64>,
}

impl Symbols {
    fn note(&mut self, name: &[u8], value: u64) {
        let place = match name {
            b"executor_globals" => &mut self.executor,
            b"sapi_globals" => &mut self.sapi,
            b"executor_globals_id" => &mut self.executor_id,
            b"sapi_globals_id" => &mut self.sapi_id,
            b"tsrm_tls_table" => &mut self.table,
            b"tsrm_tls_table_size" => &mut self.table_size,
            _ => return,
        };
        place.get_or_insert(value);
    }

    fn globals(&self) -> Option<Globals> {
        let Self { executor, sapi, executor_id, sapi_id, table, table_size } = *self;
        let threads = executor_id.map(|executor_id| Globals::Threads { executor_id, sapi_id, table, table_size });
        threads.or_else(|| executor.map(|executor| Globals::Plain { executor, sapi }))
    }
}

fn version_in(read_only: &[u8]) -> Option<PhpVersion> {
    let at = memchr::memmem::find(read_only, VERSION_TEXT)? + VERSION_TEXT.len();
    let text = read_only.get(at..)?.split(|byte| *byte == 0).next()?;
    std::str::from_utf8(text.get(..text.len().min(40))?).ok()?.parse().ok()
}

/// The kind of processor that this program runs on.
const fn machine() -> object::elf::Machine {
    if cfg!(target_arch = "aarch64") { EM_AARCH64 } else { EM_X86_64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_what_php_sends_in_its_header() {
        assert_eq!(version_in(b"abc\0X-Powered-By: PHP/8.3.4\0d").map(|v| v.to_string()).as_deref(), Some("8.3.4"));
        assert_eq!(version_in(b"X-Powered-By: Express\0"), None);
        assert_eq!(version_in(b"X-Powered-By: PHP/"), None);
    }

    #[test]
    fn a_file_is_where_its_first_segment_is() {
        let object = |address, offset, is_fixed| PhpObject {
            version: None,
            globals: Globals::Plain { executor: 0, sapi: None },
            zeroed: Vec::new(),
            first_segment: FirstSegment { address, offset, is_fixed },
        };
        let mappings = crate::maps::parse(
            "7000-8000 r--p 00000000 fe:00 1 /php\n8000-9000 r-xp 00001000 fe:00 1 /php\n9000-a000 r--p 00000000 fe:00 1 /php\n",
        );
        assert_eq!(object(0, 0, false).bias(&mappings), Some(0x7000));
        assert_eq!(object(0x1000, 0x1000, false).bias(&mappings), Some(0x7000));
        assert_eq!(object(0x40_0000, 0, true).bias(&mappings), Some(0));
        assert_eq!(object(0, 0x5000, false).bias(&mappings), None);
    }
}
