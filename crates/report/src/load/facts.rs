//! What answers were like, in words.

use stampede_core::ErrorClass;
use stampede_seam::{AnswerFacts, Breach, BreakCount, BreakPoint};

use crate::tally::counted;
use crate::wrap;

/// Bytes of an answer that are printed.
const SHOWN: usize = 48;

/// Lines for a terminal, under the one of errors.
pub(super) fn lines(facts: &AnswerFacts) -> Vec<String> {
    let AnswerFacts { interim, breaks, breach, .. } = facts;
    let mut lines = Vec::new();
    let breaks: Vec<_> = breaks.iter().map(|count| (in_words(count), count.count)).collect();
    if !breaks.is_empty() {
        lines.extend(wrap("  broken off ", &counted(breaks.into_iter()), 13, 80));
    }
    if !interim.is_empty() {
        let counts = counted(interim.iter());
        lines.push(format!("  interim    {counts}; the first byte below is the final answer's"));
    }
    if let Some(Breach { rule, bytes, .. }) = breach {
        let shown = bytes.get(..SHOWN).unwrap_or(bytes);
        let more = if shown.len() < bytes.len() { " ..." } else { "" };
        lines.extend(wrap("  not HTTP   ", rule, 13, 80));
        lines.push(format!("             {}{more}", shown.escape_ascii()));
    }
    lines
}

/// Who ended a request, how and when.
fn in_words(count: &BreakCount) -> String {
    let how = match count.class {
        ErrorClass::Refused => "refused by the server",
        ErrorClass::Reset => "reset by the server",
        ErrorClass::ClosedEarly => "closed by the server",
        ErrorClass::TimedOut => "given up here",
        ErrorClass::Tls => "not encrypted",
        ErrorClass::Exhausted => "not possible here",
        _ => "broken by the network",
    };
    let when = match count.point {
        BreakPoint::Connecting => "while connecting",
        BreakPoint::Securing => "in the TLS handshake",
        BreakPoint::Queued => "before it was sent",
        BreakPoint::Waiting => "before the first byte",
        BreakPoint::Head => "in the head",
        BreakPoint::Body => "in the body",
    };
    format!("{how} {when}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_answers_were_like_is_told() {
        let count = |class, point, count| BreakCount { class, point, count };
        let facts = AnswerFacts {
            interim: [(103, 3)].into(),
            breaks: vec![
                count(ErrorClass::Refused, BreakPoint::Connecting, 7),
                count(ErrorClass::Reset, BreakPoint::Body, 1),
                count(ErrorClass::TimedOut, BreakPoint::Waiting, 2),
            ],
            breach: Some(Breach { step: 0, rule: "a rule (section 5)".to_owned(), bytes: b"\"X: y\"\r\n".to_vec() }),
            ..AnswerFacts::default()
        };
        let text = lines(&facts).join("\n");
        for expected in [
            "  broken off 7 x refused by the server while connecting, 1 x reset by the server\n             in the body, 2 x given",
            "up here before the first byte\n",
            "  interim    3 x 103; the first byte below is the final answer's\n",
            "  not HTTP   a rule (section 5)\n             \\\"X: y\\\"\\r\\n",
        ] {
            assert!(text.contains(expected), "{expected:?} is not in\n{text}");
        }
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        assert!(lines(&AnswerFacts::default()).is_empty());
    }
}
