//! `stampede load`: just the load engine, on an address.

pub(crate) mod args;
pub(crate) mod target;
pub(crate) mod timeseries;

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use stampede_core::{Bytes, CpuLayout, ErrorClass};
use stampede_load::{LoadExchange, LoadResult, LoadSpec, RunningLoad, Saturation, TlsSpec, Trust};
use stampede_plan::{LoadPlan, MachineSize};
use stampede_report::load::{self as page, LoadView};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

use crate::args::QuietArgs;
use crate::exit::{Exit, Failure};
use crate::load::args::LoadArgs;
use crate::load::timeseries::Timeseries;
use crate::open_files::{OWN_FILES, raise_open_files};
use crate::signals::Signals;
use crate::{Outcome, destination, screen};

/// Longest wait for answers that are still out when the window closes.
const DRAIN: Duration = Duration::from_secs(5);
/// How often progress is told, and how often it is seen whether a second is to be told. Where neither is asked for, nothing
/// wakes this thread but the end: its processor may be the generator's.
const LIVE: Duration = Duration::from_millis(500);
const SECONDS: Duration = Duration::from_millis(200);

pub(crate) fn run(args: Box<LoadArgs>) -> Outcome {
    let LoadArgs { flags, backend, cacert, insecure, connect, unix, allow_remote, json, timeseries, hdr, quiet } =
        *args;
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
    } = plan;
    let targets = target::find(&url, unix, &connect, allow_remote)?;
    let loads = match &scenario {
        None => vec![load.clone()],
        Some(scenario) => scenario.crowds.iter().map(|crowd| crowd.load.clone()).collect(),
    };
    let cpus = lay_out(&available, threads);
    let spec = LoadSpec {
        targets,
        protocol,
        tls: url.encrypted.then(|| TlsSpec { server_name: url.host.clone(), trust }),
        host,
        exchanges: vec![LoadExchange { request, check }],
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
        slices: timeseries.is_some(),
        backend: backend.backend.find(&cpus, quiet),
        cpus: cpus.generator,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let (result, interrupted) = runtime.block_on(drive(spec, quiet, timeseries.as_mut()))?;
    let view = LoadView { url: &flags.url, loads: &loads, result: &result };
    for (path, text) in [(json.as_deref(), page::json(&view)), (hdr.as_deref(), page::hdr(&result.total.response))] {
        if let Some(path) = path {
            destination::put_bytes(path, text.as_bytes())?;
        }
    }
    if told == 0 {
        screen::print(&page::terminal(&view))?;
    }
    Ok(conclude(&result, interrupted))
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

/// Drives the load to its end, or to the first signal; the second value says which.
pub(crate) async fn drive(
    spec: LoadSpec,
    quiet: bool,
    mut timeseries: Option<&mut Timeseries>,
) -> Result<(LoadResult, bool), Failure> {
    let mut signals = Signals::new()?;
    let load = stampede_load::start(spec).map_err(Failure::missing)?;
    let interrupted = tokio::select! {
        () = signals.any() => {
            load.abort();
            true
        }
        watched = watch(&load, !quiet && io::stderr().is_terminal(), timeseries.as_deref_mut()) => {
            watched?;
            false
        }
    };
    let result = load.finish();
    if let Some(timeseries) = timeseries {
        timeseries.write(&result.slices)?;
    }
    Ok((result, interrupted))
}

async fn watch(load: &RunningLoad, live: bool, mut timeseries: Option<&mut Timeseries>) -> Result<(), Failure> {
    let end = load.end().and_then(|end| Receiver::from_owned_fd(end.into()));
    let mut end = end.map_err(Failure::missing)?;
    let started = Instant::now();
    let mut told = (started, 0);
    loop {
        let tick = if timeseries.is_some() { Some(SECONDS) } else { live.then_some(LIVE) };
        tokio::select! {
            _ = end.read_u8() => break,
            () = tokio::time::sleep(tick.unwrap_or_default()), if tick.is_some() => {}
        }
        if let Some(timeseries) = &mut timeseries {
            timeseries.write(&load.slices())?;
        }
        let now = Instant::now();
        let (since, before) = told;
        if live && now - since >= LIVE {
            let progress = load.progress();
            let rate = (progress.ok - before) as f64 / (now - since).as_secs_f64();
            let elapsed = (now - started).as_secs_f64();
            let line = format!("\r\x1b[K{elapsed:>6.1} s {rate:>9.0} ok/s {:>9} failed", progress.failed);
            // Whoever closed our stderr does not want to read it.
            let _ = io::stderr().write_all(line.as_bytes());
            told = (now, progress.ok);
        }
    }
    if live {
        let _ = io::stderr().write_all(b"\r\x1b[K");
    }
    Ok(())
}

/// Says what makes the figures mean less than they seem to.
fn conclude(result: &LoadResult, interrupted: bool) -> Exit {
    if let Some(saturation) = &result.saturation {
        screen::warning(&format!("{saturation}: these figures say too much about the generator"));
        screen::note(match saturation {
            Saturation::Late { .. } => {
                "  leave it a processor of its own, add --threads, or lower the load; see the lateness row"
            }
            Saturation::Accounts { .. } => "  this is a fault of the program: please report it with the command",
        });
    }
    if result.total.unsent > 0 {
        screen::warning(&format!("{} requests found no free connection before the end", result.total.unsent));
        screen::note("  the server is slower than the rate: lower it, or raise --connections");
    }
    for capture in &result.unmatched_captures {
        screen::warning(&format!("the capture {capture} never found a value"));
        screen::note("  look at an answer of that step, and correct the header, pointer or expression");
    }
    for feeder in &result.exhausted_feeders {
        screen::warning(&format!("the feeder {feeder} ran out of rows: users who needed one ended"));
        screen::note("  give it more rows, or order: loop");
    }
    let count = |class| result.total.errors.get(&class).copied().unwrap_or(0);
    if count(ErrorClass::Exhausted) > 0 {
        screen::warning("connections could not be opened: no port or file descriptor was left");
        screen::note("  raise ulimit -n, or lower --connections; without keep-alive, lower the rate");
    }
    if count(ErrorClass::Unwritable) > 0 {
        screen::warning(&format!("{} requests could not be written, and never left", count(ErrorClass::Unwritable)));
        screen::note("  this is a fault of the scenario, not of the server: look at the values of that step");
    }
    exit_of(result, interrupted)
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
}
