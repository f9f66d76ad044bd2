//! Where a body is not what it must be, in a few lines.

use std::fmt::Write as _;
use std::ops::Range;
use std::time::Duration;

use similar::{DiffOp, group_diff_ops};
use stampede_core::{Masked, Piece};

use crate::alignment::Alignment;
use crate::known::Known;
use crate::mask::{Mismatch, SHOWN, fits, is_binary};

/// Lines around each place.
const AROUND: usize = 3;

/// Places that are shown.
const MOST_PLACES: usize = 3;

/// Lines of one place that are shown.
const MOST_LINES: usize = 16;

/// Bytes of a line before and after the place where it differs.
const BEFORE: usize = 50;
const AFTER: usize = 90;

/// Bytes of a binary body that are shown.
const MOST_HEX: usize = 16;

/// How long two bodies are aligned at most.
const COMPARE_TIME: Duration = Duration::from_millis(500);

/// How a body differs from what it must be, as the end of a sentence, with the first places below.
pub(crate) fn difference(expected: &Masked, came: &[u8], known: &Known) -> String {
    if is_binary(came) || expected.texts().any(is_binary) {
        return format!("the body is another one: {}", excerpt(&expected.rendered(SHOWN), came));
    }
    if let Some(problem) = last_line_break(expected, came, known) {
        return problem.to_owned();
    }
    let wanted = lines(expected);
    let old: Vec<&[u8]> = wanted.iter().map(|line| line.shown.as_slice()).collect();
    let new = lines_of(came, &wanted, known);
    let ops = Alignment::within(COMPARE_TIME).of(&old, &new);
    let places = group_diff_ops(ops, AROUND);
    let reordered = if is_reordered(expected, came, known) { REORDERED } else { "" };
    let mut text = format!("the body differs{reordered} (- expected, + received):");
    for place in places.iter().take(MOST_PLACES) {
        let line = place.first().map_or(0, |op| op.new_range().start) + 1;
        let _ = write!(text, "\n  line {line}:");
        let mut left = MOST_LINES;
        for op in place {
            show(op, &wanted, &new, known, &mut left, &mut text);
        }
        if left == 0 {
            text.push_str("\n    …");
        }
    }
    if places.len() > MOST_PLACES {
        let _ = write!(text, "\n  and {} more places", places.len() - MOST_PLACES);
    }
    text
}

/// What is said of a body that differs in the order of its parts alone.
const REORDERED: &str =
    " only in the order of its parts; if they are rows of a query, add a unique column to its ORDER BY";

/// Whether a body has the parts of the one that must come, in another order: the same lines or, of a text in which nothing varies, the same
/// pieces between tags, brackets and commas.
pub(crate) fn is_reordered(expected: &Masked, came: &[u8], known: &Known) -> bool {
    if is_binary(came) || expected.texts().any(is_binary) || fits(expected, came, known).is_ok() {
        return false;
    }
    let wanted = lines(expected);
    if have_moved(wanted.iter().map(|line| line.shown.as_slice()).collect(), lines_of(came, &wanted, known)) {
        return true;
    }
    match expected.pieces() {
        [Piece::Text(text)] => have_moved(parts(text), parts(came)),
        _ => false,
    }
}

/// Whether two lists have the same parts, in different orders.
fn have_moved<'a>(old: Vec<&'a [u8]>, new: Vec<&'a [u8]>) -> bool {
    let [mut old, mut new] = [old, new].map(|parts| parts.into_iter().map(bare).collect::<Vec<_>>());
    let moved = old != new;
    old.sort_unstable();
    new.sort_unstable();
    moved && old == new
}

/// What stands between tags, brackets and commas.
fn parts(text: &[u8]) -> Vec<&[u8]> {
    text.split(|byte| b"{}[]<>,\n".contains(byte)).collect()
}

/// A part without what follows it: the last row of a list has no comma.
fn bare(part: &[u8]) -> &[u8] {
    let end = part.iter().rposition(|byte| !byte.is_ascii_whitespace() && *byte != b',');
    part.get(..end.map_or(0, |end| end + 1)).unwrap_or_default()
}

/// The lines of a body; one that is as it must be is written as the one that is expected, so that the two are the same.
fn lines_of<'a>(came: &'a [u8], wanted: &'a [Line], known: &Known) -> Vec<&'a [u8]> {
    let masked: Vec<_> = wanted.iter().filter(|line| line.masked.classes().next().is_some()).collect();
    let same = |line: &[u8]| masked.iter().find(|wanted| fits(&wanted.masked, line, known).is_ok());
    let came = came.split_inclusive(|byte| *byte == b'\n');
    came.map(|line| same(line).map_or(line, |wanted| wanted.shown.as_slice())).collect()
}

/// A line of an expected body.
struct Line {
    masked: Masked,
    shown: Vec<u8>,
}

fn lines(body: &Masked) -> Vec<Line> {
    let mut lines = vec![Vec::new()];
    for piece in body.pieces() {
        match piece {
            Piece::Text(text) => {
                for part in text.split_inclusive(|byte| *byte == b'\n') {
                    if let Some(line) = lines.last_mut() {
                        line.push(Piece::Text(part.to_vec()));
                    }
                    if part.ends_with(b"\n") {
                        lines.push(Vec::new());
                    }
                }
            }
            Piece::Varies(class) => {
                if let Some(line) = lines.last_mut() {
                    line.push(Piece::Varies(*class));
                }
            }
        }
    }
    lines.retain(|line| !line.is_empty());
    let line = |pieces| {
        let masked = Masked::new(pieces);
        Line { shown: masked.rendered(SHOWN), masked }
    };
    lines.into_iter().map(line).collect()
}

/// A body that differs in line breaks at its end alone.
fn last_line_break(expected: &Masked, came: &[u8], known: &Known) -> Option<&'static str> {
    let mut pieces = expected.pieces().to_vec();
    let wanted = match pieces.last_mut() {
        Some(Piece::Text(text)) => {
            let trimmed = text.trim_ascii_end().len();
            let breaks = text.split_off(trimmed);
            breaks.len()
        }
        _ => 0,
    };
    let trimmed = came.trim_ascii_end();
    let there = came.len() - trimmed.len();
    let is_only_that = wanted != there && fits(&Masked::new(pieces), trimmed, known).is_ok();
    is_only_that.then_some(match wanted > there {
        true => "the body differs in its end alone: a line break or blank was expected after its last character",
        false => "the body differs in its end alone: a line break or blank follows its last character",
    })
}

/// Writes the lines of a part of a place.
fn show(op: &DiffOp, wanted: &[Line], came: &[&[u8]], known: &Known, left: &mut usize, text: &mut String) {
    let mut write = |sign: char, line: &[u8], at: usize| {
        if *left > 0 {
            *left -= 1;
            let _ = write!(text, "\n  {sign} {}", clip(line, at));
        }
    };
    let (old, new) = (op.old_range(), op.new_range());
    if let DiffOp::Equal { .. } = op {
        old.for_each(|line| write(' ', &wanted[line].shown, 0));
        return;
    }
    // Lines that stand for each other are shown where they part.
    let part = |number: usize| match (old.clone().nth(number), new.clone().nth(number)) {
        (Some(old), Some(new)) => fits(&wanted[old].masked, came[new], known).err(),
        _ => None,
    };
    let at = |number, side: fn(Mismatch) -> usize| part(number).map_or(0, side);
    old.clone()
        .enumerate()
        .for_each(|(number, line)| write('-', &wanted[line].shown, at(number, |place| place.expected)));
    new.clone().enumerate().for_each(|(number, line)| write('+', came[line], at(number, |place| place.came)));
}

/// A line around a place, as text.
fn clip(line: &[u8], at: usize) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let is_inner = |at: usize| line.get(at).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000);
    let on_character = |mut at: usize| {
        while is_inner(at) && at > 0 {
            at -= 1;
        }
        at
    };
    let start = if at <= BEFORE + AFTER / 3 { 0 } else { on_character(at.min(line.len()).saturating_sub(BEFORE)) };
    let end = on_character((at.max(start + BEFORE) + AFTER).min(line.len()));
    let [before, after] = [start > 0, end < line.len()].map(|is_cut| if is_cut { "…" } else { "" });
    format!("{before}{}{after}", text(&line[start..end]))
}

/// Bytes as text: UTF-8, else as if each byte were a character; control characters as they are escaped.
fn text(bytes: &[u8]) -> String {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    };
    let shown = |character: char| match character {
        '\t' => "\t".to_owned(),
        control if control.is_control() => control.escape_default().to_string(),
        other => other.to_string(),
    };
    text.chars().map(shown).collect()
}

/// Length and first difference of bodies that are no text.
pub(crate) fn excerpt(expected: &[u8], came: &[u8]) -> String {
    let at = expected.iter().zip(came).take_while(|(a, b)| a == b).count();
    let hex = |body: &[u8]| {
        let range: Range<usize> = at..body.len().min(at + MOST_HEX);
        let bytes: Vec<_> = body[range].iter().map(|byte| format!("{byte:02x}")).collect();
        if bytes.is_empty() { "its end".to_owned() } else { bytes.join(" ") }
    };
    format!(
        "{} bytes were expected and {} came; from byte {at} on\n  - {}\n  + {}",
        expected.len(),
        came.len(),
        hex(expected),
        hex(came)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(expected: &[u8], came: &[u8]) -> String {
        let whole = || Masked::new([Piece::Text(expected.to_vec())]);
        difference(&Masked::read(expected, SHOWN).unwrap_or_else(whole), came, &Known::default())
    }

    #[test]
    fn the_first_places_are_shown_with_three_lines_around_them() {
        let page = |price: &str, took: &str| {
            let lines: Vec<_> = (1..=12).map(|number| format!("<p>{number}</p>")).collect();
            format!("{}\n<b>{price}</b> in {took}\n{}\n", lines[..6].join("\n"), lines[6..].join("\n"))
        };
        let shown = of(page("19.90", "⟨duration⟩").as_bytes(), page("19.80", "12 ms").as_bytes());
        insta::assert_snapshot!(shown, @r"
        the body differs (- expected, + received):
          line 4:
            <p>4</p>
            <p>5</p>
            <p>6</p>
          - <b>19.90</b> in ⟨duration⟩
          + <b>19.80</b> in 12 ms
            <p>7</p>
            <p>8</p>
            <p>9</p>
        ");
        let shown =
            of(page("19.90", "⟨duration⟩").as_bytes(), page("19.90", "12 ms").replace("<p>9</p>\n", "").as_bytes());
        insta::assert_snapshot!(shown, @r"
        the body differs (- expected, + received):
          line 7:
            <b>19.90</b> in ⟨duration⟩
            <p>7</p>
            <p>8</p>
          - <p>9</p>
            <p>10</p>
            <p>11</p>
            <p>12</p>
        ");
    }

    #[test]
    fn rows_in_another_order_are_told_apart_from_other_rows() {
        for (expected, came, reordered) in [
            ("<li>a\n<li>b\n<li>c\n", "<li>b\n<li>a\n<li>c\n", true),
            ("<li>a\n<li>b\n<li>c\n", "<li>b\n<li>a\n<li>d\n", false),
            ("<li>a\n<li>b\n", "<li>b\n", false),
            ("[\n {\"id\":1},\n {\"id\":2}\n]", "[\n {\"id\":2},\n {\"id\":1}\n]", true),
            ("[{\"id\":1,\"at\":5},{\"id\":2,\"at\":5}]", "[{\"id\":2,\"at\":5},{\"id\":1,\"at\":5}]", true),
            ("{\"a\":1,\"b\":2}", "{\"a\":2,\"b\":1}", false),
            ("<p>a</p><p>b</p>", "<p>b</p><p>a</p>", true),
            ("a\nin ⟨duration⟩\nb\n", "b\nin 12 ms\na\n", true),
            ("a\nin ⟨duration⟩\nb\n", "a\nin 12 ms\nb\n", false),
            ("a\r\nb\n", "a\nb\n", false),
            ("", "", false),
        ] {
            let whole = || Masked::new([Piece::Text(expected.as_bytes().to_vec())]);
            let masked = Masked::read(expected.as_bytes(), SHOWN).unwrap_or_else(whole);
            assert_eq!(is_reordered(&masked, came.as_bytes(), &Known::default()), reordered, "{expected} {came}");
        }
        let told = of(b"<li>a\n<li>b\n", b"<li>b\n<li>a\n");
        assert!(told.starts_with("the body differs only in the order of its parts; "), "{told}");
    }

    #[test]
    fn a_page_of_one_line_is_cut_around_the_place() {
        let page = |name: &str, took: &str| {
            let filling = "<i>é</i>".repeat(100);
            format!("{filling}in {took}{filling}<b>{name}</b>{filling}")
        };
        let shown = of(page("Anna", "⟨duration⟩").as_bytes(), page("Hanna", "1.5 s").as_bytes());
        insta::assert_snapshot!(shown, @r"
        the body differs (- expected, + received):
          line 1:
          - …i><i>é</i><i>é</i><i>é</i><i>é</i><i>é</i><b>Anna</b><i>é</i><i>é</i><i>é</i><i>é</i><i>é</i><i>é</i><i>é</i><i>é</i><i>é</i><…
          + …i><i>é</i><i>é</i><i>é</i><i>é</i><i>é</i><b>Hanna</b><i>é</i><i>é</i><i>é</i><i>é</i><i>é</i><i>é</i><i>é</i><i>é</i><i>é</i>…
        ");
    }

    #[test]
    fn ends_character_sets_and_bytes_are_shown_as_what_they_are() {
        for (expected, came, shown) in [
            (&b"a\n"[..], &b"a"[..], "a line break or blank was expected after its last character"),
            (b"a", b"a\r\n", "a line break or blank follows its last character"),
            (b"a\nb\n", b"a\r\nb\n", "- a\n  + a\\r\n"),
            (b"caf\xe9 1\n", b"caf\xe9 2\n", "- caf\u{e9} 1\n  + caf\u{e9} 2"),
            (b"", b"x", "+ x"),
            (b"x", b"", "- x"),
            (b"\0\x01\x02", b"\0\x01\xff\x03", "3 bytes were expected and 4 came; from byte 2 on\n  - 02\n  + ff 03"),
            (b"\0\x01\x02", b"\0", "from byte 1 on\n  - 01 02\n  + its end"),
        ] {
            assert!(of(expected, came).contains(shown), "{}", of(expected, came));
        }
    }

    #[test]
    fn it_is_short_whatever_differs() {
        let [old, new] =
            ["a", "b"].map(|letter| (0..2000).map(|line| format!("{letter} {line}\n")).collect::<String>());
        let shown = of(old.as_bytes(), new.as_bytes());
        assert!(shown.lines().count() <= 2 + MOST_LINES + 1, "{shown}");
        let every_tenth = |text: &str| {
            (0..200)
                .map(|line| if line % 10 == 5 { format!("{text}\n") } else { format!("{line}\n") })
                .collect::<String>()
        };
        let shown = of(every_tenth("old").as_bytes(), every_tenth("new").as_bytes());
        assert!(shown.ends_with("and 17 more places"), "{shown}");
    }
}
