//! Redis beside an application: reached by environment, empty for each trial, with the settings that were asked for.

use std::fs;

use serde_json::Value;

use crate::databases::adding;
use crate::stage::{Stage, have};

/// Counts in Redis, by its protocol over a bare connection: no extension is needed.
const COUNTER: &str = include_str!("../workloads/redis/index.php");
const WORKLOAD: &str = include_str!("../workloads/redis/workload.yaml");

#[test]
fn an_application_counts_in_a_redis_that_is_empty_for_each_trial() {
    let test = "an_application_counts_in_a_redis_that_is_empty_for_each_trial";
    if !have(test, &["php", "nginx", "php-fpm", "apache2", "redis-server", "redis-cli"]) {
        return;
    }
    let stage = Stage::new();
    let folder = stage.home().join("counter");
    fs::create_dir_all(&folder).unwrap();
    for (name, text) in [("index.php", COUNTER), ("workload.yaml", WORKLOAD), ("scenario.yaml", &adding("/add"))] {
        fs::write(folder.join(name), text).unwrap();
    }
    let runtimes = "nginx-fpm,apache-mod-php,php-cli-server";
    let fixed = ["compare", folder.to_str().unwrap(), "--runtimes", runtimes, "--rounds", "2", "--json", "-"];
    let set = ["--set", "redis.maxmemory=32mb", "--set", "redis.maxmemory-policy=allkeys-lru"];
    let share = ["--share", "redis=0.2,64Mi", "--cpus", "1", "--memory", "512Mi"];
    let short = ["--duration", "1s", "--warm-up", "0s", "--no-yard-stick"];
    let said = stage.run(&[&fixed[..], &set, &share, &short].concat());
    let study: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    let cases = study["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 3, "{said:?}");
    for trial in cases.iter().flat_map(|case| case["trials"].as_array().unwrap()) {
        assert_eq!(trial["outcome"], "measured", "{trial}");
        let audit = &trial["audits"][0];
        let told = &audit["told"][0];
        let added = told["after"].as_u64().unwrap() - told["before"].as_u64().unwrap();
        assert!((told["before"] == 0, audit["answered"] == added, added > 0) == (true, true, true), "{audit}");
        let redis = &trial["parts"][0];
        assert_eq!(redis["part"], "redis", "{trial}");
        let settings = &redis["settings"];
        assert_eq!(
            [&settings["maxmemory"], &settings["maxmemory-policy"], &settings["save"], &settings["appendonly"]],
            ["33554432", "allkeys-lru", "", "no"],
            "{settings}"
        );
        assert!(trial["stops"].as_array().unwrap().iter().all(|stop| stop["killed"] == false), "{trial}");
    }
    stage.assert_nothing_left();
}

#[test]
fn a_redis_that_an_application_asks_for_is_named_and_its_addresses_lead_to_the_one_beside_it() {
    let test = "a_redis_that_an_application_asks_for_is_named_and_its_addresses_lead_to_the_one_beside_it";
    if !have(test, &["php", "redis-server", "redis-cli"]) {
        return;
    }
    let stage = Stage::new();
    let folder = stage.home().join("shop");
    fs::create_dir_all(&folder).unwrap();
    let index = COUNTER.replace("getenv('REDIS_URL')", "getenv('CACHE_REDIS_URL')");
    fs::write(folder.join("index.php"), index).unwrap();
    fs::write(folder.join(".env"), "CACHE_REDIS_URL=redis://:secret@redis.internal:6380/3\n").unwrap();
    let said = stage.run_in(&folder, &["init", "."]);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let asked = "uses Redis: --services redis gives each trial one of its own";
    assert!(words(&said.stderr).contains(asked), "{said:?}");
    let said = stage.run_in(&folder, &["init", ".", "--services", "redis", "--force"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(!words(&said.stderr).contains(asked), "{said:?}");
    let plan = fs::read_to_string(folder.join("stampede.yaml")).unwrap();
    let address = "CACHE_REDIS_URL: \"redis://@{redis.host}:@{redis.port}/3\"";
    assert!(plan.contains(address) && plan.contains("    redis:\n"), "{plan}");
    assert_eq!(fs::read_to_string(folder.join("stampede.expected/get.html")).unwrap(), "0", "{plan}");
    stage.assert_nothing_left();
}
