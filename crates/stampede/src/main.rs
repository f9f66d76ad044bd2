//! Stampede: a test bench for PHP runtimes.
//!
//! The binary parses arguments, wires crates together, prints and exits. It decides nothing about measuring.

mod agent;
mod args;
mod backend;
mod capacity;
mod catalogue;
mod clean;
mod compare;
mod destination;
mod doctor;
mod exit;
mod export;
mod folders;
mod forecast;
mod found;
mod gate;
mod generators;
mod host;
mod init;
mod inside;
mod ladder;
mod list;
mod load;
mod looker;
mod mimic;
mod name_service;
mod notices;
mod open_files;
mod platform;
mod progress;
mod report;
mod reproduce;
mod scale;
mod screen;
mod serve;
mod show;
mod show_runtime;
mod signals;
mod study_file;
mod tune;
mod why;
mod yard_stick;

#[cfg(test)]
mod tests;

use std::process::ExitCode;

use clap::Parser;
use stampede_conduct::Host;
use stampede_mimic::Tool;

use crate::args::{Args, Command, OtherArgs};
use crate::exit::{Exit, Failure};
use crate::host::ThisMachine;

fn main() -> ExitCode {
    name_service::keep_to_files_and_dns();
    match Args::parse().command {
        Command::Warden => stampede_platforms::warden::run(),
        Command::Agent { lock, first } => agent::serve(lock.as_deref(), first),
        Command::YardStick { address } => yard_stick::serve(&address),
        command => exit::code(obey(command, &ThisMachine::new())),
    }
}

/// Does what a command line asks for, and says why it could not.
fn obey(command: Command, host: &dyn Host) -> Exit {
    let outcome = match command {
        Command::Compare(args) => compare::run(args, host),
        Command::Capacity(args) => capacity::run(args, host),
        Command::Gate(args) => gate::run(*args, host),
        Command::Why(args) => why::run(*args, host),
        Command::Inside(args) => inside::run(&args),
        Command::Tune(args) => tune::run(*args, host),
        Command::Init(args) => init::run(&args, host),
        Command::Reproduce(args) => reproduce::run(args, host),
        Command::Export(args) => export::run(*args, host),
        Command::Scale(args) => scale::run(args, host),
        Command::Forecast(args) => forecast::run(&args),
        Command::Load(args) => load::run(args),
        Command::Hey(OtherArgs { args }) => mimic::run(Tool::Hey, &args, host),
        Command::Ab(OtherArgs { args }) => mimic::run(Tool::Ab, &args, host),
        Command::Wrk(OtherArgs { args }) => mimic::run(Tool::Wrk, &args, host),
        Command::List(args) => list::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::ExportStudy(args) => study_file::export(&args),
        Command::ImportStudy(args) => study_file::import(&args),
        Command::Doctor(args) => doctor::run(&args, host),
        Command::Clean(args) => clean::run(&args),
        Command::Look { questions } => looker::answer(&questions),
        // They have no words for anybody, and exit codes of their own.
        Command::Warden | Command::Agent { .. } | Command::YardStick { .. } => Ok(Exit::Done),
    };
    outcome.unwrap_or_else(|Failure { exit, message }| {
        message.lines().for_each(screen::error);
        exit
    })
}

/// What a command returns.
type Outcome = Result<Exit, Failure>;
