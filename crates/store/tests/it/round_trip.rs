//! What was stored is read back equal.

use std::time::Duration;

use jiff::Timestamp;
use stampede_core::{Rounds, Study, StudyId, StudyKind};
use stampede_store::{Import, Store, StoreError, StoredStudy, StudyState};

use crate::samples;

#[test]
fn a_study_and_its_trials_are_read_back_equal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/stampede.db");
    let study = samples::study("0713-a", 1_700_000_000);
    let trials = samples::trials();
    let finished_at = Timestamp::new(1_700_000_100, 5).unwrap();

    let mut store = Store::open(&path).unwrap();
    assert_eq!(store.standing(&study.id).unwrap(), None);
    store.begin_study(&study).unwrap();
    for (stored, trial) in (0..).zip(&trials) {
        assert_eq!(store.standing(&study.id).unwrap(), Some(StudyState { trials: stored, is_finished: false }));
        store.add_trial(&study.id, trial).unwrap();
    }
    let yard_stick = samples::readings();
    for reading in &yard_stick {
        store.add_reading(&study.id, reading).unwrap();
    }
    let unfinished = store.load("latest").unwrap();
    assert_eq!(unfinished.finished_at, None);
    store.finish_study(&study.id, finished_at).unwrap();
    let all = StudyState { trials: trials.len() as u32, is_finished: true };
    assert_eq!(store.standing(&study.id).unwrap(), Some(all));
    drop(store);

    let stored = Store::open_existing(&path).unwrap().load("0713").unwrap();
    let expected = StoredStudy { study, finished_at: Some(finished_at), trials, yard_stick };
    assert_eq!(stored, expected);
}

#[test]
fn a_study_that_finds_its_rounds_out_keeps_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("s.db")).unwrap();
    let rounds = Rounds::Auto { max_time: Duration::from_millis(600_500) };
    let study = Study { rounds, ..samples::study("auto", 1) };
    store.begin_study(&study).unwrap();
    assert_eq!(store.load("auto").unwrap().study, study);
    assert_eq!(store.studies().unwrap()[0].rounds, rounds);
}

#[test]
fn a_study_says_when_it_was_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("s.db")).unwrap();
    let study = Study { kind: StudyKind::Calibrate, ..samples::study("s", 100) };
    store.begin_study(&study).unwrap();
    let times = [300, 200].map(|second| Timestamp::new(second, 5).unwrap());
    for resumed_at in times {
        store.resume_study(&study.id, resumed_at).unwrap();
    }
    let stored = store.load("s").unwrap().study;
    assert_eq!(stored, Study { resumed_at: vec![times[1], times[0]], ..study });
    assert!(store.resume_study(&StudyId::new("x"), times[0]).is_err());
    assert!(store.add_reading(&StudyId::new("x"), &samples::readings()[0]).is_err());
}

#[test]
fn studies_are_listed_newest_first_whatever_the_order_of_writing() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("s.db")).unwrap();
    for (id, started) in [("middle", 200), ("new", 300), ("old", 100)] {
        store.begin_study(&samples::study(id, started)).unwrap();
    }
    let old = StudyId::new("old");
    store.add_trial(&old, &samples::measured("go", 1)).unwrap();
    store.finish_study(&old, Timestamp::new(400, 0).unwrap()).unwrap();

    let rows = store.studies().unwrap();
    let ids: Vec<_> = rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["new", "middle", "old"]);
    let row = &rows[2];
    assert_eq!((row.trials, row.rounds), (1, Rounds::Fixed(3)));
    assert_eq!(row.finished_at, Some(Timestamp::new(400, 0).unwrap()));
    let cases: Vec<_> = row.cases.iter().map(|case| case.as_str()).collect();
    assert_eq!(cases, ["nginx-fpm", "go"]);
    assert_eq!(store.load("latest").unwrap().study.id.as_str(), "new");
}

#[test]
fn a_study_that_is_named_wholly_is_found_without_a_look_at_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let mut store = Store::open(&path).unwrap();
    for (id, started) in [("0712", 100), ("0712-a", 200), ("0713", 300)] {
        store.begin_study(&samples::study(id, started)).unwrap();
    }
    assert_eq!(store.load("0712").unwrap().study.id.as_str(), "0712", "though another begins like that");
    // Whoever looks at all of them comes upon this one.
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute("UPDATE study SET kind = 'of no kind' WHERE study_id = '0713'", []).unwrap();
    assert!(store.studies().is_err());
    assert_eq!(store.load("0712-a").unwrap().study.id.as_str(), "0712-a");
    assert_eq!(store.export("0712").unwrap().0.as_str(), "0712");
    let stored = store.load("0712-a").unwrap();
    assert_eq!(store.import(&stored, Timestamp::UNIX_EPOCH).unwrap(), Import::WasThere);
    assert!(store.load("0712-").is_err());
}

#[test]
fn reading_where_no_store_is_gives_an_empty_one_and_makes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none/s.db");
    let store = Store::open_existing(&path).unwrap();
    assert_eq!(store.studies().unwrap(), []);
    assert!(matches!(store.load("latest"), Err(StoreError::Unknown { .. })));
    assert!(!path.exists() && !folder.path().join("none").exists());
}

#[test]
fn nothing_is_stored_twice_or_for_a_study_that_was_not_begun() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("s.db")).unwrap();
    let study = samples::study("a", 1);
    let trial = samples::measured("go", 1);
    assert!(store.add_trial(&study.id, &trial).is_err());
    store.begin_study(&study).unwrap();
    assert!(store.begin_study(&study).is_err());
    store.add_trial(&study.id, &trial).unwrap();
    assert!(store.add_trial(&study.id, &trial).is_err());
    assert!(store.add_trial(&study.id, &samples::measured("unknown", 1)).is_err());
    assert_eq!(store.load("a").unwrap().trials, [trial]);
}

#[test]
fn two_processes_may_have_a_store_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let writers = ["a", "b", "c", "d"].map(|id| {
        let path = path.clone();
        std::thread::spawn(move || {
            let mut store = Store::open(&path).unwrap();
            let study = samples::study(id, 1);
            store.begin_study(&study).unwrap();
            for block in 1..=5 {
                store.add_trial(&study.id, &samples::measured("go", block)).unwrap();
            }
        })
    });
    for writer in writers {
        writer.join().unwrap();
    }
    let rows = Store::open_existing(&path).unwrap().studies().unwrap();
    let trials: Vec<_> = rows.iter().map(|row| row.trials).collect();
    assert_eq!(trials, [5; 4]);
}
