//! How near the search for a capacity comes: `make bench-capacity`.
//!
//! Servers whose answers to any load are known are probed as real ones are: the code that chooses the loads, gives probes up
//! and answers is the one that `stampede capacity` runs; only the trials are computed.

mod queue;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::PathBuf;
use std::time::Duration;

use stampede_analysis::{Capacity, CapacityFound, CapacityStep, ProbeWatch, capacity, capacity_step};
use stampede_core::{Latencies, Load, Measurement, Random, Rounds, Slo, SloSecond, Study, StudyKind};

use self::queue::{Queue, Server};
use crate::document::{self, Section};
use crate::draws::{on_all_processors, seed_of};
use crate::failure::Failure;
use crate::files;
use crate::made_up;
use crate::target::{Bound, Target};

/// How it is to be done.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Capacities {
    /// Searches of each server
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) searches: u32,
    /// Seed; the same one gives the same figures
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// The document [default: stdout]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// What a search may miss.
const NEAR: f64 = 0.03;
/// In how many of 100.
const WANTED: f64 = 95.0;
/// What `stampede capacity` does where nothing is said.
const DURATION: Duration = Duration::from_secs(45);
const WARM_UP: Duration = Duration::from_secs(2);
const MAX_TIME: Duration = Duration::from_secs(900);
/// Starting and stopping a server.
const BESIDE: Duration = Duration::from_secs(1);

/// A server with an objective.
struct Subject {
    name: &'static str,
    server: Server,
    slo: &'static str,
    /// The rate at which the objective breaks.
    truth: f64,
}

const fn subject(name: &'static str, server: Server, slo: &'static str, truth: f64) -> Subject {
    Subject { name, server, slo, truth }
}

/// Truths of M/M/c are those of Erlang's formula, which a test holds; of the others they are
/// interpolated between three rates at which twice 10 million requests were simulated.
const SUBJECTS: [Subject; 6] = [
    subject("4 workers, 10 ms", Server::Exponential { workers: 4, service: 0.010 }, "p99<100ms", 350.1),
    subject("1 worker, 1 ms", Server::Exponential { workers: 1, service: 0.001 }, "p99<100ms", 953.9),
    subject("8 workers, 20 ms", Server::Exponential { workers: 8, service: 0.020 }, "p95<100ms", 360.9),
    subject("16 workers, 4 ms", Server::Exponential { workers: 16, service: 0.004 }, "p99<50ms", 3900.1),
    subject("constant 2 ms", Server::Constant { service: 0.002 }, "p99<20ms", 386.7),
    subject("quota, 1 ms of CPU", Server::Quota { cpu: 0.001, period: 0.1, quota: 0.05 }, "p99<200ms", 479.7),
];

/// One search.
struct Search {
    capacity: Capacity,
    time: Duration,
}

impl Search {
    fn rate(&self) -> Option<(f64, f64, f64)> {
        match self.capacity.found {
            Some(CapacityFound::Rate { rate, low, high, .. }) => Some((rate, low, high)),
            _ => None,
        }
    }

    /// Whether it found the truth, or nearly.
    fn is_near(&self, truth: f64) -> bool {
        self.rate().is_some_and(|(rate, ..)| (rate / truth - 1.0).abs() <= NEAR)
    }
}

/// Searches everything, and writes the document.
pub(crate) fn run(asked: &Capacities) -> Result<(), Failure> {
    let mut targets = Vec::new();
    let mut rows = vec![document::head(
        "server | SLO | truth | of capacity | within 3 % | median off | in interval | confirmed | probes | minutes",
    )];
    for subject in &SUBJECTS {
        let searches = searches(subject, asked);
        let all = f64::from(asked.searches);
        let share = |holds: &dyn Fn(&Search) -> bool| {
            100.0 * searches.iter().filter(|search| holds(search)).count() as f64 / all
        };
        let near = share(&|search| search.is_near(subject.truth));
        let mut off: Vec<f64> =
            searches.iter().filter_map(|search| Some(100.0 * (search.rate()?.0 / subject.truth - 1.0).abs())).collect();
        off.sort_by(f64::total_cmp);
        let inside = share(&|search| search.rate().is_some_and(|(_, low, high)| (low..=high).contains(&subject.truth)));
        let confirmed =
            share(&|search| matches!(search.capacity.found, Some(CapacityFound::Rate { confirmed: true, .. })));
        let probes: usize = searches.iter().map(|search| search.capacity.probes.len()).sum();
        let time: Duration = searches.iter().map(|search| search.time).sum();
        rows.push(vec![
            subject.name.to_owned(),
            subject.slo.to_owned(),
            format!("{:.1}/s", subject.truth),
            format!("{:.1} %", 100.0 * subject.truth / Queue::capacity(subject.server)),
            format!("{near:.0} %"),
            format!("{:.1} %", off.get(off.len() / 2).copied().unwrap_or(f64::NAN)),
            format!("{inside:.0} %"),
            format!("{confirmed:.0} %"),
            format!("{:.1}", probes as f64 / all),
            format!("{:.1}", time.as_secs_f64() / 60.0 / all),
        ]);
        let what = format!("{}: within 3 %", subject.name);
        targets.push(Target::value(what, Bound::AtLeast(WANTED), Some(near), 0, " %"));
    }
    let mut section = Section::new("Searches");
    section.paragraph(
        "\"Median off\" is how far the rate was from the truth in the middle of all searches, \"in interval\" how often the \
         interval held the truth, \"confirmed\" how often a long probe met the objective at the end. Time is that of the \
         simulated trials.",
    );
    section.table(&rows);
    Ok(files::write_or_print(asked.output.as_deref(), &render(asked, &targets, &section))?)
}

fn render(asked: &Capacities, targets: &[Target], section: &Section) -> String {
    let mut summary = Section::default();
    summary.paragraph(&format!(
        "How near `stampede capacity` comes to a rate that is known. Its trials are computed: a queue, first come, first served, \
         under random arrivals; everything else, from the closed loads to the answer, is the code that measures real servers, \
         with probes of {} s. {} searches of each server.",
        DURATION.as_secs(),
        asked.searches
    ));
    summary.paragraph(
        "Workers have exponential service times of the mean that is given (M/M/c), \"constant\" is one worker whose service always \
         takes as long (M/D/1), and \"quota\" one that stands still for the rest of each 100 ms once it has used 50 ms of CPU time.",
    );
    summary.paragraph(&format!(
        "Made by `stampede-bench capacity --searches {} --seed {}` (`make bench-capacity`). The same seed gives the same figures.",
        asked.searches, asked.seed
    ));
    document::of_targets("How near a capacity comes", &summary, targets, std::slice::from_ref(section))
}

/// All searches of a server.
fn searches(subject: &Subject, asked: &Capacities) -> Vec<Search> {
    on_all_processors(asked.searches as usize, |number| search(subject, seed_of(asked.seed, number)))
}

fn search(subject: &Subject, seed: u64) -> Search {
    let mut random = Random(seed);
    let mut study = study(subject.slo);
    let (mut trials, mut time) = (Vec::new(), Duration::ZERO);
    while let Some(CapacityStep { case: id, load, window }) = capacity_step(&study, &trials) {
        let case = made_up::case(id, load.clone());
        let measurement = match &load {
            Load::Open { schedule, .. } => {
                let watch = study.slo.as_ref().and_then(|slo| ProbeWatch::new(slo, &load, window));
                let rate = schedule.held_rate().per_second();
                watch.map(|watch| open(subject.server, rate, window, watch, random.draw()))
            }
            other => Some(closed(subject.server, other.connections(), window, random.draw())),
        };
        let took = measurement.as_ref().map_or(window, |measured| measured.window) + WARM_UP + BESIDE;
        trials.push(made_up::trial(&case.id, trials.len() as u32 + 1, time, measurement));
        time += took;
        if !study.cases.iter().any(|known| known.id == case.id) {
            study.cases.push(case);
        }
    }
    Search { capacity: capacity(&study, &trials), time }
}

/// A probe at a rate.
fn open(server: Server, rate: f64, window: Duration, mut watch: ProbeWatch, seed: u64) -> Measurement {
    let mut random = Random(seed);
    let mut queue = Queue::new(server, random.draw());
    let (opens, closes) = (WARM_UP.as_secs_f64(), (WARM_UP + window).as_secs_f64());
    let mut ends: Vec<(f64, f64)> = Vec::new();
    let mut now = 0.0;
    loop {
        now += random.exponential() / rate;
        if now >= closes {
            break;
        }
        let end = queue.serve(now);
        if now >= opens {
            ends.push((end - opens, end - now));
        }
    }
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut lasted = window;
    let mut rest = ends.as_slice();
    for second in 0..window.as_secs() {
        let (of_second, later) = rest.split_at(rest.partition_point(|(end, _)| *end < (second + 1) as f64));
        rest = later;
        watch.take(second, of_second.len() as u64, 0, &latencies(of_second.iter().map(|(_, response)| *response)));
        if watch.is_hopeless() {
            lasted = Duration::from_secs(second + 1);
            break;
        }
    }
    let cut = lasted.as_secs_f64();
    // What had no answer when the window was cut short counts at its age.
    let age = |(end, response): &(f64, f64)| if lasted < window { response - (end - cut).max(0.0) } else { *response };
    let began = ends.iter().filter(|(end, response)| lasted == window || end - response < cut);
    let response = latencies(began.map(age));
    measurement(lasted, response, watch.seconds(lasted))
}

/// A closed load of so many connections.
fn closed(server: Server, connections: u32, window: Duration, seed: u64) -> Measurement {
    let mut queue = Queue::new(server, seed);
    let (opens, closes) = (WARM_UP.as_secs_f64(), (WARM_UP + window).as_secs_f64());
    // Ends of answers in nanoseconds, the first on top.
    let nanos = |time: f64| Reverse((time * 1e9) as u64);
    let mut ends: BinaryHeap<Reverse<u64>> = (0..connections).map(|_| nanos(queue.serve(0.0))).collect();
    let mut responses = Vec::new();
    while let Some(Reverse(end)) = ends.pop() {
        let now = end as f64 / 1e9;
        if now >= closes {
            break;
        }
        let next = queue.serve(now);
        if now >= opens && next < closes {
            responses.push(next - now);
        }
        ends.push(nanos(next));
    }
    let response = latencies(responses.into_iter());
    measurement(window, response, Vec::new())
}

fn latencies(responses: impl Iterator<Item = f64>) -> Latencies {
    let mut latencies = Latencies::new();
    responses.for_each(|response| latencies.record_ns((response * 1e9) as u64));
    latencies
}

fn study(slo: &str) -> Study {
    Study {
        kind: StudyKind::Capacity,
        slo: slo.parse::<Slo>().ok(),
        warm_up: WARM_UP,
        ..made_up::study(Rounds::Auto { max_time: MAX_TIME }, NEAR, DURATION)
    }
}

fn measurement(window: Duration, response: Latencies, seconds: Vec<SloSecond>) -> Measurement {
    Measurement { seconds, response: response.clone(), ..made_up::measurement(window, response.count()) }
}

#[cfg(test)]
mod tests {
    use stampede_core::SloTerm;

    use super::*;

    /// The share of requests that take longer than a time, of M/M/c: Erlang's formula for those that wait, an exponential wait,
    /// and then the service.
    fn beyond(workers: usize, service: f64, rate: f64, time: f64) -> f64 {
        let load = rate * service;
        // Erlang's B by its recursion, then C.
        let blocked = (1..=workers).fold(1.0, |b, n| load * b / (n as f64 + load * b));
        let waits = blocked / (1.0 - load / workers as f64 * (1.0 - blocked));
        let (served, drained) = (1.0 / service, workers as f64 / service - rate);
        let both = (drained * (-served * time).exp() - served * (-drained * time).exp()) / (drained - served);
        (1.0 - waits) * (-served * time).exp() + waits * both
    }

    #[test]
    fn truths_are_those_of_erlang() {
        for Subject { name, server, slo, truth } in SUBJECTS {
            let Server::Exponential { workers, service } = server else { continue };
            let slo: Slo = slo.parse().unwrap();
            let SloTerm::Response { percentile, below } = slo.terms()[0] else { panic!("{slo}") };
            let share = |rate: f64| beyond(workers, service, rate, below.as_secs_f64());
            assert!(share(truth * 0.9995) < percentile.beyond(), "{name}: {}", share(truth));
            assert!(share(truth * 1.0005) > percentile.beyond(), "{name}: {}", share(truth));
        }
    }

    #[test]
    fn computed_servers_serve_what_they_can() {
        for Subject { name, server, .. } in SUBJECTS {
            let served = closed(server, 64, Duration::from_secs(20), 7);
            let rate = served.requests.ok as f64 / 20.0;
            assert!((rate / Queue::capacity(server) - 1.0).abs() < 0.03, "{name}: {rate}");
        }
    }

    #[test]
    fn searches_find_the_truth_mostly() {
        let asked = Capacities { searches: 20, ..crate::args::defaults() };
        for subject in &SUBJECTS {
            let near = searches(subject, &asked).iter().filter(|search| search.is_near(subject.truth)).count();
            // Of 20 searches that are near in 95 of 100, 16 or more are in 99.7 of 100.
            assert!(near >= 16, "{}: {near} of 20", subject.name);
        }
    }
}
