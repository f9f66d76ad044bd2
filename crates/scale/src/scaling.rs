//! How many instances a service may have, who decides that, and what they cost.

use std::time::Duration;

use crate::billing::Price;
use crate::controller::Policy;
use crate::queue::QueueLimits;
use crate::service::ServiceSettings;
use stampede_core::ScaledService;

/// What the platform that is acted out is given.
#[derive(Clone, Copy, Debug)]
pub struct Scaling {
    /// The service.
    pub service: ServiceSettings,
    /// Its autoscaler.
    pub policy: Policy,
    /// For how long a request waits for an instance, where it is not the policy that says so.
    pub queue_wait: Option<Duration>,
    /// How it is billed.
    pub price: &'static Price,
    /// How many processors all instances share, where that was said.
    pub total_cpus: Option<u32>,
}

impl Scaling {
    /// The most CPU that its instances are allowed together, in CPUs.
    pub fn cpus(&self) -> f64 {
        f64::from(self.service.max_instances) * self.service.cpus.cores()
    }

    /// How requests wait, where an instance takes so long to start.
    pub fn queue(&self, start: Duration) -> QueueLimits {
        let queue = self.policy.queue(&self.service, start);
        QueueLimits { wait: self.queue_wait.unwrap_or(queue.wait).min(self.service.request_timeout), ..queue }
    }

    /// What is kept of it with each trial, where an instance takes so long to start.
    pub fn given(&self, start: Duration) -> ScaledService {
        let Self { service, policy, queue_wait: _, price, total_cpus } = self;
        let queue = self.queue(start);
        ScaledService {
            policy: policy.name().to_owned(),
            concurrency: policy.concurrency(service),
            min_instances: service.min_instances,
            max_instances: service.max_instances,
            queue_length: queue.length,
            queue_wait: queue.wait,
            request_timeout: service.request_timeout,
            start,
            price: price.id.to_owned(),
            total_cpus: *total_cpus,
        }
    }
}
