//! CPU time of the gateway for a request beside that of nginx, which passes the same requests on to the same server: `make
//! bench-gateway`, into `docs/bench-gateway.md`.

mod nginx;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use stampede_core::{Bytes, Cpus, Endpoint, Limit, Load, Protocol, Request};
use stampede_gateway::{BODY_PAUSE, Gateway, InstanceOrder, Setup};
use stampede_load::{Backend, Check, LoadExchange, LoadSpec, Pause, RunningLoad, Statuses, start};
use stampede_scale::{CloudRunParameters, CpuAllocation, Policy, QueueLimits, ServiceSettings};

use crate::nginx::{Nginx, Role};

const ROUNDS: usize = 7;
const WINDOW: Duration = Duration::from_secs(2);
const WARM_UP: Duration = Duration::from_millis(300);
/// The gateway may cost so many times as much as nginx.
const MOST: f64 = 1.3;

/// What clients speak, on how many connections, and how many bytes each request has.
struct Traffic {
    protocol: Protocol,
    connections: u32,
    body: usize,
}

const HTTP2: Protocol = Protocol::Http2 { streams: NonZeroU32::MIN };

const TRAFFIC: [Traffic; 5] = [
    Traffic { protocol: Protocol::Http11, connections: 1, body: 0 },
    Traffic { protocol: Protocol::Http11, connections: 16, body: 0 },
    Traffic { protocol: Protocol::Http11, connections: 64, body: 0 },
    Traffic { protocol: Protocol::Http11, connections: 16, body: 1000 },
    Traffic { protocol: HTTP2, connections: 16, body: 0 },
];

/// What one of the two did in a window.
struct Cost {
    /// Microseconds of CPU time a request.
    us: f64,
    /// Requests a second.
    rate: f64,
}

fn main() -> io::Result<()> {
    let allowed = sched_getaffinity(None)?;
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
    let (Some(&between), Some(&ends), 2..) = (cpus.first(), cpus.last(), cpus.len()) else {
        return Err(io::Error::other("needs two processors: one for clients and server, one for what is between"));
    };
    pin(ends)?;
    let Some(server) = Nginx::start(Role::Server)? else {
        return writeln!(io::stderr(), "SKIP bench-gateway: needs nginx");
    };
    // Both proxies, and later the gateway's thread, are where this thread is.
    pin(between)?;
    let proxy = |http2| Nginx::start(Role::Proxy { to: server.address, http2 });
    let (Some(http1), Some(http2)) = (proxy(false)?, proxy(true)?) else {
        return Err(io::Error::other("nginx went away"));
    };
    let mut text = head(between, ends);
    for traffic in TRAFFIC {
        let nginx = if traffic.protocol == HTTP2 { &http2 } else { &http1 };
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            // Who comes first changes with every round.
            if round % 2 == 0 {
                ours.push(through_gateway(&traffic, server.address, ends)?);
            }
            theirs.push(through_nginx(&traffic, nginx, ends)?);
            if round % 2 == 1 {
                ours.push(through_gateway(&traffic, server.address, ends)?);
            }
        }
        let line = line(&traffic, &ours, &theirs);
        write!(io::stderr(), "{line}")?;
        text.push_str(&line);
    }
    if env::args().any(|argument| argument == "--document") {
        return fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bench-gateway.md"), text);
    }
    io::stdout().write_all(text.as_bytes())
}

fn pin(cpu: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

fn head(between: usize, ends: usize) -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let load = read("/proc/loadavg").split_whitespace().take(3).collect::<Vec<_>>().join(" ");
    format!(
        "# What the gateway costs\n\n\
         Made by `make bench-gateway`: closed loads through the gateway of `stampede scale` and through nginx, by turns, to one server (nginx\n\
         with a fixed answer of 13 bytes) on kept connections. CPU time for each request of what is between: of the gateway's thread, and of\n\
         nginx's only process. Medians of {ROUNDS} rounds of {WINDOW:?}, and in brackets the least and the most; ratios within a round.\n\n\
         ```\nprocessor  {}\nkernel     Linux {}\nproxy      {}\nload       {load} when it began (1, 5 and 15 minutes)\n\
         pinned     gateway and nginx to processor {between}, clients and server to processor {ends}\n```\n\n\
         | clients | gateway us | nginx us | ratio | wanted | requests/s |\n|---|---:|---:|---:|---|---:|\n",
        model.map_or("unknown", |(_, model)| model.trim()),
        read("/proc/sys/kernel/osrelease").trim(),
        nginx::version(),
    )
}

fn line(Traffic { protocol, connections, body }: &Traffic, ours: &[Cost], theirs: &[Cost]) -> String {
    let spoken = if *protocol == HTTP2 { "HTTP/2" } else { "HTTP/1.1" };
    let sent = if *body > 0 { format!(", {body} bytes each") } else { String::new() };
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours.us / theirs.us).collect();
    let us = |costs: &[Cost]| costs.iter().map(|cost| cost.us).collect::<Vec<_>>();
    let rate = |costs: &[Cost]| middle(&costs.iter().map(|cost| cost.rate).collect::<Vec<_>>());
    let met = if middle(&ratios) <= MOST { "met" } else { "missed" };
    format!(
        "| {connections} on {spoken}{sent} | {} | {} | {} | at most {MOST}: {met} | {:.0}, nginx {:.0} |\n",
        spread(&us(ours), 1),
        spread(&us(theirs), 1),
        spread(&ratios, 2),
        rate(ours),
        rate(theirs)
    )
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

fn middle(values: &[f64]) -> f64 {
    stampede_stats::median(values).unwrap_or(f64::NAN)
}

fn spread(values: &[f64], digits: usize) -> String {
    let values = sorted(values);
    let at = |place: Option<&f64>| place.copied().unwrap_or(f64::NAN);
    format!("{:.digits$} ({:.digits$}..{:.digits$})", middle(&values), at(values.first()), at(values.last()))
}

/// Through a gateway with one instance, which is the server.
fn through_gateway(traffic: &Traffic, server: SocketAddr, clients: usize) -> io::Result<Cost> {
    let service = ServiceSettings {
        cpus: Cpus::from_millis(1000),
        memory: Bytes::from_mib(512),
        concurrency: 80,
        min_instances: 1,
        max_instances: 1,
        cpu_allocation: CpuAllocation::DuringRequests,
        start_up_boost: false,
        request_timeout: ServiceSettings::REQUEST_TIMEOUT,
    };
    let setup = Setup {
        service,
        policy: Policy::CloudRun(CloudRunParameters::default()),
        queue: QueueLimits { length: Limit::Unlimited, wait: Duration::from_secs(10) },
        granularity: Duration::from_millis(100),
        body_pause: BODY_PAUSE,
        cpu_seconds: Box::new(|| 0.0),
    };
    let (gateway, mut orders) = Gateway::open(setup).map_err(io::Error::other)?;
    match orders.blocking_recv() {
        Some(InstanceOrder::Start(instance)) => gateway.ready(instance, server),
        other => return Err(io::Error::other(format!("the gateway asked for {other:?} first"))),
    }
    let load = spec(traffic, gateway.address(), clients);
    let running = gateway
        .count(|| start(load), |load| from_now(load.opens_at())..from_now(load.closes_at()))
        .map_err(io::Error::other)?;
    let rate = answers(running)? / WINDOW.as_secs_f64();
    let account = gateway.close().ok_or_else(|| io::Error::other("the gateway failed"))?;
    Ok(Cost { us: account.cpu.as_secs_f64() * 1e6 / account.arrived.max(1) as f64, rate })
}

/// Through nginx, whose CPU time is read at the edges of the window.
fn through_nginx(traffic: &Traffic, nginx: &Nginx, clients: usize) -> io::Result<Cost> {
    let running = start(spec(traffic, nginx.address, clients)).map_err(io::Error::other)?;
    let at = |edge: Instant| {
        thread::sleep(edge.saturating_duration_since(Instant::now()));
        nginx.cpu()
    };
    let before = at(running.opens_at())?;
    let used = at(running.closes_at())?.saturating_sub(before);
    let answers = answers(running)?;
    Ok(Cost { us: used.as_secs_f64() * 1e6 / answers.max(1.0), rate: answers / WINDOW.as_secs_f64() })
}

fn answers(running: RunningLoad) -> io::Result<f64> {
    let result = running.finish();
    match &result.first_failure {
        Some(failure) => Err(io::Error::other(format!("a request failed: {failure:?}"))),
        None => Ok(result.total.requests.ok as f64),
    }
}

fn spec(Traffic { protocol, connections, body }: &Traffic, to: SocketAddr, clients: usize) -> LoadSpec {
    let method = if *body > 0 { "POST" } else { "GET" };
    let request =
        Request { method: method.to_owned(), path: "/".to_owned(), headers: BTreeMap::new(), body: vec![b'x'; *body] };
    LoadSpec {
        targets: vec![Endpoint::Tcp(to)],
        protocol: *protocol,
        tls: None,
        host: "localhost".to_owned(),
        exchanges: vec![LoadExchange::new(request, Check::new(Statuses::only(200), Vec::new()))],
        load: Load::Closed { connections: *connections },
        think: Pause::default(),
        scenario: None,
        warm_up: WARM_UP,
        duration: WINDOW,
        requests: None,
        drain: Duration::from_secs(5),
        timeout: None,
        keep_alive: true,
        seed: 1,
        shard: None,
        source: None,
        slices: false,
        cpus: vec![clients as u32],
        backend: Backend::Epoll,
    }
}

fn from_now(at: Instant) -> Duration {
    at.saturating_duration_since(Instant::now())
}
