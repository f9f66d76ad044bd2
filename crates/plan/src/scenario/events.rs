//! `events:` of a step: what it hears of a stream of server-sent events.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde_saphyr::Spanned;
use stampede_scenario::{Events, EventsEnd};

use super::Reader;
use super::file::EventsEntry;
use crate::quantity::parse_time;

/// The only status that a stream has (WHATWG HTML, section 9.2.3).
pub(super) const OK: RangeInclusive<u16> = 200..=200;

const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Adds the headers that browsers send with such a request, where they are not given.
pub(super) fn add_headers(beside: &Spanned<String>, headers: &mut BTreeMap<String, Spanned<String>>) {
    for (name, value) in [("Accept", "text/event-stream"), ("Cache-Control", "no-store")] {
        if !headers.keys().any(|known| known.eq_ignore_ascii_case(name)) {
            headers.insert(name.to_owned(), Spanned::new(value.to_owned(), beside.referenced, beside.defined));
        }
    }
}

impl Reader<'_> {
    /// What is heard; `None` where there are mistakes in it.
    pub(super) fn events(&mut self, typed: &Spanned<EventsEntry>, method: &str) -> Option<Events> {
        let EventsEntry { count, until, r#for, r#type, least } = &typed.value;
        let mut is_right = true;
        let mut wrong = |reader: &mut Self, key: &str, value: &str, problem: &str, fix: &str| {
            is_right = false;
            reader.add(typed, key, value, problem, fix);
        };
        if method == "HEAD" {
            wrong(self, "events", "", "has an answer without a body", "leave out method: HEAD");
        }
        let ends = [count.is_some(), until.is_some(), r#for.is_some()];
        if ends.iter().filter(|is_there| **is_there).count() > 1 {
            let fix = "keep one of count, until and for; --timeout bounds count and until";
            wrong(self, "events", "", "ends in more than one way", fix);
        }
        if count.as_ref().is_some_and(|count| count.value == 0) {
            wrong(self, "count", "0", "is no number of events", "for example count: 10");
        }
        if let Some(text) = until {
            if text.value.is_empty() {
                wrong(self, "until", "", "is in every event", "use count: 1 to end with the first event");
            } else if text.value.contains("${") {
                let fix = "write a text that is always the same; contains: takes values";
                wrong(self, "until", &text.value, "has a value, which is not put in here", fix);
            }
        }
        let time = r#for.as_ref().map(|time| (time, parse_time(&time.value)));
        if let Some((time, read)) = &time
            && !read.is_some_and(|read| read > Duration::ZERO && read <= LONGEST)
        {
            wrong(self, "for", &time.value, "is not a length of time up to a day", "for example for: 30s");
        }
        if r#type.as_ref().is_some_and(|kind| kind.value.is_empty() || kind.value.contains(['\r', '\n'])) {
            let fix = "for example type: price; events without a type are of type message";
            wrong(self, "type", "", "is not the type of an event", fix);
        }
        let least_count = least.as_ref().map_or(0, |least| least.value);
        if let (Some(least), Some(count)) = (least, count)
            && least.value > count.value
        {
            let value = least.value.to_string();
            wrong(self, "least", &value, "is more than count", "leave it out: the step ends with count events");
        }
        let end = match (count, until, time) {
            (Some(count), ..) => EventsEnd::Count(count.value),
            (None, Some(text), _) => EventsEnd::Until(text.value.clone()),
            (None, None, Some((_, time))) => EventsEnd::After(time.unwrap_or_default()),
            (None, None, None) => EventsEnd::Close,
        };
        let kind = r#type.as_ref().map(|kind| kind.value.clone());
        is_right.then_some(Events { end, kind, least: least_count })
    }
}
