//! How a deployment shows that it is well: by a request of its workload and that request's status.

use stampede_core::{Exchange, Request};

/// A request as HTTP/1.1, with a connection of its own.
pub(crate) fn request(request: &Request, host: &str, port: u16) -> Vec<u8> {
    let Request { method, path, headers, body } = request;
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    [head.as_bytes(), b"\r\n", body].concat()
}

/// The path of a probe that an orchestrator sends by itself: it knows `GET` alone, and every status from 200 to 399 is well.
/// <https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/>
pub(crate) fn path(exchange: &Exchange) -> Option<&str> {
    let Request { method, path, headers, body } = &exchange.request;
    let is_plain = method == "GET" && headers.is_empty() && body.is_empty();
    (is_plain && (200..400).contains(&exchange.expect.status)).then_some(path.as_str())
}
