//! Ends streams of events: with the event that a step waits for, or with its time.

use std::time::Instant;

use super::User;
use crate::driver::{Driver, Timer};
use crate::io::Io;

impl User {
    /// Whether it hears a stream of events that only its own time ends.
    pub(super) fn hears_for_its_time<I: Io>(&self, driver: &Driver<I>) -> bool {
        let is_timed = driver.exchanges.get(self.exchange).is_some_and(|exchange| exchange.hears_for.is_some());
        is_timed && self.is_exchanging() && self.journey.as_ref().is_some_and(|journey| journey.is_hearing())
    }

    /// Ends the stream of events that it hears, if its time is over; one whose head has not come yet ends with that.
    pub(super) fn end_hearing<I: Io>(&mut self, driver: &mut Driver<I>, now: Instant) {
        let is_timed = driver.exchanges.get(self.exchange).is_some_and(|exchange| exchange.hears_for.is_some());
        if !is_timed || !self.is_exchanging() {
            return;
        }
        if self.hears_until > now {
            self.hearing_ends = Some(self.hears_until);
            return driver.set_timer(self.hears_until, self.token, Timer::Hearing);
        }
        if let Some(journey) = &mut self.journey {
            journey.end_hearing(self.hears_until >= driver.timeline.rests_at);
            if journey.has_heard_enough() {
                self.heard_enough(driver, now);
            }
        }
    }

    /// What has come of its answer is enough: it counts as complete.
    #[cold]
    pub(super) fn heard_enough<I: Io>(&mut self, driver: &mut Driver<I>, now: Instant) {
        if let Some(connection) = driver.connections.get_mut(self.connection) {
            connection.hang_up(&mut driver.io, self.key);
            if connection.has_output() {
                driver.unflushed.push(self.connection);
            }
        }
        self.answered(driver, now);
    }
}
