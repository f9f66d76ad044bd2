//! Bodies in chunks: a right one comes back, a damaged one means the same however it is cut.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stampede_wire::response::{DecodeError, Decoder, Head, ReadProgress, Visitor};

#[derive(Default)]
struct Body(Vec<u8>);

impl Visitor for Body {
    fn head(&mut self, _: &Head<'_>) {}

    fn body(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

/// The body and how many bytes it took; none when there is more to come.
fn decode<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Result<Option<(Vec<u8>, usize)>, DecodeError> {
    let mut decoder = Decoder::new();
    decoder.expect_answer(false);
    let mut body = Body::default();
    decoder.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", &mut body)?;
    let mut consumed = 0;
    for piece in pieces {
        match decoder.feed(piece, &mut body)? {
            ReadProgress::Incomplete => consumed += piece.len(),
            ReadProgress::Complete { consumed: here } => return Ok(Some((body.0, consumed + here))),
        }
    }
    Ok(None)
}

fuzz_target!(|input: (Vec<&[u8]>, Vec<(u16, u8)>, u8)| {
    let (chunks, damage, size) = input;
    let mut bytes = Vec::new();
    for chunk in chunks.iter().filter(|chunk| !chunk.is_empty()) {
        bytes.extend_from_slice(format!("{:X};a=b\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\nT: u\r\n\r\n");
    assert_eq!(decode(std::iter::once(bytes.as_slice())), Ok(Some((chunks.concat(), bytes.len()))));

    for (place, byte) in damage {
        let place = usize::from(place) % bytes.len();
        bytes[place] = byte;
    }
    let whole = decode(std::iter::once(bytes.as_slice()));
    assert_eq!(decode(bytes.chunks(usize::from(size).max(1))), whole);
});
