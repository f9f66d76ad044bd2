//! The sink that tells a person how far a study is: a few lines that are drawn over on a terminal, one line a trial elsewhere.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use stampede_conduct::ToldFindings;
use stampede_core::{
    CaseId, Fut, Load, Outcome, Rounds, Severity, Study, StudyKind, Trial, YardStickReading, printable,
};
use stampede_harness::{Event, Phase, Sink, SinkError, Stop};
use stampede_report::live::{LiveMoment, LiveView, frame};
use stampede_report::terminal::paragraph;

use crate::Screen;
use crate::panel::Panel;

/// How progress is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressStyle {
    /// In lines that are drawn over.
    Live,
    /// In a line for each trial.
    Lines,
    /// Not at all, but for warnings.
    Silent,
}

/// Moments of a load that are kept to be drawn: a minute.
const KEPT: usize = 120;

/// Tells the progress of a study.
pub struct StudyProgress<'a, S: Screen> {
    style: ProgressStyle,
    screen: S,
    panel: Panel,
    stop: &'a Stop,
    rounds: Rounds,
    cases: u32,
    kind: StudyKind,
    /// Whether the first round's figures are told once it is complete.
    sums_up: bool,
    /// The trials of the first round that have ended: responses per second of those that count.
    first_round: Vec<(CaseId, Option<f64>)>,
    /// What each trial loads for: warm-up and window.
    each: Duration,
    started: Instant,
    /// What is measured in place of a trial: a pilot, the yard-stick.
    aside: Option<String>,
    /// The case of the trial.
    case: Option<CaseId>,
    block: u32,
    number: u32,
    of: Option<u32>,
    phase: Phase,
    /// How many deployments were started to find out which request changed an answer, while that is looked for.
    searching: Option<u32>,
    /// The load of what is measured, since it began.
    course: Vec<LiveMoment>,
    window_left: Option<Duration>,
    failed: u64,
    /// How many processors the deployment of the trial may use, where it has a limit of its own.
    allowed: Option<f64>,
    /// The words in which findings were told.
    told: BTreeSet<String>,
    /// The number of the first trial of this sitting: earlier ones ended before the study was interrupted.
    first: Option<u32>,
    /// How long the study was measured before that, with its pilots.
    earlier: Duration,
    /// When the first pilot began.
    pilots: Option<Instant>,
    /// The number of the last trial that ended, and for how long this sitting had gone on then.
    ended: Option<(u32, Duration)>,
}

impl<'a, S: Screen> StudyProgress<'a, S> {
    /// `earlier` is how long the study was measured already, where it is gone on with.
    pub fn new(style: ProgressStyle, screen: S, stop: &'a Stop, earlier: Duration) -> Self {
        Self {
            style,
            panel: Panel::new(screen.clone()),
            screen,
            stop,
            rounds: Rounds::Fixed(0),
            cases: 0,
            kind: StudyKind::Compare,
            sums_up: false,
            first_round: Vec::new(),
            each: Duration::ZERO,
            started: Instant::now(),
            aside: None,
            case: None,
            block: 0,
            number: 0,
            of: None,
            phase: Phase::Launch,
            searching: None,
            course: Vec::new(),
            window_left: None,
            failed: 0,
            allowed: None,
            told: BTreeSet::new(),
            first: None,
            earlier,
            pilots: None,
            ended: None,
        }
    }

    fn tell(&mut self, event: &Event<'_>) {
        match event {
            Event::PilotStarted(case) => {
                self.pilots.get_or_insert_with(Instant::now);
                self.begin(Some(format!("pilot {:<15}", printable(case.as_str()))));
            }
            Event::PilotEnded(case, warm_up) => {
                let (seconds, why) = (warm_up.length.as_secs_f64(), stampede_report::pilot(&warm_up.pilot));
                let case = printable(case.as_str());
                self.tell_line(&format!(
                    "pilot {case:<15} warm-up of {seconds} s: {}",
                    printable(Outcome::problem(&why))
                ));
                self.aside = None;
                return;
            }
            Event::YardStickStarted { block } => self.begin(Some(format!("round {block}  reference server"))),
            Event::YardStickEnded(YardStickReading { block, outcome, .. }) => {
                self.aside = None;
                if let Outcome::Failed(reason) = outcome {
                    self.tell_line(&format!(
                        "round {block}  reference server  failed: {}",
                        printable(Outcome::problem(reason))
                    ));
                }
                return;
            }
            Event::StudyStarted(study) | Event::StudyResumed(study) => {
                self.rounds = study.rounds;
                self.cases = study.cases.len() as u32;
                self.kind = study.kind;
                // Of an open load all cases have the same rate.
                self.sums_up = self.style == ProgressStyle::Live
                    && study.kind == StudyKind::Compare
                    && study.rounds != Rounds::Fixed(1)
                    && study.cases.len() > 1
                    && study.cases.iter().all(|case| matches!(case.load, Load::Closed { .. }));
                self.each = study.warm_up + study.duration;
                self.started = Instant::now();
                self.earlier += self.pilots.take().map(|began| began.elapsed()).unwrap_or_default();
            }
            Event::CaseAdded(_) | Event::TimeOver(_) | Event::TurnsEnded(_) => return,
            Event::TrialStarted { case, block, number, of, allowed } => {
                self.case = Some((*case).clone());
                self.first.get_or_insert(*number);
                (self.block, self.number, self.of) = (*block, *number, *of);
                self.begin(None);
                self.allowed = *allowed;
            }
            Event::TurnStarted { case, block, turn, allowed } => {
                let case = printable(case.as_str());
                self.begin(Some(match turn {
                    Some((turn, of)) => format!("round {block}  turn {turn}/{of}  {case:<15}"),
                    None => format!("round {block}  {case:<15}"),
                }));
                self.allowed = *allowed;
            }
            Event::PhaseStarted(phase) => (self.phase, self.searching) = (*phase, None),
            Event::Searching { case, exchange, deployment } => {
                if self.number == 0 && self.aside.is_none() {
                    self.begin(Some(format!("recording {}", printable(case.as_str()))));
                    self.phase = Phase::Verify;
                }
                self.searching = Some(*deployment);
                if *deployment == 1 && self.style == ProgressStyle::Lines {
                    let exchange = printable(exchange);
                    self.tell_line(&format!(
                        "{} finds out which request changed the response to `{exchange}`",
                        self.place()
                    ));
                }
            }
            Event::Warned(warning) => {
                self.panel.line(self.screen.warned(warning));
                return;
            }
            Event::Progress { rate, failed, p99, cpus, queue, left } => {
                if self.course.len() == KEPT {
                    self.course.remove(0);
                }
                self.course.push(LiveMoment { rate: *rate, p99: *p99, cpus: *cpus, queue: *queue });
                (self.failed, self.window_left) = (*failed, Some(*left));
            }
            Event::TrialEnded(trial) => {
                self.ended = Some((self.number, self.started.elapsed()));
                self.tell_line(&self.line_of(trial));
                self.sum_up(trial);
                return;
            }
        }
        self.draw();
    }

    /// Something else is measured from now on.
    fn begin(&mut self, aside: Option<String>) {
        self.aside = aside;
        self.course.clear();
        (self.window_left, self.failed, self.allowed) = (None, 0, None);
    }

    fn tell_line(&self, line: &str) {
        if self.style != ProgressStyle::Silent {
            self.panel.line(line.to_owned());
        }
    }

    fn place(&self) -> String {
        if let Some(aside) = &self.aside {
            return aside.clone();
        }
        let (number, block) = (self.number, self.block);
        let case = printable(self.case.as_ref().map_or("", CaseId::as_str));
        if self.kind == StudyKind::Capacity {
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
            Outcome::Invalid(reason) => format!("  invalid: {}", printable(Outcome::problem(reason))),
            Outcome::Failed(reason) => {
                return format!("{}  failed: {}", self.place(), printable(Outcome::problem(reason)));
            }
        };
        let rate = rate(trial);
        format!("{} {rate:>9.0} req/s{what}", self.place())
    }

    /// Tells the figures of the first round once it is complete: they are the first that can be read side by side.
    fn sum_up(&mut self, trial: &Trial) {
        if !self.sums_up || self.block != 1 {
            return;
        }
        let counts = matches!(trial.outcome, Outcome::Measured);
        self.first_round.push((trial.case.clone(), counts.then(|| rate(trial))));
        if self.first_round.len() as u32 == self.cases {
            table(&self.first_round).iter().for_each(|line| self.tell_line(line));
        }
    }

    fn draw(&self) {
        if self.style != ProgressStyle::Live || (self.number == 0 && self.aside.is_none()) {
            return;
        }
        let phase = match (self.phase, self.searching) {
            (Phase::Launch, _) => "launch".to_owned(),
            (Phase::Ready, _) => "ready?".to_owned(),
            (Phase::Verify, None) => "verify".to_owned(),
            (Phase::Verify, Some(deployment)) => format!("leak? deployment {deployment}"),
            (Phase::WarmUp, _) => "warm up".to_owned(),
            (Phase::Measure, _) => "measure".to_owned(),
            (Phase::Drain, _) => "drain".to_owned(),
            (Phase::Stop, _) => "stop".to_owned(),
        };
        let may_end_before = matches!(self.rounds, Rounds::Auto { .. });
        let is_known = self.cases > 0 || self.kind == StudyKind::Capacity;
        let window_left = self.window_left.filter(|_| matches!(self.phase, Phase::WarmUp | Phase::Measure));
        let view = LiveView {
            place: &self.place(),
            phase: &phase,
            window_left,
            left: is_known.then(|| (self.left(), may_end_before)),
            course: &self.course,
            allowed: self.allowed,
            failed: self.failed,
            is_stopping: self.stop.is_asked(),
        };
        // The last column stays free: some terminals go on to the next line when it is written to.
        let (columns, rows) = self.screen.size();
        let mut lines = frame(&view, columns.saturating_sub(1));
        lines.truncate(rows.saturating_sub(1).max(1));
        self.panel.draw(lines);
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
}

impl<S: Screen> Sink for StudyProgress<'_, S> {
    fn take<'a>(&'a mut self, event: &'a Event<'a>) -> Fut<'a, Result<(), SinkError>> {
        Box::pin(async move {
            self.tell(event);
            Ok(())
        })
    }
}

impl<S: Screen> stampede_conduct::Progress for StudyProgress<'_, S> {
    /// Tells what distorts or limits the case of a trial that has ended, as far as it was not told before, of it or in the
    /// same words of another. Not in a search, whose cases are there to find out where they fail.
    fn findings(&mut self, study: &Study, trials: &[Trial], case: &CaseId, told: &ToldFindings) {
        if self.style == ProgressStyle::Silent || matches!(study.kind, StudyKind::Tune | StudyKind::Capacity) {
            return;
        }
        let width = if self.style == ProgressStyle::Live { self.screen.size().0 } else { self.screen.width() };
        for finding in stampede_analysis::findings(study, case, trials) {
            let is_new = finding.severity > Severity::Info && told.is_new(&study.id, case, &finding.id);
            if is_new && self.told.insert(finding.text.clone()) {
                let text = printable(&format!("so far, {case}: {}", finding.text));
                self.tell_line(&paragraph(&text, 2, width));
            }
        }
    }
}

/// Responses per second.
fn rate(trial: &Trial) -> f64 {
    let of = |window: Duration, ok: u64| ok as f64 / window.as_secs_f64().max(f64::MIN_POSITIVE);
    trial.measurement.as_ref().map_or(0.0, |measured| of(measured.window, measured.requests.ok))
}

/// The first round's cases with what they did a second, best first, and as a share of the best.
fn table(round: &[(CaseId, Option<f64>)]) -> Vec<String> {
    let mut rows: Vec<(String, f64)> =
        round.iter().filter_map(|(case, rate)| Some((printable(case.as_str()), (*rate)?))).collect();
    rows.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let Some((_, best)) = rows.first().filter(|(_, best)| rows.len() > 1 && *best > 0.0) else { return Vec::new() };
    let width = rows.iter().map(|(case, _)| case.chars().count()).max().unwrap_or(0);
    let row =
        |(case, rate): &(String, f64)| format!("  {case:<width$}  {rate:>9.0} req/s  {:>4.0} %", 100.0 * rate / best);
    let title = "Round 1 is complete; further rounds show how certain its differences are:".to_owned();
    [title].into_iter().chain(rows.iter().map(row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone)]
    struct Nowhere;

    impl Screen for Nowhere {
        fn write(&self, _: &str) {}

        fn size(&self) -> (usize, usize) {
            (80, 24)
        }

        fn width(&self) -> usize {
            80
        }

        fn warned(&self, line: &str) -> String {
            line.to_owned()
        }
    }

    #[test]
    fn the_first_round_is_a_table_of_what_counts() {
        let round = |rows: &[(&str, Option<f64>)]| -> Vec<_> {
            rows.iter().map(|(case, rate)| (CaseId::new(*case), *rate)).collect()
        };
        let told = table(&round(&[("caddy-fpm", Some(2459.4)), ("apache", None), ("php-cli-server", Some(9219.0))]));
        let wanted = [
            "Round 1 is complete; further rounds show how certain its differences are:",
            "  php-cli-server       9219 req/s   100 %",
            "  caddy-fpm            2459 req/s    27 %",
        ];
        assert_eq!(told, wanted);
        assert!(table(&round(&[("a", Some(1.0)), ("b", None)])).is_empty());
        assert!(table(&round(&[("a", Some(0.0)), ("b", Some(0.0))])).is_empty());
    }

    #[test]
    fn the_time_left_is_that_of_this_sitting() {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        let (stop, auto) = (Stop::default(), Rounds::Auto { max_time: minutes(30) });
        // Of 10 rounds of 2 cases; a trial is planned to take one minute and took two.
        for (name, rounds, first, earlier, ended, expected) in [
            ("from the beginning", Rounds::Fixed(10), 1, 0, None, 20),
            ("after five trials", Rounds::Fixed(10), 1, 0, Some((5, minutes(10))), 40),
            ("gone on with after ten", Rounds::Fixed(10), 11, 20, None, 10),
            ("five trials later", Rounds::Fixed(10), 11, 20, Some((15, minutes(10))), 20),
            ("as long as it takes", auto, 11, 20, Some((15, minutes(1))), 10),
        ] {
            let mut progress = StudyProgress::new(ProgressStyle::Silent, Nowhere, &stop, minutes(earlier));
            (progress.rounds, progress.cases, progress.each) = (rounds, 2, minutes(1));
            (progress.first, progress.ended) = (Some(first), ended);
            let left = progress.left().as_secs_f64() / 60.0;
            assert!((left - f64::from(expected)).abs() < 0.5, "{name}: {left}");
        }
    }
}
