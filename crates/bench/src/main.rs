//! Benchmarks: of the load engine, `make bench-load`; of sampling, `make bench-status`; of verdicts, `make bench-stats`;
//! of capacities, `make bench-capacity`; of the search for settings, `make bench-tune`; of sizes, `make bench-size`; of findings, `make bench-findings`; of samples of PHP, `make bench-inside`; of turns, `make bench-turns` and `make bench-blocks`; of hours and kills, `make bench-soak`;
//! of forecasts, `make bench-forecast-real` and `make bench-forecast-published`.
//!
//! It starts a server and clients, each pinned to a processor, lets them take turns, and writes a table. The server and the
//! floor are this program too, in processes of their own. It knows `stampede` as any other tool: by its command line and by
//! what it prints; only `stats`, `capacity`, `size` and `tune` call the code that decides, with made-up or recorded trials.

mod args;
mod blocks;
mod burner;
mod capacity;
mod circumstances;
mod closed;
mod compare;
mod document;
mod draws;
mod duel;
mod exchange;
mod failure;
mod files;
mod findings;
mod flags;
mod floor;
mod forecast;
mod ideal;
mod inside;
mod interruption;
mod jsonl;
mod machine;
mod made_up;
mod memory;
mod nginx;
mod open;
mod process;
mod progress;
mod proof;
mod published;
mod race;
mod real;
mod recording;
mod sampling;
mod server;
mod simulations;
mod size;
mod soak;
mod spread;
mod stage;
mod steal;
mod suite;
mod target;
mod tool;
mod trials;
mod tuning;
mod turns;
mod validation;
mod variant;

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Task};
use crate::failure::Failure;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let mut told = format!("stampede-bench: {failure}");
            let mut cause = failure.source();
            while let Some(error) = cause {
                told.push_str(&format!(": {error}"));
                cause = error.source();
            }
            // Whoever closed our stderr does not want to read it.
            let _ = writeln!(std::io::stderr(), "{told}");
            ExitCode::from(failure.code())
        }
    }
}

fn run() -> Result<(), Failure> {
    match Args::parse().task {
        Task::Load(load) => suite::run(&load),
        Task::Sampling(sampling) => Ok(files::print(&sampling::run(&sampling)?)?),
        Task::Stats(proof) => proof::run(&proof),
        Task::Tune(replay) => tuning::run(&replay),
        Task::Grid(recording) => tuning::recorder::run(&recording),
        Task::Capacity(asked) => capacity::run(&asked),
        Task::Size(asked) => size::run(&asked),
        Task::SizeGrid(asked) => size::recorder::run(&asked),
        Task::Record(recording) => recording::run(&recording),
        Task::Real(real) => real::run(&real),
        Task::Forecast(asked) => validation::run(&asked),
        Task::Published(asked) => published::run(&asked),
        Task::Inside(truths) => inside::run(&truths),
        Task::Findings(provocation) => findings::run(&provocation),
        Task::Turns(asked) => turns::run(&asked),
        Task::Soak(asked) => soak::run(&asked),
        Task::Simulate(simulated) => simulations::run(&simulated),
        Task::Blocks(asked) => blocks::run(&asked),
        Task::Disturb { seed } => turns::disturb(seed).map_err(Failure::Prepare),
        Task::Burn => burner::serve(),
        Task::Serve => server::serve(),
        Task::Fly { address, connections, duration } => {
            let flown = floor::run(address, connections, duration)?;
            Ok(files::print(&format!("answers {} seconds {}\n", flown.answers, flown.time.as_secs_f64()))?)
        }
        Task::Spin { rate, duration } => Ok(files::print(&ideal::run(rate.get(), duration).line())?),
    }
}
