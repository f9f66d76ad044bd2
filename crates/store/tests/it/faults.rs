//! Places that are no store, or that cannot be written to.

use std::env;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::Connection;
use stampede_store::{Store, StoreError};

use crate::samples;

const FULL_DISK: &str = "STAMPEDE_TEST_FULL_DISK";

#[test]
fn a_store_of_a_newer_version_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    drop(Store::open(&path).unwrap());
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let before = fs::read(&path).unwrap();

    for opened in [Store::open(&path), Store::open_existing(&path)] {
        let error = opened.unwrap_err();
        let StoreError::Newer { found: 99, known, .. } = &error else { panic!("{error}") };
        let known = format!("up to {known}");
        let text = error.to_string();
        assert!(text.contains("version 99") && text.contains(&known) && text.contains("update Stampede"), "{text}");
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_file_of_another_program_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    fs::write(&text, "not a database, but long enough to be taken for one ".repeat(40)).unwrap();
    let database = folder.path().join("other.db");
    Connection::open(&database).unwrap().execute_batch("CREATE TABLE other (a)").unwrap();
    for path in [text, database] {
        let before = fs::read(&path).unwrap();
        for opened in [Store::open(&path), Store::open_existing(&path)] {
            let error = opened.unwrap_err();
            assert!(matches!(error, StoreError::Foreign(_)), "{error:?}");
        }
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

#[test]
fn an_unusable_place_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [file.join("s.db"), PathBuf::from("/proc/no-such-folder/s.db")] {
        let error = Store::open(&path).unwrap_err();
        assert!(matches!(error, StoreError::Folder { .. }), "{error:?}");
        let parent = path.parent().unwrap().to_str().unwrap();
        assert!(error.to_string().contains(parent), "{error}");
    }
    // A folder in the place of the file; and one in which even root can make no file.
    for path in [folder.path(), Path::new("/proc/stampede.db")] {
        let error = Store::open(path).unwrap_err();
        assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
    }
}

/// Runs one ignored test of this program in a mount namespace of its own, with a small disk of its own.
fn run_on_a_small_disk(test: &str) {
    let folder = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=512k stampede-test \"$0\" && exec \"$@\"";
    let can_mount = Command::new("unshare")
        .args(["--mount", "sh", "-c", script])
        .arg(folder.path())
        .arg("true")
        .output()
        .is_ok_and(|output| output.status.success());
    if !can_mount {
        let _ = writeln!(std::io::stderr(), "SKIP {test}: needs root and the program unshare (package util-linux)");
        return;
    }
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script])
        .arg(folder.path())
        .arg(env::current_exe().unwrap())
        .args([test, "--exact", "--ignored", "--nocapture"])
        .env(FULL_DISK, folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_full_disk_is_named_and_loses_nothing_that_was_stored() {
    run_on_a_small_disk("faults::store_until_the_disk_is_full");
}

#[test]
fn a_read_only_disk_is_named_before_anything_is_measured() {
    run_on_a_small_disk("faults::open_on_a_read_only_disk");
}

#[test]
#[ignore = "run by a_full_disk_is_named_and_loses_nothing_that_was_stored"]
fn store_until_the_disk_is_full() {
    let Some(disk) = env::var_os(FULL_DISK).map(PathBuf::from) else {
        return;
    };
    let path = disk.join("s.db");
    let study = samples::study("full", 1);
    let mut store = Store::open(&path).unwrap();
    store.begin_study(&study).unwrap();
    let mut stored = 0;
    let error = loop {
        match store.add_trial(&study.id, &samples::measured("go", stored + 1)) {
            Ok(()) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 1_000, "512 KiB are never full");
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    assert!(error.to_string().contains("the disk is full"), "{error}");
    assert!(stored > 0);
    assert_eq!(store.load("full").unwrap().trials.len() as u32, stored);
    drop(store);

    let error = Store::open(&disk.join("second/s.db")).map(|mut store| store.begin_study(&study));
    assert!(!matches!(error, Ok(Ok(()))), "a second store found room");
    let stored_again = Store::open_existing(&path).unwrap().load("full").unwrap();
    assert_eq!(stored_again.trials.len() as u32, stored);
}

#[test]
#[ignore = "run by a_read_only_disk_is_named_before_anything_is_measured"]
fn open_on_a_read_only_disk() {
    let Some(disk) = env::var_os(FULL_DISK).map(PathBuf::from) else {
        return;
    };
    let path = disk.join("s.db");
    let study = samples::study("a", 1);
    Store::open(&path).unwrap().begin_study(&study).unwrap();
    let mounted = Command::new("mount").args(["-o", "remount,ro"]).arg(&disk).status().unwrap();
    assert!(mounted.success());
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
    let error = Store::open(&disk.join("new/s.db")).unwrap_err();
    assert!(matches!(error, StoreError::Folder { .. }), "{error:?}");
    // Readers need a log beside the file as well (https://sqlite.org/wal.html, "Read-Only Databases").
    let error = Store::open_existing(&path).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
}
