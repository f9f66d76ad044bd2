//! HTTP/1 answers: however the bytes are cut, they mean the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stampede_wire::response::{DecodeError, Decoder, Head, ReadProgress, Visitor};

#[derive(Debug, Default, PartialEq)]
struct Seen {
    heads: Vec<(u16, Vec<(String, Vec<u8>)>)>,
    body: Vec<u8>,
}

impl Visitor for Seen {
    fn head(&mut self, head: &Head<'_>) {
        let headers = head.headers().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        self.heads.push((head.status, headers));
    }

    fn body(&mut self, bytes: &[u8]) {
        self.body.extend_from_slice(bytes);
    }
}

/// What is seen, how many bytes are the answer's, and whether the connection lives on.
fn decode<'a>(
    to_head: bool,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<(u16, Vec<(String, Vec<u8>)>)>, Result<(Vec<u8>, usize, bool), DecodeError>) {
    let mut decoder = Decoder::new();
    decoder.expect_answer(to_head);
    let mut seen = Seen::default();
    let mut consumed = 0;
    for piece in pieces {
        match decoder.feed(piece, &mut seen) {
            Ok(ReadProgress::Incomplete) => consumed += piece.len(),
            Ok(ReadProgress::Complete { consumed: here }) => {
                return (seen.heads, Ok((seen.body, consumed + here, decoder.is_reusable())));
            }
            Err(error) => return (seen.heads, Err(error)),
        }
    }
    let result = decoder.finish().map(|()| (seen.body, consumed, decoder.is_reusable()));
    (seen.heads, result)
}

fuzz_target!(|input: (bool, u8, &[u8])| {
    let (to_head, size, bytes) = input;
    let whole = decode(to_head, std::iter::once(bytes));
    assert!(whole.0.len() <= 1, "one final head");
    assert_eq!(decode(to_head, bytes.chunks(usize::from(size).max(1))), whole);
    let (start, end) = bytes.split_at(usize::from(size).min(bytes.len()));
    assert_eq!(decode(to_head, [start, end].into_iter()), whole);
});
