//! A fleet of a given size under a load that keeps it busy.

use std::time::Duration;

use stampede_core::{Arrivals, Bytes, Cpus, Random};
use stampede_forecast::{InstanceModel, Shape, SimulationSetup, Start, Traffic, Work};
use stampede_scale::{CloudRunParameters, CpuAllocation, Policy, ServiceSettings};

/// Requests at once on an instance, at most.
const CONCURRENCY: u32 = 10;
/// CPU time of the mean request.
const WORK: Duration = Duration::from_millis(100);
/// How busy instances are.
const UTILISATION: f64 = 0.6;

/// Work that varies as service times of PHP applications do: exponential.
pub(crate) struct Exponential;

impl Shape for Exponential {
    fn draw(&self, random: &mut Random) -> f64 {
        random.exponential()
    }

    fn mean(&self) -> f64 {
        1.0
    }
}

/// Arrivals a second at so many instances of one CPU.
pub(crate) fn rate(instances: u32) -> f64 {
    f64::from(instances) * UTILISATION / WORK.as_secs_f64()
}

/// So many instances, for as long as about so many requests take.
#[expect(clippy::expect_used, reason = "the rate of every size that is asked for is one")]
pub(crate) fn scenario(instances: u32, requests: f64) -> SimulationSetup {
    let cpus = Cpus::from_millis(1000);
    let service = ServiceSettings {
        cpus,
        memory: Bytes::from_mib(512),
        concurrency: CONCURRENCY,
        min_instances: instances,
        max_instances: instances,
        cpu_allocation: CpuAllocation::DuringRequests,
        start_up_boost: false,
        request_timeout: ServiceSettings::REQUEST_TIMEOUT,
    };
    let policy = Policy::CloudRun(CloudRunParameters::default());
    let start = Start { cpu: Duration::from_millis(500), wait: Duration::from_millis(500) };
    let rate = rate(instances);
    SimulationSetup {
        service,
        policy,
        queue: policy.queue(&service, Duration::from_secs(1)),
        granularity: Duration::from_millis(100),
        instance: InstanceModel::new(cpus, CONCURRENCY, start, |_| 1.0),
        host_cpus: None,
        work: Work { cpu: WORK, wait: Duration::ZERO },
        traffic: Traffic::Open { schedule: format!("{rate:.3}").parse().expect("a rate"), arrivals: Arrivals::Poisson },
        warm_up: Duration::ZERO,
        duration: Duration::from_secs_f64(requests / rate),
    }
}
