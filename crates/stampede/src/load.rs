//! `stampede load`: just the load engine, on an address.

pub(crate) mod args;
mod live;
pub(crate) mod samples;
mod shared;
pub(crate) mod timeseries;

use std::fs;
use std::io::{self, IsTerminal};
use std::net::{IpAddr, SocketAddr};
use std::panic::resume_unwind;
use std::path::Path;
use std::time::Duration;

use stampede_core::{Bytes, Carrier, CpuLayout, Endpoint, ErrorClass};
use stampede_load::{
    LoadExchange, LoadResult, LoadSpec, Location, RedirectRules, RunningLoad, TargetError, TlsClient, TlsIdentity,
    TlsSpec, Trust, find_target, speaks_fastcgi,
};
use stampede_plan::{HttpUrl, LoadPlan, MachineSize};
use stampede_report::load::{self as page, LoadView};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

use crate::args::QuietArgs;
use crate::exit::{Exit, Failure};
use crate::kubernetes::PodGenerators;
use crate::load::args::LoadArgs;
use crate::load::live::Live;
use crate::load::samples::{SampleSink, Sampled};
use crate::load::shared::SharedDrive;
use crate::load::timeseries::Timeseries;
use crate::open_files::{OWN_FILES, raise_open_files};
use crate::signals::Signals;
use crate::{Outcome, destination, screen};

/// Longest wait for answers that are still out when the window closes.
const DRAIN: Duration = Duration::from_secs(5);
/// How often it is seen whether a second is to be told. Where neither that nor progress is asked for, nothing wakes this thread but
/// the end: its processor may be the generator's.
const SECONDS: Duration = Duration::from_millis(200);

pub(crate) fn run(args: Box<LoadArgs>) -> Outcome {
    let LoadArgs {
        flags,
        backend,
        cacert,
        insecure,
        cert,
        key,
        server_name,
        resolve,
        source,
        connect,
        unix,
        allow_remote,
        follow_redirects,
        json,
        timeseries,
        samples,
        hdr,
        pods,
        quiet,
    } = *args;
    let QuietArgs { quiet } = quiet;
    let available = stampede_platforms::available_cpus();
    let machine = MachineSize {
        cpus: u32::try_from(available.len()).unwrap_or(u32::MAX),
        memory: Bytes::new(stampede_platforms::memory().unwrap_or(u64::MAX)),
        connections: raise_open_files().saturating_sub(OWN_FILES),
    };
    let (body, unread) = read_body(flags.body.as_deref());
    let plan = LoadPlan::read(&flags, body, machine).map_err(Failure::usage);
    let (plan, ()) = Failure::both(plan, unread)?;
    let trust = read_trust(insecure, cacert.as_deref())?;
    let client = TlsClient { identity: read_identity(cert.as_deref(), key.as_deref())?, ..TlsClient::default() };
    for (flag, given) in [("--cert", cert.is_some()), ("--server-name", server_name.is_some())] {
        if given && !plan.url.encrypted {
            return Err(Failure::usage(format!("{flag} belongs to TLS; give an https:// URL, or leave it out")));
        }
    }
    for (flag, path) in [("--json", json.as_deref()), ("--hdr", hdr.as_deref())] {
        if let Some(path) = path.filter(|path| !destination::is_stdout(path)) {
            destination::writable(path)
                .map_err(|error| Failure::usage(format!("{flag} {} cannot be written: {error}", path.display())))?;
        }
    }
    let told = [&json, &timeseries, &hdr].into_iter().flatten().filter(|path| destination::is_stdout(path)).count();
    if told > 1 {
        return Err(Failure::usage("only one of --json, --timeseries and --hdr can be written to stdout"));
    }
    let mut timeseries = timeseries.as_deref().map(Timeseries::create).transpose()?;
    let sink = samples.as_deref().map(SampleSink::create).transpose()?;
    let LoadPlan {
        url,
        host,
        protocol,
        request,
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
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let pods = runtime.block_on(PodGenerators::find(&generators, threads, pods))?;
    let is_named = unix.is_none() && resolve.is_empty() && connect.is_empty();
    let service = match pods.as_ref().filter(|_| is_named) {
        Some(pods) => runtime.block_on(pods.service(&url))?,
        None => None,
    };
    let targets = match (unix, &service) {
        (Some(path), _) => vec![Endpoint::Unix(path)],
        (None, Some(service)) => {
            let places: Vec<String> = service.targets.iter().map(SocketAddr::to_string).collect();
            if !quiet {
                screen::note(&format!("{} pods of {}: {}", places.len(), url.host, places.join(", ")));
            }
            self::targets(&url, &places, allow_remote)?
        }
        (None, None) => self::targets(&url, &resolved(&url, &resolve, connect)?, allow_remote)?,
    };
    let places = targets.clone();
    let follow = follow_redirects.then(|| RedirectRules {
        resends_bodies: true,
        trust: trust.clone(),
        ..redirect_rules(&url, allow_remote)
    });
    let loads = match &scenario {
        None => vec![load.clone()],
        Some(scenario) => scenario.crowds.iter().map(|crowd| crowd.load.clone()).collect(),
    };
    // Each generator of this machine has as many threads.
    let is_here = |carrier: &&Carrier| matches!(carrier, Carrier::Local | Carrier::Exec(_));
    let here = generators.iter().filter(is_here).count();
    let cpus = lay_out(&available, threads * here.max(1));
    let spec = LoadSpec {
        targets,
        protocol,
        tls: url.encrypted.then(|| TlsSpec {
            server_name: server_name.unwrap_or_else(|| url.host.clone()),
            trust,
            client,
        }),
        host,
        exchanges: vec![LoadExchange::new(request, check)],
        load,
        think,
        scenario,
        warm_up: Duration::ZERO,
        duration,
        requests,
        drain: DRAIN.min(timeout),
        timeout: Some(timeout),
        keep_alive: !flags.no_keepalive,
        seed,
        shard: None,
        source,
        slices: timeseries.is_some(),
        backend: backend.backend.find(&cpus, quiet),
        cpus: cpus.generator,
    };
    let driven = runtime.block_on(async {
        if generators.is_empty() {
            let (result, interrupted, sampled) = drive(spec, quiet, timeseries.as_mut(), sink, follow).await?;
            return Ok((result, Vec::new(), interrupted, sampled));
        }
        let avoid = service.map(|service| service.selector).unwrap_or_default();
        let shared = SharedDrive {
            carriers: &generators,
            pods: pods.as_ref().map(|pods| (pods, avoid)),
            quiet,
            live: live_line(quiet),
            timeseries: timeseries.as_mut(),
        };
        let (result, generators, interrupted) = Box::pin(shared::drive(shared, spec)).await?;
        Ok((result, generators, interrupted, None))
    });
    let (result, generators, interrupted, sampled) = driven?;
    let samples = sampled.as_ref().map(|sampled| sampled.count);
    let view = LoadView { url: &flags.url, loads: &loads, result: &result, generators: &generators, samples };
    for (path, text) in [(json.as_deref(), page::json(&view)), (hdr.as_deref(), page::hdr(&result.total.response))] {
        if let Some(path) = path {
            destination::put_bytes(path, text.as_bytes())?;
        }
    }
    if told == 0 {
        screen::print(&page::terminal(&view))?;
    }
    for [warning, advice] in page::advice(&result, samples) {
        screen::warning(&warning);
        screen::note(&format!("  {advice}"));
    }
    if result.total.requests.ok == 0
        && let Some(place) = places.iter().find(|target| speaks_fastcgi(target))
    {
        screen::warning(&format!("{place} speaks FastCGI, not HTTP: it is PHP-FPM, or a server like it"));
        screen::note("  send the load to the web server before it, or compare it with stampede compare");
    }
    if let Some(failure) = sampled.and_then(|sampled| sampled.failure) {
        return Err(Failure::missing(failure));
    }
    let exit = exit_of(&result, interrupted);
    let faults: Vec<&String> = generators.iter().flat_map(|generator| &generator.faults).collect();
    faults.iter().for_each(|fault| screen::warning(fault));
    Ok(if exit == Exit::Done && !faults.is_empty() { Exit::Invalid } else { exit })
}

/// The addresses to connect to: the URL's host, or those that take its place.
pub(crate) fn targets(url: &HttpUrl, connect: &[String], allow_remote: bool) -> Result<Vec<Endpoint>, Failure> {
    let find = |host: &str, port| {
        find_target(host, port, allow_remote).map_err(|error| match error {
            TargetError::Unknown { .. } => Failure::missing(error),
            TargetError::Far { .. } => Failure::usage(error),
        })
    };
    if connect.is_empty() {
        return Ok(vec![find(&url.host, url.port)?]);
    }
    let places = connect.iter().map(|typed| {
        let place = typed.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
        let (host, port) = place.ok_or_else(|| {
            Failure::usage(format!("--connect {typed} is not a place such as 127.0.0.1:8081 or [::1]:8081"))
        })?;
        find(host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host), port)
    });
    places.collect()
}

/// The places to connect to: those of `--connect`, or the addresses that `--resolve` gives the URL's host and port.
fn resolved(url: &HttpUrl, resolve: &[String], connect: Vec<String>) -> Result<Vec<String>, Failure> {
    if resolve.is_empty() {
        return Ok(connect);
    }
    let mut found = Vec::new();
    for typed in resolve {
        let parts = typed.split_once(':').and_then(|(host, rest)| Some((host, rest.split_once(':')?)));
        let address = parts.map(|(host, (port, address))| (host, port.parse::<u16>(), address));
        let Some((host, Ok(port), address)) =
            address.filter(|(host, _, address)| !host.is_empty() && !address.is_empty())
        else {
            let fix = "for example --resolve example.org:443:127.0.0.1";
            return Err(Failure::usage(format!("--resolve {typed} is not HOST:PORT:ADDRESS; {fix}")));
        };
        // As with curl, what is for another place is of no use here, and no mistake.
        if host.eq_ignore_ascii_case(&url.host) && port == url.port {
            let bare = address.strip_prefix('[').and_then(|address| address.strip_suffix(']')).unwrap_or(address);
            let Ok(address) = bare.parse::<IpAddr>() else {
                let fix = "give one, such as 127.0.0.1 or [::1]";
                return Err(Failure::usage(format!("--resolve {typed} ends with no address; {fix}")));
            };
            found.push(SocketAddr::from((address, port)).to_string());
        }
    }
    if found.is_empty() {
        let place = format!("{}:{}", url.host, url.port);
        return Err(Failure::usage(format!(
            "--resolve names other places than the URL's; for example --resolve {place}:127.0.0.1"
        )));
    }
    Ok(found)
}

/// Processors for so many threads: the last ones, since servers that are pinned, and much of the kernel's work, are on the
/// first.
pub(crate) fn lay_out(available: &[u32], threads: usize) -> CpuLayout {
    let (others, last) = available.split_at(available.len().saturating_sub(threads));
    let server = if others.is_empty() { last } else { others };
    CpuLayout { server: server.to_vec(), generator: last.iter().rev().copied().collect() }
}

/// Whose certificates are trusted.
fn read_trust(insecure: bool, cacert: Option<&Path>) -> Result<Trust, Failure> {
    match cacert {
        _ if insecure => Ok(Trust::Anyone),
        None => Ok(Trust::System),
        Some(path) => fs::read(path)
            .map(Trust::Pem)
            .map_err(|error| Failure::usage(format!("--cacert {} cannot be read: {error}", path.display()))),
    }
}

/// What the client shows of itself.
fn read_identity(cert: Option<&Path>, key: Option<&Path>) -> Result<Option<TlsIdentity>, Failure> {
    let Some(cert) = cert else { return Ok(None) };
    let read = |flag: &str, path: &Path| {
        fs::read(path).map_err(|error| Failure::usage(format!("{flag} {} cannot be read: {error}", path.display())))
    };
    let chain = read("--cert", cert)?;
    let key = key.map_or_else(|| Ok(chain.clone()), |path| read("--key", path))?;
    Ok(Some(TlsIdentity { chain, key }))
}

/// The bytes of a body, or of the file after `@`, and what stood in the way.
fn read_body(typed: Option<&str>) -> (Vec<u8>, Result<(), Failure>) {
    match typed.map(|typed| (typed, typed.strip_prefix('@'))) {
        None => (Vec::new(), Ok(())),
        Some((typed, None)) => (typed.as_bytes().to_vec(), Ok(())),
        Some((typed, Some(path))) => match fs::read(path) {
            Ok(bytes) => (bytes, Ok(())),
            Err(error) => (Vec::new(), Err(Failure::usage(format!("--body {typed} cannot be read: {error}")))),
        },
    }
}

/// Drives the load to its end, or to the first signal; the second value says which. The third one is what became of its requests
/// where they have a sink.
pub(crate) async fn drive(
    spec: LoadSpec,
    quiet: bool,
    mut timeseries: Option<&mut Timeseries>,
    sink: Option<SampleSink>,
    follow: Option<RedirectRules>,
) -> Result<(LoadResult, bool, Option<Sampled>), Failure> {
    let mut signals = Signals::new()?;
    let (load, reader) = match (follow, &sink) {
        (Some(rules), sink) => stampede_load::start_following(spec, rules, sink.is_some()).map_err(Failure::missing)?,
        (None, None) => (stampede_load::start(spec).map_err(Failure::missing)?, None),
        (None, Some(_)) => {
            let (load, reader) = stampede_load::start_sampled(spec).map_err(Failure::missing)?;
            (load, Some(reader))
        }
    };
    let sampling = match sink.zip(reader) {
        Some((sink, reader)) => Some(sink.follow(reader, load.step_names())?),
        None => None,
    };
    let interrupted = tokio::select! {
        () = signals.any() => {
            load.abort();
            true
        }
        watched = watch(&load, live_line(quiet), timeseries.as_deref_mut()) => {
            watched?;
            false
        }
    };
    let result = load.finish();
    if let Some(timeseries) = timeseries {
        timeseries.write(&result.slices)?;
    }
    let sampled = sampling.map(|sampling| sampling.join().unwrap_or_else(|panic| resume_unwind(panic)));
    Ok((result, interrupted, sampled))
}

/// How redirects of a URL are followed: a body is not sent again, and any certificate is taken.
pub(crate) fn redirect_rules(url: &HttpUrl, allow_remote: bool) -> RedirectRules {
    let HttpUrl { encrypted, host, port, authority, path } = url.clone();
    let url = Location { encrypted, host, port, authority, path };
    RedirectRules { url, allow_remote, resends_bodies: false, trust: Trust::Anyone, by_proxy: false }
}

/// The line that says how far it is, where somebody sees it.
pub(crate) fn live_line(quiet: bool) -> Live {
    Live::new(!quiet && io::stderr().is_terminal())
}

async fn watch(load: &RunningLoad, mut live: Live, mut timeseries: Option<&mut Timeseries>) -> Result<(), Failure> {
    let end = load.end().and_then(|end| Receiver::from_owned_fd(end.into()));
    let mut end = end.map_err(Failure::missing)?;
    loop {
        let tick = if timeseries.is_some() { Some(SECONDS) } else { live.pause() };
        tokio::select! {
            _ = end.read_u8() => break,
            () = tokio::time::sleep(tick.unwrap_or_default()), if tick.is_some() => {}
        }
        if let Some(timeseries) = &mut timeseries {
            timeseries.write(&load.slices())?;
        }
        live.show(|| load.progress());
    }
    live.end();
    Ok(())
}

/// How a load ends.
pub(crate) fn exit_of(result: &LoadResult, interrupted: bool) -> Exit {
    // What could not be written says nothing about the server, but the load was not the one that was asked for.
    let spoils = |class: &ErrorClass| class.is_wrong() || *class == ErrorClass::Unwritable;
    let is_spoilt = result.total.errors.iter().any(|(class, count)| *count > 0 && spoils(class));
    let sent = result.total.requests.sent;
    let none_left = sent > 0 && result.total.errors.get(&ErrorClass::Unwritable) == Some(&sent);
    if interrupted {
        Exit::Interrupted
    } else if result.total.requests.ok == 0 && !none_left {
        Exit::TrialFailed
    } else if result.saturation.is_some() || is_spoilt {
        Exit::Invalid
    } else {
        Exit::Done
    }
}

#[cfg(test)]
mod tests {
    use stampede_testkit::samples::load_result;

    use super::*;

    #[test]
    fn wrong_answers_and_requests_that_could_not_be_written_end_with_4() {
        let exit = |failed: u64, class: ErrorClass| {
            let mut result = load_result();
            result.total.requests.ok -= failed;
            result.total.requests.failed = failed;
            result.total.errors.insert(class, failed);
            exit_of(&result, false)
        };
        let all = load_result().total.requests.sent;
        for class in ErrorClass::ALL {
            let few = if class.is_wrong() || class == ErrorClass::Unwritable { Exit::Invalid } else { Exit::Done };
            assert_eq!(exit(1, class), few, "{class:?}");
            // A server that was sent nothing has not failed.
            let whole = if class == ErrorClass::Unwritable { Exit::Invalid } else { Exit::TrialFailed };
            assert_eq!(exit(all, class), whole, "{class:?}");
        }
    }

    #[test]
    fn connections_that_change_are_told_as_they_were_asked_for() {
        let result = load_result();
        for asked in ["closed:1..5/400ms,5..0/400ms", "closed:2", "open:50..350/12s"] {
            let load = asked.parse().unwrap();
            let view = LoadView {
                url: "http://127.0.0.1/",
                loads: std::slice::from_ref(&load),
                result: &result,
                generators: &[],
                samples: None,
            };
            let told: serde_json::Value = serde_json::from_str(&page::json(&view)).unwrap();
            assert_eq!(told["load"], asked);
        }
    }

    #[test]
    fn a_load_without_an_answer_is_told_with_its_cause_and_failed() {
        let mut result = load_result();
        (result.total.requests.ok, result.total.requests.failed) = (0, 4);
        result.total.errors = [(ErrorClass::TimedOut, 4)].into();
        let load = "closed:2".parse().unwrap();
        let view = LoadView {
            url: "http://127.0.0.1/",
            loads: std::slice::from_ref(&load),
            result: &result,
            generators: &[],
            samples: None,
        };
        let text = page::terminal(&view);
        assert!(text.contains("4 x timed out"), "{text}");
        assert_eq!(exit_of(&result, false), Exit::TrialFailed);
    }
}
