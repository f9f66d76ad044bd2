//! When requests come.

use std::collections::VecDeque;
use std::time::Duration;

use stampede_core::{Arrivals, Position, Random, Schedule};

/// Where requests come from.
#[derive(Clone, Debug)]
pub enum Traffic {
    /// Due at times of their own.
    Open {
        /// How many are expected to be due, and when.
        schedule: Schedule,
        /// How they are spread around that.
        arrivals: Arrivals,
    },
    /// At recorded times, in order.
    Trace(Vec<Duration>),
    /// So many clients, each of which sends its next request a round trip after the previous answer.
    Closed {
        /// How many.
        clients: u32,
        /// Between client and platform, there and back.
        round_trip: Duration,
    },
}

/// A request: when it came, and of which client. Open loads have one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) arrived: u64,
    pub(crate) client: u32,
}

/// The next requests of some traffic, one after the other.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    traffic: &'a Traffic,
    /// Number of the next request.
    number: u64,
    /// Arrivals that are expected until the next, of a Poisson process.
    position: Position,
    /// Positions of the random stage that is under way.
    drawn: VecDeque<Position>,
    /// Clients that send again, in the order in which they do.
    clients: VecDeque<Request>,
    next: Option<Request>,
    random: Random,
}

impl<'a> Source<'a> {
    pub(crate) fn new(traffic: &'a Traffic, mut random: Random) -> Self {
        let mut clients = VecDeque::new();
        if let Traffic::Closed { clients: count, round_trip } = traffic {
            // Nobody begins at the same instant as another.
            let spread = round_trip.as_nanos().max(1_000_000) as f64;
            clients = (0..*count)
                .map(|client| Request { arrived: (random.uniform() * spread) as u64, client })
                .collect::<Vec<_>>()
                .into();
            clients.make_contiguous().sort_by_key(|request| (request.arrived, request.client));
        }
        let mut source = Self { traffic, number: 0, position: 0, drawn: VecDeque::new(), clients, next: None, random };
        source.advance();
        source
    }

    /// When the next request comes, in nanoseconds.
    pub(crate) fn due(&self) -> u64 {
        self.next.map_or(u64::MAX, |request| request.arrived)
    }

    /// The next request.
    pub(crate) fn take(&mut self) -> Option<Request> {
        let request = self.next.take();
        self.advance();
        request
    }

    /// A request has been answered at a time, or turned away.
    pub(crate) fn answered(&mut self, request: Request, now: u64) {
        if let Traffic::Closed { round_trip, .. } = self.traffic {
            // One that is turned away at once must not come back in the same instant for ever.
            let pause = round_trip.as_nanos() as u64;
            let pause = if request.arrived == now { pause.max(1_000_000) } else { pause };
            let again = Request { arrived: now + pause, ..request };
            let place = self.clients.partition_point(|other| other.arrived <= again.arrived);
            self.clients.insert(place, again);
            if let Some(next) = self.next.take() {
                let place = self.clients.partition_point(|other| other.arrived < next.arrived);
                self.clients.insert(place, next);
            }
            self.advance();
        }
    }

    fn advance(&mut self) {
        self.next = match self.traffic {
            Traffic::Closed { .. } => self.clients.pop_front(),
            Traffic::Trace(times) => {
                times.get(self.number as usize).map(|at| Request { arrived: at.as_nanos() as u64, client: 0 })
            }
            Traffic::Open { schedule, arrivals } => self
                .scheduled(schedule, *arrivals)
                .map(|due| Request { arrived: u64::try_from(due.as_nanos()).unwrap_or(u64::MAX), client: 0 }),
        };
        self.number += 1;
    }

    fn scheduled(&mut self, schedule: &Schedule, arrivals: Arrivals) -> Option<Duration> {
        match arrivals {
            Arrivals::Poisson => {
                self.position += (self.random.exponential() * Schedule::ARRIVAL as f64) as Position;
                schedule.due_at(self.position)
            }
            Arrivals::Uniform => {
                if self.drawn.is_empty()
                    && let Some((numbers, positions)) = schedule.random_stage(self.number)
                {
                    let width = (positions.end - positions.start) as f64;
                    let mut drawn: Vec<Position> = (self.number..numbers.end)
                        .map(|_| positions.start + ((1.0 - self.random.uniform()) * width) as Position)
                        .collect();
                    drawn.sort_unstable();
                    self.drawn = drawn.into();
                }
                match self.drawn.pop_front() {
                    Some(position) => schedule.due_at(position),
                    None => schedule.due(self.number),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(traffic: &Traffic, until: f64) -> Vec<f64> {
        let mut source = Source::new(traffic, Random(5));
        let mut times = Vec::new();
        while source.due() as f64 / 1e9 < until {
            times.extend(source.take().map(|request| request.arrived as f64 / 1e9));
        }
        times
    }

    fn open(schedule: &str, arrivals: Arrivals) -> Traffic {
        Traffic::Open { schedule: schedule.parse().unwrap(), arrivals }
    }

    #[test]
    fn requests_come_when_the_load_says() {
        assert_eq!(times(&open("4", Arrivals::Uniform), 1.0), [0.0, 0.25, 0.5, 0.75]);
        // As many as the schedule expects, in order, in a random stage too.
        for (schedule, until, count) in [("10/10s,10..50/10s", 20.0, 400), ("random:5/15s,10", 20.0, 125)] {
            let times = times(&open(schedule, Arrivals::Uniform), until);
            assert_eq!(times.len(), count, "{schedule}");
            assert!(times.windows(2).all(|pair| pair[0] <= pair[1]), "{schedule}");
        }
        // A Poisson process: 10,000 expected, the standard deviation is 100.
        let count = times(&open("1000", Arrivals::Poisson), 10.0).len();
        assert!((9_600..10_400).contains(&count), "{count}");
        let trace = Traffic::Trace([100, 250, 900].map(Duration::from_millis).to_vec());
        assert_eq!(times(&trace, 10.0), [0.1, 0.25, 0.9]);
    }

    #[test]
    fn clients_send_a_round_trip_after_their_answer() {
        let traffic = Traffic::Closed { clients: 2, round_trip: Duration::from_millis(10) };
        let mut source = Source::new(&traffic, Random(1));
        let (first, second) = (source.take().unwrap(), source.take().unwrap());
        assert_ne!(first.client, second.client);
        assert!(source.take().is_none());
        source.answered(second, 50_000_000);
        source.answered(first, 40_000_000);
        let (a, b) = (source.take().unwrap(), source.take().unwrap());
        assert_eq!((a.client, a.arrived, b.arrived), (first.client, 50_000_000, 60_000_000));
    }
}
