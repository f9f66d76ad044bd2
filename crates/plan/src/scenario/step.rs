//! The steps of a flow: their names can be told only in the order in which they are taken.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use regex::bytes::Regex;
use serde_saphyr::Spanned;
use stampede_scenario::{
    BodyCheck, Capture, CaptureSource, CaptureTest, Check, Condition, Feeder, HeaderCheck, Names, Pause, Pointer,
    Statuses, Step, Template, TemplateError, TemplateProblem,
};

use super::Reader;
use super::events::{self, OK};
use super::file::{CheckEntry, EventPart, SourceEntry, StepEntry};
use crate::answer::{NO_ERROR, read_hash, statuses};
use crate::header::{CARRYING, is_token};
use crate::suggestion::suggest_or;

/// Reads the steps of one flow, one after the other.
pub(crate) struct FlowReader<'r, 'a> {
    reader: &'r mut Reader<'a>,
    feeders: &'r [Feeder],
    /// Feeders that could not be read.
    missing: &'r [String],
    cookies: bool,
    /// The captures of the steps before.
    captures: Vec<String>,
    names: Vec<String>,
}

pub(crate) fn default_method(has_body: bool) -> &'static str {
    if has_body { "POST" } else { "GET" }
}

impl<'r, 'a> FlowReader<'r, 'a> {
    pub(crate) fn new(reader: &'r mut Reader<'a>, feeders: &'r [Feeder], missing: &'r [String], cookies: bool) -> Self {
        Self { reader, feeders, missing, cookies, captures: Vec::new(), names: Vec::new() }
    }

    /// The names of its captures, each under its number.
    pub(crate) fn into_captures(self) -> Vec<String> {
        self.captures
    }

    /// The next step; `None` where there are mistakes that leave none.
    pub(crate) fn step(&mut self, entry: StepEntry) -> Option<Step> {
        let StepEntry { name, when, pause, method, path, mut headers, body, form, check, capture, events } = entry;
        if self.names.contains(&name.value) {
            self.reader.add(&name, "name", &name.value, "is the name of two steps", "name each step differently");
        }
        self.names.push(name.value.clone());
        if let Some(method) = method.as_ref().filter(|method| !is_token(&method.value)) {
            self.reader.add(method, "method", &method.value, "is not a method", "for example method: PUT");
        }
        if let (Some(form), Some(_)) = (&form, &body) {
            self.reader.add(form, "form", "", "stands beside body", "leave one of them out");
        }
        let has_body = body.is_some() || form.is_some();
        let method = method.map_or_else(|| default_method(has_body).to_owned(), |method| method.value);
        if let Some(form) = &form
            && !headers.keys().any(|name| name.eq_ignore_ascii_case("content-type"))
        {
            let kind = Spanned::new("application/x-www-form-urlencoded".to_owned(), form.referenced, form.defined);
            headers.insert("Content-Type".to_owned(), kind);
        }
        let default_status = if events.is_some() {
            events::add_headers(&path, &mut headers);
            OK
        } else {
            NO_ERROR
        };
        // Everything is looked at before anything is given up.
        if events.is_none()
            && let Some(typed) = capture.values().find(|source| matches!(source.value, SourceEntry::Event(_)))
        {
            self.reader.add(typed, "capture", "", "takes a part of an event, and the step hears none", "add events:");
        }
        let events = events.map(|typed| self.reader.events(&typed, &method));
        let when = when.map(|when| self.condition(&when));
        let pause = pause.map(|pause| self.reader.pause("pause", &pause));
        let path = self.path(&path);
        let headers = self.headers(headers);
        let body = match form {
            Some(form) => Some(self.form(&form)),
            None => body.map(|body| self.template("body", &body)),
        };
        let mut check = check.unwrap_or_default();
        // What has no value is compared while it comes.
        let shown = check.contains.take_if(|text| text.value.contains("${"));
        let shows = shown.map(|text| self.template("contains", &text));
        let check = self.check(check, default_status);
        let captures: Vec<_> = capture.into_iter().map(|(name, source)| self.capture(name, source)).collect();
        Some(Step {
            name: name.value,
            method,
            path: path?,
            headers: headers?,
            body: body.unwrap_or(Some(Template::default()))?,
            pause: pause.unwrap_or(Some(Pause::default()))?,
            when: match when {
                None => None,
                Some(when) => Some(when?),
            },
            captures: captures.into_iter().collect::<Option<_>>()?,
            check: check?,
            shows: match shows {
                None => Vec::new(),
                Some(shown) => vec![shown?],
            },
            events: match events {
                None => None,
                Some(events) => Some(events?),
            },
        })
    }

    /// Fields of a form as a body.
    fn form(&mut self, typed: &Spanned<BTreeMap<String, String>>) -> Option<Template> {
        let names = Names { captures: &self.captures, feeders: self.feeders };
        let fields = typed.value.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        match Template::form(fields, names) {
            Ok(form) => Some(form),
            Err(_) => {
                // Each value is told with its own mistake.
                for value in typed.value.values() {
                    self.template("form", &Spanned::new(value.clone(), typed.referenced, typed.defined));
                }
                None
            }
        }
    }

    /// A text with values, or `None` where something is wrong with it, which is told.
    fn template(&mut self, key: &str, typed: &Spanned<String>) -> Option<Template> {
        let names = Names { captures: &self.captures, feeders: self.feeders };
        let error = match Template::parse(&typed.value, names) {
            Ok(template) => return Some(template),
            Err(error) => error,
        };
        let TemplateError { problem, .. } = &error;
        let fix = match problem {
            TemplateProblem::LoneDollar => "write $$ for a dollar".to_owned(),
            TemplateProblem::Unclosed => "add the }".to_owned(),
            TemplateProblem::Unknown { name, .. }
                if name.split_once('.').is_some_and(|(feeder, _)| self.missing.iter().any(|known| known == feeder)) =>
            {
                return None;
            }
            TemplateProblem::Unknown { name, known } => self.unknown(name, known),
        };
        self.reader.add(typed, key, &typed.value, &error, fix);
        None
    }

    /// What to do about a name that nothing has.
    fn unknown(&self, name: &str, known: &[String]) -> String {
        suggest_or(name, known.iter().map(String::as_str), || match known {
            [] => "capture it in an earlier step, or declare a feeder".to_owned(),
            known => format!("known here: {}", known.join(", ")),
        })
    }

    fn path(&mut self, typed: &Spanned<String>) -> Option<Template> {
        let path = self.template("path", typed)?;
        let mut add = |problem, fix| self.reader.add(typed, "path", &typed.value, problem, fix);
        if !path.begins_with_value() && !typed.value.starts_with('/') {
            add("does not begin with /", "write an absolute path, or begin with a captured one");
        } else if path.texts().flatten().any(|byte| !byte.is_ascii_graphic() || *byte == b'#') {
            add("has characters that no path has", "write them as %XX: %20 for a blank");
        }
        Some(path)
    }

    fn headers(&mut self, entries: BTreeMap<String, Spanned<String>>) -> Option<Vec<(String, Template)>> {
        let mut headers: Vec<(String, Option<Template>)> = Vec::new();
        for (name, typed) in entries {
            let lower = name.to_ascii_lowercase();
            let mut add = |problem, fix| self.reader.add(&typed, &name, &typed.value, problem, fix);
            if !is_token(&name) || typed.value.contains(|character: char| character.is_control()) {
                add("is not a header", "for example Accept: text/html");
            } else if CARRYING.contains(&lower.as_str()) || lower == "host" {
                add("says how the request is carried, which the engine does", "leave it out");
            } else if lower == "cookie" && self.cookies {
                add("stands beside the cookies that are kept", "leave it out, or cookies: true");
            } else if headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(&name)) {
                add("is given twice", "join its values with a comma");
            }
            let value = self.template(&name, &typed);
            headers.push((name, value));
        }
        headers.into_iter().map(|(name, value)| Some((name, value?))).collect()
    }

    /// `NAME`, `!NAME`, `NAME == TEXT` or `NAME != TEXT`.
    fn condition(&mut self, typed: &Spanned<String>) -> Option<Condition> {
        let text = typed.value.trim();
        let compared = |(name, value): (&str, &str), test: fn(String) -> CaptureTest| {
            (name.trim().to_owned(), test(value.trim().to_owned()))
        };
        let (name, test) = if let Some(name) = text.strip_prefix('!') {
            (name.trim().to_owned(), CaptureTest::Missing)
        } else {
            match (text.split_once("=="), text.split_once("!=")) {
                // What comes first is the comparison, what comes later belongs to the value.
                (Some(equals), differs) if differs.is_none_or(|differs| equals.0.len() < differs.0.len()) => {
                    compared(equals, CaptureTest::Equals)
                }
                (_, Some(differs)) => compared(differs, CaptureTest::Differs),
                _ => (text.to_owned(), CaptureTest::Present),
            }
        };
        let Some(capture) = self.captures.iter().position(|known| *known == name) else {
            let fix = self.unknown(&name, &self.captures);
            let problem = format!("asks for {name:?}, which no earlier step captures");
            self.reader.add(typed, "when", &typed.value, problem, fix);
            return None;
        };
        Some(Condition { capture, test })
    }

    fn capture(&mut self, name: String, source: Spanned<SourceEntry>) -> Option<Capture> {
        let named = self.reader.name(&source, "capture", &name);
        let read = match &source.value {
            SourceEntry::Header(header) if is_token(header) => Some(CaptureSource::Header(header.clone())),
            SourceEntry::Header(header) => {
                self.reader.add(&source, "header", header, "is not the name of a header", "for example header: ETag");
                None
            }
            SourceEntry::Json(pointer) => match pointer.parse() {
                Ok(pointer) => Some(CaptureSource::Json(pointer)),
                Err(problem) => {
                    self.reader.add(&source, "json", pointer, problem, "for example json: /data/0/id");
                    None
                }
            },
            SourceEntry::Event(EventPart::Id) => Some(CaptureSource::EventId),
            SourceEntry::Regex(pattern) => match Regex::new(pattern) {
                Ok(regex) => Some(CaptureSource::Regex(regex)),
                Err(error) => {
                    // The library draws the place on several lines; the last one says what is wrong.
                    let why = error.to_string();
                    let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                    let problem = format!("is not a regular expression: {why}");
                    self.reader.add(&source, "regex", pattern, problem, "for example regex: 'token=(\\w+)'");
                    None
                }
            },
        };
        let number = self.captures.iter().position(|known| *known == name).unwrap_or(self.captures.len());
        if named && number == self.captures.len() {
            self.captures.push(name);
        }
        Some(Capture { number, source: read? })
    }

    fn check(&mut self, entry: CheckEntry, default_status: RangeInclusive<u16>) -> Option<Check> {
        let CheckEntry { status, headers, body, contains, sha256, json } = entry;
        let status = match status {
            None => Some(vec![default_status]),
            Some(typed) => statuses(&typed.value).or_else(|| {
                let fix = "for example status: 200 or status: 200,204,300-399";
                self.reader.add(&typed, "status", &typed.value, "is not a list of statuses", fix);
                None
            }),
        };
        let headers = headers.into_iter().map(|(name, rule)| {
            if !is_token(&name) {
                self.reader.add(&rule, "headers", &name, "is not the name of a header", "for example ETag: present");
            }
            HeaderCheck { name, rule: rule.value }
        });
        let headers = headers.collect();
        let equals = body.map(|text| Some(BodyCheck::Equals(text.into_bytes())));
        let contains = contains.map(|text| Some(BodyCheck::Contains(text.value.into_bytes())));
        let hash = sha256.map(|typed| {
            let hash = read_hash(&typed.value);
            if hash.is_none() {
                self.reader.add(&typed, "sha256", &typed.value, "is not a SHA-256 hash", "give 64 hexadecimal digits");
            }
            hash.map(BodyCheck::Sha256)
        });
        let values = json.into_iter().map(|(pointer, value)| match pointer.parse::<Pointer>() {
            Ok(read) => Some(BodyCheck::Json(read, value.value)),
            Err(problem) => {
                self.reader.add(&value, "json", &pointer, problem, "for example json: {/data/0/id: 7}");
                None
            }
        });
        let values: Vec<_> = values.collect();
        let body = [equals, contains, hash].into_iter().flatten().chain(values).collect::<Option<_>>();
        Some(Check { status: Statuses::new(status?), headers, body: body? })
    }
}
