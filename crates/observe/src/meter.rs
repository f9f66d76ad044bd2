//! Reads a deployment's counters where its platform says they are.

use stampede_cgroup::{FileError, GroupCounters};
use stampede_core::{Counters, Memory, MeterSource};
use thiserror::Error;

/// Reads the counters of one deployment.
#[derive(Clone, Debug)]
pub struct Meter {
    sources: Vec<MeterSource>,
}

impl Meter {
    /// A meter over all sources of a deployment; `None` where there are none, as where no control group can be made.
    pub fn new(sources: Vec<MeterSource>) -> Option<Self> {
        (!sources.is_empty()).then_some(Self { sources })
    }

    /// Reads all counters now; sources are added up. Costs a handful of small reads, some 50 us.
    ///
    /// # Errors
    ///
    /// When the kernel's file cannot be read or is not understood.
    pub fn read(&self) -> Result<Counters, ObserveError> {
        let mut sum = Counters::default();
        for source in &self.sources {
            let read = match source {
                MeterSource::CgroupV1 { cpu, cpuacct, memory } => stampede_cgroup::read_v1(cpu, cpuacct, memory),
                MeterSource::CgroupV2 { dir } => stampede_cgroup::read_v2(dir),
            };
            sum += counters(read.map_err(ObserveError)?);
        }
        Ok(sum)
    }
}

fn counters(read: GroupCounters) -> Counters {
    let GroupCounters {
        cpu,
        periods,
        throttled_periods,
        throttled,
        anonymous,
        shared,
        kernel,
        cache,
        oom_kills,
        major_faults,
        file_refaults,
        limit_hits,
        swap,
    } = read;
    Counters {
        cpu,
        periods,
        throttled_periods,
        throttled,
        memory: Memory { anonymous, shared, kernel, cache },
        oom_kills,
        major_faults,
        file_refaults,
        limit_hits,
        swap,
    }
}

/// Counters could not be read.
#[derive(Debug, Error)]
#[error("read the deployment's counters")]
pub struct ObserveError(#[source] FileError);
