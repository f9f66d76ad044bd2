//! What was measured of the steps of a load, as rows.

use rusqlite::{Connection, Transaction, named_params};
use stampede_core::{Censored, Counts, StepRecord};

use crate::columns::{Count, Histogram, Json, Nanos, counts, insert_row};

pub(crate) fn insert(transaction: &Transaction<'_>, trial: i64, steps: &[StepRecord]) -> rusqlite::Result<()> {
    for (ordinal, step) in (0_i64..).zip(steps) {
        let StepRecord { name, requests, unsent, service, response, censored, status, errors } = step;
        let Counts { sent, ok, failed, unfinished } = *requests;
        let Censored { count, least } = *censored;
        insert_row(
            transaction,
            "step",
            named_params! {
                ":trial_id": trial,
                ":ordinal": ordinal,
                ":name": name,
                ":sent": Count(sent),
                ":ok": Count(ok),
                ":failed": Count(failed),
                ":unfinished": Count(unfinished),
                ":unsent": Count(*unsent),
                ":service": Histogram(service),
                ":response": Histogram(response),
                ":censored": Count(count),
                ":censored_least_ns": least.map(Nanos),
                ":status_json": Json(status),
                ":errors_json": Json(errors),
            },
        )?;
    }
    Ok(())
}

/// The steps of a trial in their order.
pub(crate) fn load(connection: &Connection, trial: i64) -> rusqlite::Result<Vec<StepRecord>> {
    let mut statement = connection.prepare_cached("SELECT * FROM step WHERE trial_id = ?1 ORDER BY ordinal")?;
    let rows = statement.query_map([trial], |row| {
        let count = |name| row.get::<_, Count>(name).map(|Count(count)| count);
        let least = row.get::<_, Option<Nanos>>("censored_least_ns")?.map(|Nanos(least)| least);
        Ok(StepRecord {
            name: row.get("name")?,
            requests: counts(row, "")?,
            unsent: count("unsent")?,
            service: row.get::<_, Histogram<_>>("service")?.0,
            response: row.get::<_, Histogram<_>>("response")?.0,
            censored: Censored { count: count("censored")?, least },
            status: row.get::<_, Json<_>>("status_json")?.0,
            errors: row.get::<_, Json<_>>("errors_json")?.0,
        })
    })?;
    rows.collect()
}
