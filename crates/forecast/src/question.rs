//! A question: services of some sizes under one load. Its points are simulated beside one another.

use stampede_scale::{Policy, Price};

use crate::parallel::in_parallel;
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
        in_parallel(points.len(), |number| {
            let point = points[number].clone();
            let forecast = forecast(&point.scenario, &calibration.shape, price, *rounds, *seed);
            ForecastPoint { point, forecast }
        })
    }
}
