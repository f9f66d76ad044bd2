//! Trials and their measurements as rows.

use rusqlite::{Connection, Row, Transaction, named_params};
use stampede_core::{
    Bytes, CaseId, Censored, Cpus, EnforcedLimits, GeneratorUse, InsideRecord, Limit, Measurement, Outcome,
    ReadinessRecord, ResourceUse, Sampling, Sending, StudyId, Trial,
};

use crate::columns::{Count, Histogram, Instant, Json, Nanos, counts, insert_row, other};
use crate::{scale_rows, step_rows};

pub(crate) fn insert(transaction: &Transaction<'_>, study: &StudyId, trial: &Trial) -> rusqlite::Result<()> {
    let Trial {
        case,
        block,
        position,
        started_at,
        outcome,
        enforced,
        ready,
        php,
        answers,
        measurement,
        stops,
        parts,
        link,
        audits,
        scale,
    } = trial;
    let (outcome, reason) = outcome.words();
    insert_row(
        transaction,
        "trial",
        named_params! {
            ":study_id": study.as_str(),
            ":case_id": case.as_str(),
            ":block": block,
            ":position": position,
            ":started_at_ns": Instant(*started_at),
            ":outcome": outcome,
            ":reason": reason,
            ":enforced_period_ns": enforced.map(|limits| Nanos(limits.period)),
            ":enforced_cpus_milli": enforced.and_then(|limits| at_most(limits.cpus)).map(Cpus::millis),
            ":enforced_memory_bytes": enforced
                .and_then(|limits| at_most(limits.memory))
                .map(|memory| Count(memory.get())),
            ":ready_took_ns": ready.map(|ready| Nanos(ready.took)),
            ":ready_attempts": ready.map(|ready| ready.attempts),
            ":answers_json": Json(answers),
            ":stops_json": Json(stops),
            ":parts_json": Json(parts),
            ":link_json": link.as_ref().map(Json),
        },
    )?;
    let trial_id = transaction.last_insert_rowid();
    if let Some(php) = php {
        insert_row(transaction, "trial_php", named_params! {":trial_id": trial_id, ":php_json": Json(php)})?;
    }
    if !audits.is_empty() {
        insert_row(transaction, "audit", named_params! {":trial_id": trial_id, ":audits_json": Json(audits)})?;
    }
    if let Some(scale) = scale {
        scale_rows::insert(transaction, trial_id, scale)?;
    }
    if let Some(measurement) = measurement {
        insert_measurement(transaction, trial_id, measurement)?;
    }
    Ok(())
}

fn insert_measurement(transaction: &Transaction<'_>, trial: i64, measurement: &Measurement) -> rusqlite::Result<()> {
    let Measurement {
        window,
        requests,
        warm_up,
        reconnects,
        service,
        response,
        status,
        errors,
        bytes_sent,
        bytes_received,
        resources,
        generator: GeneratorUse { threads: generator_threads, cpu: generator_cpu },
        sending,
        sampling,
        steps,
        seconds,
        turns,
        load_seconds,
    } = measurement;
    insert_row(
        transaction,
        "measurement",
        named_params! {
            ":trial_id": trial,
            ":window_ns": Nanos(*window),
            ":sent": Count(requests.sent),
            ":ok": Count(requests.ok),
            ":failed": Count(requests.failed),
            ":unfinished": Count(requests.unfinished),
            ":warm_up_sent": Count(warm_up.sent),
            ":warm_up_ok": Count(warm_up.ok),
            ":warm_up_failed": Count(warm_up.failed),
            ":warm_up_unfinished": Count(warm_up.unfinished),
            ":reconnects": Count(*reconnects),
            ":service": Histogram(service),
            ":response": Histogram(response),
            ":status_json": Json(status),
            ":errors_json": Json(errors),
            ":bytes_sent": Count(*bytes_sent),
            ":bytes_received": Count(*bytes_received),
            ":between_ns": resources.map(|resources| Nanos(resources.between)),
            ":cpu_ns": resources.map(|resources| Nanos(resources.cpu)),
            ":periods": resources.map(|resources| Count(resources.periods)),
            ":throttled_periods": resources.map(|resources| Count(resources.throttled_periods)),
            ":throttled_ns": resources.map(|resources| Nanos(resources.throttled)),
            ":memory_peak_bytes": resources.map(|resources| Count(resources.memory_peak)),
            ":cache_peak_bytes": resources.map(|resources| Count(resources.cache_peak)),
            ":oom_kills": resources.map(|resources| Count(resources.oom_kills)),
            ":generator_threads": generator_threads,
            ":generator_cpu_ns": Nanos(*generator_cpu),
        },
    )?;
    if let Some(Sampling { series, cpu, queries, inside }) = sampling {
        insert_row(
            transaction,
            "sampling",
            named_params! {
                ":trial_id": trial,
                ":sampling_cpu_ns": Nanos(*cpu),
                ":series_json": Json(series),
                ":queries_json": (!queries.is_empty()).then_some(Json(queries)),
            },
        )?;
        if let Some(inside) = inside {
            insert_row(transaction, "inside", named_params! { ":trial_id": trial, ":inside_json": Json(&**inside) })?;
        }
    }
    if !seconds.is_empty() {
        insert_row(transaction, "slo_seconds", named_params! { ":trial_id": trial, ":seconds_json": Json(seconds) })?;
    }
    if !turns.is_empty() {
        insert_row(transaction, "turns", named_params! { ":trial_id": trial, ":turns_json": Json(turns) })?;
    }
    if !load_seconds.is_empty() {
        insert_row(
            transaction,
            "load_seconds",
            named_params! { ":trial_id": trial, ":load_seconds_json": Json(load_seconds) },
        )?;
    }
    step_rows::insert(transaction, trial, steps)?;
    sending.as_ref().map_or(Ok(()), |sending| insert_sending(transaction, trial, sending))
}

fn insert_sending(transaction: &Transaction<'_>, trial: i64, sending: &Sending) -> rusqlite::Result<()> {
    let Sending { backend, unsent, censored: Censored { count, least }, lateness } = sending;
    insert_row(
        transaction,
        "sending",
        named_params! {
            ":trial_id": trial,
            ":backend": backend,
            ":unsent": Count(*unsent),
            ":censored": Count(*count),
            ":censored_least_ns": least.map(Nanos),
            ":lateness": Histogram(lateness),
        },
    )
}

/// A study's trials in the order in which they were run.
pub(crate) fn load(connection: &Connection, study: &StudyId) -> rusqlite::Result<Vec<Trial>> {
    let mut statement = connection.prepare(
        "SELECT * FROM trial LEFT JOIN measurement USING (trial_id) LEFT JOIN sending USING (trial_id)
            LEFT JOIN trial_php USING (trial_id) LEFT JOIN sampling USING (trial_id)
            LEFT JOIN audit USING (trial_id) LEFT JOIN slo_seconds USING (trial_id)
            LEFT JOIN scaling USING (trial_id) LEFT JOIN load_seconds USING (trial_id)
            LEFT JOIN turns USING (trial_id) LEFT JOIN inside USING (trial_id)
            WHERE study_id = ?1 ORDER BY trial_id",
    )?;
    let rows = statement.query_map([study.as_str()], |row| {
        Ok(Trial {
            case: CaseId::new(row.get::<_, String>("case_id")?),
            block: row.get("block")?,
            position: row.get("position")?,
            started_at: row.get::<_, Instant>("started_at_ns")?.0,
            outcome: outcome(row)?,
            enforced: enforced(row)?,
            ready: ready(row)?,
            php: row.get::<_, Option<Json<_>>>("php_json")?.map(|Json(php)| php),
            answers: row.get::<_, Json<_>>("answers_json")?.0,
            measurement: measurement(connection, row)?,
            stops: row.get::<_, Json<_>>("stops_json")?.0,
            parts: row.get::<_, Json<_>>("parts_json")?.0,
            link: row.get::<_, Option<Json<_>>>("link_json")?.map(|Json(link)| link),
            audits: row.get::<_, Option<Json<_>>>("audits_json")?.map(|Json(audits)| audits).unwrap_or_default(),
            scale: scale_rows::of(row)?,
        })
    })?;
    rows.collect()
}

pub(crate) fn outcome(row: &Row<'_>) -> rusqlite::Result<Outcome> {
    let reason = || {
        let reason: Option<String> = row.get("reason")?;
        Ok::<_, rusqlite::Error>(reason.unwrap_or_default())
    };
    match row.get::<_, String>("outcome")?.as_str() {
        "measured" => Ok(Outcome::Measured),
        "invalid" => Ok(Outcome::Invalid(reason()?)),
        "failed" => Ok(Outcome::Failed(reason()?)),
        word => Err(other(format!("unknown outcome of a trial: {word}")).into()),
    }
}

fn enforced(row: &Row<'_>) -> rusqlite::Result<Option<EnforcedLimits>> {
    let Some(Nanos(period)) = row.get("enforced_period_ns")? else {
        return Ok(None);
    };
    let cpus: Option<u32> = row.get("enforced_cpus_milli")?;
    let memory: Option<Count> = row.get("enforced_memory_bytes")?;
    Ok(Some(EnforcedLimits {
        cpus: cpus.map_or(Limit::Unlimited, |millis| Limit::AtMost(Cpus::from_millis(millis))),
        period,
        memory: memory.map_or(Limit::Unlimited, |Count(bytes)| Limit::AtMost(Bytes::new(bytes))),
    }))
}

fn ready(row: &Row<'_>) -> rusqlite::Result<Option<ReadinessRecord>> {
    let Some(Nanos(took)) = row.get("ready_took_ns")? else {
        return Ok(None);
    };
    Ok(Some(ReadinessRecord { took, attempts: row.get("ready_attempts")? }))
}

fn measurement(connection: &Connection, row: &Row<'_>) -> rusqlite::Result<Option<Measurement>> {
    let Some(Nanos(window)) = row.get("window_ns")? else {
        return Ok(None);
    };
    let count = |name| row.get::<_, Count>(name).map(|Count(count)| count);
    let nanos = |name| row.get::<_, Nanos>(name).map(|Nanos(duration)| duration);
    Ok(Some(Measurement {
        window,
        requests: counts(row, "")?,
        warm_up: counts(row, "warm_up_")?,
        reconnects: count("reconnects")?,
        service: row.get::<_, Histogram<_>>("service")?.0,
        response: row.get::<_, Histogram<_>>("response")?.0,
        status: row.get::<_, Json<_>>("status_json")?.0,
        errors: row.get::<_, Json<_>>("errors_json")?.0,
        bytes_sent: count("bytes_sent")?,
        bytes_received: count("bytes_received")?,
        resources: resources(row)?,
        generator: GeneratorUse { threads: row.get("generator_threads")?, cpu: nanos("generator_cpu_ns")? },
        sending: sending(row)?,
        sampling: sampling(row)?,
        steps: step_rows::load(connection, row.get("trial_id")?)?,
        seconds: row.get::<_, Option<Json<_>>>("seconds_json")?.map(|Json(seconds)| seconds).unwrap_or_default(),
        turns: row.get::<_, Option<Json<_>>>("turns_json")?.map(|Json(turns)| turns).unwrap_or_default(),
        load_seconds: row.get::<_, Option<Json<_>>>("load_seconds_json")?.map(|Json(list)| list).unwrap_or_default(),
    }))
}

fn sampling(row: &Row<'_>) -> rusqlite::Result<Option<Sampling>> {
    let Some(Nanos(cpu)) = row.get("sampling_cpu_ns")? else {
        return Ok(None);
    };
    let queries = row.get::<_, Option<Json<_>>>("queries_json")?.map(|Json(queries)| queries).unwrap_or_default();
    let inside = row.get::<_, Option<Json<InsideRecord>>>("inside_json")?.map(|Json(inside)| Box::new(inside));
    Ok(Some(Sampling { series: row.get::<_, Json<_>>("series_json")?.0, cpu, queries, inside }))
}

fn sending(row: &Row<'_>) -> rusqlite::Result<Option<Sending>> {
    let Some(backend) = row.get("backend")? else {
        return Ok(None);
    };
    let Count(unsent) = row.get("unsent")?;
    let Count(count) = row.get("censored")?;
    let least = row.get::<_, Option<Nanos>>("censored_least_ns")?.map(|Nanos(least)| least);
    let Histogram(lateness) = row.get("lateness")?;
    Ok(Some(Sending { backend, unsent, censored: Censored { count, least }, lateness }))
}

fn resources(row: &Row<'_>) -> rusqlite::Result<Option<ResourceUse>> {
    let Some(Nanos(between)) = row.get("between_ns")? else {
        return Ok(None);
    };
    let count = |name| row.get::<_, Count>(name).map(|Count(count)| count);
    let nanos = |name| row.get::<_, Nanos>(name).map(|Nanos(duration)| duration);
    Ok(Some(ResourceUse {
        between,
        cpu: nanos("cpu_ns")?,
        periods: count("periods")?,
        throttled_periods: count("throttled_periods")?,
        throttled: nanos("throttled_ns")?,
        memory_peak: count("memory_peak_bytes")?,
        cache_peak: count("cache_peak_bytes")?,
        oom_kills: count("oom_kills")?,
    }))
}

fn at_most<T>(limit: Limit<T>) -> Option<T> {
    match limit {
        Limit::Unlimited => None,
        Limit::AtMost(bound) => Some(bound),
    }
}
