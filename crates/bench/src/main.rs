//! Benchmarks: of the load engine, `make bench-load`; of sampling, `make bench-status`; of verdicts, `make bench-stats`;
//! of capacities, `make bench-capacity`; of the search for settings, `make bench-tune`; of findings, `make bench-findings`; of turns, `make bench-turns` and `make bench-blocks`;
//! of forecasts, `make bench-forecast-real` and `make bench-forecast-published`.
//!
//! It starts a server and clients, each pinned to a processor, lets them take turns, and writes a table. The server and the
//! floor are this program too, in processes of their own. It knows `stampede` as any other tool: by its command line and by
//! what it prints; only `stats`, `capacity` and `tune` call the code that decides, with made-up or recorded trials.

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
mod findings;
mod floor;
mod ideal;
mod interruption;
mod jsonl;
mod machine;
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

use std::env;
use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use crate::args::Task;
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
    match args::read(env::args().skip(1))? {
        Task::Load(load) => suite::run(&load),
        Task::Sampling(sampling) => print(&sampling::run(&sampling)?),
        Task::Stats(proof) => Ok(proof::run(&proof)?),
        Task::Tune(replay) => Ok(tuning::run(&replay)?),
        Task::Grid(recording) => Ok(tuning::recorder::run(&recording)?),
        Task::Capacity(asked) => Ok(capacity::run(&asked)?),
        Task::Record(recording) => Ok(recording::run(&recording)?),
        Task::Real(real) => Ok(real::run(&real)?),
        Task::Forecast(asked) => Ok(validation::run(&asked)?),
        Task::Published(asked) => Ok(published::run(&asked)?),
        Task::Findings(provocation) => Ok(findings::run(&provocation)?),
        Task::Turns(asked) => Ok(turns::run(&asked)?),
        Task::Blocks(asked) => Ok(blocks::run(&asked)?),
        Task::Disturb(seed) => turns::disturb(seed).map_err(Failure::Prepare),
        Task::Burn => Ok(burner::serve()?),
        Task::Serve => Ok(server::serve()?),
        Task::Fly { address, connections, duration } => {
            let flown = floor::run(address, connections, duration)?;
            print(&format!("answers {} seconds {}\n", flown.answers, flown.time.as_secs_f64()))
        }
        Task::Spin { rate, duration } => print(&ideal::run(rate, duration).line()),
        Task::Help => print(args::USAGE),
    }
}

fn print(text: &str) -> Result<(), Failure> {
    let written = std::io::stdout().write_all(text.as_bytes());
    written.map_err(|source| Failure::Write { path: "the standard output".into(), source })
}
