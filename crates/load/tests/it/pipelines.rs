//! Requests that are sent together, and authors that write them.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use stampede_core::{Counts, ErrorClass};
use stampede_load::{Author, AuthoredThread, Backend, KeptAnswer, StartError, start_authored};
use stampede_testkit::{Behaviour, Close, CountingServer, Fault};

use crate::asking::{MS, on_each_backend, spec, total};

on_each_backend!(
    each_answer_of_a_pipeline_counts_and_the_last_ends_it,
    pieces_of_answers_are_put_together,
    what_a_closed_connection_keeps_from_coming_has_failed,
    an_author_writes_and_reads,
    an_author_ends_its_thread_alone,
);

fn together(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap()
}

fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n").into_bytes()
}

fn fixed(server: &CountingServer, requests: u32) -> AuthoredThread {
    AuthoredThread {
        target: server.endpoint().clone(),
        fixed: Some(get("/").repeat(requests as usize)),
        requests: together(requests),
        reads: false,
        author: None,
    }
}

fn each_answer_of_a_pipeline_counts_and_the_last_ends_it(backend: Backend) {
    let server = CountingServer::start(Behaviour { delay: 2 * MS, ..Behaviour::default() }).unwrap();
    let spec = spec(backend, server.endpoint(), "closed:2");
    let result = start_authored(spec, vec![fixed(&server, 16)]).unwrap().finish();
    let received = server.stop();
    let Counts { sent, ok, failed, unfinished } = total(&result);
    assert_eq!((received.requests(), received.connections), (sent, 2), "{result:?}");
    assert_eq!((ok, failed, unfinished, sent % 16), (sent, 0, 0, 0));
    assert_eq!(result.total.status, [(200, ok)].into());
    assert_eq!(result.total.service.count(), ok / 16);
    // Each is answered after the one before it.
    assert!(result.total.service.min() >= 32 * MS, "{:?}", result.total.service);
    assert!(result.total.first_byte.min() < 30 * MS, "{:?}", result.total.first_byte);
}

fn pieces_of_answers_are_put_together(backend: Backend) {
    let server = CountingServer::start(Behaviour { write_size: 7, ..Behaviour::default() }).unwrap();
    let spec = spec(backend, server.endpoint(), "closed:2");
    let result = start_authored(spec, vec![fixed(&server, 3)]).unwrap().finish();
    let counts = total(&result);
    assert_eq!((counts.sent, counts.failed), (server.stop().requests(), 0), "{result:?}");
}

fn what_a_closed_connection_keeps_from_coming_has_failed(backend: Backend) {
    for close in [Close::Announced(6), Close::Silent(6)] {
        let server = CountingServer::start(Behaviour { close, ..Behaviour::default() }).unwrap();
        let mut spec = spec(backend, server.endpoint(), "closed:1");
        spec.duration = 100 * MS;
        let result = start_authored(spec, vec![fixed(&server, 4)]).unwrap().finish();
        let Counts { ok, failed, .. } = total(&result);
        // Four and two of six are answered, so that two of eight are not.
        assert!(failed > 0 && ok >= failed * 3 && ok <= failed * 3 + 4, "{close:?} {result:?}");
        let lost = result.total.errors.iter().map(|(class, count)| match class {
            ErrorClass::ClosedEarly | ErrorClass::Reset => *count,
            class => panic!("{class:?}"),
        });
        assert_eq!(lost.sum::<u64>(), result.total.requests.failed);
    }
}

#[derive(Debug, Default)]
struct Notes {
    written: AtomicU64,
    read: AtomicU64,
    wrong: AtomicU64,
}

/// Writes two requests at a time, and ends after so many answers.
#[derive(Debug)]
struct Pair {
    notes: Arc<Notes>,
    pause: Duration,
    ends_after: u64,
    ended: bool,
}

impl Author for Pair {
    fn write(&mut self, request: &mut Vec<u8>) -> bool {
        let number = self.notes.written.fetch_add(2, Ordering::Relaxed);
        request.extend(get(&format!("/{number}")));
        request.extend(get("/second"));
        true
    }

    fn pause(&mut self) -> Duration {
        self.pause
    }

    fn read(&mut self, answer: &KeptAnswer) {
        let lengths = answer.headers().filter(|(name, _)| *name == b"Content-Length");
        let is_right = lengths.map(|(_, value)| value).eq([&b"13"[..]]) && answer.body() == b"Hello, World!";
        if !is_right || answer.status() != 200 {
            self.notes.wrong.fetch_add(1, Ordering::Relaxed);
        }
        self.ended |= self.notes.read.fetch_add(1, Ordering::Relaxed) + 1 == self.ends_after;
    }

    fn has_ended(&self) -> bool {
        self.ended
    }
}

fn authored(server: &CountingServer, notes: &Arc<Notes>, pause: Duration, ends_after: u64) -> AuthoredThread {
    AuthoredThread {
        fixed: None,
        reads: true,
        author: Some(Box::new(Pair { notes: Arc::clone(notes), pause, ends_after, ended: false })),
        ..fixed(server, 2)
    }
}

fn an_author_writes_and_reads(backend: Backend) {
    let fault = Some((Fault::WrongStatus(500), 10));
    let server = CountingServer::start(Behaviour { fault, write_size: 11, ..Behaviour::default() }).unwrap();
    let notes = Arc::default();
    let spec = spec(backend, server.endpoint(), "closed:3");
    let thread = authored(&server, &notes, 5 * MS, u64::MAX);
    let result = start_authored(spec, vec![thread]).unwrap().finish();
    let received = server.stop();
    let counts = total(&result);
    assert_eq!(notes.written.load(Ordering::Relaxed), counts.sent);
    assert_eq!(notes.read.load(Ordering::Relaxed), received.requests());
    assert_eq!(notes.wrong.load(Ordering::Relaxed), received.faults);
    assert_eq!((counts.sent, counts.failed), (received.requests(), received.faults), "{result:?}");
    // Each connection waits before each pair.
    assert!((1..=3 * 2 * 100).contains(&received.requests()), "{}", received.requests());
    let first = String::from_utf8(received.first).unwrap();
    assert!(["/0", "/2", "/4"].iter().any(|path| first.starts_with(&format!("GET {path} HTTP/1.1"))), "{first}");
}

fn an_author_ends_its_thread_alone(backend: Backend) {
    let server = CountingServer::start(Behaviour { delay: MS, ..Behaviour::default() }).unwrap();
    let (first, second) = (Arc::default(), Arc::default());
    let mut spec = spec(backend, server.endpoint(), "closed:2");
    spec.cpus = vec![spec.cpus[0]; 2];
    let threads =
        vec![authored(&server, &first, Duration::ZERO, 8), authored(&server, &second, Duration::ZERO, u64::MAX)];
    let begun = Instant::now();
    let result = start_authored(spec, threads).unwrap().finish();
    assert!(begun.elapsed() >= 500 * MS);
    let counts = total(&result);
    let received = server.stop();
    assert_eq!((first.read.load(Ordering::Relaxed), first.written.load(Ordering::Relaxed)), (8, 8));
    assert_eq!(second.written.load(Ordering::Relaxed) + 8, received.requests());
    assert_eq!((counts.sent, counts.failed, counts.unfinished), (received.requests(), 0, 0), "{result:?}");
    assert!(result.window >= 499 * MS, "{:?}", result.window);
}

#[test]
fn what_cannot_be_authored_is_not_begun() {
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let spec = spec(Backend::Epoll, server.endpoint(), "closed:1");
    for threads in [Vec::new(), vec![fixed(&server, 1), fixed(&server, 1)]] {
        assert!(matches!(start_authored(spec.clone(), threads), Err(StartError::Authors)));
    }
}
