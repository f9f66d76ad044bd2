//! Where a unit tells how it is doing while it runs. Data of a deployment; the `observe` crate decodes it.

use crate::{AddressId, Endpoint, Gauge, UnitId};

/// A unit's status: where, how it is asked for, and how the answer is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusSource<A = AddressId> {
    /// Where. It takes no load.
    pub address: A,
    /// How it is asked for.
    pub transport: StatusTransport,
    /// How the answer is to be read.
    pub format: StatusFormat,
}

/// How a status is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusTransport {
    /// An HTTP request for this path and query.
    Http(&'static str),
    /// A FastCGI request for this script.
    FastCgi {
        /// `SCRIPT_NAME` and `SCRIPT_FILENAME`.
        script: &'static str,
        /// `QUERY_STRING`.
        query: &'static str,
    },
    /// A connection: the status comes by itself, and then its end.
    Stream,
}

/// How a status is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusFormat {
    /// PHP-FPM's page with `?json`. <https://www.php.net/manual/en/fpm.status.php>
    FpmJson,
    /// The page of Apache's `mod_status` with `?auto`. <https://httpd.apache.org/docs/2.4/mod/mod_status.html>
    ApacheAuto,
    /// nginx's `stub_status`. <https://nginx.org/en/docs/http/ngx_http_stub_status_module.html>
    NginxStub,
    /// What Caddy's administration end point says of the servers behind it, at `/reverse_proxy/upstreams`.
    /// <https://caddyserver.com/docs/api#get-reverse-proxyupstreams>
    CaddyUpstreams,
    /// Prometheus' text format, of which these metrics are read.
    /// <https://prometheus.io/docs/instrumenting/exposition_formats/>
    Prometheus(&'static [PrometheusMetric]),
    /// What FrankenPHP's administration end point says of its threads at `/frankenphp/threads`.
    FrankenPhpThreads,
    /// What Swoole's `Server::stats()` gives, as JSON, told by a worker.
    /// <https://wiki.swoole.com/en/#/server/methods?id=stats>
    SwooleJson,
    /// What uWSGI's stats server gives. <https://uwsgi-docs.readthedocs.io/en/latest/StatsServer.html>
    UwsgiJson,
}

/// A metric in Prometheus' text format. Values of all its series are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrometheusMetric {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub gauge: Gauge,
}

/// A unit's status at its real address.
pub type UnitStatus = (UnitId, StatusSource<Endpoint>);
