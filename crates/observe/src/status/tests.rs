//! Real servers' answers, captured.

use std::borrow::Cow;

use stampede_core::PrometheusMetric;

use super::*;
use Gauge::{
    Accepted, BusyWorkers, Connections, IdleWorkers, InFlight, KeptWorkers, MaxChildrenReached, Queue, Requests,
    Restarts, TotalWorkers, WorkerMemoryBytes,
};

const ROAD_RUNNER: &[PrometheusMetric] = &[
    PrometheusMetric { name: Cow::Borrowed("rr_http_workers_working"), gauge: BusyWorkers },
    PrometheusMetric { name: Cow::Borrowed("rr_http_worker_memory_bytes"), gauge: WorkerMemoryBytes },
    PrometheusMetric { name: Cow::Borrowed("rr_http_workers"), gauge: TotalWorkers },
];

/// A format, an answer, and what it says.
type Row = (StatusFormat, &'static str, &'static [(Gauge, u64)]);

#[test]
fn each_format_gives_what_its_server_says() {
    let rows: [Row; 10] = [
        (
            StatusFormat::FpmJson,
            include_str!("answers/fpm-unix.json"),
            &[(BusyWorkers, 1), (IdleWorkers, 3), (TotalWorkers, 4), (Accepted, 12), (MaxChildrenReached, 0)],
        ),
        (
            // Its sums are 8 of 8 after 8 requests on a kept connection.
            StatusFormat::FpmJson,
            include_str!("answers/fpm-kept.json"),
            &[
                (BusyWorkers, 0),
                (IdleWorkers, 3),
                (KeptWorkers, 1),
                (TotalWorkers, 4),
                (Accepted, 8),
                (MaxChildrenReached, 0),
            ],
        ),
        (
            StatusFormat::ApacheAuto,
            include_str!("answers/apache-prefork.txt"),
            &[(BusyWorkers, 0), (IdleWorkers, 4), (KeptWorkers, 0), (TotalWorkers, 4)],
        ),
        (StatusFormat::CaddyUpstreams, include_str!("answers/caddy-upstreams.json"), &[(InFlight, 3)]),
        (
            StatusFormat::NginxStub,
            include_str!("answers/nginx.txt"),
            &[(Connections, 2), (InFlight, 1), (Accepted, 13), (Requests, 31)],
        ),
        (
            StatusFormat::Prometheus(ROAD_RUNNER.into()),
            include_str!("answers/roadrunner.prom"),
            &[(BusyWorkers, 3), (WorkerMemoryBytes, 88_231_936)],
        ),
        (
            StatusFormat::FrankenPhpThreads,
            include_str!("answers/frankenphp-threads.json"),
            &[(BusyWorkers, 1), (IdleWorkers, 1), (TotalWorkers, 2), (Requests, 3378), (WorkerMemoryBytes, 783_792)],
        ),
        (
            // It began to wait between two looks at it.
            StatusFormat::FrankenPhpThreads,
            r#"{"ThreadDebugStates": [{"Name": "Regular PHP Thread", "IsWaiting": true, "IsBusy": true}]}"#,
            &[(BusyWorkers, 1), (IdleWorkers, 0), (TotalWorkers, 1)],
        ),
        (
            StatusFormat::SwooleJson,
            include_str!("answers/swoole-base.json"),
            &[(BusyWorkers, 1), (IdleWorkers, 2), (TotalWorkers, 3), (Connections, 5), (Accepted, 8), (Requests, 5)],
        ),
        (
            StatusFormat::UwsgiJson,
            include_str!("answers/uwsgi.json"),
            &[(BusyWorkers, 1), (IdleWorkers, 0), (TotalWorkers, 1), (Requests, 11), (Restarts, 1), (Queue, 2)],
        ),
    ];
    for (format, answer, figures) in rows {
        assert_eq!(decode(&format, answer.as_bytes()).unwrap(), figures, "{format:?}");
        for other in ["", "<html>", "{}", "200 OK"] {
            assert!(decode(&format, other.as_bytes()).is_err(), "{format:?} {other}");
        }
    }
}

#[test]
fn a_queue_is_told_where_the_server_knows_it() {
    let tcp = include_str!("answers/fpm-unix.json")
        .replace("\"listen queue\":0", "\"listen queue\":5")
        .replace("\"listen queue len\":0", "\"listen queue len\":511");
    assert!(decode(&StatusFormat::FpmJson, tcp.as_bytes()).unwrap().contains(&(Queue, 5)));
    let unix = include_str!("answers/uwsgi.json").replace("127.0.0.1:18996", "/run/uwsgi");
    assert!(!decode(&StatusFormat::UwsgiJson, unix.as_bytes()).unwrap().iter().any(|(gauge, _)| *gauge == Queue));
}

#[test]
fn each_state_of_apaches_workers_counts_as_what_it_is() {
    let board = "Scoreboard: __RWWDCLGKKKSI..\n";
    assert_eq!(
        decode(&StatusFormat::ApacheAuto, board.as_bytes()).unwrap(),
        [(BusyWorkers, 6), (IdleWorkers, 3), (KeptWorkers, 3), (TotalWorkers, 12)]
    );
}
