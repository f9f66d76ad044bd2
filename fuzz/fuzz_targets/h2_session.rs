//! Servers of HTTP/2: however their bytes are cut, a session tells the same, and says the same to them.
//!
//! The bytes are a list of frames with right lengths, since random ones would hardly get past the first head; what is in
//! them is up to the fuzzer.

#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use libfuzzer_sys::{arbitrary, fuzz_target};
use stampede_core::Request;
use stampede_wire::h2::{RequestHead, Session, SessionError, StreamFault, StreamVisitor};
use stampede_wire::response::Head;

#[derive(Debug, arbitrary::Arbitrary)]
struct Frame<'a> {
    kind: u8,
    flags: u8,
    stream: u8,
    payload: &'a [u8],
}

/// Everything that is told of one slot.
#[derive(Clone, Debug, Default, PartialEq)]
struct Slot {
    heads: Vec<(u16, Vec<(String, Vec<u8>)>)>,
    body: Vec<u8>,
    end: Option<Result<(), StreamFault>>,
}

#[derive(Debug, Default, PartialEq)]
struct Seen([Slot; SLOTS]);

const SLOTS: usize = 4;

impl StreamVisitor for Seen {
    fn head(&mut self, key: u32, head: &Head<'_>) {
        let slot = &mut self.0[key as usize];
        assert!(slot.heads.is_empty() && slot.end.is_none(), "{slot:?}");
        let headers = head.headers().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        slot.heads.push((head.status, headers));
    }

    fn body(&mut self, key: u32, bytes: &[u8]) {
        let slot = &mut self.0[key as usize];
        assert!(!slot.heads.is_empty() && slot.end.is_none() && !bytes.is_empty(), "{slot:?}");
        slot.body.extend_from_slice(bytes);
    }

    fn end(&mut self, key: u32) {
        let slot = &mut self.0[key as usize];
        assert!(!slot.heads.is_empty());
        assert_eq!(slot.end.replace(Ok(())), None);
    }

    fn failed(&mut self, key: u32, fault: StreamFault) {
        assert_eq!(self.0[key as usize].end.replace(Err(fault)), None);
    }
}

static BODY: [u8; 66_000] = [0; 66_000];

static HEADS: LazyLock<[RequestHead; SLOTS]> = LazyLock::new(|| {
    ["GET", "HEAD", "POST", "POST"].map(|method| {
        let (method, path) = (method.to_owned(), "/".to_owned());
        RequestHead::new(&Request { method, path, headers: BTreeMap::new(), body: Vec::new() }, "http", "localhost")
    })
});

fn play<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Seen, Result<(), SessionError>, Vec<u8>, usize) {
    let mut out = Vec::new();
    let mut session = Session::new(&mut out);
    // The last body is longer than the window that the server begins with.
    for (key, (head, body)) in (0..).zip(HEADS.iter().zip([0, 0, 10, 66_000])) {
        session.request(key, head, &BODY[..body], &mut out).expect("there is room for four");
    }
    out.clear();
    let mut seen = Seen::default();
    for piece in pieces {
        if let Err(error) = session.feed(piece, &mut out, &mut seen) {
            return (seen, Err(error), out, 0);
        }
    }
    let in_flight = session.in_flight();
    assert_eq!(in_flight, seen.0.iter().filter(|slot| slot.end.is_none()).count());
    (seen, Ok(()), out, in_flight)
}

fuzz_target!(|input: (bool, u8, Vec<Frame>)| {
    let (begins_well, size, frames) = input;
    let mut bytes = if begins_well { vec![0, 0, 0, 4, 0, 0, 0, 0, 0] } else { Vec::new() };
    for Frame { kind, flags, stream, payload } in frames {
        bytes.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
        // Mostly types and streams that exist.
        bytes.extend_from_slice(&[if kind < 0xf0 { kind % 10 } else { kind }, flags, 0, 0, 0, stream % 10]);
        bytes.extend_from_slice(payload);
    }
    let whole = play(std::iter::once(bytes.as_slice()));
    assert_eq!(play(bytes.chunks(usize::from(size).max(1))), whole);
    assert_eq!(play(bytes.chunks(1)), whole);
});
