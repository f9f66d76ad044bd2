//! The coding that a body is sent in: gzip, or none that is known here. RFC 9110, section 8.4.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use stampede_core::Answer;

/// The bytes of a body beyond which it is not decoded: a small one can hold gigabytes.
const MOST_BYTES: u64 = 64 << 20;

/// Whether an answer says that its body is gzip-coded.
pub(crate) fn is_gzip(answer: &Answer) -> bool {
    answer.headers.iter().any(|(name, value)| {
        name.eq_ignore_ascii_case("content-encoding")
            && ["gzip", "x-gzip"].iter().any(|coding| value.trim().eq_ignore_ascii_case(coding))
    })
}

/// The body as it was before it was coded.
///
/// # Errors
///
/// That it is not coded as the answer's head says, or too large.
pub(crate) fn decoded(answer: &Answer) -> Result<Cow<'_, [u8]>, String> {
    if !is_gzip(answer) || answer.body.is_empty() {
        return Ok(Cow::Borrowed(&answer.body));
    }
    let mut body = Vec::new();
    let read = MultiGzDecoder::new(answer.body.as_slice()).take(MOST_BYTES + 1).read_to_end(&mut body);
    read.map_err(|error| format!("the body is not gzip-coded, as its head says ({error})"))?;
    if body.len() as u64 > MOST_BYTES {
        return Err(format!("the body is gzip-coded and of more than {MOST_BYTES} bytes"));
    }
    Ok(Cow::Owned(body))
}
