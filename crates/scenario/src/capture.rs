//! Values that later requests take from an answer.

use regex::bytes::{CaptureLocations, Regex};
use serde::{Deserialize, Serialize};

use crate::json::{self, Pointer};
use crate::template::Captured;

/// A value that is taken from an answer, for a name of the flow. The first match counts; where nothing matches, the name has
/// no value, even if an earlier step gave it one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Capture {
    /// Its number among the captures of the flow.
    pub number: usize,
    /// Where it is.
    pub source: CaptureSource,
}

/// Where a value is in an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum CaptureSource {
    /// The value of the first header with this name, in any case.
    Header(String),
    /// A value of the body's JSON: the text of a string, the JSON of anything else. `null` is no match.
    Json(Pointer),
    /// The first group of a regular expression in the body, or the whole match where it has no group.
    #[serde(with = "pattern")]
    Regex(Regex),
    /// The identifier of the last event that had one.
    EventId,
}

/// A regular expression as its text.
mod pattern {
    use regex::bytes::Regex;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

    pub(super) fn serialize<S: Serializer>(regex: &Regex, serializer: S) -> Result<S::Ok, S::Error> {
        regex.as_str().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Regex, D::Error> {
        Regex::new(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// Regular expressions of the same text are the same.
impl PartialEq for CaptureSource {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Header(name), Self::Header(other)) => name == other,
            (Self::Json(pointer), Self::Json(other)) => pointer == other,
            (Self::Regex(pattern), Self::Regex(other)) => pattern.as_str() == other.as_str(),
            (Self::EventId, Self::EventId) => true,
            (Self::Header(_) | Self::Json(_) | Self::Regex(_) | Self::EventId, _) => false,
        }
    }
}

impl CaptureSource {
    /// Whether it needs the whole body.
    pub(crate) fn needs_whole_body(&self) -> bool {
        match self {
            Self::Header(_) | Self::EventId => false,
            Self::Json(_) | Self::Regex(_) => true,
        }
    }
}

/// A capture with the memory that it works in.
#[derive(Debug)]
pub(crate) struct PreparedCapture {
    pub(crate) number: usize,
    source: PreparedSource,
}

#[derive(Debug)]
enum PreparedSource {
    Header(String),
    Json(Pointer),
    Regex(Regex, CaptureLocations),
    EventId,
}

impl PreparedCapture {
    /// To be made by the thread that uses it: a regular expression has memory of its own for one thread at a time.
    pub(crate) fn new(capture: &Capture) -> Self {
        let Capture { number, source } = capture.clone();
        let source = match source {
            CaptureSource::Header(name) => PreparedSource::Header(name),
            CaptureSource::Json(pointer) => PreparedSource::Json(pointer),
            CaptureSource::EventId => PreparedSource::EventId,
            CaptureSource::Regex(regex) => {
                let locations = regex.capture_locations();
                PreparedSource::Regex(regex, locations)
            }
        };
        Self { number, source }
    }

    /// Takes the value of a header, if it is that one and the first.
    pub(crate) fn header(&self, name: &str, value: &[u8], captured: &mut Captured) {
        if let PreparedSource::Header(wanted) = &self.source
            && wanted.eq_ignore_ascii_case(name)
            && captured.get().is_none()
        {
            captured.set(value);
        }
    }

    /// Takes the identifier of an event, if it is that.
    pub(crate) fn event_id(&self, id: &[u8], captured: &mut Captured) {
        if matches!(self.source, PreparedSource::EventId) {
            captured.set(id);
        }
    }

    /// Takes the value from a body.
    pub(crate) fn body(&mut self, body: &[u8], captured: &mut Captured) {
        match &mut self.source {
            PreparedSource::Header(_) | PreparedSource::EventId => {}
            PreparedSource::Json(pointer) => {
                if let Some(value) = pointer.find(body).filter(|value| value.get() != "null") {
                    captured.set(json::text(value).as_bytes());
                }
            }
            PreparedSource::Regex(regex, locations) => {
                let group = usize::from(locations.len() > 1);
                if regex.captures_read(locations, body).is_some()
                    && let Some((begin, end)) = locations.get(group)
                {
                    captured.set(&body[begin..end]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_match_is_taken() {
        let header = |name: &str| CaptureSource::Header(name.to_owned());
        let json = |pointer: &str| CaptureSource::Json(pointer.parse().unwrap());
        let regex = |pattern: &str| CaptureSource::Regex(Regex::new(pattern).unwrap());
        let headers = [("location", "/a"), ("Location", "/b"), ("X-Empty", "")];
        let body = br#"{"id": 7, "next": null, "token": "a\"b", "raw": "csrf=x1; csrf=x2"}"#;
        for (source, expected) in [
            (header("Location"), Some("/a")),
            (header("x-empty"), Some("")),
            (header("etag"), None),
            (json("/id"), Some("7")),
            (json("/token"), Some("a\"b")),
            (json("/next"), None),
            (json("/none"), None),
            (regex("csrf=([a-z0-9]+)"), Some("x1")),
            (regex("csrf=[a-z0-9]+"), Some("csrf=x1")),
            (regex("id|(never)"), None),
            (regex("absent=(.)"), None),
        ] {
            let mut prepared = PreparedCapture::new(&Capture { number: 0, source: source.clone() });
            let mut captured = Captured::default();
            headers.iter().for_each(|(name, value)| prepared.header(name, value.as_bytes(), &mut captured));
            prepared.body(body, &mut captured);
            assert_eq!(captured.get(), expected.map(str::as_bytes), "{source:?}");
        }
    }
}
