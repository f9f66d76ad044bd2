//! Reads a deployment's counters where its platform says they are.

use stampede_cgroup::FileError;
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
            add(&mut sum, read.map_err(ObserveError)?);
        }
        Ok(sum)
    }
}

fn add(sum: &mut Counters, read: stampede_cgroup::GroupCounters) {
    let stampede_cgroup::GroupCounters {
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
    let Memory { anonymous: all_anonymous, shared: all_shared, kernel: all_kernel, cache: all_cache } = &mut sum.memory;
    *all_anonymous += anonymous;
    *all_shared += shared;
    *all_kernel += kernel;
    *all_cache += cache;
    sum.cpu += cpu;
    sum.periods += periods;
    sum.throttled_periods += throttled_periods;
    sum.throttled += throttled;
    sum.oom_kills += oom_kills;
    sum.major_faults += major_faults;
    sum.file_refaults = both(sum.file_refaults, file_refaults);
    sum.limit_hits = both(sum.limit_hits, limit_hits);
    sum.swap = both(sum.swap, swap);
}

/// The sum of what is known.
fn both(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a.into_iter().chain(b).reduce(|a, b| a + b)
}

/// Counters could not be read.
#[derive(Debug, Error)]
#[error("read the deployment's counters")]
pub struct ObserveError(#[source] FileError);
