//! A load as another tool's command line asks for it.

use std::net::IpAddr;
use std::time::Duration;

use stampede_core::{Endpoint, Load, Protocol, Request};
use stampede_plan::HttpUrl;
use stampede_seam::{Backend, Check, LoadExchange, LoadSpec, Pause, Statuses, TlsClient, TlsSpec, Trust};

/// A load by count may take this long.
pub(crate) const DAY: Duration = Duration::from_secs(24 * 3600);

/// A load as another tool would drive it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolRun {
    /// What the requests are sent to.
    pub url: HttpUrl,
    /// The value of the `Host` header.
    pub(crate) host: String,
    pub(crate) request: Request,
    pub(crate) protocol: Protocol,
    pub(crate) load: Load,
    /// How many requests, where that ends it.
    pub(crate) requests: Option<u64>,
    /// How long, at most.
    pub(crate) duration: Duration,
    /// How long answers are waited for after that.
    pub(crate) drain: Duration,
    /// How long one request may take.
    pub(crate) timeout: Option<Duration>,
    pub(crate) keep_alive: bool,
    /// Threads of the generator.
    pub threads: usize,
    /// Whether the target may be outside of this machine and private networks.
    pub allow_remote: bool,
    /// Whether no progress is printed.
    pub quiet: bool,
    /// What few command lines ask for.
    pub extras: Extras,
}

/// What few command lines ask for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extras {
    /// The proxy that requests go to, as `HOST:PORT`, in place of the URL's place.
    pub proxy: Option<String>,
    /// How many requests are kept one by one, at most.
    pub samples: Option<usize>,
    /// Whether redirects are followed.
    pub follows_redirects: bool,
    /// The address that connections come from.
    pub(crate) source: Option<IpAddr>,
    /// The server's name for TLS, where it is not the URL's host.
    pub(crate) server_name: Option<String>,
    pub(crate) client: TlsClient,
}

impl ToolRun {
    /// The load for the engine. As these tools do, it takes any certificate.
    pub fn spec(self, targets: Vec<Endpoint>, cpus: Vec<u32>, backend: Backend) -> LoadSpec {
        let Self {
            url,
            host,
            request,
            protocol,
            load,
            requests,
            duration,
            drain,
            timeout,
            keep_alive,
            threads: _,
            allow_remote: _,
            quiet: _,
            extras,
        } = self;
        let Extras { proxy: _, samples: _, follows_redirects: _, source, server_name, client } = extras;
        // What `stampede load` takes as right, so that both end with the same exit code.
        let check = Check::new(Statuses::new(vec![200..=399]), Vec::new());
        LoadSpec {
            targets,
            protocol,
            tls: url.encrypted.then(|| TlsSpec {
                server_name: server_name.unwrap_or(url.host),
                trust: Trust::Anyone,
                client,
            }),
            host,
            exchanges: vec![LoadExchange::new(request, check)],
            load,
            think: Pause::default(),
            scenario: None,
            warm_up: Duration::ZERO,
            duration,
            requests,
            drain,
            timeout,
            keep_alive,
            seed: 0,
            shard: None,
            source,
            slices: false,
            cpus,
            backend,
        }
    }
}
