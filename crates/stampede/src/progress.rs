//! The sink that tells a person how far a study is: one line that is drawn over on a terminal, one line a trial
//! elsewhere.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use stampede_core::{Fut, Outcome, Trial};
use stampede_harness::{Event, Phase, Sink, SinkError};

/// How progress is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Live,
    Lines,
    Silent,
}

/// Tells progress on stderr.
pub(crate) struct Progress {
    style: Style,
    width: usize,
    rounds: u32,
    started: Instant,
    case: String,
    block: u32,
    number: u32,
    of: u32,
    phase: Phase,
    rate: Option<f64>,
    failed: u64,
    /// How many trials ended, and how long they took together.
    ended: Option<(u32, Duration)>,
}

impl Progress {
    pub(crate) fn new(quiet: bool, width: usize) -> Self {
        let style = match (quiet, io::stderr().is_terminal()) {
            (true, _) => Style::Silent,
            (false, true) => Style::Live,
            (false, false) => Style::Lines,
        };
        Self {
            style,
            width,
            rounds: 0,
            started: Instant::now(),
            case: String::new(),
            block: 0,
            number: 0,
            of: 0,
            phase: Phase::Launch,
            rate: None,
            failed: 0,
            ended: None,
        }
    }

    fn tell(&mut self, event: &Event<'_>) {
        match event {
            Event::StudyStarted(study) => {
                self.rounds = study.rounds;
                self.started = Instant::now();
            }
            Event::TrialStarted { case, block, number, of } => {
                self.case = case.to_string();
                (self.block, self.number, self.of) = (*block, *number, *of);
                (self.rate, self.failed) = (None, 0);
            }
            Event::PhaseStarted(phase) => self.phase = *phase,
            Event::Progress { rate, failed, .. } => (self.rate, self.failed) = (Some(*rate), *failed),
            Event::TrialEnded(trial) => {
                self.ended = Some((self.number, self.started.elapsed()));
                self.clear();
                if self.style != Style::Silent {
                    eprintln!("{}", self.line_of(trial));
                }
                return;
            }
        }
        self.draw();
    }

    fn place(&self) -> String {
        format!("[{:>2}/{}] round {}/{}  {:<15}", self.number, self.of, self.block, self.rounds, self.case)
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
        if self.style != Style::Live || self.number == 0 {
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
        if let Some(left) = self.left() {
            line.push_str(&format!("  {} left", human(left)));
        }
        let line: String = line.chars().take(self.width.saturating_sub(1)).collect();
        eprint!("\r\x1b[K{line}");
        let _ = io::stderr().flush();
    }

    /// Time left, if the trials to come take as long as those that ended.
    fn left(&self) -> Option<Duration> {
        let (ended, took) = self.ended?;
        Some((took / ended * self.of).saturating_sub(self.started.elapsed()))
    }

    fn clear(&self) {
        if self.style == Style::Live {
            eprint!("\r\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
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

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn human(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 { format!("{seconds}s") } else { format!("{}m{:02}s", seconds / 60, seconds % 60) }
}
