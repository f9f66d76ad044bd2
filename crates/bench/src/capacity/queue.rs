//! Servers that are only computed, first come, first served.

use stampede_core::Random;

/// A server whose answers to any load are known.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Server {
    /// So many workers with exponential service times of this mean, in seconds: M/M/c under random arrivals.
    Exponential { workers: usize, service: f64 },
    /// One worker whose service always takes this long: M/D/1.
    Constant { service: f64 },
    /// One worker that uses this much CPU time on average, exponential, and stands still until a period's end when that has
    /// used up its quota, as under a control group.
    Quota { cpu: f64, period: f64, quota: f64 },
}

/// A server at work.
pub(crate) struct Queue {
    server: Server,
    random: Random,
    /// When each worker is free.
    free: Vec<f64>,
    /// The period that the quota was last used in, and how much of it.
    used: (f64, f64),
}

impl Queue {
    pub(crate) fn new(server: Server, seed: u64) -> Self {
        let workers = if let Server::Exponential { workers, .. } = server { workers } else { 1 };
        Self { server, random: Random(seed), free: vec![0.0; workers], used: (0.0, 0.0) }
    }

    /// When the answer to a request is there that comes at this time. Times never go back.
    pub(crate) fn serve(&mut self, at: f64) -> f64 {
        let mut next = 0;
        for worker in 1..self.free.len() {
            if self.free[worker] < self.free[next] {
                next = worker;
            }
        }
        let begins = at.max(self.free[next]);
        let end = match self.server {
            Server::Exponential { service, .. } => begins + service * self.random.exponential(),
            Server::Constant { service } => begins + service,
            Server::Quota { cpu, period, quota } => {
                let wanted = cpu * self.random.exponential();
                self.work(begins, wanted, period, quota)
            }
        };
        self.free[next] = end;
        end
    }

    fn work(&mut self, begins: f64, mut wanted: f64, period: f64, quota: f64) -> f64 {
        let mut now = begins;
        // Of a time that rounding leaves just below a period's beginning, the period counts.
        let mut number = self.used.0.max((now / period).floor());
        loop {
            if number > self.used.0 {
                self.used = (number, 0.0);
            }
            let end = (number + 1.0) * period;
            let run = wanted.min(quota - self.used.1).min(end - now).max(0.0);
            self.used.1 += run;
            wanted -= run;
            now += run;
            if wanted <= 0.0 {
                return now;
            }
            number += 1.0;
            now = now.max(end);
        }
    }

    /// The most requests a second that it can serve.
    pub(crate) fn capacity(server: Server) -> f64 {
        match server {
            Server::Exponential { workers, service } => workers as f64 / service,
            Server::Constant { service } => 1.0 / service,
            Server::Quota { cpu, period, quota } => quota / period / cpu,
        }
    }
}
