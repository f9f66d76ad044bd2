//! Where PHP's time goes: small applications, each with one fault that its stacks show, and one without.

use std::fs;

use serde_json::Value;

use crate::stage::{Stage, have};

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
    },
    Fault {
        finding: Some("session-lock"),
        files: &[],
        index: "<?php\nsession_id('one'); session_start(); usleep(8000); echo 'ok';\n",
        asks: false,
        load: "closed:8",
    },
    Fault {
        finding: Some("boots-each-request"),
        files: &[],
        index: "<?php\nfunction boot(): array { $all = []; for ($i = 0; $i < 3000; $i++) { $all[md5((string) $i)] = ['id' => $i]; }\n\
                ksort($all); return $all; }\nfunction page(array $all): string { return 'ok ' . count($all); }\necho page(boot());\n",
        asks: false,
        load: "closed:8",
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
    },
    Fault {
        finding: Some("waits-on-itself"),
        files: &[],
        index: "<?php\nif (isset($_GET['part'])) { usleep(10000); echo 'part'; exit; }\n\
                echo 'page ', file_get_contents('http://' . $_SERVER['HTTP_HOST'] . '/?part=1');\n",
        asks: false,
        load: "closed:4",
    },
    Fault {
        finding: Some("n-plus-one-queries"),
        files: &[("db.php", CONNECT)],
        index: "<?php\nrequire __DIR__ . '/db.php';\n\
                function owner(PDO $db, int $id): int { return (int) $db->query(\"SELECT $id + 1\")->fetchColumn(); }\n\
                $db = db(); $sum = 0; for ($id = 0; $id < 60; $id++) { $sum += owner($db, $id); } echo $sum;\n",
        asks: true,
        load: "closed:4",
    },
    Fault {
        finding: Some("query-dominates"),
        files: &[("db.php", CONNECT)],
        index: "<?php\nrequire __DIR__ . '/db.php';\n\
                function report(PDO $db): string { return $db->query('SELECT pg_sleep(0.02), 5')->fetch()[1]; }\necho report(db());\n",
        asks: true,
        load: "closed:4",
    },
];

const NAMED: [&str; 10] = [
    "session-lock",
    "waits-on-itself",
    "n-plus-one-queries",
    "query-dominates",
    "autoload-without-class-map",
    "compiles-each-request",
    "boots-each-request",
    "regular-expression",
    "garbage-collection",
    "logs-to-disk",
];

impl Fault {
    fn name(&self) -> &'static str {
        self.finding.unwrap_or("healthy")
    }

    fn study(&self, stage: &Stage, runtimes: &str) -> Value {
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
        let workload = folder.display().to_string();
        let said = stage.run(&[
            "compare",
            &workload,
            "--runtimes",
            runtimes,
            "--inside",
            "--load",
            self.load,
            "--json",
            "-",
            "--duration",
            "2s",
            "--warm-up",
            "500ms",
            "--rounds",
            "1",
            "--no-yard-stick",
        ]);
        stage.assert_nothing_left();
        serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{}: {error}: {}", self.name(), said.stderr))
    }
}

#[test]
fn what_a_request_s_time_goes_to_is_named_first_and_a_healthy_application_has_nothing() {
    let test = "what_a_request_s_time_goes_to_is_named_first_and_a_healthy_application_has_nothing";
    if !have(test, &["php", "nginx", "php-fpm"]) {
        return;
    }
    let has_database = have(test, &["postgres", "psql"]);
    let all =
        if have(test, &["apache2"]) { "nginx-fpm,php-cli-server,apache-mod-php" } else { "nginx-fpm,php-cli-server" };
    let stage = Stage::new();
    for fault in FAULTS.iter().filter(|fault| has_database || !fault.asks) {
        // Stacks are read alike everywhere: one fault and none are looked for on each.
        let is_for_all = matches!(fault.finding, None | Some("session-lock"));
        let study = fault.study(&stage, if is_for_all { all } else { "nginx-fpm" });
        for case in study["cases"].as_array().unwrap() {
            let found = case["findings"].as_array().unwrap().iter().filter_map(|finding| finding["id"].as_str());
            let found: Vec<&str> = found.filter(|id| NAMED.contains(id)).collect();
            let told = (
                case["id"].as_str().unwrap(),
                found.first().copied(),
                case["bottleneck"].as_str().filter(|id| NAMED.contains(id)),
            );
            assert_eq!(
                (told.1, told.2),
                (fault.finding, fault.finding),
                "{}: {told:?}: {}",
                fault.name(),
                case["inside"]
            );
        }
    }
}
