//! Crates that do no I/O and read no clock (ARCHITECTURE.md, Invariants): what would do it is not named in them.

use std::fs;
use std::path::Path;

use crate::files::tracked;

/// They decide, and others act.
const PURE: [&str; 13] = [
    "analysis", "conduct", "core", "export", "forecast", "harness", "mimic", "runtimes", "scale", "scenario", "seam",
    "stats", "traffic",
];

/// What reads a clock, waits, opens a connection or a file, or starts a process.
const IMPURE: [&str; 12] = [
    "Instant::now",
    "SystemTime::now",
    "Timestamp::now",
    "Zoned::now",
    "tokio::time",
    "tokio::net",
    "thread::sleep",
    "std::net::Tcp",
    "TcpStream",
    "fs::",
    "File::open",
    "Command::new",
];

/// A place that may all the same, and why.
const ALLOWED: [(&str, &str, &str); 1] = [(
    "crates/harness/src/alignment.rs",
    "Instant::now",
    "bounds how long two texts are compared; no figure depends on it",
)];

pub(crate) fn check(root: &Path) -> Vec<String> {
    let of_pure = |place: &str| {
        PURE.iter().any(|name| place.starts_with(&format!("crates/{name}/src/")))
            && place.ends_with(".rs")
            && !place.ends_with("/tests.rs")
    };
    let places = tracked(root).into_iter().map(|file| file.display().to_string());
    let read = |place: String| Some((fs::read_to_string(root.join(&place)).ok()?, place));
    places.filter(|place| of_pure(place)).filter_map(read).flat_map(|(text, place)| named(&place, &text)).collect()
}

/// What a file names outside its tests and comments.
fn named(place: &str, text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = (1..).zip(code.lines()).filter(|(_, line)| !line.trim_start().starts_with("//"));
    let named = lines.flat_map(|(number, line)| {
        IMPURE.iter().filter(move |impure| line.contains(**impure)).map(move |impure| (number, *impure))
    });
    let is_allowed = |impure: &str| ALLOWED.iter().any(|(file, word, _)| (*file, *word) == (place, impure));
    named
        .filter(|(_, impure)| !is_allowed(impure))
        .map(|(number, impure)| format!("{place}:{number}: {impure}: this crate does no I/O and reads no clock"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_outside_tests_and_comments_is_found() {
        let text = "// Instant::now\nlet a = Instant::now();\n#[cfg(test)]\nmod tests { fn a() { Instant::now(); } }\n";
        assert_eq!(named("crates/core/src/a.rs", text).len(), 1);
        assert_eq!(named("crates/harness/src/alignment.rs", text), Vec::<String>::new());
    }
}
