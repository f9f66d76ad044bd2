//! What servers and kernel said while a case ran, as a sentence.

use stampede_analysis::{Activity, CaseSummary, Unit, UnitActivity};

use crate::quantity::{count, in_tables};

/// `nginx-fpm: php-fpm 4 of 4 workers busy (most 4); accept queue up to 12 (fpm), 0 (front)`.
pub(crate) fn sentence(summary: &CaseSummary) -> Option<String> {
    let Activity { units, accept_queues, listen_overflows, throttled_share } = summary.activity.as_ref()?;
    let mut parts: Vec<String> = units.iter().map(of_unit).collect();
    if !accept_queues.is_empty() {
        let queues = accept_queues.iter().map(|(address, most)| format!("{} ({address})", count(*most)));
        parts.push(format!("accept queue up to {}", queues.collect::<Vec<_>>().join(", ")));
    }
    if let Some(overflows) = listen_overflows {
        parts.push(format!("{} listen overflows on the machine", count(*overflows)));
    }
    if let Some(share) = throttled_share {
        parts.push(format!("throttled in {} % of quota periods", in_tables(Unit::Share, *share)));
    }
    (!parts.is_empty()).then(|| format!("{}: {}", summary.case, parts.join("; ")))
}

fn of_unit(activity: &UnitActivity) -> String {
    let UnitActivity { unit, busy, total, restarts, max_children_reached, unanswered_share } = activity;
    let mut text = match (busy, total) {
        (Some((median, most)), Some(total)) => {
            format!("{unit} {} of {} workers busy (most {})", count(*median), count(*total), count(*most))
        }
        (Some((median, most)), None) => format!("{unit} {} workers busy (most {})", count(*median), count(*most)),
        (None, _) => format!("{unit}'s status unavailable"),
    };
    if busy.is_some() && *unanswered_share > 0.0 {
        text.push_str(&format!(", no answer in {} % of samples", in_tables(Unit::Share, *unanswered_share)));
    }
    if let Some(restarts) = restarts {
        text.push_str(&format!(", {} restarts", count(*restarts)));
    }
    if let Some(times) = max_children_reached {
        text.push_str(&format!(", max_children reached {} times", count(*times)));
    }
    text
}
