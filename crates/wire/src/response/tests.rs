//! Every row is decoded in one piece, byte by byte, and cut at every place; all must agree.

use proptest::prelude::*;

use super::*;

#[derive(Debug, Default, PartialEq)]
struct Seen {
    status: u16,
    body: Vec<u8>,
}

impl Visitor for Seen {
    fn head(&mut self, head: &Head<'_>) {
        assert_eq!(self.status, 0, "one final head");
        self.status = head.status;
    }

    fn body(&mut self, bytes: &[u8]) {
        self.body.extend_from_slice(bytes);
    }
}

/// What one connection's bytes decode to.
#[derive(Debug, PartialEq)]
struct Decoded {
    seen: Seen,
    consumed: usize,
    reusable: bool,
}

fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, to_head_request: bool) -> Result<Decoded, DecodeError> {
    let mut decoder = Decoder::new();
    decoder.expect_answer(to_head_request);
    let mut seen = Seen::default();
    let mut fed = 0;
    for piece in pieces {
        match decoder.feed(piece, &mut seen)? {
            ReadProgress::Incomplete => fed += piece.len(),
            ReadProgress::Complete { consumed } => {
                return Ok(Decoded { seen, consumed: fed + consumed, reusable: decoder.is_reusable() });
            }
        }
    }
    decoder.finish()?;
    Ok(Decoded { seen, consumed: fed, reusable: decoder.is_reusable() })
}

/// Decodes in one piece and checks that no other way of cutting the bytes gives another result.
fn decode_any_way(bytes: &[u8], to_head_request: bool) -> Result<Decoded, DecodeError> {
    let whole = decode([bytes], to_head_request);
    assert_eq!(decode(bytes.chunks(1), to_head_request), whole, "byte by byte");
    for cut in 0..bytes.len() {
        let (start, end) = bytes.split_at(cut);
        assert_eq!(decode([start, end], to_head_request), whole, "cut at {cut}");
    }
    whole
}

#[test]
fn answers_are_framed_as_their_heads_say() {
    // (bytes, status, body, surplus bytes, reusable)
    let cases: [(&str, u16, &str, usize, bool); 22] = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", 200, "abc", 0, true),
        ("HTTP/1.1 200 OK\r\ncontent-length:3\r\n\r\nabcdef", 200, "abc", 3, true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "", 0, true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\nContent-Length: 1\r\n\r\na", 200, "a", 0, true),
        ("HTTP/1.1 200\r\nContent-Length: 1\r\n\r\na", 200, "a", 0, true),
        ("HTTP/1.1 200 OK\nContent-Length: 1\n\na", 200, "a", 0, true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\na", 200, "a", 0, false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: x, Close\r\n\r\na", 200, "a", 0, false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", 200, "a", 0, false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\na", 200, "a", 0, true),
        ("HTTP/1.0 200 OK\r\n\r\nuntil the end", 200, "until the end", 0, false),
        ("HTTP/1.1 200 OK\r\n\r\nuntil the end", 200, "until the end", 0, false),
        ("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\n", 200, "", 0, false),
        ("HTTP/1.1 204 No Content\r\n\r\nHTTP", 204, "", 4, true),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 304, "", 0, true),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", 101, "", 0, false),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\na",
            201,
            "a",
            0,
            true,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0A\r\n0123456789\r\n0\r\n\r\nX",
            200,
            "abc0123456789",
            1,
            true,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n1;a=b;c=\"d\"\r\na\r\n1  \r\nb\r\n000;x\r\nTrailer: t\r\nOther: u\r\n\r\n",
            200,
            "ab",
            0,
            true,
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200, "", 0, true),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 99\r\n\r\n1\r\na\r\n0\r\n\r\n",
            200,
            "a",
            0,
            true,
        ),
        (
            "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n1\r\na\r\n0\r\n\r\n",
            200,
            "a",
            0,
            false,
        ),
    ];
    for (bytes, status, body, surplus, reusable) in cases {
        let expected = Decoded {
            seen: Seen { status, body: body.as_bytes().to_vec() },
            consumed: bytes.len() - surplus,
            reusable,
        };
        assert_eq!(decode_any_way(bytes.as_bytes(), false), Ok(expected), "{bytes:?}");
    }
}

#[test]
fn the_answer_to_a_head_request_has_no_body() {
    for framing in ["Content-Length: 5", "Transfer-Encoding: chunked"] {
        let bytes = format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n");
        let decoded = decode_any_way(bytes.as_bytes(), true).unwrap();
        assert_eq!((decoded.seen.body.len(), decoded.reusable), (0, true), "{framing}");
    }
}

#[test]
fn what_is_no_answer_is_refused_with_its_reason() {
    use DecodeError::*;
    let cases = [
        ("", Truncated),
        ("HTTP/1.1 200 OK\r\nContent-Le", Truncated),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", Truncated),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", Truncated),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nTrailer: t", Truncated),
        ("HTTP/1.1 100 Continue\r\n\r\n", Truncated),
        ("<html>", StatusLine),
        ("HTTP/2 200 OK\r\n\r\n", StatusLine),
        ("HTTP/1.1 2x0 OK\r\n\r\n", StatusLine),
        ("HTTP/1.1 099 Low\r\n\r\n", Status),
        ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", Header),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", ContentLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n", ContentLength),
        ("HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", ContentLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n", ContentLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", ContentLength),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", TransferCoding),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\ng\r\n", Chunk),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", Chunk),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\na\r\n", Chunk),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", Chunk),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11111111111111111\r\n", Chunk),
    ];
    for (bytes, error) in cases {
        assert_eq!(decode_any_way(bytes.as_bytes(), false), Err(error), "{bytes:?}");
    }
}

#[test]
fn heads_are_bounded() {
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(HEAD_LIMIT));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: x\r\n".repeat(HEADER_LIMIT + 1));
    let full = format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{}\r\n", "X: x\r\n".repeat(HEADER_LIMIT - 1));
    let chunk_line = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;{}", "x".repeat(HEAD_LIMIT));
    for size in [usize::MAX, 1 << 12, 1000] {
        let result = |text: &str| decode(text.as_bytes().chunks(size), false).map(drop);
        assert_eq!(result(&long), Err(DecodeError::HeadTooLong));
        assert_eq!(result(&many), Err(DecodeError::TooManyHeaders));
        assert_eq!(result(&chunk_line), Err(DecodeError::Chunk));
        assert_eq!(result(&full), Ok(()));
    }
}

#[test]
fn one_decoder_reads_answer_after_answer() {
    let mut decoder = Decoder::new();
    let first = b"HTTP/1.0 500 No\r\nContent-Length: 2\r\n\r\nno";
    let second = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes";
    for (bytes, status, reusable) in [(&first[..], 500, false), (&second[..], 200, true), (&first[..], 500, false)] {
        let mut seen = Seen::default();
        decoder.expect_answer(false);
        let (start, end) = bytes.split_at(9);
        assert_eq!(decoder.feed(start, &mut seen), Ok(ReadProgress::Incomplete));
        assert_eq!(decoder.feed(end, &mut seen), Ok(ReadProgress::Complete { consumed: end.len() }));
        assert_eq!((seen.status, decoder.is_reusable()), (status, reusable));
    }
}

#[test]
fn a_decoder_holds_little_memory() {
    let mut decoder = Decoder::new();
    let short = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno";
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\nContent-Length: 0\r\n\r\n", "x".repeat(900));
    let mut read = |bytes: &[u8], size: usize| {
        decoder.expect_answer(false);
        for piece in bytes.chunks(size) {
            decoder.feed(piece, &mut Seen::default()).unwrap();
        }
        decoder.partial_head.capacity()
    };
    assert_eq!(read(short, 10), 512);
    assert_eq!(read(long.as_bytes(), 4096), 512, "whole heads take none");
    assert_eq!(read(long.as_bytes(), 10), 1024, "as much as the longest");
    assert_eq!(read(short, 10), 1024, "kept for the next");
}

/// An answer with a random body, framed in one of the three ways.
fn answer() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let chunks = prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..6);
    (chunks, 0..3_u8, any::<bool>()).prop_map(|(chunks, framing, interim)| {
        let body = chunks.concat();
        let mut bytes = Vec::new();
        if interim {
            bytes.extend_from_slice(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n");
        }
        bytes.extend_from_slice(b"HTTP/1.1 200 OK\r\nServer: x\r\n");
        match framing {
            0 => {
                bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
                bytes.extend_from_slice(&body);
            }
            1 => {
                bytes.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
                for chunk in &chunks {
                    bytes.extend_from_slice(format!("{:x};e\r\n", chunk.len()).as_bytes());
                    bytes.extend_from_slice(chunk);
                    bytes.extend_from_slice(b"\r\n");
                }
                bytes.extend_from_slice(b"0\r\nT: u\r\n\r\n");
            }
            _ => {
                bytes.extend_from_slice(b"\r\n");
                bytes.extend_from_slice(&body);
            }
        }
        (bytes, body)
    })
}

/// The pieces between the given places.
fn cut(bytes: &[u8], places: &[prop::sample::Index]) -> Vec<Vec<u8>> {
    let mut places: Vec<usize> = places.iter().map(|place| place.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect()
}

proptest! {
    #[test]
    fn any_cut_of_an_answer_gives_its_body(
        (bytes, body) in answer(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let pieces = cut(&bytes, &places);
        let decoded = decode(pieces.iter().map(Vec::as_slice), false).unwrap();
        prop_assert_eq!(decoded.seen.body, body);
        prop_assert_eq!(decoded.consumed, bytes.len());
    }

    #[test]
    fn any_cut_of_a_damaged_answer_gives_the_same_result(
        (mut bytes, _) in answer(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let pieces = cut(&bytes, &places);
        prop_assert_eq!(
            decode(pieces.iter().map(Vec::as_slice), false),
            decode([bytes.as_slice()], false)
        );
    }
}
