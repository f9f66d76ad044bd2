//! Questions for a status to servers that answer, answer late, refuse, or answer something else.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use std::borrow::Cow;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use stampede_core::{Endpoint, StatusFormat, StatusSource, StatusTransport};
use stampede_wire::client::{Cause, SendError};
use stampede_wire::probe::Probe;

const SECOND: Duration = Duration::from_secs(1);
const FAST_CGI: StatusTransport =
    StatusTransport::FastCgi { script: Cow::Borrowed("/status"), query: Cow::Borrowed("json") };

/// A server that takes one connection and does this with it.
fn server(
    transport: StatusTransport,
    serve: impl FnOnce(UnixStream) + Send + 'static,
) -> (tempfile::TempDir, StatusSource<Endpoint>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("status");
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || serve(listener.accept().unwrap().0));
    (folder, StatusSource { address: Endpoint::Unix(path), transport, format: StatusFormat::FpmJson })
}

/// Reads the question as far as it comes at once and says these bytes.
fn says(text: &'static [u8]) -> impl FnOnce(UnixStream) + Send {
    move |mut stream| {
        assert!(stream.read(&mut [0; 1024]).unwrap() > 0);
        stream.write_all(text).unwrap();
    }
}

#[test]
fn a_status_is_read_over_each_transport() {
    let http = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".as_bytes();
    let fast_cgi = b"\x01\x06\0\x01\0\x0a\0\0A: b\r\n\r\nok\x01\x03\0\x01\0\x08\0\0\0\0\0\0\0\0\0\0";
    for (transport, text) in [
        (StatusTransport::Http("/status?auto".into()), http),
        (StatusTransport::Http("/".into()), b"HTTP/1.0 200 OK\r\n\r\nok"),
        (FAST_CGI, fast_cgi),
    ] {
        let (_folder, source) = server(transport.clone(), says(text));
        let mut probe = Probe::send(&source, SECOND).unwrap();
        assert_eq!(probe.wait(SECOND).unwrap().as_deref(), Some(b"ok".as_slice()), "{transport:?}");
    }
    let (_folder, source) = server(StatusTransport::Stream, |mut stream| stream.write_all(b"ok").unwrap());
    let mut probe = Probe::send(&source, SECOND).unwrap();
    assert_eq!(probe.wait(SECOND).unwrap().as_deref(), Some(b"ok".as_slice()));
}

#[test]
fn a_late_answer_is_waited_for_again() {
    let (answer, may_answer) = mpsc::channel::<()>();
    let (_folder, source) = server(StatusTransport::Http("/".into()), move |mut stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no").unwrap();
        may_answer.recv().unwrap();
        stream.write_all(b"k").unwrap();
    });
    let mut probe = Probe::send(&source, SECOND).unwrap();
    let began = Instant::now();
    for _ in 0..3 {
        assert_eq!(probe.wait(Duration::from_millis(20)).unwrap(), None);
    }
    assert!(began.elapsed() < SECOND);
    answer.send(()).unwrap();
    assert_eq!(probe.wait(SECOND).unwrap().as_deref(), Some(b"ok".as_slice()));
}

#[test]
fn no_status_is_an_error_with_its_cause() {
    let cause = |transport, text| {
        let (_folder, source) = server(transport, says(text));
        match Probe::send(&source, SECOND).unwrap().wait(SECOND) {
            Err(SendError::Wait(cause) | SendError::ReadBody(cause)) => cause,
            other => panic!("{other:?}"),
        }
    };
    let refused = cause(StatusTransport::Http("/".into()), b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
    assert!(matches!(refused, Cause::Refused(403)));
    let cut = cause(StatusTransport::Http("/".into()), b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nok");
    assert!(matches!(cut, Cause::Answer(_)), "{cut:?}");
    assert!(matches!(cause(FAST_CGI, b"HTTP/1.1 400"), Cause::FastCgi(_)));
    assert!(matches!(cause(FAST_CGI, b"\x01\x06\0\x01\0\x0a"), Cause::Io(_)));

    let (folder, source) = server(StatusTransport::Stream, drop);
    drop(folder);
    assert!(matches!(Probe::send(&source, SECOND), Err(SendError::Connect(_))));
}
