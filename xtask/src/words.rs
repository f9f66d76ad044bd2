//! Words: phrases that readers of this field do not know, each with what to write instead.
//!
//! Texts that are older than this check are full of them, so `words.tsv` has how often a file may contain each. That may only
//! shrink: `cargo xtask words --write` writes it again, and refuses more of a phrase than there was.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::prose::{self, Words};

/// A phrase, in lower case, and what to write instead.
const PHRASES: [(&str, &str); 31] = [
    ("held against", "compared with, checked against"),
    ("hold against", "compare with, check against"),
    ("holds against", "compares with, checks against"),
    ("gone on with", "continued, resumed"),
    ("goes on with", "continues, resumes"),
    ("go on with", "continue, resume"),
    ("going on with", "continuing, resuming"),
    ("goes on where", "continues where"),
    ("where nothing is said", "by default"),
    ("where nothing was said", "by default"),
    ("unless it says otherwise", "by default"),
    ("untold", "unknown"),
    ("anew", "again, fresh"),
    ("by turns", "alternating, alternately"),
    ("what is asked", "the request"),
    ("what is wanted", "the target"),
    ("the most time that", "time limit for"),
    ("below which share", "smallest difference worth reporting"),
    ("yard-stick", "reference server"),
    ("yardstick", "reference server"),
    ("gravest", "most severe"),
    ("crowd", "user class"),
    ("crowds", "user classes"),
    ("journey", "virtual user, scenario"),
    ("and said so", "skipped: REASON"),
    ("is let pass", "passes"),
    ("are let pass", "pass"),
    ("lets pass", "accepts"),
    ("found so far", "finding so far for CASE"),
    ("in one another", "one lies in the other"),
    ("where nothing else is said", "by default"),
];

const ALLOWED: &str = "xtask/words.tsv";

/// The list itself.
const EXCEPT: &str = "xtask/src/words.rs";

/// In place of a file, for a phrase that is nowhere any more.
const NOWHERE: &str = "-";

/// Times of each phrase in each file.
type Counts = BTreeMap<(String, String), usize>;

pub(crate) fn check(root: &Path) -> Vec<String> {
    match fs::read_to_string(root.join(ALLOWED)) {
        Ok(text) => problems(&found(root), &read(&text)),
        Err(error) => vec![format!("{ALLOWED}: {error}")],
    }
}

/// Writes what is there as what is allowed, if no phrase is there more often than before.
pub(crate) fn write(root: &Path) -> Result<(), Vec<String>> {
    let mut found = counts(&found(root));
    let path = root.join(ALLOWED);
    let allowed = fs::read_to_string(&path).map(|text| read(&text)).unwrap_or_default();
    let mut grown = Vec::new();
    for (phrase, instead) in PHRASES {
        let there = total(&found, phrase).unwrap_or(0);
        // A phrase that was just put on the list is allowed where it is.
        if total(&allowed, phrase).is_some_and(|allowed| there > allowed) {
            grown.push(format!("there is more of \"{phrase}\" than {ALLOWED} allows: write \"{instead}\""));
        }
        if there == 0 {
            found.insert((NOWHERE.to_owned(), phrase.to_owned()), 0);
        }
    }
    if !grown.is_empty() {
        return Err(grown);
    }
    let lines: String = found.iter().map(|((file, phrase), count)| format!("{file}\t{phrase}\t{count}\n")).collect();
    fs::write(path, lines).map_err(|error| vec![format!("{ALLOWED}: {error}")])
}

/// Times of a phrase in all files; none where it is not known.
fn total(counts: &Counts, phrase: &str) -> Option<usize> {
    let known: Vec<usize> = counts.iter().filter(|((_, other), _)| other == phrase).map(|(_, count)| *count).collect();
    (!known.is_empty()).then(|| known.iter().sum())
}

/// Lines of each phrase in each file.
type Found = BTreeMap<(String, String), Vec<usize>>;

fn counts(found: &Found) -> Counts {
    found.iter().map(|(place, lines)| (place.clone(), lines.len())).collect()
}

fn read(text: &str) -> Counts {
    let row = |line: &str| {
        let mut fields = line.split('\t').map(str::to_owned);
        Some(((fields.next()?, fields.next()?), fields.next()?.parse().ok()?))
    };
    text.lines().filter_map(row).collect()
}

fn found(root: &Path) -> Found {
    let mut found = Found::new();
    for file in crate::files::tracked(root) {
        let name = file.display().to_string();
        if name == EXCEPT || !prose::is_known(&name) {
            continue;
        }
        let Ok(text) = fs::read_to_string(root.join(&file)) else { continue };
        for (phrase, line) in phrases(&Words::of(&name, &text)) {
            found.entry((name.clone(), phrase.to_owned())).or_default().push(line);
        }
    }
    found
}

/// Each phrase in a text, with its line.
fn phrases(words: &Words) -> Vec<(&'static str, usize)> {
    let mut found = Vec::new();
    for (phrase, _) in PHRASES {
        found.extend(words.lines_of(phrase).into_iter().map(|line| (phrase, line)));
    }
    found
}

fn problems(found: &Found, allowed: &Counts) -> Vec<String> {
    let more = found.iter().filter_map(|(place, lines)| {
        let (file, phrase) = place;
        let allowed = allowed.get(place).copied().unwrap_or(0);
        let instead = PHRASES.iter().find(|(other, _)| other == phrase)?.1;
        let shown: Vec<String> = lines.iter().map(ToString::to_string).collect();
        let known = if allowed == 0 { String::new() } else { format!("; {allowed} of them are older") };
        (lines.len() > allowed).then(|| format!("{file}:{}: \"{phrase}\": write \"{instead}\"{known}", shown.join(",")))
    });
    let fewer = allowed.iter().filter_map(|(place, allowed)| {
        let there = found.get(place).map_or(0, Vec::len);
        let (file, phrase) = place;
        (there < *allowed).then(|| {
            format!("{file} has {there} of \"{phrase}\" and {ALLOWED} allows {allowed}: run cargo xtask words --write")
        })
    });
    more.chain(fewer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lines: &[usize]) -> Found {
        if lines.is_empty() {
            return Found::new();
        }
        Found::from([(("a.md".to_owned(), "anew".to_owned()), lines.to_vec())])
    }

    #[test]
    fn a_file_may_have_what_it_had() {
        let allowed = read("a.md\tanew\t2\n");
        assert!(problems(&found(&[3, 7]), &allowed).is_empty());
        assert_eq!(
            problems(&found(&[3, 7, 9]), &allowed),
            ["a.md:3,7,9: \"anew\": write \"again, fresh\"; 2 of them are older"]
        );
        assert_eq!(problems(&found(&[3]), &Counts::new()), ["a.md:3: \"anew\": write \"again, fresh\""]);
        for fewer in [&[3][..], &[]] {
            let problems = problems(&found(fewer), &allowed);
            assert!(matches!(&problems[..], [one] if one.ends_with("run cargo xtask words --write")), "{problems:?}");
        }
    }

    #[test]
    fn what_is_allowed_is_moved_and_shrinks_but_never_grows() {
        let root = tempfile::tempdir().unwrap();
        let git = std::process::Command::new("git").args(["init", "-q"]).current_dir(&root).status().unwrap();
        assert!(git.success());
        let at = |name: &str| root.path().join(name);
        fs::create_dir(at("xtask")).unwrap();
        fs::write(at("a.md"), "Begun anew, and\nanew.\n").unwrap();
        write(root.path()).unwrap();
        let allowed = fs::read_to_string(at(ALLOWED)).unwrap();
        assert!(allowed.contains("a.md\tanew\t2\n") && allowed.contains("-\tby turns\t0\n"), "{allowed}");

        fs::rename(at("a.md"), at("b.md")).unwrap();
        assert_eq!(check(root.path()).len(), 2);
        write(root.path()).unwrap();
        assert!(check(root.path()).is_empty());

        fs::write(at("c.md"), "Anew.\n").unwrap();
        assert_eq!(write(root.path()).unwrap_err().len(), 1);
        assert_eq!(check(root.path()), ["c.md:1: \"anew\": write \"again, fresh\""]);
        fs::write(at("c.md"), "By turns.\n").unwrap();
        assert_eq!(write(root.path()).unwrap_err().len(), 1);
    }

    #[test]
    fn phrases_are_whole_words_in_lower_case() {
        for (phrase, instead) in PHRASES {
            assert_eq!(phrase, phrase.to_lowercase());
            assert!(!instead.is_empty());
            assert_eq!(Words::of("a.md", phrase).lines_of(phrase), [1], "{phrase}");
        }
    }
}
