//! The plan of a load on one address.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{self, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use stampede_core::{Carrier, Exchange, Load, Protocol, Request};
use stampede_scenario::{Check, Pause, Scenario};

use crate::answer::{CheckFlags, read_check};
use crate::flags::GeneratorsFlag;
use crate::generators::read_generators;
use crate::header::{CARRYING, is_token};
use crate::machine_size::MachineSize;
use crate::mistake::{Gathered, Mistakes};
use crate::quantity::{NO_PAUSE, read_duration, read_load, read_pause, read_request_timeout, read_seed};
use crate::scenario;
use crate::url::{HttpUrl, UrlError};

/// A load by count may take this long when no duration is given.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// The seed of random arrivals: the same command sends the same load.
const DEFAULT_SEED: u64 = 1;

/// What a scenario says itself, or cannot go with.
const OF_SCENARIO: [&str; 13] = [
    "load",
    "connections",
    "think",
    "method",
    "headers",
    "body",
    "http10",
    "check_status",
    "check_body_equals",
    "check_body_contains",
    "check_headers",
    "check_body_sha256",
    "check_json",
];

/// What to send where, how much of it, and what must come back, unread. `None` takes the default.
#[derive(Args, Clone, Debug, Default)]
pub struct LoadFlags {
    /// The address: http://HOST[:PORT][/PATH], or https://
    pub url: String,
    /// Load. closed:N keeps N connections busy. open:RATE sends RATE requests a second, evenly spaced, whether or
    /// not the server keeps up; open:poisson:RATE with random gaps. A ramp is FROM..TO/TIME in place of the number,
    /// stages are N/TIME,N/TIME [default: closed:16]
    #[arg(long, value_name = "MODEL", allow_hyphen_values = true, help_heading = "Load")]
    pub load: Option<String>,
    /// Number of connections [default: 16; with an open load as many as it needs, up to 256]
    #[arg(long, short, value_name = "N", allow_hyphen_values = true, help_heading = "Load")]
    pub connections: Option<String>,
    /// How long to send requests [default: the length of the load's stages, or 8s]
    #[arg(long, short, value_name = "TIME", allow_hyphen_values = true, help_heading = "Load")]
    pub duration: Option<String>,
    /// Stop after this many requests; with --scenario, after this many flows of each user class
    #[arg(long, short = 'n', value_name = "N", allow_hyphen_values = true, help_heading = "Load")]
    pub requests: Option<String>,
    /// Threads, one per processor [default: half of the processors]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Load")]
    pub threads: Option<String>,
    /// Who sends it.
    #[command(flatten)]
    pub generators: GeneratorsFlag,
    /// Seed of the random gaps of open:poisson loads [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Load")]
    pub seed: Option<String>,
    /// With a closed load: pause between a response and the next request, fixed (1s) or random (1s..3s) [default: none]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Load")]
    pub think: Option<String>,
    /// Run this scenario: virtual users who send several requests in a row, with values from responses and data files.
    /// It replaces the flags for load, requests and checks, except --duration [default: its longest stages]
    #[arg(long, value_name = "FILE", conflicts_with_all = OF_SCENARIO, help_heading = "Load")]
    pub scenario: Option<PathBuf>,
    /// Data file that the scenario takes its values from, in place of its own: people=payloads.tsv (may be repeated)
    #[arg(long = "feeder", value_name = "NAME=FILE", requires = "scenario", help_heading = "Load")]
    pub feeders: Vec<String>,
    /// Method [default: GET, or POST where there is a body]
    #[arg(long, short, value_name = "METHOD", help_heading = "Request")]
    pub method: Option<String>,
    /// A header (may be repeated)
    #[arg(long = "header", short = 'H', value_name = "NAME: VALUE", help_heading = "Request")]
    pub headers: Vec<String>,
    /// The body, or @FILE
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true, help_heading = "Request")]
    pub body: Option<String>,
    /// Open a new connection for each request
    #[arg(long, help_heading = "Protocol")]
    pub no_keepalive: bool,
    /// Speak HTTP/1.0, with Connection: keep-alive
    #[arg(long = "http1.0", help_heading = "Protocol")]
    pub http10: bool,
    /// Speak HTTP/2: over https by ALPN, over http with prior knowledge
    #[arg(long, help_heading = "Protocol")]
    pub http2: bool,
    /// Requests in flight on each HTTP/2 connection, at most [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Protocol")]
    pub streams: Option<String>,
    /// A request fails if it takes longer than this [default: 30s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Request")]
    pub timeout: Option<String>,
    /// What must come back.
    #[command(flatten)]
    pub check: CheckFlags,
}

/// A load on one address.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    /// Where it goes.
    pub url: HttpUrl,
    /// The value of the `Host` header.
    pub host: String,
    /// What is spoken.
    pub protocol: Protocol,
    /// What is sent.
    pub request: Request,
    /// What is sent in its place with its headers: the requests of a log, each as often as its weight says.
    pub logged: Vec<Exchange>,
    /// What must come back.
    pub check: Check,
    /// How much of it.
    pub load: Load,
    /// In a closed load, the time from an answer to the next request.
    pub think: Pause,
    /// What is sent and how much of it, in place of all that.
    pub scenario: Option<Arc<Scenario>>,
    /// How long, at most.
    pub duration: Duration,
    /// How many requests, where that ends it; of a scenario, how many flows each crowd begins.
    pub requests: Option<u64>,
    /// How long one request may take.
    pub timeout: Duration,
    /// On how many threads.
    pub threads: usize,
    /// Seed of random arrivals.
    pub seed: u64,
    /// Who drives it, in place of this process.
    pub generators: Vec<Carrier>,
}

impl LoadPlan {
    /// Reads what was typed, with the bytes of the body that it names.
    ///
    /// # Errors
    ///
    /// All mistakes at once.
    pub fn read(flags: &LoadFlags, body: Vec<u8>, machine: MachineSize) -> Result<Self, Mistakes> {
        let LoadFlags {
            url,
            connections,
            duration,
            requests,
            load,
            threads,
            method,
            headers,
            body: _,
            timeout,
            seed,
            check,
            think,
            scenario,
            feeders,
            http10,
            http2,
            streams,
            no_keepalive,
            generators,
        } = flags;
        let mut mistakes = Gathered::default();
        let url = read_url(url);
        let scenario = read_scenario(scenario.as_deref(), feeders, machine, &mut mistakes);
        if scenario.is_some()
            && let Ok(HttpUrl { path, .. }) = &url
            && path != "/"
        {
            let place = format!("URL path {path}");
            mistakes.add(place, "stands beside the paths of the scenario", "leave it out");
        }
        let load = read_connections(connections.as_deref(), load.as_deref(), machine, &mut mistakes);
        let requests = read_requests(requests.as_deref(), &mut mistakes);
        let duration = match (duration, requests) {
            (None, Some(_)) => DAY,
            (duration, _) => match &scenario {
                Some(scenario) => {
                    let loads = scenario.crowds.iter().map(|crowd| &crowd.load);
                    read_duration(duration.as_deref(), loads, &mut mistakes)
                }
                None => read_duration(duration.as_deref(), [&load], &mut mistakes),
            },
        };
        let threads = read_threads(threads.as_deref(), machine, &mut mistakes);
        let timeout = read_request_timeout(timeout.as_deref(), &mut mistakes);
        let seed = read_seed(seed.as_deref(), &mut mistakes).unwrap_or(DEFAULT_SEED);
        let check = read_check(check, &mut mistakes);
        let think = read_think(think.as_deref(), &load, &mut mistakes);
        let generators = read_generators(generators.generators.as_deref(), &mut mistakes);
        let method = read_method(method.as_deref(), &body, &mut mistakes);
        let (host, mut headers) = read_headers(headers, &mut mistakes);
        let protocol = read_protocol(*http10, *http2, streams.as_deref(), *no_keepalive, &mut mistakes);
        if protocol == Protocol::Http10 && !no_keepalive {
            headers.insert("Connection".to_owned(), "keep-alive".to_owned());
        }
        mistakes.finish(url.map(|url| Self {
            host: host.unwrap_or_else(|| url.authority.clone()),
            request: Request { method, path: url.path.clone(), headers, body },
            logged: Vec::new(),
            url,
            protocol,
            check,
            load,
            think,
            scenario: scenario.map(Arc::new),
            duration,
            requests,
            timeout,
            threads,
            seed,
            generators,
        }))
    }
}

fn read_url(typed: &str) -> Result<HttpUrl, Mistakes> {
    typed.parse().map_err(|problem| {
        let fix = match problem {
            UrlError::User => "give -H 'Authorization: Basic ...' instead",
            UrlError::Scheme | UrlError::Host | UrlError::Port | UrlError::Characters => {
                "for example http://127.0.0.1:8080/"
            }
        };
        Mistakes::one(format!("URL {typed}"), problem, fix)
    })
}

/// The scenario, unless it is mistaken, and its feeders with the files that were given instead of its own.
fn read_scenario(
    file: Option<&Path>,
    feeders: &[String],
    machine: MachineSize,
    mistakes: &mut Gathered,
) -> Option<Scenario> {
    let replaced = read_feeders(feeders, mistakes);
    match scenario::read(file?, machine, &replaced) {
        Ok(scenario) => Some(scenario),
        Err(found) => {
            mistakes.extend(found);
            None
        }
    }
}

/// `--feeder NAME=FILE`: files of feeders in place of the scenario's own.
pub(crate) fn read_feeders(feeders: &[String], mistakes: &mut Gathered) -> BTreeMap<String, PathBuf> {
    let mut replaced = BTreeMap::new();
    for typed in feeders {
        let named = typed.split_once('=').filter(|(name, file)| !name.is_empty() && !file.is_empty());
        // The scenario's own paths begin at its folder, these where the command was given.
        match named.map(|(name, file)| (name, path::absolute(file))) {
            Some((name, Ok(file))) => {
                replaced.insert(name.to_owned(), file);
            }
            _ => {
                let fix = "for example --feeder payloads=people.tsv";
                mistakes.add(format!("--feeder {typed}"), "is not a feeder and its file", fix);
            }
        }
    }
    replaced
}

/// `10ms` or `1s..3s`, in a closed load.
fn read_think(typed: Option<&str>, load: &Load, mistakes: &mut Gathered) -> Pause {
    if let (Some(typed), Load::Open { .. }) = (typed, load) {
        let fix = "leave it out: the rate says when requests are due";
        mistakes.add(format!("--think {typed}"), "belongs to a closed load", fix);
    }
    let fix = "for example --think 1s or --think 1s..3s";
    mistakes.value(("--think", typed), Pause::default(), read_pause, NO_PAUSE, fix)
}

/// The load, with the number of connections that `--connections` gives.
fn read_connections(typed: Option<&str>, load: Option<&str>, machine: MachineSize, mistakes: &mut Gathered) -> Load {
    let read = read_load(load, machine, mistakes);
    let Some(typed) = typed else { return read };
    let place = format!("--connections {typed}");
    let given = match typed.parse::<u32>() {
        Ok(connections) if connections > machine.connections => {
            let fix = format!("use at most {}, or raise the limit of open files (ulimit -n)", machine.connections);
            mistakes.add(place, "are more connections than one process may open", fix);
            return read;
        }
        Ok(connections) if connections > 0 => connections,
        _ => {
            mistakes.add(place, "is not a number of connections", "for example --connections 16");
            return read;
        }
    };
    let told = load.is_some_and(|load| load.starts_with("closed") || load.contains('@'));
    if told {
        mistakes.add(place, "gives the connections a second time beside --load", "leave one of them out");
    }
    match read {
        Load::Closed { .. } | Load::Ramped { .. } => Load::Closed { connections: given },
        Load::Open { schedule, arrivals, .. } => Load::Open { schedule, arrivals, connections: given },
    }
}

fn read_requests(typed: Option<&str>, mistakes: &mut Gathered) -> Option<u64> {
    let read = |typed: &str| typed.parse().ok().filter(|requests: &u64| *requests > 0).map(Some);
    mistakes.value(("--requests", typed), None, read, "is not a number of requests", "for example --requests 1000")
}

/// Half of the processors: the server is usually on the same machine.
fn read_threads(typed: Option<&str>, machine: MachineSize, mistakes: &mut Gathered) -> usize {
    let default = (machine.cpus / 2).max(1) as usize;
    let most = machine.cpus as usize;
    let read = |typed: &str| typed.parse::<usize>().ok().filter(|threads| (1..=most).contains(threads));
    let problem = format!("is not a number of threads from 1 to the machine's {most}");
    mistakes.value(("--threads", typed), default, read, problem, "a thread has a processor of its own")
}

fn read_method(typed: Option<&str>, body: &[u8], mistakes: &mut Gathered) -> String {
    let default = if body.is_empty() { "GET" } else { "POST" };
    let method = typed.unwrap_or(default);
    if !is_token(method) {
        mistakes.add(format!("--method {method}"), "is not a method", "for example --method PUT");
    }
    method.to_owned()
}

/// What is spoken: HTTP/1.1 unless another version is asked for.
fn read_protocol(
    http10: bool,
    http2: bool,
    streams: Option<&str>,
    no_keepalive: bool,
    mistakes: &mut Gathered,
) -> Protocol {
    let read = |typed: &str| typed.parse().ok();
    let fix = "for example --streams 10";
    let count = mistakes.value(("--streams", streams), NonZeroU32::MIN, read, "is not a number of requests", fix);
    if let Some(typed) = streams.filter(|_| !http2) {
        mistakes.add(format!("--streams {typed}"), "belongs to HTTP/2", "add --http2, or use --connections");
    }
    if http2 && http10 {
        mistakes.add("--http1.0".to_owned(), "contradicts --http2", "leave one of them out");
    }
    if http2 && no_keepalive {
        mistakes.add("--no-keepalive".to_owned(), "contradicts --http2, whose connections are kept", "leave it out");
    }
    match (http2, http10) {
        (true, _) => Protocol::Http2 { streams: count },
        (false, true) => Protocol::Http10,
        (false, false) => Protocol::Http11,
    }
}

/// The value of `Host`, where it is given, and the other headers.
fn read_headers(typed: &[String], mistakes: &mut Gathered) -> (Option<String>, BTreeMap<String, String>) {
    let (mut host, mut headers) = (None, BTreeMap::new());
    for header in typed {
        let mut add = |problem: &str, fix: &str| mistakes.add(format!("--header {header:?}"), problem, fix);
        let Some((name, value)) = header.split_once(':').map(|(name, value)| (name, value.trim())) else {
            add("is not a header", "for example --header 'Accept: text/html'");
            continue;
        };
        if !is_token(name) || value.contains(|character: char| character.is_control()) {
            add("is not a header", "for example --header 'Accept: text/html'");
        } else if CARRYING.contains(&name.to_ascii_lowercase().as_str()) {
            add(
                "says how the request is carried, which the engine does",
                "leave it out; see --body and --no-keepalive",
            );
        } else if name.eq_ignore_ascii_case("host") {
            host = Some(value.to_owned());
        } else if headers.keys().any(|known: &String| known.eq_ignore_ascii_case(name)) {
            add("is given twice", "join its values with a comma");
        } else {
            headers.insert(name.to_owned(), value.to_owned());
        }
    }
    (host, headers)
}

#[cfg(test)]
mod tests {
    use stampede_core::Bytes;
    use stampede_scenario::{BodyCheck, HeaderCheck, HeaderRule, Statuses};

    use super::*;

    const MACHINE: MachineSize = MachineSize { cpus: 4, memory: Bytes::from_mib(1024), connections: 1000 };

    fn typed(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    fn url() -> LoadFlags {
        LoadFlags { url: "http://localhost:8080/x?y".to_owned(), ..LoadFlags::default() }
    }

    #[test]
    fn an_address_is_enough() {
        let plan = LoadPlan::read(&url(), Vec::new(), MACHINE).unwrap();
        let LoadPlan {
            url,
            host,
            protocol,
            request,
            logged,
            check,
            load,
            think,
            scenario,
            duration,
            requests,
            timeout,
            threads,
            seed,
            generators,
        } = plan;
        assert!(generators.is_empty() && logged.is_empty());
        assert!(think == Pause::default() && scenario.is_none());
        assert_eq!(protocol, Protocol::Http11);
        assert_eq!((url.port, host.as_str(), request.path.as_str()), (8080, "localhost:8080", "/x?y"));
        assert_eq!((request.method.as_str(), request.headers.len()), ("GET", 0));
        let no_error = Check::new(Statuses::new(vec![200..=399]), Vec::new());
        assert_eq!((load.to_string().as_str(), check), ("closed:16", no_error));
        assert_eq!((duration, requests, timeout), (Duration::from_secs(8), None, Duration::from_secs(30)));
        assert_eq!((threads, seed), (2, 1));
    }

    #[test]
    fn flags_are_read() {
        let flags = LoadFlags {
            connections: typed("64"),
            load: typed("open:5..50/20s"),
            headers: vec!["Accept: a/b".to_owned(), "host:example".to_owned()],
            check: CheckFlags {
                check_status: typed("201,400-499"),
                check_headers: vec!["ETag: a:b".to_owned()],
                check_body_contains: typed("x"),
                check_body_sha256: typed(&"0f".repeat(32)),
                check_json: vec!["/a=1".to_owned(), "/b=c=d".to_owned()],
                ..CheckFlags::default()
            },
            ..url()
        };
        let plan = LoadPlan::read(&flags, b"{}".to_vec(), MACHINE).unwrap();
        assert_eq!((plan.load.to_string().as_str(), plan.duration), ("open:5..50/20s@64", Duration::from_secs(20)));
        assert_eq!((plan.host.as_str(), plan.request.method.as_str()), ("example", "POST"));
        assert_eq!(plan.request.headers, [("Accept".to_owned(), "a/b".to_owned())].into());
        let json = |pointer: &str, value| BodyCheck::Json(pointer.parse().unwrap(), value);
        let check = Check {
            status: Statuses::new(vec![201..=201, 400..=499]),
            headers: vec![HeaderCheck { name: "ETag".to_owned(), rule: HeaderRule::Equals("a:b".to_owned()) }],
            body: vec![
                BodyCheck::Contains(b"x".to_vec()),
                BodyCheck::Sha256([15; 32]),
                json("/a", 1.into()),
                json("/b", "c=d".into()),
            ],
        };
        assert_eq!(plan.check, check);

        let thinking = LoadPlan::read(&LoadFlags { think: typed("1s..3s"), ..url() }, Vec::new(), MACHINE).unwrap();
        assert_eq!(thinking.think, Pause { least: Duration::from_secs(1), most: Duration::from_secs(3) });
        let count = LoadPlan::read(&LoadFlags { requests: typed("7"), ..url() }, Vec::new(), MACHINE).unwrap();
        assert_eq!((count.requests, count.duration), (Some(7), DAY));
        let both = LoadFlags { requests: typed("7"), duration: typed("3s"), connections: typed("2"), ..url() };
        let both = LoadPlan::read(&both, Vec::new(), MACHINE).unwrap();
        assert_eq!((both.duration, both.load.connections()), (Duration::from_secs(3), 2));
    }

    #[test]
    fn all_mistakes_are_told_at_once() {
        let flags = LoadFlags {
            url: "ftp://localhost/".to_owned(),
            connections: typed("0"),
            duration: typed("0"),
            requests: typed("none"),
            load: typed("open:"),
            threads: typed("5"),
            method: typed("GE T"),
            headers: vec!["x".to_owned(), "Content-Length: 1".to_owned(), "a: 1".to_owned(), "A: 2".to_owned()],
            body: None,
            timeout: typed("soon"),
            seed: typed("-1"),
            check: CheckFlags {
                check_status: typed("2xx"),
                check_headers: vec!["ETag".to_owned()],
                check_body_sha256: typed("0f"),
                check_json: vec!["/a".to_owned(), "a=1".to_owned()],
                ..CheckFlags::default()
            },
            think: typed("3s..1s"),
            scenario: Some("/none/scenario.yaml".into()),
            feeders: vec!["people".to_owned()],
            http10: true,
            http2: true,
            streams: typed("0"),
            no_keepalive: true,
            generators: GeneratorsFlag::default(),
        };
        let Mistakes(mistakes) = LoadPlan::read(&flags, Vec::new(), MACHINE).unwrap_err();
        let places: Vec<_> = mistakes.iter().map(|mistake| mistake.place.as_str()).collect();
        assert_eq!(
            places,
            [
                "URL ftp://localhost/",
                "--feeder people",
                "/none/scenario.yaml",
                "--load open:",
                "--connections 0",
                "--requests none",
                "--duration 0",
                "--threads 5",
                "--timeout soon",
                "--seed -1",
                "--check-body-sha256 0f",
                "--check-json \"/a\"",
                "--check-json \"a=1\"",
                "--check-status 2xx",
                "--check-header \"ETag\"",
                "--think 3s..1s",
                "--method GE T",
                "--header \"x\"",
                "--header \"Content-Length: 1\"",
                "--header \"A: 2\"",
                "--streams 0",
                "--http1.0",
                "--no-keepalive",
            ]
        );
        for (connections, load) in [("2000", None), ("2", Some("closed:3")), ("2", Some("open:5@6"))] {
            let flags = LoadFlags { connections: typed(connections), load: load.map(str::to_owned), ..url() };
            assert_eq!(LoadPlan::read(&flags, Vec::new(), MACHINE).unwrap_err().0.len(), 1, "{connections} {load:?}");
        }
    }
}
