//! Holds an answer against what it must be while it comes, without keeping it.

use stampede_wire::response::{Head, Visitor};

use crate::fault::Fault;
use crate::result::WrongAnswer;
use crate::spec::{PreparedBody, PreparedExchange};

/// The most wrong answers that are kept.
const WRONG_ANSWERS: usize = 3;

/// The most bytes that are kept of each.
const WRONG_BYTES: usize = 512;

/// The first wrong answers. All memory is taken when it is made.
#[derive(Debug)]
pub(crate) struct Evidence {
    kept: Vec<WrongAnswer>,
    spare: Vec<Vec<u8>>,
}

impl Evidence {
    pub(crate) fn new() -> Self {
        Self {
            kept: Vec::with_capacity(WRONG_ANSWERS),
            spare: (0..WRONG_ANSWERS).map(|_| Vec::with_capacity(WRONG_BYTES)).collect(),
        }
    }

    /// Begins to keep a wrong answer, as long as there is room; returns its place.
    fn begin(&mut self, exchange: usize, status: u16, offset: u64) -> Option<usize> {
        let bytes = self.spare.pop()?;
        self.kept.push(WrongAnswer { exchange, status, offset, bytes });
        Some(self.kept.len() - 1)
    }

    fn extend(&mut self, place: usize, bytes: &[u8]) {
        if let Some(WrongAnswer { bytes: kept, .. }) = self.kept.get_mut(place) {
            let room = WRONG_BYTES.saturating_sub(kept.len());
            kept.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        }
    }

    pub(crate) fn into_wrong_answers(self) -> Vec<WrongAnswer> {
        self.kept
    }

    /// Adds another thread's wrong answers, as long as there is room.
    pub(crate) fn merge(&mut self, other: Self) {
        self.kept.extend(other.kept);
        self.kept.truncate(WRONG_ANSWERS);
    }
}

/// How the answer that is coming compares so far.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    status: u16,
    /// Bytes of the body that have come.
    length: u64,
    differs_at: Option<u64>,
    /// How much of the bytes that are looked for has been found.
    matched: usize,
    /// Where the wrong answer is kept.
    evidence: Option<usize>,
}

impl Comparison {
    pub(crate) fn status(&self) -> u16 {
        self.status
    }

    /// What is wrong with the answer now that it is complete.
    pub(crate) fn conclude(
        &mut self,
        exchange: usize,
        expected: &PreparedExchange,
        evidence: &mut Evidence,
    ) -> Option<Fault> {
        if !expected.status.contains(self.status) {
            return Some(Fault::Status { came: self.status, expected: expected.status.single() });
        }
        match &expected.body {
            PreparedBody::Any => None,
            PreparedBody::Equals(bytes) => {
                if self.differs_at.is_none() && self.length < bytes.len() as u64 {
                    self.differs_at = Some(self.length);
                    evidence.begin(exchange, self.status, self.length);
                }
                self.differs_at.map(Fault::Body)
            }
            PreparedBody::Contains(needle) => (!needle.is_found(self.matched)).then_some(Fault::Missing),
        }
    }
}

/// Compares the pieces of an answer as the decoder delivers them.
pub(crate) struct Comparing<'a> {
    pub(crate) exchange: usize,
    pub(crate) expected: &'a PreparedExchange,
    pub(crate) comparison: &'a mut Comparison,
    pub(crate) evidence: &'a mut Evidence,
}

impl Visitor for Comparing<'_> {
    fn head(&mut self, head: &Head<'_>) {
        *self.comparison = Comparison { status: head.status, ..Comparison::default() };
        if !self.expected.status.contains(head.status) {
            self.comparison.evidence = self.evidence.begin(self.exchange, head.status, 0);
        }
    }

    fn body(&mut self, bytes: &[u8]) {
        let comparison = &mut *self.comparison;
        let offset = comparison.length;
        comparison.length += bytes.len() as u64;
        if let Some(place) = comparison.evidence {
            self.evidence.extend(place, bytes);
            return;
        }
        let expected = match &self.expected.body {
            PreparedBody::Any => return,
            PreparedBody::Contains(needle) => {
                comparison.matched = needle.feed(comparison.matched, bytes);
                return;
            }
            PreparedBody::Equals(expected) => expected,
        };
        if comparison.differs_at.is_some() || !self.expected.status.contains(comparison.status) {
            return;
        }
        let expected = usize::try_from(offset).ok().and_then(|offset| expected.get(offset..)).unwrap_or_default();
        if expected.starts_with(bytes) {
            return;
        }
        let same = bytes.iter().zip(expected).take_while(|(came, expected)| came == expected).count();
        let differs_at = offset + same as u64;
        comparison.differs_at = Some(differs_at);
        comparison.evidence = self.evidence.begin(self.exchange, comparison.status, differs_at);
        if let Some(place) = comparison.evidence {
            self.evidence.extend(place, bytes.get(same..).unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stampede_core::{Protocol, Request};
    use stampede_wire::response::Decoder;

    use super::*;
    use crate::spec::{BodyCheck, Check, LoadExchange, Statuses};

    fn expecting(body: BodyCheck) -> PreparedExchange {
        let request =
            Request { method: "GET".to_owned(), path: "/".to_owned(), headers: BTreeMap::new(), body: Vec::new() };
        let check = Check { status: Statuses::only(200), body };
        PreparedExchange::new(LoadExchange { request, check }, Protocol::Http11, "http", "host", true)
    }

    /// Compares an answer that comes in pieces of the given size.
    fn compare(answer: &str, piece: usize, expected: &PreparedExchange) -> (Option<Fault>, Vec<WrongAnswer>) {
        let mut decoder = Decoder::new();
        let mut comparison = Comparison::default();
        let mut evidence = Evidence::new();
        for bytes in answer.as_bytes().chunks(piece) {
            let mut comparing =
                Comparing { exchange: 7, expected, comparison: &mut comparison, evidence: &mut evidence };
            decoder.feed(bytes, &mut comparing).unwrap();
        }
        let fault = comparison.conclude(7, expected, &mut evidence);
        (fault, evidence.into_wrong_answers())
    }

    #[test]
    fn a_wrong_answer_is_found_and_kept_from_where_it_differs() {
        let ok = "HTTP/1.1 200 OK\r\nContent-Length: ";
        let cases = [
            (format!("{ok}5\r\n\r\nHello"), None, None),
            (format!("{ok}5\r\n\r\nHelLo"), Some(Fault::Body(3)), Some((3, "Lo"))),
            (format!("{ok}4\r\n\r\nHell"), Some(Fault::Body(4)), Some((4, ""))),
            (format!("{ok}0\r\n\r\n"), Some(Fault::Body(0)), Some((0, ""))),
            (format!("{ok}7\r\n\r\nHello!!"), Some(Fault::Body(5)), Some((5, "!!"))),
            (
                "HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nFatal".to_owned(),
                Some(Fault::Status { came: 500, expected: Some(200) }),
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
        assert_eq!(compare(&format!("{ok}1\r\n\r\n?"), 1, &expecting(BodyCheck::Any)), (None, vec![]));
        for (body, fault) in [("ell", None), ("elo", Some(Fault::Missing))] {
            let contains = expecting(BodyCheck::Contains(body.as_bytes().to_vec()));
            for piece in [1, 2, usize::MAX] {
                assert_eq!(compare(&format!("{ok}5\r\n\r\nHello"), piece, &contains).0, fault, "{body} by {piece}");
            }
        }
    }

    #[test]
    fn evidence_is_bounded_and_takes_no_memory_when_it_is_full() {
        let mut evidence = Evidence::new();
        for _ in 0..WRONG_ANSWERS {
            let place = evidence.begin(0, 500, 0).unwrap();
            evidence.extend(place, &[b'x'; WRONG_BYTES - 1]);
            evidence.extend(place, b"yz");
        }
        assert_eq!(evidence.begin(0, 500, 0), None);
        for WrongAnswer { bytes, .. } in evidence.into_wrong_answers() {
            assert_eq!((bytes.len(), bytes.capacity()), (WRONG_BYTES, WRONG_BYTES));
            assert!(bytes.ends_with(b"xy"));
        }
    }
}
