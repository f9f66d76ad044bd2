//! Holds an answer against what it must be while it comes, without keeping it.

use std::time::SystemTime;

use stampede_scenario::{Journey, Judgement, PreparedCheck, Script, Wrong};
use stampede_wire::response::{Head, Visitor};

use stampede_seam::WrongAnswer;

use crate::hearing::{HeardEvents, Hearing};
use crate::protocol_notes::{ProtocolNotes, Rule};
use crate::redirect::Redirection;

/// The most wrong answers that are kept.
const WRONG_ANSWERS: usize = 3;

/// The most bytes that are kept of each.
const WRONG_BYTES: usize = 512;

/// The first wrong answers. All memory is taken when it is made.
#[derive(Debug)]
pub(crate) struct Evidence {
    kept: Vec<WrongAnswer>,
    spare: Vec<Vec<u8>>,
    /// What else answers say.
    pub(crate) notes: ProtocolNotes,
    /// What was heard of streams of events.
    pub(crate) events: HeardEvents,
}

impl Default for Evidence {
    fn default() -> Self {
        Self {
            kept: Vec::with_capacity(WRONG_ANSWERS),
            spare: (0..WRONG_ANSWERS).map(|_| Vec::with_capacity(WRONG_BYTES)).collect(),
            notes: ProtocolNotes::new(),
            events: HeardEvents::default(),
        }
    }
}

impl Evidence {
    /// Begins to keep a wrong answer, as long as there is room; returns its place.
    fn begin(&mut self, step: usize, status: u16, offset: u64) -> Option<usize> {
        let bytes = self.spare.pop()?;
        self.kept.push(WrongAnswer { step, status, offset, bytes });
        Some(self.kept.len() - 1)
    }

    /// Whether there is room for one more.
    fn has_room(&self) -> bool {
        !self.spare.is_empty()
    }

    fn extend(&mut self, place: usize, bytes: &[u8]) {
        if let Some(WrongAnswer { bytes: kept, .. }) = self.kept.get_mut(place) {
            let room = WRONG_BYTES.saturating_sub(kept.len());
            kept.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        }
    }

    pub(crate) fn into_parts(self) -> (Vec<WrongAnswer>, ProtocolNotes, HeardEvents) {
        (self.kept, self.notes, self.events)
    }

    /// Adds another thread's wrong answers, as long as there is room.
    pub(crate) fn merge(&mut self, other: Self) {
        self.kept.extend(other.kept);
        self.kept.truncate(WRONG_ANSWERS);
        self.notes.merge(other.notes);
        self.events.merge(other.events);
    }
}

/// How the answer that is coming compares so far.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// Unused where a journey has its own.
    judgement: Judgement,
    /// Bytes of the body that have come.
    length: u64,
    /// Where the wrong answer is kept.
    evidence: Option<usize>,
    /// The first bytes of the body, where only its end tells whether it is wrong.
    first: Vec<u8>,
    /// What it says of another place, where redirects are followed.
    pub(crate) redirection: Option<Box<Redirection>>,
    /// The times of the stream of events that comes, where a scenario hears some.
    pub(crate) hearing: Option<Box<Hearing>>,
}

/// What an answer is held against.
pub(crate) enum Expected<'a> {
    Check(&'a PreparedCheck),
    Journey(&'a mut Journey, &'a Script),
}

impl Comparison {
    pub(crate) fn reserve(&mut self, check: &PreparedCheck) {
        self.judgement.reserve(check);
        if check.concludes_late() {
            self.first.reserve_exact(WRONG_BYTES);
        }
    }

    /// Bytes of the body that have come.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Another answer is to come.
    pub(crate) fn begin(&mut self) {
        self.length = 0;
    }

    /// Status of the answer now that it is complete, and what is wrong with it.
    pub(crate) fn conclude(
        &mut self,
        step: usize,
        check: &PreparedCheck,
        journey: Option<(&mut Journey, &mut Script)>,
        evidence: &mut Evidence,
    ) -> (u16, Option<Wrong>) {
        let (status, wrong) = match journey {
            Some((journey, script)) => (journey.status(), journey.end(script)),
            None => (self.judgement.status(), check.conclude(&mut self.judgement)),
        };
        match (wrong, self.evidence) {
            (None, _) | (_, Some(_)) | (Some(Wrong::Status { .. }), _) => {}
            // Of a stream of events, the place is in what they say.
            (Some(Wrong::Differs { at, .. }), None) if self.hearing.is_none() => {
                if at == self.length {
                    evidence.begin(step, status, at);
                }
            }
            (Some(_), None) => {
                if let Some(place) = evidence.begin(step, status, 0) {
                    evidence.extend(place, &self.first);
                }
            }
        }
        (status, wrong)
    }
}

/// Compares the pieces of an answer as the decoder delivers them.
pub(crate) struct Comparing<'a> {
    pub(crate) step: usize,
    pub(crate) expected: Expected<'a>,
    pub(crate) comparison: &'a mut Comparison,
    pub(crate) evidence: &'a mut Evidence,
    /// Whether only the end of the answer may tell that it is wrong.
    pub(crate) concludes_late: bool,
}

impl Comparing<'_> {
    /// The status of the answer, or of the one before where no head of it has come.
    pub(crate) fn status(&self) -> u16 {
        match &self.expected {
            Expected::Check(_) => self.comparison.judgement.status(),
            Expected::Journey(journey, _) => journey.status(),
        }
    }

    /// Whether what is heard of a stream of events is enough.
    pub(crate) fn has_heard_enough(&self) -> bool {
        match &self.expected {
            Expected::Check(_) => false,
            Expected::Journey(journey, _) => journey.has_heard_enough(),
        }
    }

    /// The answer breaks the protocol.
    pub(crate) fn breach(&mut self, rule: Rule, bytes: &[u8]) {
        self.evidence.notes.breach(self.step, rule, bytes);
    }
}

impl Visitor for Comparing<'_> {
    fn interim(&mut self, status: u16) {
        self.evidence.notes.interim(status);
    }

    fn head(&mut self, head: &Head<'_>) {
        self.evidence.notes.head(head);
        let Comparison { judgement, length, evidence, first, redirection, hearing } = &mut *self.comparison;
        if redirection.as_mut().is_some_and(|redirection| redirection.look(head)) {
            *evidence = None;
            return;
        }
        let is_right = match &mut self.expected {
            Expected::Check(check) => {
                let is_right = check.begin(judgement, head.status);
                if check.has_headers() {
                    head.headers().for_each(|(name, value)| check.header(judgement, name, value));
                }
                is_right
            }
            Expected::Journey(journey, script) => {
                let is_right = journey.head(script, head.status, head.headers(), SystemTime::now());
                if let Some(hearing) = hearing {
                    if journey.is_hearing() {
                        self.evidence.events.began(self.step, hearing);
                    }
                    self.evidence.events.is_enough |= journey.has_heard_enough();
                }
                is_right
            }
        };
        *length = 0;
        first.clear();
        *evidence = if is_right { None } else { self.evidence.begin(self.step, head.status, 0) };
    }

    fn body(&mut self, bytes: &[u8]) {
        let Comparison { judgement, length, evidence, first, redirection, hearing } = &mut *self.comparison;
        if redirection.as_ref().is_some_and(|redirection| redirection.is_one()) {
            return;
        }
        if self.concludes_late && self.evidence.has_room() {
            let room = WRONG_BYTES.saturating_sub(first.len());
            // A user of a scenario takes this memory once.
            first.reserve_exact(room);
            first.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        }
        let offset = *length;
        *length += bytes.len() as u64;
        let (status, differs) = match &mut self.expected {
            Expected::Check(check) => (judgement.status(), check.body(judgement, bytes)),
            Expected::Journey(journey, script) => {
                let differs = journey.body(script, bytes);
                if let (Some(hearing), Some(heard)) = (hearing, journey.heard()) {
                    self.evidence.events.heard(self.step, hearing, heard);
                    self.evidence.events.is_enough |= journey.has_heard_enough();
                }
                (journey.status(), differs)
            }
        };
        let mut wrong = bytes;
        if let Some(at) = differs {
            *evidence = self.evidence.begin(self.step, status, at);
            wrong = usize::try_from(at - offset).ok().and_then(|same| bytes.get(same..)).unwrap_or_default();
        }
        if let Some(place) = *evidence {
            self.evidence.extend(place, wrong);
        }
    }
}

#[cfg(test)]
mod tests {
    use stampede_scenario::{BodyCheck, Check, HeaderCheck, HeaderRule, Statuses};
    use stampede_wire::response::Decoder;

    use super::*;

    fn expecting(body: BodyCheck) -> PreparedCheck {
        PreparedCheck::new(&Check::new(Statuses::only(200), vec![body]), false)
    }

    /// Compares an answer that comes in pieces of the given size.
    fn compare(answer: &str, piece: usize, check: &PreparedCheck) -> (Option<Wrong>, Vec<WrongAnswer>) {
        let mut decoder = Decoder::new();
        let mut comparison = Comparison::default();
        let mut evidence = Evidence::default();
        for bytes in answer.as_bytes().chunks(piece) {
            let expected = Expected::Check(check);
            let mut comparing = Comparing {
                step: 7,
                expected,
                comparison: &mut comparison,
                evidence: &mut evidence,
                concludes_late: check.concludes_late(),
            };
            decoder.feed(bytes, &mut comparing).unwrap();
        }
        let (_, wrong) = comparison.conclude(7, check, None, &mut evidence);
        (wrong, evidence.into_parts().0)
    }

    #[test]
    fn a_wrong_answer_is_found_and_kept_from_where_it_differs() {
        let ok = "HTTP/1.1 200 OK\r\nContent-Length: ";
        let cases = [
            (format!("{ok}5\r\n\r\nHello"), None, None),
            (format!("{ok}5\r\n\r\nHelLo"), Some(Wrong::Differs { check: 0, at: 3 }), Some((3, "Lo"))),
            (format!("{ok}4\r\n\r\nHell"), Some(Wrong::Differs { check: 0, at: 4 }), Some((4, ""))),
            (format!("{ok}0\r\n\r\n"), Some(Wrong::Differs { check: 0, at: 0 }), Some((0, ""))),
            (format!("{ok}7\r\n\r\nHello!!"), Some(Wrong::Differs { check: 0, at: 5 }), Some((5, "!!"))),
            (
                "HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nFatal".to_owned(),
                Some(Wrong::Status { came: 500, expected: Some(200) }),
                Some((0, "Fatal")),
            ),
        ];
        let hello = expecting(BodyCheck::Equals(b"Hello".to_vec()));
        for (answer, expected, kept) in cases {
            for piece in [1, 2, usize::MAX] {
                let (fault, wrong) = compare(&answer, piece, &hello);
                assert_eq!(fault, expected, "{answer:?} by {piece}");
                let wrong: Vec<_> =
                    wrong.iter().map(|wrong| (wrong.offset, std::str::from_utf8(&wrong.bytes).unwrap())).collect();
                assert_eq!(wrong, Vec::from_iter(kept), "{answer:?} by {piece}");
            }
        }
    }

    #[test]
    fn what_only_the_end_tells_is_kept_from_the_beginning() {
        let header = |name: &str| Check {
            headers: vec![HeaderCheck { name: name.to_owned(), rule: HeaderRule::Present }],
            ..Check::new(Statuses::only(200), Vec::new())
        };
        let body = |check| Check::new(Statuses::only(200), vec![check]);
        let json = |value: i32| body(BodyCheck::Json("/a".parse().unwrap(), value.into()));
        let long = format!("[{}]", "7,".repeat(WRONG_BYTES));
        for (answer, check, wrong) in [
            ("Hello", body(BodyCheck::Contains(b"ell".to_vec())), None),
            ("Hello", body(BodyCheck::Contains(b"elo".to_vec())), Some(Wrong::Missing(0))),
            ("Hello", body(BodyCheck::Sha256([7; 32])), Some(Wrong::Hash(0))),
            ("", body(BodyCheck::Sha256([7; 32])), Some(Wrong::Hash(0))),
            ("{\"a\":1}", json(1), None),
            ("{\"a\":1}", json(2), Some(Wrong::Json(0))),
            (&long, json(2), Some(Wrong::Json(0))),
            ("Hello", header("X"), None),
            ("Hello", header("Y"), Some(Wrong::Header(0))),
        ] {
            let text = format!("HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: {}\r\n\r\n{answer}", answer.len());
            for piece in [1, 2, usize::MAX] {
                let (found, kept) = compare(&text, piece, &PreparedCheck::new(&check, false));
                assert_eq!(found, wrong, "{answer:?} {check:?} by {piece}");
                let kept: Vec<_> = kept.into_iter().map(|wrong| (wrong.offset, wrong.bytes)).collect();
                let first = answer.as_bytes().get(..WRONG_BYTES).unwrap_or(answer.as_bytes());
                let expected: Vec<_> = wrong.iter().map(|_| (0, first.to_vec())).collect();
                assert_eq!(kept, expected, "{answer:?} {check:?} by {piece}");
            }
        }
    }

    #[test]
    fn evidence_is_bounded_and_takes_no_memory_when_it_is_full() {
        let mut evidence = Evidence::default();
        for _ in 0..WRONG_ANSWERS {
            let place = evidence.begin(0, 500, 0).unwrap();
            evidence.extend(place, &[b'x'; WRONG_BYTES - 1]);
            evidence.extend(place, b"yz");
        }
        assert_eq!(evidence.begin(0, 500, 0), None);
        for WrongAnswer { bytes, .. } in evidence.into_parts().0 {
            assert_eq!((bytes.len(), bytes.capacity()), (WRONG_BYTES, WRONG_BYTES));
            assert!(bytes.ends_with(b"xy"));
        }
    }
}
