//! A step that holds its connection open and hears server-sent events.
//!
//! The body of its answer is what its events say: the data of each that counts, and a line break after it. Checks and captures
//! see that body.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::check::Wrong;
use crate::event_stream::{Event, EventStream};
use crate::needle::Needle;

/// What a step hears.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Events {
    /// When it has heard enough.
    pub end: EventsEnd,
    /// The events that count, by their type; all by default.
    pub kind: Option<String>,
    /// The fewest events that must have come by then.
    pub least: u64,
}

/// When a stream has been heard for long enough.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventsEnd {
    /// With the event of this number, at least 1.
    Count(u64),
    /// With the first event whose data contains this text.
    Until(String),
    /// After this time from when the request was sent; when the load's window closes, if that is earlier.
    After(Duration),
    /// When the server ends it.
    Close,
}

/// What came of a stream with some bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Events that count.
    pub events: u64,
    /// Events of other types.
    pub others: u64,
    /// Comments, which keep a connection open.
    pub comments: u64,
    /// Whether one that counts is the first of its stream.
    pub has_first: bool,
}

/// How far the present stream of a user is.
#[derive(Debug, Default)]
pub(crate) struct Hearing {
    stream: EventStream,
    /// The answer is a stream that is being heard.
    is_open: bool,
    /// Its time is over.
    is_over: bool,
    /// Its time is over since that of the load is.
    is_cut: bool,
    /// It has all that it was to hear.
    has_enough: bool,
    wrong: Option<Wrong>,
    events: u64,
    /// The data of events that were heard last, each with a line break.
    pub(crate) body: Vec<u8>,
}

/// An [`Events`] that is ready.
#[derive(Debug)]
pub(crate) struct PreparedEvents {
    pub(crate) events: Events,
    until: Option<Needle>,
}

impl PreparedEvents {
    pub(crate) fn new(events: &Events) -> Self {
        let until = match &events.end {
            EventsEnd::Until(text) => Some(Needle::new(text.as_bytes().to_vec())),
            EventsEnd::Count(_) | EventsEnd::After(_) | EventsEnd::Close => None,
        };
        Self { events: events.clone(), until }
    }
}

impl Hearing {
    /// A request is sent.
    pub(crate) fn begin(&mut self) {
        let Self { stream, is_open, is_over, is_cut, has_enough, wrong, events, body } = self;
        stream.begin();
        (*is_open, *is_over, *is_cut, *has_enough, *wrong, *events) = (false, false, false, false, None, 0);
        body.clear();
    }

    /// The head of an answer has come, whose status is right. One without a body ends with it.
    pub(crate) fn head(&mut self, status: u16, is_stream: bool) {
        // 204 says that there is nothing to hear, and that nobody should ask again (section 9.2.3).
        self.is_open = is_stream && status != 204;
        if !self.is_open && status != 204 {
            self.wrong = Some(Wrong::NoEvents);
        }
        self.has_enough = self.is_open && self.is_over || self.wrong.is_some();
    }

    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether nothing more is to be read.
    pub(crate) fn has_enough(&self) -> bool {
        self.has_enough
    }

    /// Its time is over, or the load's where it `is_cut`.
    pub(crate) fn end(&mut self, is_cut: bool) {
        self.is_over = true;
        self.is_cut = is_cut;
        self.has_enough |= self.is_open;
    }

    /// The identifier of the last event that had one; nothing where none had.
    pub(crate) fn id(&self) -> Option<&[u8]> {
        Some(self.stream.id()).filter(|id| !id.is_empty())
    }

    /// Bytes of a stream have come: `body` is what they say.
    pub(crate) fn feed(&mut self, prepared: &PreparedEvents, bytes: &[u8]) -> Heard {
        self.body.clear();
        let mut heard = Heard::default();
        if !self.is_open || self.has_enough {
            return heard;
        }
        let Self { stream, events, body, has_enough, .. } = self;
        let before = (stream.comments, *events);
        let wanted = prepared.events.kind.as_deref().map(str::as_bytes);
        let read = stream.feed(bytes, &mut |Event { kind, data }| {
            if wanted.is_some_and(|wanted| wanted != kind) {
                heard.others += 1;
                return true;
            }
            *events += 1;
            body.extend_from_slice(data);
            body.push(b'\n');
            *has_enough = match &prepared.events.end {
                EventsEnd::Count(count) => *events >= *count,
                EventsEnd::Until(_) => prepared.until.as_ref().is_some_and(|text| text.is_found(text.feed(0, data))),
                EventsEnd::After(_) | EventsEnd::Close => false,
            };
            !*has_enough
        });
        if read.is_err() {
            self.wrong = Some(Wrong::EventTooLong);
            self.has_enough = true;
        }
        heard.comments = self.stream.comments - before.0;
        heard.events = self.events - before.1;
        heard.has_first = before.1 == 0 && heard.events > 0;
        heard
    }

    /// What is wrong with the stream now that it is at its end.
    pub(crate) fn conclude(&mut self, events: &Events) -> Option<Wrong> {
        let was_open = std::mem::take(&mut self.is_open);
        if self.wrong.is_some() || !was_open {
            return self.wrong;
        }
        let came = self.events;
        if !self.has_enough && events.end != EventsEnd::Close {
            return Some(Wrong::StreamEnded { came });
        }
        (came < events.least && !self.is_cut).then_some(Wrong::TooFewEvents { came, least: events.least })
    }
}

/// Whether a `Content-Type` is that of a stream of events, whatever its parameters.
pub(crate) fn is_event_stream(content_type: &[u8]) -> bool {
    let essence = content_type.split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"text/event-stream")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hear(events: &Events, status: u16, is_stream: bool, text: &str, size: usize) -> (Hearing, Heard, Vec<u8>) {
        let prepared = PreparedEvents::new(events);
        let mut hearing = Hearing::default();
        hearing.begin();
        hearing.head(status, is_stream);
        let (mut all, mut body) = (Heard::default(), Vec::new());
        for bytes in text.as_bytes().chunks(size) {
            let Heard { events, others, comments, has_first } = hearing.feed(&prepared, bytes);
            body.extend_from_slice(&hearing.body);
            all.events += events;
            all.others += others;
            all.comments += comments;
            assert!(!(has_first && all.has_first), "there is one first event");
            all.has_first |= has_first;
        }
        (hearing, all, body)
    }

    #[test]
    fn a_step_ends_where_it_was_to_however_its_stream_is_cut() {
        let text = "data: a\n\nevent: x\ndata: b\n\n: c\n\ndata: [DONE]\n\ndata: d\n\n";
        let end = |end| Events { end, kind: None, least: 0 };
        let of = |kind: &str, end| Events { end, kind: Some(kind.to_owned()), least: 0 };
        let hour = Duration::from_secs(3600);
        for (events, enough, body, others, wrong) in [
            (end(EventsEnd::Count(1)), true, "a\n", 0, None),
            (end(EventsEnd::Count(4)), true, "a\nb\n[DONE]\nd\n", 0, None),
            (end(EventsEnd::Count(5)), false, "a\nb\n[DONE]\nd\n", 0, Some(Wrong::StreamEnded { came: 4 })),
            (of("message", EventsEnd::Count(2)), true, "a\n[DONE]\n", 1, None),
            (of("x", EventsEnd::Count(1)), true, "b\n", 1, None),
            (of("y", EventsEnd::Count(1)), false, "", 4, Some(Wrong::StreamEnded { came: 0 })),
            (end(EventsEnd::Until("DONE".to_owned())), true, "a\nb\n[DONE]\n", 0, None),
            (
                end(EventsEnd::Until("a\nb".to_owned())),
                false,
                "a\nb\n[DONE]\nd\n",
                0,
                Some(Wrong::StreamEnded { came: 4 }),
            ),
            (end(EventsEnd::After(hour)), false, "a\nb\n[DONE]\nd\n", 0, Some(Wrong::StreamEnded { came: 4 })),
            (end(EventsEnd::Close), false, "a\nb\n[DONE]\nd\n", 0, None),
            (
                Events { end: EventsEnd::Close, kind: None, least: 5 },
                false,
                "a\nb\n[DONE]\nd\n",
                0,
                Some(Wrong::TooFewEvents { came: 4, least: 5 }),
            ),
        ] {
            for size in [1, 2, 7, usize::MAX] {
                let (mut hearing, heard, found) = hear(&events, 200, true, text, size);
                assert_eq!((hearing.has_enough(), heard.others), (enough, others), "{events:?} by {size}");
                assert_eq!(String::from_utf8(found).unwrap(), body, "{events:?} by {size}");
                assert_eq!(hearing.conclude(&events.clone()), wrong, "{events:?} by {size}");
            }
        }
    }

    #[test]
    fn what_is_no_stream_is_not_heard_and_204_says_that_there_is_none() {
        let events = Events { end: EventsEnd::Count(1), kind: None, least: 0 };
        for (status, is_stream, enough, wrong) in
            [(200, false, true, Some(Wrong::NoEvents)), (204, false, false, None), (204, true, false, None)]
        {
            let (mut hearing, heard, _) = hear(&events, status, is_stream, "data: a\n\n", 3);
            assert_eq!((hearing.has_enough(), heard.events), (enough, 0));
            assert_eq!(hearing.conclude(&events), wrong);
        }
        let long = format!("data: {}", "x".repeat(crate::EVENT_LIMIT));
        let (mut hearing, ..) = hear(&events, 200, true, &long, 4096);
        assert!(hearing.has_enough());
        assert_eq!(hearing.conclude(&events), Some(Wrong::EventTooLong));
        for (value, is_one) in [
            ("text/event-stream", true),
            ("Text/Event-Stream ; charset=utf-8", true),
            ("text/event-streams", false),
            ("text/html", false),
            ("", false),
        ] {
            assert_eq!(is_event_stream(value.as_bytes()), is_one, "{value}");
        }
    }

    #[test]
    fn the_end_of_its_time_ends_a_stream_that_is_open_or_opens_after_it() {
        let events = Events { end: EventsEnd::After(Duration::from_secs(1)), kind: None, least: 2 };
        for (is_cut, wrong) in [(true, None), (false, Some(Wrong::TooFewEvents { came: 1, least: 2 }))] {
            let (mut hearing, ..) = hear(&events, 200, true, "data: a\n\n", 3);
            hearing.end(is_cut);
            assert!(hearing.has_enough());
            assert_eq!(hearing.conclude(&events), wrong);
        }
        let mut hearing = Hearing::default();
        hearing.begin();
        hearing.end(false);
        assert!(!hearing.has_enough());
        hearing.head(200, true);
        assert!(hearing.has_enough());
    }
}
