//! The open loop: are 20,000 requests a second sent when they are due?

use crate::document::{Section, grouped, shown};
use crate::failure::Failure;
use crate::process::Process;
use crate::race::{GRACE, Witness};
use crate::server::CountingServer;
use crate::spread::Spread;
use crate::stage::Stage;
use crate::target::{Bound, Target};
use crate::tool::{STAMPEDE, StampedeRun, stampede_command_line};
use crate::variant;

/// Requests a second.
const RATE: u32 = 20_000;
const CONNECTIONS: u32 = 64;
/// The most by which a rate may differ, in percent.
const RATE_ERROR: f64 = 0.1;

/// What a run showed, times in microseconds.
struct Punctuality {
    p50: f64,
    p99: f64,
    p999: f64,
    /// Requests due a second, as the tool says.
    offered: f64,
    /// Requests received a second of the window, as the server says.
    received: f64,
    cpu_us: f64,
    /// Of which waiting actively for due times.
    spin_us: f64,
}

/// Measures every backend.
pub(crate) fn measure(stage: &Stage) -> Result<Section, Failure> {
    let mut section = Section::new("Open loop");
    let mut server = CountingServer::start(stage)?;
    let load = format!("--load open:{RATE} -c {CONNECTIONS} -d {}s", stage.duration.as_secs());
    let variants = variant::find(stage, server.url(), "")?;
    section.paragraph(&format!(
        "{} requests a second, evenly spaced, on at most {CONNECTIONS} connections. Lateness is from when a request \
         could have been sent to when it was. CPU is the whole client's; the spin, within it, is active waiting for due \
         times.",
        grouped(RATE.into())
    ));
    let mut rows = vec![
        ["client", "late p50 us", "p99 us", "p99.9 us", "offered/s", "received/s", "CPU us", "spin us"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for variant in &variants.offered {
        let line = stampede_command_line(server.url(), &format!("{load} {}", variant.flags));
        let mut seen = Vec::new();
        for round in 1..=stage.rounds {
            let place = format!("round {round}/{}, open loop, {}", stage.rounds, variant.label);
            match once(stage, &mut server, &line)? {
                Ok(run) => {
                    stage.tell(&format!("{place}: late by p50 {:.1} us, p99.9 {:.0} us", run.p50, run.p999));
                    seen.push(run);
                }
                Err(reason) => {
                    stage.tell(&format!("{place}: {reason}"));
                    section.list(&[format!("{place}: {reason}")]);
                }
            }
        }
        let spread = |measure: fn(&Punctuality) -> f64| Spread::of(seen.iter().map(measure));
        let cell = |measure: fn(&Punctuality) -> f64, digits| {
            spread(measure).map_or_else(|| "-".to_owned(), |spread| spread.show(digits))
        };
        let median = |measure: fn(&Punctuality) -> f64| {
            spread(measure).map_or_else(|| "-".to_owned(), |spread| format!("{:.2}", spread.median))
        };
        rows.push(vec![
            variant.label.clone(),
            cell(|run| run.p50, 1),
            cell(|run| run.p99, 0),
            cell(|run| run.p999, 0),
            median(|run| run.offered),
            median(|run| run.received),
            median(|run| run.cpu_us),
            median(|run| run.spin_us),
        ]);
        let label = &variant.label;
        for (name, bound, measure) in [
            ("p50", 20.0, (|run| run.p50) as fn(&Punctuality) -> f64),
            ("p99", 200.0, |run| run.p99),
            ("p99.9", 1000.0, |run| run.p999),
        ] {
            let what = format!("open loop, {label}: lateness {name}");
            section.targets.push(Target::median(what, Bound::Under(bound), spread(measure), " us"));
        }
        for (name, measure) in [
            ("offered", (|run| run.offered) as fn(&Punctuality) -> f64),
            ("received by the server", |run| run.received),
        ] {
            let off = |run: &Punctuality| (measure(run) / f64::from(RATE) - 1.0).abs() * 100.0;
            let worst = seen.iter().map(off).reduce(f64::max);
            let what = format!("open loop, {label}: rate {name}, off by");
            section.targets.push(Target::value(what, Bound::AtMost(RATE_ERROR), worst, 3, " %"));
        }
        section.commands.push(shown(&line));
    }
    section.table(&rows);
    section.list(&variants.refused.iter().map(|refused| format!("not measured: {refused}")).collect::<Vec<_>>());
    Ok(section)
}

/// One run; the inner error is a reason for which there are no figures.
fn once(stage: &Stage, server: &mut CountingServer, line: &[String]) -> Result<Result<Punctuality, String>, Failure> {
    let before = server.settled()?;
    let command = stage.command(line);
    let patience = stage.duration + GRACE;
    let finished = Process::run(STAMPEDE.name, command, stage.client_cpu, patience, &stage.interruption, |_| Ok(()))?;
    let received = server.settled()?.since(&before).requests as f64;
    let punctuality = StampedeRun::read(&finished.stdout).and_then(|run| {
        let sent = run.requests.sent as f64;
        Some(Punctuality {
            p50: run.lateness_us.p50?,
            p99: run.lateness_us.p99?,
            p999: run.lateness_us.p999?,
            offered: run.offered_rps?,
            received: received / stage.duration.as_secs_f64(),
            cpu_us: finished.ended.cpu.as_secs_f64() * 1e6 / sent,
            spin_us: run.generator.spin_seconds * 1e6 / sent,
        })
    });
    Ok(punctuality.ok_or_else(|| format!("no figures: {}", finished.reason())))
}
