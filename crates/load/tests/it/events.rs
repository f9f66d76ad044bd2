//! Streams of server-sent events: servers that send them as they should, and servers that do not.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use stampede_core::{Bytes, Endpoint, ErrorClass, Protocol};
use stampede_load::{Backend, LoadExchange, LoadResult, LoadSpec, start};
use stampede_plan::{MachineSize, parse_scenario};
use stampede_seam::EventMeasures;

use crate::asking::{MS, on_each_backend, spec};
use crate::http2_peer::{Came, DATA, END_HEADERS, END_STREAM, HEADERS, Http2Server, Peer, RST_STREAM};

on_each_backend! {
    a_step_ends_where_it_was_to_and_its_connection_with_it,
    a_stream_that_is_none_or_breaks_off_ends_in_the_right_count,
    what_has_no_end_is_ended,
    a_stream_is_held_for_its_time_and_no_longer_than_the_load,
    times_are_those_of_the_server,
    a_flow_resumes_where_a_stream_ended,
    streams_of_http2_end_without_their_connection,
}

const MACHINE: MachineSize = MachineSize { cpus: 4, memory: Bytes::from_mib(1024), connections: 1000 };

/// What a server does with the head of a request and the connection that it came on, until `false`.
type Serve = fn(&str, &mut TcpStream) -> io::Result<bool>;

struct Server {
    endpoint: Endpoint,
    requests: Arc<AtomicU64>,
    connections: Arc<AtomicU64>,
}

impl Server {
    /// It lives as long as the test.
    fn start(serve: Serve) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint::Tcp(listener.local_addr().unwrap());
        let (requests, connections) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (came, opened) = (Arc::clone(&requests), Arc::clone(&connections));
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                opened.fetch_add(1, Ordering::SeqCst);
                let came = Arc::clone(&came);
                // A client that has gone is no fault of the server.
                thread::spawn(move || drop(answer_all(&mut stream, serve, &came)));
            }
        });
        Self { endpoint, requests, connections }
    }

    fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }
}

fn answer_all(stream: &mut TcpStream, serve: Serve, came: &AtomicU64) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut head, mut byte) = (Vec::new(), [0]);
    while stream.read(&mut byte)? > 0 {
        head.push(byte[0]);
        if head.ends_with(b"\r\n\r\n") {
            came.fetch_add(1, Ordering::SeqCst);
            let text = String::from_utf8(std::mem::take(&mut head)).unwrap();
            if !serve(&text, stream)? {
                break;
            }
        }
    }
    Ok(())
}

const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n";

/// The head of a stream in chunks.
fn chunked(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(format!("{STREAM}Transfer-Encoding: chunked\r\n\r\n").as_bytes())
}

fn chunk(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(&[format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat())
}

/// A load of one connection, with a scenario of one user class; requests may take 300 ms.
fn of_scenario(backend: Backend, endpoint: &Endpoint, class: &str, requests: Option<u64>) -> LoadSpec {
    let files = |_: &std::path::Path| Err(ErrorKind::NotFound.into());
    let scenario =
        parse_scenario(&format!("crowds: [{class}]"), "scenario.yaml", MACHINE, &BTreeMap::new(), &files).unwrap();
    LoadSpec {
        exchanges: Vec::<LoadExchange>::new(),
        scenario: Some(Arc::new(scenario)),
        requests,
        duration: if requests.is_some() { Duration::from_secs(20) } else { 500 * MS },
        timeout: Some(300 * MS),
        ..spec(backend, endpoint, "closed:1")
    }
}

/// `requests` flows of one step.
fn hear(backend: Backend, serve: Serve, step: &str, requests: u64) -> (LoadResult, Server) {
    let server = Server::start(serve);
    let yaml = format!("{{load: 'closed:1', requests: [{{name: live, path: /live, {step}}}]}}");
    let started = Instant::now();
    let result = start(of_scenario(backend, &server.endpoint, &yaml, Some(requests))).unwrap().finish();
    assert!(started.elapsed() < Duration::from_secs(10), "{step}: {result:?}");
    (result, server)
}

fn heard(result: &LoadResult) -> &EventMeasures {
    result.steps.iter().find_map(|step| step.measures.events.as_deref()).unwrap()
}

/// Ten events of two types with comments between them, in chunks of three bytes, and then silence.
fn ten_events(head: &str, stream: &mut TcpStream) -> io::Result<bool> {
    assert!(head.contains("\r\nAccept: text/event-stream\r\n") && head.contains("\r\nCache-Control: no-store\r\n"));
    chunked(stream)?;
    let mut text = "\u{feff}retry: 5\n\n".to_owned();
    for number in 0..10 {
        let kind = if number % 2 == 0 { "even" } else { "odd" };
        let _ = write!(text, ": here\r\nevent: {kind}\rid: {number}\ndata: {{\"n\":\ndata: {number}}}\r\n\r\n");
    }
    text.as_bytes().chunks(3).try_for_each(|bytes| chunk(stream, bytes))?;
    Ok(true)
}

fn a_step_ends_where_it_was_to_and_its_connection_with_it(backend: Backend) {
    for (step, ok, events, others) in [
        ("events: {count: 10}", 3, 10, 0),
        ("events: {count: 4}", 3, 4, 0),
        ("events: {count: 3, type: odd}", 3, 3, 3),
        ("events: {until: '7}'}", 3, 8, 0),
        ("events: {until: '7}', type: odd, least: 4}", 3, 4, 4),
        ("events: {count: 1}, check: {json: {/n: 0}}", 3, 1, 0),
        ("events: {count: 2, type: odd}, check: {contains: \"1}\\n{\\\"n\\\":\\n3\"}", 3, 2, 2),
        ("events: {count: 2}, check: {body: \"{\\\"n\\\":\\n0}\\n{\\\"n\\\":\\n1}\\n\"}", 3, 2, 0),
        ("events: {count: 2}, check: {body: \"{}\\n\"}", 0, 2, 0),
        ("events: {until: '2}', least: 4}", 0, 3, 0),
    ] {
        let (result, server) = hear(backend, ten_events, step, 3);
        let requests = result.total.requests;
        assert_eq!((requests.sent, requests.ok, requests.unfinished), (3, ok, 0), "{step}: {result:?}");
        let heard = heard(&result);
        assert_eq!((heard.streams, heard.events, heard.others), (3, 3 * events, 3 * others), "{step}");
        assert_eq!((heard.first_event.count(), heard.gaps.count()), (3, 3 * (events - 1)), "{step}");
        assert!(heard.comments >= heard.events, "{step}: {heard:?}");
        // Who has heard enough hangs up, and that is not the server's doing.
        assert_eq!((server.requests(), server.connections.load(Ordering::SeqCst)), (3, 3), "{step}");
        assert_eq!(result.reconnects, 0, "{step}");
        if ok == 0 {
            assert_eq!(result.total.errors, [(ErrorClass::WrongBody, 3)].into(), "{step}");
            let shown = String::from_utf8_lossy(&result.wrong_answers[0].bytes).into_owned();
            assert!(shown.starts_with("\u{feff}retry: 5\n\n: here"), "{step}: {shown:?}");
        }
    }
}

/// What it is, what serves it, when the step ends, and what is wrong with it.
type Answer = (&'static str, Serve, &'static str, Option<(ErrorClass, &'static str)>);

fn a_stream_that_is_none_or_breaks_off_ends_in_the_right_count(backend: Backend) {
    let answers: [Answer; 13] = [
        (
            "no content type",
            |_, stream| write(stream, "HTTP/1.1 200 OK\r\n\r\ndata: a\n\n", true),
            "count: 1",
            Some((ErrorClass::WrongBody, "its Content-Type is not text/event-stream")),
        ),
        (
            "another content type, without an end",
            |_, stream| write(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>", true),
            "count: 1",
            Some((ErrorClass::WrongBody, "its Content-Type is not text/event-stream")),
        ),
        (
            "another status",
            |_, stream| write(stream, "HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno", true),
            "count: 1",
            Some((ErrorClass::WrongStatus, "status 500 Internal Server Error came instead of 200 OK")),
        ),
        (
            "204, which says that there is none",
            |_, stream| write(stream, "HTTP/1.1 204 No\r\n\r\n", true),
            "count: 1",
            Some((ErrorClass::WrongStatus, "status 204 No Content came instead of 200 OK")),
        ),
        (
            "204 where it may be",
            |_, stream| write(stream, "HTTP/1.1 204 No\r\n\r\n", true),
            "count: 1}, check: {status: '200,204'",
            None,
        ),
        (
            "an end after one of two",
            |_, stream| write(stream, &format!("{STREAM}\r\ndata: a\n\ndata: b\n"), false),
            "count: 2",
            Some((ErrorClass::WrongBody, "the server ended the stream of events after 1, before")),
        ),
        (
            "an end before the text",
            |_, stream| write(stream, &format!("{STREAM}Content-Length: 18\r\n\r\ndata: a\n\ndata: b\n\n"), true),
            "until: c",
            Some((ErrorClass::WrongBody, "the server ended the stream of events after 2, before")),
        ),
        (
            "an end before its time",
            |_, stream| write(stream, &format!("{STREAM}\r\ndata: a\n\n"), false),
            "for: 10s",
            Some((ErrorClass::WrongBody, "the server ended the stream of events after 1, before")),
        ),
        (
            "an end that breaks a chunk off",
            |_, stream| write(stream, &format!("{STREAM}Transfer-Encoding: chunked\r\n\r\n20\r\ndata: a\n\n"), false),
            "count: 2",
            Some((ErrorClass::ClosedEarly, "the connection was closed before its end")),
        ),
        (
            "fewer than there must be",
            |_, stream| write(stream, &format!("{STREAM}\r\ndata: a\n\n"), false),
            "least: 2",
            Some((ErrorClass::WrongBody, "1 events came instead of at least 2")),
        ),
        (
            "as many as there must be",
            |_, stream| write(stream, &format!("{STREAM}\r\ndata: a\n\n"), false),
            "least: 1",
            None,
        ),
        (
            "with the end of the answer",
            |_, stream| write(stream, &format!("{STREAM}Content-Length: 9\r\n\r\ndata: a\n\n"), true),
            "count: 1",
            None,
        ),
        (
            "more than it is to hear at once",
            |_, stream| write(stream, &format!("{STREAM}\r\ndata: a\n\n{}", "data: b\n\n".repeat(50_000)), true),
            "count: 1",
            None,
        ),
    ];
    for (name, serve, events, wrong) in answers {
        let (result, _) = hear(backend, serve, &format!("events: {{{events}}}"), 3);
        let (ok, errors) = wrong.map_or((3, BTreeMap::new()), |(class, _)| (0, [(class, 3)].into()));
        assert_eq!((result.total.requests.ok, &result.total.errors), (ok, &errors), "{name}: {result:?}");
        let detail = result.first_failure.map(|failure| failure.detail).unwrap_or_default();
        assert!(detail.contains(wrong.map_or("", |(_, words)| words)), "{name}: {detail}");
    }
}

fn write(stream: &mut TcpStream, text: &str, goes_on: bool) -> io::Result<bool> {
    stream.write_all(text.as_bytes())?;
    Ok(goes_on)
}

fn what_has_no_end_is_ended(backend: Backend) {
    let answers: [(&str, Serve, ErrorClass, &str); 5] = [
        (
            "a line",
            |_, stream| {
                stream.write_all(format!("{STREAM}\r\ndata: ").as_bytes())?;
                loop {
                    stream.write_all(&[b'x'; 4096])?;
                }
            },
            ErrorClass::WrongBody,
            "an event, or a line, of the stream is longer than 256 KiB",
        ),
        (
            "an event",
            |_, stream| {
                chunked(stream)?;
                loop {
                    chunk(stream, &b"data: 0123456789\r\n".repeat(500))?;
                }
            },
            ErrorClass::WrongBody,
            "an event, or a line, of the stream is longer than 256 KiB",
        ),
        (
            "comments",
            |_, stream| {
                chunked(stream)?;
                loop {
                    chunk(stream, &b": here\n\n".repeat(500))?;
                }
            },
            ErrorClass::TimedOut,
            "no complete answer came in time",
        ),
        (
            "a slow event, byte by byte",
            |_, stream| {
                chunked(stream)?;
                loop {
                    chunk(stream, b"x")?;
                    thread::sleep(10 * MS);
                }
            },
            ErrorClass::TimedOut,
            "no complete answer came in time",
        ),
        ("silence before the head", |_, _| Ok(true), ErrorClass::TimedOut, "no complete answer came in time"),
    ];
    for (name, serve, class, words) in answers {
        for end in ["count: 1", "for: 10s"] {
            // Its own time is the only one that ends what is right so far.
            if end == "for: 10s" && (name == "comments" || name.starts_with("a slow")) {
                continue;
            }
            let (result, _) = hear(backend, serve, &format!("events: {{{end}}}"), 2);
            assert_eq!(result.total.errors, [(class, 2)].into(), "{name}, {end}: {result:?}");
            let detail = result.first_failure.unwrap().detail;
            assert!(detail.contains(words), "{name}, {end}: {detail}");
        }
    }
}

/// An event each 20 ms, without an end.
fn each_20_ms(_: &str, stream: &mut TcpStream) -> io::Result<bool> {
    chunked(stream)?;
    loop {
        thread::sleep(20 * MS);
        chunk(stream, b"data: tick\n\n")?;
    }
}

fn a_stream_is_held_for_its_time_and_no_longer_than_the_load(backend: Backend) {
    // Longer than a request may take.
    let (result, server) = hear(backend, each_20_ms, "events: {for: 700ms, least: 5}", 2);
    assert_eq!((result.total.requests.ok, server.requests()), (2, 2), "{result:?}");
    assert!(result.total.service.min() >= 690 * MS, "{result:?}");
    let (result, _) = hear(backend, each_20_ms, "events: {for: 200ms, least: 1000}", 2);
    assert_eq!(result.total.errors, [(ErrorClass::WrongBody, 2)].into(), "{result:?}");
    // A head that comes when the time is over ends it.
    let late: Serve = |_, stream| {
        thread::sleep(200 * MS);
        chunked(stream)?;
        chunk(stream, b": here\n\n")?;
        Ok(true)
    };
    let (result, _) = hear(backend, late, "events: {for: 50ms}", 2);
    assert_eq!((result.total.requests.ok, heard(&result).streams), (2, 2), "{result:?}");
    // The load lasts 500 ms.
    let server = Server::start(each_20_ms);
    let yaml = "{load: 'closed:2', requests: [{name: live, path: /, events: {for: 1h, least: 100000}}]}";
    let started = Instant::now();
    let result = start(of_scenario(backend, &server.endpoint, yaml, None)).unwrap().finish();
    assert!(started.elapsed() < 1500 * MS, "{result:?}");
    let requests = result.total.requests;
    assert_eq!((requests.sent, requests.ok, requests.unfinished), (2, 2, 0), "{result:?}");
    assert!(heard(&result).events > 4, "{result:?}");
}

fn times_are_those_of_the_server(backend: Backend) {
    let serve: Serve = |_, stream| {
        chunked(stream)?;
        thread::sleep(60 * MS);
        chunk(stream, b"data: a\n\n")?;
        thread::sleep(30 * MS);
        chunk(stream, b"data: b\n\ndata: c\n\n")?;
        Ok(true)
    };
    let (result, _) = hear(backend, serve, "events: {count: 3}", 4);
    let heard = heard(&result);
    assert_eq!((heard.first_event.count(), heard.gaps.count()), (4, 8), "{result:?}");
    assert!(heard.first_event.min() >= 58 * MS && result.total.first_byte.min() < heard.first_event.min());
    assert!(heard.gaps.max() >= 28 * MS && heard.gaps.quantile(0.4) < MS, "{result:?}");
    assert!(result.total.service.min() >= 88 * MS);
}

/// A client that comes again says where it was.
fn a_flow_resumes_where_a_stream_ended(backend: Backend) {
    let serve: Serve = |head, stream| {
        let next = head
            .lines()
            .find_map(|line| line.strip_prefix("Last-Event-ID: "))
            .map_or(0, |id| id.parse::<u64>().unwrap() + 1);
        write(stream, &format!("{STREAM}\r\nid: {next}\ndata: event {next}\n\nid: 99\n"), false)
    };
    let server = Server::start(serve);
    let yaml = "
{load: 'closed:1', flows: [{name: resume, steps: [
            {name: first, path: /, events: {}, capture: {last: {event: id}}},
            {name: second, path: /, headers: {Last-Event-ID: '${last}'}, events: {}, check: {body: \"event 1\\n\"}, capture: {last: {event: id}}},
            {name: third, path: /, headers: {Last-Event-ID: '${last}'}, events: {until: event 2}}
        ]}]}";
    let result = start(of_scenario(backend, &server.endpoint, yaml, Some(2))).unwrap().finish();
    assert_eq!((result.total.requests.ok, server.requests()), (6, 6), "{result:?}");
    assert_eq!(result.flows[0].count.completed, 2);
}

/// `:status: 200` and `content-type: text/event-stream` (RFC 7541, 6.2.2, without indexing; name 31 of the table).
const EVENTS_HEAD: &[u8] = b"\x88\x0f\x10\x11text/event-stream";

fn streams_of_http2_end_without_their_connection(backend: Backend) {
    let server = Http2Server::start(|peer: &mut Peer, came| match came {
        Came::Preface => peer.settings(&[]),
        Came::Head(_) => Ok(()),
        Came::End(stream) => {
            peer.say(HEADERS, END_HEADERS, stream, EVENTS_HEAD)?;
            for piece in b"data: a\r\n\r\ndata: b\n\ndata: c\n\n".chunks(5) {
                peer.say(DATA, 0, stream, piece)?;
            }
            match peer.requests % 3 {
                // With its end, with a reset, and with more.
                0 => peer.say(DATA, END_STREAM, stream, b"data: d\n\n"),
                1 => peer.say(RST_STREAM, 0, stream, &[0; 4]),
                _ => peer.say(DATA, 0, stream, b"data: d\n\n"),
            }
        }
    });
    let yaml = "{load: 'closed:1', requests: [{name: live, path: /, events: {count: 2}}]}";
    let streams = NonZeroU32::new(4).unwrap();
    let of_scenario = of_scenario(backend, &server.endpoint, yaml, Some(60));
    let result = start(LoadSpec { protocol: Protocol::Http2 { streams }, ..of_scenario }).unwrap().finish();
    let requests = result.total.requests;
    assert_eq!((requests.ok, requests.failed, requests.unfinished), (60, 0, 0), "{result:?}");
    assert_eq!((server.requests(), server.connections()), (60, 1), "{result:?}");
    assert_eq!((heard(&result).streams, heard(&result).events), (60, 120));
    // A load that ends takes its streams with it.
    let server = Http2Server::start(|peer: &mut Peer, came| match came {
        Came::Preface => peer.settings(&[]),
        Came::Head(_) => Ok(()),
        Came::End(stream) => {
            peer.say(HEADERS, END_HEADERS, stream, EVENTS_HEAD)?;
            peer.say(DATA, 0, stream, b"data: a\n\n")
        }
    });
    let yaml = "{load: 'closed:1', requests: [{name: live, path: /, events: {for: 1h}}]}";
    let load = self::of_scenario(backend, &server.endpoint, yaml, None);
    let result = start(LoadSpec { protocol: Protocol::Http2 { streams }, ..load }).unwrap().finish();
    let requests = result.total.requests;
    assert_eq!((requests.sent, requests.ok, heard(&result).events), (4, 4, 4), "{result:?}");
}
