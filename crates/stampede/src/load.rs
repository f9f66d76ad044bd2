//! `stampede load`: just the load engine, on an address.

pub(crate) mod args;

use std::fs::File;
use std::io;
use std::path::Path;

use stampede_conduct::{Bench, Host};
use stampede_core::Exchange;
use stampede_drive::{Kept, Reach, SampleSink, Timeseries, TlsFiles, drive_address, read_body};
use stampede_plan::{LoadFlags, LoadPlan, MachineSize};
use stampede_report::load::{self as page, LoadView};
use stampede_traffic::PlannedTraffic;

use crate::exit::Failure;
use crate::flags::QuietArgs;
use crate::init::args::LogArgs;
use crate::load::args::LoadArgs;
use crate::{Outcome, destination, init, kubernetes, screen};

pub(crate) fn run(args: Box<LoadArgs>, host: &dyn Host) -> Outcome {
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
        quiet: QuietArgs { quiet },
    } = *args;
    let bench = Bench { host, no_wait: false, quiet };
    let machine = MachineSize { cpus: u32::try_from(host.cpus().len()).unwrap_or(u32::MAX), ..host.size() };
    let logged = of_log(&log, &mut flags)?;
    let (body, unread) = read_body(flags.body.as_deref());
    let plan = LoadPlan::read(&flags, body, machine).map_err(Failure::usage);
    let (plan, ()) = Failure::both(plan, unread)?;
    if !logged.is_empty() && plan.url.path != "/" {
        let path = &plan.url.path;
        return Err(Failure::usage(format!("URL path {path} does not go with --access-log; leave it out")));
    }
    let plan = LoadPlan { logged, ..plan };
    let tls = TlsFiles { insecure, cacert, cert, key, server_name };
    let trusted = tls.read(plan.url.encrypted)?;
    let told = [&json, &timeseries, &hdr].into_iter().flatten().filter(|path| destination::is_stdout(path)).count();
    for (flag, path) in [("--json", json.as_deref()), ("--hdr", hdr.as_deref())] {
        destination::check(&[(flag, path)])?;
    }
    if told > 1 {
        return Err(Failure::usage("only one of --json, --timeseries and --hdr can be written to stdout"));
    }
    let kept = Kept {
        timeseries: timeseries.as_deref().map(seconds_to).transpose()?,
        samples: samples.as_deref().map(SampleSink::create).transpose()?,
    };
    let keep_alive = !flags.no_keepalive;
    let reach = Reach { unix, resolve, connect, source, allow_remote, follow_redirects, keep_alive, tls };
    let load = drive_address(bench, plan, reach, trusted, (kubernetes::request(pods), backend.backend.chosen()), kept)?;
    let (result, samples) = (&load.result, load.samples());
    let view = LoadView { url: &flags.url, loads: &load.loads, result, generators: &load.generators, samples };
    for (path, text) in [(json.as_deref(), page::json(&view)), (hdr.as_deref(), page::hdr(&result.total.response))] {
        if let Some(path) = path {
            destination::put_bytes(path, text.as_bytes())?;
        }
    }
    if told == 0 {
        screen::print(&page::terminal(&view))?;
    }
    for [warning, advice] in page::advice(result, samples) {
        screen::warning(&warning);
        screen::note(&format!("  {advice}"));
    }
    if let Some(place) = load.fastcgi() {
        screen::warning(&format!("{place} speaks FastCGI, not HTTP: it is probably PHP-FPM"));
        screen::note("  send the load to the web server in front of it, or use stampede compare");
    }
    if let Some(failure) = load.sampled.as_ref().and_then(|sampled| sampled.failure.as_ref()) {
        return Err(Failure::missing(failure.as_str()));
    }
    load.faults().for_each(|fault| screen::warning(fault));
    Ok(load.exit())
}

/// The requests of an access log. One that is replayed is the load.
fn of_log(log: &LogArgs, flags: &mut LoadFlags) -> Result<Vec<Exchange>, Failure> {
    let Some(source) = log.source() else { return Ok(Vec::new()) };
    let PlannedTraffic { exchanges, notes, scenario: _, load } =
        PlannedTraffic::read(source, None, &init::open).map_err(Failure::usage)?;
    notes.iter().for_each(|note| screen::note(note));
    if let Some(load) = load {
        flags.load = Some(load.to_string());
    }
    Ok(exchanges)
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
    }
}
