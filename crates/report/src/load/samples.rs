//! Every request of a load as a line: CSV, TSV, or a line of JSON (`stampede/load-request/v1`).

use std::path::Path;

use stampede_core::ErrorClass;
use stampede_seam::{RequestSample, SampleEnd};

/// How requests are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleFormat {
    /// Separated by commas (RFC 4180), with line feeds.
    Csv,
    /// Separated by tabs.
    Tsv,
    /// An object a line.
    Ndjson,
}

/// Names of the columns. Times are in microseconds; `due_us` and `sent_us` count from the begin of the load.
const COLUMNS: [&str; 11] = [
    "due_us",
    "sent_us",
    "dns_us",
    "connect_us",
    "written_us",
    "first_byte_us",
    "total_us",
    "status",
    "bytes",
    "step",
    "error",
];

impl SampleFormat {
    /// The format of a file, by the end of its name.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "csv" => Some(Self::Csv),
            "tsv" => Some(Self::Tsv),
            "ndjson" => Some(Self::Ndjson),
            _ => None,
        }
    }
}

/// Writes the requests of one load.
#[derive(Clone, Debug)]
pub struct SampleLines {
    format: SampleFormat,
    /// Names of steps, and of errors, as they stand in a line.
    steps: Vec<String>,
    errors: Vec<(ErrorClass, String)>,
}

impl SampleLines {
    /// For a load whose steps have these names.
    pub fn new(format: SampleFormat, steps: &[String]) -> Self {
        let class = |class| serde_json::to_value(class).ok().and_then(|name| name.as_str().map(str::to_owned));
        Self {
            format,
            steps: steps.iter().map(|step| quoted(format, step)).collect(),
            errors: ErrorClass::ALL
                .into_iter()
                .filter_map(|error| Some((error, quoted(format, &class(error)?))))
                .collect(),
        }
    }

    /// The line of column names, where the format has one.
    pub fn head(&self) -> String {
        match self.format {
            SampleFormat::Csv => COLUMNS.join(",") + "\n",
            SampleFormat::Tsv => COLUMNS.join("\t") + "\n",
            SampleFormat::Ndjson => String::new(),
        }
    }

    /// Appends the line of a request.
    pub fn append(&self, sample: &RequestSample, out: &mut Vec<u8>) {
        let RequestSample {
            due_ns,
            sent_ns,
            connect_ns,
            written_ns,
            first_byte_ns,
            total_ns,
            bytes,
            step,
            status,
            end,
        } = sample;
        let mut line = Line { format: self.format, column: 0, out };
        line.micros(Some(*due_ns));
        line.micros(*sent_ns);
        // Names are looked up once, before the load.
        line.micros(Some(0));
        line.micros(Some(*connect_ns));
        line.micros(sent_ns.map(|_| *written_ns));
        line.micros(*first_byte_ns);
        line.micros(Some(*total_ns));
        line.number(status.map(u64::from));
        line.number(Some(*bytes));
        line.text(self.steps.get(*step as usize).map_or("", String::as_str));
        let unfinished = match self.format {
            SampleFormat::Csv | SampleFormat::Tsv => "unfinished",
            SampleFormat::Ndjson => "\"unfinished\"",
        };
        line.text(match end {
            SampleEnd::Ok => "",
            SampleEnd::Unfinished => unfinished,
            SampleEnd::Failed(class) => {
                self.errors.iter().find(|(known, _)| known == class).map_or("", |(_, name)| name.as_str())
            }
        });
        line.end();
    }
}

/// A text as it stands in a line.
fn quoted(format: SampleFormat, text: &str) -> String {
    match format {
        SampleFormat::Csv if text.contains([',', '"', '\n', '\r']) => format!("\"{}\"", text.replace('"', "\"\"")),
        SampleFormat::Csv => text.to_owned(),
        SampleFormat::Tsv => text.replace(['\t', '\n', '\r'], " "),
        SampleFormat::Ndjson => serde_json::Value::from(text).to_string(),
    }
}

/// A line that is being written. Numbers are written here: `format!` would cost more than a request does.
struct Line<'a> {
    format: SampleFormat,
    column: usize,
    out: &'a mut Vec<u8>,
}

impl Line<'_> {
    /// Begins the next column.
    fn next(&mut self) {
        let separator = match self.format {
            SampleFormat::Csv | SampleFormat::Ndjson => b',',
            SampleFormat::Tsv => b'\t',
        };
        if self.column > 0 {
            self.out.push(separator);
        }
        if self.format == SampleFormat::Ndjson {
            if self.column == 0 {
                self.out.push(b'{');
            }
            self.out.push(b'"');
            self.out.extend_from_slice(COLUMNS.get(self.column).copied().unwrap_or_default().as_bytes());
            self.out.extend_from_slice(b"\":");
        }
        self.column += 1;
    }

    fn nothing(&mut self) {
        if self.format == SampleFormat::Ndjson {
            self.out.extend_from_slice(b"null");
        }
    }

    fn micros(&mut self, ns: Option<u64>) {
        self.next();
        let Some(ns) = ns else { return self.nothing() };
        write_number(ns / 1000, 1, self.out);
        let rest = ns % 1000;
        if rest > 0 {
            self.out.push(b'.');
            write_number(rest, 3, self.out);
        }
    }

    fn number(&mut self, number: Option<u64>) {
        self.next();
        match number {
            Some(number) => write_number(number, 1, self.out),
            None => self.nothing(),
        }
    }

    /// A text that is quoted already; an empty one is nothing.
    fn text(&mut self, text: &str) {
        self.next();
        match text {
            "" => self.nothing(),
            text => self.out.extend_from_slice(text.as_bytes()),
        }
    }

    fn end(self) {
        if self.format == SampleFormat::Ndjson {
            self.out.push(b'}');
        }
        self.out.push(b'\n');
    }
}

/// Digits of a number, at least so many.
fn write_number(mut number: u64, least: usize, out: &mut Vec<u8>) {
    let mut digits = [b'0'; 20];
    let mut place = digits.len();
    while number > 0 || digits.len() - place < least {
        place -= 1;
        digits[place] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    out.extend_from_slice(&digits[place..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: SampleFormat) -> String {
        let steps = ["GET /".to_owned(), "a, \"b\"\t".to_owned()];
        let lines = SampleLines::new(format, &steps);
        let right = RequestSample {
            due_ns: 1_000,
            sent_ns: Some(2_500),
            connect_ns: 0,
            written_ns: 30,
            first_byte_ns: Some(1_000_000),
            total_ns: 1_234_567,
            bytes: 13,
            step: 0,
            status: Some(200),
            end: SampleEnd::Ok,
        };
        let refused = RequestSample {
            sent_ns: None,
            first_byte_ns: None,
            status: None,
            step: 1,
            bytes: 0,
            end: SampleEnd::Failed(ErrorClass::Refused),
            ..right
        };
        let cut = RequestSample { status: None, end: SampleEnd::Unfinished, ..right };
        let mut out = lines.head().into_bytes();
        [right, refused, cut].iter().for_each(|sample| lines.append(sample, &mut out));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_request_is_a_line() {
        insta::assert_snapshot!(written(SampleFormat::Csv), @r#"
        due_us,sent_us,dns_us,connect_us,written_us,first_byte_us,total_us,status,bytes,step,error
        1,2.500,0,0,0.030,1000,1234.567,200,13,GET /,
        1,,0,0,,,1234.567,,0,"a, ""b""	",refused
        1,2.500,0,0,0.030,1000,1234.567,,13,GET /,unfinished
        "#);
        assert_eq!(written(SampleFormat::Tsv).lines().nth(2), Some("1\t\t0\t0\t\t\t1234.567\t\t0\ta, \"b\" \trefused"));
        let json: Vec<serde_json::Value> =
            written(SampleFormat::Ndjson).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(json[1]["step"], "a, \"b\"\t");
        assert_eq!((&json[0]["total_us"], &json[1]["sent_us"]), (&1234.567.into(), &serde_json::Value::Null));
        assert_eq!((&json[0]["error"], &json[2]["error"]), (&serde_json::Value::Null, &"unfinished".into()));
        assert_eq!(json[0].as_object().unwrap().len(), COLUMNS.len());
    }

    #[test]
    fn a_format_is_known_by_its_suffix() {
        for (name, format) in [
            ("a.csv", Some(SampleFormat::Csv)),
            ("/x/a.b.tsv", Some(SampleFormat::Tsv)),
            ("a.ndjson", Some(SampleFormat::Ndjson)),
            ("a.json", None),
            ("a", None),
            ("-", None),
            (".csv", None),
        ] {
            assert_eq!(SampleFormat::of(Path::new(name)), format, "{name}");
        }
    }

    #[test]
    fn numbers_are_written_as_they_are() {
        for (number, least, text) in
            [(0, 1, "0"), (7, 3, "007"), (u64::MAX, 1, "18446744073709551615"), (100, 1, "100")]
        {
            let mut out = Vec::new();
            write_number(number, least, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }
}
