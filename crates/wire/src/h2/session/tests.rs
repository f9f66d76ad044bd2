//! Scripts of servers, right and wrong. Every script is fed as a whole and byte by byte; both must tell the same.

use std::collections::BTreeMap;

use proptest::prelude::*;
use stampede_core::Request;

use super::*;
use crate::h2::HpackError;
use crate::h2::{ErrorCode, StreamFault};
use crate::response::Head;

/// What a visitor is told, in order; the pieces of a body are put together.
#[derive(Clone, Debug, PartialEq)]
enum Told {
    Head(u32, u16),
    Body(u32, Vec<u8>),
    End(u32),
    Failed(u32, StreamFault),
}

use Told::{Body, End, Failed};

#[derive(Debug, Default)]
struct Story(Vec<Told>);

impl StreamVisitor for Story {
    fn head(&mut self, key: u32, head: &Head<'_>) {
        self.0.push(Told::Head(key, head.status));
    }

    fn body(&mut self, key: u32, bytes: &[u8]) {
        match self.0.last_mut() {
            Some(Body(last, body)) if *last == key => body.extend_from_slice(bytes),
            _ => self.0.push(Body(key, bytes.to_vec())),
        }
    }

    fn end(&mut self, key: u32) {
        self.0.push(End(key));
    }

    fn failed(&mut self, key: u32, fault: StreamFault) {
        self.0.push(Failed(key, fault));
    }
}

fn head(method: &str) -> RequestHead {
    let request =
        Request { method: method.to_owned(), path: "/".to_owned(), headers: BTreeMap::new(), body: Vec::new() };
    RequestHead::new(&request, "http", "h")
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    frame::write(kind, flags, stream, payload, &mut out);
    out
}

/// The frames in `bytes`: type, flags, stream, payload.
fn frames(mut bytes: &[u8]) -> Vec<(u8, u8, u32, &[u8])> {
    let mut frames = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<9>() {
        let len = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let (payload, rest) = rest.split_at(len);
        frames.push((head[3], head[4], stream, payload));
        bytes = rest;
    }
    frames
}

const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
const SETTINGS_ACK: &[u8] = &[0, 0, 0, 4, 1, 0, 0, 0, 0];

fn setting(identifier: u8, value: u32) -> Vec<u8> {
    frame(4, 0, 0, &[&[0, identifier][..], &value.to_be_bytes()].concat())
}

/// HEADERS; flags: 1 ends the stream, 4 the block.
fn headers(stream: u32, flags: u8, block: &[u8]) -> Vec<u8> {
    frame(1, flags, stream, block)
}

/// A whole head of status 200 without anything more.
fn ok(stream: u32) -> Vec<u8> {
    headers(stream, 5, &[0x88])
}

fn data(stream: u32, flags: u8, bytes: &[u8]) -> Vec<u8> {
    frame(0, flags, stream, bytes)
}

fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    frame(8, 0, stream, &increment.to_be_bytes())
}

fn literal(name: &str, value: &str) -> Vec<u8> {
    let mut block = vec![0, name.len() as u8];
    block.extend(name.bytes());
    block.push(value.len() as u8);
    block.extend(value.bytes());
    block
}

/// Frames, one after the other.
type Script = Vec<Vec<u8>>;

/// What came of a script.
#[derive(Debug, PartialEq)]
struct Outcome {
    told: Vec<Told>,
    result: Result<(), SessionError>,
    sent: Vec<u8>,
}

/// Three requests in slots 0, 1 and 2: GET on stream 1, HEAD on stream 3, POST of 100,000 bytes on stream 5.
fn play<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let mut out = Vec::new();
    let mut session = Session::new(&mut out);
    session.request(0, &head("GET"), b"", &mut out).unwrap();
    session.request(1, &head("HEAD"), b"", &mut out).unwrap();
    session.request(2, &head("POST"), &[b'p'; 100_000], &mut out).unwrap();
    out.clear();
    let mut story = Story::default();
    let result = pieces.into_iter().try_for_each(|piece| session.feed(piece, &mut out, &mut story));
    Outcome { told: story.0, result, sent: out }
}

/// Plays a script after the server's preface, in any pieces.
fn play_any_way(script: &[u8]) -> Outcome {
    let script = [SETTINGS, script].concat();
    let whole = play([script.as_slice()]);
    let bytewise = play(script.chunks(1));
    assert_eq!((&bytewise.told, bytewise.result), (&whole.told, whole.result), "byte by byte");
    assert_eq!(bytewise.sent, whole.sent, "byte by byte");
    whole
}

fn told(script: &[Vec<u8>]) -> Vec<Told> {
    let outcome = play_any_way(&script.concat());
    assert_eq!(outcome.result, Ok(()));
    outcome.told
}

fn status(key: u32, status: u16) -> Told {
    Told::Head(key, status)
}

fn body(key: u32, bytes: &str) -> Told {
    Body(key, bytes.as_bytes().to_vec())
}

#[test]
fn a_session_begins_with_preface_settings_and_a_wide_window() {
    let mut out = Vec::new();
    Session::new(&mut out);
    let rest = out.strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
    let settings = [0, 2, 0, 0, 0, 0, 0, 4, 0x40, 0, 0, 0, 0, 6, 0, 1, 0, 0];
    let increment = ((1_u32 << 31) - 1 - 65_535).to_be_bytes();
    assert_eq!(frames(rest), [(4, 0, 0, &settings[..]), (8, 0, 0, &increment)]);
}

#[test]
fn a_request_takes_a_few_bytes_when_it_is_known() {
    let mut out = Vec::new();
    let mut session = Session::new(&mut out);
    let request = Request {
        method: "POST".to_owned(),
        path: "/a".to_owned(),
        headers: [("Accept", "*/*"), ("Connection", "close"), ("Host", "x"), ("TE", "gzip"), ("X-A", "b")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        body: Vec::new(),
    };
    let mut head = RequestHead::new(&request, "https", "h");
    let mut send = |head: &RequestHead, key, body: &[u8]| {
        out.clear();
        session.request(key, head, body, &mut out).unwrap();
        frames(&out).iter().map(|(kind, flags, stream, payload)| (*kind, *flags, *stream, payload.to_vec())).collect()
    };
    let first: Vec<(u8, u8, u32, Vec<u8>)> = send(&head, 0, b"");
    let mut fields = String::new();
    let mut decoder = crate::h2::hpack::Decoder::new();
    let mut read = |block: &[u8]| {
        fields.clear();
        decoder
            .decode(block, |name, value, _| {
                fields += &format!("{}={} ", String::from_utf8_lossy(name), String::from_utf8_lossy(value));
            })
            .unwrap();
        fields.clone()
    };
    let all = ":method=POST :scheme=https :authority=h :path=/a accept=*/* x-a=b content-length=";
    assert_eq!((first[0].0, first[0].1, first[0].2), (1, 5, 1));
    assert_eq!(read(&first[0].3), format!("{all}0 "));
    let again = send(&head, 1, b"xy");
    assert_eq!((again[0].0, again[0].1, again[0].2, again[0].3.len()), (1, 4, 3, 10));
    assert_eq!(read(&again[0].3), format!("{all}2 "));
    assert_eq!(again[1], (0, 1, 3, b"xy".to_vec()));
    head.set_path("/b");
    head.set_header("x-a", "c");
    head.set_header("x-new", "d");
    let varied = send(&head, 2, b"");
    let all = ":method=POST :scheme=https :authority=h :path=/b accept=*/* x-a=c x-new=d content-length=0 ";
    assert_eq!(read(&varied[0].3), all);
}

#[test]
fn answers_are_told_as_they_come() {
    let cases: Vec<(&str, Script, Vec<Told>)> = vec![
        ("no body", vec![ok(1)], vec![status(0, 200), End(0)]),
        (
            "a body in frames",
            vec![headers(1, 4, &[0x88]), data(1, 0, b"ab"), data(1, 0, b""), data(1, 1, b"c")],
            vec![status(0, 200), body(0, "abc"), End(0)],
        ),
        (
            "the end in a frame of its own",
            vec![headers(1, 4, &[0x88]), data(1, 0, b"ab"), data(1, 1, b"")],
            vec![status(0, 200), body(0, "ab"), End(0)],
        ),
        (
            "padding and priority",
            vec![headers(1, 0x2c, b"\x02\0\0\0\0\0\x88\0\0"), data(1, 9, b"\x03abc\0\0\0"), data(3, 8, b"\0")],
            vec![status(0, 200), body(0, "abc"), End(0), Failed(1, StreamFault::Order)],
        ),
        (
            "streams in turns",
            vec![headers(1, 4, &[0x88]), data(1, 0, b"a"), ok(5), ok(3), data(1, 1, b"b")],
            vec![status(0, 200), body(0, "a"), status(2, 200), End(2), status(1, 200), End(1), body(0, "b"), End(0)],
        ),
        (
            "interim answers and trailers",
            vec![
                headers(1, 4, &literal(":status", "103")),
                headers(1, 4, &literal(":status", "100")),
                headers(1, 4, &[0x88]),
                data(1, 0, b"a"),
                headers(1, 5, &literal("x-sum", "1")),
            ],
            vec![status(0, 200), body(0, "a"), End(0)],
        ),
        (
            "a head in pieces",
            vec![headers(1, 1, &[]), frame(9, 0, 1, &[0x88, 0, 1]), frame(9, 4, 1, b"a\x01b")],
            vec![status(0, 200), End(0)],
        ),
        (
            "a stated length that is right",
            vec![headers(1, 4, &[&[0x88][..], &literal("content-length", "2")].concat()), data(1, 1, b"ab")],
            vec![status(0, 200), body(0, "ab"), End(0)],
        ),
        (
            "the length of what HEAD would give",
            vec![headers(3, 5, &[&[0x88][..], &literal("content-length", "2")].concat())],
            vec![status(1, 200), End(1)],
        ),
        (
            "304 with a length",
            vec![headers(1, 5, &[&[0x8b][..], &literal("content-length", "2")].concat())],
            vec![status(0, 304), End(0)],
        ),
        (
            "frames that do not matter",
            vec![
                frame(2, 0, 7, &[0; 5]),
                frame(200, 255, 9, b"what"),
                frame(6, 1, 0, &[0; 8]),
                SETTINGS_ACK.to_vec(),
                SETTINGS_ACK.to_vec(),
                setting(0x99, 1),
                ok(1),
            ],
            vec![status(0, 200), End(0)],
        ),
    ];
    for (name, script, expected) in cases {
        assert_eq!(told(&script), expected, "{name}");
    }
}

#[test]
fn a_faulty_answer_fails_alone() {
    use StreamFault::*;
    let with = |flags, more: &[u8]| headers(1, flags, &[&[0x88], more].concat());
    let cases: Vec<(&str, Script, StreamFault, u32)> = vec![
        ("no status", vec![headers(1, 5, &[])], Status, 1),
        ("two of them", vec![with(5, &[0x88])], Status, 1),
        ("status after a header", vec![headers(1, 5, &[&literal("a", "b")[..], &[0x88]].concat())], Status, 1),
        ("a request's field", vec![with(5, &[0x82])], Status, 1),
        ("upper case", vec![with(5, &literal("A", "b"))], Field, 1),
        ("a header about the connection", vec![with(5, &literal("keep-alive", "5"))], ConnectionField, 1),
        (
            "two lengths",
            vec![with(4, &[literal("content-length", "1"), literal("content-length", "2")].concat())],
            ContentLength,
            1,
        ),
        ("status in trailers", vec![with(4, &[]), ok(1)], Status, 1),
        ("trailers before the end", vec![with(4, &[]), headers(1, 4, &literal("a", "b"))], Order, 1),
        ("a body before the head", vec![data(1, 0, b"a")], Order, 1),
        ("an interim answer at the end", vec![headers(1, 5, &literal(":status", "100"))], Order, 1),
        ("a body too short", vec![with(4, &literal("content-length", "2")), data(1, 1, b"a")], BodyLength, 1),
        (
            "a body too short before trailers",
            vec![with(4, &literal("content-length", "2")), data(1, 0, b"a"), headers(1, 5, &[])],
            BodyLength,
            1,
        ),
        ("no body", vec![with(5, &literal("content-length", "2"))], BodyLength, 1),
        ("a body too long", vec![with(4, &literal("content-length", "2")), data(1, 0, b"abc")], BodyLength, 1),
        ("too many headers", vec![with(5, &literal("a", "").repeat(129))], TooManyHeaders, 11),
        (
            "too long a head",
            vec![with(5, &[vec![0x40, 1, b'a', 0x7f, 0xa1, 0x1e], vec![b'x'; 4000], vec![0xbe; 20]].concat())],
            HeadTooLong,
            11,
        ),
        ("nothing added to a window", vec![window_update(1, 0)], ZeroIncrement, 1),
        ("a window too large", vec![window_update(1, (1 << 31) - 1)], WindowOverflow, 3),
    ];
    for (name, script, fault, code) in cases {
        // What comes late on the stream is ignored; the others go on.
        let late = [headers(1, 4, &[0x88]), data(1, 1, b"late"), window_update(1, 1), ok(5)];
        let outcome = play_any_way(&[script.concat(), late.concat()].concat());
        assert_eq!(outcome.result, Ok(()), "{name}");
        let told: Vec<Told> = outcome.told.into_iter().filter(|told| matches!(told, Failed(..) | End(_))).collect();
        assert_eq!(told, [Failed(0, fault), End(2)], "{name}");
        let resets: Vec<_> = frames(&outcome.sent).into_iter().filter(|frame| frame.0 == 3).collect();
        assert_eq!(resets[0], (3, 0, 1, &u32::to_be_bytes(code)[..]), "{name}");
    }
}

#[test]
fn what_the_server_takes_back_may_be_sent_again() {
    let reset = |stream, code: u32| frame(3, 0, stream, &code.to_be_bytes());
    let goaway =
        |last: u32, code: u32| frame(7, 0, 0, &[&last.to_be_bytes()[..], &code.to_be_bytes(), b"why"].concat());
    let cases: Vec<(&str, Script, Vec<Told>)> = vec![
        ("refused", vec![reset(1, 7)], vec![Failed(0, StreamFault::NotProcessed)]),
        ("reset", vec![reset(3, 2)], vec![Failed(1, StreamFault::Reset(ErrorCode(2)))]),
        (
            "reset twice, and of unknown meaning",
            vec![reset(3, 99), reset(3, 8)],
            vec![Failed(1, StreamFault::Reset(ErrorCode(99)))],
        ),
        ("reset after the end", vec![ok(5), reset(5, 0)], vec![status(2, 200), End(2)]),
        (
            "gone, with some streams",
            vec![goaway(1, 0), ok(1)],
            vec![Failed(2, StreamFault::NotProcessed), Failed(1, StreamFault::NotProcessed), status(0, 200), End(0)],
        ),
        (
            "gone in two steps, late frames",
            vec![goaway((1 << 31) - 1, 0), goaway(3, 0), ok(5), ok(3)],
            vec![Failed(2, StreamFault::NotProcessed), status(1, 200), End(1)],
        ),
    ];
    for (name, script, expected) in cases {
        assert_eq!(told(&script), expected, "{name}");
    }
}

#[test]
fn a_server_that_breaks_the_rules_is_told_so() {
    use SessionError::*;
    let goaway = |last: u8| frame(7, 0, 0, &[0, 0, 0, last, 0, 0, 0, 0]);
    let cases: Vec<(&str, Vec<u8>, SessionError, u32)> = vec![
        ("a frame that is too long", frame(0, 0, 1, &[0; 16_385]), FrameSize, 6),
        ("SETTINGS of five bytes", frame(4, 0, 0, &[0; 5]), FrameSize, 6),
        ("an acknowledgement with settings", frame(4, 1, 0, &[0; 6]), FrameSize, 6),
        ("PING of seven bytes", frame(6, 0, 0, &[0; 7]), FrameSize, 6),
        ("GOAWAY of seven bytes", frame(7, 0, 0, &[0; 7]), FrameSize, 6),
        ("RST_STREAM of three bytes", frame(3, 0, 1, &[0; 3]), FrameSize, 6),
        ("WINDOW_UPDATE of five bytes", frame(8, 0, 1, &[0; 5]), FrameSize, 6),
        ("PRIORITY of four bytes", frame(2, 0, 1, &[0; 4]), FrameSize, 6),
        ("HEADERS with half a priority", headers(1, 0x24, &[0; 4]), FrameSize, 6),
        ("HEADERS without the length of padding", headers(1, 0x0c, &[]), FrameSize, 6),
        ("HEADERS with too much padding", headers(1, 0x0c, &[2, 0x88]), Padding, 1),
        ("DATA with too much padding", data(1, 8, &[2, 0]), Padding, 1),
        ("DATA without the length of padding", data(1, 8, &[]), FrameSize, 6),
        ("DATA on the connection", data(0, 0, b"a"), StreamZero, 1),
        ("HEADERS on the connection", headers(0, 5, &[0x88]), StreamZero, 1),
        ("SETTINGS on a stream", frame(4, 0, 1, &[]), StreamZero, 1),
        ("PING on a stream", frame(6, 0, 1, &[0; 8]), StreamZero, 1),
        ("a head on a stream of its own", ok(2), IdleStream, 1),
        ("a head on a stream to come", ok(7), IdleStream, 1),
        ("DATA on a stream to come", data(7, 0, b"a"), IdleStream, 1),
        ("RST_STREAM on a stream to come", frame(3, 0, 7, &[0; 4]), IdleStream, 1),
        ("WINDOW_UPDATE on a stream to come", window_update(7, 1), IdleStream, 1),
        ("two answers at once", [ok(1), ok(1)].concat(), ClosedStream, 5),
        ("a body after the end", [ok(1), data(1, 1, b"a")].concat(), ClosedStream, 5),
        ("an answer after its reset", [frame(3, 0, 1, &[0; 4]), ok(1)].concat(), ClosedStream, 5),
        ("a block that is interrupted", [headers(1, 0, &[0x88]), data(1, 0, b"")].concat(), Continuation, 1),
        ("a block that goes on elsewhere", [headers(1, 0, &[0x88]), frame(9, 4, 3, &[])].concat(), Continuation, 1),
        ("a block that has not begun", frame(9, 4, 1, &[]), Continuation, 1),
        (
            "many empty pieces of a block",
            [headers(1, 0, &[]), frame(9, 0, 1, &[]).repeat(8000)].concat(),
            BlockTooLong,
            11,
        ),
        (
            "a block too long",
            [headers(1, 0, &[]), frame(9, 0, 1, &[0x88; 16_000]).repeat(5)].concat(),
            BlockTooLong,
            11,
        ),
        ("no HPACK", headers(1, 5, &[0x80]), Compression(HpackError::Index), 9),
        ("a push", frame(5, 4, 1, &[0, 0, 0, 2, 0x82]), Push, 1),
        ("pushes announced", setting(2, 1), Setting, 1),
        ("frames too short", setting(5, 16_383), Setting, 1),
        ("frames too long", setting(5, 1 << 24), Setting, 1),
        ("a window too large", setting(4, 1 << 31), WindowOverflow, 3),
        ("a window made too large", window_update(0, (1 << 31) - 1).repeat(2), WindowOverflow, 3),
        (
            "windows made too large by SETTINGS",
            [window_update(1, 1 << 30), setting(4, (1 << 31) - 1)].concat(),
            WindowOverflow,
            3,
        ),
        ("nothing added to the window", window_update(0, 0), ZeroIncrement, 1),
        ("GOAWAY taken back", [goaway(1), goaway(3)].concat(), GoAway, 1),
        ("more PING than we can answer", frame(6, 0, 0, &[0; 8]).repeat(20_000), Flood, 11),
    ];
    for (name, script, error, code) in cases {
        let outcome = play_any_way(&script);
        assert_eq!(outcome.result, Err(error), "{name}");
        let [.., goaway] = frames(&outcome.sent)[..] else { panic!("{name}") };
        assert_eq!(goaway, (7, 0, 0, &[[0; 4], u32::to_be_bytes(code)].concat()[..]), "{name}");
    }
}

#[test]
fn a_server_must_begin_with_settings() {
    let cases = [
        ("HTTP/1", b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()),
        ("an acknowledgement", SETTINGS_ACK.to_vec()),
        ("a PING", frame(6, 0, 0, &[0; 8])),
        ("a lot of text", vec![b'<'; 100]),
    ];
    for (name, script) in cases {
        assert_eq!(play([script.as_slice()]).result, Err(SessionError::Preface), "{name}");
        assert_eq!(play(script.chunks(1)).result, Err(SessionError::Preface), "{name}");
    }
}

#[test]
fn settings_and_ping_are_answered() {
    let script = [setting(3, 10), frame(6, 0, 0, b"12345678"), frame(6, 1, 0, b"87654321")].concat();
    let outcome = play_any_way(&script);
    let acknowledgement = (4, 1, 0, &[][..]);
    assert_eq!(frames(&outcome.sent), [acknowledgement, acknowledgement, (6, 1, 0, &b"12345678"[..])]);
}

/// How many bytes of a body were sent, and whether the stream was ended.
type Upload = (usize, bool);

/// What is sent of a body on stream 1, at once and after each frame of the server's.
fn uploads(body: usize, steps: &[Vec<u8>]) -> Vec<Upload> {
    let mut out = Vec::new();
    let mut session = Session::new(&mut out);
    session.feed(SETTINGS, &mut out, &mut Story::default()).unwrap();
    out.clear();
    session.request(0, &head("POST"), &vec![b'x'; body], &mut out).unwrap();
    let mut sent = Vec::new();
    let mut tell = |out: &mut Vec<u8>| {
        let data: Vec<_> = frames(out).into_iter().filter(|frame| frame.0 == 0).collect();
        assert!(data.iter().all(|(_, _, stream, payload)| *stream == 1 && (1..=16_384).contains(&payload.len())));
        sent.push((data.iter().map(|frame| frame.3.len()).sum(), data.iter().any(|frame| frame.1 & 1 != 0)));
        out.clear();
    };
    tell(&mut out);
    for step in steps {
        session.feed(step, &mut out, &mut Story::default()).unwrap();
        tell(&mut out);
    }
    sent
}

#[test]
fn bodies_keep_to_the_windows_of_the_server() {
    let (stream, connection) = (|n| window_update(1, n), |n| window_update(0, n));
    let cases: Vec<(&str, usize, Script, Vec<Upload>)> = vec![
        ("as much as the window", 65_535, vec![], vec![(65_535, true)]),
        ("one byte more", 65_536, vec![stream(9), connection(9)], vec![(65_535, false), (0, false), (1, true)]),
        (
            "opened the other way round",
            65_537,
            vec![connection(9), stream(1), stream(9)],
            vec![(65_535, false), (0, false), (1, false), (1, true)],
        ),
        (
            "opened by SETTINGS",
            70_000,
            vec![connection(99_999), setting(4, 65_545), setting(4, 99_999)],
            vec![(65_535, false), (0, false), (10, false), (4455, true)],
        ),
        (
            "negative by SETTINGS",
            65_600,
            vec![connection(99_999), setting(4, 0), stream(65_535), stream(5), setting(4, 10), setting(4, 100)],
            vec![(65_535, false), (0, false), (0, false), (0, false), (5, false), (10, false), (50, true)],
        ),
    ];
    for (name, body, steps, expected) in cases {
        assert_eq!(uploads(body, &steps), expected, "{name}");
    }
}

#[test]
fn an_answer_before_the_whole_request_ends_both() {
    let outcome = play_any_way(&[ok(5), window_update(5, 9), window_update(0, 99_999), data(5, 0, b"late")].concat());
    assert_eq!((outcome.result, outcome.told), (Ok(()), vec![status(2, 200), End(2)]));
    assert_eq!(frames(&outcome.sent)[1..], [(3, 0, 5, &[0, 0, 0, 8][..])]);
}

#[test]
fn what_is_cancelled_is_not_heard_of_again() {
    let mut out = Vec::new();
    let mut story = Story::default();
    let mut session = Session::new(&mut out);
    session.request(0, &head("GET"), b"", &mut out).unwrap();
    session.request(1, &head("GET"), b"", &mut out).unwrap();
    session
        .feed(&[SETTINGS, &headers(1, 4, &[0x88]), &data(1, 0, b"abc")[..11]].concat(), &mut out, &mut story)
        .unwrap();
    assert_eq!(session.request(0, &head("GET"), b"", &mut out), Err(Refused::SlotInUse));
    out.clear();
    session.cancel(0, &mut out);
    session.cancel(0, &mut out);
    session.cancel(9, &mut out);
    assert_eq!(frames(&out), [(3, 0, 1, &[0, 0, 0, 8][..])]);
    assert_eq!(session.in_flight(), 1);
    // The slot's next request is another stream than the one whose frames still come.
    session.request(0, &head("GET"), b"", &mut out).unwrap();
    let rest = [&b"c"[..], &data(1, 1, b"d"), &ok(5), &ok(3)].concat();
    session.feed(&rest, &mut out, &mut story).unwrap();
    assert_eq!(story.0, [status(0, 200), body(0, "ab"), status(0, 200), End(0), status(1, 200), End(1)]);
}

#[test]
fn requests_are_refused_where_there_is_no_room() {
    let mut out = Vec::new();
    let mut story = Story::default();
    let mut session = Session::new(&mut out);
    let start = |session: &mut Session, key| session.request(key, &head("GET"), b"", &mut Vec::new());
    for key in 0..100 {
        assert_eq!(start(&mut session, key), Ok(()), "{key}");
    }
    // RFC 9113, section 6.5.2, advises servers to allow 100.
    assert_eq!((start(&mut session, 100), session.can_start()), (Err(Refused::TooMany), false));
    session.feed(SETTINGS, &mut out, &mut story).unwrap();
    assert_eq!((start(&mut session, 100), session.can_start()), (Ok(()), true));
    session.feed(&setting(3, 101), &mut out, &mut story).unwrap();
    assert_eq!(start(&mut session, 101), Err(Refused::TooMany));
    session.feed(&ok(1), &mut out, &mut story).unwrap();
    assert_eq!(start(&mut session, 101), Ok(()));
    session.connection.next_id = (1 << 31) - 1;
    session.feed(&ok(3), &mut out, &mut story).unwrap();
    assert_eq!((start(&mut session, 102), start(&mut session, 103)), (Ok(()), Err(Refused::UsedUp)));
    session.feed(&frame(7, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 0]), &mut out, &mut story).unwrap();
    assert_eq!(start(&mut session, 103), Err(Refused::GoingAway));
    let code = ErrorCode(0);
    assert_eq!((session.in_flight(), session.going_away()), (0, Some(GoAway { last_stream: 0, code })));
}

/// Lets a server send 4 GiB on one stream, or until it breaks the rules, and returns what it was granted by the way.
fn flood(reads: bool) -> (Vec<(u32, u32)>, Count, Result<(), SessionError>) {
    let mut out = Vec::new();
    let mut count = Count::default();
    let mut session = Session::new(&mut out);
    session.request(0, &head("GET"), b"", &mut out).unwrap();
    out.clear();
    session.feed(&[SETTINGS, &headers(1, 4, &[0x88])].concat(), &mut out, &mut count).unwrap();
    out.clear();
    let mut granted = Vec::new();
    let piece = data(1, 0, &[0; 16_384]).repeat(4);
    let result = (0..1 << 16).try_for_each(|_| {
        let before = out.len();
        let fed = session.feed(&piece, &mut out, &mut count);
        let updates = frames(&out[before..]).into_iter().filter(|frame| frame.0 == 8);
        granted.extend(updates.map(|frame| (frame.2, u32::from_be_bytes(frame.3.try_into().unwrap()))));
        if reads {
            out.clear();
        }
        fed
    });
    (granted, count, result)
}

#[test]
fn windows_are_renewed_in_few_frames() {
    let (granted, count, result) = flood(true);
    assert_eq!((count.bytes, count.fault, result), (1 << 32, None, Ok(())));
    // Whenever half of one is used up: the stream's of 2^30 bytes seven times, the connection's of 2^31 three times.
    let of = |id| granted.iter().filter(|(stream, _)| *stream == id).map(|(_, bytes)| *bytes).collect::<Vec<_>>();
    assert_eq!((of(1), of(0)), (vec![(1 << 29) + 16_384; 7], vec![1 << 30; 4]));
}

#[test]
fn a_server_that_sends_more_than_it_was_granted_is_stopped() {
    // It reads nothing, so that it cannot know of a wider window.
    let (_, count, result) = flood(false);
    assert_eq!((count.bytes, count.fault), (1 << 30, Some(StreamFault::FlowControl)));
    // It goes on all the same, until the connection's window is used up too.
    assert_eq!(result, Err(SessionError::FlowControl));
}

#[derive(Default)]
struct Count {
    bytes: usize,
    fault: Option<StreamFault>,
}

impl StreamVisitor for Count {
    fn head(&mut self, _: u32, _: &Head<'_>) {}
    fn body(&mut self, _: u32, bytes: &[u8]) {
        self.bytes += bytes.len();
    }
    fn end(&mut self, _: u32) {}
    fn failed(&mut self, _: u32, fault: StreamFault) {
        self.fault = Some(fault);
    }
}

proptest! {
    /// Frames of all kinds, some of them damaged, cut anywhere.
    #[test]
    fn any_cut_of_a_connection_tells_the_same(
        script in prop::collection::vec(
            prop_oneof![
                (0..8_u32, 0..6_u8).prop_map(|(stream, flags)| headers(stream, flags, &[0x88])),
                (0..8_u32, 0..16_u8, prop::collection::vec(0..4_u8, 0..20))
                    .prop_map(|(stream, flags, bytes)| data(stream, flags, &bytes)),
                (0..12_u8, any::<u8>(), 0..8_u32, prop::collection::vec(any::<u8>(), 0..20))
                    .prop_map(|(kind, flags, stream, payload)| frame(kind, flags, stream, &payload)),
                (0..8_u32, 0..100_000_u32).prop_map(|(stream, increment)| window_update(stream, increment)),
                (1..7_u8, 0..100_000_u32).prop_map(|(identifier, value)| setting(identifier, value)),
            ],
            0..12,
        ),
        cuts in prop::collection::vec(1..40_usize, 1..20),
    ) {
        let script = [SETTINGS.to_vec(), script.concat()].concat();
        let mut rest = script.as_slice();
        let pieces: Vec<&[u8]> = cuts
            .iter()
            .cycle()
            .map_while(|len| {
                let (piece, after) = rest.split_at((*len).min(rest.len()));
                rest = after;
                (!piece.is_empty()).then_some(piece)
            })
            .collect();
        prop_assert_eq!(play(pieces), play([script.as_slice()]));
    }
}
