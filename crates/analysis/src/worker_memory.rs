//! What the processes of a pool have of memory: each for itself, and all together.
//!
//! The usual formula for `pm.max_children` divides a machine's memory by the resident memory (RSS) of a worker. But RSS has the pages
//! in it that workers share: the opcode cache and what they have from the process that started them. They are there once.

use std::collections::BTreeMap;

use stampede_core::{Bytes, Gauge, ProcessId, Series, SeriesSource, Topology, Trial};

/// How many times the peak that was seen a limit of memory must be at least: what is left of it is for what was not seen.
pub const MEMORY_MARGIN: f64 = 1.1;

/// The memory of a pool of like processes, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkerMemory {
    /// How many processes were seen, in all replicas.
    pub workers: u32,
    /// How many replicas they belong to, where there is something before them.
    pub replicas: Option<u32>,
    /// What a worker has that no other has: the mean of the workers' peaks, and the largest of them.
    pub private: f64,
    /// See `private`.
    pub private_most: f64,
    /// What is resident of a worker, with what it shares (RSS): the mean.
    pub resident: f64,
    /// What the kernel keeps for a process: page tables, stacks, sockets.
    pub kernel: f64,
    /// What a replica needs besides, on average: what is shared, once, and its other processes.
    pub rest: f64,
}

impl WorkerMemory {
    /// That of a trial. The pool are those processes of one name that have most memory for themselves, without those that started
    /// others of it; nothing where no replica has two processes of one name, as where workers are threads, and where processes could
    /// not be looked into. What is before replicas and beside them is left out.
    #[must_use]
    pub fn of(trial: &Trial) -> Option<Self> {
        let measured = trial.measurement.as_ref()?;
        let sampling = measured.sampling.as_ref()?;
        let all = sampling.series.iter().filter_map(|series| match &series.source {
            SeriesSource::Process(id) => Some((id, series)),
            _ => None,
        });
        let all: Vec<(&ProcessId, &Series)> = all.collect();
        let peaks: Vec<u64> = trial
            .parts
            .iter()
            .filter(|part| Topology::is_replica(&part.part))
            .map(|part| Some(part.resources?.memory_peak))
            .collect::<Option<_>>()?;
        let is_ours = |id: &ProcessId| peaks.is_empty() || id.part.as_deref().is_some_and(Topology::is_replica);
        let seen: Vec<_> = all.iter().filter(|(id, _)| is_ours(id)).collect();
        let replicas = peaks.len().max(1);
        let started_others =
            |id: &ProcessId| seen.iter().any(|(other, _)| other.parent == id.pid && other.name == id.name);
        let mut pools: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
        for (id, series) in seen.iter().copied() {
            let most = |gauge| series.values(gauge).max();
            if let Some(memory) = most(Gauge::PrivateBytes).zip(most(Gauge::ResidentBytes))
                && !started_others(id)
            {
                pools.entry(&id.name).or_default().push(memory);
            }
        }
        let own = |pool: &[(u64, u64)]| pool.iter().map(|(private, _)| private).sum::<u64>();
        let pool = pools.into_values().filter(|pool| pool.len() > replicas).max_by_key(|pool| own(pool))?;
        let group = sampling.series.iter().find(|series| series.source == SeriesSource::Group)?;
        let kernel = group.values(Gauge::KernelBytes).max()? as f64 / all.len() as f64;
        let needed: u64 = if peaks.is_empty() { measured.resources?.memory_peak } else { peaks.iter().sum() };
        let workers = pool.len() as u32;
        let private = own(&pool) as f64;
        Some(Self {
            workers,
            replicas: (!peaks.is_empty()).then_some(replicas as u32),
            private: private / f64::from(workers),
            private_most: pool.iter().map(|(private, _)| *private).max()? as f64,
            resident: pool.iter().map(|(_, resident)| *resident as f64).sum::<f64>() / f64::from(workers),
            kernel,
            rest: ((needed as f64 - private - kernel * f64::from(workers)) / replicas as f64).max(0.0),
        })
    }

    /// How many workers as large as the largest that was seen fit a limit of one replica, with the margin that sizes have ([`MEMORY_MARGIN`]).
    #[must_use]
    pub fn fit(&self, limit: Bytes) -> u32 {
        let left = limit.get() as f64 / MEMORY_MARGIN - self.rest;
        (left / (self.private_most + self.kernel)).max(0.0) as u32
    }

    /// How many the usual formula allows: the limit over the mean RSS.
    #[must_use]
    pub fn by_resident(&self, limit: Bytes) -> u32 {
        (limit.get() as f64 / self.resident) as u32
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::{PartRecord, ResourceUse, Sampling};

    use super::*;
    use crate::samples;

    const fn mib(mib: u64) -> u64 {
        mib << 20
    }

    fn process(pid: u32, part: Option<&str>, name: &str, private: u64, resident: u64) -> Series {
        let id = ProcessId { pid, parent: 1, name: name.to_owned(), part: part.map(str::to_owned) };
        let mut series = Series::new(SeriesSource::Process(id));
        for (at, less) in [(100, 1), (900, 0)] {
            let figures = [(Gauge::PrivateBytes, mib(private - less)), (Gauge::ResidentBytes, mib(resident - less))];
            series.push(Duration::from_millis(at), &figures);
        }
        series
    }

    fn kernel(of: u64) -> Series {
        let mut group = Series::new(SeriesSource::Group);
        group.push(Duration::ZERO, &[(Gauge::KernelBytes, mib(of))]);
        group
    }

    /// A trial whose deployment needed so much memory, and whose parts did.
    fn trial(peak: u64, parts: &[(&str, u64)], series: Vec<Series>) -> Trial {
        let mut trial = samples::measured("a", 1, 1_000.0);
        let measured = trial.measurement.as_mut().unwrap();
        measured.resources.as_mut().unwrap().memory_peak = mib(peak);
        measured.sampling = Some(Sampling { series, ..Sampling::default() });
        let part = |(part, peak): &(&str, u64)| PartRecord {
            part: (*part).to_owned(),
            units: Vec::new(),
            share: None,
            enforced: None,
            resources: Some(ResourceUse { memory_peak: mib(*peak), ..ResourceUse::default() }),
            restarts: Vec::new(),
            settings: BTreeMap::new(),
            requests: None,
        };
        trial.parts = parts.iter().map(part).collect();
        trial
    }

    fn figures(memory: WorkerMemory) -> (u32, Option<u32>, [f64; 5]) {
        let WorkerMemory { workers, replicas, private, private_most, resident, kernel, rest } = memory;
        (workers, replicas, [private, private_most, resident, kernel, rest].map(|bytes| bytes / f64::from(1 << 20)))
    }

    #[test]
    fn workers_that_share_much_fit_more_often_than_their_resident_memory_says() {
        let alone = |pid, name, private, resident| process(pid, None, name, private, resident);
        let series = vec![
            kernel(6),
            alone(1, "php-fpm: master process", 2, 12),
            alone(2, "php-fpm: pool www", 4, 16),
            alone(3, "php-fpm: pool www", 6, 20),
            alone(4, "php-fpm: pool www", 5, 18),
            alone(5, "nginx: worker process", 1, 6),
            alone(6, "nginx: worker process", 1, 6),
        ];
        let memory = WorkerMemory::of(&trial(50, &[], series.clone())).unwrap();
        assert_eq!(figures(memory), (3, None, [5.0, 6.0, 18.0, 1.0, 32.0]));
        // 110 MiB with a tenth left are 100: 68 for workers of 7.
        assert_eq!((memory.fit(Bytes::from_mib(110)), memory.by_resident(Bytes::from_mib(110))), (9, 6));
        assert_eq!(memory.fit(Bytes::from_mib(30)), 0);

        // Swoole's workers have the name of their manager and of the first process.
        let mut chain: Vec<Series> = (1..=4).map(|pid| alone(pid, "swoole", 3, 9)).collect();
        for (series, parent) in chain.iter_mut().zip([0, 1, 2, 2]) {
            if let SeriesSource::Process(id) = &mut series.source {
                id.parent = parent;
            }
        }
        chain.push(series[0].clone());
        assert_eq!(WorkerMemory::of(&trial(50, &[], chain)).unwrap().workers, 2);

        // One process with threads, and a server in front of it.
        let of = |places: &[usize]| {
            WorkerMemory::of(&trial(50, &[], places.iter().map(|place| series[*place].clone()).collect()))
        };
        assert_eq!(of(&[0, 1, 5]), None);
        assert_eq!(of(&[0]), None);
    }

    #[test]
    fn replicas_have_workers_of_their_own_and_what_is_before_them_has_none() {
        let parts = [("postgres", 400), ("replica-1", 30), ("replica-2", 34), ("balancer", 9)];
        let replica = |number: u32, part| {
            let first = 10 * number;
            [
                process(first, Some(part), "php-fpm: master process", 2, 12),
                process(first + 1, Some(part), "php-fpm: pool app", 4, 16),
                process(first + 2, Some(part), "php-fpm: pool app", 6, 20),
                process(first + 3, Some(part), "nginx: worker process", 1, 6),
            ]
        };
        let beside = || {
            let postgres = (40..44).map(|pid| process(pid, Some("postgres"), "postgres: app", 90, 99));
            let balancer = (50..54).map(|pid| process(pid, Some("balancer"), "nginx: worker process", 8, 9));
            postgres.chain(balancer).chain([kernel(16)])
        };
        let series: Vec<Series> =
            replica(1, "replica-1").into_iter().chain(replica(2, "replica-2")).chain(beside()).collect();
        let memory = WorkerMemory::of(&trial(473, &parts, series)).unwrap();
        // Of 64 MiB that both need, 20 are the workers' own and 4 the kernel's.
        assert_eq!(figures(memory), (4, Some(2), [5.0, 6.0, 18.0, 1.0, 20.0]));
        assert_eq!(memory.fit(Bytes::from_mib(55)), 4);

        // A process with threads in each replica is no pool, however many replicas there are.
        let threads =
            [("replica-1", 60), ("replica-2", 61)].map(|(part, pid)| process(pid, Some(part), "frankenphp", 40, 60));
        let series: Vec<Series> = threads.into_iter().chain(beside()).collect();
        assert_eq!(WorkerMemory::of(&trial(473, &parts, series)), None);
    }
}
