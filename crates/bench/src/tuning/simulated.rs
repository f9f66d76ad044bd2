//! Grids that are made up: servers whose rate follows from workers, cores, waiting and memory.

use std::collections::BTreeMap;

use stampede_analysis::{Knob, Point, Space};
use stampede_core::Role;
use stampede_stats::SplitMix64;

use super::grid::{Grid, TRIALS};

/// The standard deviation of a trial, as a share.
const NOISE: f64 = 0.03;

/// A server: how long a request waits and computes, what each worker costs the others, how many workers memory holds, and what
/// modes, front workers and transport do.
struct Server {
    name: &'static str,
    wait_ms: f64,
    compute_ms: f64,
    switching: f64,
    fit: f64,
    modes: [f64; 3],
    fronts: [f64; 3],
    transports: [f64; 2],
}

const SERVERS: [Server; 6] = [
    Server {
        name: "waits much",
        wait_ms: 40.0,
        compute_ms: 1.0,
        switching: 0.001,
        fit: 96.0,
        modes: [1.0, 0.97, 0.85],
        fronts: [1.0, 1.05, 0.95],
        transports: [1.0, 0.94],
    },
    Server {
        name: "waits some",
        wait_ms: 12.0,
        compute_ms: 2.0,
        switching: 0.004,
        fit: 48.0,
        modes: [1.0, 1.04, 0.9],
        fronts: [1.0, 1.0, 0.97],
        transports: [1.0, 1.03],
    },
    Server {
        name: "computes",
        wait_ms: 0.5,
        compute_ms: 8.0,
        switching: 0.05,
        fit: 24.0,
        modes: [1.0, 0.99, 0.7],
        fronts: [1.0, 1.1, 1.3],
        transports: [1.0, 0.97],
    },
    Server {
        name: "a small memory",
        wait_ms: 20.0,
        compute_ms: 2.0,
        switching: 0.003,
        fit: 12.0,
        modes: [1.0, 1.08, 1.02],
        fronts: [1.0, 0.95, 0.9],
        transports: [1.0, 0.9],
    },
    Server {
        name: "a front that is the limit",
        wait_ms: 6.0,
        compute_ms: 1.0,
        switching: 0.002,
        fit: 200.0,
        modes: [1.0, 0.98, 0.95],
        fronts: [1.0, 1.5, 1.7],
        transports: [1.0, 1.1],
    },
    Server {
        name: "a mode that is wrong",
        wait_ms: 10.0,
        compute_ms: 1.5,
        switching: 0.01,
        fit: 64.0,
        modes: [1.0, 1.15, 1.45],
        fronts: [1.0, 1.02, 0.98],
        transports: [1.0, 0.99],
    },
];

/// All of them, with noise of this seed.
pub(crate) fn grids(seed: u64) -> Vec<Grid> {
    let mut random = SplitMix64::new(seed);
    SERVERS.iter().map(|server| grid(server, &mut random)).collect()
}

fn grid(server: &Server, random: &mut SplitMix64) -> Grid {
    let knob = |name: &str, role, levels: &[&str], ordered| Knob {
        name: name.to_owned(),
        role,
        levels: levels.iter().map(|level| (*level).to_owned()).collect(),
        ordered,
    };
    let knobs = vec![
        knob("workers", Role::PoolSize, &["1", "2", "4", "8", "16", "32", "64", "128"], true),
        knob("mode", Role::PoolMode, &["static", "dynamic", "ondemand"], false),
        knob("front", Role::FrontWorkers, &["1", "2", "4"], true),
        knob("transport", Role::Transport, &["unix", "tcp"], false),
    ];
    let mut cells = BTreeMap::new();
    for workers in 0..knobs[0].levels.len() {
        for mode in 0..3 {
            for front in 0..3 {
                for transport in 0..2 {
                    let rate = server.rate(&vec![workers, mode, front, transport]);
                    let trials = (0..TRIALS).map(|_| rate * (NOISE * normal(random)).exp()).collect();
                    cells.insert(vec![workers, mode, front, transport], trials);
                }
            }
        }
    }
    Grid { name: server.name.to_owned(), under: Vec::new(), space: Space { knobs, default: vec![2, 0, 0, 0] }, cells }
}

impl Server {
    fn rate(&self, point: &Point) -> f64 {
        let workers = f64::from(1 << point[0]);
        let by_workers = workers / (self.wait_ms + self.compute_ms);
        let by_cpu = 1.0 / (self.compute_ms * (1.0 + self.switching * workers));
        // A smooth minimum: near its limit a server is slower than either.
        let rate = (by_workers.powi(-4) + by_cpu.powi(-4)).powf(-0.25);
        let memory = if workers > self.fit { 0.4 } else { 1.0 };
        rate * memory * self.modes[point[1]] * self.fronts[point[2]] * self.transports[point[3]]
    }
}

/// Box and Muller.
fn normal(random: &mut SplitMix64) -> f64 {
    let mut uniform = || (random.index(1 << 30) as f64 + 0.5) / f64::from(1 << 30);
    let (radius, angle) = ((-2.0 * uniform().ln()).sqrt(), std::f64::consts::TAU * uniform());
    radius * angle.cos()
}
