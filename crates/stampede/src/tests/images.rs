//! Images that serve by themselves, as cases of every command.

use std::fs;

use stampede_testkit::{FakeLaunch, FakeLifetime};

use super::made_up::{BODY, MadeUp, always};

/// A machine on which the image of this name answers half as often as others.
fn machine() -> MadeUp {
    MadeUp::new(|launch| {
        let rate = if image(launch).contains("slow") { 500.0 } else { 1000.0 };
        FakeLifetime::serving(BODY, rate + (launch.number * 29 % 7) as f64)
    })
}

fn image<'a>(launch: &'a FakeLaunch<'_>) -> &'a str {
    launch.deployment.container.as_ref().map_or("", |container| container.image.as_str())
}

const SHORT: [&str; 6] = ["--rounds", "3", "--duration", "5s", "--warm-up", "1s"];

#[test]
fn images_are_compared_alone_and_measured_again_as_they_were() {
    let machine = machine();
    let images = ["compare", "--image", "my/app:fpm", "--image", "slow=my/slow:1", "--set", "image.WORKERS=4"];
    let said = machine.run(&[&images[..], &SHORT, &["--json", "-"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.words().contains("recorded on app:fpm"), "{}", said.stderr);
    let study = said.json();
    let cases = study["cases"].as_array().unwrap();
    let told = |key: &str| cases.iter().map(|case| case[key].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!((told("id"), told("runtime")), (vec!["app:fpm", "slow"], vec!["image", "image"]));
    assert_eq!(told("base_image"), ["my/app:fpm@sha256:my/app:fpmxx", "my/slow:1@sha256:my/slow:1xxx"]);
    assert_eq!(cases[0]["tuning"]["WORKERS"], "4");
    let said = machine.run(&["why", "slow", "--duration", "5s"]);
    assert_eq!(said.code, 0, "{said:?}");
    // The content that was measured, by its id.
    let last = machine.run(&["show", "latest", "--json", "-"]).json();
    for case in last["cases"].as_array().unwrap() {
        let told = (&case["base_image"], &case["tuning"]["WORKERS"]);
        assert_eq!(told, (&"my/slow:1@sha256:my/slow:1xxx".into(), &"4".into()));
    }
}

#[test]
fn other_questions_are_asked_of_an_image_too() {
    let machine = machine();
    let said = machine.run(&["gate", "image:my/app:main", "image:my/slow:change", "--duration", "5s", "--seed", "3"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.report().contains("is more than 5 % worse than"), "{}", said.stdout);
    let said = machine.run(&["capacity", "--image", "my/app:fpm", "--slo", "p99<100ms", "--seed", "3"]);
    assert_eq!(said.code, 0, "{said:?}");
}

#[test]
fn images_are_measured_in_a_cluster_too() {
    let machine = MadeUp::new(|launch| {
        let parts = launch.terms.parts.iter().filter_map(|part| Some((part.name.clone(), part.share?))).collect();
        let rate = if image(launch).contains("slow") { 500.0 } else { 1000.0 };
        FakeLifetime { parts, ..FakeLifetime::serving(BODY, rate + (launch.number * 29 % 7) as f64) }
    });
    let cluster = ["--platform", "kubernetes", "--generator-image", "r/stampede:1"];
    let replicas = ["--replicas", "4", "--cpus", "0.4", "--memory", "256Mi", "--load", "closed:64"];
    let images = ["compare", "--image", "my/app:1", "--image", "slow=my/slow:1", "--json", "-"];
    let said = machine.run(&[&images[..], &cluster, &replicas, &SHORT].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let study = said.json();
    assert_eq!((&study["node"], &study["cases"][0]["platform"]), (&"node-1".into(), &"kubernetes".into()));
    let trial = &study["cases"][0]["trials"][0];
    let parts = trial["parts"].as_array().unwrap();
    let share = |part: &serde_json::Value| (part["enforced_cpus"].as_f64(), part["enforced_memory_bytes"].as_u64());
    assert_eq!(parts.iter().map(share).collect::<Vec<_>>(), [(Some(0.1), Some(64 << 20)); 4]);
    let requests: Vec<u64> = parts.iter().map(|part| part["requests"].as_u64().unwrap()).collect();
    assert!(requests.iter().max().unwrap() - requests.iter().min().unwrap() <= 1, "{requests:?}");
    let shown = machine.run(&["show", "latest"]);
    assert!(
        shown.report().contains("app:1 replica-4: ") && shown.report().contains(", 25.0 % of the requests"),
        "{shown:?}"
    );
    assert!(shown.report().contains(", node node-1; "), "{shown:?}");

    let said = machine.run(&["why", "slow", "--duration", "5s"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.words().contains("needs an image with this version of Stampede"), "{}", said.stderr);
    let said = machine.run(&["why", "slow", "--duration", "5s", "--generator-image", "r/stampede:1"]);
    assert_eq!(said.code, 0, "{said:?}");
    let last = machine.run(&["show", "latest", "--json", "-"]).json();
    for case in last["cases"].as_array().unwrap() {
        let told = (&case["platform"], &case["base_image"]);
        assert_eq!(told, (&"kubernetes".into(), &"my/slow:1@sha256:my/slow:1xxx".into()));
    }

    let asked = ["capacity", "--image", "my/app:1", "--slo", "p99<100ms", "--seed", "3", "--json", "-"];
    let said = machine.run(&[&asked[..], &cluster].concat());
    assert_eq!(said.code, 0, "{said:?}");
}

#[test]
fn a_plan_says_how_images_are_run_and_what_they_are_asked() {
    let machine = machine();
    let folder = machine.path("shop");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("Dockerfile"), "FROM scratch\n").unwrap();
    let plan = "app: {dir: ., requests: [{path: /products}]}\ncases:\n  \
        - {id: fpm, runtime: image, image: {name: 'my/app:fpm', command: [serve], port: 8080}, set: {APP_ENV: prod}}\n  \
        - {id: built, runtime: image, image: {dockerfile: ., volumes: ['./Dockerfile:/d', /var/data]}}\n";
    fs::write(folder.join("stampede.yaml"), plan).unwrap();
    let said = machine.run(&[&["compare", folder.to_str().unwrap()][..], &SHORT, &["--json", "-"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let study = said.json();
    assert_eq!((&study["cases"][0]["id"], &study["cases"][1]["id"]), (&"fpm".into(), &"built".into()));
    assert_eq!(study["cases"][0]["tuning"]["APP_ENV"], "prod");
    assert!(said.words().contains("GET /products: status 200"), "{}", said.stderr);
}

#[test]
fn an_image_that_answers_otherwise_is_wrong() {
    let machine = MadeUp::new(|launch| match image(launch) {
        "my/other:1" => FakeLifetime { answer: always(200, "other"), ..FakeLifetime::serving(BODY, 1000.0) },
        _ => FakeLifetime::serving(BODY, 1000.0),
    });
    let said = machine.run(&[&["compare", "--image", "my/app:1", "--image", "my/other:1"][..], &SHORT].concat());
    assert_eq!(said.code, 5, "{said:?}");
    assert!(format!("{} {}", said.words(), said.report()).contains("other:1"), "{said:?}");
}

#[test]
fn what_cannot_be_meant_is_told_and_nothing_is_launched() {
    let machine = machine();
    for (args, told) in [
        (&["--image", "my app"][..], "is not the name of an image"),
        (&["--image", "a:1", "--platform", "local"], "has no containers, and images are compared"),
        (&["--image", "a:1", "--replicas", "2", "--balancer", "nginx"], "runs alone"),
        (&["--image", "a:1", "--replicas", "2"], "needs a balancer in front"),
        (
            &[
                "--image",
                "a:1",
                "--replicas",
                "3",
                "--cpus",
                "1",
                "--platform",
                "kubernetes",
                "--generator-image",
                "s:1",
            ],
            "--cpus 1 cannot be shared out equally among 3 replicas; for example --cpus 0.999",
        ),
        (
            &["--image", "a:1", "--services", "postgres", "--platform", "kubernetes", "--generator-image", "s:1"],
            "--services postgres has no share, and a pod of its own needs one; add --share postgres=0.5,512Mi",
        ),
        (&["--image", "a:1", "--set", "image.a.b=1"], "is no environment variable"),
        (&["--runtimes", "image", "markdown"], "is any image, and none is named"),
        (&["--offline", "--runtimes", "go", "markdown"], "is for containers"),
    ] {
        let said = machine.run(&[&["compare"], args].concat());
        assert_eq!(said.code, 2, "{args:?} {said:?}");
        assert!(said.words().contains(told), "{args:?} {}", said.stderr);
    }
    assert_eq!(machine.launches(), 0);
}
