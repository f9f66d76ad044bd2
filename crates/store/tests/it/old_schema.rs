//! A store that an earlier version wrote is read, and goes on.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, params};
use stampede_core::{Groundwork, Latencies, Sending};
use stampede_store::Store;

use crate::samples;

/// "Stmp".
const APPLICATION_ID: i32 = 0x5374_6d70;

/// Writes a store of version 1 with one measured trial, by that version's own statements.
fn write_version_1(path: &Path, response: &Latencies) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(include_str!("../../src/migrations/001_studies.sql")).unwrap();
    connection.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
    connection.pragma_update(None, "user_version", 1).unwrap();
    connection
        .execute_batch(
            r#"INSERT INTO study VALUES ('old', 'compare', 'markdown', '1', 3, 1000, 2000, 7, '0.1.0', 2, 'cpu', '6.1', 'v1');
            INSERT INTO study_case VALUES ('old', 0, 'go', 'go', 'go 1.26', '{}', 500, 268435456, 'local',
                '{"server":[1],"generator":[0]}', '{"model":"closed","connections":16}');
            INSERT INTO trial VALUES (1, 'old', 'go', 1, 1, 8, 'measured', NULL, NULL, NULL, NULL, NULL, NULL, '[]', '[]');"#,
        )
        .unwrap();
    let histogram = response.to_bytes();
    connection
        .execute(
            "INSERT INTO measurement VALUES (1, 2000, 10, 9, 1, 0, 0, 0, 0, 0, 0, ?1, ?1, '{}', '{}', 5, 6,
                NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 1000)",
            params![histogram],
        )
        .unwrap();
}

#[test]
fn a_store_of_version_1_is_read_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let mut response = Latencies::new();
    response.record_ns(1_000_000);
    write_version_1(&path, &response);

    let mut store = Store::open(&path).unwrap();
    let old = store.load("old").unwrap();
    let measured = old.trials[0].measurement.as_ref().unwrap();
    assert_eq!((&measured.sending, &measured.response), (&None, &response));
    assert_eq!((measured.requests.ok, measured.window), (9, Duration::from_nanos(2000)));
    assert_eq!(old.study.cases[0].load.to_string(), "closed:16");
    assert_eq!((&old.study.groundwork, old.yard_stick.len()), (&Groundwork::default(), 0));

    // What is written from now on has it, beside what has not.
    let new = samples::measured("go", 2);
    store.add_trial(&old.study.id, &new).unwrap();
    drop(store);
    let both = Store::open_existing(&path).unwrap().load("old").unwrap();
    assert_eq!(both.trials, [old.trials[0].clone(), new]);
    let sending: Vec<Option<&Sending>> =
        both.trials.iter().map(|trial| trial.measurement.as_ref().unwrap().sending.as_ref()).collect();
    assert!(sending[0].is_none() && sending[1].is_some_and(|sending| sending.unsent == 12));
}
