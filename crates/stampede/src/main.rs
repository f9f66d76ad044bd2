//! Stampede: a test bench for PHP runtimes.
//!
//! The binary parses arguments, wires crates together, prints and exits. It decides nothing about measuring.

mod args;
mod backend;
mod capacity;
mod clean;
mod compare;
mod completions;
mod destination;
mod doctor;
mod exit;
mod export;
mod flags;
mod forecast;
mod gate;
mod guardian;
mod help;
mod init;
mod inside;
mod kubernetes;
mod ladder;
mod list;
mod load;
mod mimic;
mod notices;
mod report;
mod reproduce;
mod scale;
mod screen;
mod serve;
mod show;
mod show_runtime;
mod size;
mod study_file;
mod study_place;
mod tune;
mod usage_error;
mod version;
mod welcome;
mod why;

#[cfg(test)]
mod tests;

use std::process::ExitCode;

use clap::Parser;
use stampede_conduct::Host;
use stampede_machine::{ThisMachine, beside, name_service};
use stampede_mimic::Tool;

use crate::args::{Args, Asked, OtherArgs};
use crate::exit::{Exit, Failure};
use crate::notices::ONLOOKER;

fn main() -> ExitCode {
    name_service::keep_to_files_and_dns();
    let here = || ThisMachine::new(ONLOOKER);
    match Args::try_parse().unwrap_or_else(|error| usage_error::end(&error)) {
        Args { command: Some(Asked::Warden), .. } => stampede_platforms::warden::run(),
        Args { command: Some(Asked::Agent { lock, first }), .. } => {
            exit::of_served("__agent", stampede_machine::agent::serve(lock.as_deref(), first))
        }
        Args { command: Some(Asked::Guardian { task }), .. } => guardian::run(task),
        Args { command: Some(Asked::YardStick { address }), .. } => {
            exit::of_served("__yard-stick", stampede_machine::reference_server::serve(&address))
        }
        Args { command: Some(Asked::Hey(OtherArgs { args })), .. } => mimic::end(Tool::Hey, &args, &here()),
        Args { command: Some(Asked::Ab(OtherArgs { args })), .. } => mimic::end(Tool::Ab, &args, &here()),
        Args { command: Some(Asked::Wrk(OtherArgs { args })), .. } => mimic::end(Tool::Wrk, &args, &here()),
        Args { command: Some(Asked::Beside(OtherArgs { args })), .. } => code_of(beside::keep(&args)),
        args => match outcome_of(args, &here()) {
            Err(failure) if beside::is_next(&failure) => code_of(go_there()),
            outcome => exit::code(outcome.unwrap_or_else(tell)),
        },
    }
}

/// Carries the command out beside the container engine.
fn go_there() -> Result<u8, Failure> {
    let printed: [fn(&[u8]); 2] = [|bytes| drop(screen::print_bytes(bytes)), screen::write];
    beside::carry_out(flags::StoreArgs { store: None }.file()?, screen::width(), ONLOOKER, printed)
}

fn code_of(ended: Result<u8, Failure>) -> ExitCode {
    ended.map_or_else(|failure| exit::code(tell(failure)), ExitCode::from)
}

/// Does what a command line asks for.
fn outcome_of(args: Args, host: &dyn Host) -> Outcome {
    match args {
        Args { version: true, verbose, command: _ } => version::run(verbose),
        Args { command: Some(command), .. } => outcome(command, host),
        Args { command: None, .. } => welcome::run(host),
    }
}

/// Says why a command could not be done.
fn tell(Failure { exit, message }: Failure) -> Exit {
    message.lines().for_each(screen::error);
    exit
}

/// What comes of a command.
fn outcome(command: Asked, host: &dyn Host) -> Outcome {
    match command {
        Asked::Compare(args) => compare::run(args, host),
        Asked::Capacity(args) => capacity::run(args, host),
        Asked::Gate(args) => gate::run(*args, host),
        Asked::Why(args) => why::run(*args, host),
        Asked::Inside(args) => inside::run(&args),
        Asked::Tune(args) => tune::run(*args, host),
        Asked::Size(args) => size::run(*args, host),
        Asked::Init(args) => init::run(&args, host),
        Asked::Reproduce(args) => reproduce::run(args, host),
        Asked::Export(args) => export::run(*args, host),
        Asked::Scale(args) => scale::run(args, host),
        Asked::Forecast(args) => forecast::run(*args),
        Asked::Load(args) => load::run(args, host),
        Asked::List(args) => list::run(&args),
        Asked::Show(args) => show::run(&args),
        Asked::Report(args) => report::run(&args),
        Asked::Serve(args) => serve::run(&args),
        Asked::ExportStudy(args) => study_file::export(&args),
        Asked::ImportStudy(args) => study_file::import(&args),
        Asked::Doctor(args) => doctor::run(&args, host),
        Asked::Clean(args) => clean::run(&args),
        Asked::Help(args) => help::run(args, host),
        Asked::Completions { shell } => completions::run(shell),
        Asked::Look { questions } => list::answer(&questions),
        // They have exit codes of their own.
        Asked::Hey(_) | Asked::Ab(_) | Asked::Wrk(_) => Ok(Exit::Done),
        Asked::Warden | Asked::Agent { .. } | Asked::Beside(_) | Asked::Guardian { .. } | Asked::YardStick { .. } => {
            Ok(Exit::Done)
        }
    }
}

/// What a command returns.
type Outcome = Result<Exit, Failure>;
