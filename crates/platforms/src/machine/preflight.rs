//! What stands in the way of limits on this machine, before anything is started.

use std::collections::BTreeMap;
use std::time::Duration;

use stampede_cgroup::{DetectError, QUOTA_PERIOD};
use stampede_core::{Finding, Limits, Severity, with_causes};

/// The kernel grants no smaller quota than this (`min_cfs_quota_period`,
/// [CFS bandwidth control](https://docs.kernel.org/scheduler/sched-bwc.html#management)).
const LEAST_QUOTA: Duration = Duration::from_millis(1);

/// Judges limits against the processors of the deployment and the machine's memory.
pub(crate) fn judge(
    limits: &Limits,
    server_cpus: usize,
    machine_memory: Option<u64>,
    unusable: Option<&DetectError>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut find = |id: &str, text: String, evidence: &[(&str, f64)], advice: &str| {
        findings.push(Finding {
            id: id.to_owned(),
            severity: Severity::Error,
            text,
            evidence: evidence.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect::<BTreeMap<_, _>>(),
            advice: advice.to_owned(),
        });
    };
    if let Some(error) = unusable {
        find(
            "limits-not-enforced",
            format!("CPU and memory limits cannot be enforced here: {}", with_causes(error)),
            &[],
            error.advice(),
        );
    }
    let cores = limits.cpus.cores();
    if cores > server_cpus as f64 {
        find(
            "cpus-above-machine",
            format!("the limit of {} CPUs is more than the deployment's {server_cpus} processors", limits.cpus),
            &[("limit_cpus", cores), ("server_cpus", server_cpus as f64)],
            "lower --cpus, or use a larger machine",
        );
    }
    if limits.cpus.quota(QUOTA_PERIOD) < LEAST_QUOTA {
        let least = LEAST_QUOTA.as_secs_f64() / QUOTA_PERIOD.as_secs_f64();
        find(
            "cpus-below-kernel",
            format!("the limit of {} CPUs is less than the kernel can enforce", limits.cpus),
            &[("limit_cpus", cores), ("least_cpus", least)],
            "raise --cpus to 0.01 or more",
        );
    }
    if let Some(memory) = machine_memory
        && limits.memory.get() > memory
    {
        find(
            "memory-above-machine",
            format!("the limit of {} is more than the machine's memory", limits.memory),
            &[("limit_bytes", limits.memory.get() as f64), ("machine_bytes", memory as f64)],
            "lower --memory, or use a larger machine",
        );
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use stampede_core::{Bytes, Cpus};

    #[test]
    fn each_limit_that_cannot_hold_is_found() {
        for (millis, mib, unusable, ids) in [
            (500, 256, false, &[] as &[&str]),
            (2000, 256, false, &[]),
            (64_000, 256, false, &["cpus-above-machine"]),
            (5, 256, false, &["cpus-below-kernel"]),
            (500, 4096, false, &["memory-above-machine"]),
            (3000, 4096, true, &["limits-not-enforced", "cpus-above-machine", "memory-above-machine"]),
        ] {
            let limits = Limits { cpus: Cpus::from_millis(millis), memory: Bytes::from_mib(mib) };
            let unusable = unusable.then_some(DetectError::NotMounted);
            let found = judge(&limits, 2, Some(1 << 30), unusable.as_ref());
            let found: Vec<&str> = found.iter().map(|finding| finding.id.as_str()).collect();
            assert_eq!(found, ids, "{limits:?}");
        }
    }
}
