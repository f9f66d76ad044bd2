//! Server-sent events, as they come (WHATWG HTML, section 9.2.6, "Interpreting an event stream").
//!
//! How the bytes are cut has no influence on the events. Bytes are not decoded: what is no UTF-8 stays as it is. The memory that
//! a stream may take is bounded by [`EVENT_LIMIT`].

use memchr::memchr2;

/// The most bytes of a line, and of an event with all of its lines. Browsers have no limit; a server without an end of a line
/// must not take the generator's memory.
pub const EVENT_LIMIT: usize = 256 << 10;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// An event that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event<'a> {
    /// Its type; `message` where it has none.
    pub(crate) kind: &'a [u8],
    pub(crate) data: &'a [u8],
}

/// A line, or an event, is longer than [`EVENT_LIMIT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// A stream up to where it has come, in memory that is used again.
#[derive(Debug, Default)]
pub(crate) struct EventStream {
    /// Bytes of the mark at its beginning that have come; all of them also where there is none.
    marked: usize,
    /// The last byte was the end of a line, CR: an LF belongs to it.
    after_cr: bool,
    /// The beginning of a line that has not come to its end.
    line: Vec<u8>,
    kind: Vec<u8>,
    data: Vec<u8>,
    /// The `id` that came last, which the next event makes the stream's.
    id_to_be: Vec<u8>,
    id: Vec<u8>,
    /// Lines that are comments, which servers send to keep connections open.
    pub(crate) comments: u64,
}

impl EventStream {
    /// Begins another stream.
    pub(crate) fn begin(&mut self) {
        let Self { marked, after_cr, line, kind, data, id_to_be, id, comments } = self;
        (*marked, *after_cr, *comments) = (0, false, 0);
        [line, kind, data, id_to_be, id].into_iter().for_each(Vec::clear);
    }

    /// The identifier of the last event that had one.
    pub(crate) fn id(&self) -> &[u8] {
        &self.id
    }

    /// Reads the next bytes, and gives events to `take` for as long as it returns `true`. What comes after that is not read.
    pub(crate) fn feed(&mut self, bytes: &[u8], take: &mut impl FnMut(Event<'_>) -> bool) -> Result<(), TooLong> {
        let mut rest = bytes;
        while let (Some(expected), Some((byte, after))) = (BYTE_ORDER_MARK.get(self.marked), rest.split_first()) {
            if byte == expected {
                self.marked += 1;
                rest = after;
            } else {
                // No mark after all: its bytes belong to the first line.
                self.line.extend_from_slice(BYTE_ORDER_MARK.get(..self.marked).unwrap_or_default());
                self.marked = BYTE_ORDER_MARK.len();
            }
        }
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while !rest.is_empty() {
            let Some(end) = memchr2(b'\r', b'\n', rest) else {
                return self.keep(rest);
            };
            let (piece, after) = rest.split_at(end);
            rest = match after {
                [b'\r', b'\n', after @ ..] => after,
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                [_, after @ ..] => after,
                [] => &[],
            };
            let goes_on = if self.line.is_empty() {
                if piece.len() > EVENT_LIMIT {
                    return Err(TooLong);
                }
                self.line(piece, take)?
            } else {
                self.keep(piece)?;
                let mut line = std::mem::take(&mut self.line);
                let goes_on = self.line(&line, take);
                line.clear();
                self.line = line;
                goes_on?
            };
            if !goes_on {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Keeps a part of a line.
    fn keep(&mut self, piece: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + piece.len() > EVENT_LIMIT {
            return Err(TooLong);
        }
        self.line.extend_from_slice(piece);
        Ok(())
    }

    /// A line without its end. Returns whether the stream is to be read on.
    fn line(&mut self, line: &[u8], take: &mut impl FnMut(Event<'_>) -> bool) -> Result<bool, TooLong> {
        if line.is_empty() {
            return Ok(self.dispatch(take));
        }
        let (name, value) = match memchr::memchr(b':', line) {
            Some(0) => {
                self.comments += 1;
                return Ok(true);
            }
            Some(colon) => {
                let (name, value) = line.split_at(colon);
                let value = value.get(1..).unwrap_or_default();
                (name, value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &[][..]),
        };
        match name {
            b"data" => {
                if self.data.len() + value.len() >= EVENT_LIMIT {
                    return Err(TooLong);
                }
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"event" => {
                self.kind.clear();
                self.kind.extend_from_slice(value);
            }
            b"id" if !value.contains(&0) => {
                self.id_to_be.clear();
                self.id_to_be.extend_from_slice(value);
            }
            // `retry` is for a client that connects again; a step does not. Other fields are ignored.
            _ => {}
        }
        Ok(true)
    }

    /// An empty line ends an event, unless it has no data.
    fn dispatch(&mut self, take: &mut impl FnMut(Event<'_>) -> bool) -> bool {
        self.id.clear();
        self.id.extend_from_slice(&self.id_to_be);
        let goes_on = match self.data.split_last() {
            None => true,
            Some((_, data)) => {
                let kind = if self.kind.is_empty() { b"message" } else { &self.kind[..] };
                take(Event { kind, data })
            }
        };
        self.data.clear();
        self.kind.clear();
        goes_on
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Types and data of all events, how many comments there were, and the last identifier.
    type Read = (Vec<(String, String)>, u64, String);

    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Read, TooLong> {
        let mut stream = EventStream::default();
        let mut events = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        // What a stream before has left behind is gone.
        stream.feed(b"id: old\ndata: old\n\ndata: rest\n: x\nevent: e\nhalf", &mut |_| true)?;
        stream.begin();
        for piece in pieces {
            stream.feed(piece, &mut |event| {
                events.push((text(event.kind), text(event.data)));
                true
            })?;
        }
        Ok((events, stream.comments, text(stream.id())))
    }

    /// The examples of the standard, and what its rules say of lines that are none.
    #[test]
    fn streams_are_read_as_the_standard_says_however_they_are_cut() {
        let message = |data: &str| ("message".to_owned(), data.to_owned());
        let named = |name: &str, data: &str| (name.to_owned(), data.to_owned());
        for (text, events, comments, id) in [
            // Section 9.2.6.
            ("data: YHOO\ndata: +2\ndata: 10\n\n", vec![message("YHOO\n+2\n10")], 0, ""),
            (
                ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
                vec![message("first event"), message("second event"), message(" third event")],
                1,
                "",
            ),
            ("data\n\ndata\ndata\n\ndata:", vec![message(""), message("\n")], 0, ""),
            ("data:test\n\ndata: test\n\n", vec![message("test"), message("test")], 0, ""),
            // Section 9.2.5: any of the ends of lines, and one mark at the beginning.
            ("data: a\r\n\r\ndata: b\r\rdata: c\n\n", vec![message("a"), message("b"), message("c")], 0, ""),
            ("data: a\r\n\ndata: b\n\r\n", vec![message("a"), message("b")], 0, ""),
            ("\u{feff}data: a\n\n", vec![message("a")], 0, ""),
            ("\u{feff}\u{feff}data: a\n\ndata: b\n\n", vec![message("b")], 0, ""),
            ("event: add\ndata: 1\n\ndata: 2\n\n", vec![named("add", "1"), message("2")], 0, ""),
            ("event: add\n\ndata: 2\n\n", vec![message("2")], 0, ""),
            ("event: a\nevent: b\nevent\ndata: 2\n\n", vec![message("2")], 0, ""),
            ("id: 7\ndata: a\n\nid: 8\n", vec![message("a")], 0, "7"),
            ("id: 7\n\n", Vec::new(), 0, "7"),
            ("id: 7\n\nid: a\0b\ndata: x\n\n", vec![message("x")], 0, "7"),
            ("retry: 10\nretry: soon\nDATA: no\ndata : no\nother: no\n\n", Vec::new(), 0, ""),
            (":\n:keep\n:::\n\n", Vec::new(), 3, ""),
            ("data: a:b: c\n\n", vec![message("a:b: c")], 0, ""),
            // What has no empty line after it is no event.
            ("data: a\n\ndata: b\n", vec![message("a")], 0, ""),
            ("", Vec::new(), 0, ""),
        ] {
            for size in [1, 2, 3, 5, usize::MAX] {
                let found = read(text.as_bytes().chunks(size)).unwrap();
                assert_eq!(found, (events.clone(), comments, id.to_owned()), "{text:?} by {size}");
            }
        }
    }

    #[test]
    fn a_line_or_an_event_without_an_end_takes_no_more_memory_than_the_limit() {
        let longest = format!("data:{}\n\n", "x".repeat(EVENT_LIMIT - 5));
        assert_eq!(read([longest.as_bytes()]).unwrap().0[0].1.len(), EVENT_LIMIT - 5);
        let line = vec![b'x'; EVENT_LIMIT + 1];
        let lines = b"data: 0123456789\n".repeat(EVENT_LIMIT / 10);
        let closed = [&line[..], b"\n"].concat();
        for endless in [&line, &closed, &lines] {
            for size in [1, 1000, usize::MAX] {
                assert_eq!(read(endless.chunks(size)), Err(TooLong));
            }
        }
        let mut stream = EventStream::default();
        let _ = line.chunks(1000).find_map(|piece| stream.feed(piece, &mut |_| true).err());
        assert!(stream.line.capacity() <= 2 * EVENT_LIMIT);
        // Comments without an end take nothing.
        assert_eq!(
            read(std::iter::repeat_n(&b": 0123456789\n"[..], EVENT_LIMIT / 5)).unwrap().1,
            (EVENT_LIMIT / 5) as u64
        );
    }

    #[test]
    fn nothing_is_read_after_the_last_event_that_is_taken() {
        let mut stream = EventStream::default();
        let mut seen = 0;
        let mut take = |_: Event<'_>| {
            seen += 1;
            seen < 2
        };
        stream.feed(b"data: a\n\ndata: b\n\ndata: c\n\n: d\n", &mut take).unwrap();
        assert_eq!((seen, stream.comments), (2, 0));
    }

    /// The same rules, the plain way: the whole text, line by line.
    fn naive(text: &[u8]) -> Read {
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let text = String::from_utf8_lossy(text).replace("\r\n", "\n").replace('\r', "\n");
        let (mut events, mut comments, mut data, mut kind) = (Vec::new(), 0, Vec::new(), String::new());
        let (mut to_be, mut id) = (String::new(), String::new());
        let mut lines: Vec<_> = text.split('\n').collect();
        lines.pop();
        for line in lines {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
            match (line, name) {
                ("", _) => {
                    id.clone_from(&to_be);
                    let kind = std::mem::take(&mut kind);
                    let kind = if kind.is_empty() { "message".to_owned() } else { kind };
                    if !data.is_empty() {
                        events.push((kind, std::mem::take(&mut data).join("\n")));
                    }
                }
                (_, "") => comments += 1,
                (_, "data") => data.push(value),
                (_, "event") => kind = value,
                (_, "id") => to_be = value,
                _ => {}
            }
        }
        (events, comments, id)
    }

    proptest! {
        #[test]
        fn any_text_in_any_pieces_has_the_events_of_its_lines(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "data", "event", "id", ":", ": ", " ", "\n", "\r", "\r\n", "\n\n", "x", "ä", "\u{feff}", "retry: 5",
                ]),
                0..40,
            ),
            size in 1_usize..7,
        ) {
            let text = parts.concat();
            prop_assert_eq!(read(text.as_bytes().chunks(size)).unwrap(), naive(text.as_bytes()));
        }
    }
}
