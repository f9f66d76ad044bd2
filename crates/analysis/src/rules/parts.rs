//! Which part of a topology is the limit.

use std::collections::BTreeMap;

use stampede_core::{Finding, Severity};

use super::percent;
use crate::metric::ratio;
use crate::record::Record;

/// From this share of throttled periods on, what a part is held to sets the pace of those that wait for it.
const LIMITING: f64 = 0.5;

/// Parts whose own share of CPU time ran out in most of its periods, with the share of these.
pub(super) fn limiting<'a>(record: &Record<'a>) -> BTreeMap<&'a str, f64> {
    let mut seen: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for part in record.trials.iter().flat_map(|trial| &trial.parts).filter(|part| part.share.is_some()) {
        if let Some(used) = &part.resources {
            let (throttled, periods) = seen.entry(&part.part).or_default();
            *throttled += used.throttled_periods;
            *periods += used.periods;
        }
    }
    let shares = seen.into_iter().filter_map(|(part, (throttled, periods))| {
        let share = ratio(throttled as f64, periods as f64)?;
        (share >= LIMITING).then_some((part, share))
    });
    shares.collect()
}

/// Such parts are reported, because nothing of the whole need be short.
pub(super) fn throttled(record: &Record<'_>) -> Option<Finding> {
    let shares = limiting(record);
    if shares.is_empty() {
        return None;
    }
    let parts: Vec<String> = shares.iter().map(|(part, share)| format!("{part} ({})", percent(*share))).collect();
    Some(Finding {
        id: "part-throttled".to_owned(),
        severity: Severity::Info,
        text: format!("The CPU share of {} ran out in most periods: it was the limit.", parts.join(", ")),
        evidence: shares.into_iter().map(|(part, share)| (format!("{part}_throttled_share"), share)).collect(),
        advice: "Give it a larger share and the others less, or read the figures as those of this part alone."
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use stampede_core::{Bytes, Cpus, Limits, PartRecord, ResourceUse};

    use super::*;
    use crate::rules::tests::found;

    #[test]
    fn the_part_whose_share_ran_out_is_named() {
        let part = |name: &str, share: bool, throttled_periods| PartRecord {
            part: name.to_owned(),
            units: Vec::new(),
            share: share.then_some(Limits { cpus: Cpus::from_millis(350), memory: Bytes::from_mib(256) }),
            enforced: None,
            resources: Some(ResourceUse { periods: 100, throttled_periods, ..ResourceUse::default() }),
            requests: None,
            restarts: Vec::new(),
            settings: BTreeMap::new(),
        };
        let finding = found(throttled, |trial| {
            trial.parts = vec![part("postgres", true, 90), part("replica-1", true, 10), part("balancer", false, 99)];
        });
        let finding = finding.unwrap();
        assert_eq!(finding.text, "The CPU share of postgres (90 %) ran out in most periods: it was the limit.");
        assert_eq!(finding.evidence["postgres_throttled_share"], 0.9);
        assert_eq!(found(throttled, |trial| trial.parts = vec![part("postgres", true, 10)]), None);
    }
}
