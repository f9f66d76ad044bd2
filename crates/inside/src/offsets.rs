//! Where PHP keeps what is read: offsets in bytes by version, on 64-bit machines.
//!
//! Sources: PHP's headers (`Zend/zend_globals.h`, `zend_compile.h`, `zend_types.h`, `zend.h`, `main/SAPI.h`); phpspy's
//! `structs/` (7.0 to 8.6, <https://github.com/adsr/phpspy>); the table of OpenTelemetry's eBPF profiler (7.3 to 8.5). A test
//! holds the row of the PHP that is installed against its headers. They are the same with and without threads.

use std::fmt;
use std::str::FromStr;

/// A version of PHP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhpVersion {
    /// 8 of 8.2.36.
    pub major: u8,
    /// 2 of 8.2.36.
    pub minor: u8,
    /// 36 of 8.2.36.
    pub release: u16,
}

impl FromStr for PhpVersion {
    type Err = ();

    /// Reads `8.2.36`, and ignores what follows the third number.
    fn from_str(text: &str) -> Result<Self, ()> {
        let mut numbers = text.splitn(3, '.');
        let mut next = || numbers.next().ok_or(());
        let (major, minor, rest) = (next()?, next()?, next()?);
        let release = rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        let number = |text: &str| text.parse().map_err(drop);
        Ok(Self { major: number(major)?, minor: number(minor)?, release: release.parse().map_err(drop)? })
    }
}

impl fmt::Display for PhpVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.release)
    }
}

/// Offsets that differ between versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offsets {
    /// `zend_executor_globals.current_execute_data`; `vm_stack_top`, `vm_stack_end` and `vm_stack` begin 32 bytes before it.
    pub current_frame: u64,
    /// `zend_op_array.last`: how many opcodes it has.
    pub last: usize,
    /// `zend_op_array.opcodes`
    pub opcodes: usize,
    /// `zend_op_array.filename`
    pub file: usize,
    /// `zend_op_array.line_start`
    pub first_line: usize,
}

const fn row(current_frame: u64, last: usize, opcodes: usize, file: usize, first_line: usize) -> Offsets {
    Offsets { current_frame, last, opcodes, file, first_line }
}

/// By major and minor version.
const TABLE: [((u8, u8), Offsets); 8] = [
    ((7, 4), row(488, 60, 64, 136, 144)),
    ((8, 0), row(488, 68, 72, 144, 152)),
    ((8, 1), row(488, 68, 72, 144, 152)),
    ((8, 2), row(488, 80, 88, 152, 160)),
    ((8, 3), row(488, 76, 80, 144, 152)),
    ((8, 4), row(488, 96, 104, 168, 176)),
    ((8, 5), row(512, 96, 104, 168, 176)),
    ((8, 6), row(512, 96, 104, 168, 176)),
];

impl Offsets {
    /// Those of a version; none of a version that is not known.
    pub fn of(version: PhpVersion) -> Option<Self> {
        let known = TABLE.iter().find(|(version_of_row, _)| *version_of_row == (version.major, version.minor));
        known.map(|(_, offsets)| *offsets)
    }

    /// The versions that are known, for messages.
    pub fn known_versions() -> String {
        let [((first, second), _), .., ((major, minor), _)] = TABLE;
        format!("{first}.{second} to {major}.{minor}")
    }
}

/// `sizeof(zend_execute_data)`: a frame's head, the same in all versions.
pub(crate) const FRAME_SIZE: usize = 80;
/// `zend_execute_data.opline`
pub(crate) const FRAME_OPLINE: usize = 0;
/// `zend_execute_data.func`
pub(crate) const FRAME_FUNCTION: usize = 24;
/// `zend_execute_data.prev_execute_data`
pub(crate) const FRAME_PREVIOUS: usize = 48;
/// `sizeof(zend_op)`
pub(crate) const OPLINE_SIZE: u64 = 32;
/// `zend_op.lineno`
pub(crate) const OPLINE_LINE: u64 = 24;
/// `zend_op.opcode`, after `lineno`
pub(crate) const OPLINE_CODE: usize = 4;
/// `ZEND_INCLUDE_OR_EVAL`, the same in all versions (Zend/zend_vm_opcodes.h)
pub(crate) const LOADS_FILE: u8 = 73;
/// `zend_function.type`
pub(crate) const FUNCTION_TYPE: usize = 0;
/// `zend_function.common.function_name`
pub(crate) const FUNCTION_NAME: usize = 8;
/// `zend_function.common.scope`
pub(crate) const FUNCTION_CLASS: usize = 16;
/// `zend_class_entry.name`
pub(crate) const CLASS_NAME: u64 = 8;
/// `zend_string.h`, which `len` follows
pub(crate) const STRING_HASH: u64 = 8;
/// `zend_string.len`
pub(crate) const STRING_LENGTH: u64 = 16;
/// `zend_string.val`
pub(crate) const STRING_TEXT: u64 = 24;
/// `zend_executor_globals.symbol_table`, the global variables: a `zend_array`
pub(crate) const SYMBOL_TABLE: u64 = 304;
/// `zend_array.nTableMask`
pub(crate) const ARRAY_MASK: usize = 12;
/// `zend_array.arData`
pub(crate) const ARRAY_BUCKETS: usize = 16;
/// As much of a `zend_array` as holds both.
pub(crate) const ARRAY_SIZE: usize = 24;
/// `sizeof(Bucket)`, which begins with a `zval`
pub(crate) const BUCKET_SIZE: usize = 32;
/// `zval.u1.v.type`; `u2.next`, the index of the bucket with the same place, follows 4 bytes after
pub(crate) const BUCKET_TYPE: usize = 8;
/// `Bucket.h`
pub(crate) const BUCKET_HASH: usize = 16;
/// `Bucket.key`
pub(crate) const BUCKET_KEY: usize = 24;
/// `IS_STRING`
pub(crate) const VALUE_STRING: u8 = 6;
/// `IS_ARRAY`
pub(crate) const VALUE_ARRAY: u8 = 7;
/// `IS_REFERENCE`
pub(crate) const VALUE_REFERENCE: u8 = 10;
/// As much of a function as holds every field above, of every version.
pub(crate) const FUNCTION_SIZE: usize = 184;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_php_prints() {
        let of = |text: &str| text.parse::<PhpVersion>().ok().map(|version| version.to_string());
        for (text, expected) in [
            ("8.2.36", Some("8.2.36")),
            ("8.6.0-dev", Some("8.6.0")),
            ("8.4.0RC1", Some("8.4.0")),
            ("7.4.33-1+deb", Some("7.4.33")),
            ("8.2", None),
            ("eight", None),
            ("", None),
        ] {
            assert_eq!(of(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_version_that_is_not_known_has_no_offsets() {
        let of = |text: &str| text.parse().ok().and_then(Offsets::of).is_some();
        assert!(of("7.4.0") && of("8.6.1"));
        assert!(!of("7.3.33") && !of("8.7.0") && !of("9.0.0"));
        assert_eq!(Offsets::known_versions(), "7.4 to 8.6");
    }

    #[test]
    fn every_field_of_a_function_is_in_what_is_read_of_it() {
        for (_, offsets) in TABLE {
            assert!(offsets.first_line + 4 <= FUNCTION_SIZE && offsets.file + 8 <= FUNCTION_SIZE);
        }
    }
}
