//! What it costs a server to be sampled: `make bench-status`.
//!
//! `stampede compare` runs with sampling and without by turns. Under full load the CPU time of a request is compared, which
//! holds everything that sampling might change, and the machine's own noise. With next to no load the CPU time of the
//! whole deployment is compared: what is more there is what the answers cost, and it is seen without noise.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use thiserror::Error;

use crate::spread::Spread;

/// Each answers in another way: FPM and nginx beside their work, Apache by a worker that must be free.
const RUNTIMES: [&str; 2] = ["nginx-fpm", "apache-mod-php"];
const FULL: &str = "closed:16";
/// One request a second.
const IDLE: &str = "open:1";

/// How it is to be done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sampling {
    pub(crate) rounds: u32,
    pub(crate) duration: Duration,
    pub(crate) stampede: Option<PathBuf>,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { rounds: 5, duration: Duration::from_secs(5), stampede: None }
    }
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

/// Runs it; the table as text.
pub(crate) fn run(sampling: &Sampling) -> Result<String, SamplingError> {
    let Sampling { rounds, duration, stampede } = sampling;
    let beside = std::env::current_exe().map_err(SamplingError::Prepare)?.with_file_name("stampede");
    let stampede = stampede.clone().unwrap_or(beside);
    let folder = tempfile::tempdir().map_err(SamplingError::Prepare)?;
    let mut text = format!("medians of {rounds} rounds of {duration:?}, with the least and the most\n");
    for runtime in RUNTIMES {
        let (mut ratios, mut answering, mut sampler) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..*rounds {
            let measure = |load: &str, sampled: bool| one(&stampede, folder.path(), runtime, load, *duration, sampled);
            // The one that comes first changes with every round.
            let pair = |load: &str| -> Result<(Run, Run), SamplingError> {
                if round % 2 == 0 {
                    let with = measure(load, true)?;
                    Ok((with, measure(load, false)?))
                } else {
                    let without = measure(load, false)?;
                    Ok((measure(load, true)?, without))
                }
            };
            let (with, without) = pair(FULL)?;
            ratios.push(with.per_request / without.per_request);
            sampler.push(with.sampler * 100.0);
            let full = without.cores;
            let (with, without) = pair(IDLE)?;
            answering.push((with.cores - without.cores) / full * 100.0);
        }
        let show = |values: Vec<f64>, digits| Spread::of(values).map_or_else(String::new, |spread| spread.show(digits));
        text.push_str(&format!(
            "{runtime}\n  CPU time of a request, sampled over not sampled   {}\n  \
             answering, in % of what the server uses in full   {}\n  \
             the sampler itself, in % of a generator's core    {}\n",
            show(ratios, 3),
            show(answering, 2),
            show(sampler, 2)
        ));
    }
    Ok(text)
}

fn one(
    stampede: &Path,
    folder: &Path,
    runtime: &str,
    load: &str,
    duration: Duration,
    sampled: bool,
) -> Result<Run, SamplingError> {
    let mut command = Command::new(stampede);
    command.args([
        "compare",
        "markdown",
        "--runtimes",
        runtime,
        "--load",
        load,
        "--rounds",
        "1",
        "--quiet",
        "--json",
        "-",
    ]);
    command.args(["--duration", &format!("{}s", duration.as_secs())]).arg("--store").arg(folder.join("bench.db"));
    if !sampled {
        command.arg("--no-sampling");
    }
    let output = command.output().map_err(|source| SamplingError::Start { program: stampede.into(), source })?;
    let study: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let trial = &study["cases"][0]["trials"][0];
    let number = |value: &Value| value.as_f64();
    let run = || {
        let window = number(&trial["window_s"])?;
        Some(Run {
            per_request: number(&trial["cpu_us_per_request"])?,
            cores: number(&trial["cpu_seconds"])? / number(&trial["cpu_between_s"])?,
            sampler: number(&trial["sampling"]["cpu_seconds"]).unwrap_or_default() / window,
        })
    };
    run().ok_or_else(|| SamplingError::Trial {
        runtime: runtime.to_owned(),
        load: load.to_owned(),
        told: format!("{}{}", trial["reason"].as_str().unwrap_or_default(), String::from_utf8_lossy(&output.stderr)),
    })
}

/// Why there is no table.
#[derive(Debug, Error)]
pub(crate) enum SamplingError {
    #[error("prepare the run")]
    Prepare(#[source] std::io::Error),
    #[error("start {}", program.display())]
    Start {
        program: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("measure {runtime} under {load}: {told}")]
    Trial { runtime: String, load: String, told: String },
}
