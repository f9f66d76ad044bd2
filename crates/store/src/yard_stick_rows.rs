//! Readings of the yard-stick as rows.

use rusqlite::{Connection, Row, Transaction, named_params};
use stampede_core::{Pace, StudyId, YardStickReading};

use crate::columns::{Count, Instant, Nanos, insert_row};
use crate::trial_rows::outcome;

pub(crate) fn insert(
    transaction: &Transaction<'_>,
    study: &StudyId,
    reading: &YardStickReading,
) -> rusqlite::Result<()> {
    let YardStickReading { block, started_at, outcome, pace } = reading;
    let (outcome, reason) = outcome.words();
    let cpu = pace.and_then(|pace| pace.cpu);
    insert_row(
        transaction,
        "yard_stick",
        named_params! {
            ":study_id": study.as_str(),
            ":block": block,
            ":started_at_ns": Instant(*started_at),
            ":outcome": outcome,
            ":reason": reason,
            ":window_ns": pace.map(|pace| Nanos(pace.window)),
            ":ok": pace.map(|pace| Count(pace.ok)),
            ":between_ns": cpu.map(|(_, between)| Nanos(between)),
            ":cpu_ns": cpu.map(|(cpu, _)| Nanos(cpu)),
        },
    )
}

/// A study's readings in the order in which they were taken.
pub(crate) fn load(connection: &Connection, study: &StudyId) -> rusqlite::Result<Vec<YardStickReading>> {
    let mut statement = connection.prepare("SELECT * FROM yard_stick WHERE study_id = ?1 ORDER BY reading_id")?;
    let rows = statement.query_map([study.as_str()], |row| {
        Ok(YardStickReading {
            block: row.get("block")?,
            started_at: row.get::<_, Instant>("started_at_ns")?.0,
            outcome: outcome(row)?,
            pace: pace(row)?,
        })
    })?;
    rows.collect()
}

fn pace(row: &Row<'_>) -> rusqlite::Result<Option<Pace>> {
    let Some(Nanos(window)) = row.get("window_ns")? else {
        return Ok(None);
    };
    let Count(ok) = row.get("ok")?;
    let cpu = row.get::<_, Option<Nanos>>("cpu_ns")?.zip(row.get::<_, Option<Nanos>>("between_ns")?);
    Ok(Some(Pace { window, ok, cpu: cpu.map(|(Nanos(cpu), Nanos(between))| (cpu, between)) }))
}
