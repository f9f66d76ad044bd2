//! Redirects that nginx sends, over each protocol and from one place to another.

use std::num::NonZeroU32;
use std::time::Duration;

use stampede_core::{Endpoint, Protocol};
use stampede_load::{
    Backend, Check, LoadResult, LoadSpec, Location, RedirectRules, Statuses, TlsClient, TlsSpec, Trust, start_following,
};
use stampede_testkit::ReservedPort;

use crate::asking::{MS, on_each_backend, spec, total};
use crate::protocols::Nginx;

on_each_backend! {
    chains_are_one_request_over_every_protocol,
    a_chain_may_lead_elsewhere_and_comes_back,
    what_may_not_be_followed_is_a_failure_with_its_reason,
}

const REQUESTS: u64 = 60;

/// Asks for a path, of which the last answer must be 200.
fn follow(server: &Nginx, backend: Backend, protocol: Protocol, is_secure: bool, path: &str) -> LoadResult {
    let address = server.port.address();
    let mut spec = LoadSpec {
        protocol,
        tls: is_secure.then(|| TlsSpec {
            server_name: "localhost".to_owned(),
            trust: Trust::Anyone,
            client: TlsClient::default(),
        }),
        host: address.to_string(),
        requests: Some(REQUESTS),
        duration: Duration::from_secs(30),
        timeout: Some(10_000 * MS),
        ..spec(backend, &Endpoint::Tcp(address), "closed:3")
    };
    spec.exchanges[0].request.path = path.to_owned();
    spec.exchanges[0].check = Check::new(Statuses::only(200), Vec::new());
    let rules = RedirectRules {
        url: Location {
            encrypted: is_secure,
            host: address.ip().to_string(),
            port: address.port(),
            authority: address.to_string(),
            path: path.to_owned(),
        },
        allow_remote: false,
        resends_bodies: true,
        trust: Trust::Anyone,
        by_proxy: false,
    };
    let (running, samples) = start_following(spec, rules, false).unwrap();
    assert!(samples.is_none());
    let result = running.finish();
    let sum = total(&result);
    assert_eq!((sum.sent, sum.unfinished), (REQUESTS, 0), "{result:?}");
    result
}

const PATHS: &str = "location = /one { return 302 /two; } location = /two { return 308 ../three?x=y; }";

fn chains_are_one_request_over_every_protocol(backend: Backend) {
    let http2 = Protocol::Http2 { streams: NonZeroU32::new(4).unwrap() };
    for (listen, protocol, is_secure) in
        [("", Protocol::Http11, false), ("ssl", Protocol::Http11, true), ("ssl http2", http2, true)]
    {
        let server = Nginx::start(backend, listen, PATHS);
        let result = follow(&server, backend, protocol, is_secure, "/one");
        assert_eq!((result.total.requests.ok, result.reconnects), (REQUESTS, 0), "{listen}: {result:?}");
        assert_eq!(result.total.status.get(&200), Some(&REQUESTS), "{listen}: {result:?}");
        assert_eq!(server.answered(REQUESTS), REQUESTS, "{listen}");
    }
}

fn a_chain_may_lead_elsewhere_and_comes_back(backend: Backend) {
    let port = ReservedPort::new().unwrap();
    let other = port.address();
    let lines = format!("listen {other} ssl; location = /one {{ return 301 https://{other}/two; }}");
    let server = Nginx::start(backend, "", &lines);
    let result = follow(&server, backend, Protocol::Http11, false, "/one");
    assert_eq!((result.total.requests.ok, result.reconnects), (REQUESTS, 0), "{result:?}");
    assert_eq!(server.answered(REQUESTS), REQUESTS);
    // One for each end of each chain.
    assert!(result.total.connect.count() >= 2 * REQUESTS - 3, "{result:?}");
}

fn what_may_not_be_followed_is_a_failure_with_its_reason(backend: Backend) {
    let http2 = Protocol::Http2 { streams: NonZeroU32::new(4).unwrap() };
    for (listen, protocol, target, reason) in [
        (
            "",
            Protocol::Http11,
            "http://192.0.2.1/",
            "192.0.2.1, which is neither this machine nor in a private network",
        ),
        ("", Protocol::Http11, "/one", "stopped after 10 redirects"),
        ("", Protocol::Http11, "gopher://x/", "neither http:// nor https://"),
        ("", Protocol::Http11, "http://nowhere.invalid/", "the name of its host has no address"),
        ("ssl http2", http2, "https://127.0.0.1:1/", "another server"),
        ("", Protocol::Http11, "/two?%zz", "characters that a URL must not have"),
    ] {
        let lines = format!("location = /one {{ return 302 '{target}'; }}");
        let server = Nginx::start(backend, listen, &lines);
        let result = follow(&server, backend, protocol, listen.contains("ssl"), "/one");
        assert_eq!(result.total.requests.failed, REQUESTS, "{target}: {result:?}");
        let detail = result.first_failure.as_ref().map(|first| first.detail.as_str()).unwrap_or_default();
        assert!(detail.starts_with("follow the redirect: ") && detail.contains(reason), "{target}: {detail}");
    }
}
