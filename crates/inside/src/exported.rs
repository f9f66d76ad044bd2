//! Records as files for other tools: folded stacks, speedscope and pprof.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use serde::Serialize;
use stampede_core::{InsideRecord, InsideStack, InsideState};

/// Where no PHP runs.
const OUTSIDE: &str = "(outside PHP)";

/// The microseconds of PHP's threads that a stack stands for.
fn weights(record: &InsideRecord) -> impl Fn(&InsideStack) -> u64 {
    let kind = |stack: &InsideStack| match stack.state {
        InsideState::Running => 0,
        InsideState::Ready => 1,
        InsideState::Waiting(_) => 2,
    };
    let mut seen = [0_u64; 3];
    for stack in &record.stacks {
        seen[kind(stack)] += stack.samples;
    }
    let times = [record.spent.running, record.spent.ready, record.spent.waiting];
    move |stack| {
        let kind = kind(stack);
        (times[kind].as_secs_f64() * 1e6 * stack.samples as f64 / seen[kind].max(1) as f64).round() as u64
    }
}

fn state(stack: &InsideStack) -> String {
    match &stack.state {
        InsideState::Running => "[running]".to_owned(),
        InsideState::Ready => "[ready]".to_owned(),
        InsideState::Waiting(wait) => format!("[waiting: {wait}]"),
    }
}

/// The names of a stack's functions, outermost first, with its state as the innermost.
fn names(record: &InsideRecord, stack: &InsideStack) -> Vec<String> {
    let mut names: Vec<String> = record.frames(stack).map(ToString::to_string).collect();
    if names.is_empty() {
        names.push(OUTSIDE.to_owned());
    }
    names.push(state(stack));
    names
}

/// A line `root;...;leaf;[state] MICROSECONDS` a stack, as most tools that draw flame graphs read them.
pub fn folded(record: &InsideRecord) -> String {
    let weight = weights(record);
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for stack in &record.stacks {
        // What separates functions and weights may be part of a name.
        let names: Vec<String> =
            names(record, stack).into_iter().map(|name| name.replace(';', ",").replace(['\n', '\r'], " ")).collect();
        *lines.entry(names.join(";")).or_default() += weight(stack);
    }
    let mut text = String::new();
    for (line, weight) in lines.into_iter().filter(|(_, weight)| *weight > 0) {
        let _ = writeln!(text, "{line} {weight}");
    }
    text
}

/// A file of <https://www.speedscope.app>, by its schema (<https://www.speedscope.app/file-format-schema.json>).
#[derive(Serialize)]
struct Speedscope<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    name: &'a str,
    exporter: &'static str,
    shared: SpeedscopeShared,
    profiles: [SpeedscopeProfile<'a>; 1],
}

#[derive(Serialize)]
struct SpeedscopeShared {
    frames: Vec<SpeedscopeFrame>,
}

#[derive(Serialize)]
struct SpeedscopeFrame {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
struct SpeedscopeProfile<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    unit: &'static str,
    #[serde(rename = "startValue")]
    start: u64,
    #[serde(rename = "endValue")]
    end: u64,
    samples: Vec<Vec<usize>>,
    weights: Vec<u64>,
}

/// As a file of speedscope.
///
/// # Errors
///
/// None that a record can have.
pub fn speedscope(record: &InsideRecord, name: &str) -> serde_json::Result<String> {
    let weight = weights(record);
    let mut frames: Vec<SpeedscopeFrame> = record
        .functions
        .iter()
        .map(|function| SpeedscopeFrame {
            name: function.to_string(),
            file: function.file.clone(),
            line: function.file.as_ref().map(|_| function.first_line),
        })
        .collect();
    let mut places: HashMap<String, usize> = HashMap::new();
    let (mut samples, mut weights) = (Vec::new(), Vec::new());
    for stack in &record.stacks {
        let mut of_stack: Vec<usize> = stack.frames.iter().map(|frame| *frame as usize).collect();
        let outside = of_stack.is_empty().then(|| OUTSIDE.to_owned());
        for text in outside.into_iter().chain([state(stack)]) {
            of_stack.push(*places.entry(text.clone()).or_insert_with(|| {
                frames.push(SpeedscopeFrame { name: text, file: None, line: None });
                frames.len() - 1
            }));
        }
        samples.push(of_stack);
        weights.push(weight(stack));
    }
    let end = weights.iter().sum();
    serde_json::to_string(&Speedscope {
        schema: "https://www.speedscope.app/file-format-schema.json",
        name,
        exporter: concat!("stampede ", env!("CARGO_PKG_VERSION")),
        shared: SpeedscopeShared { frames },
        profiles: [SpeedscopeProfile { kind: "sampled", name, unit: "microseconds", start: 0, end, samples, weights }],
    })
}

/// A message of protocol buffers, field by field (<https://protobuf.dev/programming-guides/encoding/>).
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn packed(self, field: u64, values: impl IntoIterator<Item = u64>) -> Self {
        let mut packed = Self::default();
        values.into_iter().for_each(|value| packed.varint(value));
        self.bytes(field, &packed.0)
    }
}

/// Texts of a profile by their number, of which 0 is the empty one.
struct Texts {
    texts: Vec<String>,
    numbers: HashMap<String, u64>,
}

impl Texts {
    fn new() -> Self {
        Self { texts: vec![String::new()], numbers: HashMap::from([(String::new(), 0)]) }
    }

    fn number(&mut self, text: &str) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() as u64;
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

/// As a profile of pprof (<https://github.com/google/pprof/blob/main/proto/profile.proto>), which reads it compressed or not: time in
/// microseconds, with the state and path of requests as labels.
pub fn pprof(record: &InsideRecord) -> Vec<u8> {
    let weight = weights(record);
    let mut texts = Texts::new();
    let value_type = |texts: &mut Texts, kind: &str, unit: &str| {
        let (kind, unit) = (texts.number(kind), texts.number(unit));
        Message::default().number(1, kind).number(2, unit).0
    };
    let mut profile = Message::default();
    let (samples, time) = (value_type(&mut texts, "samples", "count"), value_type(&mut texts, "time", "microseconds"));
    profile = profile.bytes(1, &samples).bytes(1, &time);
    let outside = record.functions.len() as u64 + 1;
    for stack in &record.stacks {
        // The innermost comes first, and numbers begin with 1.
        let mut locations: Vec<u64> = stack.frames.iter().rev().map(|frame| u64::from(*frame) + 1).collect();
        if locations.is_empty() {
            locations.push(outside);
        }
        let mut sample = Message::default().packed(1, locations).packed(2, [stack.samples, weight(stack)]);
        let labels = [Some(("state", state(stack))), stack.request.clone().map(|path| ("request", path))];
        for (key, text) in labels.into_iter().flatten() {
            let (key, text) = (texts.number(key), texts.number(&text));
            sample = sample.bytes(3, &Message::default().number(1, key).number(2, text).0);
        }
        profile = profile.bytes(2, &sample.0);
    }
    let functions = record.functions.iter().map(|function| {
        let line = if function.file.is_some() { function.first_line } else { 0 };
        (function.to_string(), function.file.clone().unwrap_or_default(), u64::from(line))
    });
    for (id, (name, file, line)) in (1..).zip(functions.chain([(OUTSIDE.to_owned(), String::new(), 0)])) {
        let place = Message::default().number(1, id).number(2, line).0;
        profile = profile.bytes(4, &Message::default().number(1, id).bytes(4, &place).0);
        let (name, file) = (texts.number(&name), texts.number(&file));
        let function = Message::default().number(1, id).number(2, name).number(3, name).number(4, file).number(5, line);
        profile = profile.bytes(5, &function.0);
    }
    for text in &texts.texts {
        profile = profile.bytes(6, text.as_bytes());
    }
    profile.0
}

/// The stacks in all forms, each with the end of its file's name.
///
/// # Errors
///
/// When they cannot be written as JSON.
pub fn files(record: &InsideRecord, name: &str) -> Result<[(&'static str, Vec<u8>); 3], serde_json::Error> {
    let speedscope = speedscope(record, name)?;
    Ok([
        ("folded.txt", folded(record).into_bytes()),
        ("speedscope.json", speedscope.into_bytes()),
        ("pprof.pb", pprof(record)),
    ])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::{InsideFunction, InsideTimes, InsideWait};

    use super::*;

    fn record() -> InsideRecord {
        let function = |name: Option<&str>, file: Option<&str>| InsideFunction {
            class: None,
            name: name.map(str::to_owned),
            file: file.map(str::to_owned),
            first_line: 3,
        };
        let stack = |frames: &[u32], state, samples| InsideStack {
            frames: frames.to_vec(),
            line: None,
            state,
            request: Some("/a".to_owned()),
            samples,
        };
        let wait = InsideWait { call: Some("poll".to_owned()), ..InsideWait::default() };
        let second = Duration::from_secs(1);
        InsideRecord {
            functions: vec![function(None, Some("/app/a;b.php")), function(Some("strlen"), None)],
            stacks: vec![
                stack(&[0, 1], InsideState::Running, 3),
                stack(&[0], InsideState::Running, 1),
                stack(&[], InsideState::Waiting(wait), 5),
            ],
            spent: InsideTimes { running: second, ready: Duration::ZERO, waiting: second * 2, waits: 1 },
            ..InsideRecord::default()
        }
    }

    #[test]
    fn each_stack_is_a_folded_line_with_its_time() {
        let lines = "(outside PHP);[waiting: poll] 2000000\n/app/a,b.php;[running] 250000\n/app/a,b.php;strlen;[running] 750000\n";
        assert_eq!(folded(&record()), lines);
    }

    #[test]
    fn speedscope_has_all_time_and_names_frames_by_number() {
        let read: serde_json::Value = serde_json::from_str(&speedscope(&record(), "fpm").unwrap()).unwrap();
        let profile = &read["profiles"][0];
        assert_eq!(profile["endValue"], 3_000_000);
        assert_eq!(profile["weights"], serde_json::json!([750_000, 250_000, 2_000_000]));
        let named = |place: usize| -> Vec<&str> {
            let frames = profile["samples"][place].as_array().unwrap();
            frames
                .iter()
                .map(|frame| read["shared"]["frames"][frame.as_u64().unwrap() as usize]["name"].as_str().unwrap())
                .collect()
        };
        assert_eq!(named(0), ["/app/a;b.php", "strlen", "[running]"]);
        assert_eq!(named(2), ["(outside PHP)", "[waiting: poll]"]);
    }

    /// The fields of a message: number, and a varint or bytes.
    fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, Vec<u8>)> {
        fn varint(bytes: &mut &[u8]) -> u64 {
            let (mut value, mut shift) = (0, 0);
            loop {
                let byte = bytes[0];
                *bytes = &bytes[1..];
                value |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    return value;
                }
            }
        }
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let value = varint(&mut bytes);
            if key & 7 == 2 {
                fields.push((key >> 3, value, bytes[..value as usize].to_vec()));
                bytes = &bytes[value as usize..];
            } else {
                fields.push((key >> 3, value, Vec::new()));
            }
        }
        fields
    }

    #[test]
    fn pprof_can_be_read_again() {
        let profile = fields(&pprof(&record()));
        let of =
            |number: u64| profile.iter().filter(move |(field, ..)| *field == number).map(|(.., bytes)| bytes.clone());
        let texts: Vec<String> = of(6).map(|bytes| String::from_utf8(bytes).unwrap()).collect();
        assert_eq!((texts[0].as_str(), of(1).count(), of(2).count(), of(4).count(), of(5).count()), ("", 2, 3, 3, 3));
        let first = fields(&of(2).next().unwrap());
        assert_eq!(first[0], (1, 2, vec![2, 1]), "the innermost comes first");
        let name = fields(&of(5).nth(1).unwrap())[1].1 as usize;
        assert_eq!(texts[name], "strlen");
    }
}
