//! What an answer must be, held against it while it comes.
//!
//! Status, headers, and bodies that must equal or contain bytes or have a hash are judged piece by piece. A JSON pointer
//! needs the whole body, which is then kept up to [`BODY_LIMIT`]. Nothing here takes memory after the first answer but
//! JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use stampede_core::named_status;
use thiserror::Error;

use crate::json::{self, Pointer};
use crate::needle::Needle;
use crate::statuses::Statuses;

/// The most bytes of a body that are kept for a check or capture that needs all of it. A longer body fails the one and does
/// not match the other.
pub const BODY_LIMIT: usize = 1 << 20;

/// What an answer must be: all of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The statuses that are right.
    pub status: Statuses,
    /// What headers must be.
    pub headers: Vec<HeaderCheck>,
    /// What the body must be.
    pub body: Vec<BodyCheck>,
}

impl Check {
    /// A check of the status and the body.
    pub fn new(status: Statuses, body: Vec<BodyCheck>) -> Self {
        Self { status, headers: Vec::new(), body }
    }
}

/// What a header must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderCheck {
    /// Its name, in any case.
    pub name: String,
    /// What one of its values must be.
    pub rule: HeaderRule,
}

/// What one of a header's values must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HeaderRule {
    /// Any.
    Present,
    /// Exactly this.
    Equals(String),
    /// One with this text in it.
    Contains(String),
}

/// What a body must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum BodyCheck {
    /// Exactly these bytes.
    Equals(Vec<u8>),
    /// These bytes at any place.
    Contains(Vec<u8>),
    /// Its SHA-256 hash (FIPS 180-4).
    Sha256([u8; 32]),
    /// A value of its JSON, by meaning.
    Json(Pointer, Value),
}

/// What is wrong with an answer. Numbers are places in [`Check::headers`] and [`Check::body`].
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Wrong {
    /// The status.
    #[error("status {} came{}", named_status(*came), instead_of(*expected))]
    Status {
        /// The status that came.
        came: u16,
        /// The right status, where there is but one.
        expected: Option<u16>,
    },
    /// No header is as it must be.
    #[error("no header is what check {} of the headers wants", .0 + 1)]
    Header(usize),
    /// The body differs from what it must equal.
    #[error("the body differs from the verified one from byte {at} on")]
    Differs {
        /// The check.
        check: usize,
        /// The first byte that differs.
        at: u64,
    },
    /// The body does not contain its bytes.
    #[error("the body does not contain what it must")]
    Missing(usize),
    /// The body has another hash.
    #[error("the body does not have the hash that it must have")]
    Hash(usize),
    /// The body's JSON has another value, or the body is no JSON.
    #[error("the body's JSON does not have the value that it must have")]
    Json(usize),
    /// The answer is no stream of events.
    #[error("the answer is no stream of events: its Content-Type is not text/event-stream")]
    NoEvents,
    /// A line or an event is longer than [`EVENT_LIMIT`](crate::EVENT_LIMIT).
    #[error("an event, or a line, of the stream is longer than {} KiB", crate::EVENT_LIMIT >> 10)]
    EventTooLong,
    /// The server ended the stream before the step was to end.
    #[error("the server ended the stream of events after {came}, before the step was to end")]
    StreamEnded {
        /// Events that count.
        came: u64,
    },
    /// Fewer events came than there must be.
    #[error("{came} events came instead of at least {least}")]
    TooFewEvents {
        /// Events that count.
        came: u64,
        /// The fewest that are right.
        least: u64,
    },
    /// The body is longer than [`BODY_LIMIT`], and all of it is needed.
    #[error("the body is too long for its JSON to be checked")]
    TooLong,
}

fn instead_of(expected: Option<u16>) -> String {
    expected.map_or_else(
        || ", which is not one of the right ones".to_owned(),
        |status| format!(" instead of {}", named_status(status)),
    )
}

/// A check that is ready to be held against answers.
#[derive(Debug)]
pub struct PreparedCheck {
    status: Statuses,
    headers: Vec<HeaderCheck>,
    body: Vec<PreparedBody>,
    keeps_body: bool,
    concludes_late: bool,
}

#[derive(Debug)]
enum PreparedBody {
    Equals(Vec<u8>),
    Contains(Needle),
    Sha256([u8; 32]),
    Json(Pointer, Value),
}

/// How the answer that is coming compares so far, in memory that is used again.
#[derive(Debug, Default)]
pub struct Judgement {
    status: u16,
    status_is_right: bool,
    /// Which headers have been as they must be.
    headers: Vec<bool>,
    /// Bytes of the body that have come.
    length: u64,
    body: Vec<BodyProgress>,
    kept: Vec<u8>,
    keeps: Keeps,
}

/// What is done with the bytes of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Keeps {
    #[default]
    Nothing,
    All,
    /// They were more than may be kept.
    TooLong,
}

#[derive(Debug)]
enum BodyProgress {
    /// Where the body differs.
    Equals(Option<u64>),
    /// How many bytes have matched.
    Contains(usize),
    Sha256(Sha256),
    Whole,
}

impl PreparedCheck {
    /// Makes a check ready. The whole body is kept where `keeps_body` or the check itself asks for it.
    pub fn new(check: &Check, keeps_body: bool) -> Self {
        let Check { status, headers, body } = check;
        let prepared = |check: &BodyCheck| match check.clone() {
            BodyCheck::Equals(bytes) => PreparedBody::Equals(bytes),
            BodyCheck::Contains(bytes) => PreparedBody::Contains(Needle::new(bytes)),
            BodyCheck::Sha256(hash) => PreparedBody::Sha256(hash),
            BodyCheck::Json(pointer, value) => PreparedBody::Json(pointer, value),
        };
        let keeps_body = keeps_body || body.iter().any(|check| matches!(check, BodyCheck::Json(..)));
        let concludes_late = !headers.is_empty() || body.iter().any(|check| !matches!(check, BodyCheck::Equals(_)));
        let body = body.iter().map(prepared).collect();
        Self { status: status.clone(), headers: headers.clone(), body, keeps_body, concludes_late }
    }

    /// Whether it wants to see the headers.
    pub fn has_headers(&self) -> bool {
        !self.headers.is_empty()
    }

    /// Whether the end of an answer may tell what none of its bytes has: all checks but of the status and of equality.
    pub fn concludes_late(&self) -> bool {
        self.concludes_late
    }

    /// The same check of an answer whose end may always tell what none of its bytes has.
    pub fn until_its_end(self) -> Self {
        Self { concludes_late: true, ..self }
    }

    /// An answer begins. Returns whether its status is right; of one that is not, nothing else is looked at.
    pub fn begin(&self, judgement: &mut Judgement, status: u16) -> bool {
        judgement.status = status;
        judgement.status_is_right = self.status.contains(status);
        judgement.length = 0;
        judgement.headers.clear();
        judgement.headers.resize(self.headers.len(), false);
        judgement.body.clear();
        judgement.body.extend(self.body.iter().map(|check| match check {
            PreparedBody::Equals(_) => BodyProgress::Equals(None),
            PreparedBody::Contains(_) => BodyProgress::Contains(0),
            PreparedBody::Sha256(_) => BodyProgress::Sha256(Sha256::new()),
            PreparedBody::Json(..) => BodyProgress::Whole,
        }));
        judgement.kept.clear();
        judgement.keeps = if self.keeps_body { Keeps::All } else { Keeps::Nothing };
        judgement.status_is_right
    }

    /// A header has come.
    pub fn header(&self, judgement: &mut Judgement, name: &str, value: &[u8]) {
        for (check, found) in self.headers.iter().zip(&mut judgement.headers) {
            *found |= check.name.eq_ignore_ascii_case(name)
                && match &check.rule {
                    HeaderRule::Present => true,
                    HeaderRule::Equals(text) => value == text.as_bytes(),
                    HeaderRule::Contains(text) => {
                        text.is_empty() || value.windows(text.len()).any(|part| part == text.as_bytes())
                    }
                };
        }
    }

    /// The next bytes of the body have come. Returns where the body differs from what it must equal, once: when that has come.
    pub fn body(&self, judgement: &mut Judgement, bytes: &[u8]) -> Option<u64> {
        if !judgement.status_is_right {
            return None;
        }
        let offset = judgement.length;
        judgement.length += bytes.len() as u64;
        judgement.keep(bytes);
        let mut differs_now = None;
        for (check, progress) in self.body.iter().zip(&mut judgement.body) {
            match (check, progress) {
                (PreparedBody::Equals(expected), BodyProgress::Equals(differs @ None)) => {
                    let rest =
                        usize::try_from(offset).ok().and_then(|offset| expected.get(offset..)).unwrap_or_default();
                    if !rest.starts_with(bytes) {
                        let same = bytes.iter().zip(rest).take_while(|(came, expected)| came == expected).count();
                        *differs = Some(offset + same as u64);
                        differs_now = *differs;
                    }
                }
                (PreparedBody::Contains(needle), BodyProgress::Contains(matched)) => {
                    *matched = needle.feed(*matched, bytes);
                }
                (PreparedBody::Sha256(_), BodyProgress::Sha256(hasher)) => hasher.update(bytes),
                _ => {}
            }
        }
        differs_now
    }

    /// What is wrong with the answer now that it is complete, first of all its status.
    pub fn conclude(&self, judgement: &mut Judgement) -> Option<Wrong> {
        if !judgement.status_is_right {
            return Some(Wrong::Status { came: judgement.status, expected: self.status.single() });
        }
        if let Some(number) = judgement.headers.iter().position(|found| !found) {
            return Some(Wrong::Header(number));
        }
        let Judgement { length, body, kept, keeps, .. } = judgement;
        let length = *length;
        self.body.iter().zip(body).enumerate().find_map(|(number, (check, progress))| match (check, progress) {
            (PreparedBody::Equals(expected), BodyProgress::Equals(differs)) => {
                let end = (length < expected.len() as u64).then_some(length);
                differs.or(end).map(|at| Wrong::Differs { check: number, at })
            }
            (PreparedBody::Contains(needle), BodyProgress::Contains(matched)) => {
                (!needle.is_found(*matched)).then_some(Wrong::Missing(number))
            }
            (PreparedBody::Sha256(hash), BodyProgress::Sha256(hasher)) => {
                (hasher.finalize_reset()[..] != hash[..]).then_some(Wrong::Hash(number))
            }
            (PreparedBody::Json(..), BodyProgress::Whole) if *keeps == Keeps::TooLong => Some(Wrong::TooLong),
            (PreparedBody::Json(pointer, value), BodyProgress::Whole) => {
                let found = pointer.find(kept).and_then(|found| serde_json::from_str(found.get()).ok());
                (!found.is_some_and(|found| json::same(&found, value))).then_some(Wrong::Json(number))
            }
            _ => None,
        })
    }
}

impl Judgement {
    /// Takes the memory that a check needs, unless the body is to be kept.
    pub fn reserve(&mut self, check: &PreparedCheck) {
        self.headers.reserve_exact(check.headers.len());
        self.body.reserve_exact(check.body.len());
    }

    /// The status of the answer.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The body, where it was to be kept and was not too long for that.
    pub(crate) fn whole(&self) -> Option<&[u8]> {
        (self.keeps == Keeps::All).then_some(&self.kept)
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.keeps == Keeps::All {
            if self.kept.len() + bytes.len() <= BODY_LIMIT {
                self.kept.extend_from_slice(bytes);
            } else {
                self.keeps = Keeps::TooLong;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judge(check: &Check, status: u16, headers: &[(&str, &str)], body: &[u8], piece: usize) -> Option<Wrong> {
        let prepared = PreparedCheck::new(check, false);
        let mut judgement = Judgement::default();
        // The second answer is judged like the first.
        let mut verdicts = (0..2).map(|_| {
            prepared.begin(&mut judgement, status);
            headers.iter().for_each(|(name, value)| prepared.header(&mut judgement, name, value.as_bytes()));
            for bytes in body.chunks(piece) {
                prepared.body(&mut judgement, bytes);
            }
            prepared.conclude(&mut judgement)
        });
        let (first, second) = (verdicts.next().unwrap(), verdicts.next().unwrap());
        assert_eq!(first, second);
        first
    }

    #[test]
    fn answers_are_judged_however_they_are_cut() {
        // FIPS 180-4's example: the hash of `abc`.
        let abc = [
            0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03,
            0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad,
        ];
        let json = |pointer: &str, value| BodyCheck::Json(pointer.parse().unwrap(), value);
        let data = br#"{"data": {"id": 7, "tags": ["a"]}}"#.as_slice();
        for (check, body, wrong) in [
            (BodyCheck::Equals(b"abc".to_vec()), b"abc".as_slice(), None),
            (BodyCheck::Equals(b"abc".to_vec()), b"abd", Some(Wrong::Differs { check: 0, at: 2 })),
            (BodyCheck::Equals(b"abc".to_vec()), b"ab", Some(Wrong::Differs { check: 0, at: 2 })),
            (BodyCheck::Equals(b"abc".to_vec()), b"abcd", Some(Wrong::Differs { check: 0, at: 3 })),
            (BodyCheck::Contains(b"bc".to_vec()), b"abcd", None),
            (BodyCheck::Contains(b"bd".to_vec()), b"abcd", Some(Wrong::Missing(0))),
            (BodyCheck::Sha256(abc), b"abc", None),
            (BodyCheck::Sha256(abc), b"abd", Some(Wrong::Hash(0))),
            (json("/data/id", json!(7.0)), data, None),
            (json("/data/tags", json!(["a"])), data, None),
            (json("/data/id", json!(8)), data, Some(Wrong::Json(0))),
            (json("/data/none", json!(null)), data, Some(Wrong::Json(0))),
            (json("/data/id", json!(7)), b"{", Some(Wrong::Json(0))),
        ] {
            let check = Check { status: Statuses::only(200), headers: Vec::new(), body: vec![check] };
            for piece in [1, 2, usize::MAX] {
                assert_eq!(judge(&check, 200, &[], body, piece), wrong, "{check:?} by {piece}");
            }
        }
    }

    #[test]
    fn the_status_is_judged_first_then_headers_then_the_body() {
        let rule = |name: &str, rule| HeaderCheck { name: name.to_owned(), rule };
        let check = Check {
            status: Statuses::new(vec![200..=204]),
            headers: vec![
                rule("content-type", HeaderRule::Contains("json".to_owned())),
                rule("X-A", HeaderRule::Equals("1".to_owned())),
                rule("Set-Cookie", HeaderRule::Present),
            ],
            body: vec![BodyCheck::Contains(b"a".to_vec()), BodyCheck::Contains(b"b".to_vec())],
        };
        let right = [("Content-Type", "text/json"), ("x-a", "0"), ("x-a", "1"), ("set-cookie", "")];
        for (status, headers, body, wrong) in [
            (200, &right[..], "ab", None),
            (500, &right[..1], "", Some(Wrong::Status { came: 500, expected: None })),
            (200, &right[1..], "ab", Some(Wrong::Header(0))),
            (200, &right[..2], "ab", Some(Wrong::Header(1))),
            (200, &right[..3], "", Some(Wrong::Header(2))),
            (204, &right[..], "a", Some(Wrong::Missing(1))),
        ] {
            assert_eq!(judge(&check, status, headers, body.as_bytes(), 1), wrong, "{status} {body}");
        }
    }

    #[test]
    fn a_body_that_was_not_kept_is_too_long() {
        let body = vec![BodyCheck::Json("".parse().unwrap(), json!(""))];
        let check = Check { status: Statuses::only(200), headers: Vec::new(), body };
        for (length, wrong) in [(BODY_LIMIT, Wrong::Json(0)), (BODY_LIMIT + 1, Wrong::TooLong)] {
            assert_eq!(judge(&check, 200, &[], &vec![b' '; length], 1 << 16), Some(wrong));
        }
    }
}
