//! Replicas, balancers, services and what becomes of them, on real servers.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use stampede_testkit::ReservedPort;

use crate::counter::go_app;
use crate::stage::{Said, Stage, have};

/// A workload of one request in a folder of the stage; `app` is YAML of its application.
fn workload(stage: &Stage, app: &str, path: &str, body: &str) -> String {
    let folder = stage.home().join("workload");
    fs::create_dir_all(&folder).unwrap();
    let yaml = format!(
        "title: a test\napps:\n  - {app}\nrequests:\n  - name: hello\n    \
         path: '{path}'\n    expect: {{status: 200, body: '{body}'}}\n"
    );
    fs::write(folder.join("workload.yaml"), yaml).unwrap();
    folder.display().to_string()
}

fn compare(stage: &Stage, workload: &str, runtime: &str, more: &[&str]) -> (Said, Value) {
    let mut args = vec!["compare", workload, "--runtimes", runtime, "--cpus", "0.8", "--memory", "512Mi"];
    args.extend([
        "--duration",
        "1s",
        "--warm-up",
        "200ms",
        "--rounds",
        "1",
        "--load",
        "closed:8",
        "--backend",
        "epoll",
        "--no-yard-stick",
    ]);
    args.extend(["--json", "-"]);
    args.extend(more);
    let said = stage.run(&args);
    stage.assert_nothing_left();
    let study: Value = serde_json::from_str(&said.stdout).unwrap_or_default();
    (said, study["cases"][0]["trials"][0].clone())
}

/// The counts that two replicas wrote as they ended, those of the last run: one that was held up is run again.
fn counts(folder: &Path) -> Vec<u64> {
    let mut files: Vec<fs::DirEntry> = fs::read_dir(folder).unwrap().map(Result::unwrap).collect();
    files.sort_by_key(|file| file.metadata().unwrap().modified().unwrap());
    let last = files.iter().rev().take(2);
    last.map(|file| fs::read_to_string(file.path()).unwrap().parse().unwrap()).collect()
}

#[test]
fn each_replica_gets_its_half_by_round_robin() {
    let test = "each_replica_gets_its_half_by_round_robin";
    if !have(test, &["nginx", "haproxy", "go"]) {
        return;
    }
    for (balancer, more) in [
        ("nginx", &["--tls", "--share", "replica=0.2,64Mi", "--share", "balancer=0.3,64Mi"][..]),
        ("nginx", &["--balance", "least-connections", "--upstream-keepalive", "off"]),
        ("haproxy", &["--tls", "--upstream-keepalive", "4"]),
        ("haproxy", &["--balance", "least-connections", "--upstream-keepalive", "off", "--ready", "port"]),
    ] {
        let stage = Stage::new();
        let folder = stage.home().join("counts");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(stage.home(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        go_app(&stage.home().join("workload/app"));
        let app = format!("{{kind: go-program, dir: app, env: {{COUNTS: '{}'}}}}", folder.display());
        let workload = workload(&stage, &app, "/", "hello");
        let flags = [&["--replicas", "2", "--balancer", balancer], more].concat();
        let (said, trial) = compare(&stage, &workload, "go", &flags);
        assert_eq!(trial["outcome"], "measured", "{flags:?}: {trial} {}", said.stderr);
        let [a, b] = counts(&folder)[..] else { panic!("{flags:?}: {:?}", counts(&folder)) };
        let sent = trial["requests"]["sent"].as_u64().unwrap() + trial["warm_up_requests"]["sent"].as_u64().unwrap();
        // Readiness asks each replica once, and the front once; a port asks nobody. One request verifies, and then two
        // visitors ask once each in nine orders: one more than two replicas of a pool of unknown size, taken for four, have workers.
        let asked = 1 + 2 * 9 + if flags.contains(&"port") { 0 } else { 3 };
        assert_eq!(a + b, sent + asked, "{flags:?}");
        if flags.contains(&"least-connections") {
            assert!(a.min(b) * 4 > a.max(b), "{flags:?}: {a} and {b}");
        } else {
            assert!(a.abs_diff(b) <= 2, "{flags:?}: {a} and {b}");
        }
        let parts: Vec<&str> =
            trial["parts"].as_array().unwrap().iter().map(|part| part["part"].as_str().unwrap()).collect();
        assert_eq!(parts, ["replica-1", "replica-2", "balancer"]);
        for part in trial["parts"].as_array().unwrap() {
            assert!(part["cpu_seconds"].as_f64().unwrap() > 0.0, "{part}");
            let share =
                if flags.contains(&"--share") { if part["part"] == "balancer" { 0.3 } else { 0.2 } } else { 0.8 };
            assert_eq!(part["enforced_cpus"], share, "{part}");
        }
        let stops: Vec<_> = trial["stops"].as_array().unwrap().iter().map(|stop| &stop["killed"]).collect();
        assert_eq!(stops, [false, false, false], "{flags:?}");
    }
}

/// Whether PHP can load an extension; said loudly if not.
fn has_extension(test: &str, name: &str) -> bool {
    let listed = Command::new("php").arg("-m").output().map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
    let has = listed.is_ok_and(|listed| listed.lines().any(|line| line == name));
    if !has {
        let _ = writeln!(std::io::stderr(), "SKIP {test}: needs the PHP extension {name}");
    }
    has
}

#[test]
fn an_application_reaches_its_services_which_are_set_as_asked() {
    let test = "an_application_reaches_its_services_which_are_set_as_asked";
    let programs = ["nginx", "php-fpm", "postgres", "psql", "mariadbd", "pgbouncer"];
    if !have(test, &programs) || !has_extension(test, "pdo_pgsql") || !has_extension(test, "pdo_mysql") {
        return;
    }
    let stage = Stage::new();
    let app = stage.home().join("workload/app");
    fs::create_dir_all(&app).unwrap();
    let script = r#"<?php
        $pg = new PDO(sprintf('pgsql:host=%s;port=%s;dbname=%s', getenv('PGHOST'), getenv('PGPORT'), getenv('PGDATABASE')),
            // In transaction mode PgBouncer before 1.21 knows no prepared statements.
            getenv('PGUSER'), getenv('PGPASSWORD'), [PDO::ATTR_EMULATE_PREPARES => true]);
        [$most, $memory, $port] = $pg->query("SELECT current_setting('max_connections'), current_setting('work_mem'),
            inet_server_port()")->fetch(PDO::FETCH_NUM);
        $pooled = (string) $port === getenv('PGPORT') ? 'directly' : 'through a pool';
        $my = new PDO(sprintf('mysql:host=%s;port=%s;dbname=%s', getenv('MYSQL_HOST'), getenv('MYSQL_PORT'),
            getenv('MYSQL_DATABASE')), getenv('MYSQL_USER'), getenv('MYSQL_PASSWORD'));
        [$other] = $my->query('SELECT @@max_connections')->fetch(PDO::FETCH_NUM);
        echo "$most $memory $pooled, $other, ", getenv('OWN');
    "#;
    fs::write(app.join("index.php"), script).unwrap();
    let app = "{kind: front-controller, dir: app, index: index.php, extensions: [pdo_pgsql, pdo_mysql], \
               env: {OWN: 'at @{postgres.host}'}}";
    let body = "40 8MB through a pool, 33, at 127.0.0.1";
    let workload = workload(&stage, app, "/", body);
    let set = [
        "postgres.max_connections=40",
        "postgres.work_mem=8MB",
        "pgbouncer.pool_mode=transaction",
        "mariadb.max_connections=33",
        "nginx-fpm.supervisor=supervisord",
    ];
    let mut flags = vec!["--services", "postgres,mariadb,pgbouncer", "--share", "postgres=0.2,128Mi"];
    // supervisord beside it, where it is installed.
    let supervised = have(test, &["supervisord"]);
    flags.extend(set.iter().filter(|set| supervised || !set.contains("supervisor")).flat_map(|set| ["--set", set]));
    let (said, trial) = compare(&stage, &workload, "nginx-fpm", &flags);
    assert_eq!(trial["outcome"], "measured", "{trial} {}", said.stderr);
    let parts = trial["parts"].as_array().unwrap();
    let names: Vec<_> = parts.iter().map(|part| part["part"].as_str().unwrap()).collect();
    assert_eq!(names, ["postgres", "mariadb", "pgbouncer", "replica-1"]);
    assert_eq!(parts[0]["settings"]["max_connections"], "40");
    assert_eq!(parts[0]["settings"]["work_mem"], "8192kB");
    assert_eq!(parts[1]["settings"]["max_connections"], "33");
    assert_eq!(parts[2]["settings"]["pool_mode"], "transaction");
    assert_eq!((&parts[0]["enforced_cpus"], &parts[1]["enforced_cpus"]), (&Value::from(0.2), &Value::from(0.8)));
    assert!(parts[0]["cpu_seconds"].as_f64().unwrap() > 0.0, "{}", parts[0]);
    assert!(trial["stops"].as_array().unwrap().iter().all(|stop| stop["killed"] == false), "{trial}");
}

#[test]
fn replicas_that_take_a_port_of_their_own_are_told_with_their_log() {
    if !have("replicas_that_take_a_port_of_their_own_are_told_with_their_log", &["nginx", "go"]) {
        return;
    }
    let stage = Stage::new();
    go_app(&stage.home().join("workload/app"));
    let reserved = ReservedPort::new().unwrap();
    let port = reserved.address().port();
    let app = format!(
        "{{kind: command, dir: app, env: {{LISTEN: '127.0.0.1:{port}'}}, \
         command: {{run: ['@{{built}}'], build: [go, build, -o, '@{{output}}', .]}}}}"
    );
    let workload = workload(&stage, &app, "/", "hello");
    let flags = ["--replicas", "2", "--balancer", "nginx", "--ready-timeout", "1s"];
    let (said, trial) = compare(&stage, &workload, "custom", &flags);
    assert_eq!(said.code, Some(5), "{}", said.stderr);
    let reason = trial["reason"].as_str().unwrap();
    assert!(reason.contains("start custom-1: nothing listens on 127.0.0.1:"), "{reason}");
}

#[test]
fn what_a_topology_lacks_is_named_before_the_first_trial() {
    if !have("what_a_topology_lacks_is_named_before_the_first_trial", &["nginx", "php-fpm", "go"]) {
        return;
    }
    let stage = Stage::new();
    for (args, told) in [
        (
            &["--runtimes", "go", "--services", "mariadb"][..],
            "the topology needs the program mariadb: apt-get install mariadb-client",
        ),
        (
            &["--runtimes", "nginx-fpm", "--set", "nginx-fpm.supervisor=supervisord"],
            "nginx-fpm needs the program supervisord: apt-get install supervisor",
        ),
    ] {
        let args = [&["compare", "markdown"], args].concat();
        // Programs of /usr/sbin are found whatever the search path is.
        let output = stage.output(stage.command(&args).env("PATH", "/usr/local/go/bin"));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{stderr}");
        assert!(stderr.contains(told), "{stderr}");
    }
    let app = "{kind: front-controller, dir: ., index: index.php, extensions: [pdo_nosuch]}";
    fs::create_dir_all(stage.home().join("workload")).unwrap();
    fs::write(stage.home().join("workload/index.php"), "<?php echo 'hello';").unwrap();
    let workload = workload(&stage, app, "/", "hello");
    let said = stage.run(&["compare", &workload, "--runtimes", "nginx-fpm"]);
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.stderr.contains("pdo_nosuch"), "{said:?}");
}

#[test]
fn mistakes_of_a_topology_are_told_together() {
    let stage = Stage::new();
    let said = stage.run(&[
        "compare",
        "markdown",
        "--replicas",
        "0",
        "--balancer",
        "envoy",
        "--services",
        "memcached",
        "--client-rtt",
        "1h",
    ]);
    assert_eq!(said.code, Some(2), "{said:?}");
    for told in
        ["--replicas 0 is not", "--balancer envoy is not known", "--services memcached is not", "--client-rtt 1h"]
    {
        assert!(said.stderr.contains(told), "{told}: {}", said.stderr);
    }
    let shares = ["--share", "replica=0.6,100Mi", "--share", "balancer=0.2,100Mi"];
    let said = stage.run(&[&["compare", "markdown", "--replicas", "2", "--balancer", "nginx"], &shares[..]].concat());
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("gives out 1.4 of 1 CPUs; raise --cpus, or lower the shares"), "{}", said.stderr);
}
