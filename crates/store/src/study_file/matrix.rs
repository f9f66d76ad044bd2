//! Every version that ever wrote a store against this one, which reads it, goes on writing to it, and takes in its files.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Timestamp;
use rusqlite::{Connection, params};
use stampede_core::{BlockOrder, CaseId, CaseRole, ErrorModel, Groundwork, Latencies, StudyId, Trial};

use super::{StudyFileError, packed, read_study_file, unpacked, write};
use crate::StoredStudy;
use crate::schema::{self, VERSION};
use crate::store::{Import, Store, StoreError};
use crate::study_tables;

/// For each version, what it writes beside what those before it wrote, by its own statements. `?1` is a distribution.
const WRITERS: [&[&str]; VERSION as usize] = [
    &[
        "INSERT INTO study VALUES ('old', 'compare', 'markdown', '18446744073709551615', 3, 1000, 2000, 7, '0.1.0', 2,
            'cpu', '6.1', 'v1')",
        "INSERT INTO study_end VALUES ('old', 9)",
        "INSERT INTO study_case VALUES ('old', 0, 'go', 'go', 'go 1.26', '{}', 500, 268435456, 'local',
            '{\"server\":[1],\"generator\":[0]}', '{\"model\":\"closed\",\"connections\":16}')",
        "INSERT INTO trial VALUES (7, 'old', 'go', 1, 1, 8, 'measured', NULL, NULL, NULL, NULL, NULL, NULL, '[]', '[]')",
        "INSERT INTO measurement VALUES (7, 2000, 10, 9, 1, 0, 0, 0, 0, 0, 0, ?1, ?1, '{}', '{}', 5, 6,
            NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 1000)",
    ],
    &["UPDATE study SET rounds = 0, max_time_ns = 600000000000, precision = 0.05"],
    &["INSERT INTO sending VALUES (7, 'epoll', 12, 0, NULL, ?1)"],
    &[
        "INSERT INTO case_application VALUES ('old', 'go', 'symfony', NULL)",
        "INSERT INTO trial_php VALUES (7, '{\"version\":\"8.2.29\",\"thread_safe\":false,\"debug\":false,\"sapi\":\"cli\",
            \"extensions\":{},\"settings\":{},\"opcache\":true,\"jit\":false}')",
    ],
    &["INSERT INTO sampling VALUES (7, 1234, '[]')"],
    &["UPDATE study_case SET topology_json = '{\"replicas\":2}'"],
    &[
        "INSERT INTO resumption VALUES ('old', 8)",
        "INSERT INTO yard_stick VALUES (3, 'old', 1, 8, 'measured', NULL, 1000, 50, NULL, NULL)",
    ],
    &[
        "INSERT INTO case_crowds VALUES ('old', 'go', '[]')",
        "INSERT INTO step VALUES (7, 0, 'get', 10, 9, 1, 0, 0, ?1, ?1, 0, NULL, '{}', '{}')",
        "INSERT INTO audit VALUES (7, '[{\"name\":\"people\",\"answered\":9,\"unknown\":0,\"told\":[]}]')",
    ],
    &["UPDATE study SET metric = 'cpu_us_per_request'"],
    &["UPDATE study SET slo = 'p99<100ms'"],
    &["INSERT INTO slo_seconds VALUES (7, '[{\"ended\":5,\"beyond\":[1]}]')"],
    &["INSERT INTO scaling VALUES (7, '{\"policy\":\"knative\",\"concurrency\":8,\"min_instances\":0,\"max_instances\":6,
            \"queue_length\":{\"at_most\":7},\"queue_wait\":{\"secs\":10,\"nanos\":0},\"request_timeout\":{\"secs\":300,\"nanos\":0},
            \"start\":{\"secs\":1,\"nanos\":0},\"price\":\"cloud-run-requests\"}', 3, 2000, '[]', ?1, 4, 5,
            '{\"busy_seconds\":0.5,\"kept_idle_seconds\":0.0,\"lived_seconds\":1.5,\"requests\":9.0}',
            '{\"cpu\":{\"secs\":0,\"nanos\":17},\"requests\":13}')"],
    &["INSERT INTO import VALUES ('old', 11)"],
    &["INSERT INTO case_revision VALUES ('old', 'go', '3f2a91c0b7', 1)"],
    &["UPDATE study_case SET base_image = 'debian:bookworm'"],
    &["INSERT INTO load_seconds VALUES (7, '[{\"second\":0,\"sent\":5,\"ok\":4,\"failed\":1,\"response_p50_us\":900,
            \"response_p99_us\":null}]')"],
    &["UPDATE sampling SET queries_json = '[{\"unit\":\"postgres\",\"text\":\"SELECT 1\",\"seen\":5,\"locked\":1}]'"],
    &["INSERT INTO case_site VALUES ('old', 'go', '{\"root\":\"public\",\"files\":true,\"fallback\":\"front\",
            \"denied\":[],\"htaccess\":false}')"],
    &["INSERT INTO study_errors VALUES ('old', 'all_cases')"],
    &[
        "UPDATE study SET block_order = 'turns'",
        "INSERT INTO turns VALUES (7, '[{\"at\":{\"secs\":0,\"nanos\":0},\"window\":{\"secs\":1,\"nanos\":0},\"ok\":5,\"cpu\":null,
            \"periods\":10,\"stolen\":null}]')",
    ],
    &["UPDATE study_case SET role = 'not-for-production'"],
    &["INSERT INTO time_over VALUES ('old', 9)"],
    &["INSERT INTO windows_from VALUES ('old', 2, 'go: its workers were replaced')"],
    &["UPDATE case_application SET autoloader_json = '{\"developers\":2,\"class_map\":false}'"],
    &["INSERT INTO inside VALUES (7, '{\"functions\":[],\"stacks\":[],\"spent\":{\"running\":{\"secs\":1,\"nanos\":0},
            \"ready\":{\"secs\":0,\"nanos\":0},\"waiting\":{\"secs\":0,\"nanos\":0},\"waits\":4},\"effort\":{\"taken\":9,
            \"torn\":0,\"moved\":0,\"skipped\":0,\"cpu\":{\"secs\":0,\"nanos\":5}},\"sampled\":[],\"problems\":[]}')"],
    &["INSERT INTO chosen_by_flags VALUES ('old', '[\"update\"]', 1, 'shop.sql')"],
    &["UPDATE scaling SET decisions_json = '[{\"at\":{\"secs\":0,\"nanos\":5},\"wanted\":2,\"used\":0.75}]'"],
];
/// What this version added is a store's own and no part of a study.
const OWN: i64 = 13;

/// Which versions' additions a study shows.
fn shown(stored: &StoredStudy) -> Vec<bool> {
    let (study, case, trial) = (&stored.study, &stored.study.cases[0], &stored.trials[0]);
    let measured = trial.measurement.as_ref().unwrap();
    vec![
        (study.seed, measured.requests.ok, &measured.response, stored.finished_at.is_some())
            == (u64::MAX, 9, &latencies(), true),
        (study.precision - 0.05).abs() < 1e-9,
        measured.sending.as_ref().is_some_and(|sending| sending.unsent == 12),
        case.app == "symfony" && trial.php.is_some(),
        measured.sampling.is_some(),
        case.topology.replicas == 2,
        (study.resumed_at.len(), stored.yard_stick.len()) == (1, 1),
        (measured.steps.len(), trial.audits.len()) == (1, 1),
        study.metric.is_some(),
        study.slo.is_some(),
        measured.seconds.len() == 1,
        trial.scale.as_ref().is_some_and(|scale| scale.most_waiting == 4),
        false,
        case.revision.as_ref().is_some_and(|revision| revision.is_dirty),
        case.base_image.is_some(),
        measured.load_seconds.len() == 1,
        measured.sampling.as_ref().is_some_and(|sampling| sampling.queries.len() == 1),
        case.site.as_ref().is_some_and(|site| site.files),
        study.errors == ErrorModel::AllCases,
        (study.order, measured.turns.len()) == (BlockOrder::Turns, 1),
        case.role == CaseRole::NotForProduction,
        study.time_over_at.is_some(),
        study.windows_from.as_ref().is_some_and(|windows_from| windows_from.block == 2),
        case.autoloader.as_ref().is_some_and(|autoloader| autoloader.developers == 2),
        measured.sampling.as_ref().and_then(|all| all.inside.as_ref()).is_some_and(|inside| inside.effort.taken == 9),
        (study.chosen.exchanges.len(), study.chosen.cookies, study.chosen.database.is_some()) == (1, true, true),
        trial.scale.as_ref().is_some_and(|scale| scale.decisions.len() == 1),
    ]
}

fn latencies() -> Latencies {
    let mut latencies = Latencies::new();
    latencies.record_ns(1_000_000);
    latencies
}

/// Fills a store with what every version up to this one added, each by its own statements.
pub(crate) fn fill(connection: &mut Connection, version: i64) {
    let distribution = latencies().to_bytes();
    for (step, statements) in (1..=version).zip(WRITERS) {
        schema::migrate_to(connection, step).unwrap();
        for statement in statements {
            let filled = if statement.contains("?1") {
                connection.execute(statement, params![distribution])
            } else {
                connection.execute(statement, [])
            };
            filled.unwrap_or_else(|error| panic!("version {step}: {statement}: {error}"));
        }
    }
}

fn old_store(path: &Path, version: i64) {
    fill(&mut Connection::open(path).unwrap(), version);
}

#[test]
fn what_every_version_wrote_is_read_gone_on_with_and_imported() {
    for version in 1..=VERSION {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        old_store(&path, version);
        // As that version would write it, whose writer knew its own tables alone.
        let file = write(&Connection::open(&path).unwrap(), &StudyId::new("old")).unwrap();

        let mut store = Store::open(&path).unwrap();
        let stored = store.load("old").unwrap();
        let expected: Vec<bool> = (1..=VERSION).map(|addition| addition <= version && addition != OWN).collect();
        assert_eq!(shown(&stored), expected, "a store of version {version}");
        assert_eq!(stored.study.groundwork, Groundwork::default());
        assert_eq!(read_study_file(&file[..]).unwrap(), stored, "a file of version {version}");

        let more = Trial { case: CaseId::new("go"), block: 2, ..stored.trials[0].clone() };
        store.add_trial(&stored.study.id, &more).unwrap();
        let went_on = store.load("old").unwrap();
        assert_eq!(went_on.trials, [stored.trials[0].clone(), more], "version {version}");

        let mut other = Store::open(&folder.path().join("other.db")).unwrap();
        let at = Timestamp::new(12, 0).unwrap();
        assert_eq!(other.import(&stored, at).unwrap(), Import::Stored);
        assert_eq!(other.load("old").unwrap(), stored, "version {version}, imported");
        assert_eq!(other.import(&stored, at).unwrap(), Import::WasThere);
        assert!(matches!(other.import(&went_on, at), Err(StoreError::Different(_))));
    }
}

#[test]
fn a_file_of_rows_that_no_store_has_is_refused() {
    let content = |store: i64, tables: serde_json::Value| {
        let tables: Vec<study_tables::Table> = serde_json::from_value(tables).unwrap();
        read_study_file(&packed(&super::Content { stampede: "9.9.9".to_owned(), store, tables }).unwrap()[..])
    };
    let study = |id: &str| {
        serde_json::json!({
            "name": "study",
            "columns": ["study_id", "kind", "workload", "seed", "rounds", "warm_up_ns", "duration_ns", "started_at_ns",
                "stampede_version", "machine_cpus", "cpu_model", "kernel", "cgroup"],
            "rows": [[id, "compare", "markdown", "1", 3, 1000, 2000, 7, "0.1.0", 2, "cpu", "6.1", "v1"]],
        })
    };
    let table = |name: &str, columns: serde_json::Value, row: serde_json::Value| serde_json::json!([{"name": name, "columns": columns, "rows": [row]}]);
    assert!(content(1, serde_json::json!([study("0712-a.b_C")])).is_ok());
    let records = [
        ("a table that is none", table("sqlite_schema", serde_json::json!(["name"]), serde_json::json!(["x"]))),
        (
            "SQL for a table",
            table("study; DROP TABLE study", serde_json::json!(["study_id"]), serde_json::json!(["x"])),
        ),
        ("SQL for a column", table("study", serde_json::json!(["study_id) VALUES (1); --"]), serde_json::json!(["x"]))),
        (
            "a word for a number",
            table("study_end", serde_json::json!(["study_id", "finished_at_ns"]), serde_json::json!(["x", "y"])),
        ),
        (
            "too few values",
            table("study_end", serde_json::json!(["study_id", "finished_at_ns"]), serde_json::json!(["x"])),
        ),
        ("a list for a value", table("study_end", serde_json::json!(["study_id"]), serde_json::json!([[1]]))),
        ("no base64", table("study_end", serde_json::json!(["study_id"]), serde_json::json!([{"base64": "?"}]))),
        ("the same twice", serde_json::json!([study("a"), study("a")])),
        ("a table of a later version", table("step", serde_json::json!(["trial_id"]), serde_json::json!([1]))),
    ];
    for (name, tables) in records {
        let read = content(1, tables);
        assert!(matches!(read, Err(StudyFileError::Records(_))), "{name}: {read:?}");
    }
    for (name, store, tables) in [
        ("two studies", 1, serde_json::json!([study("a"), study("b")])),
        ("no study", 1, serde_json::json!([])),
        ("version 0", 0, serde_json::json!([study("a")])),
        ("version -1", -1, serde_json::json!([study("a")])),
    ] {
        let read = content(store, tables);
        assert!(matches!(read, Err(StudyFileError::Content(_))), "{name}: {read:?}");
    }
    let long = "a".repeat(121);
    for name in ["../../etc/cron.d/x", "/etc/passwd", "a/b", "..", "", "latest", "-o", "a b", "a\u{1b}[2J", "ä", &long]
    {
        let read = content(1, serde_json::json!([study(name)]));
        assert!(matches!(read, Err(StudyFileError::Name(_))), "{name}: {read:?}");
    }
    let newer = content(VERSION + 1, serde_json::json!([])).unwrap_err();
    assert!(matches!(newer, StudyFileError::Newer { .. }), "{newer:?}");
    assert!(newer.to_string().contains("9.9.9"), "{newer}");
    let import = table("import", serde_json::json!(["study_id", "imported_at_ns"]), serde_json::json!(["a", 1]));
    assert!(matches!(content(VERSION, import), Err(StudyFileError::Records(_))), "who imported what is a store's own");
}

#[test]
fn what_unpacks_to_more_than_any_study_is_refused() {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(&[b' '; 5_000]).unwrap();
    let packed = packer.finish().unwrap();
    assert_eq!(unpacked(&packed, 5_000).unwrap().len(), 5_000);
    assert!(matches!(unpacked(&packed, 4_999), Err(StudyFileError::TooLarge { most: 4_999 })));
}
