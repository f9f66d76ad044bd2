//! The sink that tells a person how far a study is: one line that is drawn over on a terminal, one line a trial
//! elsewhere.
//!
//! Lines are written by a thread of their own: a terminal that is paused must not hold up a measurement.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use stampede_core::{Fut, Outcome, Rounds, StudyKind, Trial, YardStickReading};
use stampede_harness::{Event, Phase, Sink, SinkError};

use crate::screen;

/// How progress is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Live,
    Lines,
    Silent,
}

/// Lines that wait to be written; what comes while as many wait is left out.
const WAITING: usize = 64;

/// Tells progress on stderr.
pub(crate) struct Progress {
    style: Style,
    width: usize,
    /// The writing thread and the way to it; gone once this is dropped.
    writer: Option<(SyncSender<String>, JoinHandle<()>)>,
    rounds: Rounds,
    cases: u32,
    /// Whether trials are probes, each of a load of its own.
    is_capacity: bool,
    /// What each trial loads for: warm-up and window.
    each: Duration,
    started: Instant,
    /// What is measured in place of a trial: a pilot, the yard-stick.
    aside: Option<String>,
    case: String,
    block: u32,
    number: u32,
    of: Option<u32>,
    phase: Phase,
    rate: Option<f64>,
    failed: u64,
    /// The number of the first trial of this sitting: earlier ones ended before the study was interrupted.
    first: Option<u32>,
    /// How long the study was measured before that.
    earlier: Duration,
    /// The number of the last trial that ended, and for how long this sitting had gone on then.
    ended: Option<(u32, Duration)>,
}

impl Progress {
    /// `earlier` is how long the study was measured already, where it is gone on with.
    pub(crate) fn new(quiet: bool, width: usize, earlier: Duration) -> Self {
        let style = match (quiet, io::stderr().is_terminal()) {
            (true, _) => Style::Silent,
            (false, true) => Style::Live,
            (false, false) => Style::Lines,
        };
        let (lines, waiting) = sync_channel(WAITING);
        Self {
            style,
            width,
            writer: Some((lines, thread::spawn(move || write_all(&waiting)))),
            rounds: Rounds::Fixed(0),
            cases: 0,
            is_capacity: false,
            each: Duration::ZERO,
            started: Instant::now(),
            aside: None,
            case: String::new(),
            block: 0,
            number: 0,
            of: None,
            phase: Phase::Launch,
            rate: None,
            failed: 0,
            first: None,
            earlier,
            ended: None,
        }
    }

    fn tell(&mut self, event: &Event<'_>) {
        match event {
            Event::PilotStarted(case) => {
                self.aside = Some(format!("pilot {case:<15}"));
                (self.rate, self.failed) = (None, 0);
            }
            Event::PilotEnded(case, warm_up) => {
                let (seconds, why) = (warm_up.length.as_secs_f64(), stampede_report::pilot(&warm_up.pilot));
                self.tell_line(&format!("pilot {case:<15} warm-up of {seconds} s: {}", first_line(&why)));
                self.aside = None;
                return;
            }
            Event::YardStickStarted { block } => {
                self.aside = Some(format!("round {block}  yard-stick"));
                (self.rate, self.failed) = (None, 0);
            }
            Event::YardStickEnded(YardStickReading { block, outcome, .. }) => {
                self.aside = None;
                if let Outcome::Failed(reason) = outcome {
                    self.tell_line(&format!("round {block}  yard-stick  failed: {}", first_line(reason)));
                }
                return;
            }
            Event::StudyStarted(study) | Event::StudyResumed(study) => {
                self.rounds = study.rounds;
                self.cases = study.cases.len() as u32;
                self.is_capacity = study.kind == StudyKind::Capacity;
                self.each = study.warm_up + study.duration;
                self.started = Instant::now();
            }
            Event::CaseAdded(_) => return,
            Event::TrialStarted { case, block, number, of } => {
                self.case = case.to_string();
                self.first.get_or_insert(*number);
                (self.block, self.number, self.of) = (*block, *number, *of);
                (self.rate, self.failed) = (None, 0);
            }
            Event::PhaseStarted(phase) => self.phase = *phase,
            Event::Warned(warning) => {
                screen::warning(warning);
                return;
            }
            Event::Progress { rate, failed, .. } => (self.rate, self.failed) = (Some(*rate), *failed),
            Event::TrialEnded(trial) => {
                self.ended = Some((self.number, self.started.elapsed()));
                self.tell_line(&self.line_of(trial));
                return;
            }
        }
        self.draw();
    }

    fn tell_line(&self, line: &str) {
        if self.style != Style::Silent {
            self.write(format!("{}{line}\n", self.clear()));
        }
    }

    fn place(&self) -> String {
        if let Some(aside) = &self.aside {
            return aside.clone();
        }
        let (number, block, case) = (self.number, self.block, &self.case);
        if self.is_capacity {
            return format!("[{number:>2}] {case:<12}");
        }
        match (self.of, self.rounds) {
            (Some(of), Rounds::Fixed(rounds)) => format!("[{number:>2}/{of}] round {block}/{rounds}  {case:<15}"),
            _ => format!("[{number:>2}] round {block}  {case:<15}"),
        }
    }

    fn line_of(&self, trial: &Trial) -> String {
        let what = match &trial.outcome {
            Outcome::Measured => String::new(),
            Outcome::Invalid(reason) => format!("  invalid: {}", first_line(reason)),
            Outcome::Failed(reason) => return format!("{}  failed: {}", self.place(), first_line(reason)),
        };
        let rate = trial
            .measurement
            .as_ref()
            .map_or(0.0, |measured| measured.requests.ok as f64 / measured.window.as_secs_f64().max(f64::MIN_POSITIVE));
        format!("{} {rate:>9.0} req/s{what}", self.place())
    }

    fn draw(&self) {
        if self.style != Style::Live || (self.number == 0 && self.aside.is_none()) {
            return;
        }
        let phase = match self.phase {
            Phase::Launch => "launch",
            Phase::Ready => "ready?",
            Phase::Verify => "verify",
            Phase::WarmUp => "warm up",
            Phase::Measure => "measure",
            Phase::Drain => "drain",
            Phase::Stop => "stop",
        };
        let mut line = format!("{} {phase:<8}", self.place());
        if let Some(rate) = self.rate {
            line.push_str(&format!("{rate:>8.0} req/s"));
        }
        if self.failed > 0 {
            line.push_str(&format!("  {} failed", self.failed));
        }
        if self.cases > 0 || self.is_capacity {
            let most = if matches!(self.rounds, Rounds::Auto { .. }) { "at most " } else { "" };
            line.push_str(&format!("  {most}{} left", human(self.left())));
        }
        let line: String = line.chars().take(self.width.saturating_sub(1)).collect();
        self.write(format!("{}{line}", self.clear()));
    }

    fn write(&self, text: String) {
        if let Some((lines, _)) = &self.writer {
            let _ = lines.try_send(text);
        }
    }

    /// Time left, if the trials to come take as long as those that ended; before any ended, what their loads take.
    fn left(&self) -> Duration {
        let before = self.first.map_or(0, |first| first.saturating_sub(1));
        let whole = match (self.rounds, self.ended) {
            (Rounds::Auto { max_time }, _) => max_time.saturating_sub(self.earlier),
            (Rounds::Fixed(rounds), ended) => {
                let each = ended.map_or(self.each, |(number, took)| took / number.saturating_sub(before).max(1));
                each * (rounds * self.cases).saturating_sub(before)
            }
        };
        whole.saturating_sub(self.started.elapsed())
    }

    /// What clears the line on which progress is drawn.
    fn clear(&self) -> &'static str {
        if self.style == Style::Live { "\r\x1b[K" } else { "" }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.write(self.clear().to_owned());
        if let Some((lines, thread)) = self.writer.take() {
            drop(lines);
            let _ = thread.join();
        }
    }
}

/// Writes until the sender is gone. A stderr that is closed is nobody who waits for progress.
fn write_all(waiting: &Receiver<String>) {
    for text in waiting {
        let mut stderr = io::stderr();
        let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
    }
}

impl Sink for Progress {
    fn take<'a>(&'a mut self, event: &'a Event<'a>) -> Fut<'a, Result<(), SinkError>> {
        Box::pin(async move {
            self.tell(event);
            Ok(())
        })
    }
}

/// The log that may follow comes with the report.
fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    screen::printable(line.strip_suffix("; its log ends:").unwrap_or(line))
}

fn human(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 { format!("{seconds}s") } else { format!("{}m{:02}s", seconds / 60, seconds % 60) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_that_of_this_sitting() {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        let auto = Rounds::Auto { max_time: minutes(30) };
        // Of 10 rounds of 2 cases; a trial is planned to take one minute and took two.
        for (name, rounds, first, earlier, ended, expected) in [
            ("from the beginning", Rounds::Fixed(10), 1, 0, None, 20),
            ("after five trials", Rounds::Fixed(10), 1, 0, Some((5, minutes(10))), 40),
            ("gone on with after ten", Rounds::Fixed(10), 11, 20, None, 10),
            ("five trials later", Rounds::Fixed(10), 11, 20, Some((15, minutes(10))), 20),
            ("as long as it takes", auto, 11, 20, Some((15, minutes(1))), 10),
        ] {
            let mut progress = Progress::new(true, 80, minutes(earlier));
            (progress.rounds, progress.cases, progress.each) = (rounds, 2, minutes(1));
            (progress.first, progress.ended) = (Some(first), ended);
            let left = progress.left().as_secs_f64() / 60.0;
            assert!((left - f64::from(expected)).abs() < 0.5, "{name}: {left}");
        }
    }
}
