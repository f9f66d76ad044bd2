//! What of an answer varies by itself, learnt from several of one runtime.

use std::ops::Range;
use std::time::Duration;

use similar::DiffOp;
use stampede_core::{Body, MaskClass, Masked, Piece};

use super::shape::{classify, of_own_work};
use super::{fits, is_binary};
use crate::alignment::Alignment;
use crate::difference::{difference, excerpt};
use crate::known::Known;

/// How long all answers to one request are aligned at most.
const COMPARE_TIME: Duration = Duration::from_secs(3);

/// The largest part of a page that may be masked: of one that is mostly masked, little is compared.
const MOST_MASKED: f64 = 0.05;

/// So many bytes may be masked of a small answer too: a token, a date and a UUID.
const FEW_BYTES: usize = 256;

/// How many places a refusal names.
const MOST_PLACES: usize = 5;

/// An answer's body, and what is known of the deployment that gave it.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) body: Vec<u8>,
    pub(crate) known: Known,
}

/// What all answers of a case have in common.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Learnt {
    pub(crate) body: Body,
    /// Bytes of the first answer that are masked because they vary by themselves.
    pub(crate) masked: usize,
}

/// A part of a body: a word, another byte, or a value that is known of the deployment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Token<'a> {
    Text(&'a [u8]),
    Known(MaskClass),
}

/// A place that varies: in the first answer, and in another one.
struct Place {
    first: Range<usize>,
    other: Range<usize>,
}

/// Learns what varies from answers to one request.
///
/// # Errors
///
/// The places that vary and may not be masked, as the end of a sentence, with what to do.
pub(crate) fn learn(samples: &[Sample]) -> Result<Learnt, String> {
    let Some((first, others)) = samples.split_first() else {
        return Ok(Learnt { body: Body::Any, masked: 0 });
    };
    if samples.iter().any(|sample| is_binary(&sample.body)) {
        return match others.iter().find(|other| other.body != first.body) {
            Some(other) => Err(format!(
                "varies, and is no text: {}\nmake it the same each time, or have its status alone checked: expect: {{status: 200}}",
                excerpt(&first.body, &other.body)
            )),
            None => Ok(Learnt { body: Body::Bytes(first.body.clone()), masked: 0 }),
        };
    }
    let known = first.known.spans(&first.body);
    let alignment = Alignment::within(COMPARE_TIME);
    let mut varying: Vec<(Range<usize>, MaskClass)> = Vec::new();
    let mut wrong: Vec<(Range<usize>, String)> = Vec::new();
    for other in others.iter().filter(|other| other.body != first.body) {
        for place in places(first, &known, other, alignment) {
            if varying.iter().any(|(range, _)| range.start <= place.first.start && place.first.end <= range.end) {
                continue;
            }
            match classify(&first.body, &place.first) {
                Some(found) => varying.push(found),
                None if wrong.iter().any(|(known, _)| *known == place.first) => {}
                None => wrong.push((place.first.clone(), varied(first, other, &place))),
            }
        }
    }
    let mut wrong: Vec<_> = wrong.into_iter().map(|(_, told)| told).collect();
    if !wrong.is_empty() {
        let more = wrong.len().saturating_sub(MOST_PLACES);
        wrong.truncate(MOST_PLACES);
        if more > 0 {
            wrong.push(format!("and {more} more places"));
        }
        return Err(format!(
            "is different each time, in parts that are not a time, a token or the like:\n  {}\n{}",
            wrong.join("\n  "),
            WRITE_IT
        ));
    }
    varying.extend(of_own_work(&first.body, &varying));
    let varying = merged(varying);
    let masked = varying.iter().map(|(range, _)| range.len()).sum();
    if masked > FEW_BYTES && masked as f64 > MOST_MASKED * first.body.len() as f64 {
        return Err(too_much(&first.body, &varying, masked));
    }
    let body = compose(&first.body, &known, &varying);
    if let Body::Masked(pattern) = &body {
        for sample in samples {
            if fits(pattern, &sample.body, &sample.known).is_err() {
                let difference = difference(pattern, &sample.body, &sample.known);
                return Err(format!("is different each time, in more than its values: {difference}\n{WRITE_IT}"));
            }
        }
    }
    Ok(Learnt { body, masked })
}

/// What to do about an answer that varies.
const WRITE_IT: &str = "make it the same each time, or mask those parts in stampede.yaml (docs/plan.md#what-may-differ):\n  \
                        app: {dir: ., requests: [{path: /, expect: {status: 200, body_file: page.html, mask: ⟨…⟩}}]}";

/// The body in which values of the deployment and what varies stand for their classes.
fn compose(body: &[u8], known: &[(Range<usize>, MaskClass)], varying: &[(Range<usize>, MaskClass)]) -> Body {
    let apart = |(range, _): &&(Range<usize>, MaskClass)| {
        varying.iter().all(|(other, _)| range.end <= other.start || other.end <= range.start)
    };
    let mut parts: Vec<_> = known.iter().filter(apart).chain(varying).cloned().collect();
    if parts.is_empty() {
        return Body::Bytes(body.to_vec());
    }
    parts.sort_by_key(|(range, _)| range.start);
    let mut pieces = Vec::new();
    let mut at = 0;
    for (range, class) in parts {
        pieces.extend([Piece::Text(body[at..range.start].to_vec()), Piece::Varies(class)]);
        at = range.end;
    }
    pieces.push(Piece::Text(body[at..].to_vec()));
    Body::Masked(Masked::new(pieces))
}

/// Ranges in order. Of two that overlap the longer one stands for both: the shorter is a part of its value.
fn merged(mut ranges: Vec<(Range<usize>, MaskClass)>) -> Vec<(Range<usize>, MaskClass)> {
    ranges.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    let mut merged: Vec<(Range<usize>, MaskClass)> = Vec::new();
    for (range, class) in ranges {
        match merged.last_mut() {
            Some((last, of)) if range.start < last.end => {
                if range.len() > last.len() {
                    *of = class;
                }
                last.end = last.end.max(range.end);
            }
            _ => merged.push((range, class)),
        }
    }
    merged
}

/// Places of the first body that are not so in the other: first by lines, then by words within the lines that differ.
fn places(first: &Sample, known: &[(Range<usize>, MaskClass)], other: &Sample, alignment: Alignment) -> Vec<Place> {
    let (first_lines, other_lines) = (lines(&first.body), lines(&other.body));
    let other_known = other.known.spans(&other.body);
    let mut places = Vec::new();
    for op in alignment.of(&first_lines, &other_lines) {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        let old = bytes(&first.body, &first_lines, op.old_range());
        let new = bytes(&other.body, &other_lines, op.new_range());
        let old_tokens = tokens(&first.body, old.clone(), known);
        let new_tokens = tokens(&other.body, new.clone(), &other_known);
        let (old_texts, new_texts) = (texts(&old_tokens), texts(&new_tokens));
        let ops = alignment.of(&old_texts, &new_texts);
        places.extend(ops.into_iter().filter(|op| !matches!(op, DiffOp::Equal { .. })).map(|op| Place {
            first: span(&old_tokens, op.old_range(), old.end),
            other: span(&new_tokens, op.new_range(), new.end),
        }));
    }
    places
}

/// Parts of a body, and where each is.
type Tokens<'a> = Vec<(Token<'a>, Range<usize>)>;

fn texts<'a>(tokens: &Tokens<'a>) -> Vec<Token<'a>> {
    tokens.iter().map(|(token, _)| *token).collect()
}

/// Where some lines of a body are.
fn bytes(body: &[u8], lines: &[&[u8]], range: Range<usize>) -> Range<usize> {
    let start = lines.get(range.start).map_or(body.len(), |line| line.as_ptr().addr() - body.as_ptr().addr());
    start..start + lines[range].iter().map(|line| line.len()).sum::<usize>()
}

/// Where some tokens are; the empty place before the first of none.
fn span(tokens: &Tokens<'_>, range: Range<usize>, end: usize) -> Range<usize> {
    let start = tokens.get(range.start).map_or(end, |(_, at)| at.start);
    let last = tokens[range].last();
    start..last.map_or(start, |(_, at)| at.end)
}

/// Lines, and in them what ends with a sign after which something else usually begins: pages of one line are as quick to compare.
fn lines(body: &[u8]) -> Vec<&[u8]> {
    body.split_inclusive(|byte| matches!(byte, b'\n' | b'>' | b',' | b';' | b'}')).collect()
}

/// The words of a part of a body, each other byte by itself, and values that are known.
fn tokens<'a>(body: &'a [u8], within: Range<usize>, known: &[(Range<usize>, MaskClass)]) -> Tokens<'a> {
    let mut tokens = Vec::new();
    let mut at = within.start;
    let words = |from: usize, to: usize, tokens: &mut Tokens<'a>| {
        let mut at = from;
        for word in body[from..to].chunk_by(|a, b| is_word(*a) && is_word(*b)) {
            tokens.push((Token::Text(word), at..at + word.len()));
            at += word.len();
        }
    };
    for (range, class) in known.iter().filter(|(range, _)| within.start <= range.start && range.end <= within.end) {
        words(at, range.start, &mut tokens);
        tokens.push((Token::Known(*class), range.clone()));
        at = range.end;
    }
    words(at, within.end, &mut tokens);
    tokens
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// One place that varies, in words.
fn varied(first: &Sample, other: &Sample, place: &Place) -> String {
    let line = 1 + first.body[..place.first.start].iter().filter(|byte| **byte == b'\n').count();
    let around = |body: &[u8], range: &Range<usize>| {
        const AROUND: usize = 30;
        let line = |byte: &u8| *byte == b'\n';
        let before = &body[range.start.saturating_sub(AROUND)..range.start];
        let start = range.start - before.iter().rev().position(line).unwrap_or(before.len());
        let after = &body[range.end..body.len().min(range.end + AROUND)];
        let end = range.end.min(range.start + 2 * AROUND) + after.iter().position(line).unwrap_or(after.len());
        String::from_utf8_lossy(&body[start..end.min(body.len())]).trim().to_owned()
    };
    format!("line {line}: `{}` once, `{}` then", around(&first.body, &place.first), around(&other.body, &place.other))
}

fn too_much(body: &[u8], varying: &[(Range<usize>, MaskClass)], masked: usize) -> String {
    let share = 100.0 * masked as f64 / body.len() as f64;
    let mut longest: Vec<_> = varying.iter().collect();
    longest.sort_by_key(|(range, _)| std::cmp::Reverse(range.len()));
    let places: Vec<_> = longest
        .iter()
        .take(MOST_PLACES)
        .map(|(range, class)| {
            let line = 1 + body[..range.start].iter().filter(|byte| **byte == b'\n').count();
            format!("line {line}: {} bytes of {}", range.len(), class.name())
        })
        .collect();
    format!(
        "varies in {share:.0} % of its bytes, of which {:.0} % may: too little would be compared\n  {}\n{WRITE_IT}",
        100.0 * MOST_MASKED,
        places.join("\n  ")
    )
}
