//! `cargo xtask tidy`: checks of the repository itself that no compiler makes. `cargo xtask words --write` writes again which
//! phrases each file may still have, `cargo xtask lines` counts the lines of each crate,
//! `site` builds the pages of the documents, and `licences` and `sbom` print what is inside the
//! program (scripts/dist.sh).

mod circles;
mod crates;
mod files;
mod findings;
mod flags;
mod libraries;
mod lines;
mod names;
mod prose;
mod purity;
mod runtimes;
mod site;
mod words;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match args[..] {
        ["tidy"] => {
            let problems = [
                circles::check(&root),
                crates::check(&root),
                files::check(&root),
                findings::check(&root),
                flags::check(&root),
                lines::check(&root),
                names::check(&root),
                purity::check(&root),
                runtimes::check(&root),
                site::check(&root),
                words::check(&root),
            ];
            ended(
                &problems.concat(),
                "tidy: crate graph, circles of files, file lengths, pages of findings, flags, lines of the binary, names of types, crates without I/O, runtime folders, links of documents, words: all in order",
            )
        }
        ["words", "--write"] => ended(&words::write(&root).err().unwrap_or_default(), "words: written"),
        ["site", program] => match site::build(&root, Path::new(program)) {
            Ok(pages) => ended(&[], &format!("site: {pages} pages; open target/site/index.html")),
            Err(problems) => ended(&problems, ""),
        },
        ["lines", ref revision @ ..] if revision.len() < 2 => {
            printed("lines", lines::table(&root, revision.first().copied()))
        }
        ["licences", target] => printed("licences", libraries::licences(&root, target)),
        ["sbom", target] => printed("sbom", libraries::bill(&root, target)),
        _ => {
            eprintln!(
                "usage: cargo xtask tidy\n       cargo xtask words --write\n       cargo xtask site PROGRAM\n       cargo xtask lines [REVISION]\n       \
                 cargo xtask licences|sbom TARGET"
            );
            ExitCode::from(2)
        }
    }
}

fn printed(what: &str, text: Result<String, String>) -> ExitCode {
    match text {
        Ok(text) => ended(&[], text.trim_end()),
        Err(problem) => {
            eprintln!("{what}: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn ended(problems: &[String], otherwise: &str) -> ExitCode {
    for problem in problems {
        eprintln!("tidy: {problem}");
    }
    if problems.is_empty() {
        println!("{otherwise}");
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
