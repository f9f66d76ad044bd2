//! The end of a log.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use stampede_seam::LogTail;

/// No more than this is read of a log.
const BYTES: u64 = 64 << 10;

/// The last lines of a file, none of them twice; none when it cannot be read.
pub(crate) fn read(path: &Path) -> Vec<String> {
    LogTail::of(text(path).lines()).lines
}

/// The end of a file, in whole lines; empty when it cannot be read.
pub(crate) fn text(path: &Path) -> String {
    let read_end = || -> io::Result<Vec<u8>> {
        // The run's user may have put a link to another's file in its place.
        let mut file = File::options().read(true).custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(BYTES)))?;
        let mut bytes = Vec::new();
        file.take(BYTES).read_to_end(&mut bytes)?;
        if length > BYTES {
            let first = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
            bytes.drain(..first);
        }
        Ok(bytes)
    };
    String::from_utf8_lossy(&read_end().unwrap_or_default()).into_owned()
}

/// The last lines of an output, none of them twice.
pub(crate) fn last_lines(bytes: &[u8]) -> Vec<String> {
    LogTail::of(String::from_utf8_lossy(bytes).lines()).lines
}

/// A problem followed by the end of a log.
pub(crate) fn with_log(problem: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        format!("{problem}; it logged nothing")
    } else {
        format!("{problem}; its log ends:\n{}", lines.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_in_order() {
        let text: String = (1..=30).map(|line| format!("line {line}\n")).collect();
        let lines = last_lines(text.as_bytes());
        assert_eq!((lines.len(), lines[0].as_str(), lines[19].as_str()), (20, "line 11", "line 30"));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("{}\nlast\n", "x".repeat(BYTES as usize))).unwrap();
        assert_eq!(read(file.path()), ["last"]);
        assert_eq!(last_lines(b""), Vec::<String>::new());
        assert_eq!(read(Path::new("/nowhere")), Vec::<String>::new());
    }
}
