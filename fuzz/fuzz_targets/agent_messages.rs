//! The stream of an agent: whatever comes means the same however it is cut, and what has failed once fails for ever.

#![no_main]

use std::mem::discriminant;

use libfuzzer_sys::fuzz_target;
use stampede_agent::{LineError, MessageReader, Preamble, Side};

/// All messages of these pieces, and how it ended.
fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Vec<u8>>, LineError) {
    let mut reader = MessageReader::new(Side::Agent, Preamble::ours());
    let mut messages = Vec::new();
    for piece in pieces {
        let fed = reader.feed(piece);
        while let Some(message) = reader.next_message() {
            messages.push(message);
        }
        if let Err(error) = fed {
            assert_eq!(reader.feed(b"x"), Err(error.clone()));
            return (messages, error);
        }
    }
    (messages, reader.ended())
}

/// The header of a frame: its message's number, its length, and whether it is the last.
fn frame(number: u8, payload: &[u8], is_last: bool) -> Vec<u8> {
    let mut bytes = u64::from(number).to_be_bytes().to_vec();
    bytes.extend_from_slice(&(payload.len() as u32).to_be_bytes());
    bytes.push(is_last.into());
    bytes.extend_from_slice(payload);
    bytes
}

fuzz_target!(|input: (&[u8], Vec<(u8, &[u8], bool)>, Vec<(u16, u8)>, u8)| {
    let (before, frames, damage, size) = input;
    let mut bytes = before.to_vec();
    bytes.extend(Preamble::ours().to_bytes(Side::Agent));
    for (number, payload, is_last) in frames {
        bytes.extend(frame(number, payload, is_last));
    }
    for (place, byte) in damage {
        let place = usize::from(place) % bytes.len();
        bytes[place] = byte;
    }
    let whole = read(std::iter::once(bytes.as_slice()));
    let pieces = read(bytes.chunks(usize::from(size).max(1)));
    assert_eq!(pieces.0, whole.0);
    assert_eq!(discriminant(&pieces.1), discriminant(&whole.1));
});
