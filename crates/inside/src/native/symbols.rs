//! Names of places in a program's or library's code.

use std::collections::BTreeMap;
use std::fs::File;

use object::Endianness;
use object::elf::{FileHeader64, PT_LOAD, SHT_DYNSYM, SHT_SYMTAB, STT_FUNC, STT_GNU_IFUNC};
use object::read::ReadCache;
use object::read::elf::{FileHeader as _, ProgramHeader as _, Sym as _};

use crate::text::shown;

/// The function that holds each place (an offset in the file), where the file has its name.
///
/// A stripped file names what it gives to others alone. Code between two of its names is called `a .. b`: what a source file keeps for
/// itself stands beside what it gives.
pub(super) fn names(file: File, places: &[u64]) -> Option<Vec<Option<String>>> {
    let cache = ReadCache::new(file);
    let data = &cache;
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let segments: Vec<(u64, u64, u64)> = header
        .program_headers(endian, data)
        .ok()?
        .iter()
        .filter(|segment| segment.p_type(endian) == PT_LOAD)
        .map(|segment| (segment.p_offset(endian), segment.p_filesz(endian), segment.p_vaddr(endian)))
        .collect();
    let sections = header.sections(endian, data).ok()?;
    let mut functions: BTreeMap<u64, (u64, String)> = BTreeMap::new();
    let mut is_complete = false;
    for kind in [SHT_DYNSYM, SHT_SYMTAB] {
        let table = sections.symbols(endian, data, kind).ok()?;
        is_complete |= kind == SHT_SYMTAB && !table.is_empty();
        for symbol in table.iter().filter(|symbol| !symbol.is_undefined(endian)) {
            if !matches!(symbol.st_type(), STT_FUNC | STT_GNU_IFUNC) {
                continue;
            }
            if let Ok(name) = symbol.name(endian, table.strings()) {
                functions.entry(symbol.st_value(endian)).or_insert_with(|| (symbol.st_size(endian), shown(name)));
            }
        }
    }
    let named = places.iter().map(|place| {
        let within = |(offset, length, _): &&(u64, u64, u64)| (*offset..offset.saturating_add(*length)).contains(place);
        let (offset, _, address) = segments.iter().find(within)?;
        named(&functions, is_complete, place - offset + address)
    });
    Some(named.collect())
}

fn named(functions: &BTreeMap<u64, (u64, String)>, is_complete: bool, address: u64) -> Option<String> {
    let before = functions.range(..=address).next_back();
    if let Some((start, (length, name))) = before
        && address < start.saturating_add(*length)
    {
        return Some(name.clone());
    }
    let (_, (_, before)) = before.filter(|_| !is_complete)?;
    let (_, (_, after)) = functions.range(address..).next()?;
    Some(format!("{before} .. {after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_the_name_of_the_function_around_it_or_of_those_beside_it() {
        let functions = [(0x100, (0x20, "a".to_owned())), (0x200, (0x10, "b".to_owned()))].into_iter().collect();
        let name = |is_complete, address| named(&functions, is_complete, address);
        for (is_complete, address, expected) in [
            (false, 0x100, Some("a")),
            (false, 0x11f, Some("a")),
            (false, 0x120, Some("a .. b")),
            (true, 0x120, None),
            (false, 0x20f, Some("b")),
            (false, 0x210, None),
            (false, 0x50, None),
        ] {
            assert_eq!(name(is_complete, address).as_deref(), expected, "{address:x}");
        }
    }
}
