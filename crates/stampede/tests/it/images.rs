//! Images that serve by themselves, in the engine of the tests with containers.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::counter::go_app;
use crate::docker::{BASE, Engine, ends_when_killed, run};
use crate::stage::Stage;

/// As short as a study can be.
const SHORT: [&str; 10] =
    ["--cpus", "0.5", "--memory", "128Mi", "--duration", "1s", "--warm-up", "200ms", "--rounds", "1"];

/// A static program alone, which listens where it does not say, and PHP upon Debian, which runs as root.
pub(crate) fn are_compared(stage: &Stage, engine: &Engine) {
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join("alone");
    static_program(&alone);
    fs::write(
        alone.join("Dockerfile"),
        "FROM scratch\nCOPY server /server\nENV LISTEN=:8080\nEXPOSE 80\nHEALTHCHECK CMD [\"/nothing\"]\nCMD [\"/server\"]\n",
    )
    .unwrap();
    // PHP's own server ends by this signal alone where it is the first process.
    let script = "<?php header('Content-Type: text/plain; charset=utf-8'); echo 'hello';";
    let php =
        "COPY index.php /srv/index.php\nSTOPSIGNAL SIGINT\nCMD [\"php\", \"-S\", \"0.0.0.0:80\", \"/srv/index.php\"]\n";
    build(engine, &folder.path().join("php"), "test/app:php", script, php);
    build(engine, &folder.path().join("loop"), "test/app:loop", script, &php.replace("0.0.0.0:80", "127.0.0.1:80"));
    build(
        engine,
        &folder.path().join("ends"),
        "test/app:ends",
        script,
        "CMD [\"php\", \"-r\", \"echo 'no luck'; exit(7);\"]\n",
    );

    let dockerfile = alone.to_str().unwrap();
    let images = ["compare", "--dockerfile", dockerfile, "--image", "php=test/app:php"];
    let said = run(stage, engine, &[&images[..], &SHORT, &["--load", "closed:4", "--json", "-"]].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let study: Value = serde_json::from_str(&said.stdout).unwrap();
    let cases = study["cases"].as_array().unwrap();
    assert_eq!(cases.iter().map(|case| case["id"].as_str().unwrap()).collect::<Vec<_>>(), ["php", "alone"]);
    for case in cases {
        let (id, trial) = (&case["id"], &case["trials"][0]);
        assert_eq!((&case["platform"], &trial["outcome"]), (&"docker".into(), &"measured".into()), "{id}: {trial}");
        assert_eq!(case["enforced"]["memory_bytes"], 128u64 << 20, "{id}");
        assert_eq!(trial["requests"]["sent"], trial["requests"]["ok"], "{id}: {trial}");
        let image = case["base_image"].as_str().unwrap();
        let (name, image_id) = image.rsplit_once('@').unwrap();
        assert_eq!(engine.ask(&["image", "inspect", "-f", "{{.Id}}", name]), [image_id], "{id}");
        assert!(trial["stops"].as_array().unwrap().iter().all(|stop| stop["killed"] == false), "{id}: {trial}");
    }
    assert!(said.stderr.contains("answers on port 8080"), "{}", said.stderr);

    // One that answers otherwise, ends, listens for itself alone or is not there, each beside one that can be compared.
    let typed = |image: &'static str| ["--image", image];
    let all = [typed("ends=test/app:ends"), typed("loop=test/app:loop"), typed("gone=test/app:gone")].concat();
    let said = run(stage, engine, &[&["compare", "--image", "php=test/app:php"], &all[..], &SHORT].concat());
    let told = format!("{}\n{}", said.stderr, said.words());
    for part in [
        "gone needs the image test/app:gone, which the engine does not have",
        "it ended with status 7",
        "no luck",
        "it listens on 127.0.0.1 alone (port 80)",
    ] {
        assert!(told.split_whitespace().collect::<Vec<_>>().join(" ").contains(part), "{part}: {told}");
    }
    engine.assert_nothing_left();

    let long = ["compare", "--image", "test/app:php", "--duration", "10m", "--load", "closed:4"];
    // Their warden leaves nothing.
    ends_when_killed(stage, engine, &long, "php -S", 1, "nothing to clean");
    stage.assert_nothing_left();
}

/// An image upon the base image, with a script in its folder.
fn build(engine: &Engine, folder: &Path, name: &str, script: &str, steps: &str) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("index.php"), script).unwrap();
    fs::write(folder.join("Dockerfile"), format!("FROM {BASE}\n{steps}")).unwrap();
    let built = engine.docker(&["build", "-t", name, folder.to_str().unwrap()]).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

/// A program that needs nothing of an image.
fn static_program(folder: &Path) {
    go_app(folder);
    let mut go = Command::new("go");
    go.args(["build", "-o", "server", "."]).current_dir(folder).env("CGO_ENABLED", "0").stdout(Stdio::null());
    assert!(go.status().unwrap().success());
}
