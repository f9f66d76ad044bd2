//! What the harness says while it works.

use std::time::Duration;

use jiff::Timestamp;
use stampede_core::{Case, CaseId, Fut, Study, Trial, WarmUp, WindowsFrom, YardStickReading};
use thiserror::Error;

/// Where a trial is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Files, control group and processes are made.
    Launch,
    /// The first answer is waited for.
    Ready,
    /// Every expected answer is checked.
    Verify,
    /// Load before the window.
    WarmUp,
    /// The window.
    Measure,
    /// Answers that are still out are waited for.
    Drain,
    /// Everything is stopped.
    Stop,
}

/// What happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// A pilot begins. Pilots come before the study.
    PilotStarted(&'a CaseId),
    /// A pilot ended.
    PilotEnded(&'a CaseId, &'a WarmUp),
    /// A study begins.
    StudyStarted(&'a Study),
    /// An interrupted study is gone on with, from the last of [`Study::resumed_at`].
    StudyResumed(&'a Study),
    /// A case joins a study that has begun.
    CaseAdded(&'a Case),
    /// The yard-stick is measured.
    YardStickStarted {
        /// The block, from 1.
        block: u32,
    },
    /// The yard-stick was measured.
    YardStickEnded(&'a YardStickReading),
    /// A trial begins.
    TrialStarted {
        /// The case.
        case: &'a CaseId,
        /// Its block, from 1.
        block: u32,
        /// Its number within the study, from 1.
        number: u32,
        /// How many trials the study has, where that is known.
        of: Option<u32>,
        /// How many processors the deployment may use; none of instances that come and go, each with limits of its own.
        allowed: Option<f64>,
    },
    /// A deployment is started, or has its turn, in a block whose deployments are up together. Their trials begin and end in
    /// events when all are over.
    TurnStarted {
        /// The case.
        case: &'a CaseId,
        /// Its block, from 1.
        block: u32,
        /// Which turn, from 1, of how many; none while it is started and warmed up.
        turn: Option<(u32, u32)>,
        /// How many processors the deployment may use.
        allowed: Option<f64>,
    },
    /// The trial went on to its next phase.
    PhaseStarted(Phase),
    /// A fresh deployment is started to find out which request changed a wrong answer, as part of [`Phase::Verify`] or
    /// while answers are recorded.
    Searching {
        /// The case whose answer is wrong: that of the trial, or one on which answers are recorded before the study.
        case: &'a CaseId,
        /// The exchange whose answer is wrong.
        exchange: &'a str,
        /// How many deployments were started for it, with this one.
        deployment: u32,
    },
    /// Load is being driven.
    Progress {
        /// Right answers a second since the last event of this kind.
        rate: f64,
        /// Requests that failed so far.
        failed: u64,
        /// The time that 99 of 100 requests took at most since then, from when they were due: roughly, for whoever watches.
        p99: Option<Duration>,
        /// How many processors the deployment used since then, where that is counted.
        cpus: Option<f64>,
        /// Connections that wait to be accepted, where that is sampled.
        queue: Option<u64>,
        /// Time until the window closes.
        left: Duration,
    },
    /// The time of a study was over before it was done; what has begun is not completed.
    TimeOver(Timestamp),
    /// Turns did not hold: the block is measured again, in windows like those after it. Its trials in turns are dropped.
    TurnsEnded(&'a WindowsFrom),
    /// Something stands in the way of what is asked, and what to do about it; it is measured all the same.
    Warned(&'a str),
    /// A trial ended.
    TrialEnded(&'a Trial),
}

/// Takes events. The harness waits for each before it goes on.
pub trait Sink: Send {
    /// Takes one event.
    ///
    /// # Errors
    ///
    /// An error ends the study.
    fn take<'a>(&'a mut self, event: &'a Event<'a>) -> Fut<'a, Result<(), SinkError>>;
}

/// A sink could not take an event.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct SinkError(#[from] pub Box<dyn std::error::Error + Send + Sync>);
