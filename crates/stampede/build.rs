//! Tells the program what it is built from (`src/version.rs`).
//!
//! `STAMPEDE_COMMIT` and `STAMPEDE_DATE` name the commit where there is no repository. A build for development knows no commit: it
//! would be linked again after each one.

use std::env;
use std::process::Command;

fn main() {
    for name in ["STAMPEDE_COMMIT", "STAMPEDE_DATE"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    let asks_git = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let git = |args: &[&str]| if asks_git { said("git", args) } else { None };
    for file in ["HEAD", "logs/HEAD", "index"] {
        if let Some(path) = git(&["rev-parse", "--path-format=absolute", "--git-path", file]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|files| !files.is_empty());
    let commit = git(&["rev-parse", "HEAD"]).map(|commit| if changed { format!("{commit}, changed") } else { commit });
    let date = git(&["log", "-1", "--date=format-local:%Y-%m-%d", "--format=%cd"]);
    let rustc = env::var("RUSTC").ok().and_then(|rustc| said(&rustc, &["--version"]));
    let rustc = rustc.map(|version| version.trim_start_matches("rustc ").to_owned());
    set("STAMPEDE_COMMIT", env::var("STAMPEDE_COMMIT").ok().or(commit));
    set("STAMPEDE_DATE", env::var("STAMPEDE_DATE").ok().or(date));
    set("STAMPEDE_TARGET", env::var("TARGET").ok());
    set("STAMPEDE_RUSTC", rustc);
}

fn set(name: &str, value: Option<String>) {
    println!("cargo::rustc-env={name}={}", value.unwrap_or_default());
}

/// What a program prints; dates are in UTC.
fn said(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(args)
        .env("TZ", "UTC")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
