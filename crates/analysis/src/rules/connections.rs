//! What becomes of connections between two answers.

use stampede_core::{ErrorClass, Finding, Load, Role, Severity};

use super::{CPU_EACH, cpu_each, finding, percent};
use crate::metric::{percentile, ratio};
use crate::record::Record;

/// From this share of answers on, closing is how the server works and no exception.
const CLOSES: f64 = 0.3;

/// Below this CPU time for a request, in microseconds, a connection for each is a tenth of it: opening and closing one took servers
/// and kernel 100 to 200 us where it was measured (nginx, Apache and Caddy on loopback).
const CHEAP_US: f64 = 1_500.0;

/// Below this CPU time it is a third.
const VERY_CHEAP_US: f64 = 500.0;

/// The name of the evidence that a connection costs clients so long before they can ask.
const ROUND_TRIP: &str = "round_trip_ms";

/// Whether a connection for each request is a good part of what requests cost.
pub(super) fn weighs(finding: &Finding) -> bool {
    costs_beside(finding, CHEAP_US)
}

/// Whether it is so much of it that little else can cost more.
pub(super) fn dominates(finding: &Finding) -> bool {
    costs_beside(finding, VERY_CHEAP_US)
}

/// Whether requests take less CPU time than that, or less than the round trip that a connection costs clients.
fn costs_beside(finding: &Finding, cheap_us: f64) -> bool {
    let of = |name: &str| finding.evidence.get(name);
    let round_trip_us = of(ROUND_TRIP).map_or(0.0, |trip| trip * 1e3);
    of(CPU_EACH).is_some_and(|cpu| *cpu < cheap_us.max(round_trip_us))
}

/// The server closed after (nearly) every answer, so that its figures hold the cost of connections.
pub(super) fn closed(record: &Record<'_>) -> Option<Finding> {
    let (reconnects, answered) = record.measurements().fold((0, 0), |(reconnects, answered), measured| {
        (reconnects + measured.reconnects, answered + measured.requests.ok + measured.requests.failed)
    });
    let share = ratio(reconnects as f64, answered as f64)?;
    let link = record.case.topology.link.filter(|link| !link.rtt.is_zero());
    let way = link.map_or_else(String::new, |link| {
        format!(" Each new one costs its client {:?} before it can send a request.", link.rtt)
    });
    (share >= CLOSES).then(|| {
        finding(
            "closes-connections",
            Severity::Warning,
            format!(
                "It closes the connection after {} of its responses, so its figures include the cost of connecting: do not compare them with those of servers that keep connections open.{way}",
                percent(share.min(1.0))
            ),
            [("reconnects", reconnects as f64), ("answered", answered as f64)]
                .into_iter()
                .chain(cpu_each(record))
                .chain(link.map(|link| (ROUND_TRIP, link.rtt.as_secs_f64() * 1e3))),
            "Compare it only with servers that close as well; in production, put a server in front that keeps connections open.",
        )
    })
}

/// The balancer opens a connection to a replica for each request.
pub(super) fn upstream_closed(record: &Record<'_>) -> Option<Finding> {
    record.measurements().next()?;
    let balancer = record.case.topology.balancer.as_ref().filter(|balancer| balancer.upstream_keepalive == 0)?;
    let text = format!("{} opens a connection to a replica for each request and keeps none.", balancer.kind.id());
    let advice = "Keep idle connections to replicas: --upstream-keepalive 32.";
    Some(finding("upstream-keepalive-off", Severity::Info, text, cpu_each(record), advice))
}

/// A share of the window in which a request that is served at all has long had its answer.
const PROMPT: f64 = 0.1;

/// Fewer workers than connections, of which some were served again and again and others never: a worker stays with its
/// connection.
pub(super) fn held(record: &Record<'_>) -> Option<Finding> {
    let Load::Closed { connections } = record.case.load else { return None };
    let (name, value) = record.case.tuning.of_role(Role::PoolSize).find(|(_, value)| value.parse::<u64>().is_ok())?;
    let workers = value.parse::<u64>().ok()? * u64::from(record.case.topology.replicas);
    let starved = record.measurements().filter(|measured| {
        let prompt = percentile(&measured.service, 0.5).is_some_and(|p50| p50 < measured.window.mul_f64(PROMPT));
        prompt && measured.warm_up.unfinished + measured.requests.unfinished > 0
    });
    let unfinished: u64 = starved.map(|measured| measured.warm_up.unfinished + measured.requests.unfinished).max()?;
    (workers < u64::from(connections)).then(|| {
        finding(
            "connections-hold-workers",
            Severity::Warning,
            format!(
                "Its {workers} workers served only the connections that they had: of {connections} connections, {unfinished} got no answer while the others were served repeatedly."
            ),
            [("workers", workers as f64), ("connections", f64::from(connections)), ("unfinished", unfinished as f64)],
            format!(
                "Raise {name} from {value} to the number of connections, or have a server in front keep the \
                 connections and workers close theirs."
            ),
        )
    })
}

/// The generator had no local port left, or no file descriptor.
pub(super) fn exhausted(record: &Record<'_>) -> Option<Finding> {
    let count: u64 = record.measurements().filter_map(|measured| measured.errors.get(&ErrorClass::Exhausted)).sum();
    (count > 0).then(|| {
        finding(
            "ports-exhausted",
            Severity::Error,
            format!(
                "{count} connections could not be opened: no local port or file descriptor was left. A closed connection keeps its port for a minute (TIME_WAIT)."
            ),
            [("exhausted", count as f64)],
            "Use keep-alive, lower the rate, or widen net.ipv4.ip_local_port_range and ulimit -n.",
        )
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::{Balance, Balancer, BalancerKind, ClientLink, Tunable, TunableKind};

    use super::*;
    use crate::rules::tests::found;
    use crate::samples;

    #[test]
    fn a_server_that_closes_after_every_answer_is_marked_and_one_that_does_now_and_then_is_not() {
        let closing = |share: f64| {
            found(closed, move |trial| {
                let measurement = trial.measurement.as_mut().unwrap();
                measurement.reconnects = (measurement.requests.ok as f64 * share) as u64;
            })
        };
        assert_eq!(closing(0.01), None);
        let finding = closing(1.0).unwrap();
        assert!(finding.text.starts_with("It closes the connection after 100 % of its responses"));
    }

    #[test]
    fn a_connection_for_each_request_weighs_where_requests_are_cheap() {
        // 5,000 requests in a trial.
        for (cpu_ms, weighty) in [(2_500, true), (10_000, false)] {
            let finding = found(closed, |trial| {
                let measurement = trial.measurement.as_mut().unwrap();
                measurement.reconnects = measurement.requests.ok;
                measurement.resources.as_mut().unwrap().cpu = Duration::from_millis(cpu_ms);
            });
            assert_eq!(finding.as_ref().is_some_and(weighs), weighty, "{finding:?}");
        }
    }

    #[test]
    fn a_round_trip_for_each_connection_weighs_beside_requests_that_take_less() {
        for (rtt_ms, weighty) in [(10, true), (1, false)] {
            let mut study = samples::study(&["a"]);
            let rtt = Duration::from_millis(rtt_ms);
            study.cases[0].topology.link = Some(ClientLink { rtt, bits_per_second: None });
            let mut trial = samples::measured("a", 1, 1_000.0);
            let measurement = trial.measurement.as_mut().unwrap();
            // 2 ms of CPU for each.
            measurement.reconnects = measurement.requests.ok;
            measurement.resources.as_mut().unwrap().cpu = 2 * Duration::from_millis(measurement.requests.ok);
            let trials = [trial];
            let finding = closed(&Record::new(&study, &study.cases[0], &trials)).unwrap();
            assert!(
                finding
                    .text
                    .ends_with(&format!("Each new one costs its client {rtt_ms}ms before it can send a request.")),
                "{finding:?}"
            );
            assert_eq!(weighs(&finding), weighty, "{rtt_ms} ms");
        }
    }

    #[test]
    fn a_balancer_that_keeps_no_connections_is_told() {
        let mut study = samples::study(&["a"]);
        let trials = [samples::measured("a", 1, 1_000.0)];
        assert_eq!(upstream_closed(&Record::new(&study, &study.cases[0], &trials)), None);
        for (upstream_keepalive, told) in [(32, false), (0, true)] {
            let (kind, balance) = (BalancerKind::Nginx, Balance::RoundRobin);
            study.cases[0].topology.balancer =
                Some(Balancer { kind, balance, upstream_keepalive, tls: false, share: None });
            let finding = upstream_closed(&Record::new(&study, &study.cases[0], &trials));
            assert_eq!(finding.is_some(), told, "{upstream_keepalive}: {finding:?}");
        }
    }

    #[test]
    fn workers_that_stay_with_their_connections_are_told_where_others_starve() {
        let pool = Tunable {
            name: "pool",
            role: Role::PoolSize,
            kind: TunableKind::Count { min: 1, max: 99 },
            summary: "",
            manual: "",
        };
        for (name, workers, unfinished, told) in
            [("starved", "4", 12, true), ("enough workers", "16", 12, false), ("nobody starves", "4", 0, false)]
        {
            let mut study = samples::study(&["a"]);
            study.cases[0].tuning.give("pool", workers);
            study.cases[0].tuning = study.cases[0].tuning.clone().with_roles(&[pool]);
            let mut trial = samples::measured("a", 1, 1_000.0);
            trial.measurement.as_mut().unwrap().warm_up.unfinished = unfinished;
            let trials = [trial];
            let finding = held(&Record::new(&study, &study.cases[0], &trials));
            assert_eq!(finding.is_some(), told, "{name}: {finding:?}");
        }
    }

    #[test]
    fn ports_that_ran_out_are_told() {
        let finding = found(exhausted, |trial| {
            trial.measurement.as_mut().unwrap().errors.insert(ErrorClass::Exhausted, 7);
        });
        assert!(finding.unwrap().text.starts_with("21 connections could not be opened"));
    }
}
