//! What servers and kernel said while a case ran, as a sentence.

use stampede_analysis::{Activity, CaseSummary, MetricUnit, UnitActivity};

use crate::quantity::{count, in_tables};

/// `nginx-fpm: php-fpm 4 of 4 workers busy (median; at most 4); connections that waited to be accepted: up to 12 at fpm`. What stayed at
/// nothing is left out.
pub(crate) fn sentence(summary: &CaseSummary) -> Option<String> {
    let Activity { units, accept_queues, listen_overflows, throttled_share } = summary.activity.as_ref()?;
    let mut parts: Vec<String> = units.iter().map(of_unit).collect();
    let queues = accept_queues.iter().filter(|(_, most)| **most > 0);
    let queues: Vec<String> = queues.map(|(address, most)| format!("{} at {address}", count(*most))).collect();
    if !queues.is_empty() {
        parts.push(format!("connections that waited to be accepted: up to {}", queues.join(", ")));
    }
    if let Some(overflows) = listen_overflows.filter(|overflows| *overflows > 0) {
        parts.push(format!("the kernel refused {} connections (listen overflows, whole machine)", count(overflows)));
    }
    if let Some(share) = throttled_share.filter(|share| *share > 0.0) {
        parts.push(format!("throttled in {} % of quota periods", in_tables(MetricUnit::Share, share)));
    }
    (!parts.is_empty()).then(|| format!("{}: {}", summary.case, parts.join("; ")))
}

fn of_unit(activity: &UnitActivity) -> String {
    let UnitActivity { unit, busy, taken, total, restarts, max_children_reached, unanswered_share } = activity;
    let mut text = match (busy, total) {
        (Some((median, most)), Some(total)) => {
            let busy = match taken {
                Some(taken) => {
                    format!("{} of {} workers had a connection, {} busy", count(*taken), count(*total), count(*median))
                }
                None => format!("{} of {} workers busy", count(*median), count(*total)),
            };
            format!("{unit} {busy} (median; at most {})", count(*most))
        }
        (Some((median, most)), None) => {
            format!("{unit} {} workers busy (median; at most {})", count(*median), count(*most))
        }
        (None, _) => format!("{unit}'s status unavailable"),
    };
    if busy.is_some() && *unanswered_share > 0.0 {
        text.push_str(&format!(
            ", its status page did not answer in {} % of samples",
            in_tables(MetricUnit::Share, *unanswered_share)
        ));
    }
    if let Some(restarts) = restarts.filter(|restarts| *restarts > 0) {
        text.push_str(&format!(", {} restarts", count(restarts)));
    }
    if let Some(times) = max_children_reached.filter(|times| *times > 0) {
        text.push_str(&format!(", max_children reached {} times", count(times)));
    }
    text
}

#[cfg(test)]
mod tests {
    use stampede_core::UnitId;

    use super::*;

    #[test]
    fn workers_that_are_bound_to_a_connection_are_taken() {
        for (busy, taken, total, told) in [
            (Some((0, 2)), Some(16), Some(17), "apache 16 of 17 workers had a connection, 0 busy (median; at most 2)"),
            (Some((4, 4)), None, Some(4), "apache 4 of 4 workers busy (median; at most 4)"),
            (Some((3, 4)), None, None, "apache 3 workers busy (median; at most 4)"),
            (None, None, None, "apache's status unavailable"),
        ] {
            let activity = UnitActivity {
                unit: UnitId::new("apache"),
                busy,
                taken,
                total,
                restarts: None,
                max_children_reached: None,
                unanswered_share: 0.0,
            };
            assert_eq!(of_unit(&activity), told);
        }
    }
}
