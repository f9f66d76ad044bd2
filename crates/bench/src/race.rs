//! Clients that take turns at one server, over several rounds, in a random order that a seed decides.

use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::process::{Process, ProcessError};
use crate::spread::Spread;
use crate::stage::Stage;
use crate::tool::{Answered, Tool};

/// How much longer than its load a client may take.
pub(crate) const GRACE: Duration = Duration::from_secs(60);

/// How long a client's end may take to reach the server, and how often that is looked for.
const SETTLE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(10);

/// What a server has done since its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Complete requests.
    pub(crate) requests: u64,
    /// Connections that are open.
    pub(crate) open: u64,
    /// Processor time.
    pub(crate) cpu: Duration,
}

impl Counts {
    /// What was done between two looks.
    pub(crate) fn since(&self, before: &Self) -> Self {
        Self { requests: self.requests - before.requests, open: self.open, cpu: self.cpu.saturating_sub(before.cpu) }
    }
}

/// A server that counts what it receives.
pub(crate) trait Witness {
    /// What it has done so far.
    fn counts(&mut self) -> Result<Counts, Failure>;

    /// What it has done when the last client has gone.
    fn settled(&mut self) -> Result<Counts, Failure> {
        let deadline = Instant::now() + SETTLE;
        loop {
            let counts = self.counts()?;
            if counts.open == 0 {
                return Ok(counts);
            }
            if Instant::now() >= deadline {
                return Err(Failure::Unsettled(counts.open));
            }
            thread::sleep(PAUSE);
        }
    }
}

/// A client on a course.
#[derive(Clone, Debug)]
pub(crate) struct Runner {
    /// The tool's name.
    pub(crate) tool: &'static str,
    /// Its name in tables: the tool's, and its variant.
    pub(crate) label: String,
    /// Its command line, program first.
    pub(crate) line: Vec<String>,
    pub(crate) read: fn(&str) -> Option<Answered>,
    /// Whether it waits for all answers before it ends, so that its count is the server's.
    pub(crate) drains: bool,
}

impl Runner {
    /// A tool with this command line.
    pub(crate) fn new(tool: &Tool, label: &str, line: Vec<String>) -> Self {
        let Tool { name, read, drains, .. } = *tool;
        Self { tool: name, label: label.to_owned(), line, read, drains }
    }
}

/// Clients with one task.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    /// `64 connections`
    pub(crate) name: String,
    /// The most requests that a client has in flight.
    pub(crate) in_flight: u64,
    pub(crate) runners: Vec<Runner>,
}

/// What a runner did in one round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) round: u32,
    /// The client's processor time for an answered request, in microseconds.
    pub(crate) cpu_us: f64,
    /// Answered requests a second.
    pub(crate) rate: f64,
    /// Share of the run in which the server was busy.
    pub(crate) server_busy: f64,
}

/// What a runner did in all rounds.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(crate) tool: &'static str,
    pub(crate) label: String,
    pub(crate) samples: Vec<Sample>,
}

impl Lane {
    /// One measure over all rounds.
    pub(crate) fn spread(&self, measure: impl Fn(&Sample) -> f64) -> Option<Spread> {
        Spread::of(self.samples.iter().map(measure))
    }

    /// The ratio of one measure to another lane's, taken within each round.
    pub(crate) fn ratio(&self, base: &Self, measure: impl Fn(&Sample) -> f64) -> Option<Spread> {
        Spread::of(self.samples.iter().filter_map(|ours| {
            let theirs = base.samples.iter().find(|theirs| theirs.round == ours.round)?;
            Some(measure(ours) / measure(theirs))
        }))
    }
}

/// What came of a course.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) name: String,
    pub(crate) lanes: Vec<Lane>,
}

impl Outcome {
    /// The first lane of a tool.
    pub(crate) fn lane(&self, tool: &str) -> Option<&Lane> {
        self.lanes.iter().find(|lane| lane.tool == tool && !lane.samples.is_empty())
    }

    /// The lane of a tool whose median processor time is the least.
    pub(crate) fn best(&self, tool: &str) -> Option<&Lane> {
        let cost = |lane: &Lane| lane.spread(|sample| sample.cpu_us).map_or(f64::INFINITY, |spread| spread.median);
        let ours = self.lanes.iter().filter(|lane| lane.tool == tool && !lane.samples.is_empty());
        ours.min_by(|one, other| cost(one).total_cmp(&cost(other)))
    }
}

/// What came of all courses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Results {
    pub(crate) outcomes: Vec<Outcome>,
    /// Runs that gave no figures or doubtful ones, and why.
    pub(crate) notes: Vec<String>,
    pub(crate) agreement: Agreement,
}

/// How the tools' counts compare with the server's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Agreement {
    pub(crate) runs: u32,
    /// Runs in which they differ by no more than what was in flight.
    pub(crate) agreed: u32,
}

/// Runs all courses in all rounds. Within a round the runners of a course follow each other, so that their ratios are of one
/// time.
pub(crate) fn run(
    stage: &Stage,
    courses: &[Course],
    witness: &mut dyn Witness,
    duration: Duration,
    random: &mut fastrand::Rng,
) -> Result<Results, Failure> {
    let rounds = stage.rounds;
    let mut results = Results {
        outcomes: courses.iter().map(Outcome::without_samples).collect(),
        notes: Vec::new(),
        agreement: Agreement::default(),
    };
    for round in 1..=rounds {
        for turn in order(courses, random) {
            let Some(course) = courses.get(turn.course) else { continue };
            let Some(runner) = course.runners.get(turn.runner) else { continue };
            let place = format!("round {round}/{rounds}, {}, {}", course.name, runner.label);
            let told = match once(stage, runner, witness, duration)? {
                Ok(run) => {
                    results.check(&place, course, runner, &run)?;
                    let sample = run.sample(round);
                    let lane =
                        results.outcomes.get_mut(turn.course).and_then(|course| course.lanes.get_mut(turn.runner));
                    lane.into_iter().for_each(|lane| lane.samples.push(sample));
                    format!("{:.2} us a request, {:.0} req/s", sample.cpu_us, sample.rate)
                }
                Err(reason) => {
                    results.notes.push(format!("{place}: {reason}"));
                    reason
                }
            };
            stage.tell(&format!("{place}: {told}"));
        }
    }
    Ok(results)
}

impl Outcome {
    fn without_samples(course: &Course) -> Self {
        let lane = |runner: &Runner| Lane { tool: runner.tool, label: runner.label.clone(), samples: Vec::new() };
        Self { name: course.name.clone(), lanes: course.runners.iter().map(lane).collect() }
    }
}

impl Results {
    /// Holds a tool's count against the server's.
    fn check(&mut self, place: &str, course: &Course, runner: &Runner, run: &Run) -> Result<(), Failure> {
        let Run { answered: Answered { requests, failed, .. }, server, .. } = run;
        if *failed > 0 {
            self.notes.push(format!("{place}: the tool says that {failed} requests failed"));
        }
        let in_flight = if runner.drains { 0 } else { course.in_flight };
        let counted = requests + failed;
        self.agreement.runs += 1;
        if (counted..=counted + in_flight).contains(&server.requests) {
            self.agreement.agreed += 1;
            return Ok(());
        }
        let difference = format!("{place}: it counted {counted} requests, the server {}", server.requests);
        if runner.tool == crate::tool::FLOOR.name {
            return Err(Failure::Disagreement(difference));
        }
        self.notes.push(difference);
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turn {
    course: usize,
    runner: usize,
}

/// The turns of a round: courses in random order, and in each its runners.
fn order(courses: &[Course], random: &mut fastrand::Rng) -> Vec<Turn> {
    let mut shuffled: Vec<(usize, &Course)> = courses.iter().enumerate().collect();
    random.shuffle(&mut shuffled);
    let mut turns = Vec::new();
    for (course, of) in shuffled {
        let mut runners: Vec<usize> = (0..of.runners.len()).collect();
        random.shuffle(&mut runners);
        turns.extend(runners.into_iter().map(|runner| Turn { course, runner }));
    }
    turns
}

struct Run {
    answered: Answered,
    /// The client's processor time.
    cpu: Duration,
    /// What the server did meanwhile.
    server: Counts,
    took: Duration,
}

impl Run {
    fn sample(&self, round: u32) -> Sample {
        Sample {
            round,
            cpu_us: self.cpu.as_secs_f64() * 1e6 / self.answered.requests as f64,
            rate: self.answered.rate,
            server_busy: self.server.cpu.as_secs_f64() / self.took.as_secs_f64(),
        }
    }
}

/// One run of one client; the inner error is a reason for which there are no figures.
fn once(
    stage: &Stage,
    runner: &Runner,
    witness: &mut dyn Witness,
    duration: Duration,
) -> Result<Result<Run, String>, Failure> {
    let before = witness.settled()?;
    let started = Instant::now();
    let command = stage.command(&runner.line);
    let patience = duration + GRACE;
    let run = Process::run(runner.tool, command, stage.client_cpu, patience, &stage.interruption, |_| Ok(()));
    let finished = match run {
        Ok(finished) => finished,
        Err(hung @ ProcessError::Hung { .. }) => return Ok(Err(hung.to_string())),
        Err(error) => return Err(error.into()),
    };
    let took = started.elapsed();
    let server = witness.settled()?.since(&before);
    let answered = (runner.read)(&finished.stdout).filter(|answered| answered.requests > 0);
    Ok(match answered {
        Some(answered) => Ok(Run { answered, cpu: finished.ended.cpu, server, took }),
        None => Err(format!("no figures: {}", finished.reason())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn courses() -> Vec<Course> {
        let runner = |label: &str| Runner {
            tool: "tool",
            label: label.to_owned(),
            line: Vec::new(),
            read: |_| None,
            drains: false,
        };
        ["1", "64", "256"]
            .map(|name| Course { name: name.to_owned(), in_flight: 1, runners: ["a", "b", "c"].map(runner).to_vec() })
            .to_vec()
    }

    #[test]
    fn a_round_has_every_runner_once_and_its_courses_in_one_piece() {
        for seed in 0..50 {
            let turns = order(&courses(), &mut fastrand::Rng::with_seed(seed));
            for course in 0..3 {
                let mut runners: Vec<usize> =
                    turns.chunks(3).flatten().filter(|turn| turn.course == course).map(|turn| turn.runner).collect();
                runners.sort_unstable();
                assert_eq!(runners, [0, 1, 2], "seed {seed}: {turns:?}");
            }
            let in_one_piece = turns.chunks(3).all(|three| three.iter().all(|turn| turn.course == three[0].course));
            assert!(in_one_piece, "seed {seed}: {turns:?}");
            assert_eq!(turns, order(&courses(), &mut fastrand::Rng::with_seed(seed)), "the same seed, the same order");
        }
    }

    #[test]
    fn ratios_are_taken_within_rounds() {
        let lane = |values: &[(u32, f64)]| Lane {
            tool: "tool",
            label: "tool".to_owned(),
            samples: values
                .iter()
                .map(|(round, cpu_us)| Sample { round: *round, cpu_us: *cpu_us, rate: 1.0, server_busy: 0.5 })
                .collect(),
        };
        // Round 2 was slow for both; round 3 has no base.
        let ours = lane(&[(1, 8.0), (2, 80.0), (3, 1.0)]);
        let base = lane(&[(2, 100.0), (1, 10.0)]);
        let ratio = ours.ratio(&base, |sample| sample.cpu_us).unwrap();
        assert_eq!((ratio.median, ratio.least, ratio.most), (0.8, 0.8, 0.8));
    }
}
