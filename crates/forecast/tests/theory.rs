//! The simulation against formulas of queueing theory.
//!
//! Each figure is the mean over independent runs, and must lie within four of its own standard errors of what the formula says:
//! that fails by chance once in some thousand times, and the seeds are fixed.

#![expect(clippy::expect_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use stampede_core::{Arrivals, Bytes, Cpus, Limit, Random};
use stampede_forecast::{InstanceModel, Run, Shape, SimulationSetup, Start, Traffic, Wake, Waking, Work, simulate};
use stampede_scale::{CpuAllocation, KnativeParameters, Policy, QueueLimits, ServiceSettings};

/// Mean service time.
const SERVICE: Duration = Duration::from_millis(10);

struct Exponential;

impl Shape for Exponential {
    fn draw(&self, random: &mut Random) -> f64 {
        random.exponential()
    }

    fn mean(&self) -> f64 {
        1.0
    }
}

struct Constant;

impl Shape for Constant {
    fn draw(&self, _: &mut Random) -> f64 {
        1.0
    }

    fn mean(&self) -> f64 {
        1.0
    }
}

/// One of ten requests takes five times the mean; the others take five ninths of it.
struct TwoKinds;

impl Shape for TwoKinds {
    fn draw(&self, random: &mut Random) -> f64 {
        if random.uniform() <= 0.1 { 5.0 } else { 5.0 / 9.0 }
    }

    fn mean(&self) -> f64 {
        1.0
    }
}

/// A fixed number of instances, each of which takes so many requests at once and has so many workers, at so many arrivals a second.
fn scenario(instances: u32, concurrency: u32, workers: u32, rate: f64) -> SimulationSetup {
    let cpus = Cpus::from_millis(1000);
    let start = Start { cpu: Duration::ZERO, wait: Duration::ZERO };
    let service = ServiceSettings {
        cpus,
        memory: Bytes::from_mib(512),
        concurrency,
        min_instances: instances,
        max_instances: instances,
        cpu_allocation: CpuAllocation::DuringRequests,
        start_up_boost: false,
        request_timeout: Duration::from_secs(3600),
    };
    SimulationSetup {
        service,
        policy: Policy::Knative(KnativeParameters::default()),
        queue: QueueLimits { length: Limit::Unlimited, wait: Duration::from_secs(3600) },
        granularity: Duration::from_millis(100),
        instance: InstanceModel::new(cpus, workers, start, |_| 1.0),
        host_cpus: None,
        work: Work { cpu: SERVICE, wait: Duration::ZERO },
        traffic: Traffic::Open { schedule: format!("{rate:.3}").parse().expect("a rate"), arrivals: Arrivals::Poisson },
        warm_up: Duration::from_secs_f64(20_000.0 / rate),
        duration: Duration::from_secs_f64(200_000.0 / rate),
    }
}

/// Ten runs.
fn runs(scenario: &SimulationSetup, shape: &impl Shape) -> Vec<Run> {
    (0..10).map(|seed| simulate(scenario, shape, 1000 + seed)).collect()
}

/// Mean and standard error of a figure over runs.
fn figure(runs: &[Run], of: impl Fn(&Run) -> f64) -> (f64, f64) {
    let values: Vec<f64> = runs.iter().map(of).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64;
    (mean, (variance / values.len() as f64).sqrt())
}

#[track_caller]
fn assert_near(name: &str, (mean, error): (f64, f64), expected: f64) {
    assert!(error < 0.05 * expected, "{name}: the runs scatter too much to tell: {mean} +- {error}");
    assert!((mean - expected).abs() < 4.0 * error, "{name}: {mean} +- {error}, not {expected}");
}

/// The share of requests that wait, for `servers` servers and an offered load of `erlangs` (Erlang 1917).
fn erlang_c(servers: u32, erlangs: f64) -> f64 {
    // Erlang's loss formula by its recursion, and the delay formula from it.
    let loss = (1..=servers).fold(1.0, |loss, n| erlangs * loss / (f64::from(n) + erlangs * loss));
    loss / (1.0 - erlangs / f64::from(servers) * (1.0 - loss))
}

#[test]
fn erlang_s_formula_is_what_tables_say() {
    // L. Kleinrock, Queueing Systems I: M/M/1 waits with probability rho; M/M/2 with 2 rho^2 / (1 + rho).
    for rho in [0.3, 0.8] {
        assert!((erlang_c(1, rho) - rho).abs() < 1e-12);
        assert!((erlang_c(2, 2.0 * rho) - 2.0 * rho * rho / (1.0 + rho)).abs() < 1e-12);
    }
}

#[test]
fn a_queue_before_many_instances_is_m_m_c() {
    let service = SERVICE.as_secs_f64();
    for (servers, utilisation) in [(1, 0.7), (3, 0.6), (10, 0.85), (50, 0.95)] {
        let rate = f64::from(servers) * utilisation / service;
        let delayed = erlang_c(servers, f64::from(servers) * utilisation);
        let wait = delayed * service / (f64::from(servers) * (1.0 - utilisation));
        let scenario = scenario(servers, 1, 1, rate);
        let name = format!("M/M/{servers} at {utilisation}");
        let runs = runs(&scenario, &Exponential);
        assert_near(&name, figure(&runs, |run| run.mean_response), wait + service);
        // CPU that was used is the offered load.
        let cpu = figure(&runs, |run| run.cpu_seconds / run.duration.as_secs_f64());
        assert_near(&format!("{name}, CPU"), cpu, f64::from(servers) * utilisation);
    }
}

#[test]
fn the_longest_waits_are_those_of_m_m_1() {
    // The response time of M/M/1 is exponential with mean s / (1 - rho).
    let scenario = scenario(1, 1, 1, 60.0);
    let mean = SERVICE.as_secs_f64() / 0.4;
    let runs = runs(&scenario, &Exponential);
    for q in [0.5, 0.9, 0.99] {
        let expected = -mean * f64::ln(1.0 - q);
        assert_near(&format!("p{q}"), figure(&runs, |run| run.response.quantile(q).as_secs_f64()), expected);
    }
}

/// Pollaczek and Khinchine: the mean wait is `rate E[S^2] / 2 (1 - rho)`, here behind the one worker of an instance.
#[test]
fn one_worker_is_m_g_1() {
    let service = SERVICE.as_secs_f64();
    let wait = |utilisation: f64, second_moment: f64| {
        utilisation / service * second_moment * service * service / (2.0 * (1.0 - utilisation))
    };
    for utilisation in [0.5, 0.8] {
        let scenario = scenario(1, 1_000_000, 1, utilisation / service);
        for (name, figure, second_moment) in [
            ("exponential", figure(&runs(&scenario, &Exponential), |run| run.mean_response), 2.0),
            ("constant", figure(&runs(&scenario, &Constant), |run| run.mean_response), 1.0),
            ("two kinds", figure(&runs(&scenario, &TwoKinds), |run| run.mean_response), 2.5 + 0.9 * 25.0 / 81.0),
        ] {
            assert_near(&format!("{name} at {utilisation}"), figure, service + wait(utilisation, second_moment));
        }
    }
}

/// With processor sharing, which short turns come near to, the mean response time is `s / (1 - rho)`, whatever the distribution of
/// the work (Sakata, Noguchi and
/// Oizumi 1971; L. Kleinrock, Queueing Systems II).
#[test]
fn shared_cpu_is_m_g_1_ps() {
    let service = SERVICE.as_secs_f64();
    for utilisation in [0.5, 0.8] {
        let mut scenario = scenario(1, 10_000, 10_000, utilisation / service);
        let expected = service / (1.0 - utilisation);
        // Turns of any length leave the mean of exponential work as it is, since who had more has no less left (Kleinrock's
        // conservation law).
        assert_near("turns", figure(&runs(&scenario, &Exponential), |run| run.mean_response), expected);
        scenario.instance = scenario.instance.with_slice(SERVICE / 40);
        scenario.duration /= 5;
        assert_near("exponential", figure(&runs(&scenario, &Exponential), |run| run.mean_response), expected);
        // Of other work those in their first turn have a little more than others.
        for (name, mean) in [
            ("constant", figure(&runs(&scenario, &Constant), |run| run.mean_response).0),
            ("two kinds", figure(&runs(&scenario, &TwoKinds), |run| run.mean_response).0),
        ] {
            assert!((mean / expected - 1.0).abs() < 0.04, "{name} at {utilisation}: {mean}, not {expected}");
        }
    }
}

/// Instances of one request each that share one processor: as many requests are there as in M/M/1, whoever waits where.
#[test]
fn instances_that_share_a_processor_are_m_m_1() {
    for utilisation in [0.5, 0.8] {
        let rate = utilisation / SERVICE.as_secs_f64();
        let scenario = SimulationSetup { host_cpus: Some(1), ..scenario(4, 1, 1, rate) };
        let runs = runs(&scenario, &Exponential);
        let expected = SERVICE.as_secs_f64() / (1.0 - utilisation);
        assert_near("response", figure(&runs, |run| run.mean_response), expected);
        assert_near("CPU", figure(&runs, |run| run.cpu_seconds / run.duration.as_secs_f64()), utilisation);
    }
}

/// Where an answer has to be passed on, who is all but done waits behind who has just begun: more requests are there for the same work.
#[test]
fn an_answer_that_waits_for_others_takes_longer() {
    let mut scenario = SimulationSetup { host_cpus: Some(1), ..scenario(4, 1, 1, 50.0) };
    scenario.instance = scenario.instance.with_front();
    let runs = runs(&scenario, &Exponential);
    let (mean, error) = figure(&runs, |run| run.mean_response);
    assert!(mean - 4.0 * error > 2.0 * SERVICE.as_secs_f64(), "{mean} +- {error}");
    assert_near("CPU", figure(&runs, |run| run.cpu_seconds / run.duration.as_secs_f64()), 0.5);
}

/// Clients that never rest: the quotas hold four instances below what the processor gives, and not eight.
#[test]
fn the_machine_holds_what_quotas_leave() {
    for (instances, expected) in [(4_u32, 0.8), (8, 1.0)] {
        let mut scenario = scenario(instances, 1, 1, 1.0);
        let cpus = Cpus::from_millis(200);
        scenario.instance = InstanceModel::new(cpus, 1, Start { cpu: Duration::ZERO, wait: Duration::ZERO }, |_| 1.0);
        scenario.service.cpus = cpus;
        scenario.host_cpus = Some(1);
        scenario.warm_up = Duration::from_secs(10);
        scenario.duration = Duration::from_secs(200);
        scenario.traffic = Traffic::Closed { clients: instances, round_trip: Duration::ZERO };
        let run = simulate(&scenario, &Constant, 1);
        let rate = run.answered as f64 / 200.0 * SERVICE.as_secs_f64();
        assert!(
            (rate - expected).abs() < 0.002 && (run.cpu_seconds / 200.0 - expected).abs() < 0.002,
            "{instances}: {rate}"
        );
    }
}

/// Each request finds its instance idle for the same time: it takes its work, and what it is to be woken.
#[test]
fn an_instance_that_was_idle_takes_longer() {
    let mut scenario = scenario(1, 1, 1, 20.0);
    let waking = |idle_ms, cpu_ms, wait_ms| {
        let ms = Duration::from_millis;
        Waking { idle: ms(idle_ms), cpu: ms(cpu_ms), wait: ms(wait_ms) }
    };
    // Between two requests pass 50 ms, of which it is idle for what the last one left.
    let wake = Wake::new(&[waking(1, 0, 0), waking(32, 5, 3), waking(1000, 50, 30)]);
    scenario.instance = scenario.instance.with_wake(wake);
    let Traffic::Open { arrivals, .. } = &mut scenario.traffic else { return };
    *arrivals = Arrivals::Uniform;
    let run = simulate(&scenario, &Constant, 1);
    assert!((run.mean_response - 0.018).abs() < 1e-5, "{}", run.mean_response);
    assert!((run.cpu_seconds / run.duration.as_secs_f64() - 20.0 * 0.015).abs() < 1e-4);
    // Two that take turns on one processor: it has rested for as long, and not for as long as each of them.
    let shared = SimulationSetup {
        service: ServiceSettings { concurrency: 4, min_instances: 2, max_instances: 2, ..scenario.service },
        host_cpus: Some(1),
        ..scenario
    };
    let run = simulate(&shared, &Constant, 1);
    assert!((run.mean_response - 0.018).abs() < 1e-5, "{}", run.mean_response);
    let own = simulate(&SimulationSetup { host_cpus: None, ..shared }, &Constant, 1);
    assert!(own.mean_response > 0.02, "{}", own.mean_response);
}

/// Work on the CPU and time off it, with a worker for everybody: a processor-sharing station and one without any queue. The
/// mean response time is the sum (Baskett, Chandy, Muntz and Palacios 1975).
#[test]
fn time_off_the_cpu_delays_nobody_else() {
    let mut scenario = scenario(1, 10_000, 10_000, 60.0);
    scenario.work.wait = Duration::from_millis(30);
    let expected = SERVICE.as_secs_f64() / 0.4 + 0.03;
    assert_near("response", figure(&runs(&scenario, &Exponential), |run| run.mean_response), expected);
}

/// Closed load without a queue anywhere: each client's cycle is its round trip and its work.
#[test]
fn clients_that_find_room_send_at_the_pace_of_their_cycle() {
    let mut scenario = scenario(20, 1, 1, 1.0);
    scenario.warm_up = Duration::from_secs(10);
    scenario.duration = Duration::from_secs(200);
    scenario.traffic = Traffic::Closed { clients: 20, round_trip: Duration::from_millis(40) };
    let rate = figure(&runs(&scenario, &Exponential), |run| run.answered as f64 / run.duration.as_secs_f64());
    assert_near("rate", rate, 20.0 / 0.05);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let scenario = scenario(3, 4, 2, 150.0);
    let runs = [7, 7, 8].map(|seed| simulate(&scenario, &Exponential, seed));
    let told = |run: &Run| (run.response.clone(), run.answered, run.usage, run.instances.clone());
    assert!(told(&runs[0]) == told(&runs[1]));
    assert!(told(&runs[0]) != told(&runs[2]));
}
