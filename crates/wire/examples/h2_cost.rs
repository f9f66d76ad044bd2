//! Prints how much processor time one small request and its answer take in a session, without any I/O.
//!
//! `cargo run --release --package stampede-wire --example h2_cost`

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use stampede_core::Request;
use stampede_wire::h2::{RequestHead, Session, StreamFault, StreamVisitor};
use stampede_wire::response::Head;

const STREAMS: u32 = 10;
const ROUNDS: u32 = 200_000;

#[derive(Default)]
struct Count {
    ok: u32,
    bytes: usize,
}

impl StreamVisitor for Count {
    fn head(&mut self, _: u32, head: &Head<'_>) {
        black_box(head.status);
    }

    fn body(&mut self, _: u32, bytes: &[u8]) {
        self.bytes += bytes.len();
    }

    fn end(&mut self, _: u32) {
        self.ok += 1;
    }

    fn failed(&mut self, _: u32, fault: StreamFault) {
        eprintln!("{fault}");
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    out.extend([0, (payload.len() >> 8) as u8, payload.len() as u8, kind, flags]);
    out.extend(stream.to_be_bytes());
    out.extend(payload);
}

/// The head of a page: status, and five fields that go into the table.
fn head_block() -> Vec<u8> {
    let mut block = vec![0x88];
    for (name, value) in [
        ("server", "nginx/1.22.1"),
        ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
        ("content-type", "text/html; charset=UTF-8"),
        ("content-length", "612"),
        ("x-powered-by", "PHP/8.2.29"),
    ] {
        block.extend([0x40, name.len() as u8]);
        block.extend(name.bytes());
        block.push(value.len() as u8);
        block.extend(value.bytes());
    }
    block
}

/// A head whose date is new, as it is once a second; the rest is in the table or at hand.
fn dated_block() -> Vec<u8> {
    // `date` without indexing, Huffman coded (RFC 7541, appendix C.6.1).
    let date = b"\x0f\x12\x96\xd0\x7a\xbe\x94\x10\x54\xd4\x44\xa8\x20\x05\x95\x04\x0b\x81\x66\xe0\x82\xa6\x2d\x1b\xff";
    [&[0x88, 0xc2][..], date, &[0xc0, 0xbf, 0xbe]].concat()
}

fn measure(name: &str, block: &[u8]) {
    let request = Request {
        method: "GET".to_owned(),
        path: "/index.php?page=1".to_owned(),
        headers: BTreeMap::from([("Accept".to_owned(), "*/*".to_owned())]),
        body: Vec::new(),
    };
    let head = RequestHead::new(&request, "http", "127.0.0.1:8080");
    let mut visitor = Count::default();
    let mut out = Vec::new();
    let mut session = Session::new(&mut out);
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0];
    let mut known = settings.to_vec();
    frame(1, 5, 1, &head_block(), &mut known);
    let started = session.request(0, &head, b"", &mut out).is_ok();
    if let Err(error) = session.feed(&known, &mut out, &mut visitor) {
        return eprintln!("started {started}: {error}");
    }
    // The answers of a round differ from those of the next in the numbers of their streams alone.
    let mut answers = Vec::new();
    let mut places = Vec::new();
    for _ in 0..STREAMS {
        for (kind, flags, payload) in [(1, 4, block), (0, 1, &[b'x'; 612][..])] {
            places.push(answers.len() + 5);
            frame(kind, flags, 0, payload, &mut answers);
        }
    }
    let mut stream: u32 = 1;
    let began = processor_time();
    for round in 0..ROUNDS {
        out.clear();
        for key in 0..STREAMS {
            if let Err(refused) = session.request(key, &head, b"", &mut out) {
                return eprintln!("{refused}");
            }
        }
        for (number, place) in (0..).zip(&places) {
            if number % 2 == 0 {
                stream += 2;
            }
            answers[*place..*place + 4].copy_from_slice(&stream.to_be_bytes());
        }
        black_box(&out);
        out.clear();
        if let Err(error) = session.feed(&answers, &mut out, &mut visitor) {
            return eprintln!("round {round}: {error}");
        }
    }
    let each = (processor_time() - began) / visitor.ok;
    println!("{name}: {each:?} for each of {} requests with their answers", visitor.ok);
}

fn processor_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn main() {
    measure("all fields in the table", &[0x88, 0xc2, 0xc1, 0xc0, 0xbf, 0xbe]);
    measure("date in full, Huffman coded", &dated_block());
}
