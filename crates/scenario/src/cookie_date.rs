//! Dates of cookies, as RFC 6265, section 5.1.1, reads them: in any order, with any separators.

use std::time::{Duration, SystemTime};

const MONTHS: [&[u8]; 12] =
    [b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec"];

/// The instant of a date; an instant before 1970 is told as 1970.
pub(crate) fn parse(text: &[u8]) -> Option<SystemTime> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in text.split(|byte| is_delimiter(*byte)).filter(|token| !token.is_empty()) {
        if time.is_none()
            && let Some(found) = time_of(token)
        {
            time = Some(found);
        } else if day.is_none()
            && let Some(found) = number(token, 1..=2)
        {
            day = Some(found);
        } else if month.is_none()
            && let Some(found) = month_of(token)
        {
            month = Some(found);
        } else if year.is_none()
            && let Some(found) = number(token, 2..=4)
        {
            year = Some(found);
        }
    }
    let ((hour, minute, second), day, month, year) = (time?, day?, month?, year?);
    let year = match year {
        70..=99 => year + 1900,
        0..=69 => year + 2000,
        _ => year,
    };
    let (next_year, next_month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    let length = days_since_1970(next_year, next_month, 1) - days_since_1970(year, month, 1);
    if !(1..=length).contains(&day) || year < 1601 || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let days = days_since_1970(year, month, day);
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, 0x09 | 0x20..=0x2f | 0x3b..=0x40 | 0x5b..=0x60 | 0x7b..=0x7e)
}

/// The digits with which a token begins, when there are this many and no more.
fn number(token: &[u8], digits: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let count = token.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !digits.contains(&count) {
        return None;
    }
    std::str::from_utf8(&token[..count]).ok()?.parse().ok()
}

fn time_of(token: &[u8]) -> Option<(i64, i64, i64)> {
    let mut fields = token.splitn(3, |byte| *byte == b':');
    let whole = |field: &[u8]| if field.iter().all(u8::is_ascii_digit) { number(field, 1..=2) } else { None };
    Some((whole(fields.next()?)?, whole(fields.next()?)?, number(fields.next()?, 1..=2)?))
}

fn month_of(token: &[u8]) -> Option<i64> {
    let begin = token.get(..3)?.to_ascii_lowercase();
    MONTHS.iter().position(|month| *month == begin).map(|index| index as i64 + 1)
}

/// Days of the proleptic Gregorian calendar (Hinnant, "chrono-compatible low-level date algorithms", `days_from_civil`).
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_browsers_read_them() {
        for (text, seconds) in [
            // RFC 6265, sections 3.1 and 4.1; RFC 9110, section 5.6.7.
            ("Wed, 09 Jun 2021 10:18:14 GMT", Some(1_623_233_894)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(784_111_777)),
            ("Sun Nov  6 08:49:37 1994", Some(784_111_777)),
            ("Thu, 01-Jan-1970 00:00:01 GMT", Some(1)),
            ("Thu, 29 Feb 2024 23:59:59 GMT", Some(1_709_251_199)),
            ("1 jan 69 0:0:0", Some(3_124_224_000)),
            ("Mon, 01 Jan 1601 00:00:00 GMT", Some(0)),
            ("Mon, 01 Jan 1600 00:00:00 GMT", None),
            ("31 Dec 2020 00:00:00", Some(1_609_372_800)),
            ("32 Jan 2020 00:00:00", None),
            ("29 Feb 2023 00:00:00", None),
            ("0 Jan 2020 00:00:00", None),
            ("1 Jan 2020 24:00:00", None),
            ("1 Jan 2020", None),
            ("1 2020 10:00:00", None),
            ("", None),
        ] {
            let expected = seconds.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
            assert_eq!(parse(text.as_bytes()), expected, "{text}");
        }
    }
}
