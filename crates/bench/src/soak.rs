//! Whether hours of studies leave anything behind, and whether a kill at any instant does: `make bench-soak`.
//!
//! Pieces are commands of Stampede on its own workloads, in turn. One that runs to its end is watched for memory and descriptors; one that
//! is killed (SIGKILL, at an instant drawn from its length) is followed by a look at what is left and at what its store has kept. A
//! line is kept of each, and the document is written again after each, so that ten hours can be made of pieces.

mod command;
mod place;
mod slope;
mod written;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use stampede_stats::SplitMix64;

use self::command::{COMMANDS, SoakCommand};
use self::place::Place;
use crate::circumstances::Circumstances;
use crate::compare;
use crate::failure::Failure;
use crate::flags::UnderTest;
use crate::interruption::Interruption;
use crate::jsonl;
use crate::progress::tell;
use crate::{files, process::ProcessError};

/// A command that was never run to its end is taken to last so long.
const UNKNOWN: Duration = Duration::from_secs(15);

/// How it is to be done.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Soak {
    /// So many commands that run to their end, beside those that are kept
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) whole: usize,
    /// So many commands that are killed, beside those that are kept
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) kills: usize,
    /// Decides when each is killed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// The address of a container engine, for commands with containers: unix:///run/docker.sock [default: none of them]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) engine: Option<String>,
    /// Pieces so far
    #[arg(long, value_name = "FILE", default_value = "crates/bench/data/soak.jsonl")]
    pub(crate) data: PathBuf,
    /// The document
    #[arg(long, value_name = "FILE", default_value = "docs/bench-soak.md")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) under: UnderTest,
}

/// What was seen of one command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Piece {
    command: String,
    /// When it was killed, in seconds from its start; nothing of one that ran to its end.
    killed_s: Option<f64>,
    /// Whether it was to be killed and had ended before.
    is_late: bool,
    seconds: f64,
    code: Option<i32>,
    /// Resident memory of the process in KiB at points of time in seconds, in the order of time.
    memory: Vec<(f64, u64)>,
    /// The most descriptors that it had open.
    descriptors: usize,
    /// Trials that it told of, and those that its store has.
    told: usize,
    stored: usize,
    /// How long it took until nothing was left, in seconds; nothing if something stayed.
    gone_s: Option<f64>,
    /// What stayed.
    left: Vec<String>,
    /// Whether the same command with `--resume` ran to its end afterwards, of one that was killed and can be resumed.
    resumed: Option<bool>,
    /// All control groups and processes of the machine, and its open files, after it.
    groups: usize,
    processes: usize,
    files: u64,
    store_kib: u64,
    under: Circumstances,
}

/// Runs so many commands.
pub(crate) fn run(soak: &Soak) -> Result<(), Failure> {
    let Soak { whole, kills, seed, engine, data, output, under: UnderTest { stampede, remark } } = soak;
    let interruption = Interruption::watch().map_err(Failure::Prepare)?;
    let place = Place::new(compare::program(stampede.clone())?, engine.clone())?;
    let under = Circumstances::now(&place.version()?, remark);
    let mut pieces: Vec<Piece> = jsonl::read(data)?;
    let write = |pieces: &[Piece]| files::write(output, &written::document(pieces));
    write(&pieces)?;
    let commands: Vec<&SoakCommand> =
        COMMANDS.iter().filter(|command| engine.is_some() || !command.needs_engine).collect();
    for (count, is_killed) in [(*whole, false), (*kills, true)] {
        for _ in 0..count {
            // Each command in turn, also where they are made in several pieces.
            let was_to_be = |piece: &&Piece| piece.killed_s.is_some() || piece.is_late;
            let before = pieces.iter().filter(|piece| was_to_be(piece) == is_killed).count();
            let command = commands[before % commands.len()];
            let kill = is_killed.then(|| instant(&pieces, command, *seed, before as u64));
            let piece = Piece { under: under.clone(), ..piece(&place, command, kill, &interruption)? };
            tell(&told(before, &piece));
            jsonl::append(data, std::slice::from_ref(&piece))?;
            pieces.push(piece);
            write(&pieces)?;
        }
    }
    Ok(())
}

/// When the kill of this number comes: anywhere in the time that the command took when it ran to its end.
fn instant(pieces: &[Piece], command: &SoakCommand, seed: u64, number: u64) -> Duration {
    let whole = pieces.iter().rev().find(|piece| piece.killed_s.is_none() && piece.command == command.name);
    let length = whole.map_or(UNKNOWN.as_secs_f64(), |piece| piece.seconds);
    let mut random = SplitMix64::new(seed);
    let shares = (0..=number).map(|_| random.index(1 << 20) as f64 / f64::from(1 << 20));
    let share = shares.last().unwrap_or_default();
    Duration::from_secs_f64(length * share)
}

/// Runs one command, to its end or until it is killed, and looks at what is left.
fn piece(
    place: &Place,
    command: &SoakCommand,
    kill: Option<Duration>,
    interruption: &Interruption,
) -> Result<Piece, Failure> {
    place.clear()?;
    if let Some(before) = command.before {
        place.run(before, None, interruption)?;
    }
    let watched = place.run(command.line, kill, interruption)?;
    let mut runs = vec![watched.pid];
    let (gone_s, left) = place.wait_until_gone(&runs, Instant::now());
    let stored = place.trials()?;
    let was_killed = kill.is_some() && watched.code.is_none();
    if watched.code == Some(2) {
        return Err(Failure::Unusable(format!("stampede {} is no command that it takes", command.line)));
    }
    let resumed = if was_killed && stored > 0 {
        let again = place.run(&format!("{} --resume", command.line), None, interruption)?;
        runs.push(again.pid);
        Some(again.code.is_some_and(|code| code != 2))
    } else {
        None
    };
    let (gone_later, left_later) = place.wait_until_gone(&runs, Instant::now());
    if interruption.asked() {
        return Err(ProcessError::Interrupted.into());
    }
    Ok(Piece {
        command: command.name.to_owned(),
        killed_s: kill.filter(|_| was_killed).map(|kill| kill.as_secs_f64()),
        is_late: kill.is_some() && !was_killed,
        seconds: watched.seconds,
        code: watched.code,
        memory: watched.memory,
        descriptors: watched.descriptors,
        told: if command.tells_trials { watched.told } else { 0 },
        stored,
        gone_s: gone_s.filter(|_| gone_later.is_some()),
        left: [left, left_later].concat(),
        resumed,
        groups: place::groups(),
        processes: place::processes(),
        files: place::open_files(),
        store_kib: place.store_kib(),
        under: Circumstances::default(),
    })
}

fn told(number: usize, piece: &Piece) -> String {
    let end = match (piece.killed_s, piece.code) {
        (Some(after), _) => format!("killed after {after:.1} s"),
        (None, Some(code)) => format!("ended with {code} after {:.1} s", piece.seconds),
        (None, None) => format!("ended by a signal after {:.1} s", piece.seconds),
    };
    let left = match (&piece.gone_s, &piece.left[..]) {
        (Some(gone), _) => format!("nothing left after {gone:.1} s"),
        (None, left) => format!("LEFT: {}", left.join(", ")),
    };
    format!("{number}: {}: {end}, {left}, {} of {} trials stored", piece.command, piece.stored, piece.told)
}

/// The pieces of each command that end in the same way.
fn by_command(pieces: &[Piece], are_killed: bool) -> BTreeMap<&str, Vec<&Piece>> {
    let mut by_command: BTreeMap<&str, Vec<&Piece>> = BTreeMap::new();
    for piece in pieces.iter().filter(|piece| piece.killed_s.is_some() == are_killed) {
        by_command.entry(&piece.command).or_default().push(piece);
    }
    by_command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_are_spread_over_the_length_of_a_command() {
        let command = &COMMANDS[0];
        let whole = Piece { command: command.name.to_owned(), seconds: 40.0, ..Piece::default() };
        let pieces = [whole];
        let instants: Vec<f64> =
            (0..200).map(|number| instant(&pieces, command, 1, number).as_secs_f64() / 40.0).collect();
        assert!(instants.iter().all(|share| (0.0..1.0).contains(share)));
        for tenth in 0..10 {
            let low = f64::from(tenth) / 10.0;
            let count = instants.iter().filter(|share| (low..low + 0.1).contains(*share)).count();
            assert!((8..=35).contains(&count), "{tenth}: {count}");
        }
        // A piece that is made again is killed at the same instant.
        assert_eq!(instant(&pieces, command, 1, 7), instant(&pieces, command, 1, 7));
    }
}
