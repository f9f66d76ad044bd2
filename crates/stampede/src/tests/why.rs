//! `why`: what holds a case back?

use std::fs;
use std::time::Duration;

use stampede_testkit::FakeLifetime;

use super::made_up::{BODY, MadeUp, always, workload};

#[test]
fn what_raises_the_rate_is_what_holds_it_back() {
    // Half a processor gives 500 a second; three quarters give 750.
    let machine = MadeUp::new(|launch| {
        let cpus = f64::from(launch.terms.total.cpus.millis()) / 1000.0;
        FakeLifetime { cpus, ..FakeLifetime::serving(BODY, 1000.0 * cpus + (launch.number * 31 % 5) as f64) }
    });
    let app = workload("fatal");
    let compare = ["compare", &app, "--runtimes", "nginx-fpm", "--rounds", "3", "--duration", "5s", "--warm-up", "1s"];
    let said = machine.run(&[&compare[..], &["--cpus", "0.5", "--memory", "256Mi", "--no-yard-stick"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let before = machine.launches();
    let said = machine.run(&["why", "--from", &app]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(machine.launches() > before + 6);
    let words = said.report();
    assert!(words.contains("Confirmed: the CPU quota holds nginx-fpm back."), "{words}");
    assert!(words.contains("CPU quota 0.5 -> 0.75"), "{words}");
    let again = machine.run(&["why", "--study", "latest", "--from", &app]);
    assert_eq!(again.code, 2, "{again:?}");
    assert!(again.words().contains("is already one of stampede why"), "{}", again.stderr);
}

#[test]
fn what_was_interrupted_is_resumed_by_the_same_command() {
    let machine = MadeUp::new(|_| FakeLifetime::serving(BODY, 1000.0));
    let app = workload("fatal");
    let compare = ["compare", &app, "--runtimes", "nginx-fpm", "--rounds", "1", "--duration", "5s", "--no-yard-stick"];
    assert_eq!(machine.run(&compare).code, 0);
    let machine = machine.interrupted(&[(Duration::from_secs(20), false)]);
    let why = ["why", "nginx-fpm", "--from", &app, "--duration", "2s", "--rounds", "3"];
    let said = machine.run(&why);
    assert_eq!(said.code, 130, "{said:?}");
    let before = machine.launches();
    let machine = machine.then(|_| FakeLifetime::serving(BODY, 1000.0));
    let other = machine.run(&["why", "php-cli-server", "--from", &app, "--resume"]);
    assert_eq!((other.code, machine.launches()), (2, before), "{other:?}");
    assert!(other.words().contains("is about nginx-fpm"), "{}", other.stderr);
    let said = machine.run(&[&why[..], &["--resume"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    assert!(machine.launches() > before);
}

#[test]
fn nothing_is_asked_of_an_empty_store() {
    let machine = MadeUp::new(|_| FakeLifetime::serving(BODY, 1000.0));
    let said = machine.run(&["why"]);
    assert_eq!((said.code, machine.launches()), (2, 0), "{said:?}");
}

#[test]
fn what_cannot_be_asked_is_told_and_nothing_is_measured() {
    let machine = MadeUp::new(|_| FakeLifetime::serving(BODY, 1000.0));
    let app = workload("fatal");
    let compare = ["compare", &app, "--runtimes", "nginx-fpm", "--rounds", "1", "--duration", "5s", "--no-yard-stick"];
    assert_eq!(machine.run(&compare).code, 0);
    let before = machine.launches();
    for (args, problem) in [
        (&["goo"][..], "has no case goo"),
        (&["--from", "mix"], "--from mix is mix, and study"),
        (&["--from", &app, "--base-image", "debian:bookworm"], "--base-image debian:bookworm is for containers"),
        (&["--from", &app, "--max-time", "3s"], "--max-time 3s is too short"),
        (&["--study", "nothing"], "nothing"),
        (&["--from", &app, "--resume"], "finds no interrupted search for a cause"),
        (&["--from", &app, "--rounds", "2"], "--rounds 2 is too few: a verdict takes 3"),
    ] {
        let said = machine.run(&[&["why", "--duration", "2s"], args].concat());
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{args:?}: {}", said.stderr);
        assert!(said.words().contains(problem), "{args:?}: {}", said.stderr);
    }
    assert_eq!(machine.launches(), before);
}

#[test]
fn what_flags_chose_of_a_study_is_chosen_again() {
    // A deployment whose database holds the dump has more to do than one whose database is empty.
    let machine = MadeUp::new(|launch| {
        let unit = launch.deployment.units.iter().find(|unit| unit.id.as_str() == "mariadb");
        let files = unit.and_then(|unit| unit.build.as_ref()).map(|build| &build.files[..]).unwrap_or_default();
        let is_filled = files.iter().any(|file| file.text.contains("INSERT INTO things"));
        let settings = "innodb_buffer_pool_size\t128M\nmax_connections\t151\n".to_owned();
        let body = if is_filled { BODY } else { "no rows\n" };
        FakeLifetime { said: Ok(settings), answer: always(200, body), ..FakeLifetime::serving(BODY, 1000.0) }
    });
    let app = machine.application("shop");
    let dump = machine.path("shop.sql");
    fs::write(&dump, "-- MariaDB dump 10.19\nCREATE TABLE things (id INT);\nINSERT INTO things VALUES (1);\n").unwrap();
    let dump = dump.display().to_string();
    let short = ["--runtimes", "nginx-fpm", "--rounds", "1", "--duration", "2s", "--warm-up", "1s", "--no-yard-stick"];
    let chosen = ["--database", &dump, "--cookies", "--exchanges", "GET /"];
    let said = machine.run(&[&["compare", &app][..], &short, &chosen].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let of_first = machine.run(&["show", "latest", "--json", "-"]).json();
    let expected = serde_json::json!({"exchanges": ["GET /"], "cookies": true, "database": dump});
    assert_eq!(of_first["chosen"], expected, "{of_first}");
    let study = of_first["id"].as_str().unwrap();
    let why = ["why", "--study", study, "--from", &app, "--duration", "2s", "--rounds", "3"];
    let said = machine.run(&why);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(machine.run(&["show", "latest", "--json", "-"]).json()["chosen"], expected);
    // It has moved since.
    let elsewhere = machine.path("moved.sql");
    fs::rename(&dump, &elsewhere).unwrap();
    let before = machine.launches();
    let said = machine.run(&why);
    assert_eq!((said.code, machine.launches()), (2, before), "{said:?}");
    assert!(said.words().contains("shop.sql cannot be read: No such file"), "{said:?}");
    let elsewhere = elsewhere.display().to_string();
    let said = machine.run(&[&why[..], &["--database", &elsewhere]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let of_last = machine.run(&["show", "latest", "--json", "-"]).json();
    assert_eq!((&of_last["kind"], &of_last["chosen"]["database"]), (&"why".into(), &elsewhere.into()));
}
