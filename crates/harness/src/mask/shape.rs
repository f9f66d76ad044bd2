//! What a value of each class looks like, and how one is found around a place that varies.
//!
//! A class needs a shape that prices, names and counts do not have, or a name beside it that says what it is.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;
use stampede_core::MaskClass;

use crate::known::Known;

/// Bytes around a place that varies in which its value and its name are looked for.
const REACH: usize = 128;

/// The longest token.
const MOST_TOKEN: usize = 4096;

/// A number as programs write it.
const NUMBER: &str = r"[0-9]+(?:[.,][0-9]+)*(?:[eE][-+]?[0-9]+)?";
/// What may stand between a number and its unit.
const SPACE: &str = r"(?:[ \t]|&nbsp;|&#160;|\xC2\xA0|\xE2\x80\xAF)?";
const TIME_UNIT: &str =
    r"(?:(?:nano|micro|milli)?seconds?|minutes?|hours?|[mun]?secs?|mins?|hrs?|\xC2\xB5s|\xCE\xBCs|&micro;s|[num]?s)";
const MEMORY_UNIT: &str = r"(?:[KMGTkmgt]i?[Bb]|(?:kilo|mega|giga)?bytes?|Bytes?|B)";
const DAY: &str = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*";
const MONTH: &str = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*";
const CLOCK: &str = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?(?: ?[AaPp]\.?[Mm]\b\.?)?";
const ZONE: &str = r"(?: ?(?:Z\b|UTC|GMT|[+-][0-9]{2}:?[0-9]{2}|\(?[A-Z]{3,4}\)?))?";
/// The end of words that are part of an asset's address.
const ASSET: &str = r"(?:js|mjs|css|map|json|svg|png|jpe?g|gif|webp|avif|ico|woff2?|ttf|wasm)";
/// The same of what is code, whose address no visitor chose.
const CODE: &str = "(?:js|mjs|css|map|woff2?|ttf|wasm)";
/// Folders that a framework publishes assets in.
const PUBLISHED: &str = "(?:assets|static|build|dist|bundles|cache)";

/// Names that stand beside a token.
const TOKEN_NAMES: &str = r"(?i)csrf|xsrf|token|nonce|sess|\bsid\b|hash|\bstate\b|captcha|signature|challenge|uniqid|unique.?id|request.?id|trace.?id|correlation|checksum|fingerprint|viewstate|form_build_id|snapshot|integrity|salt\b";
/// Names that stand before a number that counts or measures by itself.
const COUNTER_NAMES: &str = r"(?i)(?:\brequests?|\bhits?|\bvisits?|\bvisitors?|\bviews?|pageviews|counter|\bpid|process.?id|\bworker|uptime|elapsed|duration|took|memory|latency|(?:render|load|response|execution|process|start|request)(?:ing)?.?time(?:.?m?s)?)[^0-9<>A-Za-z]{0,16}$";
/// Names that stand after one.
const COUNTED: &str = r"(?i)^[^0-9<>A-Za-z]{0,3}(?:requests?|hits|visits|visitors|views|pageviews)\b";

/// The shape of a class, ready to be looked for.
struct Shape {
    /// At the beginning of a text.
    start: Regex,
    /// Anywhere in it; the first group is the value.
    within: Regex,
}

#[expect(clippy::expect_used, reason = "the patterns are constants, and a test compiles them all")]
fn regex(pattern: &str) -> Regex {
    Regex::new(&format!("(?-u){pattern}")).expect("the pattern is right")
}

impl Shape {
    /// A shape that is what it is wherever it stands.
    fn plain(pattern: &str) -> Self {
        Self::placed(pattern, &format!(r"\b({pattern})\b"))
    }

    /// One that is it in some places alone.
    fn placed(pattern: &str, within: &str) -> Self {
        Self { start: regex(&format!("^(?:{pattern})")), within: regex(within) }
    }
}

macro_rules! shape {
    ($name:ident, $shape:expr) => {
        static $name: LazyLock<Shape> = LazyLock::new(|| $shape);
    };
}

shape!(PHP_VERSION, Shape::plain(r"[0-9]+\.[0-9]+\.[0-9]+"));
shape!(SAPI, Shape::plain("cli-server|fpm-fcgi|cgi-fcgi|apache2handler|phpdbg|litespeed|frankenphp|embed|uwsgi|cli"));
shape!(
    SOFTWARE,
    Shape::plain(
        r"(?:nginx|Apache|Caddy|FrankenPHP|RoadRunner|swoole-http-server|OpenSwoole|[Ss]woole|[Ww]orkerman|webman|uWSGI|LiteSpeed|Unit|PHP)(?:[/ ][0-9][0-9A-Za-z.+~-]*)?(?: \([^()<>]*\))?(?: Development Server)?"
    )
);
shape!(ADDRESS, Shape::plain(r"(?:127\.0\.0\.1|localhost|\[::1\]):[0-9]{2,5}"));
shape!(UUID, Shape::plain("[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"));
shape!(TIME, {
    let iso = format!("[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[T ]{CLOCK})?{ZONE}");
    let named =
        format!("(?:{DAY},? )?[0-9]{{1,2}}(?:st|nd|rd|th)?[ -]{MONTH}[ -][0-9]{{2,4}}(?:,? (?:at )?{CLOCK}{ZONE})?");
    let reversed = format!(
        "(?:{DAY},? )?{MONTH} {{1,2}}[0-9]{{1,2}}(?:st|nd|rd|th)?,? (?:[0-9]{{4}},? )?(?:at )?{CLOCK}{ZONE}(?: [0-9]{{4}})?"
    );
    let day = format!("(?:{DAY},? )?{MONTH} [0-9]{{1,2}}(?:st|nd|rd|th)?,? [0-9]{{4}}");
    let slashes = format!(
        "(?:[0-9]{{1,2}}[/.][0-9]{{1,2}}[/.][0-9]{{4}}|[0-9]{{4}}[/.][0-9]{{1,2}}[/.][0-9]{{1,2}})(?:,? {CLOCK}{ZONE})?"
    );
    // Seconds, or milliseconds, from 2017 to 2033.
    let unix = r"1[5-9][0-9]{8}(?:[0-9]{3}|\.[0-9]+)?";
    Shape::plain(&format!("{iso}|{named}|{reversed}|{day}|{slashes}|{CLOCK}{ZONE}|{unix}"))
});
shape!(DURATION, Shape::plain(&format!("{NUMBER}{SPACE}{TIME_UNIT}")));
shape!(MEMORY, Shape::plain(&format!("{NUMBER}{SPACE}{MEMORY_UNIT}")));
shape!(
    ASSET_HASH,
    Shape::placed(
        "[0-9A-Za-z][0-9A-Za-z_.-]{3,63}",
        &format!(
            r"(?:[-._]([0-9A-Za-z_-]{{6,64}})\.{ASSET}\b|\.{ASSET}\?(?:[a-z_]{{1,8}}=)?([0-9A-Za-z][0-9A-Za-z_.-]{{3,63}}))"
        )
    )
);
shape!(
    ASSET_FOLDER,
    // Yii's asset manager: a CRC-32 without leading zeros. Others: MD5 and SHA.
    Shape::placed(
        "[0-9a-f]{7,64}",
        &format!(
            r"/{PUBLISHED}\\?/([0-9a-f]{{7,64}})\\?/(?:[0-9A-Za-z_.@~-]{{1,64}}\\?/){{0,6}}[0-9A-Za-z_.@~-]{{1,64}}\.{CODE}\b"
        )
    )
);
shape!(
    DEBUG_TOKEN,
    Shape::placed(
        "[0-9a-f]{6,64}",
        r#"(?:/_(?:wdt|profiler)/|\bdebug(?:/|%2F)default(?:/|%2F)[a-z]{1,16}[^"'<>\s]{0,64}?(?:&amp;|[?&])tag=|\bsfwdt|\bsf[A-Za-z]+-|loadToolbar\(['"]|debug-token[^0-9<>]{0,16})([0-9a-f]{6,64})\b"#
    )
);
shape!(TOKEN, Shape::plain(r"[0-9A-Za-z+/\\=_.~%:,-]{6,4096}"));
shape!(COUNTER, Shape::plain("[0-9]+(?:[.,][0-9]+)*"));

static TOKEN_NAME: LazyLock<Regex> = LazyLock::new(|| regex(TOKEN_NAMES));
/// What stands right before a value, where it is no address.
static VALUE_OF: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"(?i)(?:\b(?:value|content|nonce)\s*=\s*|(?:token|csrf|xsrf|nonce|sid|session|hash)[a-z_-]*["']?\s*[:=]\s*)["']?$"#,
    )
});
static COUNTER_NAME: LazyLock<Regex> = LazyLock::new(|| regex(COUNTER_NAMES));
static COUNTED_NAME: LazyLock<Regex> = LazyLock::new(|| regex(COUNTED));

/// What an application says of how long it took, in words that are said of nothing else.
static TOOK: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        r"(?i)\b(?:rendered|generated|executed|elapsed|loaded|built|processed|finished|took|(?:execution|generation|rendering|render|load|response)[ _]time)(?: in)?[ :=]{{1,3}}(?:<[a-z]{{1,8}}(?: [^<>]{{0,40}})?>)?({NUMBER}{SPACE}(?:(?:nano|micro|milli)?seconds?|[mun]?secs?|\xC2\xB5s|[num]?s))\b"
    ))
});
/// And of its memory.
static USED: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        r"(?i)\b(?:memory[ _](?:usage|used|peak)|peak[ _]memory|memory[ _]peak[ _]usage)[ :=]{{1,3}}(?:<[a-z]{{1,8}}(?: [^<>]{{0,40}})?>)?({NUMBER}{SPACE}{MEMORY_UNIT})\b"
    ))
});

fn shape(class: MaskClass) -> Option<&'static Shape> {
    Some(match class {
        MaskClass::Anything | MaskClass::Port | MaskClass::Folder => return None,
        MaskClass::PhpVersion => &PHP_VERSION,
        MaskClass::Sapi => &SAPI,
        MaskClass::ServerSoftware => &SOFTWARE,
        MaskClass::Address => &ADDRESS,
        MaskClass::Duration => &DURATION,
        MaskClass::Memory => &MEMORY,
        MaskClass::Time => &TIME,
        MaskClass::Token => &TOKEN,
        MaskClass::DebugToken => &DEBUG_TOKEN,
        MaskClass::Uuid => &UUID,
        MaskClass::AssetHash => &ASSET_HASH,
        MaskClass::AssetFolder => &ASSET_FOLDER,
        MaskClass::Counter => &COUNTER,
    })
}

/// Lengths of values of a class that a text may begin with, the longest first. A value that is known of the deployment is that one
/// alone; where none is known, its shape must do.
pub(super) fn lengths(class: MaskClass, text: &[u8], known: &Known) -> Vec<usize> {
    let values = known.values(class);
    let own = values.iter().filter(|value| text.starts_with(value.as_bytes())).map(|value| value.len());
    let mut lengths: Vec<usize> = own.collect();
    // What listens besides, and other names of servers, are not all known.
    let is_open = values.is_empty() || matches!(class, MaskClass::ServerSoftware | MaskClass::Address);
    if let Some(shape) = shape(class).filter(|_| is_open) {
        let window = &text[..text.len().min(MOST_TOKEN + 1)];
        let longest = shape.start.find(window).map_or(0, |found| found.end());
        let whole = |length: &usize| {
            shape.start.find(&window[..*length]).is_some_and(|found| found.end() == *length)
                && may_be(class, &window[..*length])
        };
        // A shorter one is looked for where what follows is also what a value could hold.
        lengths.extend((longest.saturating_sub(REACH)..=longest).filter(|length| *length > 0).filter(whole));
    }
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    lengths.dedup();
    lengths
}

/// Whether what has the shape of a class can be a value of it.
fn may_be(class: MaskClass, value: &[u8]) -> bool {
    match class {
        MaskClass::Token => !is_word(value),
        // `facade` is a theme.
        MaskClass::AssetFolder => value.iter().any(u8::is_ascii_digit),
        _ => true,
    }
}

/// Whether this may be a word or a name: letters alone, of one case but for the first.
fn is_word(value: &[u8]) -> bool {
    value.iter().all(u8::is_ascii_alphabetic) && value.len() < 20 && value[1..].iter().all(u8::is_ascii_lowercase)
}

/// The value that varies at a place, and its class; nothing where it has no shape or name that says so.
pub(super) fn classify(body: &[u8], place: &Range<usize>) -> Option<(Range<usize>, MaskClass)> {
    const PLAIN: [MaskClass; 8] = [
        MaskClass::Uuid,
        MaskClass::Time,
        MaskClass::Duration,
        MaskClass::Memory,
        MaskClass::AssetHash,
        MaskClass::AssetFolder,
        MaskClass::DebugToken,
        MaskClass::Address,
    ];
    let plain = PLAIN.iter().find_map(|class| {
        let value = covering(&shape(*class)?.within, body, place)?;
        may_be(*class, &body[value.clone()]).then_some((value, *class))
    });
    plain
        .or_else(|| token(body, place).map(|range| (range, MaskClass::Token)))
        .or_else(|| counter(body, place).map(|range| (range, MaskClass::Counter)))
}

/// The value in the match that holds all of a place: what it varies with, such as a prefix, is a part of the match.
fn covering(shape: &Regex, body: &[u8], place: &Range<usize>) -> Option<Range<usize>> {
    let from = place.start.saturating_sub(REACH);
    let window = &body[from..body.len().min(place.end + REACH)];
    shape.captures_iter(window).find_map(|captures| {
        let [whole, value] = [captures.get(0)?, captures.iter().skip(1).flatten().next()?]
            .map(|found| from + found.start()..from + found.end());
        let holds = whole.start <= place.start && place.end <= whole.end;
        (holds && value.start <= place.end && place.start <= value.end).then_some(value)
    })
}

fn counter(body: &[u8], place: &Range<usize>) -> Option<Range<usize>> {
    let range = covering(&COUNTER.within, body, place)?;
    let before = &body[range.start.saturating_sub(REACH)..range.start];
    let after = &body[range.end..body.len().min(range.end + REACH)];
    (COUNTER_NAME.is_match(before) || COUNTED_NAME.is_match(after)).then_some(range)
}

/// A token: what looks random, in a place that is named as one, or that is long and can be nothing else in quotes.
fn token(body: &[u8], place: &Range<usize>) -> Option<Range<usize>> {
    // From the whole value to the parts of an address.
    const ALPHABETS: [&[u8]; 3] = [b"+/\\=_.~%:,-", b"+=_.~%-", b"_-"];
    ALPHABETS.iter().find_map(|more| {
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || more.contains(byte);
        let start = place.start - body[..place.start].iter().rev().take(MOST_TOKEN).take_while(is_part).count();
        let end = place.end + body[place.end..].iter().take(MOST_TOKEN).take_while(is_part).count();
        let value = &body[start..end];
        let is_of_alphabet = value.iter().all(|byte| is_part(&byte));
        // An address, or a name with its value, is no value.
        let inner =
            value.iter().position(|byte| *byte == b'=').is_some_and(|at| value[at..].iter().any(|byte| *byte != b'='));
        let has = |pair: &[u8]| value.windows(pair.len()).any(|bytes| bytes == pair);
        let before = &body[start.saturating_sub(REACH)..start];
        let is_address = has(b"://") || ((value.starts_with(b"/") || has(b"//")) && !VALUE_OF.is_match(before));
        if !is_of_alphabet || inner || is_address || value.len() < 6 || value.len() > MOST_TOKEN || is_word(value) {
            return None;
        }
        let named = TOKEN_NAME.is_match(&names(body, &(start..end)));
        let quoted = is_quoted(body, &(start..end)) && is_random(value);
        (named && (value.len() >= 8 || !value.iter().all(u8::is_ascii_digit)) || quoted).then_some(start..end)
    })
}

/// What stands around a value that may name it: its tag, or the text before it.
fn names(body: &[u8], value: &Range<usize>) -> Vec<u8> {
    const MOST_TAG: usize = 1024;
    let before = &body[value.start.saturating_sub(MOST_TAG)..value.start];
    let after = &body[value.end..body.len().min(value.end + MOST_TAG)];
    let open = before.iter().rposition(|byte| *byte == b'<' || *byte == b'>').filter(|at| before[*at] == b'<');
    match open {
        Some(open) => {
            let close = after.iter().position(|byte| *byte == b'>' || *byte == b'<').unwrap_or(0);
            [&before[open..], b" ", &after[..close]].concat()
        }
        None => {
            let near = &before[before.len().saturating_sub(48)..];
            let ends = near.iter().rposition(|byte| b"<>\n,;{}&?".contains(byte)).map_or(0, |at| at + 1);
            near[ends..].to_vec()
        }
    }
}

fn is_quoted(body: &[u8], value: &Range<usize>) -> bool {
    let before = value.start.checked_sub(1).map(|at| body[at]);
    before.is_some_and(|quote| b"\"'".contains(&quote) && body.get(value.end) == Some(&quote))
}

/// Long, and of a mixture that no word or number has.
fn is_random(value: &[u8]) -> bool {
    let count = |is: fn(&u8) -> bool| value.iter().filter(|byte| is(byte)).count();
    let (digits, upper, lower) =
        (count(u8::is_ascii_digit), count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase));
    let is_hex = value.iter().all(u8::is_ascii_hexdigit) && digits >= 3 && upper + lower >= 2;
    value.len() >= 16 && (is_hex || digits >= 2 && upper >= 3 && lower >= 3)
}

/// Values that an application prints of its own work, and that vary even where they did not while it was recorded: how long it took
/// and its memory where words say so, and memory in one sentence with a duration that varies.
pub(super) fn of_own_work(body: &[u8], varying: &[(Range<usize>, MaskClass)]) -> Vec<(Range<usize>, MaskClass)> {
    let found = |regex: &Regex, class: MaskClass| {
        let groups = regex.captures_iter(body).filter_map(|captures| captures.get(1).map(|group| group.range()));
        groups.map(|range| (range, class)).collect::<Vec<_>>()
    };
    let mut own = [found(&TOOK, MaskClass::Duration), found(&USED, MaskClass::Memory)].concat();
    let durations = own.iter().chain(varying).filter(|(_, class)| *class == MaskClass::Duration);
    let mut memory = Vec::new();
    for (range, _) in durations {
        let ends = |byte: &u8| matches!(byte, b'<' | b'>' | b'\n');
        let before = &body[range.start.saturating_sub(REACH)..range.start];
        let start = range.start - before.iter().rev().position(ends).unwrap_or(before.len());
        let after = &body[range.end..body.len().min(range.end + REACH)];
        let end = range.end + after.iter().position(ends).unwrap_or(after.len());
        let matches = MEMORY.within.captures_iter(&body[start..end]);
        memory.extend(matches.filter_map(|captures| {
            let group = captures.get(1)?.range();
            Some((start + group.start..start + group.end, MaskClass::Memory))
        }));
    }
    own.extend(memory);
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value at the place between two bars, with its class.
    fn at(marked: &str) -> Option<(String, &'static str)> {
        let mut parts = marked.splitn(3, '|');
        let (before, place, after) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
        let body = format!("{before}{place}{after}");
        let found = classify(body.as_bytes(), &(before.len()..before.len() + place.len()));
        found.map(|(range, class)| (body[range].to_owned(), class.name()))
    }

    #[test]
    fn a_value_that_varies_is_known_by_its_shape_and_name() {
        for (marked, value, class) in [
            ("Page rendered in 0.0|123| seconds", "0.0123 seconds", "duration"),
            ("in |3 ms|.", "3 ms", "duration"),
            ("took 1|2|\u{b5}s", "12\u{b5}s", "duration"),
            ("using |2.34| MB of memory", "2.34 MB", "memory"),
            ("1,0|24| KiB", "1,024 KiB", "memory"),
            ("<p>Sun, 22 Nov 2026 02:42:|44| GMT</p>", "Sun, 22 Nov 2026 02:42:44 GMT", "time"),
            ("at 2026-11-22T10:00:0|1|Z by", "2026-11-22T10:00:01Z", "time"),
            ("at 2026-11-22 10:00:0|1|.", "2026-11-22 10:00:01", "time"),
            ("on November |22|, 2026", "November 22, 2026", "time"),
            ("22.11.|2026|, 10:00", "22.11.2026, 10:00", "time"),
            ("\"now\":1764|123|456}", "1764123456", "time"),
            ("id=\"|3f2a|-\"", "", ""),
            ("<input name=\"_token\" value=\"|Ab12x9|\">", "Ab12x9", "token"),
            ("<input value=\"ab12-|x9cd|\" type=hidden name=csrf>", "ab12-x9cd", "token"),
            ("<meta name=\"csrf-token\" content=\"a+b/c|d|ef=\">", "a+b/cdef=", "token"),
            ("{\"session\":\"|q8f7|k2\"}", "q8f7k2", "token"),
            ("<a href=\"/x?_token=|abcd12|&b=1\">", "abcd12", "token"),
            ("<input value=\"|0123456789abcdef|\">", "0123456789abcdef", "token"),
            ("<div id=\"sfwdt|a1b2c3|\">", "a1b2c3", "debug token"),
            ("<a href=\"/_profiler/a1|b2|c3?panel=db\">", "a1b2c3", "debug token"),
            ("<script src=\"/build/app-|4f3A|9c2b.js\">", "4f3A9c2b", "asset hash"),
            ("<link href=\"/a.css?v=17|3252|5200\">", "1732525200", "time"),
            ("<link href=\"/a.css?id=|3252|ab\">", "3252ab", "asset hash"),
            ("<link href=\"/assets/|a4d37025|/bootstrap.css\">", "a4d37025", "asset folder"),
            ("<script src=\"/shop/assets/a4|d37|02/dist/js/a.min.js\">", "a4d3702", "asset folder"),
            ("<script src=\"/assets/|91823746|/yii.js\">", "91823746", "asset folder"),
            ("{\"src\":\"\\/assets\\/|c60f9bdf|\\/a.js\"}", "c60f9bdf", "asset folder"),
            (
                "data-url=\"/index.php?r=debug%2Fdefault%2Ftoolbar&amp;tag=|6b07f81693f58|\"",
                "6b07f81693f58",
                "debug token",
            ),
            ("<a href=\"/debug/default/view?panel=log&tag=6b07f816|93f58|\">", "6b07f81693f58", "debug token"),
            ("3f2a|4b5c|-1111-4222-8333-123456789abc", "3f2a4b5c-1111-4222-8333-123456789abc", "UUID"),
            ("http://127.0.0.1:|20011|/x", "127.0.0.1:20011", "host and port"),
            ("pid: |1234|", "1234", "counter"),
            ("\"elapsed\":0.|12|,", "0.12", "counter"),
            ("You are visitor |17|.", "17", "counter"),
            ("|17| requests so far", "17", "counter"),
        ] {
            let expected = (!class.is_empty()).then(|| (value.to_owned(), class));
            assert_eq!(at(marked), expected, "{marked}");
        }
    }

    #[test]
    fn prices_names_and_counts_are_never_masked() {
        for marked in [
            "<b>|19.90| EUR</b>",
            "<b>$|19|.90</b>",
            "<td class=\"price\">|1299|</td>",
            "by |Anna| Smith",
            "<input name=\"user\" value=\"|anna|\">",
            "<input name=\"session_name\" value=\"|autumn|\">",
            "|17| items",
            "page |3| of 9",
            "\"stock\":|4|,",
            "<li>||a</li>",
            "version |2|.1",
            "<a href=\"/products/|summer-collection-2024|\">",
            "<a href=\"/sessions/|17|\">",
            "<link href=\"/assets/|facade|/app.css\">",
            "<link href=\"/assets/|decade|/app.css\">",
            "<link href=\"/assets/|deadbeef|/app.css\">",
            "<link href=\"/assets/theme-|1234567|/app.css\">",
            "<script src=\"/assets/|v2|/app.js\">",
            "<script src=\"/assets/|202611|/app.js\">",
            "<img src=\"/assets/|a4d37025|/photo.jpg\">",
            "<img src=\"/products/|1234567|/photo.jpg\">",
            "<a href=\"/orders/|a4d37025|/app.css\">",
            "<a href=\"/assets/|a4d37025|/\">",
            "<link href=\"/assets/a4d37025/|bootstrap|.css\">",
            "<a href=\"/shop/default/view?tag=|6b07f81693f58|\">",
        ] {
            assert_eq!(at(marked), None, "{marked}");
        }
    }

    #[test]
    fn a_text_begins_with_values_of_its_class_alone() {
        let known = Known { php_version: Some("8.4.1".to_owned()), ..Known::default() };
        for (class, text, longest) in [
            (MaskClass::PhpVersion, "8.4.1)", Some(5)),
            (MaskClass::PhpVersion, "8.2.1)", None),
            (MaskClass::Sapi, "fpm-fcgi<", Some(8)),
            (MaskClass::Sapi, "nonsense", None),
            (MaskClass::ServerSoftware, "Apache/2.4.62 (Debian)<", Some(22)),
            (MaskClass::Duration, "1.5 s<", Some(5)),
            (MaskClass::Duration, "1.5 EUR", None),
            (MaskClass::Memory, "4 MB of", Some(4)),
            (MaskClass::Time, "2026-11-22 10:00<", Some(16)),
            (MaskClass::Token, "0aB+/9=\"", Some(7)),
            (MaskClass::Token, "summer\"", None),
            (MaskClass::AssetFolder, "a4d37025/a.css", Some(8)),
            (MaskClass::AssetFolder, "facadebed/a.css", None),
            (MaskClass::AssetFolder, "dark1/a.css", None),
            (MaskClass::Counter, "17 x", Some(2)),
            (MaskClass::Counter, "x", None),
        ] {
            assert_eq!(lengths(class, text.as_bytes(), &known).first().copied(), longest, "{class:?} {text}");
        }
    }
}
