//! Streams that are cut anywhere, cut short, damaged, or something else.

use proptest::prelude::*;

use super::*;
use crate::frame::MOST_PAYLOAD;
use crate::outbox::Outbox;
use crate::preamble::MOST_BEFORE;

fn preamble() -> Vec<u8> {
    Preamble::ours().to_bytes(Side::Agent)
}

/// A preamble and these messages.
fn stream(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut outbox = Outbox::default();
    messages.iter().for_each(|message| outbox.push(message.clone()));
    let mut bytes = preamble();
    while let Some(frame) = outbox.next_frame() {
        bytes.extend(frame);
    }
    bytes
}

fn reader() -> MessageReader {
    MessageReader::new(Side::Agent, Preamble::ours())
}

/// All messages of these pieces, and how it ended.
fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Vec<u8>>, LineError) {
    let (mut reader, mut messages) = (reader(), Vec::new());
    for piece in pieces {
        let fed = reader.feed(piece);
        while let Some(message) = reader.next_message() {
            messages.push(message);
        }
        if let Err(error) = fed {
            assert_eq!(reader.feed(b"x"), Err(error.clone()), "it fails for ever");
            return (messages, error);
        }
    }
    (messages, reader.ended())
}

fn header(message: u64, length: u32, last: u8) -> Vec<u8> {
    [&message.to_be_bytes()[..], &length.to_be_bytes(), &[last]].concat()
}

#[test]
fn what_is_no_stream_of_an_agent_is_told_from_one() {
    let came = |text: &str| LineError::NotStampede { came: text.to_owned() };
    let theirs = |text: &str| [b"\0stampede-agent\0", text.as_bytes()].concat();
    let with = |bytes: Vec<u8>| [preamble(), bytes].concat();
    let other = |protocol, program: &str| LineError::OtherVersion {
        theirs: Preamble { protocol, program: program.to_owned() },
        ours: Preamble::ours(),
    };
    let too_large = LineError::FrameTooLarge { length: u32::MAX.into(), most: MOST_PAYLOAD };
    for (name, bytes, end) in [
        ("nothing", Vec::new(), came("")),
        ("a shell", b"bash: stampede: command not found\n".to_vec(), came("bash: stampede: command not found")),
        ("an echo", Preamble::ours().to_bytes(Side::Client), {
            let text = String::from_utf8(Preamble::ours().to_bytes(Side::Client)).unwrap();
            came(text.trim())
        }),
        ("a flood", vec![b'y'; MOST_BEFORE + 20], came(&"y".repeat(300))),
        ("half a preamble", preamble()[..17].to_vec(), came("\0stampede-agent\x002")),
        ("no version", theirs("x\n"), came("\0stampede-agent\0x")),
        ("a version without end", theirs(&"1".repeat(100)), came(&format!("\0stampede-agent\0{}", "1".repeat(100)))),
        ("a terminal", theirs("1 0.1.0\r\n"), LineError::Terminal),
        ("another protocol", theirs("1 9.9.9\n"), other(1, "9.9.9")),
        ("another program", theirs("1 9.9.9\n"), other(1, "9.9.9")),
        ("a preamble alone", preamble(), LineError::Ended),
        ("half a header", with(header(0, 1, 1)[..5].to_vec()), LineError::Truncated),
        ("half a frame", with([header(0, 2, 1), vec![7]].concat()), LineError::Truncated),
        ("half a message", with([header(0, 1, 0), vec![7]].concat()), LineError::Truncated),
        ("a frame that is too large", with(header(0, u32::MAX, 1)), too_large),
        ("a frame of nothing known", with(header(0, 1, 2)), LineError::Damaged),
        (
            "messages without end",
            with((0..5000).flat_map(|message| header(message, 0, 0)).collect()),
            LineError::TooManyMessages { most: MOST_MESSAGES },
        ),
    ] {
        assert_eq!(read(std::iter::once(bytes.as_slice())), (Vec::new(), end.clone()), "{name}");
        assert_eq!(read(bytes.chunks(7)).1, end, "{name} in pieces");
    }
}

#[test]
fn errors_say_what_to_do() {
    let ours = Preamble { protocol: 1, program: "0.1.0".to_owned() };
    let theirs = Preamble { protocol: 2, program: "0.2.0".to_owned() };
    for (error, text) in [
        (
            LineError::OtherVersion { theirs, ours },
            "it is Stampede 0.2.0 with protocol 2, but this is Stampede 0.1.0 with protocol 1; install the same Stampede on both \
             sides",
        ),
        (
            LineError::NotStampede { came: "Welcome!\n".to_owned() },
            "Stampede's agent did not begin; this came instead: \"Welcome!\\n\"; look whether Stampede is installed there, and have \
             the shell print nothing before it",
        ),
        (
            LineError::NotStampede { came: String::new() },
            "it ended without a word; look whether Stampede is installed there and can be run",
        ),
    ] {
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn a_message_is_bounded_before_it_is_held() {
    let mut reader = reader();
    reader.feed(&preamble()).unwrap();
    let frame = [header(0, MOST_PAYLOAD as u32, 0), vec![0; MOST_PAYLOAD]].concat();
    let mut most = 0;
    let error = loop {
        match reader.feed(&frame) {
            Ok(()) => most += MOST_PAYLOAD,
            Err(error) => break error,
        }
    };
    assert_eq!((most, error), (MOST_BYTES, LineError::MessageTooLarge { most: MOST_BYTES }));
}

#[test]
fn a_short_message_does_not_wait_for_a_long_one() {
    let (long, short) = (vec![1; 3 * MOST_PAYLOAD], vec![2; 10]);
    let bytes = stream(&[long.clone(), short.clone()]);
    assert_eq!(read(std::iter::once(bytes.as_slice())), (vec![short, long], LineError::Ended));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn messages_survive_whatever_is_printed_before_them_and_any_cutting(
        before in proptest::collection::vec(any::<u8>(), 0..300),
        sizes in proptest::collection::vec((0..2_u8, 0..200_000_usize), 0..5),
        cuts in proptest::collection::vec(1..70_000_usize, 1..40),
    ) {
        // Most are small.
        let messages: Vec<Vec<u8>> = sizes.iter().zip(0_u8..).map(|((is_large, size), byte)| {
            vec![byte; if *is_large == 1 { *size } else { size % 50 }]
        }).collect();
        let bytes = [before, stream(&messages)].concat();
        let mut pieces = Vec::new();
        let (mut rest, mut cuts) = (bytes.as_slice(), cuts.iter().cycle());
        while !rest.is_empty() {
            let (piece, left) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
            pieces.push(piece);
            rest = left;
        }
        let (mut came, end) = read(pieces.into_iter());
        let mut sent = messages;
        sent.sort();
        came.sort();
        prop_assert_eq!(came, sent);
        prop_assert_eq!(end, LineError::Ended);
    }

    #[test]
    fn a_damaged_stream_means_the_same_however_it_is_cut(
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..4),
        size in 1..100_usize,
    ) {
        let mut bytes = stream(&[vec![1; 20], vec![], vec![3; 70_000]]);
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let whole = read(std::iter::once(bytes.as_slice()));
        let pieces = read(bytes.chunks(size));
        prop_assert_eq!(pieces.0, whole.0);
        prop_assert_eq!(std::mem::discriminant(&pieces.1), std::mem::discriminant(&whole.1));
    }
}
