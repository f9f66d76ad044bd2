//! Documents: every command of ours that a document or an example of `--help` has is one that the program takes.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Command, Parser};

use super::built;
use crate::args::Args;

/// What stands for a value of the reader's own in documents.
const PLACES: [&str; 2] = ["...", "…"];

#[test]
fn commands_of_documents_are_taken() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut wrong = Vec::new();
    let mut taken = 0;
    for file in documents(&root) {
        let text = fs::read_to_string(&file).unwrap();
        for (line, command) in commands(&text) {
            match problem(&command) {
                None => taken += 1,
                Some(problem) => wrong.push(format!("{}:{line}: {command}\n    {problem}", file.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(taken > 100, "only {taken} commands were found");
}

#[test]
fn examples_of_help_are_taken() {
    let mut wrong = Vec::new();
    examples(&built(), &mut wrong);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// README, and all that is in `docs` but reports of benchmarks, whose blocks are tables.
fn documents(root: &Path) -> Vec<PathBuf> {
    let mut files = vec![root.join("README.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md")
                && !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("bench-"))
            {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Lines of blocks that begin with the program's name, with what a backslash continues. A block of `text` is output.
fn commands(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let (mut is_block, mut is_continued) = (false, false);
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(language) = line.strip_prefix("```") {
            is_block = !is_block && language != "text";
            is_continued = false;
            continue;
        }
        let command = line.strip_prefix("$ ").unwrap_or(line);
        if is_continued && let Some((_, before)) = found.last_mut() {
            *before = format!("{before} {}", command.trim_end_matches('\\').trim_end());
        } else if is_block && command.split(' ').next() == Some("stampede") {
            found.push((at + 1, command.trim_end_matches('\\').trim_end().to_owned()));
        } else {
            continue;
        }
        is_continued = command.ends_with('\\');
    }
    found
}

/// What the program says of a command line that it does not take.
fn problem(command: &str) -> Option<String> {
    // Another program's part of the line is not ours.
    let ours = [" | ", " > ", " && ", " ; "].iter().fold(command, |line, end| line.split(end).next().unwrap_or(line));
    // Nor is a command within it, whose output is a word.
    let ours = match (ours.find("$("), ours.rfind(')')) {
        (Some(begin), Some(end)) if begin < end => format!("{}1{}", &ours[..begin], &ours[end + 1..]),
        _ => ours.to_owned(),
    };
    let Some(words) = shlex::split(&ours) else { return Some("a quotation mark is open".to_owned()) };
    if words.iter().any(|word| PLACES.contains(&word.as_str())) {
        return None;
    }
    let said = Args::try_parse_from(words).err().filter(clap::Error::use_stderr)?;
    Some(said.to_string().lines().next().unwrap_or_default().to_owned())
}

/// Examples of a command and of those below it; a remark follows two blanks, and what is indented further continues a line.
fn examples(command: &Command, wrong: &mut Vec<String>) {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut lines: Vec<String> = Vec::new();
    let listed = help.split("Examples:\n").nth(1).unwrap_or_default();
    for line in listed.lines().take_while(|line| line.starts_with("  ")) {
        // A line that a terminal breaks is two commands for who copies it.
        if line.chars().count() > 80 {
            wrong.push(format!("{}: {line}\n    is longer than 80 characters", command.get_name()));
        }
        let example = line.trim().split("  ").next().unwrap_or_default().trim_end_matches([' ', '\\']);
        match lines.last_mut() {
            Some(before) if line.starts_with("    ") => *before = format!("{before} {example}"),
            _ => lines.push(example.to_owned()),
        }
    }
    for line in lines.iter().filter(|line| line.starts_with("stampede")) {
        wrong.extend(problem(line).map(|problem| format!("{}: {line}\n    {problem}", command.get_name())));
    }
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        examples(below, wrong);
    }
}
