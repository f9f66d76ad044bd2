//! A capacity from end to end, on real servers.

use serde_json::Value;

use crate::stage::{Stage, have};

/// Runs it on a small nginx and PHP-FPM.
const NGINX: [&str; 9] = ["capacity", "nginx-fpm", "markdown", "--cpus", "0.5", "--memory", "256Mi", "--seed", "1"];

/// Hundreds of answers in each window: enough for a 90th percentile.
const SHORT: [&str; 4] = ["--duration", "1s", "--warm-up", "300ms"];

#[test]
fn a_rate_is_found_stored_and_shown_again() {
    if !have("a_rate_is_found_stored_and_shown_again", &["nginx", "php-fpm"]) {
        return;
    }
    let stage = Stage::alone();
    let said = stage.run(&[&NGINX[..], &SHORT, &["--slo", "p90<150ms,errors<1%", "--json", "-"]].concat());
    assert_eq!(said.code, Some(0), "{}\n{}", said.stderr, said.stdout);
    let found: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((&found["schema"], &found["outcome"]), (&"stampede/capacity/v1".into(), &"rate".into()));
    let figure = |name: &str| found[name].as_f64().unwrap();
    let (rate, most) = (figure("rate_rps"), figure("saturation_rps"));
    assert!(figure("rate_low_rps") <= rate, "{found:#}");
    // Half a CPU under another Stampede's neighbours: the rate is not known here, but what it is near is.
    assert!((0.1 * most..1.5 * most).contains(&rate), "{rate} of {most}");
    let curve = found["curve"].as_array().unwrap();
    assert!(curve.len() >= 5 && curve[0]["connections"] == 1, "{curve:?}");
    let probes = found["probes"].as_array().unwrap();
    assert!((1..=7).contains(&probes.len()), "{probes:?}");
    // What was held up on the way to the curve is measured again.
    let cases = found["study"]["cases"].as_array().unwrap().iter();
    let trials = cases.flat_map(|case| case["trials"].as_array().unwrap().iter().map(move |trial| (case, trial)));
    let counted = trials.filter(|(case, trial)| case["load"]["model"] != "closed" || trial["outcome"] == "measured");
    assert_eq!(counted.count(), curve.len() + probes.len(), "{found:#}");
    stage.assert_nothing_left();

    let again = stage.run(&["show", "latest", "--json", "-"]);
    assert_eq!(serde_json::from_str::<Value>(&again.stdout).unwrap(), found);
    let shown = stage.run(&["show", "latest"]);
    assert!(shown.words().contains("requests a second"), "{}", shown.stdout);
    assert!(shown.stdout.lines().all(|line| line.chars().count() <= 80), "{}", shown.stdout);
    let listed = stage.run(&["list", "studies"]);
    assert!(listed.stdout.contains("capacity markdown"), "{}", listed.stdout);
}
