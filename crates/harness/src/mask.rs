//! What of an answer varies from one time to the next, and answers held against the rest.
//!
//! A part that varies is found by asking several times: what differs is masked. A token or a time is masked as a whole,
//! since two of the same kind may agree in half of their characters by chance, or until the next minute.

use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};
use stampede_core::Body;

/// What stands for a masked part in messages.
pub(crate) const SHOWN: &str = "⟨…⟩";

/// A part of fewer bytes is in nearly every answer.
const LEAST_PART: usize = 8;

/// Two long bodies that have little in common would take the square of their length; after this time what is left counts as
/// different.
const COMPARE_TIME: Duration = Duration::from_secs(2);

/// What can be looked for in each answer at full speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnderLoad<'a> {
    /// The very bytes that were right before the load.
    Whole,
    /// The longest part that does not vary.
    Part(&'a [u8]),
    /// Nothing of the body: what does not vary of it is in nearly every answer.
    StatusOnly,
}

/// What each answer under load is held against.
pub fn under_load(body: &Body) -> UnderLoad<'_> {
    match body {
        Body::Any | Body::Bytes(_) | Body::JsonHtml { .. } => UnderLoad::Whole,
        Body::Masked(parts) => match parts.iter().max_by_key(|part| part.len()) {
            Some(part) if part.len() >= LEAST_PART => UnderLoad::Part(part),
            _ => UnderLoad::StatusOnly,
        },
    }
}

/// Whether a body begins with the first part, ends with the last, and holds the others between them in order.
pub(crate) fn fits(parts: &[Vec<u8>], body: &[u8]) -> bool {
    let [first, between @ .., last] = parts else {
        return parts.first().is_none_or(|only| only == body);
    };
    let inner = body.strip_prefix(first.as_slice()).and_then(|rest| rest.strip_suffix(last.as_slice()));
    // The first place is as good as any later one: it leaves the most to the parts that follow.
    let rest = inner.and_then(|inner| {
        between.iter().try_fold(inner, |rest, part| find(rest, part).map(|at| &rest[at + part.len()..]))
    });
    rest.is_some()
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    if part.is_empty() { Some(0) } else { text.windows(part.len()).position(|window| window == part) }
}

/// What the answers to one request have in common: one part where all are the same.
pub(crate) fn common_parts(samples: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let Some((first, others)) = samples.split_first() else { return Vec::new() };
    let mut varying: Vec<_> = others.iter().flat_map(|other| differences(first, other)).collect();
    for range in &mut varying {
        *range = widened(first, range.clone());
    }
    let parts = rest(first, varying);
    if samples.iter().all(|sample| fits(&parts, sample)) { parts } else { vec![Vec::new(), Vec::new()] }
}

/// Ranges of the first body that are not in the other; an empty one where the other has something more.
fn differences(first: &[u8], other: &[u8]) -> Vec<Range<usize>> {
    let (old, new) = (words(first), words(other));
    let ends: Vec<usize> = old
        .iter()
        .scan(0, |end, word| {
            *end += word.len();
            Some(*end)
        })
        .collect();
    let start = |index: usize| index.checked_sub(1).map_or(0, |before| ends[before]);
    capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(Instant::now() + COMPARE_TIME))
        .into_iter()
        .filter_map(|op| match op {
            DiffOp::Equal { .. } => None,
            DiffOp::Delete { old_index, old_len, .. } | DiffOp::Replace { old_index, old_len, .. } => {
                Some(start(old_index)..start(old_index + old_len))
            }
            DiffOp::Insert { old_index, .. } => Some(start(old_index)..start(old_index)),
        })
        .collect()
}

/// Words, and each other byte by itself.
fn words(body: &[u8]) -> Vec<&[u8]> {
    body.chunk_by(|a, b| is_word(*a) && is_word(*b)).collect()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Bytes of which tokens, numbers, times and addresses are made.
fn is_value(byte: u8) -> bool {
    is_word(byte) || b"+-./:=%".contains(&byte)
}

/// A range that varies with the rest of the value that it belongs to and, of a date, all its words.
fn widened(body: &[u8], Range { mut start, mut end }: Range<usize>) -> Range<usize> {
    let value_before = |at: usize| at - body[..at].iter().rev().take_while(|byte| is_value(**byte)).count();
    let value_after = |at: usize| at + body[at..].iter().take_while(|byte| is_value(**byte)).count();
    start = value_before(start);
    end = value_after(end);
    if !is_date_word(&body[start..end]) {
        return start..end;
    }
    const BETWEEN: [&[u8]; 2] = [b", ", b" "];
    let word_before = |at: usize| {
        let space = BETWEEN.iter().find(|space| body[..at].ends_with(space))?;
        let word = value_before(at - space.len())..at - space.len();
        is_date_word(&body[word.clone()]).then_some(word.start)
    };
    let word_after = |at: usize| {
        let space = BETWEEN.iter().find(|space| body[at..].starts_with(space))?;
        let word = at + space.len()..value_after(at + space.len());
        is_date_word(&body[word.clone()]).then_some(word.end)
    };
    while let Some(before) = word_before(start) {
        start = before;
    }
    while let Some(after) = word_after(end) {
        end = after;
    }
    start..end
}

/// Whether this is a number, a time, or the name of a month, a day or UTC.
fn is_date_word(word: &[u8]) -> bool {
    const NAMES: [&str; 19] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "mon", "tue", "wed", "thu",
        "fri", "sat", "sun",
    ];
    const ZONES: [&str; 5] = ["am", "pm", "utc", "gmt", "z"];
    let Ok(text) = std::str::from_utf8(word) else { return false };
    let lower = text.to_ascii_lowercase();
    let is_time = text.starts_with(|first: char| first.is_ascii_digit() || first == '+')
        && text.bytes().all(|byte| byte.is_ascii_digit() || b"+-./:TZ".contains(&byte));
    let is_name =
        lower.bytes().all(|byte| byte.is_ascii_alphabetic()) && NAMES.iter().any(|name| lower.starts_with(name));
    is_time || is_name || ZONES.contains(&lower.as_str())
}

/// What is left of a body without these ranges.
fn rest(body: &[u8], mut varying: Vec<Range<usize>>) -> Vec<Vec<u8>> {
    varying.sort_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in varying {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    let starts = std::iter::once(0).chain(merged.iter().map(|range| range.end));
    let ends = merged.iter().map(|range| range.start).chain(std::iter::once(body.len()));
    starts.zip(ends).map(|(start, end)| body[start..end].to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(samples: &[&str]) -> String {
        let samples: Vec<_> = samples.iter().map(|sample| sample.as_bytes().to_vec()).collect();
        String::from_utf8(common_parts(&samples).join(&b'*')).unwrap()
    }

    #[test]
    fn what_varies_is_masked_as_a_whole() {
        for (what, samples, expected) in [
            ("nothing", ["hello", "hello", "hello"], "hello"),
            ("a token", ["<i v=\"ab12-x9\">", "<i v=\"cd34-y8\">", "<i v=\"ab77-z9\">"], "<i v=\"*\">"),
            ("a base64 token", ["v=\"a+b/c=\";", "v=\"dd+e/f\";", "v=\"ghi\";"], "v=\"*\";"),
            (
                "a date, of which only seconds differ",
                [
                    "<p>Sun, 22 Nov 2026 02:42:44 GMT</p>",
                    "<p>Sun, 22 Nov 2026 02:42:44 GMT</p>",
                    "<p>Sun, 22 Nov 2026 02:42:46 GMT</p>",
                ],
                "<p>*</p>",
            ),
            ("a duration", ["built in 3 ms\n", "built in 3 ms\n", "built in 12 ms\n"], "built in * ms\n"),
            (
                "a time beside words",
                ["at 2026-11-22T10:00:01Z by x", "at 2026-11-22T10:00:02Z by x", "at 2026-11-22T10:00:03Z by x"],
                "at * by x",
            ),
            ("something more", ["<ul></ul>", "<ul><li>a</li></ul>", "<ul></ul>"], "<ul><*>"),
            (
                "an address",
                [
                    "<a href=\"http://127.0.0.1:2001/x\">",
                    "<a href=\"http://127.0.0.1:2002/x\">",
                    "<a href=\"http://127.0.0.1:2001/x\">",
                ],
                "<a href=\"*\">",
            ),
            ("everything", ["abc", "xyz", "uvw"], "*"),
            (
                "two tokens",
                ["{\"a\":1,\"b\":\"x\"}", "{\"a\":2,\"b\":\"y\"}", "{\"a\":1,\"b\":\"z\"}"],
                "{\"a\"*,\"b\":\"*\"}",
            ),
        ] {
            assert_eq!(parts(&samples), expected, "{what}");
        }
    }

    #[test]
    fn parts_are_held_against_a_body_in_order() {
        let body = b"<p>a</p><p>b</p>";
        for (parts, fit) in [
            (&["<p>a</p><p>b</p>"][..], true),
            (&["<p>a</p>"], false),
            (&["<p>", "</p>"], true),
            (&["", ""], true),
            (&["<p>", "</p><p>", "</p>"], true),
            (&["<p>", "b", "a", "</p>"], false),
            (&["<p>a</p><p>b</p>", "</p>"], false),
            (&["<p>", "b</p>", "b</p>"], false),
        ] {
            let parts: Vec<_> = parts.iter().map(|part| part.as_bytes().to_vec()).collect();
            assert_eq!(fits(&parts, body), fit, "{parts:?}");
        }
    }

    #[test]
    fn the_longest_part_is_looked_for_under_load() {
        let masked = |parts: &[&str]| Body::Masked(parts.iter().map(|part| part.as_bytes().to_vec()).collect());
        assert_eq!(under_load(&masked(&["<p>", "</p><footer>"])), UnderLoad::Part(b"</p><footer>"));
        assert_eq!(under_load(&masked(&["<p>", "</p>"])), UnderLoad::StatusOnly);
        assert_eq!(under_load(&Body::Any), UnderLoad::Whole);
    }
}
