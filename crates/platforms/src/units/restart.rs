//! Whether a unit that ended by itself is started again, and when to give up. Reads no clock.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use stampede_core::Restart;

use super::end::End;

/// How long a unit stays away: what systemd's `RestartSec=` has by default.
/// <https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html#RestartSec=>
const PAUSE: Duration = Duration::from_millis(100);

/// Units that end this often within [`LOOP_TIME`] would go on like that.
const LOOP_ENDS: usize = 4;

/// Within this time a loop of restarts is found.
const LOOP_TIME: Duration = Duration::from_secs(5);

/// What becomes of a unit that has ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It is started again at this time.
    Start(Instant),
    /// It stays as it is: how it ended, in words.
    Stay(String),
}

/// The ends of one unit so far.
#[derive(Debug)]
pub(crate) struct Restarter {
    policy: Restart,
    ends: VecDeque<Instant>,
}

impl Restarter {
    pub(crate) fn new(policy: Restart) -> Self {
        Self { policy, ends: VecDeque::new() }
    }

    /// Whether its unit may be started again.
    pub(crate) fn may_come(&self) -> bool {
        self.policy != Restart::Never
    }

    /// Takes an end in.
    pub(crate) fn next(&mut self, end: End, now: Instant) -> Next {
        if self.policy == Restart::Never || end == End::Exited(0) {
            return Next::Stay(end.to_string());
        }
        self.ends.push_back(now);
        if self.ends.len() > LOOP_ENDS {
            self.ends.pop_front();
        }
        match self.ends.front().map(|first| now.saturating_duration_since(*first)) {
            Some(since) if self.ends.len() == LOOP_ENDS && since <= LOOP_TIME => Next::Stay(format!(
                "{end}, for the {LOOP_ENDS}th time within {since:.1?}: it would be a loop of restarts"
            )),
            _ => Next::Start(now + PAUSE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_comes_back_until_it_is_a_loop() {
        let begin = Instant::now();
        let at = |millis: u64| begin + Duration::from_millis(millis);
        let stays = |next: Next| matches!(next, Next::Stay(_));
        for (policy, end, times, last_stays) in [
            (Restart::Never, End::Exited(1), &[0u64][..], true),
            (Restart::OnFailure, End::Exited(0), &[0], true),
            (Restart::OnFailure, End::Exited(1), &[0, 110, 220], false),
            (Restart::OnFailure, End::Exited(1), &[0, 110, 220, 330], true),
            (Restart::OnFailure, End::Killed(9), &[0, 1600, 3200, 4800], true),
            (Restart::OnFailure, End::Exited(1), &[0, 2000, 4000, 6000, 8000, 10_000], false),
        ] {
            let mut restarter = Restarter::new(policy);
            let mut next = Next::Stay(String::new());
            for time in times {
                next = restarter.next(end, at(*time));
            }
            assert_eq!(stays(next), last_stays, "{policy:?} {end} {times:?}");
        }
        let mut restarter = Restarter::new(Restart::OnFailure);
        assert_eq!(restarter.next(End::Exited(1), at(0)), Next::Start(at(100)));
    }
}
