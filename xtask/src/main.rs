//! `cargo xtask tidy`: checks of the repository itself that no compiler makes.

mod crates;
mod files;
mod findings;
mod runtimes;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let task = std::env::args().nth(1);
    let Some("tidy") = task.as_deref() else {
        eprintln!("usage: cargo xtask tidy");
        return ExitCode::from(2);
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let problems = [crates::check(&root), files::check(&root), findings::check(&root), runtimes::check(&root)].concat();
    for problem in &problems {
        eprintln!("tidy: {problem}");
    }
    if problems.is_empty() {
        println!("tidy: crate graph, file lengths, pages of findings, runtime folders: all in order");
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
