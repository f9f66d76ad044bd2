//! A question: services of some sizes under one load. Its points are simulated beside one another.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use stampede_scale::{Policy, Price};

use crate::{Calibration, Forecast, SimulationSetup, forecast};

/// The request.
#[derive(Clone, Debug)]
pub struct ForecastQuestion {
    /// The load as it was asked for, so many times it included.
    pub load: String,
    /// How instances are started and ended.
    pub policy: Policy,
    /// What it costs.
    pub price: &'static Price,
    /// How often each point is simulated.
    pub rounds: u32,
    /// What luck is drawn from.
    pub seed: u64,
    /// The services.
    pub points: Vec<ServicePoint>,
}

/// A service of one size.
#[derive(Clone, Debug)]
pub struct ServicePoint {
    /// What is simulated.
    pub scenario: SimulationSetup,
    /// The most requests that an instance is given at once, by the platform's rules.
    pub concurrency: u32,
    /// The workers of an instance.
    pub workers: u32,
    /// Why it is beyond what was measured.
    pub extrapolated: Option<String>,
}

/// A service of one size, and what it is expected to do.
#[derive(Clone, Debug)]
pub struct ForecastPoint {
    /// The service.
    pub point: ServicePoint,
    /// What came of it.
    pub forecast: Forecast,
}

impl ForecastQuestion {
    /// Simulates all points, as many at a time as there are processors. What comes out does not depend on their number.
    pub fn answer(&self, calibration: &Calibration) -> Vec<ForecastPoint> {
        let Self { price, rounds, seed, points, .. } = self;
        let threads = thread::available_parallelism().map_or(1, NonZero::get).min(points.len());
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            while let Some((number, point)) =
                Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|number| Some((number, points.get(number)?)))
            {
                let forecast = forecast(&point.scenario, &calibration.shape, price, *rounds, *seed);
                done.push((number, ForecastPoint { point: point.clone(), forecast }));
            }
            done
        };
        let mut done: Vec<_> = thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
        });
        done.sort_by_key(|(number, _)| *number);
        done.into_iter().map(|(_, answered)| answered).collect()
    }
}
