//! What answers must be, as flags say it.

use std::ops::RangeInclusive;

use clap::Args;
use stampede_scenario::{BodyCheck, Check, HeaderCheck, HeaderRule, Statuses};

use crate::header::is_token;
use crate::mistake::Gathered;

/// The statuses that are right where nothing is said.
pub(crate) const NO_ERROR: RangeInclusive<u16> = 200..=399;

/// What answers must be, unread. `None` takes the default: any status that is no error, any body.
#[derive(Args, Clone, Debug, Default)]
pub struct CheckFlags {
    /// Status codes that are correct: 200,204 or 200-299 [default: 200-399]
    #[arg(long, value_name = "LIST", help_heading = "Checks")]
    pub check_status: Option<String>,
    /// The correct body, exactly
    #[arg(long, value_name = "TEXT", conflicts_with = "check_body_contains", help_heading = "Checks")]
    pub check_body_equals: Option<String>,
    /// Text that the body must contain
    #[arg(long, value_name = "TEXT", help_heading = "Checks")]
    pub check_body_contains: Option<String>,
    /// A header that the response must have (may be repeated)
    #[arg(long = "check-header", value_name = "NAME: VALUE", help_heading = "Checks")]
    pub check_headers: Vec<String>,
    /// SHA-256 hash of the correct body, in hexadecimal digits
    #[arg(long, value_name = "HASH", help_heading = "Checks")]
    pub check_body_sha256: Option<String>,
    /// A value that the JSON body must have, at a JSON pointer: /data/0/id=7 (may be repeated)
    #[arg(long, value_name = "POINTER=VALUE", help_heading = "Checks")]
    pub check_json: Vec<String>,
}

pub(crate) fn read_check(flags: &CheckFlags, mistakes: &mut Gathered) -> Check {
    let CheckFlags {
        check_status,
        check_body_equals,
        check_body_contains,
        check_headers,
        check_body_sha256,
        check_json,
    } = flags;
    let mut body = Vec::new();
    body.extend(check_body_equals.as_ref().map(|text| BodyCheck::Equals(text.clone().into_bytes())));
    body.extend(check_body_contains.as_ref().map(|text| BodyCheck::Contains(text.clone().into_bytes())));
    if let Some(typed) = check_body_sha256 {
        match read_hash(typed) {
            Some(hash) => body.push(BodyCheck::Sha256(hash)),
            None => {
                let place = format!("--check-body-sha256 {typed}");
                mistakes.add(place, "is not a SHA-256 hash", "give 64 hexadecimal digits");
            }
        }
    }
    body.extend(check_json.iter().filter_map(|typed| read_json(typed, mistakes)));
    Check {
        status: Statuses::new(read_status(check_status.as_deref(), mistakes)),
        headers: check_headers.iter().filter_map(|typed| read_header(typed, mistakes)).collect(),
        body,
    }
}

fn read_status(typed: Option<&str>, mistakes: &mut Gathered) -> Vec<RangeInclusive<u16>> {
    let default = vec![NO_ERROR];
    let Some(typed) = typed else { return default };
    statuses(typed).unwrap_or_else(|| {
        let place = format!("--check-status {typed}");
        mistakes.add(place, "is not a list of statuses", "for example --check-status 200,204 or 200-299");
        default
    })
}

/// `200`, `200,204`, `200-299`.
pub(crate) fn statuses(text: &str) -> Option<Vec<RangeInclusive<u16>>> {
    let status = |text: &str| text.trim().parse::<u16>().ok().filter(|status| (100..=999).contains(status));
    let range = |text: &str| match text.split_once('-') {
        Some((from, to)) => Some(status(from)?..=status(to)?),
        None => status(text).map(|status| status..=status),
    };
    text.split(',').map(|item| range(item).filter(|range| !range.is_empty())).collect()
}

/// `NAME: VALUE`.
fn read_header(typed: &str, mistakes: &mut Gathered) -> Option<HeaderCheck> {
    let header = typed.split_once(':').filter(|(name, _)| is_token(name));
    if header.is_none() {
        let place = format!("--check-header {typed:?}");
        mistakes.add(place, "is not a header", "for example --check-header 'Content-Type: text/html'");
    }
    let (name, value) = header?;
    Some(HeaderCheck { name: name.to_owned(), rule: HeaderRule::Equals(value.trim().to_owned()) })
}

/// `POINTER=VALUE`. What is no JSON is text, so that strings need no quotes.
fn read_json(typed: &str, mistakes: &mut Gathered) -> Option<BodyCheck> {
    let mut fail = |problem: &str| {
        mistakes.add(format!("--check-json {typed:?}"), problem, "for example --check-json /data/0/id=7");
        None
    };
    let Some((pointer, value)) = typed.split_once('=') else { return fail("has no = between pointer and value") };
    match pointer.parse() {
        Ok(pointer) => {
            let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
            Some(BodyCheck::Json(pointer, value))
        }
        Err(problem) => fail(&problem.to_string()),
    }
}

/// 64 hexadecimal digits.
pub(crate) fn read_hash(text: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, digits) in hash.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(hash)
}
