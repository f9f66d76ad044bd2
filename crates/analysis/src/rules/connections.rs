//! What becomes of connections between two answers.

use std::collections::BTreeMap;

use stampede_core::{Finding, Severity};

use super::percent;
use crate::record::Record;

/// From this share of answers on, closing is how the server works and no exception.
const CLOSES: f64 = 0.5;

/// The server closed after (nearly) every answer, so that its figures hold the cost of connections.
pub(super) fn closed(record: &Record<'_>) -> Option<Finding> {
    let (reconnects, answered) = record.measurements().fold((0, 0), |(reconnects, answered), measured| {
        (reconnects + measured.reconnects, answered + measured.requests.ok + measured.requests.failed)
    });
    let share = crate::metric::ratio(reconnects as f64, answered as f64)?;
    (share >= CLOSES).then(|| Finding {
        id: "closes-connections".to_owned(),
        severity: Severity::Warning,
        text: format!(
            "It closes the connection after {} of its answers: its figures hold the cost of opening connections and \
             are not comparable with those of servers that keep them.",
            percent(share.min(1.0))
        ),
        evidence: BTreeMap::from([
            ("reconnects".to_owned(), reconnects as f64),
            ("answered".to_owned(), answered as f64),
        ]),
        advice: "Compare it only with servers that close as well; in production, put a server in front that keeps \
                 connections."
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::found;

    #[test]
    fn a_server_that_closes_after_every_answer_is_marked_and_one_that_does_now_and_then_is_not() {
        let closing = |share: f64| {
            found(closed, move |trial| {
                let measurement = trial.measurement.as_mut().unwrap();
                measurement.reconnects = (measurement.requests.ok as f64 * share) as u64;
            })
        };
        assert_eq!(closing(0.01), None);
        let finding = closing(1.0).unwrap();
        assert!(finding.text.starts_with("It closes the connection after 100 % of its answers"));
    }
}
