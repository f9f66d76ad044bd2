//! How units tell what they are doing: each on an address of its own, which takes no load and is in no access log.
//!
//! Only what a server counts anyway is asked for. What it would count for each request beside that is left off, since it
//! would be measured with the requests: Caddy's metrics, RoadRunner's metrics of requests, Apache's `ExtendedStatus`.

use std::borrow::Cow;

use stampede_core::{
    Address, AddressId, AddressKind, Gauge, PrometheusMetric, StatusFormat, StatusSource, StatusTransport,
};

/// A way to tell.
pub(crate) struct Status {
    /// The name of its address.
    id: &'static str,
    kind: AddressKind,
    transport: StatusTransport,
    format: StatusFormat,
    /// What is told, and by what: a line of `stampede show runtime`.
    pub(crate) says: &'static str,
}

pub(crate) const FPM: Status = Status {
    id: "fpm-status",
    kind: AddressKind::UnixSocket,
    transport: StatusTransport::FastCgi { script: Cow::Borrowed("/status"), query: Cow::Borrowed("json") },
    format: StatusFormat::FpmJson,
    says: "PHP-FPM's status page on pm.status_listen, which a full pool answers too (PHP 8.0 and later): busy, idle and \
           all workers, accepted connections, how often pm.max_children was reached; over TCP also the queue",
};

/// The same where connections are kept: what each worker does.
pub(crate) const FPM_WORKERS: Status = Status {
    id: FPM.id,
    kind: FPM.kind,
    transport: StatusTransport::FastCgi { script: Cow::Borrowed("/status"), query: Cow::Borrowed("json&full") },
    format: StatusFormat::FpmJson,
    says: FPM.says,
};

pub(crate) const NGINX: Status = Status {
    id: "nginx-status",
    kind: AddressKind::UnixSocket,
    transport: StatusTransport::Http(Cow::Borrowed("/")),
    format: StatusFormat::NginxStub,
    says: "nginx's stub_status: open connections, requests in flight, accepted connections, requests",
};

pub(crate) const CADDY: Status = Status {
    id: "caddy-status",
    kind: AddressKind::UnixSocket,
    transport: StatusTransport::Http(Cow::Borrowed("/reverse_proxy/upstreams")),
    format: StatusFormat::CaddyUpstreams,
    says: "Caddy's administration end point: requests in flight to PHP-FPM",
};

pub(crate) const APACHE: Status = Status {
    id: "apache-status",
    kind: AddressKind::Tcp,
    transport: StatusTransport::Http(Cow::Borrowed("/?auto")),
    format: StatusFormat::ApacheAuto,
    says: "Apache's mod_status, which needs a free worker to answer: busy and idle workers, and those that are bound to \
           a connection between two requests",
};

pub(crate) const UWSGI: Status = Status {
    id: "uwsgi-status",
    kind: AddressKind::UnixSocket,
    transport: StatusTransport::Stream,
    format: StatusFormat::UwsgiJson,
    says: "uWSGI's stats server: busy, idle and all workers, requests, replaced workers; in mode http-socket also the \
           queue",
};

pub(crate) const FRANKENPHP: Status = Status {
    id: "frankenphp-status",
    kind: AddressKind::UnixSocket,
    transport: StatusTransport::Http(Cow::Borrowed("/frankenphp/threads")),
    format: StatusFormat::FrankenPhpThreads,
    says: "FrankenPHP's threads on its administration end point: busy, idle and all threads (in worker mode those of \
           workers), requests, PHP's memory",
};

pub(crate) const ROADRUNNER: Status = Status {
    id: "roadrunner-status",
    kind: AddressKind::Tcp,
    transport: StatusTransport::Http(Cow::Borrowed("/metrics")),
    format: StatusFormat::Prometheus(Cow::Borrowed(&[
        PrometheusMetric { name: Cow::Borrowed("rr_http_workers_working"), gauge: Gauge::BusyWorkers },
        PrometheusMetric { name: Cow::Borrowed("rr_http_workers_ready"), gauge: Gauge::IdleWorkers },
        PrometheusMetric { name: Cow::Borrowed("rr_http_total_workers"), gauge: Gauge::TotalWorkers },
        PrometheusMetric { name: Cow::Borrowed("rr_http_workers_memory_bytes"), gauge: Gauge::WorkerMemoryBytes },
    ])),
    says: "RoadRunner's metrics: busy, idle and all workers, their resident memory",
};

pub(crate) const SWOOLE: Status = Status {
    id: "swoole-status",
    kind: AddressKind::UnixSocket,
    transport: StatusTransport::Http(Cow::Borrowed("/")),
    format: StatusFormat::SwooleJson,
    says: "Swoole's stats(), told by a worker: busy, idle and all workers, open connections, accepted connections, \
           requests",
};

impl Status {
    /// Where it is told.
    pub(crate) fn address(&self) -> Address {
        Address { id: self.id(), kind: self.kind }
    }

    /// The address's name.
    pub(crate) fn id(&self) -> AddressId {
        AddressId::new(self.id)
    }

    /// How a unit names it.
    pub(crate) fn source(&self) -> StatusSource {
        StatusSource { address: self.id(), transport: self.transport.clone(), format: self.format.clone() }
    }
}
