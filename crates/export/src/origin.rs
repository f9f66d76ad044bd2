//! Where files come from, for those who read them.

use stampede_core::{Candidate, Case, Limits, Load, ScaledService, Study, WorkloadId};

use crate::target::Target;

/// A case that was measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// In which study.
    pub study: Study,
    /// The case.
    pub case: Case,
    /// Where it is an instance of an autoscaled service.
    pub service: Option<ScaledService>,
}

/// What is exported.
#[derive(Clone, Copy, Debug)]
pub struct BundleOrigin<'a> {
    /// For what.
    pub target: Target,
    /// The runtime with its settings.
    pub candidate: &'a Candidate,
    /// The runtime's version.
    pub version: &'a str,
    /// What it serves.
    pub workload: &'a WorkloadId,
    /// What it may use.
    pub limits: &'a Limits,
    /// What it is set for.
    pub load: &'a Load,
    /// What it was in a study.
    pub measured: Option<&'a Measured>,
}

impl BundleOrigin<'_> {
    /// A line each.
    pub fn lines(&self) -> Vec<String> {
        let Self { target, candidate, version, workload, limits, load, measured } = self;
        let by = format!("Made by stampede export {} (stampede {})", target.id(), env!("CARGO_PKG_VERSION"));
        let of = match measured {
            Some(Measured { study, case, .. }) => format!(
                "from case {} of study {}, which measured {} on {}.",
                case.id,
                study.id,
                case.runtime_version,
                study.started_at.strftime("%Y-%m-%d")
            ),
            None => format!("from {} serving {workload}, which was not measured.", candidate.runtime.id()),
        };
        let settings = format!("Settings for {version}, {} CPUs, {} and {load}.", limits.cpus, limits.memory);
        let service = measured.and_then(|measured| measured.service.as_ref()).map(|service| {
            let ScaledService { policy, concurrency, min_instances, max_instances, .. } = service;
            format!(
                "This is one of {min_instances} to {max_instances} instances by the rules of {policy}, given {concurrency} \
                 requests at once at the most."
            )
        });
        [by, of, settings].into_iter().chain(service).collect()
    }
}
