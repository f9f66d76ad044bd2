//! Whether `stampede compare --inside` finds shares that are known, on real servers: `make bench-inside`.
//!
//! A program of PHP runs loops whose lengths are in known proportion, sleeps, waits for a lock and asks two databases; how long it
//! waited where, it counts itself. A row is kept of each run as it ends, and the document is written again after each, so that they
//! can be measured in pieces.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::circumstances::Circumstances;
use crate::compare::{APP, Compare, CompareError, began};
use crate::document::{self, Section};
use crate::failure::Failure;
use crate::files;
use crate::flags::{UnderTest, seconds};
use crate::jsonl;
use crate::progress::tell;

/// How it is to be done.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Truths {
    /// These runtimes alone, separated by commas [default: all]
    #[arg(long, value_name = "RUNTIME", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// A build of PHP in place of the one on the search path, as `stampede compare --php` takes it
    #[arg(long, value_name = "PHP", default_value = "")]
    pub(crate) php: String,
    /// Length of a window, half of which has samples
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = seconds)]
    pub(crate) duration: Duration,
    /// Folders of packages that Composer installed for servers, separated by `:`; the first that has what a server needs is taken
    #[arg(long, value_name = "DIR", value_delimiter = ':')]
    pub(crate) vendors: Vec<PathBuf>,
    /// Measures again what missed
    #[arg(long)]
    pub(crate) again: bool,
    /// Runs so far
    #[arg(long, value_name = "FILE", default_value = "crates/bench/data/inside.jsonl")]
    pub(crate) data: PathBuf,
    /// The document
    #[arg(long, value_name = "FILE", default_value = "docs/bench-inside.md")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) under: UnderTest,
}

/// A server of the program.
#[derive(Debug)]
struct Server {
    runtime: &'static str,
    /// Its mode, where it has several.
    mode: Option<&'static str>,
    /// Its name for the number of workers.
    workers: &'static str,
    /// What it needs in `vendor`.
    package: Option<&'static str>,
    /// Whether its PHP has no driver for PostgreSQL where this was measured.
    lacks_postgres: bool,
}

const fn server(runtime: &'static str, workers: &'static str) -> Server {
    Server { runtime, mode: None, workers, package: None, lacks_postgres: false }
}

const SERVERS: [Server; 9] = [
    server("nginx-fpm", "pm.max_children"),
    server("apache-mod-php", "MaxRequestWorkers"),
    server("php-cli-server", "PHP_CLI_SERVER_WORKERS"),
    server("uwsgi-php", "processes"),
    Server { package: Some("spiral/roadrunner-http"), ..server("roadrunner", "http.pool.num_workers") },
    server("swoole", "worker_num"),
    Server { package: Some("workerman/workerman"), ..server("workerman", "count") },
    Server { mode: Some("classic"), lacks_postgres: true, ..server("frankenphp", "num_threads") },
    Server { mode: Some("worker"), lacks_postgres: true, ..server("frankenphp", "worker.num") },
];

/// Limits of the processor.
const CPUS: [&str; 2] = ["0.5", "1"];
/// More of them wait than run: there is a queue for the lock.
const WORKERS: u32 = 4;
/// What is allowed: two percentage points, or three standard errors where that is more.
const ALLOWED: f64 = 0.02;
const ERRORS: f64 = 3.0;

/// The loops, by the parts of ten that each is.
const LOOPS: [(&str, f64); 3] = [("Truth\\six", 0.6), ("Truth\\Work::three", 0.3), ("{closure}", 0.1)];
const CALLER: &str = "Truth\\Work::all";
/// What waits, by its name in what the program notes.
const WAITS: [&str; 4] = ["nap", "lock", "postgres", "mariadb"];

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ran {
    runtime: String,
    mode: Option<String>,
    cpus: String,
    /// As it was asked for.
    php: String,
    began: String,
    /// What ran, by the study.
    version: String,
    /// Why there are no shares.
    failed: Option<String>,
    shares: Vec<Share>,
    samples: u64,
    torn_share: f64,
    sampler_share: f64,
    /// The share of answers that sampling cost.
    price: Option<f64>,
    under: Circumstances,
}

/// A share that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Share {
    name: String,
    truth: f64,
    found: f64,
    standard_error: f64,
}

impl Share {
    fn is_near(&self) -> bool {
        (self.found - self.truth).abs() <= (ERRORS * self.standard_error).max(ALLOWED)
    }

    /// `12.3 ± 0.4 of 12.5`, in percent; what is next to nothing has no sign.
    fn in_percent(&self) -> String {
        let percent = |share: f64| (share * 1000.0).round() / 10.0 + 0.0;
        let [found, error, truth] = [self.found, self.standard_error, self.truth].map(percent);
        format!("{found:.1} ± {error:.1} of {truth:.1}")
    }
}

impl Ran {
    fn is(&self, server: &Server, cpus: &str, php: &str) -> bool {
        (self.runtime.as_str(), self.mode.as_deref(), self.cpus.as_str(), self.php.as_str())
            == (server.runtime, server.mode, cpus, php)
    }

    fn is_right(&self) -> bool {
        self.failed.is_none() && !self.shares.is_empty() && self.shares.iter().all(Share::is_near)
    }
}

/// Runs what is missing.
pub(crate) fn run(truths: &Truths) -> Result<(), Failure> {
    let Truths { only, php, duration, vendors, again, data, output, under: UnderTest { stampede, remark } } = truths;
    let compare = Compare::new(stampede.clone())?;
    let under = Circumstances::now(&compare.version()?, remark);
    let mut ran: Vec<Ran> = jsonl::read(data)?;
    let wanted = |server: &&Server| only.is_empty() || only.iter().any(|name| name == server.runtime);
    files::write(output, &document(&ran))?;
    for server in SERVERS.iter().filter(wanted) {
        for cpus in CPUS {
            // The last line of a run counts.
            let kept = ran.iter().rfind(|ran| ran.is(server, cpus, php));
            if kept.is_some_and(|ran| !again || ran.is_right()) {
                continue;
            }
            let one = measure(&compare, server, cpus, php, *duration, vendors, &under)?;
            tell(&line(&one));
            jsonl::append(data, std::slice::from_ref(&one))?;
            ran.push(one);
            files::write(output, &document(&ran))?;
        }
    }
    Ok(())
}

fn line(ran: &Ran) -> String {
    let shares = ran.shares.iter().map(|share| format!("{} {}", share.name, share.in_percent()));
    format!(
        "{}{} {}: {} {}",
        ran.runtime,
        ran.mode.as_ref().map_or_else(String::new, |mode| format!(" {mode}")),
        ran.cpus,
        if ran.is_right() { "right" } else { "MISSED" },
        ran.failed.clone().unwrap_or_else(|| shares.collect::<Vec<_>>().join(", ")),
    )
}

fn measure(
    compare: &Compare,
    server: &Server,
    cpus: &str,
    php: &str,
    duration: Duration,
    vendors: &[PathBuf],
    under: &Circumstances,
) -> Result<Ran, Failure> {
    let notes = tempfile::Builder::new().prefix("truth-").tempdir().map_err(Failure::Prepare)?;
    // Servers run as another user.
    let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    let made = open(notes.path(), 0o777).and_then(|()| {
        ["lock", "waited"].iter().try_for_each(|name| {
            let path = notes.path().join(name);
            fs::write(&path, "").and_then(|()| open(&path, 0o666))
        })
    });
    made.map_err(Failure::Prepare)?;
    put_application(compare, server, vendors)?;
    let duration = format!("{}s", duration.as_secs());
    let mut flags = vec!["--inside", "--no-yard-stick", "--rounds", "1", "--warm-up", "1s", "--duration", &duration];
    if !php.is_empty() {
        flags.extend(["--php", php]);
    }
    let failed = |why: String| Ran {
        runtime: server.runtime.to_owned(),
        mode: server.mode.map(str::to_owned),
        cpus: cpus.to_owned(),
        php: php.to_owned(),
        failed: Some(why),
        under: under.clone(),
        ..Ran::default()
    };
    let study = match compare.run(&plan(server, cpus, notes.path()), &flags) {
        Ok(study) => study,
        Err(CompareError::Study { told, .. }) => return Ok(failed(told)),
        Err(error) => return Err(error.into()),
    };
    let case = &study["cases"][0];
    let inside = &case["inside"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let samples = inside["samples"].as_u64().unwrap_or(0);
    if samples == 0 {
        let why = [&case["trials"][0]["reason"], &inside["problems"][0]];
        let why = why.into_iter().find_map(Value::as_str).unwrap_or("no samples");
        return Ok(failed(why.to_owned()));
    }
    let folded = compare.text(&["inside", &text(&case["id"]), "--folded", "-"])?;
    let waited = files::lines(&notes.path().join("waited"), "", |line| serde_json::from_str(line).ok())?;
    Ok(Ran {
        began: began(&study).unwrap_or_default(),
        version: text(&case["runtime_version"]),
        failed: None,
        shares: shares(&folded, samples, &waited),
        samples,
        torn_share: inside["torn_share"].as_f64().unwrap_or(0.0),
        sampler_share: inside["sampler_cpu_share"].as_f64().unwrap_or(0.0),
        price: inside["price"]["value"].as_f64(),
        ..failed(String::new())
    })
}

/// The program, with the packages that its server needs.
fn put_application(compare: &Compare, server: &Server, vendors: &[PathBuf]) -> Result<(), Failure> {
    compare.put("index.php", include_str!("inside/index.php"))?;
    compare.put("handler.php", include_str!("inside/handler.php"))?;
    compare.put("truth.php", include_str!("inside/truth.php"))?;
    let Some(package) = server.package else { return Ok(compare.copy(None, "vendor")?) };
    let vendor = vendors.iter().find(|vendor| vendor.join(package).is_dir()).ok_or_else(|| {
        Failure::Missing(format!("{} needs {package}; name a vendor folder that has it with --vendors", server.runtime))
    })?;
    Ok(compare.copy(Some(vendor), "vendor")?)
}

fn plan(Server { runtime, mode, workers, package, lacks_postgres }: &Server, cpus: &str, notes: &Path) -> String {
    let is_kept = package.is_some() || *runtime == "swoole" || *mode == Some("worker");
    let kind =
        if is_kept { "kind: psr-15-handler, handler: handler.php" } else { "kind: front-controller, index: index.php" };
    let (postgres, driver) = if *lacks_postgres { ("", "") } else { ("postgres: {}, ", ", pdo_pgsql") };
    let mode = mode.map_or_else(String::new, |mode| format!("mode: {mode}, "));
    let count = if *runtime == "php-cli-server" { WORKERS - 1 } else { WORKERS };
    format!(
        "app:\n  dir: {APP}\n  {}\n  extensions: [pdo, pdo_mysql{driver}]\n  env: {{TRUTH: '{}'}}\n  \
         requests: [{{path: /, expect: {{status: 200, body: \"done\\n\"}}}}]\n\
         cases: [{{runtime: {runtime}, set: {{{mode}{workers}: '{count}'}}}}]\n\
         topology: {{services: {{{postgres}mariadb: {{}}}}}}\n\
         limits: {{cpus: {cpus}, memory: 768Mi}}\nload: closed:{WORKERS}\n",
        kind.replace(", ", "\n  "),
        notes.display(),
    )
}

/// Time by what a stack holds and its state.
struct Folded<'a>(Vec<(Vec<&'a str>, f64)>);

impl<'a> Folded<'a> {
    fn of(text: &'a str) -> Self {
        let line = |line: &'a str| {
            let (names, time) = line.rsplit_once(' ')?;
            Some((names.split(';').collect(), time.parse().ok()?))
        };
        Self(text.lines().filter_map(line).collect())
    }

    fn sum(&self, holds: impl Fn(&[&str]) -> bool) -> f64 {
        self.0.iter().filter(|(names, _)| holds(names)).map(|(_, time)| time).sum()
    }
}

/// What was found of what is known. Samples are spread over the states as the time is.
fn shares(folded: &str, samples: u64, waited: &[BTreeMap<String, f64>]) -> Vec<Share> {
    let folded = Folded::of(folded);
    let each = samples as f64 / folded.sum(|_| true);
    let share = |name: &str, truth: f64, part: f64, all: f64| {
        // That of so many samples if the truth is true.
        let standard_error = (truth * (1.0 - truth) / (all * each)).sqrt();
        Share { name: name.to_owned(), truth, found: part / all, standard_error }
    };
    let ran = |names: &[&str]| names.last() == Some(&"[running]");
    let is_called = |names: &[&str]| ran(names) && names.contains(&CALLER);
    let all = folded.sum(is_called);
    let loops = LOOPS.iter().map(|(name, truth)| {
        // From PHP 8.4 on a closure's name goes on: {closure:Truth\Work::all():31}.
        let begin = name.trim_end_matches('}');
        let part =
            folded.sum(|names| is_called(names) && names.iter().rev().nth(1).is_some_and(|leaf| leaf.contains(begin)));
        share(name, *truth, part, all)
    });
    let is_wait = |names: &[&str], name: &str| {
        names.last().is_some_and(|state| state.starts_with("[waiting"))
            && names.contains(&format!("Truth\\{name}").as_str())
    };
    let noted = |name: &str| waited.iter().filter_map(|waited| waited.get(name)).sum::<f64>();
    let waits: Vec<&str> = WAITS.into_iter().filter(|name| noted(name) > 0.0).collect();
    let (truth, all) = (
        waits.iter().map(|name| noted(name)).sum::<f64>(),
        waits.iter().map(|name| folded.sum(|names| is_wait(names, name))).sum::<f64>(),
    );
    let waits =
        waits.iter().map(|name| share(name, noted(name) / truth, folded.sum(|names| is_wait(names, name)), all));
    loops.chain(waits).collect()
}

fn document(ran: &[Ran]) -> String {
    let mut section = Section::new("Known shares");
    let kept: Vec<&Ran> = (0..ran.len())
        .filter(|at| {
            let key = |ran: &Ran| (ran.runtime.clone(), ran.mode.clone(), ran.cpus.clone(), ran.php.clone());
            !ran[at + 1..].iter().any(|later| key(later) == key(&ran[*at]))
        })
        .map(|at| &ran[at])
        .collect();
    section.paragraph(&format!(
        "What [samples of PHP's stacks](inside.md) find of a program whose shares are known: loops of 6, 3 and 1 parts, of the time that \
         their caller ran; and a sleep, a lock of a file, and a query of PostgreSQL and MariaDB each, of the time that the four waited, which the \
         program counts itself. {WORKERS} workers under {WORKERS} connections; half of each window has samples. Found means within two \
         percentage points, or three standard errors where that is more."
    ));
    section.paragraph(&format!(
        "Made by `make bench-inside`, which continues where it was left. {}",
        Circumstances::sentences(kept.iter().map(|ran| &ran.under))
    ));
    let right = kept.iter().filter(|ran| ran.is_right()).count();
    section.paragraph(&format!("Found in {right} of {} runs.", kept.len()));
    let head =
        "server | PHP | CPUs | 6 | 3 | 1 | sleep | lock | PostgreSQL | MariaDB | samples | torn % | sampler % | found";
    let mut rows = vec![document::head(head)];
    for ran in kept {
        let name = format!("{}{}", ran.runtime, ran.mode.as_ref().map_or_else(String::new, |mode| format!(" {mode}")));
        let php = if ran.php.is_empty() { "installed" } else { &ran.php };
        let mut row = vec![name, php.to_owned(), ran.cpus.clone()];
        let names = LOOPS.iter().map(|(name, _)| *name).chain(WAITS);
        row.extend(names.map(|name| {
            let share = ran.shares.iter().find(|share| share.name == name);
            share.map_or_else(|| "-".to_owned(), Share::in_percent)
        }));
        row.extend([
            ran.samples.to_string(),
            format!("{:.2}", ran.torn_share * 100.0),
            format!("{:.1}", ran.sampler_share * 100.0),
            if ran.is_right() { "yes".to_owned() } else { ran.failed.clone().unwrap_or_else(|| "NO".to_owned()) },
        ]);
        rows.push(row);
    }
    section.table(&rows);
    format!("# {}\n\n{}\n", section.title, section.text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOLDED: &str = "(outside PHP);[waiting: accept on /run/fpm.sock] 4000\n\
        index.php;Truth\\Work::all;Truth\\Work::three;[running] 310\n\
        index.php;Truth\\Work::all;Truth\\Work::Truth\\{closure} truth.php:37;[running] 90\n\
        index.php;Truth\\Work::all;Truth\\six;[running] 600\n\
        index.php;Truth\\note;Truth\\nap;usleep;[waiting: sleep] 300\n\
        index.php;Truth\\note;Truth\\lock;flock;[waiting: flock /tmp/lock] 100\n";

    #[test]
    fn shares_are_of_the_caller_and_of_all_that_waited() {
        let waited = [("nap", 30.0), ("lock", 10.0)].map(|(name, time)| (name.to_owned(), time));
        let shares = shares(FOLDED, 5_400, &[BTreeMap::from(waited)]);
        let told: Vec<_> = shares.iter().map(|share| (share.name.as_str(), share.found, share.truth)).collect();
        let expected = [
            ("Truth\\six", 0.6, 0.6),
            ("Truth\\Work::three", 0.31, 0.3),
            ("{closure}", 0.09, 0.1),
            ("nap", 0.75, 0.75),
            ("lock", 0.25, 0.25),
        ];
        assert_eq!(told, expected);
        // The time of the caller is 1000 of 5400, and as many samples.
        assert!((shares[0].standard_error - 0.0155).abs() < 0.000_1, "{}", shares[0].standard_error);
        assert!(shares.iter().all(Share::is_near));
        assert!(shares[1].in_percent().starts_with("31.0 ± "), "{}", shares[1].in_percent());
        let next_to_nothing = Share { found: -0.000_4, truth: 0.0, standard_error: 0.001, ..shares[1].clone() };
        assert_eq!(next_to_nothing.in_percent(), "0.0 ± 0.1 of 0.0");
    }

    #[test]
    fn plans_name_what_each_server_needs() {
        let of = |runtime: &str| plan(SERVERS.iter().find(|it| it.runtime == runtime).unwrap(), "0.5", Path::new("/n"));
        assert!(of("nginx-fpm").contains("kind: front-controller\n  index: index.php"), "{}", of("nginx-fpm"));
        assert!(of("workerman").contains("handler: handler.php"));
        assert!(!of("frankenphp").contains("postgres") && of("frankenphp").contains("mode: classic"));
    }
}
