//! Containers, with an engine of these tests' own and a base image made by debootstrap.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use rustix::process::Signal;
use serde_json::Value;

use crate::counter::go_app;
use crate::export::{ask, free, keep, measured};
use crate::stage::{Said, Stage, have, send, wait_until, workload};
use crate::{beside, images, makers};

pub(crate) const BASE: &str = "debian:bookworm";

/// In containers with Debian's packages.
const ON_DEBIAN: [&str; 4] = ["--platform", "docker", "--base-image", BASE];

/// The smallest Debian.
const BARE: &str = "debian:bare";

/// The archive of [`BASE`]: nginx and PHP are there.
const SOFTWARE: &str = "bookworm-software.tar";

/// An application with a database, two replicas and a balancer.
const PARTS: [&str; 16] = [
    "compare",
    "random-row",
    "--app",
    "pdo",
    "--runtimes",
    "nginx-fpm",
    "--cpus",
    "1",
    "--memory",
    "512Mi",
    "--replicas",
    "2",
    "--balancer",
    "nginx",
    "--services",
    "postgres",
];

/// What `clean` says of a run of which something was left.
const ENDED: &str = "ended run";

/// The label of all that belongs to a run.
const LABEL: &str = "io.stampede.run";

/// An engine with files of its own, and no part of the machine's network changed but its own bridges.
pub(crate) struct Engine {
    folder: tempfile::TempDir,
    daemon: Child,
}

impl Engine {
    /// Of two engines at once, each has addresses of its own. Nothing, with what it said, where it ends by itself: a machine may
    /// not let one run.
    fn start(addresses: &str) -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("engine").tempdir_in("/var/tmp").unwrap();
        let at = |name: &str| folder.path().join(name);
        let log = fs::File::create(at("log")).unwrap();
        let daemon = Command::new("dockerd")
            .arg("--data-root")
            .arg(at("data"))
            .arg("--exec-root")
            .arg(at("exec"))
            .arg("--pidfile")
            .arg(at("pid"))
            .arg("--host")
            .arg(format!("unix://{}", at("docker.sock").display()))
            .args(["--bridge=none", "--iptables=false", "--ip-forward=false"])
            .arg(format!("--default-address-pool=base={addresses},size=24"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut engine = Self { folder, daemon };
        let log = engine.folder.path().join("log");
        let said = || fs::read_to_string(&log).unwrap_or_default();
        let mut has_ended = false;
        wait_until("the engine answers, or ends", || {
            has_ended = engine.daemon.try_wait().unwrap().is_some();
            let answers = engine.docker(&["version"]).output().unwrap().status.success();
            if answers || has_ended { Ok(()) } else { Err(said()) }
        });
        if has_ended { Err(said()) } else { Ok(engine) }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("docker.sock")
    }

    fn host(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    pub(crate) fn docker(&self, args: &[&str]) -> Command {
        let mut command = Command::new("docker");
        command.args(args).env("DOCKER_HOST", self.host());
        command
    }

    /// What it prints, a line each.
    pub(crate) fn ask(&self, args: &[&str]) -> Vec<String> {
        let output = self.docker(args).output().unwrap();
        assert!(output.status.success(), "docker {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    fn containers(&self) -> Vec<String> {
        self.ask(&["ps", "-aq", "--filter", &format!("label={LABEL}")])
    }

    fn networks(&self) -> Vec<String> {
        self.ask(&["network", "ls", "-q", "--filter", &format!("label={LABEL}")])
    }

    pub(crate) fn assert_nothing_left(&self) {
        assert_eq!((self.containers(), self.networks()), (Vec::<String>::new(), Vec::<String>::new()));
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // It unmounts what it has mounted but the machine's own network, without which the folder cannot be removed.
        if self.daemon.try_wait().is_ok_and(|ended| ended.is_none()) {
            send(self.daemon.id(), Signal::TERM);
        }
        let _ = self.daemon.wait();
        let network = self.folder.path().join("exec/netns/default");
        let _ = Command::new("umount").arg(network).stderr(Stdio::null()).status();
    }
}

/// An image as an archive, kept between tests; or what is said instead. `scripts/base_image.sh` makes it.
fn debian(archive: &str) -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let archive = root.join("target/base-image").join(archive);
    let made = Command::new(root.join("scripts/base_image.sh")).output().unwrap();
    if made.status.success() { Ok(archive) } else { Err(end_of(&[made.stdout, made.stderr].concat())) }
}

/// The last lines of what a program printed.
fn end_of(output: &[u8]) -> String {
    const LINES: usize = 20;
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

pub(crate) fn run(stage: &Stage, engine: &Engine, args: &[&str]) -> Said {
    stage.run_with(&[("DOCKER_HOST", &engine.host())], args)
}

#[test]
fn containers_are_compared_exported_and_started_again() {
    let name = "containers_are_compared_exported_and_started_again";
    let Some((stage, engine)) = begun(name, &["go", "composer"], "10.200.0.0/16") else { return };
    // Images are made while others are fetched and measured: no figure is checked.
    let folder = thread::scope(|scope| {
        let (engine, stage) = (&engine, &stage);
        let folder = scope.spawn(|| images::made(engine));
        scope.spawn(|| makers::make(engine));
        scope.spawn(|| engine.ask(&["import", &debian("bookworm.tar").unwrap().display().to_string(), BARE]));
        compares(stage, engine);
        folder.join().unwrap()
    });
    // It exports the latest study.
    serves_what_is_exported(&stage, &engine);
    images::are_compared(&stage, &engine, folder.path());
    makers::are_compared(&stage, &engine);
    starts_a_replica_again(&stage, &engine);
    let said = run(&stage, &engine, &["clean", "--images"]);
    assert!(said.code == Some(0) && said.stderr.contains("removed the image stampede-software:"), "{said:?}");
    assert!(said.stderr.contains("docker rmi debian:bookworm php:8.2-cli-bookworm php:8.2-fpm-bookworm"), "{said:?}");
    assert_eq!(engine.ask(&["images", "-q", "stampede-software"]), Vec::<String>::new());
}

#[test]
fn containers_are_held_to_their_limits_and_end_with_stampede_whatever_happens_to_it() {
    let name = "containers_are_held_to_their_limits_and_end_with_stampede_whatever_happens_to_it";
    let Some((stage, engine)) = begun(name, &["tar"], "10.201.0.0/16") else { return };
    // Runs of the same software follow each other: an image is made for each set of packages.
    thread::scope(|scope| {
        scope.spawn(|| is_an_image_itself(&engine));
        holds_parts_to_shares(&stage, &engine);
    });
    let long = ["--duration", "10m", "--load", "closed:4"];
    ends_when_killed(&stage, &engine, &[&PARTS[..], &["--no-yard-stick"], &long].concat(), "php-fpm: master", 1, ENDED);
    tells_of_memory(&stage, &engine);
    let slow = workload("slow");
    starts_instances_on_demand(&stage, &engine, &slow);
    let instances = ["scale", "php-cli-server", &slow, "--cpus", "0.25", "--memory", "128Mi", "--max-instances", "2"];
    ends_when_killed(&stage, &engine, &[&instances[..], &long].concat(), " -S ", 2, ENDED);
    refuses(&stage, &engine);
    beside::measures(&engine);
}

/// A stage and an engine that has the base image; nothing where this machine cannot have them, which is said.
fn begun(test: &str, programs: &[&str], addresses: &str) -> Option<(Stage, Engine)> {
    if !have(test, &[&["dockerd", "docker", "debootstrap"], programs].concat()) {
        return None;
    }
    let skipped = |needs: &str, said: String| {
        let _ = writeln!(std::io::stderr(), "SKIP {test}: needs {needs}, which said\n{said}");
    };
    let archive = debian(SOFTWARE).map_err(|said| skipped("a Debian that debootstrap makes", said)).ok()?;
    let stage = Stage::new();
    let engine = Engine::start(addresses).map_err(|said| skipped("a machine that lets dockerd run", said)).ok()?;
    engine.ask(&["import", &archive.display().to_string(), BASE]);
    Some((stage, engine))
}

/// Three kinds of runtimes under limits that are read back from the kernel, with answers that are right.
fn compares(stage: &Stage, engine: &Engine) {
    let said = run(
        stage,
        engine,
        &[
            "compare",
            "markdown",
            "--platform",
            "docker",
            "--base-image",
            BASE,
            "--runtimes",
            "apache-mod-php,nginx-fpm,go",
            "--cpus",
            "0.5",
            "--memory",
            "256Mi",
            "--duration",
            "1s",
            "--warm-up",
            "300ms",
            "--rounds",
            "1",
            "--load",
            "closed:4",
            "--no-yard-stick",
            "--json",
            "-",
        ],
    );
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    // A run that was held up has installed it already.
    let told = format!("{}{}", said.before, said.stderr);
    assert!(told.contains("installing apache2, libapache2-mod-php in "), "{told}");
    let study: Value = serde_json::from_str(&said.stdout).unwrap();
    let cases = study["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 3);
    for case in cases {
        let (id, trial) = (&case["id"], &case["trials"][0]);
        assert_eq!((&case["platform"], &case["base_image"]), (&"docker".into(), &BASE.into()), "{id}");
        assert_eq!(case["enforced"]["cpus"], 0.5, "{id}");
        assert_eq!(case["enforced"]["memory_bytes"], 256u64 << 20, "{id}");
        assert_eq!(trial["outcome"], "measured", "{id}: {trial}");
        assert_eq!(trial["requests"]["sent"], trial["requests"]["ok"], "{id}: {trial}");
        let (used, window) = (trial["cpu_seconds"].as_f64().unwrap(), trial["window_s"].as_f64().unwrap());
        assert!((0.01..0.55).contains(&(used / window)), "{id}: {trial}");
        let memory = trial["memory_peak_bytes"].as_u64().unwrap();
        assert!((1 << 20..256 << 20).contains(&memory), "{id}: {trial}");
    }
    engine.assert_nothing_left();
    stage.assert_nothing_left();
}

/// The image that the exported files of a measured case make serves the same answers under the same limits. It is made of the base
/// image and the packages that were measured.
fn serves_what_is_exported(stage: &Stage, engine: &Engine) {
    const IMAGE: &str = "stampede-exported:1";
    let name = "serves_what_is_exported";
    if !have(name, &["docker-compose"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("deploy");
    let (address, place) = (free(), out.to_str().unwrap());
    let listen = format!("0.0.0.0:{}", address.port());
    let args = ["export", "compose", "--study", "latest", "--case", "nginx-fpm", "--image", IMAGE];
    let said = run(stage, engine, &[&args[..], &["--listen", &listen, "--output", place]].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let dockerfile = fs::read_to_string(out.join("Dockerfile")).unwrap();
    assert!(dockerfile.contains(&format!("\nFROM {BASE}\n")) && dockerfile.contains("php-parsedown"), "{dockerfile}");
    // The packages that it names are all that it needs, upon a Debian that has none of them.
    fs::write(out.join("Dockerfile"), dockerfile.replace(BASE, BARE)).unwrap();
    let built = engine.docker(&["build", "--network", "host", "-t", IMAGE, place]).output().unwrap();
    assert!(built.status.success(), "{}", end_of(&[built.stdout, built.stderr].concat()));

    let compose = |args: &[&str]| {
        let mut compose = Command::new("docker-compose");
        compose.arg("--file").arg(out.join("compose.yaml")).args(args).env("DOCKER_HOST", engine.host());
        let output = compose.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {said}\n{}", engine.ask(&["ps", "-a"]).join("\n"));
        String::from_utf8(output.stdout).unwrap()
    };
    compose(&["up", "--detach", "--no-build"]);
    let container = compose(&["ps", "--quiet"]);
    let container = container.trim();
    wait_until("it is healthy", || {
        let asked = engine.docker(&["exec", container, "/srv/healthy"]).output().unwrap();
        if asked.status.success() { Ok(()) } else { Err(engine.ask(&["logs", container]).join("\n")) }
    });
    let rendered = ask(address, "POST", r##"{"data": "# h1\n_test_\n__test__\n"}"##);
    let (_, body) = rendered.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    assert!(body["result"].as_str().is_some_and(|html| html.contains("h1</h1>")), "{rendered}");
    let limits = "{{.HostConfig.NanoCpus}} {{.HostConfig.Memory}} {{.HostConfig.MemorySwap}}";
    assert_eq!(engine.ask(&["inspect", "-f", limits, container]), ["500000000 268435456 268435456"]);
    compose(&["stop"]);
    assert_eq!(engine.ask(&["inspect", "-f", "{{.State.ExitCode}}", container]), ["0"]);
    compose(&["down"]);
}

/// Stampede's own Dockerfile, with the program that is tested in place of one that is built there: as an image it may be run by nobody
/// in particular, and knows its workloads without a network.
fn is_an_image_itself(engine: &Engine) {
    const IMAGE: &str = beside::IMAGE;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("target/image/stampede");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_stampede"), &program).unwrap();
    let dockerfile = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Dockerfile");
    let context = folder.path().to_str().unwrap();
    let args = ["--file", dockerfile, "--build-arg", "RUST=debian:bookworm", "--build-arg", "DEBIAN=debian:bookworm"];
    let build = ["build", "--quiet", "--network", "host", "--target", "stampede", "--tag", IMAGE];
    engine.ask(&[&build[..], &args, &[context]].concat());
    let said = |args: &[&str]| engine.ask(&[&["run", "--rm", "--network", "none"], args].concat());
    assert_eq!(said(&["--entrypoint", "id", IMAGE, "-u"]), ["0"]);
    assert!(said(&["--user", "stampede", IMAGE, "list", "workloads"]).iter().any(|line| line.starts_with("markdown ")));
}

/// What cannot be had; what is in no package is looked for once.
fn refuses(stage: &Stage, engine: &Engine) {
    let docker = ["compare", "markdown", "--runtimes", "nginx-fpm", "--platform", "docker"];
    let said = run(stage, engine, &[&docker[..], &["--base-image", "nowhere.invalid/debian:12"]].concat());
    assert!(said.code == Some(3) && said.stderr.contains("docker import - nowhere.invalid/debian:12"), "{said:?}");
    // What was measured in containers is measured again in those of the same image.
    let (mut study, trials) = measured();
    for case in &mut study.cases {
        (case.platform, case.base_image) = ("docker".to_owned(), Some("nowhere.invalid/debian:12".to_owned()));
    }
    let id = study.id.to_string();
    keep(stage, (study, trials));
    // It is older than the one that was measured here.
    let said = run(stage, engine, &["why", "--study", &id]);
    assert!(said.code == Some(3) && said.stderr.contains("docker import - nowhere.invalid/debian:12"), "{said:?}");
    let app = tempfile::tempdir().unwrap();
    fs::write(app.path().join("index.php"), "hello").unwrap();
    let plan = "app: {dir: ., kind: front-controller, index: index.php, extensions: [nowhere], requests: [{path: /}]}\nplatform: docker\nbase_image: debian:bookworm\n";
    fs::write(app.path().join("stampede.yaml"), plan).unwrap();
    for builds in [true, false] {
        let app = app.path().to_str().unwrap();
        let said = run(stage, engine, &["compare", app, "--runtimes", "php-cli-server"]);
        assert!(said.code == Some(3) && said.stderr.contains("no package of debian:bookworm gives"), "{said:?}");
        assert_eq!(said.stderr.contains("installing php8.2-nowhere"), builds, "{said:?}");
    }
    engine.assert_nothing_left();
}

/// More than the limit holds: the kernel kills the server, and that is told.
fn tells_of_memory(stage: &Stage, engine: &Engine) {
    let greedy = workload("greedy");
    let base = ["compare", &greedy, "--runtimes", "php-cli-server", "--memory", "64Mi"];
    let base = [&base[..], &ON_DEBIAN].concat();
    let short = ["--rounds", "1", "--duration", "1s", "--warm-up", "200ms", "--no-yard-stick"];
    let said = run(stage, engine, &[&base[..], &short].concat());
    assert!(said.code == Some(5) && said.words().contains("limit of 64Mi"), "{said:?}");
    engine.assert_nothing_left();
    stage.assert_nothing_left();
}

/// PostgreSQL, two replicas and a balancer, each held to its share by the kernel, of an application that is prepared there and has
/// extensions whose names are not those of their packages.
fn holds_parts_to_shares(stage: &Stage, engine: &Engine) {
    let shares = ["--share", "postgres=0.3,160Mi", "--share", "balancer=0.1,64Mi", "--share", "replica=0.25,96Mi"];
    let set = ["--set", "postgres.work_mem=8MB", "--set", "postgres.max_connections=40"];
    let short = ["--duration", "1s", "--warm-up", "300ms", "--rounds", "1", "--load", "closed:4"];
    let short = [&ON_DEBIAN[..], &short].concat();
    let report = ["--no-yard-stick", "--json", "-"];
    let said = run(stage, engine, &[&PARTS[..], &shares, &set, &short, &report].concat());
    assert_eq!(said.code, Some(0), "{}\n{}", said.stderr, said.stdout);
    for package in ["php8.2-sqlite3", "php8.2-pgsql"] {
        assert!(format!("{}{}", said.before, said.stderr).contains(package), "{}", said.stderr);
    }
    assert!(said.stderr.contains("preparing the application: php seed.php"), "{}", said.stderr);
    let study: Value = serde_json::from_str(&said.stdout).unwrap();
    let (case, trial) = (&study["cases"][0], &study["cases"][0]["trials"][0]);
    assert_eq!((&case["enforced"]["cpus"], &trial["outcome"]), (&1.0.into(), &"measured".into()), "{trial}");
    assert_eq!(trial["requests"]["sent"], trial["requests"]["ok"], "{trial}");
    let mut used = 0.0;
    for (part, (name, cpus, memory)) in trial["parts"].as_array().unwrap().iter().zip([
        ("postgres", 0.3, 160),
        ("replica-1", 0.25, 96),
        ("replica-2", 0.25, 96),
        ("balancer", 0.1, 64),
    ]) {
        assert_eq!((&part["part"], &part["enforced_cpus"]), (&name.into(), &cpus.into()), "{part}");
        assert_eq!(part["enforced_memory_bytes"], u64::from(memory as u32) << 20, "{part}");
        let own = part["cpu_seconds"].as_f64().unwrap();
        assert!(own > 0.0 && part["memory_peak_bytes"].as_u64().unwrap() > 1 << 20, "{part}");
        used += own;
    }
    assert_eq!(trial["parts"].as_array().unwrap().len(), 4, "{trial}");
    assert_eq!(trial["parts"][0]["settings"]["work_mem"], "8192kB");
    // No process is beside its part but the container's first ones, which do nothing.
    let whole = trial["cpu_seconds"].as_f64().unwrap();
    assert!((used - whole).abs() < 0.05 * whole, "{used} of {whole}: {trial}");
    assert!(trial["stops"].as_array().unwrap().iter().all(|stop| stop["killed"] == false), "{trial}");
    engine.assert_nothing_left();
    stage.assert_nothing_left();
}

/// One that ends by itself comes back, on its own address.
fn starts_a_replica_again(stage: &Stage, engine: &Engine) {
    let folder = tempfile::tempdir().unwrap();
    go_app(&folder.path().join("app"));
    let yaml = "title: a test\napps: [{kind: go-program, dir: app, env: {MOST: '250'}}]\nrequests:\n  - name: hello\n    \
                path: '/?sleep=10ms'\n    expect: {status: 200, body: hello}\n";
    fs::write(folder.path().join("workload.yaml"), yaml).unwrap();
    let base = ["compare", folder.path().to_str().unwrap(), "--runtimes", "go"];
    let base = [&base[..], &ON_DEBIAN].concat();
    let topology = ["--replicas", "2", "--balancer", "nginx", "--restart", "on-failure"];
    let short = ["--duration", "1s", "--warm-up", "200ms", "--rounds", "1", "--load", "closed:8"];
    let report = ["--no-yard-stick", "--json", "-"];
    let said = run(stage, engine, &[&base[..], &topology, &short, &report].concat());
    let study: Value = serde_json::from_str(&said.stdout).unwrap_or_default();
    let trial = &study["cases"][0]["trials"][0];
    let parts = trial["parts"].as_array().unwrap_or_else(|| panic!("{said:?}"));
    let restarts: Vec<&Value> = parts.iter().flat_map(|part| part["restarts"].as_array().unwrap()).collect();
    assert!(!restarts.is_empty() && restarts.iter().all(|restart| restart["how"] == "status 9"), "{trial}");
    assert_ne!(trial["outcome"], "failed", "{trial}");
    engine.assert_nothing_left();
    stage.assert_nothing_left();
}

/// Each instance is a container, under limits of its own.
fn starts_instances_on_demand(stage: &Stage, engine: &Engine, workload: &str) {
    let base = ["scale", "php-cli-server", workload, "--cpus", "0.25", "--memory", "128Mi"];
    let base = [&base[..], &ON_DEBIAN].concat();
    let rest = ["--max-instances", "2", "--load", "closed:4", "--duration", "4s", "--json", "-"];
    let said = run(stage, engine, &[&base[..], &rest].concat());
    assert_eq!(said.code, Some(0), "{}\n{}", said.stderr, said.stdout);
    let study: Value = serde_json::from_str(&said.stdout).unwrap();
    let (case, trial) = (&study["cases"][0], &study["cases"][0]["trials"][0]);
    assert_eq!((&case["platform"], &trial["outcome"]), (&"docker".into(), &"measured".into()), "{trial}");
    assert_eq!(case["enforced"]["cpus"], 0.25, "{case}");
    assert_eq!((&trial["instances"]["max"], &trial["cold_starts"]["count"]), (&2.into(), &2.into()), "{trial}");
    let part = |name: &str| trial["cold_starts"][name].as_f64().unwrap_or_else(|| panic!("{name} {trial}"));
    let (whole, set_up) = (part("process_p50_ms"), part("set_up_p50_ms"));
    assert!(0.0 < set_up && set_up < whole && part("first_request_p50_ms") > 0.0, "{trial}");
    assert!(trial["requests"]["ok"].as_u64().unwrap() >= 4 && trial["requests"]["failed"] == 0, "{trial}");
    engine.assert_nothing_left();
    stage.assert_nothing_left();
}

/// Ctrl-C removes all at once. After `kill -9` the containers end by themselves, and `clean` removes what is `left` of the runs, and
/// nothing of others.
pub(crate) fn ends_when_killed(
    stage: &Stage,
    engine: &Engine,
    args: &[&str],
    server: &str,
    servers: usize,
    left: &str,
) {
    let bystander = engine.ask(&["network", "create", "bystander"]);
    for signal in [Signal::TERM, Signal::KILL] {
        let common = ["--rounds", "1", "--quiet"];
        let mut command = stage.command(&[args, &ON_DEBIAN, &common].concat());
        let mut child = stage.spawn(command.env("DOCKER_HOST", engine.host()).stderr(Stdio::null()));
        let mut groups = Vec::new();
        wait_until("the servers run in containers", || {
            // One that ends meanwhile has none.
            let of_container = |id: &String| String::from_utf8(engine.docker(&["top", id]).output().unwrap().stdout);
            let containers = engine.containers();
            let told: Vec<String> = containers.iter().filter_map(|id| of_container(id).ok()).collect();
            let running = told.iter().filter(|told| told.contains(server)).count();
            groups = containers.iter().flat_map(|id| control_groups(id)).collect();
            if running >= servers { Ok(()) } else { Err(told.join("\n")) }
        });
        assert!(!groups.is_empty());
        send(child.id(), signal);
        let code = child.wait().unwrap().code();
        if signal == Signal::TERM {
            assert_eq!(code, Some(130));
        } else {
            wait_until("the containers end by themselves", || match engine.containers() {
                left if left.is_empty() => Ok(()),
                left => Err(left.join("\n")),
            });
            wait_until("clean finds what is left, or nothing", || {
                let said = run(stage, engine, &["clean"]);
                // A warden that is about it keeps its lease.
                let is_over = said.code == Some(0) && !said.stderr.contains("kept:");
                if is_over && said.stderr.contains(left) { Ok(()) } else { Err(said.stderr) }
            });
        }
        engine.assert_nothing_left();
        stage.assert_nothing_left();
        assert_eq!(groups.iter().filter(|group| group.exists()).collect::<Vec<_>>(), Vec::<&PathBuf>::new());
    }
    assert_eq!(engine.ask(&["network", "ls", "-q", "--no-trunc", "--filter", "name=bystander"]), bystander);
    engine.ask(&["network", "rm", "bystander"]);
}

/// The control groups of a container, and those below them.
fn control_groups(container: &str) -> Vec<PathBuf> {
    let mut find = Command::new("find");
    let output = find.arg("/sys/fs/cgroup").args(["-type", "d", "-path", &format!("*{container}*")]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(PathBuf::from).collect()
}

#[test]
fn an_engine_that_is_not_there_is_told_with_what_to_do() {
    let stage = Stage::new();
    let docker = ["compare", "markdown", "--runtimes", "go", "--platform", "docker"];
    let said = stage.run_with(&[("DOCKER_HOST", "unix:///nonexistent/docker.sock")], &docker);
    assert!(said.code == Some(3) && said.stderr.contains("docker.io of Debian"), "{said:?}");
    let said = stage.run_with(&[("DOCKER_HOST", "tcp://127.0.0.1:2375")], &docker);
    assert!(said.code == Some(3) && said.stderr.contains("unset DOCKER_HOST"), "{said:?}");
    // What was measured in containers is measured there again.
    let (mut study, trials) = measured();
    study.cases.iter_mut().for_each(|case| case.platform = "docker".to_owned());
    keep(&stage, (study, trials));
    let said = stage.run_with(&[("DOCKER_HOST", "unix:///nonexistent/docker.sock")], &["why"]);
    assert!(said.code == Some(3) && said.stderr.contains("docker.io of Debian"), "{said:?}");
}
