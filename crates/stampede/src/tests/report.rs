//! Pages for a browser, charts and CSV, of a study that was measured here.

use std::fs;

use super::made_up::{MadeUp, workload};

#[test]
fn a_study_is_reported_in_every_form() {
    let machine = MadeUp::serving(|_| 1000.0);
    let [page, csv] = ["page.html", "trials.csv"].map(|name| machine.path(name).display().to_string());
    let app = workload("slow");
    let short = ["--runtimes", "php-cli-server", "--cpus", "0.5", "--memory", "64Mi", "--rounds", "2"];
    let files = ["--duration", "2s", "--warm-up", "1s", "--html", &page, "--csv", &csv];
    let said = machine.run(&[&["compare", &app][..], &short, &files].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let written = fs::read_to_string(page).unwrap();
    assert!(written.starts_with("<!doctype html>") && written.contains("php-cli-server"), "{written}");
    assert_eq!(fs::read_to_string(csv).unwrap().lines().count(), 3);

    let again = machine.run(&["report", "latest", "-o", "-"]);
    assert_eq!((again.code, again.stdout.starts_with("<!doctype html>")), (0, true), "{}", again.stderr);
    let chart = machine.run(&["report", "--svg", "-"]);
    assert!(chart.stdout.starts_with("<svg") && chart.stdout.contains("<circle"), "{}", chart.stdout);
    let unknown = machine.run(&["report", "1999"]);
    assert_eq!(unknown.code, 2, "{}", unknown.stderr);
}
