//! The client against servers that behave and servers that do not.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use stampede_core::{Endpoint, Request};
use stampede_wire::client::{Cause, SendError, send};
use stampede_wire::response::DecodeError;

const SECOND: Duration = Duration::from_secs(1);

fn get() -> Request {
    Request {
        method: "GET".to_owned(),
        path: "/".to_owned(),
        headers: [("X-A".to_owned(), "b".to_owned())].into(),
        body: Vec::new(),
    }
}

/// Reads one request without a body, writes the pieces, closes, and returns what it read.
fn serve_once(mut stream: impl Read + Write, pieces: &[&str]) -> String {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
        request.push(byte[0]);
    }
    for piece in pieces {
        stream.write_all(piece.as_bytes()).unwrap();
        stream.flush().unwrap();
    }
    String::from_utf8(request).unwrap()
}

fn server(pieces: &'static [&'static str]) -> (Endpoint, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = Endpoint::Tcp(listener.local_addr().unwrap());
    let thread = thread::spawn(move || serve_once(listener.accept().unwrap().0, pieces));
    (endpoint, thread)
}

#[test]
fn an_answer_comes_back_with_status_headers_and_body() {
    let (endpoint, server) =
        server(&["HTTP/1.1 201 Created\r\nX-Twice: 1\r\nX-Tw", "ice: 2\r\nContent-Length: 4\r\n\r\nbo", "dy"]);
    let answer = send(&endpoint, &get(), "example:80", SECOND).unwrap();
    assert_eq!((answer.status, answer.body.as_slice()), (201, &b"body"[..]));
    let twice = [("X-Twice", "1"), ("X-Twice", "2"), ("Content-Length", "4")];
    assert_eq!(answer.headers, twice.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(server.join().unwrap(), "GET / HTTP/1.1\r\nHost: example:80\r\nX-A: b\r\n\r\n");
}

#[test]
fn a_body_without_a_length_ends_with_the_connection() {
    let (endpoint, server) = server(&["HTTP/1.0 200 OK\r\n\r\n", "to the end"]);
    let answer = send(&endpoint, &get(), "h", SECOND).unwrap();
    assert_eq!(answer.body, b"to the end");
    server.join().unwrap();
}

#[test]
fn a_unix_socket_is_an_endpoint_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let server = thread::spawn(move || serve_once(listener.accept().unwrap().0, &["HTTP/1.1 204 No Content\r\n\r\n"]));
    let answer = send(&Endpoint::Unix(path), &get(), "h", SECOND).unwrap();
    assert_eq!(answer.status, 204);
    server.join().unwrap();
}

#[test]
fn an_error_says_how_far_the_request_got() {
    let closed = Endpoint::Tcp(TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    let error = send(&closed, &get(), "h", SECOND).unwrap_err();
    assert!(matches!(error, SendError::Connect(Cause::Io(_))), "{error:?}");
    assert_eq!(error.to_string(), "connect to the server");
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    assert!(cause.contains("refused"), "{cause}");

    let absent = Endpoint::Unix("/nonexistent/socket".into());
    let error = send(&absent, &get(), "h", SECOND).unwrap_err();
    assert!(matches!(error, SendError::Connect(Cause::Io(_))), "{error:?}");

    for (pieces, expected) in [
        (&[][..], SendError::Wait(DecodeError::Truncated.into())),
        (&["<h1>no HTTP</h1>"], SendError::Wait(DecodeError::StatusLine.into())),
        (&["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"], SendError::ReadBody(DecodeError::Truncated.into())),
    ] {
        let (endpoint, server) = server(pieces);
        let error = send(&endpoint, &get(), "h", SECOND).unwrap_err();
        assert_eq!(format!("{error:?}"), format!("{expected:?}"));
        server.join().unwrap();
    }
}

#[test]
fn the_time_limit_covers_the_whole_exchange() {
    let timeout = Duration::from_millis(150);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = Endpoint::Tcp(silent.local_addr().unwrap());
    let began = Instant::now();
    let error = send(&endpoint, &get(), "h", timeout).unwrap_err();
    assert!(matches!(error, SendError::Wait(Cause::TimedOut(_))), "{error:?}");
    assert!((timeout..10 * timeout).contains(&began.elapsed()));

    // Bytes that keep trickling do not extend it.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = Endpoint::Tcp(listener.local_addr().unwrap());
    let trickle = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        let mut left = 10_000;
        while left > 0 && stream.write_all(b"x").is_ok() {
            left -= 1;
            thread::sleep(Duration::from_millis(1));
        }
    });
    let began = Instant::now();
    let error = send(&endpoint, &get(), "h", timeout).unwrap_err();
    assert!(matches!(error, SendError::ReadBody(Cause::TimedOut(_))), "{error:?}");
    assert!((timeout..10 * timeout).contains(&began.elapsed()));
    trickle.join().unwrap();
}
