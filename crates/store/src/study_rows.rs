//! Studies and their cases as rows.

use std::path::PathBuf;

use jiff::Timestamp;
use rusqlite::types::FromSqlResult;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, named_params};
use stampede_core::{
    Bytes, Case, CaseId, ChosenByFlags, Cpus, ErrorModel, Limits, Machine, Revision, Rounds, RuntimeId, Slo, Study,
    StudyId, StudyKind, WindowsFrom, WorkloadId,
};

use crate::columns::{Count, Decimal, Instant, Json, Nanos, Word, insert_row, other};
use crate::study_row::{StudyRow, StudyState};

pub(crate) fn insert(transaction: &Transaction<'_>, study: &Study) -> rusqlite::Result<()> {
    let Study {
        id,
        kind,
        workload,
        seed,
        rounds,
        precision,
        errors,
        metric,
        slo,
        warm_up,
        duration,
        order,
        started_at,
        stampede_version,
        machine: Machine { cpus, cpu_model, kernel, cgroup },
        cases,
        groundwork,
        resumed_at,
        time_over_at,
        windows_from,
        chosen,
    } = study;
    let (fixed, max_time) = match rounds {
        Rounds::Fixed(rounds) => (*rounds, None),
        Rounds::Auto { max_time } => (0, Some(*max_time)),
    };
    insert_row(
        transaction,
        "study",
        named_params! {
            ":study_id": id.as_str(),
            ":kind": kind.to_string(),
            ":workload": workload.as_str(),
            ":seed": Decimal(*seed),
            ":rounds": fixed,
            ":warm_up_ns": Nanos(*warm_up),
            ":duration_ns": Nanos(*duration),
            ":started_at_ns": Instant(*started_at),
            ":stampede_version": stampede_version,
            ":machine_cpus": cpus,
            ":cpu_model": cpu_model,
            ":kernel": kernel,
            ":cgroup": Word(cgroup),
            ":max_time_ns": max_time.map(Nanos),
            ":precision": precision,
            ":groundwork_json": Json(groundwork),
            ":metric": metric,
            ":slo": slo.as_ref().map(Slo::to_string),
            ":block_order": Word(order),
        },
    )?;
    // Nothing of errors from each pair alone, as studies of before have.
    if *errors != ErrorModel::OwnPair {
        insert_row(transaction, "study_errors", named_params! {":study_id": id.as_str(), ":errors": Word(errors)})?;
    }
    for (ordinal, case) in (0_i64..).zip(cases) {
        insert_case(transaction, id, ordinal, case)?;
    }
    if let Some(at) = time_over_at {
        insert_time_over(transaction, id, *at)?;
    }
    if let Some(windows_from) = windows_from {
        insert_windows_from(transaction, id, windows_from)?;
    }
    if *chosen != ChosenByFlags::default() {
        let ChosenByFlags { exchanges, cookies, database } = chosen;
        insert_row(
            transaction,
            "chosen_by_flags",
            named_params! {
                ":study_id": id.as_str(),
                ":exchanges_json": Json(exchanges),
                ":cookies": cookies,
                ":database": database.as_ref().map(|dump| dump.to_string_lossy()),
            },
        )?;
    }
    resumed_at.iter().try_for_each(|at| insert_resumption(transaction, id, *at))
}

/// Adds a case after those that the study has.
pub(crate) fn add_case(transaction: &Transaction<'_>, study: &StudyId, case: &Case) -> rusqlite::Result<()> {
    let next = "SELECT coalesce(max(ordinal) + 1, 0) FROM study_case WHERE study_id = ?1";
    let ordinal = transaction.query_row(next, [study.as_str()], |row| row.get(0))?;
    insert_case(transaction, study, ordinal, case)
}

fn insert_case(transaction: &Transaction<'_>, study: &StudyId, ordinal: i64, case: &Case) -> rusqlite::Result<()> {
    let Case {
        id,
        runtime,
        role,
        runtime_version,
        app,
        site,
        revision,
        autoloader,
        php,
        tuning,
        limits: Limits { cpus, memory },
        topology,
        platform,
        base_image,
        pinning,
        load,
        beside,
    } = case;
    insert_row(
        transaction,
        "study_case",
        named_params! {
            ":study_id": study.as_str(),
            ":ordinal": ordinal,
            ":case_id": id.as_str(),
            ":runtime": runtime.as_str(),
            ":runtime_version": runtime_version,
            ":tuning_json": Json(tuning),
            ":limit_cpus_milli": cpus.millis(),
            ":limit_memory_bytes": Count(memory.get()),
            ":platform": platform,
            ":pinning_json": Json(pinning),
            ":load_json": Json(load),
            ":topology_json": Json(topology),
            ":base_image": base_image,
            ":role": Word(role),
        },
    )?;
    if let Some(site) = site {
        insert_row(
            transaction,
            "case_site",
            named_params! {
                ":study_id": study.as_str(),
                ":case_id": id.as_str(),
                ":site_json": Json(site),
            },
        )?;
    }
    if let Some(Revision { commit, is_dirty }) = revision {
        insert_row(
            transaction,
            "case_revision",
            named_params! {
                ":study_id": study.as_str(),
                ":case_id": id.as_str(),
                ":commit_id": commit,
                ":is_dirty": is_dirty,
            },
        )?;
    }
    if !beside.is_empty() {
        insert_row(
            transaction,
            "case_crowds",
            named_params! {
                ":study_id": study.as_str(),
                ":case_id": id.as_str(),
                ":loads_json": Json(beside),
            },
        )?;
    }
    insert_row(
        transaction,
        "case_application",
        named_params! {
            ":study_id": study.as_str(),
            ":case_id": id.as_str(),
            ":app": app,
            ":php_json": php.as_ref().map(Json),
            ":autoloader_json": autoloader.as_ref().map(Json),
        },
    )
}

pub(crate) fn insert_end(connection: &Connection, study: &StudyId, at: Timestamp) -> rusqlite::Result<()> {
    insert_instant(connection, "study_end", ":finished_at_ns", study, at)
}

pub(crate) fn insert_time_over(connection: &Connection, study: &StudyId, at: Timestamp) -> rusqlite::Result<()> {
    insert_instant(connection, "time_over", ":time_over_at_ns", study, at)
}

pub(crate) fn insert_windows_from(
    connection: &Connection,
    study: &StudyId,
    windows_from: &WindowsFrom,
) -> rusqlite::Result<()> {
    let WindowsFrom { block, why } = windows_from;
    insert_row(connection, "windows_from", named_params! {":study_id": study.as_str(), ":block": block, ":why": why})
}

pub(crate) fn insert_resumption(connection: &Connection, study: &StudyId, at: Timestamp) -> rusqlite::Result<()> {
    insert_instant(connection, "resumption", ":resumed_at_ns", study, at)
}

pub(crate) fn insert_import(connection: &Connection, study: &StudyId, at: Timestamp) -> rusqlite::Result<()> {
    insert_instant(connection, "import", ":imported_at_ns", study, at)
}

/// When something happened to a study, in a table for that.
fn insert_instant(
    connection: &Connection,
    table: &str,
    column: &str,
    study: &StudyId,
    at: Timestamp,
) -> rusqlite::Result<()> {
    insert_row(connection, table, &[(":study_id", &study.as_str()), (column, &Instant(at))])
}

/// All studies, newest first.
pub(crate) fn list(connection: &Connection) -> rusqlite::Result<Vec<StudyRow>> {
    let mut statement = connection.prepare(
        "SELECT study_id, kind, workload, started_at_ns, finished_at_ns, rounds, max_time_ns, imported_at_ns,
            (SELECT json_group_array(case_id ORDER BY ordinal) FROM study_case WHERE study_id = study.study_id)
                AS cases_json,
            (SELECT json_group_array(json_array(commit_id, is_dirty) ORDER BY rowid) FROM case_revision
                WHERE study_id = study.study_id) AS revisions_json,
            (SELECT count(*) FROM trial WHERE study_id = study.study_id) AS trials
         FROM study LEFT JOIN study_end USING (study_id) LEFT JOIN import USING (study_id)
         ORDER BY started_at_ns DESC, study.rowid DESC",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(StudyRow {
            id: StudyId::new(row.get::<_, String>("study_id")?),
            kind: row.get::<_, KindColumn>("kind")?.0,
            workload: WorkloadId::new(row.get::<_, String>("workload")?),
            started_at: row.get::<_, Instant>("started_at_ns")?.0,
            finished_at: finished_at(row)?,
            rounds: rounds(row)?,
            cases: row.get::<_, Json<Vec<CaseId>>>("cases_json")?.0,
            revisions: revisions(row)?,
            trials: row.get("trials")?,
            imported_at: row.get::<_, Option<Instant>>("imported_at_ns")?.map(|Instant(at)| at),
        })
    })?;
    rows.collect()
}

/// How far a study is.
pub(crate) fn standing(connection: &Connection, id: &StudyId) -> rusqlite::Result<Option<StudyState>> {
    let question = "SELECT finished_at_ns IS NOT NULL AS is_finished,
            (SELECT count(*) FROM trial WHERE study_id = study.study_id) AS trials
         FROM study LEFT JOIN study_end USING (study_id) WHERE study_id = ?1";
    let standing = |row: &Row<'_>| Ok(StudyState { trials: row.get("trials")?, is_finished: row.get("is_finished")? });
    connection.query_row(question, [id.as_str()], standing).optional()
}

/// A study with its end.
pub(crate) fn load(connection: &Connection, id: &StudyId) -> rusqlite::Result<Option<(Study, Option<Timestamp>)>> {
    let cases = load_cases(connection, id)?;
    let resumed_at = load_resumptions(connection, id)?;
    connection
        .query_row(
            "SELECT * FROM study LEFT JOIN study_end USING (study_id) LEFT JOIN study_errors USING (study_id)
                LEFT JOIN time_over USING (study_id) LEFT JOIN windows_from USING (study_id)
                LEFT JOIN chosen_by_flags USING (study_id) WHERE study_id = ?1",
            [id.as_str()],
            |row| {
                let study = Study {
                    id: id.clone(),
                    kind: row.get::<_, KindColumn>("kind")?.0,
                    workload: WorkloadId::new(row.get::<_, String>("workload")?),
                    seed: row.get::<_, Decimal>("seed")?.0,
                    rounds: rounds(row)?,
                    precision: row.get("precision")?,
                    errors: row.get::<_, Option<Word<_>>>("errors")?.map_or(ErrorModel::OwnPair, |Word(errors)| errors),
                    metric: row.get("metric")?,
                    slo: row.get::<_, Option<SloColumn>>("slo")?.map(|SloColumn(slo)| slo),
                    warm_up: row.get::<_, Nanos>("warm_up_ns")?.0,
                    duration: row.get::<_, Nanos>("duration_ns")?.0,
                    order: row.get::<_, Word<_>>("block_order")?.0,
                    started_at: row.get::<_, Instant>("started_at_ns")?.0,
                    stampede_version: row.get("stampede_version")?,
                    machine: Machine {
                        cpus: row.get("machine_cpus")?,
                        cpu_model: row.get("cpu_model")?,
                        kernel: row.get("kernel")?,
                        cgroup: row.get::<_, Word<_>>("cgroup")?.0,
                    },
                    cases,
                    groundwork: row.get::<_, Json<_>>("groundwork_json")?.0,
                    resumed_at,
                    time_over_at: row.get::<_, Option<Instant>>("time_over_at_ns")?.map(|Instant(at)| at),
                    windows_from: windows_from(row)?,
                    chosen: chosen(row)?,
                };
                Ok((study, finished_at(row)?))
            },
        )
        .optional()
}

/// Where windows took the place of turns.
fn windows_from(row: &Row<'_>) -> rusqlite::Result<Option<WindowsFrom>> {
    let Some(why) = row.get("why")? else { return Ok(None) };
    Ok(Some(WindowsFrom { block: row.get("block")?, why }))
}

/// What flags chose; nothing of a study of before this was kept.
fn chosen(row: &Row<'_>) -> rusqlite::Result<ChosenByFlags> {
    let Some(Json(exchanges)) = row.get("exchanges_json")? else { return Ok(ChosenByFlags::default()) };
    let database = row.get::<_, Option<String>>("database")?.map(PathBuf::from);
    Ok(ChosenByFlags { exchanges, cookies: row.get("cookies")?, database })
}

fn load_cases(connection: &Connection, id: &StudyId) -> rusqlite::Result<Vec<Case>> {
    let mut statement = connection.prepare(
        "SELECT * FROM study_case LEFT JOIN case_application USING (study_id, case_id)
            LEFT JOIN case_revision USING (study_id, case_id)
            LEFT JOIN case_crowds USING (study_id, case_id)
            LEFT JOIN case_site USING (study_id, case_id) WHERE study_id = ?1 ORDER BY ordinal",
    )?;
    let rows = statement.query_map([id.as_str()], |row| {
        Ok(Case {
            id: CaseId::new(row.get::<_, String>("case_id")?),
            runtime: RuntimeId::new(row.get::<_, String>("runtime")?),
            role: row.get::<_, Word<_>>("role")?.0,
            runtime_version: row.get("runtime_version")?,
            // Studies of before this was kept had one application each.
            app: row.get::<_, Option<String>>("app")?.unwrap_or_else(|| "plain".to_owned()),
            site: row.get::<_, Option<Json<_>>>("site_json")?.map(|Json(site)| site),
            revision: revision(row)?,
            autoloader: row.get::<_, Option<Json<_>>>("autoloader_json")?.map(|Json(autoloader)| autoloader),
            php: row.get::<_, Option<Json<_>>>("php_json")?.map(|Json(php)| php),
            tuning: row.get::<_, Json<_>>("tuning_json")?.0,
            limits: Limits {
                cpus: Cpus::from_millis(row.get("limit_cpus_milli")?),
                memory: Bytes::new(row.get::<_, Count>("limit_memory_bytes")?.0),
            },
            topology: row.get::<_, Json<_>>("topology_json")?.0,
            platform: row.get("platform")?,
            base_image: row.get("base_image")?,
            pinning: row.get::<_, Json<_>>("pinning_json")?.0,
            load: row.get::<_, Json<_>>("load_json")?.0,
            beside: row.get::<_, Option<Json<_>>>("loads_json")?.map(|Json(loads)| loads).unwrap_or_default(),
        })
    })?;
    rows.collect()
}

fn revision(row: &Row<'_>) -> rusqlite::Result<Option<Revision>> {
    let Some(commit) = row.get("commit_id")? else { return Ok(None) };
    Ok(Some(Revision { commit, is_dirty: row.get("is_dirty")? }))
}

/// Those of a study's cases, each once.
fn revisions(row: &Row<'_>) -> rusqlite::Result<Vec<Revision>> {
    let mut revisions = Vec::new();
    for (commit, dirty) in row.get::<_, Json<Vec<(String, u8)>>>("revisions_json")?.0 {
        let revision = Revision { commit, is_dirty: dirty != 0 };
        if !revisions.contains(&revision) {
            revisions.push(revision);
        }
    }
    Ok(revisions)
}

fn load_resumptions(connection: &Connection, id: &StudyId) -> rusqlite::Result<Vec<Timestamp>> {
    let mut statement =
        connection.prepare("SELECT resumed_at_ns FROM resumption WHERE study_id = ?1 ORDER BY resumed_at_ns")?;
    let rows = statement.query_map([id.as_str()], |row| row.get::<_, Instant>(0).map(|Instant(at)| at))?;
    rows.collect()
}

fn rounds(row: &Row<'_>) -> rusqlite::Result<Rounds> {
    Ok(match row.get::<_, Option<Nanos>>("max_time_ns")? {
        Some(Nanos(max_time)) => Rounds::Auto { max_time },
        None => Rounds::Fixed(row.get("rounds")?),
    })
}

fn finished_at(row: &Row<'_>) -> rusqlite::Result<Option<Timestamp>> {
    let end: Option<Instant> = row.get("finished_at_ns")?;
    Ok(end.map(|Instant(finished_at)| finished_at))
}

struct KindColumn(StudyKind);

impl rusqlite::types::FromSql for KindColumn {
    fn column_result(value: rusqlite::types::ValueRef<'_>) -> FromSqlResult<Self> {
        match value.as_str()? {
            "compare" => Ok(Self(StudyKind::Compare)),
            "calibrate" => Ok(Self(StudyKind::Calibrate)),
            "gate" => Ok(Self(StudyKind::Gate)),
            "capacity" => Ok(Self(StudyKind::Capacity)),
            "why" => Ok(Self(StudyKind::Why)),
            "tune" => Ok(Self(StudyKind::Tune)),
            "scale" => Ok(Self(StudyKind::Scale)),
            "own-rates" => Ok(Self(StudyKind::OwnRates)),
            word => Err(other(format!("unknown kind of study: {word}"))),
        }
    }
}

struct SloColumn(Slo);

impl rusqlite::types::FromSql for SloColumn {
    fn column_result(value: rusqlite::types::ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_str()?.parse().map(Self).map_err(other)
    }
}
