//! `stampede load`: just the load engine, on an address.

pub(crate) mod args;

use std::fs::{self, File};
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

use stampede_conduct::{Bench, Host};
use stampede_core::{Carrier, Endpoint, Exchange, Request};
use stampede_drive::{
    SampleSink, SharedDrive, Timeseries, drive, drive_shared, exit_of, lay_out, redirect_rules, resolved, targets,
};
use stampede_load::{LoadExchange, LoadSpec, RedirectRules, TlsClient, TlsIdentity, TlsSpec, Trust, speaks_fastcgi};
use stampede_plan::{LoadFlags, LoadPlan, MachineSize};
use stampede_report::load::{self as page, LoadView};

use crate::exit::{Exit, Failure};
use crate::flags::QuietArgs;
use crate::init::args::LogArgs;
use crate::init::traffic::Traffic;
use crate::kubernetes::pod_generators;
use crate::load::args::LoadArgs;
use crate::{Outcome, destination, screen};

/// Longest wait for answers that are still out when the window closes.
const DRAIN: Duration = Duration::from_secs(5);
pub(crate) fn run(args: Box<LoadArgs>, this: &dyn Host) -> Outcome {
    let LoadArgs {
        mut flags,
        log,
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
    let bench = Bench { host: this, no_wait: false, quiet };
    let machine = MachineSize { cpus: u32::try_from(this.cpus().len()).unwrap_or(u32::MAX), ..this.size() };
    let logged = of_log(&log, &mut flags)?;
    let (body, unread) = read_body(flags.body.as_deref());
    let plan = LoadPlan::read(&flags, body, machine).map_err(Failure::usage);
    let (plan, ()) = Failure::both(plan, unread)?;
    if logged.is_some() && plan.url.path != "/" {
        let path = &plan.url.path;
        return Err(Failure::usage(format!("URL path {path} stands beside the paths of --access-log; leave it out")));
    }
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
    let mut timeseries = timeseries.as_deref().map(seconds_to).transpose()?;
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
    let pods = runtime.block_on(pod_generators(&generators, threads, pods))?;
    let is_named = unix.is_none() && resolve.is_empty() && connect.is_empty();
    let service = match pods.as_ref().filter(|_| is_named) {
        Some(pods) => runtime.block_on(pods.service(&url))?,
        None => None,
    };
    let targets = match (unix, &service) {
        (Some(path), _) => vec![Endpoint::Unix(path)],
        (None, Some(service)) => {
            let places: Vec<String> = service.targets.iter().map(SocketAddr::to_string).collect();
            bench.note(&format!("{} pods of {}: {}", places.len(), url.host, places.join(", ")));
            targets(&url, &places, allow_remote)?
        }
        (None, None) => targets(&url, &resolved(&url, &resolve, connect)?, allow_remote)?,
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
    let cpus = lay_out(&this.cpus(), threads * here.max(1));
    let spec = LoadSpec {
        targets,
        protocol,
        tls: url.encrypted.then(|| TlsSpec {
            server_name: server_name.unwrap_or_else(|| url.host.clone()),
            trust,
            client,
        }),
        host,
        exchanges: mix(logged, LoadExchange::new(request, check)),
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
            let (result, interrupted, sampled) = drive(spec, bench, timeseries.as_mut(), sink, follow).await?;
            return Ok((result, Vec::new(), interrupted, sampled));
        }
        let avoid = service.map(|service| service.selector).unwrap_or_default();
        let shared = SharedDrive {
            carriers: &generators,
            pods: pods.as_ref().map(|pods| (pods, avoid)),
            bench,
            timeseries: timeseries.as_mut(),
        };
        let (result, generators, interrupted) = Box::pin(drive_shared(shared, spec)).await?;
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

/// The requests of an access log. One that is replayed is the load.
fn of_log(log: &LogArgs, flags: &mut LoadFlags) -> Result<Option<Traffic>, Failure> {
    let traffic = Traffic::of_log(log, None)?;
    if let Some(Traffic { notes, load, .. }) = &traffic {
        notes.iter().for_each(|note| screen::note(note));
        if let Some(load) = load {
            flags.load = Some(load.to_string());
        }
    }
    Ok(traffic)
}

/// The requests of a log with the headers and the check of the one that flags describe, each as often as it was in there; that one
/// where there is no log.
fn mix(logged: Option<Traffic>, flagged: LoadExchange) -> Vec<LoadExchange> {
    let Some(Traffic { exchanges, .. }) = logged else { return vec![flagged] };
    let of = |Exchange { request, weight, .. }: Exchange| LoadExchange {
        request: Request { headers: flagged.request.headers.clone(), ..request },
        weight: NonZeroU32::new(weight).unwrap_or(NonZeroU32::MIN),
        ..flagged.clone()
    };
    exchanges.into_iter().map(of).collect()
}

/// A file for the seconds of a load, emptied, or stdout for `-`.
fn seconds_to(path: &Path) -> Result<Timeseries, Failure> {
    if destination::is_stdout(path) {
        return Ok(Timeseries::new(Box::new(io::stdout())));
    }
    let file = File::create(path)
        .map_err(|error| Failure::usage(format!("--timeseries {} cannot be written: {error}", path.display())))?;
    Ok(Timeseries::new(Box::new(file)))
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

#[cfg(test)]
mod tests {
    use stampede_core::ErrorClass;
    use stampede_testkit::samples::load_result;

    use super::*;

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
