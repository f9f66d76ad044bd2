//! Images under the names of PHP's makers, in the engine of the tests with containers: recipes run upon them unchanged.

use std::fs;

use serde_json::Value;

use crate::docker::{Engine, run};
use crate::stage::Stage;

/// The images that stand for those of the makers.
const FPM: &str = "php:8.2-fpm-bookworm";
const CLI: &str = "php:8.2-cli-bookworm";

/// Two images of makers, with an extension by their own means; what is missing is listed at once where nothing may be fetched.
pub(crate) fn are_compared(stage: &Stage, engine: &Engine) {
    engine.ask(&["build", "--quiet", "--tag", FPM, concat!(env!("CARGO_MANIFEST_DIR"), "/tests/makers")]);
    engine.ask(&["tag", FPM, CLI]);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("index.php"), "<?php echo cal_days_in_month(CAL_GREGORIAN, 2, 2028), PHP_EOL;")
        .unwrap();
    let plan =
        "app: {dir: ., kind: front-controller, index: index.php, extensions: [calendar], requests: [{path: /}]}\n";
    fs::write(folder.path().join("stampede.yaml"), plan).unwrap();
    let app = folder.path().to_str().unwrap();
    let compare = ["compare", app, "--platform", "docker", "--php"];

    let short = ["--duration", "1s", "--warm-up", "200ms", "--rounds", "1", "--load", "closed:4", "--no-yard-stick"];
    let made = ["8.2", "--runtimes", "nginx-fpm,php-cli-server", "--json", "-"];
    let said = run(stage, engine, &[&compare[..], &made, &short].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    // A run that was held up has installed it already.
    let told = format!("{}{}", said.before, said.stderr);
    assert!(told.contains("installing calendar in php:8.2-fpm-bookworm"), "{told}");
    let study: Value = serde_json::from_str(&said.stdout).unwrap();
    for (case, image) in study["cases"].as_array().unwrap().iter().zip([FPM, CLI]) {
        let (id, trial) = (&case["id"], &case["trials"][0]);
        assert_eq!(trial["outcome"], "measured", "{id}: {trial}");
        assert_eq!(trial["requests"]["sent"], trial["requests"]["ok"], "{id}: {trial}");
        let recorded = case["base_image"].as_str().unwrap();
        assert!(recorded.starts_with(&format!("{image}@sha256:")), "{id}: {recorded}");
    }
    engine.assert_nothing_left();

    // What it was made upon has no digest, since it came from no registry.
    let beside = tempfile::tempdir().unwrap();
    let out = beside.path().join("deploy");
    let to = ["--study", "latest", "--output", out.to_str().unwrap()];
    let export = [&["export", "dockerfile", "nginx-fpm", app][..], &to].concat();
    let said = run(stage, engine, &export);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let dockerfile = fs::read_to_string(out.join("Dockerfile")).unwrap();
    assert!(
        dockerfile.contains(&format!("FROM {FPM}\n")) && dockerfile.contains("docker-php-ext-install"),
        "{dockerfile}"
    );

    let offline = ["8.3", "--runtimes", "nginx-fpm,frankenphp", "--offline"];
    let said = run(stage, engine, &[&compare[..], &offline].concat());
    let told = "the engine does not have php:8.3-fpm-bookworm, dunglas/frankenphp:1-php8.3-bookworm";
    assert!(said.code == Some(3) && said.stderr.contains(told), "{said:?}");
}
