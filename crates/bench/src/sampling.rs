//! What it costs a server to be sampled: `make bench-status`.
//!
//! `stampede compare` runs with sampling and without by turns. With next to no load the CPU time of the whole deployment is
//! compared: what is more there is what the answers cost, and it is seen without noise. It is told in percent of what the
//! deployment may use, at several limits. Under full load the CPU time of a request is compared, which holds everything
//! that sampling might change, and the machine's own noise.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::compare::Compare;
use crate::failure::Failure;
use crate::flags::seconds;
use crate::spread::Spread;

/// Each answers in another way: FPM and nginx beside their work, Apache by a worker that must be free.
const RUNTIMES: [&str; 2] = ["nginx-fpm", "apache-mod-php"];
/// From the smallest instance of a cloud function to a whole processor.
const CPUS: [f64; 3] = [0.167, 0.5, 1.0];
/// What the answers may cost, in percent of the limit.
const MOST: f64 = 1.0;
const FULL: &str = "closed:16";
/// One request a second.
const IDLE: &str = "open:1";

/// How it is to be done.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Sampling {
    /// Rounds, in each of which all is measured once
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Length of each run
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = seconds)]
    pub(crate) duration: Duration,
    /// Runtimes that are sampled
    #[arg(long, value_name = "A,B", value_delimiter = ',', default_values = RUNTIMES)]
    pub(crate) runtimes: Vec<String>,
    /// The program under test [default: stampede, beside this program]
    #[arg(long, value_name = "FILE")]
    pub(crate) stampede: Option<PathBuf>,
}

/// What one run gave.
struct Run {
    /// Microseconds of CPU time.
    per_request: f64,
    /// Cores that the deployment kept busy.
    cores: f64,
    /// Cores that the sampler kept busy.
    sampler: f64,
}

/// What runs.
struct Measured<'a> {
    stampede: &'a Compare,
    runtime: &'a str,
    duration: Duration,
}

/// Runs it; the table as text.
pub(crate) fn run(sampling: &Sampling) -> Result<String, Failure> {
    let Sampling { rounds, duration, runtimes, stampede } = sampling;
    let stampede = Compare::new(stampede.clone())?;
    let mut text = format!("medians of {rounds} rounds of {duration:?}, with the least and the most\n");
    for runtime in runtimes {
        let measured = Measured { stampede: &stampede, runtime, duration: *duration };
        let mut answering: [Vec<f64>; CPUS.len()] = Default::default();
        let (mut ratios, mut sampler) = (Vec::new(), Vec::new());
        for round in 0..*rounds {
            for (cpus, shares) in CPUS.into_iter().zip(&mut answering) {
                let (with, without) = measured.pair(round, IDLE, cpus)?;
                shares.push((with.cores - without.cores) / cpus * 100.0);
            }
            let (with, without) = measured.pair(round, FULL, CPUS[CPUS.len() - 1])?;
            ratios.push(with.per_request / without.per_request);
            sampler.push(with.sampler * 100.0);
        }
        text.push_str(&format!("{runtime}\n"));
        for (cpus, shares) in CPUS.into_iter().zip(answering) {
            let spread = Spread::of(shares);
            let verdict = spread.map_or("", |spread| if spread.median <= MOST { "" } else { "  too much" });
            let what = format!("answering, in % of {cpus} CPUs");
            text.push_str(&format!("  {what:<50}{}{verdict}\n", show(spread, 2)));
        }
        for (what, values, digits) in [
            ("CPU time of a request, sampled over not sampled", ratios, 3),
            ("the sampler itself, in % of a generator's core", sampler, 2),
        ] {
            text.push_str(&format!("  {what:<50}{}\n", show(Spread::of(values), digits)));
        }
    }
    Ok(text)
}

fn show(spread: Option<Spread>, digits: usize) -> String {
    spread.map_or_else(String::new, |spread| spread.show(digits))
}

impl Measured<'_> {
    /// Sampled and not sampled; the one that comes first changes with every round.
    fn pair(&self, round: u32, load: &str, cpus: f64) -> Result<(Run, Run), Failure> {
        if round.is_multiple_of(2) {
            let with = self.one(load, cpus, true)?;
            Ok((with, self.one(load, cpus, false)?))
        } else {
            let without = self.one(load, cpus, false)?;
            Ok((self.one(load, cpus, true)?, without))
        }
    }

    fn one(&self, load: &str, cpus: f64, sampled: bool) -> Result<Run, Failure> {
        let Self { stampede, runtime, duration } = *self;
        let (cpus, duration) = (cpus.to_string(), format!("{}s", duration.as_secs()));
        let mut arguments =
            vec!["compare", "markdown", "--runtimes", runtime, "--load", load, "--rounds", "1", "--quiet"];
        arguments.extend(["--cpus", &cpus, "--duration", &duration]);
        if !sampled {
            arguments.push("--no-sampling");
        }
        let study = stampede.call(&arguments, Value::is_object)?;
        let trial = &study["cases"][0]["trials"][0];
        let run = || {
            let window = trial["window_s"].as_f64()?;
            Some(Run {
                per_request: trial["cpu_us_per_request"].as_f64()?,
                cores: trial["cpu_seconds"].as_f64()? / trial["cpu_between_s"].as_f64()?,
                sampler: trial["sampling"]["cpu_seconds"].as_f64().unwrap_or_default() / window,
            })
        };
        let reason = trial["reason"].as_str().unwrap_or_default();
        run().ok_or_else(|| Failure::Unusable(format!("measure {runtime} under {load}: {reason}")))
    }
}
