//! What is counted while a gateway works.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use stampede_core::Latencies;
use stampede_scale::{Time, Usage};

/// What became of one instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// When it was asked for.
    pub ordered: Time,
    /// When it was said to be ready.
    pub ready: Option<Time>,
    /// When it was given its first request, and how long that took once it was answered.
    pub first_request: (Option<Time>, Option<Duration>),
    /// When it was no more counted on: given up, or lost.
    pub ended: Option<Time>,
}

/// What a gateway has counted. Counts are those of requests that came in the window.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// All instances in the order in which they were asked for.
    pub lives: Vec<Life>,
    /// The window.
    pub window: Range<Time>,
    /// Requests that came.
    pub arrived: u64,
    /// How long those waited that did not find an instance at once, whether they found one later or were turned away.
    pub waits: Latencies,
    /// The most that waited at once in the window.
    pub most_waiting: u32,
    /// Requests that were turned away.
    pub rejected: u64,
    /// Answers of instances by status.
    pub passed: BTreeMap<u16, u64>,
    /// Requests whose instance broke off, or could not be reached.
    pub broken: u64,
    /// Requests that took longer than one may.
    pub late: u64,
    /// Requests whose client went away, or did not send all of them in time.
    pub abandoned: u64,
    /// How long those took that were answered, broken off, too late or turned away: from when they came until the last byte of the
    /// answer had come from the instance, or until they were turned away.
    pub passage: Latencies,
    /// What is billed.
    pub usage: Usage,
    /// CPU time of the gateway's thread.
    pub cpu: Duration,
}

/// How a request ended that an instance was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With an answer.
    Answered(u16),
    /// The instance broke off.
    Broken,
    /// It took too long.
    Late,
    /// The client went away.
    Abandoned,
}

/// Counts.
#[derive(Debug)]
pub(crate) struct Ledger {
    account: Account,
    /// What was billed, and the thread's CPU time, when the window opened.
    at_opening: Option<(Usage, Duration)>,
    at_closing: Option<(Usage, Duration)>,
    /// Nobody waits for an answer any more.
    deserted: bool,
}

impl Ledger {
    /// Counts everything until a window is set.
    pub(crate) fn new() -> Self {
        let account = Account { window: Time::START..Time::NEVER, ..Account::default() };
        Self { account, at_opening: None, at_closing: None, deserted: false }
    }

    /// Counts within this window alone, and forgets what it has counted of requests before it.
    pub(crate) fn count(&mut self, window: Range<Time>) {
        let lives = std::mem::take(&mut self.account.lives);
        *self = Self::new();
        self.account.lives = lives;
        self.account.window = window;
    }

    /// All clients have gone: whatever becomes of their requests, they have abandoned them.
    pub(crate) fn desert(&mut self) {
        self.deserted = true;
    }

    /// When an edge of the window has to be noted next.
    pub(crate) fn next_edge(&self) -> Time {
        match (self.at_opening, self.at_closing) {
            (None, _) => self.account.window.start,
            (Some(_), None) => self.account.window.end,
            (Some(_), Some(_)) => Time::NEVER,
        }
    }

    /// Notes an edge.
    pub(crate) fn edge(&mut self, usage: Usage, cpu: Duration) {
        match self.at_opening {
            None => self.at_opening = Some((usage, cpu)),
            Some(_) => self.at_closing = Some((usage, cpu)),
        }
    }

    pub(crate) fn arrived(&mut self, at: Time) {
        self.account.arrived += u64::from(self.account.window.contains(&at));
    }

    pub(crate) fn waiting(&mut self, now: Time, count: u32) {
        if self.account.window.contains(&now) {
            self.account.most_waiting = self.account.most_waiting.max(count);
        }
    }

    /// A request that came then has found an instance, or is turned away, now.
    pub(crate) fn waited(&mut self, arrived: Time, now: Time) {
        if now > arrived && self.account.window.contains(&arrived) {
            self.account.waits.record_ns(now.since(arrived).as_nanos() as u64);
        }
    }

    pub(crate) fn rejected(&mut self, arrived: Time, now: Time) {
        if self.account.window.contains(&arrived) && !self.deserted {
            self.account.rejected += 1;
            self.passed(arrived, now);
        }
    }

    pub(crate) fn ended(&mut self, arrived: Time, now: Time, end: End) {
        if !self.account.window.contains(&arrived) {
            return;
        }
        let end = if self.deserted { End::Abandoned } else { end };
        if end != End::Abandoned {
            self.passed(arrived, now);
        }
        match end {
            End::Answered(status) => *self.account.passed.entry(status).or_default() += 1,
            End::Broken => self.account.broken += 1,
            End::Late => self.account.late += 1,
            End::Abandoned => self.account.abandoned += 1,
        }
    }

    fn passed(&mut self, arrived: Time, now: Time) {
        self.account.passage.record_ns(now.since(arrived).as_nanos() as u64);
    }

    pub(crate) fn ordered(&mut self, now: Time) {
        self.account.lives.push(Life { ordered: now, ready: None, first_request: (None, None), ended: None });
    }

    pub(crate) fn life(&mut self, number: u64) -> Option<&mut Life> {
        self.account.lives.get_mut(usize::try_from(number).ok()?)
    }

    /// All of it; what is billed and used ends now where the window is still open.
    pub(crate) fn account(&self, usage: Usage, cpu: Duration) -> Account {
        let (from, cpu_from) = self.at_opening.unwrap_or_default();
        let (to, cpu_to) = self.at_closing.unwrap_or((usage, cpu));
        Account { usage: to.since(from), cpu: cpu_to.saturating_sub(cpu_from), ..self.account.clone() }
    }
}
