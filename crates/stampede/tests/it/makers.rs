//! Images under the names of PHP's makers, in the engine of the tests with containers: recipes run upon them unchanged.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::docker::{Engine, run};
use crate::stage::Stage;

/// The images that stand for those of the makers.
const FPM: &str = "php:8.2-fpm-bookworm";
const CLI: &str = "php:8.2-cli-bookworm";

/// Composer is in an image of its own.
const COMPOSER: &str = "composer:2";

/// Makes the images of [`are_compared`], beside whatever else is done meanwhile.
pub(crate) fn make(engine: &Engine) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/makers");
    engine.ask(&["build", "--quiet", "--tag", FPM, folder]);
    engine.ask(&["tag", FPM, CLI]);
    // Debian's Composer as one file, as that of its makers.
    let image = tempfile::tempdir().unwrap();
    let phar = image.path().join("composer");
    let mut php = Command::new("php");
    php.args(["-d", "phar.readonly=0"]).arg(format!("{folder}/composer/phar.php")).arg(&phar);
    let made = php.output().unwrap();
    assert!(made.status.success(), "{made:?}");
    fs::write(image.path().join("Dockerfile"), "FROM scratch\nCOPY composer /usr/bin/composer\n").unwrap();
    engine.ask(&["build", "--quiet", "--tag", COMPOSER, image.path().to_str().unwrap()]);
}

/// An application without its packages: one of them says how many days a month has.
fn without_packages(folder: &Path) {
    let own = r#"{"name": "test/app", "require": {"test/days": "*"}, "repositories":
        [{"type": "path", "url": "packages/*", "options": {"symlink": false}}, {"packagist.org": false}]}"#;
    let package = r#"{"name": "test/days", "version": "1.0.0", "autoload": {"files": ["days.php"]}}"#;
    let days = "<?php function days(int $month): int { return cal_days_in_month(CAL_GREGORIAN, $month, 2028); }";
    fs::create_dir_all(folder.join("packages/days")).unwrap();
    for (name, text) in [
        ("composer.json", own),
        ("packages/days/composer.json", package),
        ("packages/days/days.php", days),
        ("index.php", "<?php require __DIR__ . '/vendor/autoload.php'; echo days(2), PHP_EOL;"),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
}

/// Two images of makers, with an extension by their own means and packages by Composer; what is missing is listed at once where
/// nothing may be fetched.
pub(crate) fn are_compared(stage: &Stage, engine: &Engine) {
    let folder = tempfile::tempdir().unwrap();
    without_packages(folder.path());
    let plan = "app: {dir: ., extensions: [calendar], requests: [{path: /, expect: {status: 200, body: \"29\\n\"}}]}\n";
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
    assert!(said.stderr.contains("preparing the application: composer install --no-dev"), "{}", said.stderr);
    assert!(!folder.path().join("vendor").exists());
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
