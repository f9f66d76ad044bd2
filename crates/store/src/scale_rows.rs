//! What autoscaled services did, as rows.

use rusqlite::{Row, Transaction, named_params};
use stampede_core::ScaleRecord;

use crate::columns::{Count, Histogram, Json, Nanos, insert_row};

pub(crate) fn insert(transaction: &Transaction<'_>, trial: i64, record: &ScaleRecord) -> rusqlite::Result<()> {
    let ScaleRecord { service, opens, closes, lives, waits, most_waiting, rejected, usage, gateway, decisions } =
        record;
    insert_row(
        transaction,
        "scaling",
        named_params! {
            ":trial_id": trial,
            ":service_json": Json(service),
            ":opens_ns": Nanos(*opens),
            ":closes_ns": Nanos(*closes),
            ":lives_json": Json(lives),
            ":waits": Histogram(waits),
            ":most_waiting": most_waiting,
            ":rejected": Count(*rejected),
            ":usage_json": Json(usage),
            ":gateway_json": Json(gateway),
            ":decisions_json": Json(decisions),
        },
    )
}

/// That of a row of a trial, where it has one.
pub(crate) fn of(row: &Row<'_>) -> rusqlite::Result<Option<ScaleRecord>> {
    let Some(Json(service)) = row.get("service_json")? else {
        return Ok(None);
    };
    let nanos = |name| row.get::<_, Nanos>(name).map(|Nanos(time)| time);
    Ok(Some(ScaleRecord {
        service,
        opens: nanos("opens_ns")?,
        closes: nanos("closes_ns")?,
        lives: row.get::<_, Json<_>>("lives_json")?.0,
        waits: row.get::<_, Histogram<_>>("waits")?.0,
        most_waiting: row.get("most_waiting")?,
        rejected: row.get::<_, Count>("rejected")?.0,
        usage: row.get::<_, Json<_>>("usage_json")?.0,
        gateway: row.get::<_, Json<_>>("gateway_json")?.0,
        // Older records have none.
        decisions: row.get::<_, Option<Json<_>>>("decisions_json")?.map_or_else(Vec::new, |Json(all)| all),
    }))
}
