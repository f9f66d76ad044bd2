//! A service as its owner configures it, and what cannot be so.

use std::time::Duration;

use stampede_core::{Bytes, Cpus};

/// When an instance may use its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuAllocation {
    /// While it works on a request, and while it starts. What it is billed for is the same.
    DuringRequests,
    /// As long as it lives.
    Always,
}

/// What each instance is given, and how many there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceSettings {
    /// CPU of an instance.
    pub cpus: Cpus,
    /// Memory of an instance.
    pub memory: Bytes,
    /// The most requests that an instance is given at once.
    pub concurrency: u32,
    /// The fewest instances, at all times.
    pub min_instances: u32,
    /// The most instances.
    pub max_instances: u32,
    /// When they may use CPU.
    pub cpu_allocation: CpuAllocation,
    /// Whether an instance has more CPU while it starts; see [`ServiceSettings::start_cpus`].
    pub start_up_boost: bool,
    /// From a request's arrival to the end of its answer; what takes longer is given up.
    pub request_timeout: Duration,
}

impl ServiceSettings {
    /// Instances that have CPU while they have a request, start without a boost, and are there as requests come.
    pub fn on_demand(cpus: Cpus, memory: Bytes, concurrency: u32, min_instances: u32, max_instances: u32) -> Self {
        Self {
            cpus,
            memory,
            concurrency,
            min_instances,
            max_instances,
            cpu_allocation: CpuAllocation::DuringRequests,
            start_up_boost: false,
            request_timeout: Self::REQUEST_TIMEOUT,
        }
    }

    /// The least CPU that can be configured on Cloud Run (cloud.google.com/run/docs/configuring/services/cpu, read 2026-11).
    pub const LEAST_CPUS: Cpus = Cpus::from_millis(80);
    /// The most (same page).
    pub const MOST_CPUS: Cpus = Cpus::from_millis(8000);
    /// The default request time-out of Cloud Run (cloud.google.com/run/docs/configuring/request-timeout) and of Knative
    /// (`revision-timeout-seconds` of knative/serving's `config/core/configmaps/defaults.yaml`): both 300 s.
    pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(300);

    /// CPU while an instance starts. With the boost, what Cloud Run grants for each size: up to 1 CPU becomes 2, 2 become 4, 4
    /// and more become 8 (cloud.google.com/run/docs/configuring/services/cpu, "Startup CPU boost", read 2026-11).
    pub fn start_cpus(&self) -> Cpus {
        match (self.start_up_boost, self.cpus.millis()) {
            (false, _) => self.cpus,
            (true, ..=1000) => Cpus::from_millis(2000),
            (true, 1001..=2000) => Cpus::from_millis(4000),
            (true, _) => Cpus::from_millis(self.cpus.millis().max(8000)),
        }
    }

    /// All that cannot be so, whatever the policy.
    pub fn problems(&self) -> Vec<ServiceProblem> {
        let mut problems = Vec::new();
        if self.min_instances > self.max_instances {
            problems.push(ServiceProblem::MaxBelowMin { min: self.min_instances, max: self.max_instances });
        }
        if self.max_instances == 0 {
            problems.push(ServiceProblem::NoInstances);
        }
        if self.concurrency == 0 {
            problems.push(ServiceProblem::NoConcurrency);
        }
        if self.cpus < Self::LEAST_CPUS || self.cpus > Self::MOST_CPUS {
            problems.push(ServiceProblem::Cpus(self.cpus));
        }
        problems
    }
}

/// What cannot be so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceProblem {
    /// More instances must be there than may.
    MaxBelowMin {
        /// The fewest.
        min: u32,
        /// The most.
        max: u32,
    },
    /// There may be none.
    NoInstances,
    /// There may be no pod, of which Kubernetes' autoscaler would read the use of CPU.
    NoPod,
    /// An instance is given no request.
    NoConcurrency,
    /// Less or more CPU than an instance can have.
    Cpus(Cpus),
    /// More than one CPU, and not a number that is offered.
    Size(Cpus),
    /// Memory that does not go with the CPU.
    Memory {
        /// The CPU.
        cpus: Cpus,
        /// The memory.
        memory: Bytes,
        /// The least that goes with it.
        least: Bytes,
        /// The most.
        most: Bytes,
    },
    /// CPU always, with less than one.
    AlwaysBelowOne(Cpus),
}

impl ServiceProblem {
    /// The flag that is mistaken with its value, what is wrong with it, and what to do.
    pub fn parts(&self) -> [String; 3] {
        match self {
            Self::MaxBelowMin { min, max } => {
                let problem = format!("is below --min-instances {min}");
                parts(format!("--max-instances {max}"), problem, "raise one or lower the other")
            }
            Self::NoInstances => parts("--max-instances 0", "leaves nobody to answer", "give 1 or more"),
            Self::NoPod => parts("--min-instances 0", "leaves hpa no pod whose CPU it could read", "give 1 or more"),
            Self::NoConcurrency => parts("--concurrency 0", "gives an instance no request", "give 1 or more"),
            Self::Cpus(cpus) => {
                let fix = format!("give {} to {}", ServiceSettings::LEAST_CPUS, ServiceSettings::MOST_CPUS);
                parts(format!("--cpus {cpus}"), "is not what an instance can have", fix)
            }
            Self::Size(cpus) => {
                parts(format!("--cpus {cpus}"), "is not offered on Cloud Run", "give up to 1, or 2, 4, 6 or 8")
            }
            Self::Memory { cpus, memory, least, most } => {
                let problem = format!("does not go with {cpus} CPU on Cloud Run");
                parts(format!("--memory {memory}"), problem, format!("give {least} to {most}"))
            }
            Self::AlwaysBelowOne(cpus) => {
                parts("--cpu-always", format!("does not go with {cpus} CPU on Cloud Run"), "give --cpus 1 or more")
            }
        }
    }
}

fn parts(place: impl Into<String>, problem: impl Into<String>, fix: impl Into<String>) -> [String; 3] {
    [place.into(), problem.into(), fix.into()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVICE: ServiceSettings = ServiceSettings {
        cpus: Cpus::from_millis(1000),
        memory: Bytes::from_mib(512),
        concurrency: 80,
        min_instances: 0,
        max_instances: 100,
        cpu_allocation: CpuAllocation::DuringRequests,
        start_up_boost: true,
        request_timeout: ServiceSettings::REQUEST_TIMEOUT,
    };

    #[test]
    fn the_boost_follows_the_size() {
        for (cpus, boosted) in [(167, 2000), (1000, 2000), (2000, 4000), (4000, 8000), (8000, 8000)] {
            let service = ServiceSettings { cpus: Cpus::from_millis(cpus), ..SERVICE };
            assert_eq!(service.start_cpus().millis(), boosted, "{cpus}");
            assert_eq!(ServiceSettings { start_up_boost: false, ..service }.start_cpus().millis(), cpus);
        }
    }

    #[test]
    fn all_that_is_wrong_is_told() {
        assert!(SERVICE.problems().is_empty());
        let wrong = ServiceSettings {
            min_instances: 3,
            max_instances: 0,
            concurrency: 0,
            cpus: Cpus::from_millis(79),
            ..SERVICE
        };
        assert_eq!(wrong.problems().len(), 4, "{:?}", wrong.problems());
    }
}
