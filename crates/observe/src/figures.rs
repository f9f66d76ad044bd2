//! A deployment's counters as figures of a series.

use stampede_core::{Counters, Gauge, Memory};

pub(crate) fn of(counters: &Counters) -> Vec<(Gauge, u64)> {
    let Counters {
        cpu,
        periods,
        throttled_periods,
        throttled,
        memory,
        oom_kills,
        major_faults,
        file_refaults,
        limit_hits,
        swap,
    } = *counters;
    let Memory { anonymous, shared, kernel, cache } = memory;
    let micros = |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let mut figures = vec![
        (Gauge::CpuUs, micros(cpu)),
        (Gauge::Periods, periods),
        (Gauge::ThrottledPeriods, throttled_periods),
        (Gauge::ThrottledUs, micros(throttled)),
        (Gauge::AnonymousBytes, anonymous),
        (Gauge::SharedBytes, shared),
        (Gauge::KernelBytes, kernel),
        (Gauge::CacheBytes, cache),
        (Gauge::OomKills, oom_kills),
        (Gauge::MajorFaults, major_faults),
    ];
    // What a kernel does not count is absent.
    figures.extend(file_refaults.map(|pages| (Gauge::FileRefaults, pages)));
    figures.extend(limit_hits.map(|hits| (Gauge::MemoryLimitHits, hits)));
    figures.extend(swap.map(|bytes| (Gauge::SwapBytes, bytes)));
    figures
}
