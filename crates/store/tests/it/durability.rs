//! What was stored survives the death of the process that stored it.

use std::env;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use stampede_store::Store;

use crate::samples;

const STORE: &str = "STAMPEDE_TEST_STORE";
const MOST_TRIALS: u32 = 2_000;

/// The process that is killed: this test program, run again with a store to write to.
#[test]
#[ignore = "run by a_finished_trial_survives_kill_9"]
fn write_until_killed() {
    let Some(path) = env::var_os(STORE).map(PathBuf::from) else {
        return;
    };
    let mut store = Store::open(&path).unwrap();
    let study = samples::study("killed", 1);
    store.begin_study(&study).unwrap();
    for block in 1..=MOST_TRIALS {
        store.add_trial(&study.id, &samples::measured("go", block)).unwrap();
        println!("\nstored {block}");
    }
}

#[test]
fn a_finished_trial_survives_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let mut writer = Command::new(env::current_exe().unwrap())
        .args(["durability::write_until_killed", "--exact", "--ignored", "--nocapture"])
        .env(STORE, &path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(writer.stdout.take().unwrap());
    let mut stored = 0;
    let mut killed = false;
    // What it wrote before it died is still read, up to the end of its output.
    for line in output.lines() {
        if let Some(block) = line.unwrap().strip_prefix("stored ") {
            stored = block.parse().unwrap();
        }
        if stored >= 20 && !killed {
            writer.kill().unwrap(); // SIGKILL
            killed = true;
        }
    }
    assert!(!writer.wait().unwrap().success() && (20..MOST_TRIALS).contains(&stored), "{stored}");

    let mut store = Store::open(&path).unwrap();
    let mut trials = store.load("killed").unwrap().trials;
    // One more may have been stored without its line having been written.
    assert!([stored, stored + 1].contains(&(trials.len() as u32)), "{} of {stored}", trials.len());
    trials.truncate(stored as usize);
    let expected: Vec<_> = (1..=stored).map(|block| samples::measured("go", block)).collect();
    assert_eq!(trials, expected);
    store.add_trial(&samples::study("killed", 1).id, &samples::measured("nginx-fpm", 1)).unwrap();
}
