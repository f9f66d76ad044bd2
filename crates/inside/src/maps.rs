//! `/proc/PID/maps`: which file is mapped where.

use std::ops::Range;

/// A mapping of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// Where it begins in the process.
    pub(crate) start: u64,
    /// Where it ends.
    pub(crate) end: u64,
    /// Whether it holds code.
    pub(crate) is_code: bool,
    /// Where it begins in the file.
    pub(crate) offset: u64,
    /// Device and inode: which file.
    pub(crate) file: FileId,
    /// As the process sees it, without the mark of a file that was deleted.
    pub(crate) path: String,
}

/// Device, as the kernel prints it, and inode.
pub(crate) type FileId = (String, u64);

/// The mappings of files; what is malformed is passed over.
pub(crate) fn parse(text: &str) -> Vec<Mapping> {
    text.lines().filter_map(line).collect()
}

/// Where the kernel's own code for the process is.
pub(crate) fn vdso(text: &str) -> Option<Range<u64>> {
    let line = text.lines().find(|line| line.ends_with("[vdso]"))?;
    let (start, end) = line.split_once(' ')?.0.split_once('-')?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    Some(hex(start)?..hex(end)?)
}

/// `start-end perms offset dev inode path` (proc_pid_maps(5))
fn line(line: &str) -> Option<Mapping> {
    let mut rest = line;
    let mut field = || {
        let (field, after) = rest.trim_start().split_once(' ')?;
        rest = after;
        Some(field)
    };
    let (range, rights, offset, device, inode) = (field()?, field()?, field()?, field()?, field()?);
    let path = rest.trim_start();
    let (start, end) = range.split_once('-')?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    path.starts_with('/').then_some(Mapping {
        start: hex(start)?,
        end: hex(end)?,
        is_code: rights.as_bytes().get(2) == Some(&b'x'),
        offset: hex(offset)?,
        file: (device.to_owned(), inode.parse().ok()?),
        path: path.strip_suffix(" (deleted)").unwrap_or(path).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_of_files_are_read_and_others_passed_over() {
        let text = "\
55d0a2a00000-55d0a2b00000 r--p 00000000 fe:00 1234                       /usr/bin/php8.2
55d0a2b00000-55d0a2f00000 r-xp 00100000 fe:00 1234                       /usr/bin/php8.2
7ffd0-7ffe0 rw-p 00000000 00:00 0                          [stack]
7f000-7f100 rw-p 00000000 00:00 0 \n\
7f200-7f300 r-xp 00002000 fe:00 99  /opt/my app/libphp.so (deleted)
nonsense
";
        assert_eq!(vdso(text), None);
        assert_eq!(
            vdso("1000-2000 r--p 00000000 00:00 0  [vvar]\n2000-3000 r-xp 00000000 00:00 0 [vdso]\n"),
            Some(0x2000..0x3000)
        );
        let found = parse(text);
        let brief: Vec<_> = found.iter().map(|m| (m.start, m.offset, m.is_code, m.file.1, m.path.as_str())).collect();
        assert_eq!(
            brief,
            [
                (0x55d0_a2a0_0000, 0, false, 1234, "/usr/bin/php8.2"),
                (0x55d0_a2b0_0000, 0x10_0000, true, 1234, "/usr/bin/php8.2"),
                (0x7f200, 0x2000, true, 99, "/opt/my app/libphp.so"),
            ]
        );
    }
}
