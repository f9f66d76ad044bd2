//! The open loop: are 20,000 requests a second sent when they are due?

use std::process::Stdio;

use crate::document::{self, Section, grouped, shown};
use crate::failure::Failure;
use crate::ideal::Lateness;
use crate::process::Process;
use crate::race::{GRACE, Witness};
use crate::server::CountingServer;
use crate::spread::Spread;
use crate::stage::Stage;
use crate::steal;
use crate::target::{Bound, Target};
use crate::tool::{STAMPEDE, StampedeRun, stampede_command_line};
use crate::variant;

/// Requests a second.
const RATE: u32 = 20_000;
const CONNECTIONS: u32 = 64;
/// The most by which a rate may differ, in percent.
const RATE_ERROR: f64 = 0.1;

/// The senders that only look at the clock: with the machine to themselves, and while the server's processor is busy, as it
/// is under load. A virtual machine may be given fewer processors than it shows.
const IDEAL: &str = "ideal";
const BESIDE: &str = "ideal, both busy";

/// What a run showed.
struct Punctuality {
    late: Lateness,
    /// What the hypervisor took of the sender's processor, in milliseconds. The kernel counts it in ticks of 10 ms.
    stolen_ms: Option<f64>,
    /// Nothing of one that sends nothing.
    sending: Option<Sending>,
}

/// What was sent, times in microseconds a request.
struct Sending {
    /// Requests due a second, as the tool says.
    offered: f64,
    /// Requests received a second of the window, as the server says.
    received: f64,
    cpu_us: f64,
    /// Of which waiting actively for due times.
    spin_us: f64,
}

/// A figure of a run.
type Measure<T> = fn(&T) -> f64;

/// What there is to be late.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Ideal,
    /// Beside another ideal sender on the server's processor.
    Beside,
    Client,
}

/// A sender with what it showed in each round.
struct Sender {
    label: String,
    kind: Kind,
    line: Vec<String>,
    seen: Vec<Punctuality>,
}

impl Sender {
    fn spread(&self, measure: Measure<Lateness>) -> Option<Spread> {
        Spread::of(self.seen.iter().map(|run| measure(&run.late)))
    }

    /// Of the runs of which nothing was stolen.
    fn unrobbed(&self, measure: Measure<Lateness>) -> Option<Spread> {
        Spread::of(self.seen.iter().filter(|run| run.stolen_ms == Some(0.0)).map(|run| measure(&run.late)))
    }

    fn of_sending(&self, measure: Measure<Sending>) -> impl Iterator<Item = f64> {
        self.seen.iter().filter_map(|run| run.sending.as_ref()).map(measure)
    }

    fn row(&self) -> Vec<String> {
        let cell = |measure, digits| self.spread(measure).map_or_else(dash, |spread| spread.show(digits));
        let median =
            |measure| Spread::of(self.of_sending(measure)).map_or_else(dash, |spread| format!("{:.2}", spread.median));
        vec![
            self.label.clone(),
            cell(|late| late.p50, 1),
            cell(|late| late.p99, 0),
            cell(|late| late.p999, 0),
            Spread::of(self.seen.iter().filter_map(|run| run.stolen_ms)).map_or_else(dash, |spread| spread.show(0)),
            median(|run| run.offered),
            median(|run| run.received),
            median(|run| run.cpu_us),
            median(|run| run.spin_us),
        ]
    }

    fn targets(&self) -> Vec<Target> {
        let label = &self.label;
        let lateness: [(&str, f64, Measure<Lateness>); 3] =
            [("p50", 20.0, |late| late.p50), ("p99", 200.0, |late| late.p99), ("p99.9", 1000.0, |late| late.p999)];
        let rates: [(&str, Measure<Sending>); 2] =
            [("offered", |run| run.offered), ("received by the server", |run| run.received)];
        let kept = self.seen.iter().filter(|run| run.stolen_ms == Some(0.0)).count();
        let lateness = lateness.into_iter().flat_map(|(name, bound, measure)| {
            let what = format!("open loop, {label}: lateness {name}");
            let unrobbed = format!("{what} of the {kept} runs without steal");
            [
                Target::median(what, Bound::Under(bound), self.spread(measure), " us"),
                Target::median(unrobbed, Bound::Under(bound), self.unrobbed(measure), " us"),
            ]
        });
        let rates = rates.into_iter().map(|(name, measure)| {
            let off = self.of_sending(measure).map(|rate| (rate / f64::from(RATE) - 1.0).abs() * 100.0);
            let what = format!("open loop, {label}: rate {name}, off by");
            Target::value(what, Bound::AtMost(RATE_ERROR), off.reduce(f64::max), 3, " %")
        });
        lateness.chain(rates).collect()
    }
}

fn dash() -> String {
    "-".to_owned()
}

/// Measures every backend beside the ideal sender, which take turns.
pub(crate) fn measure(stage: &Stage) -> Result<Section, Failure> {
    let mut section = Section::new("Open loop");
    let mut server = CountingServer::start(stage)?;
    let seconds = stage.duration.as_secs();
    let load = format!("--load open:{RATE} -c {CONNECTIONS} -d {seconds}s");
    let variants = variant::find(stage, server.url(), "")?;
    section.paragraph(&format!(
        "{} requests a second, evenly spaced, on at most {CONNECTIONS} connections. Lateness is from when a request \
         could have been sent to when it was. CPU is the whole client's; the spin, within it, is active waiting for due \
         times. The ideal sender, on the same processor and in turn with the others, looks at the clock until each due \
         time and sends nothing: its lateness is the machine's; in the second row while the server's processor is busy \
         too, which it is for all that send. Steal is the time for which the hypervisor gave that processor to \
         others, in ticks of 10 ms; no sender is punctual in it.",
        grouped(RATE.into())
    ));
    let ideal = ["stampede-bench", IDEAL, &RATE.to_string(), &seconds.to_string()].map(str::to_owned).to_vec();
    let sender = |label: &str, kind, line| Sender { label: label.to_owned(), kind, line, seen: Vec::new() };
    let mut senders = vec![sender(IDEAL, Kind::Ideal, ideal.clone()), sender(BESIDE, Kind::Beside, ideal)];
    senders.extend(variants.offered.iter().map(|variant| {
        let line = stampede_command_line(server.url(), &format!("{load} {}", variant.flags));
        sender(&variant.label, Kind::Client, line)
    }));
    for round in 1..=stage.rounds {
        for Sender { label, kind, line, seen } in &mut senders {
            let place = format!("round {round}/{}, open loop, {label}", stage.rounds);
            match once(stage, &mut server, line, *kind)? {
                Ok(run) => {
                    stage.tell(&format!("{place}: late by p50 {:.1} us, p99.9 {:.0} us", run.late.p50, run.late.p999));
                    seen.push(run);
                }
                Err(reason) => {
                    stage.tell(&format!("{place}: {reason}"));
                    section.list(&[format!("{place}: {reason}")]);
                }
            }
        }
    }
    let mut rows = vec![document::head(
        "client | late p50 us | p99 us | p99.9 us | steal ms | offered/s | received/s | CPU us | spin us",
    )];
    for sender in &senders {
        rows.push(sender.row());
        if sender.kind == Kind::Client {
            section.targets.extend(sender.targets());
        }
        if sender.kind != Kind::Beside {
            section.commands.push(shown(&sender.line));
        }
    }
    section.table(&rows);
    section.list(&variants.refused.iter().map(|refused| format!("not measured: {refused}")).collect::<Vec<_>>());
    Ok(section)
}

/// One run; the inner error is a reason for which there are no figures.
fn once(
    stage: &Stage,
    server: &mut CountingServer,
    line: &[String],
    kind: Kind,
) -> Result<Result<Punctuality, String>, Failure> {
    let before = server.settled()?;
    let command = stage.command(line);
    let patience = stage.duration + GRACE;
    let name = if kind == Kind::Client { STAMPEDE.name } else { IDEAL };
    // It ends by itself, or with this run.
    let _neighbour = match kind {
        Kind::Beside => {
            let mut neighbour = stage.command(line);
            neighbour.stdin(Stdio::null()).stdout(Stdio::null());
            Some(Process::spawn(IDEAL, neighbour, stage.server_cpu)?)
        }
        Kind::Ideal | Kind::Client => None,
    };
    let stolen = steal::of_processor(stage.client_cpu);
    let finished = Process::run(name, command, stage.client_cpu, patience, &stage.interruption, |_| Ok(()))?;
    let stolen_ms = steal::of_processor(stage.client_cpu)
        .zip(stolen)
        .map(|(after, before)| after.saturating_sub(before).as_secs_f64() * 1e3);
    let punctuality = if kind != Kind::Client {
        Lateness::read(&finished.stdout).map(|late| Punctuality { late, stolen_ms, sending: None })
    } else {
        let received = server.settled()?.since(&before).requests as f64;
        StampedeRun::read(&finished.stdout).and_then(|run| {
            let (sent, late) = (run.requests.sent as f64, run.lateness_us);
            Some(Punctuality {
                stolen_ms,
                late: Lateness { p50: late.p50?, p99: late.p99?, p999: late.p999? },
                sending: Some(Sending {
                    offered: run.offered_rps?,
                    received: received / stage.duration.as_secs_f64(),
                    cpu_us: finished.ended.cpu.as_secs_f64() * 1e6 / sent,
                    spin_us: run.generator.spin_seconds * 1e6 / sent,
                }),
            })
        })
    };
    Ok(punctuality.ok_or_else(|| format!("no figures: {}", finished.reason())))
}
