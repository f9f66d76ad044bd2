//! The kernel's table of tracked connections, which rules of a firewall or of containers bring with them.

use stampede_core::{Finding, Gauge, SeriesSource, Severity};

use super::{finding, sampled};
use crate::record::Record;

/// The table was full: the kernel dropped packets.
pub(super) fn full(record: &Record<'_>) -> Option<Finding> {
    let machine = || sampled(record).filter(|series| series.source == SeriesSource::Machine);
    let dropped: u64 = machine().filter_map(|series| series.growth(Gauge::TrackingDrops)).sum();
    if dropped == 0 {
        return None;
    }
    let most = |gauge| machine().filter_map(|series| series.values(gauge).max()).max();
    let (tracked, limit) = (most(Gauge::TrackedConnections), most(Gauge::TrackedConnectionsLimit));
    let of = tracked.zip(limit).map_or_else(String::new, |(tracked, limit)| format!(" ({tracked} of {limit} places)"));
    let evidence =
        [("dropped_packets", Some(dropped)), ("tracked_connections", tracked), ("tracked_connections_limit", limit)];
    Some(finding(
        "connection-table-full",
        Severity::Warning,
        format!(
            "The kernel's table of tracked connections was full{of}, so it dropped {dropped} packets: requests waited until they were sent again, or had no answer."
        ),
        evidence.into_iter().filter_map(|(name, value)| Some((name, value? as f64))),
        "Make it larger: sysctl -w net.netfilter.nf_conntrack_max=1048576 (as root). Or keep connections open: each closed one has its place for two minutes more. Rules of Docker, Kubernetes or a firewall have the kernel track connections, on loopback too.",
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::{Sampling, Series};

    use super::super::tests::found;
    use super::*;

    fn of_machine(samples: &[[u64; 3]]) -> Option<Finding> {
        found(full, |trial| {
            let mut machine = Series::new(SeriesSource::Machine);
            for (place, [tracked, limit, dropped]) in samples.iter().enumerate() {
                machine.push(
                    Duration::from_millis(100 * place as u64),
                    &[
                        (Gauge::TrackedConnections, *tracked),
                        (Gauge::TrackedConnectionsLimit, *limit),
                        (Gauge::TrackingDrops, *dropped),
                    ],
                );
            }
            let sampling = Sampling { series: vec![machine], ..Sampling::default() };
            trial.measurement.as_mut().unwrap().sampling = Some(sampling);
        })
    }

    #[test]
    fn packets_that_were_dropped_are_told_with_the_size_of_the_table() {
        let finding = of_machine(&[[262_000, 262_144, 7], [262_144, 262_144, 47]]).unwrap();
        assert_eq!(
            finding.text,
            "The kernel's table of tracked connections was full (262144 of 262144 places), so it dropped 120 packets: requests waited until they were sent again, or had no answer."
        );
        assert_eq!(finding.evidence["dropped_packets"], 120.0);
        // What was dropped before does not count, nor does a table that is nearly full.
        assert_eq!(of_machine(&[[262_000, 262_144, 7], [262_143, 262_144, 7]]), None);
    }
}
