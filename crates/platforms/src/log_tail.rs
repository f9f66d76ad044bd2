//! The end of a log.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// How many lines of each log are shown.
const LINES: usize = 20;

/// How many frames of a stack trace are shown.
const FRAMES: u32 = 3;

/// No more than this is read of a log.
const BYTES: u64 = 16 << 10;

/// The last lines of a file; none when it cannot be read.
pub(crate) fn read(path: &Path) -> Vec<String> {
    let read_end = || -> io::Result<Vec<u8>> {
        // The run's user may have put a link to another's file in its place.
        let mut file = File::options().read(true).custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(BYTES)))?;
        let mut bytes = Vec::new();
        file.take(BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    last_lines(&read_end().unwrap_or_default())
}

/// The newest log below a folder whose name fits a pattern: `DATE` stands for a date, `*` for anything. None where the pattern's own
/// folder is not within that folder, as a link could have it.
pub(crate) fn newest(within: &Path, pattern: &Path) -> Option<PathBuf> {
    let path = within.join(pattern);
    let name = path.file_name()?.to_str()?.replace("DATE", "*");
    let (begin, end) = match name.split_once('*') {
        Some((begin, end)) => (begin, end.rsplit('*').next().unwrap_or_default()),
        None => (name.as_str(), ""),
    };
    let folder = path.parent()?.canonicalize().ok()?;
    if !folder.starts_with(within.canonicalize().ok()?) {
        return None;
    }
    let fits = |found: &str| match name.contains('*') {
        true => found.len() >= begin.len() + end.len() && found.starts_with(begin) && found.ends_with(end),
        false => found == name,
    };
    let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let fitting = entries.filter(|entry| fits(&entry.file_name().to_string_lossy()));
    let newest = fitting.max_by_key(|entry| entry.metadata().and_then(|found| found.modified()).ok())?;
    Some(newest.path())
}

/// The last lines of an output. Of a stack trace the first frames are kept, so that its message is among them.
pub(crate) fn last_lines(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let frame = |line: &str| -> Option<u32> { line.trim_start().strip_prefix('#')?.split(' ').next()?.parse().ok() };
    let lines: Vec<&str> = text.lines().filter(|line| frame(line).is_none_or(|number| number < FRAMES)).collect();
    lines[lines.len().saturating_sub(LINES)..].iter().map(|line| (*line).to_owned()).collect()
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
    fn the_newest_log_of_a_pattern_is_found_within_its_folder() {
        let run = tempfile::tempdir().unwrap();
        fs::create_dir_all(run.path().join("app/logs")).unwrap();
        for name in ["app/logs/log-2026-01-01.log", "app/logs/laravel.log", "app/logs/other.txt"] {
            fs::write(run.path().join(name), name).unwrap();
        }
        std::os::unix::fs::symlink("/var/log", run.path().join("app/linked")).unwrap();
        for (pattern, found) in [
            ("app/logs/log-DATE.log", Some("log-2026-01-01.log")),
            ("app/logs/laravel.log", Some("laravel.log")),
            ("app/logs/lar*.log", Some("laravel.log")),
            ("app/logs/none.log", None),
            ("app/nowhere/log-DATE.log", None),
            ("app/linked/*.log", None),
        ] {
            let newest = newest(run.path(), Path::new(pattern));
            let name = newest.as_ref().and_then(|path| path.file_name()?.to_str());
            assert_eq!(name, found, "{pattern}");
        }
    }

    #[test]
    fn the_message_of_a_stack_trace_is_among_the_last_lines() {
        let frames: String = (0..40).map(|number| format!("#{number} /app/a.php(1): f()\n")).collect();
        let lines = last_lines(
            format!("[2026] production.ERROR: could not find driver\n[stacktrace]\n{frames}\"}}\n").as_bytes(),
        );
        assert_eq!(lines.len(), 6, "{lines:?}");
        assert!(lines[0].ends_with("could not find driver"));
    }

    #[test]
    fn the_last_lines_are_kept_in_order() {
        let text: String = (1..=30).map(|line| format!("line {line}\n")).collect();
        let lines = last_lines(text.as_bytes());
        assert_eq!(lines.len(), LINES);
        assert_eq!((lines[0].as_str(), lines[19].as_str()), ("line 11", "line 30"));
        assert_eq!(last_lines(b""), Vec::<String>::new());
        assert_eq!(read(Path::new("/nowhere")), Vec::<String>::new());
    }
}
