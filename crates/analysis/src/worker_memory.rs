//! What the processes of a pool have of memory: each for itself, and all together.
//!
//! The usual formula for `pm.max_children` divides a machine's memory by the resident memory (RSS) of a worker. But RSS has the pages
//! in it that workers share: the opcode cache and what they have from the process that started them. They are there once.

use std::collections::BTreeMap;

use stampede_core::{Bytes, Gauge, Measurement, ProcessId, Series, SeriesSource};

/// How many times the peak that was seen a limit of memory must be at least: what is left of it is for what was not seen.
pub const MEMORY_MARGIN: f64 = 1.1;

/// The memory of a pool of like processes, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkerMemory {
    /// How many processes were seen.
    pub workers: u32,
    /// What a worker has that no other has: the mean of the workers' peaks, and the largest of them.
    pub private: f64,
    /// See `private`.
    pub private_most: f64,
    /// What is resident of a worker, with what it shares (RSS): the mean.
    pub resident: f64,
    /// What the kernel keeps for a process: page tables, stacks, sockets.
    pub kernel: f64,
    /// What the deployment needs besides: what is shared, once, and its other processes.
    pub rest: f64,
}

impl WorkerMemory {
    /// That of a window. The pool are those processes of one name that have most memory for themselves, without those that started
    /// others of it; nothing where no two processes have one name, as where workers are threads, and where processes could not be
    /// looked into.
    #[must_use]
    pub fn of(measured: &Measurement) -> Option<Self> {
        let sampling = measured.sampling.as_ref()?;
        let seen = sampling.series.iter().filter_map(|series| match &series.source {
            SeriesSource::Process(id) => Some((id, series)),
            _ => None,
        });
        let seen: Vec<(&ProcessId, &Series)> = seen.collect();
        let started_others =
            |id: &ProcessId| seen.iter().any(|(other, _)| other.parent == id.pid && other.name == id.name);
        let mut pools: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
        for (id, series) in &seen {
            let most = |gauge| series.values(gauge).max();
            if let Some(memory) = most(Gauge::PrivateBytes).zip(most(Gauge::ResidentBytes))
                && !started_others(id)
            {
                pools.entry(&id.name).or_default().push(memory);
            }
        }
        let own = |pool: &[(u64, u64)]| pool.iter().map(|(private, _)| private).sum::<u64>();
        let pool = pools.into_values().filter(|pool| pool.len() > 1).max_by_key(|pool| own(pool))?;
        let group = sampling.series.iter().find(|series| series.source == SeriesSource::Group)?;
        let kernel = group.values(Gauge::KernelBytes).max()? as f64 / seen.len() as f64;
        let needed = measured.resources?.memory_peak as f64;
        let workers = pool.len() as u32;
        let private = own(&pool) as f64;
        Some(Self {
            workers,
            private: private / f64::from(workers),
            private_most: pool.iter().map(|(private, _)| *private).max()? as f64,
            resident: pool.iter().map(|(_, resident)| *resident as f64).sum::<f64>() / f64::from(workers),
            kernel,
            rest: (needed - private - kernel * f64::from(workers)).max(0.0),
        })
    }

    /// How many workers as large as the largest that was seen fit a limit, with the margin that sizes have ([`MEMORY_MARGIN`]).
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

    use stampede_core::Sampling;

    use super::*;
    use crate::samples;

    #[test]
    fn workers_that_share_much_fit_more_often_than_their_resident_memory_says() {
        let mib = |mib: u64| mib << 20;
        let process = |pid, name: &str, private: u64, resident: u64| {
            let id = ProcessId { pid, parent: 1, name: name.to_owned() };
            let mut series = Series::new(SeriesSource::Process(id));
            for (at, less) in [(100, 1), (900, 0)] {
                let figures =
                    [(Gauge::PrivateBytes, mib(private - less)), (Gauge::ResidentBytes, mib(resident - less))];
                series.push(Duration::from_millis(at), &figures);
            }
            series
        };
        let mut group = Series::new(SeriesSource::Group);
        group.push(Duration::ZERO, &[(Gauge::KernelBytes, mib(6))]);
        let series = vec![
            group,
            process(1, "php-fpm: master process", 2, 12),
            process(2, "php-fpm: pool www", 4, 16),
            process(3, "php-fpm: pool www", 6, 20),
            process(4, "php-fpm: pool www", 5, 18),
            process(5, "nginx: worker process", 1, 6),
            process(6, "nginx: worker process", 1, 6),
        ];
        let mut measured = samples::measured("a", 1, 1_000.0).measurement.unwrap();
        measured.resources.as_mut().unwrap().memory_peak = mib(50);
        measured.sampling = Some(Sampling { series: series.clone(), ..Sampling::default() });
        let memory = WorkerMemory::of(&measured).unwrap();
        let [private, most, resident, kernel, rest] =
            [memory.private, memory.private_most, memory.resident, memory.kernel, memory.rest]
                .map(|bytes| bytes / f64::from(1 << 20));
        assert_eq!((memory.workers, private, most, resident, kernel, rest), (3, 5.0, 6.0, 18.0, 1.0, 32.0));
        // 110 MiB with a tenth left are 100: 68 for workers of 7.
        assert_eq!((memory.fit(Bytes::from_mib(110)), memory.by_resident(Bytes::from_mib(110))), (9, 6));
        assert_eq!(memory.fit(Bytes::from_mib(30)), 0);

        // Swoole's workers have the name of their manager and of the first process.
        let alike = ["swoole"; 4];
        let mut chain: Vec<Series> = (1..).zip(alike).map(|(pid, name)| process(pid, name, 3, 9)).collect();
        for (series, parent) in chain.iter_mut().zip([0, 1, 2, 2]) {
            if let SeriesSource::Process(id) = &mut series.source {
                id.parent = parent;
            }
        }
        chain.push(series[0].clone());
        measured.sampling = Some(Sampling { series: chain, ..Sampling::default() });
        assert_eq!(WorkerMemory::of(&measured).unwrap().workers, 2);

        // One process with threads, and a server in front of it.
        let mut of = |places: &[usize]| {
            let series = places.iter().map(|place| series[*place].clone()).collect();
            measured.sampling = Some(Sampling { series, ..Sampling::default() });
            WorkerMemory::of(&measured)
        };
        assert_eq!(of(&[0, 1, 5]), None);
        assert_eq!(of(&[0]), None);
    }
}
