//! Redirects that are followed: the next request of a chain, and where it goes.
//!
//! The rules are those of Go's `net/http`, which hey has: <https://pkg.go.dev/net/http#Client>. The answers of a chain are one answer
//! to one request; only the last is compared and recorded. It is off the path of a load without redirects.

use std::net::IpAddr;

use stampede_core::{Endpoint, Protocol, Request};
use stampede_seam::{LoadExchange, TlsClient, TlsSpec, Trust};
use stampede_wire::h2::RequestHead;
use stampede_wire::location::{Location, LocationError};
use stampede_wire::request::{self, Version};
use stampede_wire::response::Head;
use thiserror::Error;

use crate::near_target::{TargetError, find_addresses};
use crate::prepared_exchange::is_head;
use crate::socket::Target;
use crate::tls::Security;

/// Requests of a chain, at most.
const MOST_REQUESTS: u32 = 10;

/// The longest `Location` that is followed.
const LONGEST: usize = 8 << 10;

/// How a load follows redirects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedirectRules {
    /// The URL of its requests.
    pub url: Location,
    /// Whether they may lead beyond this machine and private networks.
    pub allow_remote: bool,
    /// Whether a body is sent again where 307 or 308 ask for that; otherwise such an answer is the last.
    pub resends_bodies: bool,
    /// Whose certificates are trusted where they lead to TLS.
    pub trust: Trust,
    /// Whether all requests go to a proxy, which is given whole URLs.
    pub by_proxy: bool,
}

/// A redirect that is not followed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(crate) enum RedirectFault {
    #[error("stopped after 10 redirects")]
    TooMany,
    #[error("{0}")]
    Location(LocationError),
    #[error("its Location is longer than 8 KiB")]
    Long,
    #[error("the name of its host has no address")]
    Unknown,
    #[error("it leads to {0}, which is neither this machine nor in a private network; --allow-remote allows that")]
    Far(IpAddr),
    #[error("it leads to a host that TLS or a socket cannot be set up for")]
    Setup,
    #[error("it leads to another server, which a connection that requests share cannot")]
    Shared,
    #[error("it leads to https://, which does not go through a proxy here")]
    Proxy,
}

/// What an answer says of where its request is to be sent again.
#[derive(Debug, Default)]
pub(crate) struct Redirection {
    location: Vec<u8>,
    status: u16,
    is_one: bool,
    /// Whether the request has a body that is not sent again.
    pub(crate) keeps_body: bool,
}

impl Redirection {
    /// Looks at the head of an answer; whether it redirects.
    pub(crate) fn look(&mut self, head: &Head<'_>) -> bool {
        self.is_one = false;
        let repeats = matches!(head.status, 307 | 308);
        if !(repeats || matches!(head.status, 301..=303)) || (repeats && self.keeps_body) {
            return false;
        }
        let location = head.headers().find(|(name, _)| name.eq_ignore_ascii_case("location"));
        if let Some((_, location)) = location.filter(|(_, location)| !location.is_empty()) {
            self.is_one = true;
            self.status = head.status;
            self.location.clear();
            self.location.extend_from_slice(location.get(..=LONGEST).unwrap_or(location));
        }
        self.is_one
    }

    pub(crate) fn is_one(&self) -> bool {
        self.is_one
    }

    /// The status of a redirect.
    pub(crate) fn status(&self) -> u16 {
        self.status
    }

    /// The `Location` of a redirect, which is none any more.
    pub(crate) fn take(&mut self) -> &[u8] {
        self.is_one = false;
        &self.location
    }
}

/// The next request of a chain.
#[derive(Debug)]
pub(crate) struct Hop {
    /// Requests of the chain, this one among them.
    number: u32,
    at: Location,
    request: Request,
    /// The place that it goes to, where that is not the connection's own.
    pub(crate) detour: Option<usize>,
    /// As HTTP/1 has it.
    pub(crate) bytes: Vec<u8>,
    /// Its head as HTTP/2 has it.
    pub(crate) http2: Option<RequestHead>,
    pub(crate) is_head: bool,
}

impl Hop {
    /// What HTTP/2 sends beside the head.
    pub(crate) fn content(&self) -> &[u8] {
        &self.request.body
    }
}

/// Another place than that of the URL.
#[derive(Debug)]
struct Detour {
    at: Location,
    target: Target,
    security: Option<Security>,
}

/// What a thread has to follow redirects with.
#[derive(Debug)]
pub(crate) struct Redirects {
    rules: RedirectRules,
    /// What is sent first, in the order of the exchanges.
    requests: Vec<Request>,
    /// The value of `Host` to the URL.
    host: String,
    protocol: Protocol,
    keep_alive: bool,
    tls: Option<TlsSpec>,
    source: Option<IpAddr>,
    detours: Vec<Detour>,
}

impl Redirects {
    /// For a load without an author or a scenario.
    pub(crate) fn new(
        rules: RedirectRules,
        exchanges: &[LoadExchange],
        (host, protocol, keep_alive): (&str, Protocol, bool),
        tls: Option<&TlsSpec>,
        source: Option<IpAddr>,
    ) -> Self {
        // A proxy is given the whole URL.
        let origin = rules.url.origin();
        let path = |path: &str| path.strip_prefix(&origin).unwrap_or(path).to_owned();
        let requests = exchanges.iter().map(|exchange| &exchange.request);
        let requests = requests.map(|request| Request { path: path(&request.path), ..request.clone() }).collect();
        Self {
            rules,
            requests,
            host: host.to_owned(),
            protocol,
            keep_alive,
            tls: tls.cloned(),
            source,
            detours: Vec::new(),
        }
    }

    /// The same for another thread.
    pub(crate) fn for_thread(&self) -> Self {
        let Self { rules, requests, host, protocol, keep_alive, tls, source, detours: _ } = self;
        Self {
            rules: rules.clone(),
            requests: requests.clone(),
            host: host.clone(),
            protocol: *protocol,
            keep_alive: *keep_alive,
            tls: tls.clone(),
            source: *source,
            detours: Vec::new(),
        }
    }

    /// Whether the request under way has a body that is not sent again.
    pub(crate) fn keeps_body(&self, exchange: usize, hop: Option<&Hop>) -> bool {
        let request = hop.map(|hop| &hop.request).or_else(|| self.requests.get(exchange));
        !self.rules.resends_bodies && request.is_some_and(|request| !request.body.is_empty())
    }

    /// Where a detour goes.
    pub(crate) fn target(&self, detour: usize) -> Option<&Target> {
        self.detours.get(detour).map(|detour| &detour.target)
    }

    /// How a detour is encrypted, if it is.
    pub(crate) fn security(&self, detour: usize) -> Option<&Security> {
        self.detours.get(detour)?.security.as_ref()
    }

    /// The request that follows an answer of this status with a `Location`. A name is looked up once for each thread, which waits.
    pub(crate) fn follow(
        &mut self,
        exchange: usize,
        hop: Option<Box<Hop>>,
        status: u16,
        location: &[u8],
    ) -> Result<Box<Hop>, RedirectFault> {
        let first = self.requests.get(exchange).ok_or(RedirectFault::Setup)?;
        let (number, from, before) = match hop {
            Some(hop) => {
                let Hop { number, at, request, .. } = *hop;
                (number, at, request)
            }
            None => (1, Location { path: first.path.clone(), ..self.rules.url.clone() }, first.clone()),
        };
        if number >= MOST_REQUESTS {
            return Err(RedirectFault::TooMany);
        }
        if location.len() > LONGEST {
            return Err(RedirectFault::Long);
        }
        let (at, is_absolute) = from.join(location).map_err(RedirectFault::Location)?;
        let mut request = Request { path: at.path.clone(), headers: first.headers.clone(), ..before };
        if matches!(status, 301..=303) {
            if !matches!(request.method.as_str(), "GET" | "HEAD") {
                request.method = "GET".to_owned();
            }
            request.body.clear();
        }
        if !keeps_secrets(&self.rules.url, &at) {
            request.headers.retain(|name, _| !is_secret(name));
        }
        if !from.encrypted || at.encrypted {
            request.headers.retain(|name, _| !name.eq_ignore_ascii_case("referer"));
            request.headers.insert("Referer".to_owned(), from.url());
        }
        if !self.keep_alive && self.protocol == Protocol::Http11 {
            request.headers.insert("Connection".to_owned(), "close".to_owned());
        }
        let is_given = self.host != self.rules.url.authority && !is_absolute;
        let host = if is_given { self.host.clone() } else { at.authority.clone() };
        let detour = self.place(&at)?;
        if self.rules.by_proxy {
            request.path = at.url();
        }
        let scheme = if at.encrypted { "https" } else { "http" };
        let (bytes, http2) = match self.protocol {
            Protocol::Http10 => (request::encode_as(Version::Http10, &request, &host), None),
            Protocol::Http11 => (request::encode_as(Version::Http11, &request, &host), None),
            Protocol::Http2 { .. } => (Vec::new(), Some(RequestHead::new(&request, scheme, &host))),
        };
        let is_head = is_head(&bytes);
        Ok(Box::new(Hop { number: number + 1, at, request, detour, bytes, http2, is_head }))
    }

    /// The number of the detour to a place; nothing where it is that of the URL.
    fn place(&mut self, at: &Location) -> Result<Option<usize>, RedirectFault> {
        let Self { rules, detours, tls, source, protocol, .. } = self;
        if rules.by_proxy {
            return if at.encrypted { Err(RedirectFault::Proxy) } else { Ok(None) };
        }
        if at.is_same_origin(&rules.url) {
            return Ok(None);
        }
        if matches!(protocol, Protocol::Http2 { .. }) {
            return Err(RedirectFault::Shared);
        }
        if let Some(known) = detours.iter().position(|detour| detour.at.is_same_origin(at)) {
            return Ok(Some(known));
        }
        let addresses = find_addresses(&at.host, at.port, rules.allow_remote).map_err(|error| match error {
            TargetError::Far { ip, .. } => RedirectFault::Far(ip),
            TargetError::Unknown { .. } => RedirectFault::Unknown,
        })?;
        let address = *addresses.first().ok_or(RedirectFault::Unknown)?;
        let target = Target::new(&Endpoint::Tcp(address), *source).map_err(|_| RedirectFault::Setup)?;
        let security = if at.encrypted {
            let client = tls.as_ref().map_or_else(TlsClient::default, |tls| tls.client.clone());
            let spec = TlsSpec { server_name: at.host.clone(), trust: rules.trust.clone(), client };
            Some(Security::new(&spec, *protocol).map_err(|_| RedirectFault::Setup)?)
        } else {
            None
        };
        detours.push(Detour { at: at.clone(), target, security });
        Ok(Some(detours.len() - 1))
    }
}

/// Whether a host may be told what only the first should know: it is the same, or below it.
fn keeps_secrets(first: &Location, at: &Location) -> bool {
    let (first_host, host) = (first.host.to_ascii_lowercase(), at.host.to_ascii_lowercase());
    let is_below = host.strip_suffix(&first_host).is_some_and(|above| above.ends_with('.'));
    first.port == at.port && (host == first_host || is_below)
}

fn is_secret(name: &str) -> bool {
    ["authorization", "www-authenticate", "cookie", "cookie2"].iter().any(|secret| name.eq_ignore_ascii_case(secret))
}
