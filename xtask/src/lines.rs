//! `cargo xtask lines`: how many lines of Rust each crate has without its tests, now and at a revision.
//!
//! Reads text as rustfmt indents it and parses no Rust. Comments count; blank lines are counted apart.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Its servers and fakes are for tests only.
const FOR_TESTS: &str = "testkit";

/// The binary, which wires everything together and decides nothing, and the most lines that it takes (ADR 52).
const BINARY: (&str, usize) = ("stampede", 3500);

/// What of the binary stands for other tools, and does not count among its lines.
const OF_TOOLS: &str = "crates/stampede/src/mimic.rs";

/// Lines of each file by its path from the root.
type Files = BTreeMap<PathBuf, Vec<String>>;

#[derive(Clone, Copy, Default)]
struct Count {
    lines: usize,
    blank: usize,
}

/// Whether the binary has more lines than wiring takes.
pub(crate) fn check(root: &Path) -> Vec<String> {
    let mut files = match files(root, None) {
        Ok(files) => files,
        Err(problem) => return vec![problem],
    };
    files.remove(Path::new(OF_TOOLS));
    too_many(&counts(&files), BINARY).into_iter().collect()
}

fn too_many(counts: &BTreeMap<String, Count>, (name, most): (&str, usize)) -> Option<String> {
    let lines = counts.get(name)?.lines;
    (lines > most).then(|| {
        format!("{name} has {lines} lines, and {most} is the most: move what it decides to the crate that has its noun")
    })
}

/// The table of this folder as it is; with a revision also that revision's lines, and the difference.
pub(crate) fn table(root: &Path, revision: Option<&str>) -> Result<String, String> {
    let now = counts(&files(root, None)?);
    let before = revision.map(|revision| files(root, Some(revision))).transpose()?.map(|files| counts(&files));
    let mut text = format!("{:20} {:>8} {:>8}", "crate", "lines", "blank");
    if let Some(revision) = revision {
        let _ = write!(text, " {revision:>12} {:>10}", "difference");
    }
    let names: BTreeSet<&String> = now.keys().chain(before.iter().flatten().map(|(name, _)| name)).collect();
    let [mut sum, mut sum_before] = [Count::default(); 2];
    for name in names {
        let of = |counts: &BTreeMap<String, Count>| counts.get(name).copied().unwrap_or_default();
        let (now, before) = (of(&now), before.as_ref().map(of));
        row(&mut text, name, now, before);
        if name != FOR_TESTS {
            sum.add(now);
            sum_before.add(before.unwrap_or_default());
        }
    }
    row(&mut text, &format!("sum without {FOR_TESTS}"), sum, before.map(|_| sum_before));
    Ok(text)
}

fn row(text: &mut String, name: &str, now: Count, before: Option<Count>) {
    let _ = write!(text, "\n{name:20} {:>8} {:>8}", now.lines, now.blank);
    if let Some(before) = before {
        let difference = now.lines.cast_signed() - before.lines.cast_signed();
        let _ = write!(text, " {:>12} {difference:>+10}", before.lines);
    }
}

/// All Rust files of the folder, or of a revision.
fn files(root: &Path, revision: Option<&str>) -> Result<Files, String> {
    // Every line with its file: one command for a folder and for a revision.
    let output = Command::new("git")
        .args(["grep", "-I", "-z", "--no-color", "--no-line-number", "-e", ""])
        .arg(revision.unwrap_or("--untracked"))
        .args(["--", "*.rs"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("git: {error}"))?;
    if !output.status.success() {
        return Err(format!("git grep: {}", String::from_utf8_lossy(&output.stderr).trim_end()));
    }
    let prefix = revision.map(|revision| format!("{revision}:")).unwrap_or_default();
    let mut files = Files::new();
    for (path, line) in String::from_utf8_lossy(&output.stdout).lines().filter_map(|line| line.split_once('\0')) {
        let path = PathBuf::from(path.strip_prefix(&prefix).unwrap_or(path));
        files.entry(path).or_default().push(line.to_owned());
    }
    Ok(files)
}

/// Lines of each crate, and of each folder beside `crates`, that are no test's.
fn counts(files: &Files) -> BTreeMap<String, Count> {
    let mut of_tests = BTreeSet::new();
    let mut kept = Vec::new();
    for (path, lines) in files {
        let (code, modules) = without_tests(lines);
        let is_root = ["lib.rs", "main.rs"].iter().any(|name| path.ends_with(name));
        let folder = if is_root { path.parent().unwrap_or(path) } else { &path.with_extension("") };
        of_tests.extend(modules.into_iter().map(|module| folder.join(module)));
        kept.push((path, code));
    }
    // What is below a module that only tests have is theirs, too.
    let is_test = |path: &Path| {
        path.iter().any(|name| ["tests", "benches", "tests.rs"].iter().any(|test| name == *test))
            || path.with_extension("").ancestors().any(|module| of_tests.contains(module))
    };
    let mut counts = BTreeMap::<String, Count>::new();
    for (path, code) in kept.into_iter().filter(|(path, _)| !is_test(path)) {
        let place = path.strip_prefix("crates").unwrap_or(path);
        let Some(name) = place.iter().next() else { continue };
        let blank = code.iter().filter(|line| line.trim().is_empty()).count();
        let count = counts.entry(name.to_string_lossy().into_owned()).or_default();
        count.add(Count { lines: code.len() - blank, blank });
    }
    counts
}

/// A file's lines without items that only tests have, and the names of those that are modules in files of their own.
fn without_tests(lines: &[String]) -> (Vec<&str>, Vec<&str>) {
    let (mut code, mut modules) = (Vec::new(), Vec::new());
    let mut lines = lines.iter().map(String::as_str);
    while let Some(line) = lines.next() {
        let Some(indent) = line.strip_suffix("#[cfg(test)]") else {
            code.push(line);
            continue;
        };
        let mut item = lines.by_ref().skip_while(|line| line.trim_start().starts_with("#["));
        let first = item.next().unwrap_or_default();
        if let Some(declared) = first.strip_suffix(';') {
            modules.extend(declared.rsplit_once("mod ").map(|(_, name)| name));
        } else if !first.ends_with('}') {
            item.find(|line| line.strip_prefix(indent) == Some("}"));
        }
    }
    (code, modules)
}

impl Count {
    fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.blank += other.blank;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const ROOT: &str = "//! What it is for.\n\nmod a;\n#[cfg(test)]\nmod samples;\n\nfn f() {\n    #[cfg(test)]\n    if g() {\n        \
                        h();\n    }\n}\n\n#[cfg(test)]\n#[expect(unused, reason = \"\")]\nmod tests {\n    fn t() {}\n}\n";

    #[test]
    fn tests_and_modules_that_only_tests_have_do_not_count() {
        let texts = [
            ("crates/a/src/lib.rs", ROOT),
            ("crates/a/src/a.rs", "#[cfg(test)]\nmod deep;\n#[cfg(test)]\nfn t() {}\nfn a() {}\n"),
            ("crates/a/src/a/deep.rs", "fn t() {}\n"),
            ("crates/a/src/a/deep/more.rs", "fn t() {}\n"),
            ("crates/a/src/samples.rs", "fn t() {}\n"),
            ("crates/a/src/a/samples.rs", "fn a() {}\n"),
            ("crates/a/src/tests.rs", "fn t() {}\n"),
            ("crates/a/tests/it/main.rs", "fn t() {}\n"),
            ("crates/a/benches/b.rs", "fn t() {}\n"),
            ("xtask/src/main.rs", "fn main() {}\n"),
        ];
        let lines = |text: &str| text.lines().map(str::to_owned).collect();
        let counts = counts(&texts.iter().map(|(path, text)| (PathBuf::from(path), lines(text))).collect());
        let [a, xtask] = ["a", "xtask"].map(|name| counts[name]);
        assert_eq!((a.lines, a.blank), (4 + 1 + 1, 3));
        assert_eq!((xtask.lines, xtask.blank), (1, 0));
        assert_eq!(too_many(&counts, ("a", 6)), None);
        assert!(too_many(&counts, ("a", 5)).unwrap().starts_with("a has 6 lines, and 5 is the most"));
    }

    #[test]
    fn a_folder_is_compared_with_a_revision() {
        let folder = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let author = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"];
            assert!(Command::new("git").args(author).args(args).current_dir(&folder).status().unwrap().success());
        };
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        git(&["init", "--quiet"]);
        write("crates/a/src/lib.rs", "fn a() {}\nfn b() {}\n");
        write("crates/testkit/src/lib.rs", "fn a() {}\n");
        git(&["add", "."]);
        git(&["commit", "--quiet", "--message", "First"]);
        write("crates/a/src/lib.rs", "fn a() {}\n");
        write("crates/b/src/lib.rs", "fn a() {}\n\nfn b() {}\nfn c() {}\n");

        let words = |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        let table = table(folder.path(), Some("HEAD")).unwrap();
        let rows: Vec<_> = table.lines().map(|line| words(line).join(" ")).collect();
        assert_eq!(
            rows,
            [
                "crate lines blank HEAD difference",
                "a 1 0 2 -1",
                "b 3 1 0 +3",
                "testkit 1 0 1 +0",
                "sum without testkit 4 1 2 +2"
            ]
        );
        assert!(super::table(folder.path(), Some("none")).unwrap_err().contains("none"));
    }
}
