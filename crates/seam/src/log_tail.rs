//! The end of a log, in which nothing is repeated.

/// How many different lines are kept.
const LINES: usize = 20;

/// Bytes of a line that are kept: what follows in one that is longer is a stack trace or a request.
const LINE_BYTES: usize = 1000;

/// How many calls of a stack trace are kept.
const CALLS: usize = 2;

/// How words begin that have the number of a process in them or after them: `pid:71`, `child 71`, `Worker[71]`.
const PIDS: [&str; 4] = ["pid", "tid", "child", "worker"];

/// The last different lines of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogTail {
    /// Lines, oldest first. One that came several times stands where it came last, after its count: `20 times: ...`.
    pub lines: Vec<String>,
}

impl LogTail {
    /// The end of a log of these lines, oldest first. Stack traces have their first calls alone. Lines are the same that differ in their time, and in the number of their process or
    /// request, alone.
    pub fn of<'a>(lines: impl IntoIterator<Item = &'a str>) -> Self {
        // The newest is last here as well; what comes again moves there.
        let mut kept: Vec<(String, &str, usize)> = Vec::new();
        let mut calls = 0;
        for line in lines.into_iter().filter(|line| !line.trim().is_empty()) {
            calls = if is_listed(line) { calls + 1 } else { 0 };
            if is_deep(line) || calls > CALLS {
                continue;
            }
            let key = timeless(line);
            let before = kept.iter().position(|(known, ..)| *known == key).map(|at| kept.remove(at));
            kept.push((key, line, before.map_or(1, |(.., count)| count + 1)));
        }
        let last = kept.split_off(kept.len().saturating_sub(LINES));
        let shown = |(_, line, count): (String, &str, usize)| match count {
            1 => cut(line),
            count => format!("{count} times: {}", cut(line)),
        };
        Self { lines: last.into_iter().map(shown).collect() }
    }
}

/// Whether a line is a call in one of PHP's stack traces that is far from where it failed: `#2 index.php(7): main()`.
fn is_deep(line: &str) -> bool {
    let number = line.trim_start().strip_prefix('#').and_then(|rest| rest.split_once(' ')).map(|(number, _)| number);
    number.and_then(|number| number.parse::<usize>().ok()).is_some_and(|number| number >= CALLS)
}

/// Whether a line is a call in a stack trace of CakePHP, whose calls have no numbers: `- /srv/shop/src/Application.php:12`.
fn is_listed(line: &str) -> bool {
    line.strip_prefix("- ").is_some_and(|call| call.contains(".php:") || call.starts_with("[main]"))
}

/// A line without what tells it from the same one at another time. Servers begin theirs with it, nginx, Apache, PHP-FPM and Swoole each
/// in its own way; one in JSON has numbers anywhere.
fn timeless(line: &str) -> String {
    if line.starts_with('{') {
        return without_digits(line);
    }
    let mut words = line.split_whitespace().peekable();
    let mut key: Vec<String> = Vec::new();
    let mut in_brackets = false;
    while let Some(word) = words.peek() {
        in_brackets |= word.starts_with('[');
        let is_number = word.trim_start_matches(['*', '#', '(']).starts_with(|first: char| first.is_ascii_digit());
        let is_level = word.len() > 2 && word.chars().all(|c| c.is_ascii_uppercase() || c == ':');
        if !in_brackets && !is_number && !is_level {
            break;
        }
        // `[error]` and `ERROR` tell more than when; `[pid 7:tid 7]` and `[client 127.0.0.1:7]` do not.
        if is_level || (in_brackets && !word.chars().any(|c| c.is_ascii_digit())) {
            key.push((*word).to_owned());
        }
        in_brackets &= !word.ends_with(']');
        words.next();
    }
    if words.peek().is_none() {
        // A number alone is no time before a message.
        return line.to_owned();
    }
    let mut in_json = false;
    for word in words {
        in_json |= word.starts_with("{\"");
        let before = key.last().map(|last| last.to_lowercase());
        let is_pid = PIDS.iter().any(|pid| word.to_lowercase().starts_with(pid) || before.as_deref() == Some(*pid));
        key.push(if in_json || is_pid { without_digits(word) } else { word.to_owned() });
    }
    key.join(" ")
}

fn without_digits(text: &str) -> String {
    text.chars().filter(|character| !character.is_ascii_digit()).collect()
}

/// The beginning of a line that is too long.
fn cut(line: &str) -> String {
    match line.char_indices().find(|(at, _)| *at >= LINE_BYTES) {
        Some((at, _)) => format!("{} … ({} bytes)", &line[..at], line.len()),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_numbers_alone_are_not_the_same() {
        assert_eq!(LogTail::of(["33", "0022", "33"]).lines, ["0022", "2 times: 33"]);
    }

    #[test]
    fn lines_that_differ_in_time_and_process_alone_are_told_once() {
        for (name, first, again, other) in [
            (
                "nginx",
                "2026/11/26 07:00:01 [error] 71#71: *5 upstream sent too big header while reading",
                "2026/11/26 07:00:09 [error] 72#72: *9 upstream sent too big header while reading",
                "2026/11/26 07:00:09 [warn] 72#72: *9 upstream sent too big header while reading",
            ),
            (
                "Apache",
                "[Thu Nov 26 07:00:01.5 2026] [proxy_fcgi:error] [pid 7:tid 8] [client 127.0.0.1:5060] AH01071: Got error",
                "[Thu Nov 26 07:00:02.9 2026] [proxy_fcgi:error] [pid 9:tid 4] [client 127.0.0.1:5062] AH01071: Got error",
                "[Thu Nov 26 07:00:02.9 2026] [proxy_fcgi:error] [pid 9:tid 4] [client 127.0.0.1:5062] AH01070: Got error",
            ),
            (
                "PHP",
                "[26-Nov-2026 07:00:01 UTC] PHP Warning: Undefined variable $a in /app/x.php on line 3",
                "[26-Nov-2026 07:00:02 UTC] PHP Warning: Undefined variable $a in /app/x.php on line 3",
                "[26-Nov-2026 07:00:02 UTC] PHP Warning: Undefined variable $a in /app/x.php on line 4",
            ),
            (
                "PHP-FPM",
                "[26-Nov-2026 07:00:01] WARNING: [pool www] child 71 said into stderr: \"no\"",
                "[26-Nov-2026 07:00:02] WARNING: [pool www] child 72 said into stderr: \"no\"",
                "[26-Nov-2026 07:00:02] NOTICE: [pool www] child 72 said into stderr: \"no\"",
            ),
            (
                "Swoole",
                "[2026-11-26 07:00:01 #71.0]\tERROR\tpackage is too big: 9000000",
                "[2026-11-26 07:00:02 #72.1]\tERROR\tpackage is too big: 9000000",
                "[2026-11-26 07:00:02 #72.1]\tERROR\tpackage is too big: 9000001",
            ),
            (
                "Workerman",
                "2026-11-26 07:00:01 pid:71 Worker[71] process terminated",
                "2026-11-26 07:00:02 pid:72 Worker[72] process terminated",
                "2026-11-26 07:00:02 pid:72 Worker[72] process started",
            ),
            (
                "RoadRunner",
                "1795678331621367730\terror\thttp\trequest forming error\t{\"start\": 1795, \"elapsed\": 3}",
                "1795678331621367731\terror\thttp\trequest forming error\t{\"start\": 1796, \"elapsed\": 4}",
                "1795678331621367731\terror\thttp\tno worker\t{\"start\": 1796, \"elapsed\": 4}",
            ),
            (
                "Caddy",
                r#"{"level":"error","ts":1700000000.5,"msg":"dialing backend","duration":0.001}"#,
                r#"{"level":"error","ts":1700000001.5,"msg":"dialing backend","duration":0.0021}"#,
                r#"{"level":"error","ts":1700000001.5,"msg":"reading","duration":0.0021}"#,
            ),
        ] {
            let tail = LogTail::of([first, again, other]);
            assert_eq!(tail.lines, [format!("2 times: {again}"), other.to_owned()], "{name}");
        }
    }

    #[test]
    fn the_last_different_lines_are_kept_in_their_order() {
        let lines: Vec<String> = (1..=30).map(|line| format!("line {line}")).collect();
        let tail = LogTail::of(lines.iter().map(String::as_str).chain(["line 3", "", "line 30"]));
        assert_eq!(tail.lines.len(), LINES);
        assert_eq!(tail.lines[0], "line 12");
        assert_eq!(tail.lines[18..], ["2 times: line 3", "2 times: line 30"]);
        assert_eq!(LogTail::of([]).lines, Vec::<String>::new());
        let trace = [
            "PHP Fatal error: no",
            "Stack trace:",
            "#0 a.php(1): b()",
            "#1 a.php(2): c()",
            "#2 a.php(3): d()",
            "#3 {main}",
        ];
        assert_eq!(LogTail::of(trace).lines, trace[..4]);
        let listed = ["Stack Trace:", "- a.php:1", "- b.php:2", "Request URL: /", "- c.php:3", "- [main]:"];
        assert_eq!(LogTail::of(listed).lines, listed);
        let listed = ["Stack Trace:", "- a.php:1", "- b.php:2", "- c.php:3", "- [main]:"];
        assert_eq!(LogTail::of(listed).lines, listed[..3]);
        let long = "é".repeat(LINE_BYTES);
        assert!(LogTail::of([long.as_str()]).lines[0].ends_with("é … (2000 bytes)"));
    }
}
