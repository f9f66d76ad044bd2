//! Bodies of which parts vary, compared with the answers of other runtimes and moments.

mod learn;
mod shape;
#[cfg(test)]
mod tests;

use stampede_core::{Body, MaskClass, Masked, Piece};

use crate::known::Known;

pub(crate) use self::learn::{Learnt, Sample, learn};

/// A part of fewer bytes is in nearly every answer.
const LEAST_PART: usize = 8;

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

/// What each answer under load is compared with.
pub fn under_load(body: &Body) -> UnderLoad<'_> {
    match body {
        Body::Any | Body::Bytes(_) | Body::JsonHtml { .. } => UnderLoad::Whole,
        // All answers of one deployment have the same of these.
        Body::Masked(masked) if masked.classes().all(is_same_in_a_deployment) => UnderLoad::Whole,
        Body::Masked(masked) => match masked.texts().max_by_key(|part| part.len()) {
            Some(part) if part.len() >= LEAST_PART => UnderLoad::Part(part),
            _ => UnderLoad::StatusOnly,
        },
    }
}

fn is_same_in_a_deployment(class: MaskClass) -> bool {
    matches!(class, MaskClass::PhpVersion | MaskClass::Sapi | MaskClass::ServerSoftware)
}

/// Where a body stops to be what it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// The place in the expected body, as it is rendered with [`SHOWN`].
    pub(crate) expected: usize,
    /// The place in the body that came.
    pub(crate) came: usize,
}

/// What stands for a masked part in messages.
pub(crate) const SHOWN: &str = "⟨…⟩";

/// Compares a body with what it must be: its texts in order, and between them values of their classes.
///
/// # Errors
///
/// Where it is another one.
pub(crate) fn fits(masked: &Masked, body: &[u8], known: &Known) -> Result<(), Mismatch> {
    fit(masked.pieces(), body, known)
}

fn fit(pieces: &[Piece], body: &[u8], known: &Known) -> Result<(), Mismatch> {
    let (mut expected, mut at) = (0, 0);
    for (index, piece) in pieces.iter().enumerate() {
        let mismatch = Mismatch { expected, came: at };
        match piece {
            Piece::Text(text) => {
                if !body[at..].starts_with(text) {
                    let same = text.iter().zip(&body[at..]).take_while(|(a, b)| a == b).count();
                    return Err(Mismatch { expected: expected + same, came: at + same });
                }
                expected += text.len();
                at += text.len();
            }
            Piece::Varies(class) => {
                let after = &pieces[index + 1..];
                let length = match class {
                    MaskClass::Anything => anything(after, &body[at..], known),
                    class => {
                        let lengths = shape::lengths(*class, &body[at..], known);
                        let goes_on = |length: &usize| match after.first() {
                            None => at + length == body.len(),
                            Some(Piece::Text(text)) => {
                                body[at + length..].starts_with(&text[..text.len().min(LEAST_PART)])
                            }
                            Some(Piece::Varies(_)) => true,
                        };
                        lengths.iter().copied().find(goes_on).or(lengths.first().copied())
                    }
                };
                at += length.ok_or(mismatch)?;
                // Each mark and the dots in the mask have three bytes.
                expected += class.name().len() + SHOWN.len() - "…".len();
            }
        }
    }
    if at < body.len() { Err(Mismatch { expected, came: at }) } else { Ok(()) }
}

/// How much of a body is left free before what follows. The first place of that is as good as any later one: it leaves the most to
/// the parts that follow. The last text must end the body.
fn anything(after: &[Piece], body: &[u8], known: &Known) -> Option<usize> {
    match after {
        [] => Some(body.len()),
        [Piece::Text(last)] => body.ends_with(last).then(|| body.len() - last.len()),
        [Piece::Text(text), ..] => find(body, text),
        [Piece::Varies(class), ..] => (0..=body.len())
            .find(|at| *class == MaskClass::Anything || !shape::lengths(*class, &body[*at..], known).is_empty()),
    }
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len().max(1)).position(|window| window == part)
}

/// Whether bytes are no text: text has no zero byte and few control characters, whatever its character set.
pub(crate) fn is_binary(body: &[u8]) -> bool {
    const LOOKED_AT: usize = 8 << 10;
    let start = &body[..body.len().min(LOOKED_AT)];
    let control = start.iter().filter(|byte| byte.is_ascii_control() && !b"\t\n\r\x0c\x1b".contains(byte)).count();
    start.contains(&0) || control * 20 > start.len()
}
