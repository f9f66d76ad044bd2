//! HTTP/1.0, HTTP/2 and TLS against nginx, which counts what it has answered in its access log.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::num::NonZeroU32;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use stampede_core::{Bytes, Endpoint, ErrorClass, Protocol};
use stampede_load::{
    Backend, BodyCheck, Check, LoadResult, LoadSpec, StartError, Statuses, TlsClient, TlsIdentity, TlsSpec, TlsVersion,
    Trust, start,
};
use stampede_plan::{MachineSize, parse_scenario};
use stampede_testkit::ReservedPort;
use tempfile::TempDir;

use crate::asking::{MS, on_each_backend, spec, total};

on_each_backend! {
    every_protocol_is_answered_and_counted,
    values_and_cookies_are_sent_by_every_protocol,
    connections_that_the_server_ends_in_order_are_opened_again,
    certificates_are_held_against_name_and_trust,
    a_server_that_speaks_something_else_is_named,
    a_client_shows_its_certificate_and_the_name_that_it_is_given,
}

const REQUESTS: u64 = 600;

const FLOWS: u64 = 200;

/// Failures are followed by pauses.
const FAILURES: u64 = 12;

/// nginx with a certificate for `localhost`.
pub(crate) struct Nginx {
    folder: TempDir,
    child: Child,
    pub(crate) port: ReservedPort,
    /// What it is asked with.
    backend: Backend,
}

impl Nginx {
    /// Starts it with these words after the address of `listen` and these lines in its server block.
    pub(crate) fn start(backend: Backend, listen: &str, lines: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        make_certificate(at);
        let port = ReservedPort::new().unwrap();
        let address = port.address();
        let run = at.display();
        let conf = format!(
            "daemon off; worker_processes 1; pid {run}/pid; error_log {run}/error.log; events {{}}
             http {{
               access_log {run}/access.log; keepalive_requests 1000000;
               client_body_temp_path {run}/body; proxy_temp_path {run}/proxy; fastcgi_temp_path {run}/fastcgi;
               uwsgi_temp_path {run}/uwsgi; scgi_temp_path {run}/scgi;
               server {{
                 listen {address} {listen};
                 ssl_certificate {run}/cert.pem; ssl_certificate_key {run}/key.pem;
                 {lines}
                 location / {{ return 200 'protocol $server_protocol'; }}
               }}
             }}"
        );
        fs::write(at.join("nginx.conf"), conf).unwrap();
        let child = Command::new("nginx")
            .args(["-e", "stderr", "-p"])
            .arg(at)
            .arg("-c")
            .arg(at.join("nginx.conf"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < deadline, "{}", fs::read_to_string(at.join("error.log")).unwrap_or_default());
            std::thread::yield_now();
        }
        Self { folder, child, port, backend }
    }

    /// Requests that it has answered with 200, once they are all in its log.
    pub(crate) fn answered(&self, expected: u64) -> u64 {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let log = fs::read_to_string(self.folder.path().join("access.log")).unwrap_or_default();
            let answered = log.lines().filter(|line| line.contains("\" 200 ")).count() as u64;
            if answered >= expected || Instant::now() > deadline {
                return answered;
            }
            std::thread::yield_now();
        }
    }

    fn certificate(&self) -> Vec<u8> {
        fs::read(self.folder.path().join("cert.pem")).unwrap()
    }

    fn ask(&self, protocol: Protocol, trust: Option<Trust>, requests: u64) -> LoadResult {
        self.ask_as("localhost", protocol, trust, "closed:3", requests)
    }

    fn ask_as(&self, name: &str, protocol: Protocol, trust: Option<Trust>, load: &str, requests: u64) -> LoadResult {
        let result = start(LoadSpec {
            protocol,
            tls: trust.map(|trust| TlsSpec { server_name: name.to_owned(), trust, client: TlsClient::default() }),
            requests: Some(requests),
            duration: Duration::from_secs(30),
            timeout: Some(10_000 * MS),
            ..spec(self.backend, &Endpoint::Tcp(self.port.address()), load)
        })
        .unwrap()
        .finish();
        let sum = total(&result);
        assert_eq!((sum.sent, sum.unfinished), (requests, 0), "{result:?}");
        result
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // The master ends its workers, but not when it is killed itself.
        if let Ok(pid) = self.child.id().try_into()
            && let Some(pid) = Pid::from_raw(pid)
        {
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.child.wait();
    }
}

fn make_certificate(at: &Path) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=stampede test", "-addext", "subjectAltName=DNS:localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(at.join("key.pem"))
        .arg("-out")
        .arg(at.join("cert.pem"))
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(made.success());
}

/// Whether both programs are there; says what is skipped where they are not.
fn can_run(test: &str) -> bool {
    let missing = [("nginx", "-v"), ("openssl", "version")]
        .into_iter()
        .find(|(program, arg)| Command::new(program).arg(arg).output().is_err());
    if let Some((program, _)) = missing {
        let _ = writeln!(std::io::stderr(), "SKIP {test}: needs {program}");
    }
    missing.is_none()
}

fn http2(streams: u32) -> Protocol {
    Protocol::Http2 { streams: NonZeroU32::new(streams).unwrap() }
}

fn every_protocol_is_answered_and_counted(backend: Backend) {
    if !can_run("every_protocol_is_answered_and_counted") {
        return;
    }
    for (listen, lines, protocol, encrypted) in [
        ("", "", Protocol::Http10, false),
        ("", "", Protocol::Http11, false),
        ("http2", "", http2(10), false),
        ("ssl", "", Protocol::Http11, true),
        ("ssl", "ssl_protocols TLSv1.2;", Protocol::Http11, true),
        ("ssl http2", "", http2(10), true),
    ] {
        let nginx = Nginx::start(backend, listen, lines);
        for load in ["closed:3", "open:3000@3"] {
            let trust = encrypted.then(|| Trust::Pem(nginx.certificate()));
            let result = nginx.ask_as("localhost", protocol, trust, load, REQUESTS);
            let what = format!("{protocol:?} {lines} {load}: {result:?}");
            assert_eq!(result.total.requests.ok, REQUESTS, "{what}");
            assert_eq!(result.total.tls.count() > 0, encrypted, "{what}");
            assert_eq!(result.total.status, [(200, REQUESTS)].into(), "{what}");
            assert!(result.bytes_received > 17 * REQUESTS, "{what}");
        }
        assert_eq!(nginx.answered(2 * REQUESTS), 2 * REQUESTS, "{protocol:?} {lines}");
    }
}

fn values_and_cookies_are_sent_by_every_protocol(backend: Backend) {
    if !can_run("values_and_cookies_are_sent_by_every_protocol") {
        return;
    }
    let yaml = "
        crowds:
          - load: closed:3
            flows:
              - name: visit
                cookies: true
                steps:
                  - {name: enter, path: /enter, capture: {next: {header: Location}}}
                  - name: look
                    path: '${next}'
                    headers: {X-Next: 'to ${next}', Content-Type: text/plain}
                    body: 'a body of ${next}'
                    check: {body: 'POST /look?a=b to /look?a=b s=1 19'}
    ";
    let machine = MachineSize { cpus: 1, memory: Bytes::from_mib(1), connections: 100 };
    let none = |_: &Path| Err(std::io::ErrorKind::NotFound.into());
    let scenario = Arc::new(parse_scenario(yaml, "scenario.yaml", machine, &BTreeMap::new(), &none).unwrap());
    let lines = "
        location /enter { add_header Location /look?a=b; add_header Set-Cookie s=1; return 200 x; }
        location /look { return 200 '$request_method $request_uri $http_x_next $http_cookie $content_length'; }";
    for (listen, protocol, encrypted) in [
        ("", Protocol::Http11, false),
        ("ssl", Protocol::Http11, true),
        ("http2", http2(4), false),
        ("ssl http2", http2(4), true),
    ] {
        let nginx = Nginx::start(backend, listen, lines);
        let trust = encrypted.then(|| Trust::Pem(nginx.certificate()));
        let result = start(LoadSpec {
            protocol,
            tls: trust.map(|trust| TlsSpec {
                server_name: "localhost".to_owned(),
                trust,
                client: TlsClient::default(),
            }),
            scenario: Some(Arc::clone(&scenario)),
            requests: Some(FLOWS),
            duration: Duration::from_secs(30),
            timeout: Some(10_000 * MS),
            ..spec(backend, &Endpoint::Tcp(nginx.port.address()), "closed:3")
        });
        let result = result.unwrap().finish();
        let ok: Vec<_> = result.steps.iter().map(|step| step.measures.requests.ok).collect();
        assert_eq!((ok, result.flows[0].count.completed), (vec![FLOWS, FLOWS], FLOWS), "{protocol:?} {result:?}");
        assert_eq!(nginx.answered(2 * FLOWS), 2 * FLOWS, "{protocol:?}");
    }
}

fn connections_that_the_server_ends_in_order_are_opened_again(backend: Backend) {
    if !can_run("connections_that_the_server_ends_in_order_are_opened_again") {
        return;
    }
    for (listen, protocol, encrypted) in [
        ("", Protocol::Http11, false),
        ("ssl", Protocol::Http11, true),
        ("http2", http2(4), false),
        ("ssl http2", http2(4), true),
    ] {
        let nginx = Nginx::start(backend, listen, "keepalive_requests 7;");
        let result = nginx.ask(protocol, encrypted.then_some(Trust::Anyone), REQUESTS);
        assert_eq!(result.total.requests.ok, REQUESTS, "{protocol:?}: {result:?}");
        assert!(result.reconnects > REQUESTS / 20, "{protocol:?}: {result:?}");
    }
}

fn certificates_are_held_against_name_and_trust(backend: Backend) {
    if !can_run("certificates_are_held_against_name_and_trust") {
        return;
    }
    let nginx = Nginx::start(backend, "ssl", "");
    let pem = || Trust::Pem(nginx.certificate());
    for (name, trust, words) in
        [("localhost", Trust::System, "from nobody who is trusted here"), ("example.org", pem(), "for another name")]
    {
        let result = nginx.ask_as(name, Protocol::Http11, Some(trust), "closed:3", FAILURES);
        assert_eq!(result.total.errors, [(ErrorClass::Tls, FAILURES)].into(), "{result:?}");
        let failure = result.first_failure.unwrap();
        assert!(failure.detail.contains(words), "{}", failure.detail);
    }
    let anyone = nginx.ask_as("example.org", Protocol::Http11, Some(Trust::Anyone), "closed:3", FAILURES);
    assert_eq!(anyone.total.requests.ok, FAILURES, "{anyone:?}");
}

fn a_server_that_speaks_something_else_is_named(backend: Backend) {
    if !can_run("a_server_that_speaks_something_else_is_named") {
        return;
    }
    let plain = Nginx::start(backend, "", "");
    let encrypted = Nginx::start(backend, "ssl", "");
    for (nginx, protocol, trust, class, words) in [
        (&plain, Protocol::Http11, Some(Trust::Anyone), ErrorClass::Tls, "does not speak TLS"),
        (&plain, http2(4), None, ErrorClass::Malformed, "HTTP/1 only"),
        (&encrypted, http2(4), Some(Trust::Anyone), ErrorClass::Tls, "does not offer the protocol"),
    ] {
        let result = nginx.ask(protocol, trust, FAILURES);
        assert_eq!(result.total.errors, [(class, FAILURES)].into(), "{protocol:?}: {result:?}");
        let failure = result.first_failure.unwrap();
        assert!(failure.detail.contains(words), "{protocol:?}: {}", failure.detail);
    }
}

/// The server asks for a certificate of the client, and answers with what it was shown.
fn a_client_shows_its_certificate_and_the_name_that_it_is_given(backend: Backend) {
    if !can_run("a_client_shows_its_certificate_and_the_name_that_it_is_given") {
        return;
    }
    let lines = "ssl_verify_client optional; ssl_client_certificate cert.pem; ssl_protocols TLSv1.2 TLSv1.3;
                 location = / { return 200 '$ssl_client_verify $ssl_server_name $host $ssl_protocol $ssl_cipher.'; }";
    let nginx = Nginx::start(backend, "ssl", lines);
    let other = tempfile::tempdir().unwrap();
    make_certificate(other.path());
    let identity = |at: &Path| {
        let [chain, key] = ["cert.pem", "key.pem"].map(|name| fs::read(at.join(name)).unwrap());
        TlsIdentity { chain, key }
    };
    let own = Some(identity(nginx.folder.path()));
    let plain = TlsClient::default;
    let suite = "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256".to_owned();
    let of = |client: TlsClient, body: &str| {
        let mut spec = LoadSpec {
            tls: Some(TlsSpec { server_name: "localhost".to_owned(), trust: Trust::Pem(nginx.certificate()), client }),
            host: "other.test".to_owned(),
            requests: Some(7),
            duration: Duration::from_secs(30),
            timeout: Some(10_000 * MS),
            ..spec(backend, &Endpoint::Tcp(nginx.port.address()), "closed:2")
        };
        spec.exchanges[0].check = Check::new(Statuses::new(vec![200..=399]), vec![BodyCheck::Contains(body.into())]);
        start(spec).map(|load| load.finish().total.requests)
    };
    for (client, body) in [
        // The Host header has another name than TLS.
        (TlsClient { identity: own.clone(), ..plain() }, "SUCCESS localhost other.test "),
        (plain(), "NONE localhost other.test "),
        (TlsClient { hides_name: true, ..plain() }, "NONE  other.test "),
        (TlsClient { version: Some(TlsVersion::Tls12), ..plain() }, " TLSv1.2 "),
        (TlsClient { version: Some(TlsVersion::Tls13), ..plain() }, " TLSv1.3 "),
        (
            TlsClient { version: Some(TlsVersion::Tls12), suites: vec![suite], ..plain() },
            " TLSv1.2 ECDHE-ECDSA-CHACHA20-POLY1305.",
        ),
    ] {
        let requests = of(client.clone(), body).unwrap();
        assert_eq!((requests.sent, requests.ok), (7, 7), "{client:?} {body}");
    }
    // Nobody whom the server trusts has signed it: it answers with 400.
    let stranger = TlsClient { identity: Some(identity(other.path())), ..plain() };
    let requests = of(stranger, "").unwrap();
    assert_eq!((requests.sent, requests.failed), (7, 7));
    let mixed = own.map(|own| TlsIdentity { key: identity(other.path()).key, ..own });
    for client in [
        TlsClient { identity: mixed, ..plain() },
        TlsClient { identity: Some(TlsIdentity { chain: b"none".to_vec(), key: b"none".to_vec() }), ..plain() },
        TlsClient { suites: vec!["TLS_NONE".to_owned()], ..plain() },
    ] {
        assert!(matches!(of(client, ""), Err(StartError::Tls(_))));
    }
}
