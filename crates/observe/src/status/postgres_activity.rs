//! What the connections of clients to PostgreSQL do, from `pg_stat_activity`.
//!
//! A row for each state, kind of wait and query, with how many connections do just that; the one that asks is not among them.
//! <https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ACTIVITY-VIEW>

use std::collections::BTreeMap;

use stampede_core::Gauge;

/// Columns of a row: state, what is waited for, the query, how many.
pub(crate) type Row = Vec<Option<String>>;

/// What queries were seen, by their text: in all, and waiting for a lock.
pub(crate) type Seen = BTreeMap<String, (u64, u64)>;

/// Queries that are told at most, those that were seen most often.
pub(crate) const MOST: usize = 20;

/// Kinds of wait in which a query is not at work but at the disk or the log.
/// <https://www.postgresql.org/docs/current/monitoring-stats.html#WAIT-EVENT-TABLE>
const DISK: [&str; 2] = ["IO", "LWLock"];

pub(crate) fn decode(rows: &[Row], seen: &mut Seen) -> Vec<(Gauge, u64)> {
    let (mut queries, mut locked, mut disk, mut idle, mut all) = (0, 0, 0, 0, 0);
    for row in rows {
        let cell = |place: usize| row.get(place).and_then(Option::as_deref).unwrap_or_default();
        let count: u64 = cell(3).parse().unwrap_or(0);
        all += count;
        match cell(0) {
            "active" => {
                let waits = u64::from(cell(1) == "Lock") * count;
                queries += count;
                locked += waits;
                disk += u64::from(DISK.contains(&cell(1))) * count;
                // What does not come back is not kept for ever.
                if seen.len() < 50 * MOST || seen.contains_key(cell(2)) {
                    let (times, waited) = seen.entry(cell(2).to_owned()).or_default();
                    (*times, *waited) = (*times + count, *waited + waits);
                }
            }
            state if state.starts_with("idle in transaction") => idle += count,
            _ => {}
        }
    }
    vec![
        (Gauge::Queries, queries),
        (Gauge::LockWaits, locked),
        (Gauge::IoWaits, disk),
        (Gauge::IdleTransactions, idle),
        (Gauge::Connections, all),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_at_work_too_and_queries_are_counted_by_their_text() {
        let row = |cells: [&str; 4]| cells.map(|cell| (!cell.is_empty()).then(|| cell.to_owned())).to_vec();
        let rows = [
            row(["active", "", "SELECT 1", "3"]),
            row(["active", "Lock", "UPDATE a", "2"]),
            row(["active", "IO", "SELECT 1", "1"]),
            row(["idle", "Client", "COMMIT", "4"]),
            row(["idle in transaction", "Client", "UPDATE a", "1"]),
            row(["", "", "", "1"]),
        ];
        let mut seen = Seen::new();
        let figures = decode(&rows, &mut seen);
        assert_eq!(
            figures,
            [
                (Gauge::Queries, 6),
                (Gauge::LockWaits, 2),
                (Gauge::IoWaits, 1),
                (Gauge::IdleTransactions, 1),
                (Gauge::Connections, 12)
            ]
        );
        decode(&rows[..1], &mut seen);
        assert_eq!(seen, [("SELECT 1".to_owned(), (7, 0)), ("UPDATE a".to_owned(), (2, 2))].into());
    }
}
