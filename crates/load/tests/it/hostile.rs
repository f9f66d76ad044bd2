//! Servers that break the rules, or use all of them: each ends in the right count, and never in a hang.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_linger;
use stampede_core::{Endpoint, ErrorClass};
use stampede_load::{Backend, LoadResult, LoadSpec, start, start_sampled};
use stampede_seam::{Breach, BreakCount, BreakPoint};

use crate::asking::{MS, on_each_backend, spec, total};

on_each_backend! {
    every_answer_ends_in_the_right_count,
    a_broken_rule_is_shown_with_its_bytes,
    interim_answers_are_counted_apart_and_are_no_first_byte,
    requests_that_break_off_are_told_by_how_far_they_were,
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

/// Drives so many requests of one connection at a server that follows the script.
fn drive(backend: Backend, script: Script, requests: u64) -> LoadResult {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = Endpoint::Tcp(listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || drop(serve(stream, script, &AtomicU64::new(0))));
        }
    });
    let spec = LoadSpec {
        requests: Some(requests),
        duration: Duration::from_secs(20),
        timeout: Some(200 * MS),
        ..spec(backend, &endpoint, "closed:1")
    };
    start(spec).unwrap().finish()
}

fn a_broken_rule_is_shown_with_its_bytes(backend: Backend) {
    use Then::{Close, Keep};
    let quoted = "HTTP/1.1 200 OK\r\nServer: odd\r\n\"X-Powered-By: PHP\"\r\nContent-Length: 0\r\n\r\n";
    let chunk_end = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok0\r\n\r\n";
    let bad_chunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nzz\r\n";
    let in_pieces = |mut script: Script| {
        (script.piece, script.pause) = (7, MS);
        script
    };
    for (script, rule, bytes) in [
        (
            script("quotation marks", quoted, Keep),
            "a header line is in quotation marks",
            "\"X-Powered-By: PHP\"\r\nContent",
        ),
        (in_pieces(script("quotation marks, cut", quoted, Keep)), "a header line is", "\""),
        (
            script("a body after 204", "HTTP/1.1 204 No Content\r\n\r\nhello", Keep),
            "a body follows an answer with status 204",
            "hello",
        ),
        (
            script("a body after 304", "HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\nhello", Keep),
            "a body follows an answer with status 304",
            "hello",
        ),
        (script("the end of chunks", chunk_end, Keep), "the end of a chunked body", "0\r\n\r\n"),
        (script("no chunk", bad_chunk, Keep), "a chunk is not its size", "zz\r\n"),
        (script("no HTTP", "SSH-2.0-OpenSSH\r\n", Keep), "it does not begin with a status line", "SSH-2.0"),
        (
            script("two answers", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n", Keep),
            "a second answer follows one request",
            "HTTP/1.1 200 OK\r\n",
        ),
    ] {
        let result = drive(backend, script, 3);
        let Some(Breach { step: 0, rule: found, bytes: kept }) = &result.facts.breach else {
            panic!("{}: {result:?}", script.name)
        };
        let kept = String::from_utf8_lossy(kept);
        assert!(found.starts_with(rule) && kept.starts_with(bytes), "{}: {found}: {kept:?}", script.name);
    }
    // What keeps the rules, and what breaks off, is no breach.
    for script in [
        script("right", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", Keep),
        script("broken off", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", Close),
        script("closed without an answer", "", Close),
    ] {
        assert_eq!(drive(backend, script, 3).facts.breach, None, "{}", script.name);
    }
    let facts =
        drive(backend, script("a name", "HTTP/1.1 200 OK\r\nserver: a/1\r\nContent-Length: 2\r\n\r\nok", Keep), 3)
            .facts;
    assert_eq!((facts.server.as_deref(), facts.first_length, facts.body_bytes), (Some("a/1"), Some(2), 6));
    assert_eq!((facts.other_lengths, facts.not_kept), (0, 0));
}

/// The final answer comes 60 ms after the interim one.
fn interim_answers_are_counted_apart_and_are_no_first_byte(backend: Backend) {
    let early = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n";
    let answer = format!("{early}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").leak();
    let apart = Script { piece: early.len(), pause: 60 * MS, ..script("103", answer, Then::Keep) };
    let result = drive(backend, apart, 3);
    assert_eq!((result.total.requests.ok, result.total.status.clone()), (3, [(200, 3)].into()), "{result:?}");
    assert_eq!(result.facts.interim, [(103, 3)].into(), "{result:?}");
    assert!(result.total.first_byte.min() >= 55 * MS, "{result:?}");
    let at_once = drive(backend, script("103 at once", answer, Then::Keep), 3);
    assert_eq!(at_once.facts.interim, [(103, 3)].into(), "{at_once:?}");
}

fn requests_that_break_off_are_told_by_how_far_they_were(backend: Backend) {
    use Then::{Close, Keep, Reset};
    let ten = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello";
    for (script, class, point) in [
        (script("nothing", "", Close), ErrorClass::ClosedEarly, BreakPoint::Waiting),
        (script("a head that breaks off", "HTTP/1.1 200 OK\r\nCont", Close), ErrorClass::ClosedEarly, BreakPoint::Head),
        (script("a body that breaks off", ten, Close), ErrorClass::ClosedEarly, BreakPoint::Body),
        (script("reset in mid-body", ten, Reset), ErrorClass::Reset, BreakPoint::Body),
        (script("silence", "", Keep), ErrorClass::TimedOut, BreakPoint::Waiting),
        (script("a body that never comes", ten, Keep), ErrorClass::TimedOut, BreakPoint::Body),
    ] {
        let result = drive(backend, script, 3);
        assert_eq!(result.facts.breaks, [BreakCount { class, point, count: 3 }], "{}: {result:?}", script.name);
    }
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = Endpoint::Tcp(nobody.local_addr().unwrap());
    drop(nobody);
    let spec = LoadSpec { requests: Some(3), ..spec(backend, &endpoint, "closed:1") };
    let (load, mut reader) = start_sampled(spec).unwrap();
    let result = load.finish();
    let refused = BreakCount { class: ErrorClass::Refused, point: BreakPoint::Connecting, count: 3 };
    assert_eq!(result.facts.breaks, [refused], "{result:?}");
    let mut samples = Vec::new();
    assert!(!reader.read(|batch| samples.extend_from_slice(batch)));
    assert!(samples.iter().all(|sample| sample.sent_ns.is_none() && sample.status.is_none()), "{samples:?}");
    assert_eq!((samples.len(), reader.lost()), (3, 0));
}
