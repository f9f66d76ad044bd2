//! Where a unit tells how it is doing while it runs. Data of a deployment; the `observe` crate decodes it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{AddressId, Endpoint, Gauge, UnitId};

/// A unit's status: where, how it is asked for, and how the answer is to be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusSource<A = AddressId> {
    /// Where.
    pub address: A,
    /// How it is asked for.
    pub transport: StatusTransport,
    /// How the answer is to be read.
    pub format: StatusFormat,
}

impl<A> StatusSource<A> {
    /// Whether nothing else is asked for there: a database tells of itself where it is asked for all else.
    pub fn takes_no_load(&self) -> bool {
        !matches!(self.transport, StatusTransport::Postgres { .. })
    }
}

/// How a status is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StatusTransport {
    /// An HTTP request for this path and query.
    Http(Cow<'static, str>),
    /// A FastCGI request for this script.
    FastCgi {
        /// `SCRIPT_NAME` and `SCRIPT_FILENAME`.
        script: Cow<'static, str>,
        /// `QUERY_STRING`.
        query: Cow<'static, str>,
    },
    /// A connection: the status comes by itself, and then its end.
    Stream,
    /// A question in SQL, on a connection that is kept.
    Postgres {
        /// Who asks.
        login: DatabaseLogin,
        /// The question.
        question: Cow<'static, str>,
    },
}

/// Who asks a database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseLogin {
    /// The user.
    pub user: Cow<'static, str>,
    /// Its password.
    pub password: Cow<'static, str>,
    /// The database that is connected to.
    pub database: Cow<'static, str>,
}

/// How a status is to be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    Prometheus(Cow<'static, [PrometheusMetric]>),
    /// What FrankenPHP's administration end point says of its threads at `/frankenphp/threads`.
    FrankenPhpThreads,
    /// What Swoole's `Server::stats()` gives, as JSON, told by a worker.
    /// <https://wiki.swoole.com/en/#/server/methods?id=stats>
    SwooleJson,
    /// What uWSGI's stats server gives. <https://uwsgi-docs.readthedocs.io/en/latest/StatsServer.html>
    UwsgiJson,
    /// Rows of what clients' connections do: their state, what they wait for, the query, and how many do just that.
    /// <https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ACTIVITY-VIEW>
    PostgresActivity,
}

/// A metric in Prometheus' text format. Values of all its series are added up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrometheusMetric {
    /// Its name.
    pub name: Cow<'static, str>,
    /// What it is.
    pub gauge: Gauge,
}

/// A unit's status at its real address.
pub type UnitStatus = (UnitId, StatusSource<Endpoint>);
