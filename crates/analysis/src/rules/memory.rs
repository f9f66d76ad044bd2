//! Memory against its limit.

use stampede_core::{Finding, Gauge, Outcome, Series, SeriesSource, Severity};

use super::{finding, percent};
use crate::metric::ratio;
use crate::record::Record;

/// More of the limit than this, and the kernel spends time on finding memory to take back.
const NEAR: f64 = 0.9;

/// From so many pages a second on that are read from a disk once more, memory is short: a page cache that is full of what nobody
/// reads again is not.
const REFAULTS: f64 = 10.0;

/// From this share of the time on in which some task waited for memory, it is short.
const WAITED: f64 = 0.01;

/// From so many pages for each request, or this share of the time, it is what holds the case back.
const REFAULTS_EACH: f64 = 0.5;
const WAITED_MUCH: f64 = 0.1;

/// From so many pages a second on that come from swap or go there, the machine swaps; with so many, that is what holds cases back.
const SWAPPED: f64 = 10.0;
const SWAPPED_MUCH: f64 = 100.0;

/// The names of the evidence that `weighs` and `swaps_much` read.
const EACH: &str = "refaults_per_request";
const SHARE: &str = "memory_pressure_share";
const RATE: &str = "swapped_pages_per_second";

/// Whether pages that are taken back and read again can be what limits a case.
pub(super) fn weighs(finding: &Finding) -> bool {
    let of = |name: &str| finding.evidence.get(name).copied().unwrap_or(0.0);
    of(EACH) >= REFAULTS_EACH || of(SHARE) >= WAITED_MUCH
}

/// Whether swapping can be what limits a case.
pub(super) fn swaps_much(finding: &Finding) -> bool {
    finding.evidence.get(RATE).is_some_and(|rate| *rate >= SWAPPED_MUCH)
}

/// Counters of one source in all windows together.
struct Windows<'a> {
    series: Vec<&'a Series>,
    /// From each first sample to the last, in seconds.
    seconds: f64,
}

impl<'a> Windows<'a> {
    /// None where nothing was sampled.
    fn of(record: &Record<'a>, source: &SeriesSource) -> Option<Self> {
        let series: Vec<&Series> = super::sampled(record).filter(|series| series.source == *source).collect();
        let span = |series: &&Series| Some(series.at_us.last()?.saturating_sub(*series.at_us.first()?));
        let seconds = series.iter().filter_map(span).sum::<u64>() as f64 / 1e6;
        (seconds > 0.0).then_some(Self { series, seconds })
    }

    /// By how much a counter grew; none where nobody counts.
    fn growth(&self, counter: Gauge) -> Option<u64> {
        self.series.iter().filter_map(|series| series.growth(counter)).reduce(|sum, growth| sum + growth)
    }

    /// The share of the time in which some task waited for memory.
    fn waited(&self) -> Option<f64> {
        self.growth(Gauge::MemoryPressureUs).map(|us| us as f64 / 1e6 / self.seconds)
    }
}

/// The most memory that a group held in a sample, with its page cache.
fn most_held(series: &Series) -> f64 {
    let kinds = [Gauge::AnonymousBytes, Gauge::SharedBytes, Gauge::KernelBytes, Gauge::CacheBytes];
    let held = |row: usize| -> u64 {
        kinds.iter().filter_map(|kind| series.columns.get(kind)?.get(row).copied().flatten()).sum()
    };
    (0..series.len()).map(held).max().unwrap_or(0) as f64
}

/// The kernel took pages back that were needed again: memory is too small for what is used of it, before anything is killed.
pub(super) fn pressure(record: &Record<'_>) -> Option<Finding> {
    let group = Windows::of(record, &SeriesSource::Group)?;
    let refaults = group.growth(Gauge::FileRefaults);
    let waited = group.waited();
    let rate = refaults.unwrap_or(0) as f64 / group.seconds;
    if rate < REFAULTS && waited.is_none_or(|waited| waited < WAITED) {
        return None;
    }
    let answered: u64 = record.measurements().map(|measured| measured.requests.ok + measured.requests.failed).sum();
    let each = refaults.and_then(|pages| ratio(pages as f64, answered as f64));
    let (hits, major) = (group.growth(Gauge::MemoryLimitHits), group.growth(Gauge::MajorFaults));
    let swapped =
        group.series.iter().flat_map(|series| series.values(Gauge::SwapBytes)).max().filter(|bytes| *bytes > 0);
    let mut seen = Vec::new();
    if let Some(pages) = refaults {
        let each = each.map_or_else(String::new, |each| format!(" ({each:.2} for each request)"));
        seen.push(format!("{pages} pages of files were taken back and read again{each}"));
    }
    seen.extend(
        major.filter(|pages| *pages > 0).map(|pages| format!("processes waited {pages} times for a page from a disk")),
    );
    seen.extend(swapped.map(|bytes| format!("up to {:.1} MiB were in swap", bytes as f64 / f64::from(1 << 20))));
    seen.extend(waited.map(|waited| format!("some task waited for memory in {} of the time", percent(waited))));
    // The limit was not reached: then others on the machine took the memory.
    let limit = record.case.limits.memory;
    let was_near = || group.series.iter().any(|series| most_held(series) > NEAR * limit.get() as f64);
    let is_machine = hits.unwrap_or(0) == 0 && !was_near();
    let machine = Windows::of(record, &SeriesSource::Machine).and_then(|machine| machine.waited());
    // Nobody waited: a kernel that takes back what was not used for a while (DAMON) makes pages be read again without any shortage.
    if is_machine && waited.is_none_or(|waited| waited < WAITED) && machine.is_some_and(|waited| waited < WAITED) {
        return None;
    }
    let why = if is_machine {
        format!("the machine is short of memory, and the limit of {limit} was never reached")
    } else {
        format!("the limit of {limit} is too small for what is used of it")
    };
    let evidence = [
        ("refaults_per_second", refaults.map(|_| rate)),
        (EACH, each),
        ("major_faults", major.map(|pages| pages as f64)),
        ("limit_hits", hits.map(|hits| hits as f64)),
        ("swap_bytes", swapped.map(|bytes| bytes as f64)),
        (SHARE, waited),
        ("machine_memory_pressure_share", machine),
        ("limit_bytes", Some(limit.get() as f64)),
    ];
    Some(finding(
        "memory-pressure",
        Severity::Warning,
        format!("In its windows {}: {why}.", seen.join(", ")),
        evidence.into_iter().filter_map(|(name, value)| Some((name, value?))),
        if is_machine {
            "End other programs, or measure on a machine with more memory."
        } else {
            "Raise --memory, or lower the number of workers: the next step is that processes are killed."
        },
    ))
}

/// The machine moved memory to swap and back.
pub(super) fn machine_swaps(record: &Record<'_>) -> Option<Finding> {
    let machine = Windows::of(record, &SeriesSource::Machine)?;
    let (ins, outs) = (machine.growth(Gauge::SwapIns)?, machine.growth(Gauge::SwapOuts)?);
    let rate = (ins + outs) as f64 / machine.seconds;
    (rate >= SWAPPED).then(|| {
        let mut evidence =
            vec![("swap_ins", ins as f64), ("swap_outs", outs as f64), (RATE, rate)];
        evidence.extend(machine.waited().map(|waited| ("machine_memory_pressure_share", waited)));
        finding(
            "machine-swaps",
            Severity::Warning,
            format!(
                "The machine wrote {outs} pages to swap and read {ins} back in its windows ({rate:.0} a second): whoever needs one waits for the disk."
            ),
            evidence,
            "Lower the number of workers or --memory until all fits into the machine's memory, end other programs, or turn swap off.",
        )
    })
}

/// The kernel killed processes because the memory limit was reached.
pub(super) fn oom_kills(record: &Record<'_>) -> Option<Finding> {
    let kills: u64 = record.measurements().filter_map(|measured| Some(measured.resources?.oom_kills)).sum();
    // A server that was killed itself leaves no measurement.
    let ended =
        record.trials.iter().filter(|trial| trial.measurement.is_none()).filter(
            |trial| matches!(&trial.outcome, Outcome::Failed(reason) if reason.contains(Outcome::MEMORY_LIMIT)),
        );
    let ended = ended.count();
    let what = match kills {
        0 => "processes of it, which ended the trial,".to_owned(),
        _ => format!("{kills} of its processes"),
    };
    (kills > 0 || ended > 0).then(|| {
        finding(
            "oom-kills",
            Severity::Error,
            format!("The kernel killed {what} because the memory limit of {} was reached.", record.case.limits.memory),
            [
                ("oom_kills", kills as f64),
                ("trials_ended", ended as f64),
                ("limit_bytes", record.case.limits.memory.get() as f64),
            ],
            "Raise --memory, or lower the number of workers.",
        )
    })
}

/// The peak of needed memory left little of the limit.
pub(super) fn near_limit(record: &Record<'_>) -> Option<Finding> {
    let limit = record.case.limits.memory.get();
    let peak = record.measurements().filter_map(|measured| Some(measured.resources?.memory_peak)).max()?;
    let share = peak as f64 / limit as f64;
    (share > NEAR).then(|| {
        finding(
            "memory-near-limit",
            Severity::Warning,
            format!("Its memory reached {} of the limit of {}.", percent(share), record.case.limits.memory),
            [("memory_peak_bytes", peak as f64), ("limit_bytes", limit as f64)],
            "Raise --memory, or lower the number of workers, before it gets more load than was measured.",
        )
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::{Sampling, Trial};

    use super::*;
    use crate::rules::tests::found;

    /// Counters that grow by so much in each of a trial's 5 s.
    fn counted(source: &SeriesSource, trial: &mut Trial, counters: &[(Gauge, u64)]) {
        let mut series = Series::new(source.clone());
        for second in 0..=5 {
            let figures: Vec<_> = counters.iter().map(|(gauge, each)| (*gauge, 7 + second * each)).collect();
            series.push(Duration::from_secs(second), &figures);
        }
        let sampling = trial.measurement.as_mut().unwrap().sampling.get_or_insert_with(Sampling::default);
        sampling.series.push(series);
    }

    #[test]
    fn pages_that_are_read_again_are_told_with_what_is_short() {
        use Gauge::{FileRefaults, MajorFaults, MemoryLimitHits, MemoryPressureUs, SwapBytes};
        let told = |counters: &[(Gauge, u64)]| found(pressure, |trial| counted(&SeriesSource::Group, trial, counters));
        // 5,000 requests in 5 s of each of three trials.
        let v1 = told(&[(FileRefaults, 600), (MajorFaults, 90), (MemoryLimitHits, 400)]).unwrap();
        assert_eq!(
            v1.text,
            "In its windows 9000 pages of files were taken back and read again (0.60 for each request), processes waited 1350 times for a page from a disk: the limit of 256Mi is too small for what is used of it."
        );
        assert!(weighs(&v1) && v1.evidence["limit_hits"] == 6_000.0, "{v1:?}");
        let v2 =
            told(&[(FileRefaults, 20), (MajorFaults, 0), (MemoryLimitHits, 9), (MemoryPressureUs, 30_000)]).unwrap();
        assert!(v2.text.contains("some task waited for memory in 3.0 % of the time"), "{}", v2.text);
        assert!(!weighs(&v2), "{v2:?}");
        // Waiting alone is enough, also where refaults are not counted.
        let waits = told(&[(MajorFaults, 0), (MemoryPressureUs, 200_000), (SwapBytes, 1)]).unwrap();
        assert!(weighs(&waits) && waits.evidence.contains_key("swap_bytes"), "{waits:?}");
        // Version 1 of a kernel that does not count how often the limit was reached.
        let full =
            told(&[(FileRefaults, 600), (Gauge::AnonymousBytes, 20 << 20), (Gauge::CacheBytes, 30 << 20)]).unwrap();
        assert!(full.text.ends_with("too small for what is used of it."), "{}", full.text);
        let machine = told(&[(FileRefaults, 600), (MemoryLimitHits, 0)]).unwrap();
        assert!(machine.text.ends_with("and the limit of 256Mi was never reached."), "{}", machine.text);
        assert!(machine.advice.contains("End other programs"), "{}", machine.advice);
        let beside = |waited_us: u64| {
            found(pressure, |trial| {
                counted(&SeriesSource::Group, trial, &[(FileRefaults, 600), (MemoryLimitHits, 0)]);
                counted(&SeriesSource::Machine, trial, &[(MemoryPressureUs, waited_us)]);
            })
        };
        let short = beside(50_000).unwrap();
        assert!(short.text.ends_with("and the limit of 256Mi was never reached."), "{}", short.text);
        assert_eq!(beside(1_000), None, "a kernel that takes back what was not used for a while");
        for (name, counters) in [
            ("a cache that is full of what nobody reads again", &[(FileRefaults, 0), (MemoryLimitHits, 4_000)][..]),
            ("some pages", &[(FileRefaults, 3), (MemoryPressureUs, 1_000)]),
            ("a kernel that counts nothing", &[]),
        ] {
            assert_eq!(told(counters), None, "{name}");
        }
    }

    #[test]
    fn a_machine_that_swaps_is_named() {
        let told =
            |counters: &[(Gauge, u64)]| found(machine_swaps, |trial| counted(&SeriesSource::Machine, trial, counters));
        let much = told(&[(Gauge::SwapIns, 300), (Gauge::SwapOuts, 500), (Gauge::MemoryPressureUs, 100_000)]).unwrap();
        assert!(
            much.text
                .starts_with("The machine wrote 7500 pages to swap and read 4500 back in its windows (800 a second)"),
            "{}",
            much.text
        );
        assert!(swaps_much(&much) && much.evidence["machine_memory_pressure_share"] > 0.09, "{much:?}");
        let some = told(&[(Gauge::SwapIns, 5), (Gauge::SwapOuts, 5)]).unwrap();
        assert!(!swaps_much(&some), "{some:?}");
        assert_eq!(told(&[(Gauge::SwapIns, 1), (Gauge::SwapOuts, 0)]), None);
        assert_eq!(told(&[]), None);
    }

    #[test]
    fn a_peak_near_the_limit_is_found() {
        let near = |bytes: u64| {
            found(near_limit, move |trial| {
                trial.measurement.as_mut().unwrap().resources.as_mut().unwrap().memory_peak = bytes;
            })
        };
        assert_eq!(near(230 << 20), None);
        let finding = near(250 << 20).unwrap();
        assert_eq!(finding.text, "Its memory reached 98 % of the limit of 256Mi.");
        assert_eq!(finding.evidence["limit_bytes"], 268_435_456.0);
    }

    #[test]
    fn kills_are_summed_over_trials() {
        let finding = found(oom_kills, |trial| {
            trial.measurement.as_mut().unwrap().resources.as_mut().unwrap().oom_kills = 2;
        });
        assert_eq!(finding.unwrap().evidence["oom_kills"], 6.0);
        let finding = found(oom_kills, |trial| {
            *trial = crate::samples::failed("a", trial.block);
            trial.outcome = Outcome::Failed(
                "php-fpm ended with signal 9 (SIGKILL) while it was measured\nthe kernel killed 2 processes because the \
                 control group reached its memory limit of 256Mi"
                    .to_owned(),
            );
        });
        assert!(finding.unwrap().text.starts_with("The kernel killed processes of it, which ended the trial"));
    }
}
