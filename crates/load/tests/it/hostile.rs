//! Servers that break the rules, or use all of them: each ends in the right count, and never in a hang.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_linger;
use stampede_core::{Endpoint, ErrorClass};
use stampede_load::{Backend, LoadSpec, start};

use crate::asking::{MS, on_each_backend, spec, total};

on_each_backend! {
    every_answer_ends_in_the_right_count,
}

const REQUESTS: u64 = 12;

/// What a server does once a request is there.
#[derive(Clone, Copy)]
struct Script {
    name: &'static str,
    answer: &'static str,
    /// Bytes that are written at once.
    piece: usize,
    /// Between two pieces.
    pause: Duration,
    then: Then,
}

#[derive(Clone, Copy, PartialEq)]
enum Then {
    Keep,
    Close,
    Reset,
}

fn serve(mut stream: TcpStream, script: Script, received: &AtomicU64) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut head, mut byte) = (Vec::new(), [0]);
    loop {
        if stream.read(&mut byte)? == 0 {
            return Ok(());
        }
        head.push(byte[0]);
        if !head.ends_with(b"\r\n\r\n") {
            continue;
        }
        head.clear();
        received.fetch_add(1, Ordering::SeqCst);
        for piece in script.answer.as_bytes().chunks(script.piece) {
            stream.write_all(piece)?;
            thread::sleep(script.pause);
        }
        match script.then {
            Then::Keep => {}
            Then::Close => return Ok(()),
            Then::Reset => return Ok(set_socket_linger(&stream, Some(Duration::ZERO))?),
        }
    }
}

fn script(name: &'static str, answer: &'static str, then: Then) -> Script {
    Script { name, answer, piece: usize::MAX, pause: Duration::ZERO, then }
}

fn every_answer_ends_in_the_right_count(backend: Backend) {
    use Then::{Close, Keep, Reset};
    let long_head = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(70_000)).leak();
    let many_headers = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(200)).leak();
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n2 \r\nde\r\n0\r\nT: u\r\n\r\n";
    let ten = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n";
    let by_byte = |mut script: Script| {
        script.piece = 1;
        script
    };
    let right = [
        by_byte(script("chunked, with extension and trailer, split at every byte", chunked, Keep)),
        script("chunked, at once", chunked, Keep),
        script(
            "1xx before the answer",
            "HTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            Keep,
        ),
        script("no length, ended by the close", "HTTP/1.1 200 OK\r\n\r\nhello", Close),
        script("204 without a length", "HTTP/1.1 204 No\r\n\r\n", Keep),
        script("304 with a length and no body", "HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\n", Keep),
        script("HTTP/1.0, closed", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", Close),
        script(
            "kept although it was to be closed",
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
            Keep,
        ),
        script("reset after the answer", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", Reset),
    ];
    for script in right {
        meets(backend, script, None);
    }
    let wrong = [
        (script("a head that breaks off", "HTTP/1.1 200 OK\r\nContent-Le", Close), ErrorClass::ClosedEarly),
        (
            script("a body that breaks off", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", Close),
            ErrorClass::ClosedEarly,
        ),
        (
            script("chunks that break off", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", Close),
            ErrorClass::ClosedEarly,
        ),
        (script("nothing", "", Close), ErrorClass::ClosedEarly),
        (script("reset in mid-body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", Reset), ErrorClass::Reset),
        (script("no HTTP", "SSH-2.0-OpenSSH\r\n", Keep), ErrorClass::Malformed),
        (script("HTTP/2 preface", "\0\0\x12\x04\0\0\0\0\0", Keep), ErrorClass::Malformed),
        (
            script("a chunk that is none", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", Keep),
            ErrorClass::Malformed,
        ),
        (
            script(
                "an endless chunk size",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
                Keep,
            ),
            ErrorClass::Malformed,
        ),
        (
            script("two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", Keep),
            ErrorClass::Malformed,
        ),
        (
            script(
                "two answers at once",
                "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
                Keep,
            ),
            ErrorClass::Malformed,
        ),
        (script("a head past the limit", long_head, Keep), ErrorClass::Malformed),
        (script("too many headers", many_headers, Keep), ErrorClass::Malformed),
        (script("a body that never comes", ten, Keep), ErrorClass::TimedOut),
        (script("nothing, and no close", "", Keep), ErrorClass::TimedOut),
        (
            Script {
                piece: 1,
                pause: 20 * MS,
                ..script("a byte now and then", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", Keep)
            },
            ErrorClass::TimedOut,
        ),
    ];
    for (script, class) in wrong {
        meets(backend, script, Some(class));
    }
}

/// Loads the server, closed and open, and sees that every request ended so.
fn meets(backend: Backend, script: Script, class: Option<ErrorClass>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = Endpoint::Tcp(listener.local_addr().unwrap());
    let received = Arc::new(AtomicU64::new(0));
    let of_server = Arc::clone(&received);
    // It ends with this program.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let received = Arc::clone(&of_server);
            // A client that has gone is no fault of the server.
            thread::spawn(move || drop(serve(stream, script, &received)));
        }
    });
    for load in ["closed:3", "open:400@4"] {
        let before = received.load(Ordering::SeqCst);
        let started = Instant::now();
        let spec = LoadSpec {
            requests: Some(REQUESTS),
            duration: Duration::from_secs(20),
            timeout: Some(120 * MS),
            ..spec(backend, &endpoint, load)
        };
        let result = start(spec).unwrap().finish();
        let what = format!("{} under {load}: {result:?}", script.name);
        assert!(started.elapsed() < Duration::from_secs(10), "{what}");
        let total = total(&result);
        assert_eq!((total.sent, total.unfinished), (REQUESTS, 0), "{what}");
        // The server may read the last request after the client has given it up.
        while received.load(Ordering::SeqCst) - before < REQUESTS && started.elapsed() < Duration::from_secs(10) {
            thread::yield_now();
        }
        assert_eq!(received.load(Ordering::SeqCst) - before, REQUESTS, "{what}");
        match class {
            None => assert_eq!(total.ok, REQUESTS, "{what}"),
            Some(class) => assert_eq!(result.total.errors, [(class, REQUESTS)].into(), "{what}"),
        }
    }
}
