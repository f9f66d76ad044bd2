//! The queues of a size: a pool of workers that share processors, and what waits for them.
//!
//! The pool is a closed network, whose requests share processors and otherwise wait; the whole is a queue of random arrivals which that
//! serves, at a rate that follows from how many are there (Chandy, Herzog and Woo, "Parametric analysis of queuing networks", IBM Journal
//! of Research and Development 19, 1975).

use super::grid::SizeCell;

/// More requests at once than these change nothing in the model.
const MOST_AT_ONCE: u32 = 256;

/// How often an interval is halved in which the time without CPU is: to a millionth of it.
const HALVINGS: u32 = 20;

/// A pool whose requests are each somewhere without a queue for a time, and then with one server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pool {
    /// Time with the server.
    demand: f64,
    /// Time elsewhere.
    delay: f64,
    workers: u32,
}

impl Pool {
    /// That of a size, or of one of its replicas, whose requests take so much CPU and so long without, in seconds.
    pub(super) fn of(cell: &SizeCell, work: f64, wait: f64) -> Self {
        let workers = if cell.workers == 0 { MOST_AT_ONCE } else { cell.workers.min(MOST_AT_ONCE) };
        let demand = work / cell.cpus.cores();
        Self { demand, delay: wait + Self::service(cell, work) - demand, workers }
    }

    /// How long a request takes for its CPU time where no other is there, in seconds.
    pub(super) fn service(cell: &SizeCell, work: f64) -> f64 {
        let cores = cell.cpus.cores();
        work * cores.ceil().max(1.0) / cores
    }

    /// How long requests are without CPU, beside what waits for others, if the mean response time at this rate is so long: 0 where the
    /// queues alone explain it.
    pub(super) fn wait_of(cell: &SizeCell, work: f64, rate: f64, mean: f64) -> f64 {
        let is_less =
            |wait: f64| Self::of(cell, work, wait).mean_response(rate).is_some_and(|modelled| modelled < mean);
        if !is_less(0.0) {
            return 0.0;
        }
        let halved = |(low, high): (f64, f64), _| {
            let middle = 0.5 * (low + high);
            if is_less(middle) { (middle, high) } else { (low, middle) }
        };
        let (low, high) = (0..HALVINGS).fold((0.0, mean), halved);
        0.5 * (low + high)
    }

    /// The mean response time at this rate of random arrivals, by Little's law. None where their queue grows without end.
    fn mean_response(self, rate: f64) -> Option<f64> {
        let throughputs = self.throughputs();
        let most = *throughputs.last()?;
        if rate >= most {
            return None;
        }
        let (mut weight, mut all, mut there) = (1.0, 1.0, 0.0);
        for (throughput, number) in throughputs.iter().zip(1..) {
            weight *= rate / throughput;
            all += weight;
            there += f64::from(number) * weight;
        }
        // Beyond the pool each number is as much rarer than the one before: a geometric series from the last weight on.
        let falls = rate / most;
        let beyond = weight * falls / (1.0 - falls);
        let number = f64::from(self.workers.max(1)) + 1.0 / (1.0 - falls);
        Some((there + beyond * number) / (all + beyond) / rate)
    }

    /// Requests a second with 1, 2 and more at once, by mean value analysis (Reiser and Lavenberg, Journal of the ACM 27, 1980).
    fn throughputs(self) -> Vec<f64> {
        let mut queue = 0.0;
        let at = |n: u32| {
            let served = self.demand * (1.0 + queue);
            let throughput = f64::from(n) / (served + self.delay);
            queue = throughput * served;
            throughput
        };
        (1..=self.workers.max(1)).map(at).collect()
    }

    /// The response time that this share of requests is beyond, which come at random at this rate: that of one which finds as many as
    /// no larger share does. None where their queue grows without end.
    pub(super) fn response_beyond(self, rate: f64, share: f64) -> Option<f64> {
        let throughputs = self.throughputs();
        let most = *throughputs.last()?;
        if rate >= most {
            return None;
        }
        // The probabilities of 0, 1 and more requests, of which those beyond the pool fall off by the same share.
        let mut weight = 1.0;
        let mut weights = vec![weight];
        for throughput in &throughputs {
            weight *= rate / throughput;
            weights.push(weight);
        }
        let falls = rate / most;
        let beyond_pool = weights.pop()? / (1.0 - falls);
        let all = weights.iter().sum::<f64>() + beyond_pool;
        let together = |there: usize| there as f64 / throughputs.get(there.max(1) - 1).copied().unwrap_or(most);
        let response = |found: f64| {
            let there = found.floor() as usize + 1;
            together(there) + found.fract() * (together(there + 1) - together(there))
        };
        let mut tail = beyond_pool / all;
        if tail > share {
            return Some(response(f64::from(self.workers.max(1)) + (share / tail).ln() / falls.ln()));
        }
        for (found, weight) in weights.iter().enumerate().rev() {
            let less = tail + weight / all;
            if less > share {
                let part = if tail > 0.0 { (less / share).ln() / (less / tail).ln() } else { 0.0 };
                return Some(response(found as f64 + part));
            }
            tail = less;
        }
        Some(response(0.0))
    }
}

#[cfg(test)]
mod tests {
    use stampede_core::{Bytes, Cpus};

    use super::*;

    #[test]
    fn a_pool_of_one_is_a_queue_whose_percentiles_are_known() {
        // M/M/1 at half its load of 100/s: N is geometric with 1/2, P(N >= 6.64) = 1 %, and each before it takes 10 ms.
        let pool = Pool { demand: 0.01, delay: 0.0, workers: 1 };
        let response = pool.response_beyond(50.0, 0.01).unwrap();
        assert!((response - 0.01 * (1.0 + 0.01_f64.ln() / 0.5_f64.ln())).abs() < 1e-9, "{response}");
        assert_eq!(pool.response_beyond(100.0, 0.01), None);
        // However many share a processor, it does as much.
        let shared = Pool { workers: 64, ..pool }.response_beyond(50.0, 0.01).unwrap();
        assert!((shared / response - 1.0).abs() < 0.06, "{shared} {response}");
        // Ten that wait 100 ms and use 1 ms of CPU: no more than 100/s.
        let waits = Pool { demand: 0.001, delay: 0.1, workers: 10 };
        assert!(waits.response_beyond(99.5, 0.01).is_none());
        let few = waits.response_beyond(20.0, 0.01).unwrap();
        assert!((0.1..0.11).contains(&few), "{few}");
    }

    #[test]
    fn a_mean_response_time_tells_how_long_requests_wait_without_cpu() {
        // M/M/1: 1 / (100 - 50) s. M/M/2 at half its load of 200/s: 1 / (100 (1 - 1/4)) s (Erlang).
        let one = Pool { demand: 0.01, delay: 0.0, workers: 1 };
        assert!((one.mean_response(50.0).unwrap() - 0.02).abs() < 1e-12);
        let two = Pool { demand: 0.0, delay: 0.01, workers: 2 };
        assert!((two.mean_response(100.0).unwrap() - 1.0 / 75.0).abs() < 1e-12);
        assert_eq!(two.mean_response(200.0), None);
        let cell = |cpus, workers| SizeCell {
            runtime: 0,
            replicas: 1,
            spare: 0,
            cpus: Cpus::from_millis(cpus),
            memory: Bytes::from_mib(64),
            workers,
            price: 1.0,
        };
        for (size, wait) in [(cell(500, 4), 0.012), (cell(500, 0), 0.012), (cell(2_000, 2), 0.02), (cell(500, 4), 0.0)]
        {
            let mean = Pool::of(&size, 0.003, wait).mean_response(60.0).unwrap();
            let found = Pool::wait_of(&size, 0.003, 60.0, mean);
            assert!((found - wait).abs() < 1e-6, "{size:?}: {found}");
        }
        // A quota that is not used up makes nobody wait: quicker than the model.
        assert_eq!(Pool::wait_of(&cell(500, 4), 0.003, 60.0, 0.003), 0.0);
        assert_eq!(Pool::wait_of(&cell(100, 4), 0.003, 60.0, 1.0), 0.0, "a queue without end explains anything");
    }
}
