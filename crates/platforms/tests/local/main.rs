//! Real processes under a real warden.
//!
//! A warden must be a program of its own with one thread, so this program is its own test runner: called as `__warden` it
//! is the warden, called as `__hold` it is a Stampede that can be killed, called as `__scope` one that enters a scope.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops at what it did not expect")]

mod bench;
mod ends;
mod hold;
mod launches;
mod parts;
mod scopes;

use std::panic::catch_unwind;
use std::process::ExitCode;

type Test = (&'static str, fn());

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("__warden") => return stampede_platforms::warden::run(),
        Some("__hold") => return hold::run(&args[1]),
        Some("__scope") => return scopes::run(&args[1..]),
        _ => {}
    }
    let tests: Vec<Test> = [launches::TESTS, parts::TESTS, ends::TESTS, scopes::TESTS].concat();
    let is_given = |flag: &str| args.iter().any(|arg| arg == flag);
    // None is ignored, which cargo-nextest asks as well.
    let tests = if is_given("--ignored") { Vec::new() } else { tests };
    if is_given("--list") {
        for (name, _) in tests {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    let filters: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let is_exact = is_given("--exact");
    let mut failed = 0;
    for (name, test) in tests {
        if !filters.is_empty()
            && !filters.iter().any(|filter| if is_exact { name == *filter } else { name.contains(*filter) })
        {
            continue;
        }
        let passed = catch_unwind(test).is_ok();
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        failed += u32::from(!passed);
    }
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        println!("{failed} failed");
        ExitCode::FAILURE
    }
}
