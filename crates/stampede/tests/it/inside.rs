//! Where PHP's time goes: small applications, each with one fault that its stacks show, and one without.

use std::fs;
use std::io::Write as _;

use serde_json::Value;
use stampede_analysis::SEEN_INSIDE;

use crate::stage::{MOST_RUNS, Stage, have};

/// A small application whose time goes to one thing.
struct Fault {
    /// The finding that names it; none of a healthy one.
    finding: Option<&'static str>,
    /// Further files of the application.
    files: &'static [(&'static str, &'static str)],
    index: &'static str,
    /// Whether it needs a database.
    asks: bool,
    load: &'static str,
    /// What nginx-fpm needs for it. By default it has as many workers as connections at most: pages that ask their own server would
    /// occupy them all, and none would ever be answered.
    set: Option<&'static str>,
}

const CONNECT: &str = "<?php\nfunction db(): PDO { return new PDO(sprintf('pgsql:host=%s;port=%s;dbname=%s', getenv('PGHOST'), \
                       getenv('PGPORT'), getenv('PGDATABASE')), getenv('PGUSER'), getenv('PGPASSWORD'), [PDO::ATTR_PERSISTENT => true]); }\n";

const FAULTS: &[Fault] = &[
    Fault {
        finding: None,
        files: &[],
        index: "<?php\nfunction page(): string { $sum = 0; for ($i = 0; $i < 1500; $i++) { $sum += strlen(md5((string) $i)); }\n\
                return \"sum $sum\"; }\necho page();\n",
        asks: false,
        load: "closed:8",
        set: None,
    },
    Fault {
        finding: Some("session-lock"),
        files: &[],
        index: "<?php\nsession_id('one'); session_start(); usleep(8000); echo 'ok';\n",
        asks: false,
        load: "closed:8",
        set: None,
    },
    Fault {
        finding: Some("boots-each-request"),
        files: &[],
        index: "<?php\nfunction boot(): array { $all = []; for ($i = 0; $i < 3000; $i++) { $all[md5((string) $i)] = ['id' => $i]; }\n\
                ksort($all); return $all; }\nfunction page(array $all): string { return 'ok ' . count($all); }\necho page(boot());\n",
        asks: false,
        load: "closed:8",
        set: None,
    },
    Fault {
        finding: Some("autoload-without-class-map"),
        files: &[
            ("lib/ThingA.php", "<?php class ThingA { public int $n = 1; }"),
            ("lib/ThingB.php", "<?php class ThingB { public int $n = 1; }"),
        ],
        index: "<?php\nfunction autoload(string $class): void {\n\
                for ($i = 0; $i < 300; $i++) { if (file_exists(__DIR__ . \"/lib/$i/$class.php\")) { return; } }\n\
                require __DIR__ . \"/lib/$class.php\"; }\nspl_autoload_register('autoload');\n\
                echo (new ThingA())->n + (new ThingB())->n;\n",
        asks: false,
        load: "closed:8",
        set: None,
    },
    Fault {
        finding: Some("waits-on-itself"),
        files: &[],
        index: "<?php\nif (isset($_GET['part'])) { usleep(10000); echo 'part'; exit; }\n\
                echo 'page ', file_get_contents('http://' . $_SERVER['HTTP_HOST'] . '/?part=1');\n",
        asks: false,
        load: "closed:4",
        set: Some("nginx-fpm.pm.max_children=8"),
    },
    Fault {
        finding: Some("n-plus-one-queries"),
        files: &[("db.php", CONNECT)],
        index: "<?php\nrequire __DIR__ . '/db.php';\n\
                function owner(PDO $db, int $id): int { return (int) $db->query(\"SELECT $id + 1\")->fetchColumn(); }\n\
                $db = db(); $sum = 0; for ($id = 0; $id < 60; $id++) { $sum += owner($db, $id); } echo $sum;\n",
        asks: true,
        load: "closed:4",
        set: None,
    },
    Fault {
        finding: Some("query-dominates"),
        files: &[("db.php", CONNECT)],
        index: "<?php\nrequire __DIR__ . '/db.php';\n\
                function report(PDO $db): string { return $db->query('SELECT pg_sleep(0.02), 5')->fetch()[1]; }\necho report(db());\n",
        asks: true,
        load: "closed:4",
        set: None,
    },
];

/// Applications with nothing to name, each on a runtime that suits it: workload and flags.
const HEALTHY: &[&[&str]] = &[
    &["hello", "--runtimes", "nginx-fpm"],
    &["hello", "--runtimes", "php-cli-server"],
    &["markdown", "--runtimes", "apache-mod-php"],
    &["mix", "--runtimes", "nginx-fpm"],
    &["hello", "--runtimes", "swoole"],
    &["hello", "--runtimes", "frankenphp", "--app", "symfony"],
    &["markdown", "--runtimes", "swoole", "--app", "symfony"],
    &["fragments", "--runtimes", "frankenphp"],
    &["random-row", "--runtimes", "nginx-fpm"],
];

impl Fault {
    fn name(&self) -> &'static str {
        self.finding.unwrap_or("healthy")
    }

    /// Writes its workload.
    fn workload(&self, stage: &Stage) -> String {
        let folder = stage.home().join(self.name());
        fs::create_dir_all(folder.join("app")).unwrap();
        fs::write(folder.join("app/index.php"), self.index).unwrap();
        for (path, text) in self.files {
            let path = folder.join("app").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::write(folder.join("schema.sql"), "CREATE TABLE things (name text);\n").unwrap();
        let services =
            if self.asks { "services: {postgres: {init: schema.sql, extensions: [pdo_pgsql]}}\n" } else { "" };
        let workload = format!(
            "title: {}\n{services}apps: [{{kind: front-controller, dir: app, index: index.php}}]\n\
             requests: [{{name: page, path: /, expect: {{status: 200, any_body: true}}}}]\n",
            self.name()
        );
        fs::write(folder.join("workload.yaml"), workload).unwrap();
        folder.display().to_string()
    }

    /// The study of one trial on this runtime.
    fn compare(&self, stage: &Stage, runtime: &str) -> Value {
        let set: Vec<&str> =
            self.set.iter().filter(|set| set.starts_with(runtime)).flat_map(|set| ["--set", *set]).collect();
        let workload = self.workload(stage);
        let compare = ["compare", &workload, "--runtimes", runtime, "--load", self.load];
        let flags = [&compare[..], &set].concat();
        let mut run = 1;
        loop {
            let study = study(stage, &flags).unwrap_or_else(|told| panic!("{told}"));
            stage.assert_nothing_left();
            let problems = study["cases"][0]["inside"]["problems"].as_array().unwrap();
            let is_held_up = |problem: &Value| problem.as_str().is_some_and(|problem| problem.contains("too busy"));
            if !problems.iter().any(is_held_up) || run == MOST_RUNS {
                return study;
            }
            let _ = writeln!(std::io::stderr(), "AGAIN after run {run}, which was held up: {problems:?}: {flags:?}");
            run += 1;
        }
    }
}

/// A study of one round, sampled inside; what was told where there is none.
fn study(stage: &Stage, args: &[&str]) -> Result<Value, String> {
    let said = stage.run(
        &[
            args,
            &["--inside", "--duration", "2s", "--warm-up", "500ms", "--rounds", "1", "--no-yard-stick", "--json", "-"],
        ]
        .concat(),
    );
    serde_json::from_str(&said.stdout).map_err(|error| format!("{args:?}: {error}: {}", said.stderr))
}

/// What `stampede why` says of the one case of the latest study.
fn why(stage: &Stage, study: &Value, workload: &str) -> Value {
    let id = study["id"].as_str().unwrap();
    let said =
        stage.run(&["why", "--study", id, "--from", workload, "--duration", "1s", "--rounds", "3", "--json", "-"]);
    stage.assert_nothing_left();
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{workload}: {error}: {}", said.stderr))
}

/// What a study names of its first case, of what is seen inside.
#[derive(Debug, PartialEq)]
struct Named {
    first_finding: Option<String>,
    bottleneck: Option<String>,
    /// Of a study of why.
    suspected: Option<String>,
}

impl Named {
    fn of(study: &Value) -> Self {
        let seen = |id: &Value| id.as_str().filter(|id| SEEN_INSIDE.contains(id)).map(str::to_owned);
        let case = &study["cases"][0];
        Self {
            first_finding: case["findings"].as_array().unwrap().iter().find_map(|finding| seen(&finding["id"])),
            bottleneck: seen(&case["bottleneck"]),
            suspected: seen(&study["why"]["suspected"]),
        }
    }

    /// The same everywhere.
    fn all(finding: Option<&str>) -> Self {
        let [first_finding, bottleneck, suspected] = [(); 3].map(|()| finding.map(str::to_owned));
        Self { first_finding, bottleneck, suspected }
    }
}

#[test]
fn what_a_request_s_time_goes_to_is_named_first_and_a_healthy_application_has_nothing() {
    let test = "what_a_request_s_time_goes_to_is_named_first_and_a_healthy_application_has_nothing";
    if !have(test, &["php", "nginx", "php-fpm"]) {
        return;
    }
    let has_database = have(test, &["postgres", "psql"]);
    let stage = Stage::new();
    for fault in FAULTS.iter().filter(|fault| has_database || !fault.asks) {
        let study = fault.compare(&stage, "nginx-fpm");
        let named = Named { suspected: None, ..Named::all(fault.finding) };
        let [inside, summary] = ["inside", "summary"].map(|part| &study["cases"][0][part]);
        assert_eq!(Named::of(&study), named, "{}: {inside}\nof {summary}", fault.name());
        // All that why adds is the same for each.
        if fault.finding == Some("session-lock") {
            let why = why(&stage, &study, &fault.workload(&stage));
            assert_eq!(Named::of(&why), Named::all(fault.finding), "{}", why["cases"][0]["inside"]);
        }
    }
}

#[test]
#[ignore = "takes a quarter of an hour"]
fn why_names_each_fault_first_on_three_runtimes() {
    let test = "why_names_each_fault_first_on_three_runtimes";
    if !have(test, &["php", "nginx", "php-fpm", "apache2", "postgres", "psql"]) {
        return;
    }
    let stage = Stage::new();
    let mut missed = Vec::new();
    for fault in FAULTS {
        for runtime in ["nginx-fpm", "apache-mod-php", "php-cli-server"] {
            let why = why(&stage, &fault.compare(&stage, runtime), &fault.workload(&stage));
            let told = format!("{} on {runtime}: {:?}", fault.name(), Named::of(&why));
            let _ = writeln!(std::io::stderr(), "{told}");
            if Named::of(&why) != Named::all(fault.finding) {
                missed.push(told);
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
#[ignore = "takes ten minutes"]
fn why_names_nothing_of_healthy_applications() {
    if !have("why_names_nothing_of_healthy_applications", &["php", "nginx", "php-fpm", "apache2"]) {
        return;
    }
    let stage = Stage::new();
    let mut missed = Vec::new();
    for &healthy in HEALTHY {
        let told = match study(&stage, &[&["compare"], healthy, &["--load", "closed:8"]].concat()) {
            Ok(said) => {
                let named = Named::of(&why(&stage, &said, healthy[0]));
                let told = format!("{}: {named:?}", healthy.join(" "));
                if named != Named::all(None) {
                    missed.push(told.clone());
                }
                told
            }
            Err(told) if told.contains(" needs ") => format!("SKIP {}: {told}", healthy.join(" ")),
            Err(told) => panic!("{told}"),
        };
        let _ = writeln!(std::io::stderr(), "{told}");
    }
    assert!(missed.is_empty(), "{missed:#?}");
}
