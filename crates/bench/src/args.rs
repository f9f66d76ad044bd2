//! The command line. clap stays with the product; this takes a handful of flags.

use std::net::SocketAddr;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use crate::blocks::Blocks;
use crate::capacity::Capacities;
use crate::findings::{FAULTS, Provocation};
use crate::proof::Proof;
use crate::published::Published;
use crate::real::Real;
use crate::recording::Recording;
use crate::sampling::Sampling;
use crate::tool;
use crate::tuning::Replay;
use crate::tuning::recorder::GridRecording;
use crate::turns::Turns;
use crate::validation::Validation;

pub(crate) const USAGE: &str = "\
usage: stampede-bench load [FLAGS]
       stampede-bench sampling [--rounds N] [--duration TIME] [--runtimes A,B] [--stampede FILE]
       stampede-bench stats [--studies N] [--seed N] [--data FILE] [--output FILE]
       stampede-bench capacity [--searches N] [--seed N] [--output FILE]
       stampede-bench tune [--searches N] [--seed N] [--data DIR] [--output FILE]
       stampede-bench grid [--pieces N] [--data DIR] [--remark TEXT] [--stampede FILE]
       stampede-bench record [--pieces N] [--data FILE] [--remark TEXT] [--stampede FILE]
       stampede-bench forecast [--rounds N] [--duration TIME] [--data FILE] [--output FILE] [--stampede FILE]
       stampede-bench published [--rounds N] [--workload NAME|DIR] [--output FILE] [--remark TEXT] [--stampede FILE]
       stampede-bench real [--studies N] [--time TIME] [--data FILE] [--output FILE] [--stampede FILE]
       stampede-bench turns [--pieces N] [--data FILE] [--output FILE] [--remark TEXT] [--stampede FILE]
       stampede-bench blocks [--time TIME] [--only KIND] [--studies N] [--seed N] [--data FILE] [--output FILE] [--remark TEXT] [--stampede FILE]
       stampede-bench findings [--only FAULT] [--cells FROM..TO] [--data FILE] [--output FILE] [--stampede FILE]

`load` holds `stampede load` against a bare client and against other tools, and writes a table;
`sampling` holds `stampede compare` against itself with --no-sampling. `stats` counts how often
verdicts are right, in studies that are simulated from trials which `record` recorded here; `real`
counts it in studies that are measured. `record` and `real` go on where they were left, up to the
number that is given. `capacity` counts how near the search for a capacity comes, on servers that
are simulated. `forecast` holds forecasts of ten services against real ones, and goes on where it
was left; `published` holds forecasts against the published rows of gcp-markdown. `tune` replays the
search for settings on grids that `grid` recorded here, a trial of every cell at a time, or that are
made up. `findings` provokes faults and counts how often the first bottleneck that is named is the
right one; `turns` tells where the scatter of trials comes from, and what turns take away of it; `blocks`
records deployments whose true ratios are known, in turns, and counts what the methods make of them: all
three continue where they were left, too.

  --rounds N            rounds, in each of which every client runs once [default: 5]
  --duration TIME       length of each run, in whole seconds [default: 3s]
  --only KIND           of blocks: record kinds alone whose names have this in them [default: all]
  --only A,B            parts: closed, http2, tls, open, memory [default: all]
  --runtimes A,B        runtimes that are sampled [default: nginx-fpm,apache-mod-php]
  --tools A,B           tools of the closed loop [default: all that are installed]
  --connections A,B     connections of the closed loop [default: 1,64,256]
  --seed N              seed of the order [default: 1]
  --stampede FILE       the program under test [default: stampede, beside this program]
  --output FILE         write the tables to a file [default: stdout]
  --quick               one round of one second: does everything work?
  --soak                also hold the memory of ten minutes against that of one
  --studies N           studies of each kind [default: stats and blocks 2000, real 40]
  --searches N          searches of each server, or of each kind on each grid [default: capacity 100, tune 200]
  --time TIME           the most time of a real study [default: 120s]; of blocks: begin no study after it [default: none]
  --workload NAME|DIR   the workload of the published rows, or a folder with one [default: markdown]
  --pieces N            pieces of 32 trials that the file is to hold, of a grid to record now, or studies of each
                        kind of turns [default: 10, all, 10]
  --data FILE           recorded trials, or real studies [default: a file in crates/bench/data]
  --cells FROM..TO      of findings: these runs alone, the last one not included [default: all]
  --remark TEXT         what else went on while it was recorded, for the file
";

/// What is to be done.
#[derive(Debug, PartialEq)]
pub(crate) enum Task {
    Load(Load),
    Sampling(Sampling),
    Stats(Proof),
    Tune(Replay),
    Grid(GridRecording),
    Capacity(Capacities),
    Record(Recording),
    Real(Real),
    Forecast(Validation),
    Published(Published),
    Findings(Provocation),
    Turns(Turns),
    Blocks(Blocks),
    /// The neighbour that works in bursts, started by this program itself.
    Disturb(u64),
    /// The server that takes a known share of CPU time more, started by a deployment.
    Burn,
    /// The fixed-answer server, started by this program itself.
    Serve,
    /// The bare client, started by this program itself.
    Fly {
        address: SocketAddr,
        connections: usize,
        duration: Duration,
    },
    /// The ideal sender, started by this program itself.
    Spin {
        rate: u32,
        duration: Duration,
    },
    Help,
}

/// How it is to be done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Load {
    pub(crate) rounds: u32,
    pub(crate) duration: Duration,
    pub(crate) parts: Vec<Part>,
    /// Empty: all.
    pub(crate) tools: Vec<String>,
    pub(crate) connections: Vec<u32>,
    pub(crate) seed: u64,
    pub(crate) stampede: Option<PathBuf>,
    pub(crate) output: Option<PathBuf>,
    pub(crate) soak: bool,
}

/// A part of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Closed,
    Http2,
    Tls,
    Open,
    Memory,
}

const PARTS: [(&str, Part); 5] = [
    ("closed", Part::Closed),
    ("http2", Part::Http2),
    ("tls", Part::Tls),
    ("open", Part::Open),
    ("memory", Part::Memory),
];

impl Default for Load {
    fn default() -> Self {
        Self {
            rounds: 5,
            duration: Duration::from_secs(3),
            parts: PARTS.map(|(_, part)| part).to_vec(),
            tools: Vec::new(),
            connections: vec![1, 64, 256],
            seed: 1,
            stampede: None,
            output: None,
            soak: false,
        }
    }
}

/// Reads the arguments after the program's name.
pub(crate) fn read(arguments: impl IntoIterator<Item = String>) -> Result<Task, ArgsError> {
    let mut arguments = arguments.into_iter();
    match arguments.next().as_deref() {
        Some("load") => load(arguments),
        Some("sampling") => sampling(arguments),
        Some("stats") => stats(arguments),
        Some("tune") => tune(arguments),
        Some("grid") => grid(arguments),
        Some("capacity") => capacities(arguments),
        Some("record") => record(arguments),
        Some("real") => real(arguments),
        Some("forecast") => forecast(arguments),
        Some("published") => published(arguments),
        Some("findings") => findings(arguments),
        Some("turns") => turns(arguments),
        Some("blocks") => blocks(arguments),
        Some("disturb") => {
            let seed = arguments.next().ok_or(ArgsError::Without("SEED".to_owned()))?;
            Ok(Task::Disturb(parse("SEED", &seed, "a number")?))
        }
        Some("burn") => Ok(Task::Burn),
        Some("server") => Ok(Task::Serve),
        Some("floor") => {
            let mut next = |name: &'static str| arguments.next().ok_or(ArgsError::Without(name.to_owned()));
            Ok(Task::Fly {
                address: parse("ADDRESS", &next("ADDRESS")?, "127.0.0.1:PORT")?,
                connections: parse("CONNECTIONS", &next("CONNECTIONS")?, "a number")?,
                duration: Duration::from_secs(parse("SECONDS", &next("SECONDS")?, "a number")?),
            })
        }
        Some("ideal") => {
            let mut next = |name: &'static str| arguments.next().ok_or(ArgsError::Without(name.to_owned()));
            Ok(Task::Spin {
                rate: above_zero("RATE", &next("RATE")?)?,
                duration: Duration::from_secs(parse("SECONDS", &next("SECONDS")?, "a number")?),
            })
        }
        Some("--help" | "-h") | None => Ok(Task::Help),
        Some(other) => Err(ArgsError::Unknown(other.to_owned())),
    }
}

fn load(mut arguments: impl Iterator<Item = String>) -> Result<Task, ArgsError> {
    let mut load = Load::default();
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| ArgsError::Without(flag.clone()));
        match flag.as_str() {
            "--rounds" => load.rounds = above_zero(&flag, &value()?)?,
            "--duration" => load.duration = seconds(&flag, &value()?)?,
            "--only" => load.parts = listed(&flag, &value()?, part)?,
            "--tools" => load.tools = listed(&flag, &value()?, tool_name)?,
            "--connections" => load.connections = listed(&flag, &value()?, |number| number.parse().ok())?,
            "--seed" => load.seed = parse(&flag, &value()?, "a number")?,
            "--stampede" => load.stampede = Some(PathBuf::from(value()?)),
            "--output" => load.output = Some(PathBuf::from(value()?)),
            "--quick" => (load.rounds, load.duration) = (1, Duration::from_secs(1)),
            "--soak" => load.soak = true,
            "--help" | "-h" => return Ok(Task::Help),
            other => return Err(ArgsError::Unknown(other.to_owned())),
        }
    }
    Ok(Task::Load(load))
}

fn sampling(mut arguments: impl Iterator<Item = String>) -> Result<Task, ArgsError> {
    let mut sampling = Sampling::default();
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| ArgsError::Without(flag.clone()));
        match flag.as_str() {
            "--rounds" => sampling.rounds = above_zero(&flag, &value()?)?,
            "--duration" => sampling.duration = seconds(&flag, &value()?)?,
            "--runtimes" => sampling.runtimes = value()?.split(',').map(str::to_owned).collect(),
            "--stampede" => sampling.stampede = Some(PathBuf::from(value()?)),
            "--help" | "-h" => return Ok(Task::Help),
            other => return Err(ArgsError::Unknown(other.to_owned())),
        }
    }
    Ok(Task::Sampling(sampling))
}

fn stats(mut arguments: impl Iterator<Item = String>) -> Result<Task, ArgsError> {
    let mut proof = Proof::default();
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| ArgsError::Without(flag.clone()));
        match flag.as_str() {
            "--studies" => proof.studies = above_zero(&flag, &value()?)?,
            "--seed" => proof.seed = parse(&flag, &value()?, "a number")?,
            "--data" => proof.data = PathBuf::from(value()?),
            "--output" => proof.output = Some(PathBuf::from(value()?)),
            "--help" | "-h" => return Ok(Task::Help),
            other => return Err(ArgsError::Unknown(other.to_owned())),
        }
    }
    Ok(Task::Stats(proof))
}

fn tune(mut arguments: impl Iterator<Item = String>) -> Result<Task, ArgsError> {
    let mut replay = Replay::default();
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| ArgsError::Without(flag.clone()));
        match flag.as_str() {
            "--searches" => replay.searches = above_zero(&flag, &value()?)?,
            "--seed" => replay.seed = parse(&flag, &value()?, "a number")?,
            "--data" => replay.data = PathBuf::from(value()?),
            "--output" => replay.output = Some(PathBuf::from(value()?)),
            "--help" | "-h" => return Ok(Task::Help),
            other => return Err(ArgsError::Unknown(other.to_owned())),
        }
    }
    Ok(Task::Tune(replay))
}

fn grid(mut arguments: impl Iterator<Item = String>) -> Result<Task, ArgsError> {
    let mut recording = GridRecording::default();
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| ArgsError::Without(flag.clone()));
        match flag.as_str() {
            "--pieces" => recording.pieces = above_zero(&flag, &value()?)?,
            "--data" => recording.data = PathBuf::from(value()?),
            "--remark" => recording.remark = value()?,
            "--stampede" => recording.stampede = Some(PathBuf::from(value()?)),
            "--help" | "-h" => return Ok(Task::Help),
            other => return Err(ArgsError::Unknown(other.to_owned())),
        }
    }
    Ok(Task::Grid(recording))
}

fn capacities(mut arguments: impl Iterator<Item = String>) -> Result<Task, ArgsError> {
    let mut asked = Capacities::default();
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| ArgsError::Without(flag.clone()));
        match flag.as_str() {
            "--searches" => asked.searches = above_zero(&flag, &value()?)?,
            "--seed" => asked.seed = parse(&flag, &value()?, "a number")?,
            "--output" => asked.output = Some(PathBuf::from(value()?)),
            "--help" | "-h" => return Ok(Task::Help),
            other => return Err(ArgsError::Unknown(other.to_owned())),
        }
    }
    Ok(Task::Capacity(asked))
}

fn record(mut arguments: impl Iterator<Item = String>) -> Result<Task, ArgsError> {
    let mut recording = Recording::default();
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| ArgsError::Without(flag.clone()));
        match flag.as_str() {
            "--pieces" => recording.pieces = above_zero(&flag, &value()?)?,
            "--data" => recording.data = PathBuf::from(value()?),
            "--remark" => recording.remark = value()?,
            "--stampede" => recording.stampede = Some(PathBuf::from(value()?)),
            "--help" | "-h" => return Ok(Task::Help),
            other => return Err(ArgsError::Unknown(other.to_owned())),
        }
    }
    Ok(Task::Record(recording))
}

fn real(mut arguments: impl Iterator<Item = String>) -> Result<Task, ArgsError> {
    let mut real = Real::default();
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| ArgsError::Without(flag.clone()));
        match flag.as_str() {
            "--studies" => real.studies = above_zero(&flag, &value()?)?,
            "--time" => real.time = seconds(&flag, &value()?)?,
            "--data" => real.data = PathBuf::from(value()?),
            "--output" => real.output = PathBuf::from(value()?),
            "--remark" => real.remark = value()?,
            "--stampede" => real.stampede = Some(PathBuf::from(value()?)),
            "--help" | "-h" => return Ok(Task::Help),
            other => return Err(ArgsError::Unknown(other.to_owned())),
        }
    }
    Ok(Task::Real(real))
}

fn turns(mut arguments: impl Iterator<Item = String>) -> Result<Task, ArgsError> {
    let mut turns = Turns::default();
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| ArgsError::Without(flag.clone()));
        match flag.as_str() {
            "--pieces" => turns.pieces = above_zero(&flag, &value()?)?,
            "--data" => turns.data = PathBuf::from(value()?),
            "--output" => turns.output = PathBuf::from(value()?),
            "--remark" => turns.remark = value()?,
            "--stampede" => turns.stampede = Some(PathBuf::from(value()?)),
            "--help" | "-h" => return Ok(Task::Help),
            other => return Err(ArgsError::Unknown(other.to_owned())),
        }
    }
    Ok(Task::Turns(turns))
}

fn blocks(mut arguments: impl Iterator<Item = String>) -> Result<Task, ArgsError> {
    let mut blocks = Blocks::default();
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| ArgsError::Without(flag.clone()));
        match flag.as_str() {
            "--time" => blocks.time = Some(seconds(&flag, &value()?)?),
            "--only" => blocks.only = value()?,
            "--studies" => blocks.studies = above_zero(&flag, &value()?)?,
            "--seed" => blocks.seed = parse(&flag, &value()?, "a number")?,
            "--data" => blocks.data = PathBuf::from(value()?),
            "--output" => blocks.output = PathBuf::from(value()?),
            "--remark" => blocks.remark = value()?,
            "--stampede" => blocks.stampede = Some(PathBuf::from(value()?)),
            "--help" | "-h" => return Ok(Task::Help),
            other => return Err(ArgsError::Unknown(other.to_owned())),
        }
    }
    Ok(Task::Blocks(blocks))
}

fn forecast(mut arguments: impl Iterator<Item = String>) -> Result<Task, ArgsError> {
    let mut validation = Validation::default();
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| ArgsError::Without(flag.clone()));
        match flag.as_str() {
            "--rounds" => validation.rounds = above_zero(&flag, &value()?)?,
            "--duration" => validation.duration = seconds(&flag, &value()?)?,
            "--data" => validation.data = PathBuf::from(value()?),
            "--output" => validation.output = PathBuf::from(value()?),
            "--remark" => validation.remark = value()?,
            "--stampede" => validation.stampede = Some(PathBuf::from(value()?)),
            "--help" | "-h" => return Ok(Task::Help),
            other => return Err(ArgsError::Unknown(other.to_owned())),
        }
    }
    Ok(Task::Forecast(validation))
}

fn published(mut arguments: impl Iterator<Item = String>) -> Result<Task, ArgsError> {
    let mut published = Published::default();
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| ArgsError::Without(flag.clone()));
        match flag.as_str() {
            "--rounds" => published.rounds = above_zero(&flag, &value()?)?,
            "--workload" => published.workload = value()?,
            "--output" => published.output = PathBuf::from(value()?),
            "--remark" => published.remark = value()?,
            "--stampede" => published.stampede = Some(PathBuf::from(value()?)),
            "--help" | "-h" => return Ok(Task::Help),
            other => return Err(ArgsError::Unknown(other.to_owned())),
        }
    }
    Ok(Task::Published(published))
}

fn findings(mut arguments: impl Iterator<Item = String>) -> Result<Task, ArgsError> {
    let mut provocation = Provocation::default();
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| ArgsError::Without(flag.clone()));
        match flag.as_str() {
            "--only" => provocation.only = Some(one_fault(&flag, &value()?)?),
            "--cells" => provocation.cells = range(&flag, &value()?)?,
            "--data" => provocation.data = PathBuf::from(value()?),
            "--output" => provocation.output = PathBuf::from(value()?),
            "--remark" => provocation.remark = value()?,
            "--stampede" => provocation.stampede = Some(PathBuf::from(value()?)),
            "--help" | "-h" => return Ok(Task::Help),
            other => return Err(ArgsError::Unknown(other.to_owned())),
        }
    }
    Ok(Task::Findings(provocation))
}

fn one_fault(flag: &str, typed: &str) -> Result<&'static str, ArgsError> {
    let names = || FAULTS.iter().map(|fault| fault.name);
    names().find(|name| *name == typed).ok_or_else(|| ArgsError::Value {
        flag: flag.to_owned(),
        value: typed.to_owned(),
        wanted: names().collect::<Vec<_>>().join(", "),
    })
}

/// `10..20`
fn range(flag: &str, typed: &str) -> Result<Range<usize>, ArgsError> {
    let wrong = || ArgsError::Value {
        flag: flag.to_owned(),
        value: typed.to_owned(),
        wanted: "two whole numbers, the smaller one first, as in 0..40".to_owned(),
    };
    let (from, to) = typed.split_once("..").ok_or_else(wrong)?;
    let (Ok(from), Ok(to)) = (from.parse(), to.parse()) else { return Err(wrong()) };
    if from < to { Ok(from..to) } else { Err(wrong()) }
}

/// Whole seconds, as `3s` or `3`.
fn seconds(flag: &str, typed: &str) -> Result<Duration, ArgsError> {
    let seconds = above_zero(flag, typed.strip_suffix('s').unwrap_or(typed))?;
    Ok(Duration::from_secs(seconds.into()))
}

fn part(name: &str) -> Option<Part> {
    PARTS.iter().find(|(known, _)| *known == name).map(|(_, part)| *part)
}

fn tool_name(name: &str) -> Option<String> {
    tool::ALL.iter().find(|tool| tool.name == name).map(|tool| tool.name.to_owned())
}

fn listed<T>(flag: &str, typed: &str, read: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, ArgsError> {
    typed
        .split(',')
        .map(|item| {
            read(item).ok_or_else(|| ArgsError::Value {
                flag: flag.to_owned(),
                value: item.to_owned(),
                wanted: match flag {
                    "--only" => PARTS.map(|(name, _)| name).join(", "),
                    "--tools" => tool::ALL.map(|tool| tool.name).join(", "),
                    _ => "a number".to_owned(),
                },
            })
        })
        .collect()
}

fn parse<T: std::str::FromStr>(flag: &str, typed: &str, wanted: &str) -> Result<T, ArgsError> {
    let error = |_| ArgsError::Value { flag: flag.to_owned(), value: typed.to_owned(), wanted: wanted.to_owned() };
    typed.parse().map_err(error)
}

fn above_zero(flag: &str, typed: &str) -> Result<u32, ArgsError> {
    let number: std::num::NonZeroU32 = parse(flag, typed, "a whole number above zero")?;
    Ok(number.get())
}

/// What is wrong with the command line.
#[derive(Debug, Error, PartialEq)]
pub(crate) enum ArgsError {
    #[error("{0} is not known here\n\n{USAGE}")]
    Unknown(String),
    #[error("{0} needs a value")]
    Without(String),
    #[error("{flag} {value}: it takes {wanted}")]
    Value { flag: String, value: String, wanted: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_line(line: &str) -> Result<Task, ArgsError> {
        read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn flags_change_the_defaults() {
        let typed = "load --rounds 2 --duration 7s --only open,tls --tools wrk --connections 9 --soak --output x.md";
        let expected = Load {
            rounds: 2,
            duration: Duration::from_secs(7),
            parts: vec![Part::Open, Part::Tls],
            tools: vec!["wrk".to_owned()],
            connections: vec![9],
            soak: true,
            output: Some(PathBuf::from("x.md")),
            ..Load::default()
        };
        assert_eq!(read_line(typed), Ok(Task::Load(expected)));
    }

    #[test]
    fn mistakes_are_named() {
        for (line, expected) in [
            ("run", "run is not known here"),
            ("load --fast", "--fast is not known here"),
            ("load --rounds", "--rounds needs a value"),
            ("load --rounds 0", "--rounds 0: it takes a whole number above zero"),
            ("load --duration 1.5s", "--duration 1.5: it takes a whole number above zero"),
            ("load --only closed,fast", "--only fast: it takes closed, http2, tls, open, memory"),
            ("sampling --tools wrk", "--tools is not known here"),
            ("load --connections 1,x", "--connections x: it takes a number"),
            ("findings --cells 7", "--cells 7: it takes two whole numbers, the smaller one first, as in 0..40"),
            ("findings --cells 9..3", "--cells 9..3: it takes two whole numbers, the smaller one first, as in 0..40"),
        ] {
            let error = read_line(line).unwrap_err().to_string();
            assert_eq!(error.lines().next(), Some(expected), "{line}");
        }
    }
}
