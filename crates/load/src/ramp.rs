//! Which users of a closed load are there, and when, where their number changes.

use std::time::{Duration, Instant};

use stampede_core::Population;

/// The users of a crowd on one thread. Those who share a connection come and go together.
#[derive(Debug)]
pub(crate) struct Ramp {
    population: Population,
    /// The stages begin with the window; before it, their first number is held.
    opens_at: Instant,
    /// The number of the first user on the thread, and how many share a connection.
    first: usize,
    sharers: usize,
    /// The place of the thread among those that have the crowd, and their count: connections are dealt out in turn, so
    /// that all threads grow together.
    thread: u64,
    threads: u64,
    /// Users who are not there at present, or have nothing to do before they go.
    pub(crate) away: usize,
}

impl Ramp {
    pub(crate) fn new(
        population: Population,
        opens_at: Instant,
        (first, sharers): (usize, usize),
        (thread, threads): (u64, u64),
    ) -> Self {
        Self { population, opens_at, first, sharers, thread, threads, away: 0 }
    }

    /// The first instant from this one on at which a user is there.
    pub(crate) fn joins(&self, token: usize, from: Instant) -> Option<Instant> {
        self.first(token, from, Population::joins)
    }

    /// The first instant from this one on at which a user is not there.
    pub(crate) fn leaves(&self, token: usize, from: Instant) -> Option<Instant> {
        self.first(token, from, Population::leaves)
    }

    fn first(
        &self,
        token: usize,
        from: Instant,
        of: fn(&Population, u32, Duration) -> Option<Duration>,
    ) -> Option<Instant> {
        let since = from.saturating_duration_since(self.opens_at);
        let at = of(&self.population, self.number(token), since)?;
        // What holds at the beginning holds before it.
        Some(if at.is_zero() { from } else { self.opens_at + at })
    }

    /// The number of a user's connection in the crowd.
    fn number(&self, token: usize) -> u32 {
        let local = token.saturating_sub(self.first) / self.sharers.max(1);
        u32::try_from(local as u64 * self.threads + self.thread).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_dealt_out_to_threads_and_the_first_number_holds_before_the_window() {
        let opens_at = Instant::now() + Duration::from_secs(100);
        let second = Duration::from_secs(1);
        let population: Population = "2..8/6s".parse().unwrap();
        // Two users a connection; users of other user classes come before them.
        let of = |thread| Ramp::new(population.clone(), opens_at, (10, 2), (thread, 2));
        let before = opens_at - 3 * second;
        for (thread, token, joins) in [(0, 10, before), (0, 11, before), (1, 10, before), (0, 12, opens_at + second)] {
            assert_eq!(of(thread).joins(token, before), Some(joins), "{thread} {token}");
        }
        assert_eq!(of(1).joins(13, opens_at), Some(opens_at + 2 * second));
        assert_eq!(of(1).joins(17, opens_at + 7 * second), Some(opens_at + 7 * second));
        assert_eq!((of(0).leaves(10, before), of(0).leaves(12, before)), (None, Some(before)));
    }
}
