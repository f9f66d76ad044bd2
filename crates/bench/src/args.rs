//! The command line. What each benchmark takes is declared beside it.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::blocks::Blocks;
use crate::capacity::Capacities;
use crate::findings::Provocation;
use crate::flags::seconds;
use crate::inside::Truths;
use crate::proof::Proof;
use crate::published::Published;
use crate::real::Real;
use crate::recording::Recording;
use crate::sampling::Sampling;
use crate::simulations::Simulated;
use crate::size::Sizes;
use crate::size::recorder::SizeRecording;
use crate::soak::Soak;
use crate::suite::Load;
use crate::tuning::Replay;
use crate::tuning::recorder::GridRecording;
use crate::turns::Turns;
use crate::validation::Validation;

/// Benchmarks of Stampede; those that measure go on where they were left
#[derive(Debug, Parser)]
#[command(name = "stampede-bench")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) task: Task,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// What `stampede load` costs beside a bare client and other tools
    Load(Load),
    /// What it costs a server to be sampled: `stampede compare` beside itself with --no-sampling
    Sampling(Sampling),
    /// How often verdicts are right, in studies that are simulated from recorded trials
    Stats(Proof),
    /// How near the search for a capacity comes, on servers that are simulated
    Capacity(Capacities),
    /// How near the search for a size comes to the cheapest, on services that are simulated
    Size(Sizes),
    /// Records trials of sizes for `size`, in slices
    SizeGrid(SizeRecording),
    /// How good the search for settings is, on grids that were recorded here or are made up
    Tune(Replay),
    /// Records grids for `tune`, a trial of every cell at a time
    Grid(GridRecording),
    /// Records trials of identical cases for `stats`
    Record(Recording),
    /// How near forecasts of ten services come to real ones
    Forecast(Validation),
    /// What forecasts make of the published rows of gcp-markdown
    Published(Published),
    /// How often verdicts are right, in studies that are measured
    Real(Real),
    /// What decisions about errors rest on: rules that are used beside those that were not taken
    Simulate(Simulated),
    /// Where the scatter of trials comes from, and what turns take away of it
    Turns(Turns),
    /// What verdicts in turns are worth, on deployments whose true ratios are known
    Blocks(Blocks),
    /// How often the first bottleneck that is named is the right one, of faults that are provoked
    Findings(Provocation),
    /// Whether hours of studies leave anything behind, and whether a kill at any instant does
    Soak(Soak),
    /// Whether samples of PHP's stacks find shares that are known
    Inside(Truths),
    /// The neighbour that works in bursts, started by this program itself
    #[command(hide = true)]
    Disturb { seed: u64 },
    /// The server that takes a known share of CPU time more, started by a deployment
    #[command(hide = true)]
    Burn,
    /// The fixed-answer server, started by this program itself
    #[command(name = "server", hide = true)]
    Serve,
    /// The bare client, started by this program itself
    #[command(name = "floor", hide = true)]
    Fly {
        address: SocketAddr,
        connections: usize,
        #[arg(value_parser = seconds)]
        duration: Duration,
    },
    /// The ideal sender, started by this program itself
    #[command(name = "ideal", hide = true)]
    Spin {
        rate: NonZeroU32,
        #[arg(value_parser = seconds)]
        duration: Duration,
    },
}

/// What a benchmark is asked where nothing is typed.
#[cfg(test)]
pub(crate) fn defaults<T: clap::Args>() -> T {
    let command = T::augment_args(clap::Command::new("bench"));
    T::from_arg_matches(&command.get_matches_from(["bench"])).unwrap()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use clap::CommandFactory;

    use super::*;
    use crate::suite::Part;

    fn read(line: &str) -> Result<Task, clap::Error> {
        Args::try_parse_from(["stampede-bench"].into_iter().chain(line.split_whitespace())).map(|args| args.task)
    }

    #[test]
    fn flags_change_the_defaults() {
        Args::command().debug_assert();
        let typed = "load --rounds 2 --duration 7s --only open,tls --tools wrk --connections 9 --soak --output x.md";
        let Ok(Task::Load(load)) = read(typed) else { panic!("{typed}") };
        let Load { rounds, duration, only, tools, connections, seed, stampede, output, quick, soak } = load;
        assert_eq!((rounds, duration, only), (2, Duration::from_secs(7), vec![Part::Open, Part::Tls]));
        assert_eq!((tools, connections, seed), (vec!["wrk".to_owned()], vec![9], 1));
        assert_eq!((stampede, output), (None, Some(PathBuf::from("x.md"))));
        assert!(soak && !quick);
        let by_default: Load = defaults();
        assert_eq!((by_default.only.len(), by_default.connections), (5, vec![1, 64, 256]));
    }

    #[test]
    fn mistakes_are_refused() {
        for line in [
            "run",
            "load --fast",
            "load --rounds",
            "load --rounds 0",
            "load --duration 1.5s",
            "load --only closed,fast",
            "load --tools none",
            "sampling --tools wrk",
            "load --connections 1,x",
            "findings --only none",
            "findings --cells 7",
            "findings --cells 9..3",
        ] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
