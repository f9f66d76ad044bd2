//! The pages in a real browser: `scripts/web.sh test` runs this.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use jiff::Timestamp;
use stampede_core::{Revision, Trial};
use stampede_store::{Store, StoredStudy};

use crate::client::{Site, named};
use crate::live::running;
use crate::pages::hostile;

/// Two dozen studies of the same, the later half of which is slower; one that runs, and one that means no good.
fn studies() -> Vec<StoredStudy> {
    let mut studies: Vec<StoredStudy> = (0..24).map(|number| named(&format!("study-{number:02}"), number)).collect();
    for (number, stored) in (0_u32..).zip(&mut studies) {
        let level = if number < 12 { 1.0 } else { 0.7 };
        let wobble = 1.0 + 0.01 * (f64::from(number) * 2.4).sin();
        // A commit for two studies each.
        let revision = Revision { commit: format!("{:a>10}", number / 2).repeat(4), is_dirty: number == 3 };
        stored.study.cases.iter_mut().for_each(|case| case.revision = Some(revision.clone()));
        for measured in stored.trials.iter_mut().filter_map(|trial| trial.measurement.as_mut()) {
            measured.requests.ok = (measured.requests.ok as f64 * level * wobble) as u64;
        }
    }
    studies.extend([running().0, hostile()]);
    studies
}

#[test]
#[ignore = "needs node, its packages and chromium: scripts/web.sh test"]
fn every_page_in_a_browser() {
    let site = Site::of(&studies());
    let mut store = Store::open(&site.store.path().join("s.db")).unwrap();
    let (study, _) = running();
    let mut to_come = (2..).map(|block| Trial { block, ..study.trials[0].clone() });
    let mut node = Command::new("node")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/test/dashboard.mjs"))
        .arg(format!("http://{}", site.address))
        .args(env::var_os("SCREENSHOTS"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    for line in BufReader::new(node.stdout.take().unwrap()).lines().map(Result::unwrap) {
        match line.as_str() {
            "ADD" => store.add_trial(&study.study.id, &to_come.next().unwrap()).unwrap(),
            "FINISH" => store.finish_study(&study.study.id, Timestamp::from_second(1_700_100_000).unwrap()).unwrap(),
            told => writeln!(std::io::stderr(), "{told}").unwrap(),
        }
    }
    assert!(node.wait().unwrap().success());
}
