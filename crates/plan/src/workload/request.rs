//! A request and the answer that must come, as plans and workloads write them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use stampede_core::{Body, Exchange, Expectation, ExpectedHead, MOST_WEIGHT, Masked, Request};

use crate::document::{Place, Text, texts};
use crate::mistake::Gathered;

/// A request and the answer that must come.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RequestSection {
    /// Its name. By default the method and the path.
    #[schemars(extend("examples" = ["home"]))]
    pub(crate) name: Option<Text>,
    /// GET by default, POST with a body.
    #[schemars(extend("examples" = ["POST"]))]
    pub(crate) method: Option<Text>,
    /// Path and query.
    #[schemars(extend("examples" = ["/"]))]
    pub(crate) path: Text,
    /// Headers beside Host and Content-Length.
    #[serde(default)]
    #[schemars(extend("examples" = ["{Accept: text/html}"]))]
    pub(crate) headers: BTreeMap<String, Text>,
    /// The body.
    pub(crate) body: Option<Text>,
    /// A file with the body.
    pub(crate) body_file: Option<PathBuf>,
    /// Whether it is part of the load, or only verified. True by default, but false with once or optional and beside a scenario.
    pub(crate) load: Option<bool>,
    /// How often it is sent as load, in proportion to the others, from 1 to 1000. 1 by default.
    #[schemars(extend("examples" = [5]))]
    pub(crate) weight: Option<u32>,
    /// Whether it is sent once in each trial because its second answer is another one: it creates something. It is not part of
    /// the load, nor of the search for leaks between requests.
    #[serde(default)]
    pub(crate) once: bool,
    /// Whether it is neither sent nor verified unless --exchanges names it, because the application answers it only where it is
    /// set up for it.
    #[serde(default)]
    pub(crate) optional: bool,
    /// The answer that must come. In a stampede.yaml it may be left out: Stampede then records it before each study.
    #[schemars(extend("examples" = ["{status: 200, body: hello}"]))]
    pub(crate) expect: Option<ExpectSection>,
}

/// The answer that must come. One of body, body_file, json_html and any_body gives its body. Without one, a stampede.yaml takes
/// any body, and a workload.yaml is mistaken.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectSection {
    /// Its status.
    #[schemars(extend("examples" = [200]))]
    pub(crate) status: u16,
    /// Its body, compared byte for byte.
    pub(crate) body: Option<Text>,
    /// A file with its body.
    pub(crate) body_file: Option<PathBuf>,
    /// What in the body stands for a part that varies. With ⟨…⟩, a name in place of the dots says what it must be: ⟨duration⟩.
    #[schemars(extend("examples" = ["'⟨…⟩'"]))]
    pub(crate) mask: Option<Text>,
    /// A JSON object with HTML in one of its fields. The HTML is compared by meaning.
    #[schemars(extend("examples" = ["{field: result, file: expected/page.html}"]))]
    pub(crate) json_html: Option<JsonHtmlSection>,
    /// Whether the body may be anything.
    #[serde(default)]
    pub(crate) any_body: bool,
    /// The content encoding that the body must have. By default it may have any.
    #[schemars(extend("examples" = ["gzip"]))]
    pub(crate) encoding: Option<EncodingEntry>,
    /// The kind of its Content-Type, without parameters.
    #[schemars(extend("examples" = ["text/html"]))]
    pub(crate) content_type: Option<String>,
    /// Its Location; a place on the server itself begins with /.
    #[schemars(extend("examples" = ["/login"]))]
    pub(crate) location: Option<Text>,
    /// The names of all cookies that it sets.
    #[schemars(extend("examples" = ["[session, XSRF-TOKEN]"]))]
    pub(crate) cookies: Option<Vec<Text>>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EncodingEntry {
    Gzip,
}

/// HTML in a field of a JSON object.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JsonHtmlSection {
    /// The field.
    #[schemars(extend("examples" = ["result"]))]
    field: Text,
    /// A file with the HTML.
    #[schemars(extend("examples" = ["expected/page.html"]))]
    file: PathBuf,
}

/// A request in the older form of workload.yaml.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExchangeSection {
    /// Its name.
    name: Text,
    /// Whether it is part of the load. False by default.
    #[serde(default)]
    load: bool,
    /// As in requests.
    #[serde(default)]
    once: bool,
    /// As in requests.
    #[serde(default)]
    optional: bool,
    /// What is sent.
    #[schemars(extend("examples" = ["{method: GET, path: /}"]))]
    request: RequestSection,
    /// The answer that must come.
    #[schemars(extend("examples" = ["{status: 200, body: hello}"]))]
    expect: ExpectSection,
}

impl From<ExchangeSection> for RequestSection {
    fn from(section: ExchangeSection) -> Self {
        let ExchangeSection { name, load, once, optional, request, expect } = section;
        Self { name: Some(name), load: Some(load), once, optional, expect: Some(expect), ..request }
    }
}

/// What a file decides for all of its requests.
pub(crate) struct Rules<'a> {
    /// Where their files begin.
    pub(crate) folder: &'a Path,
    /// Whether a scenario is the load.
    pub(crate) has_scenario: bool,
    /// Whether an answer must give its body, or any_body.
    pub(crate) needs_body: bool,
}

impl Rules<'_> {
    /// Reads requests, which stand in a list at `place`; and the names of those whose answers are still to be recorded.
    pub(crate) fn read(
        &self,
        requests: Vec<RequestSection>,
        place: &Place<'_>,
        mistakes: &mut Gathered,
    ) -> (Vec<Exchange>, Vec<String>) {
        let count = requests.len();
        let (mut exchanges, mut unrecorded, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
        for (index, section) in requests.into_iter().enumerate() {
            let place = place.item(index);
            let is_recorded = section.expect.is_some();
            let exchange = self.exchange(section, &place, mistakes);
            if let Some(Exchange { name, .. }) = &exchange {
                if !names.insert(name.clone()) {
                    let problem = format!("has the name of another request, {name}");
                    mistakes.add(place, problem, "give each a name of its own");
                }
                if !is_recorded {
                    unrecorded.push(name.clone());
                }
            }
            exchanges.extend(exchange);
        }
        if !self.has_scenario && exchanges.len() == count && !exchanges.iter().any(Exchange::in_load) {
            let fix = match count {
                0 => "add requests: [{path: /, expect: {status: 200, body: hello}}]",
                _ => "write load: true in at least one",
            };
            mistakes.add(place, "has no request for the load", fix);
        }
        (exchanges, unrecorded)
    }

    fn exchange(&self, section: RequestSection, place: &Place<'_>, mistakes: &mut Gathered) -> Option<Exchange> {
        let RequestSection {
            name,
            method,
            path: Text(path),
            headers,
            body,
            body_file,
            load,
            weight,
            once,
            optional,
            expect,
        } = section;
        // The older form has what is sent under a key of its own.
        let sent = place.key("request");
        check_one(&sent, &[("body", body.is_some()), ("body_file", body_file.is_some())], mistakes);
        let default = if body.is_some() || body_file.is_some() { "POST" } else { "GET" };
        let method = method.map_or_else(|| default.to_owned(), |Text(method)| method);
        let name = name.map_or_else(|| format!("{method} {path}"), |Text(name)| name);
        if !path.starts_with('/') {
            mistakes.add(sent.key("path"), "does not begin with /", format!("write /{path}"));
        }
        let headers = texts(headers);
        let body = match (body, body_file) {
            (None, Some(file)) => self.file(&file, sent.key("body_file"), mistakes),
            (body, _) => Some(body.map_or_else(Vec::new, |Text(body)| body.into_bytes())),
        };
        let expect = match expect {
            Some(expect) => self.expectation(expect, &place.key("expect"), mistakes),
            None => Some(Expectation { status: 200, body: Body::Any, gzip: false, head: ExpectedHead::default() }),
        };
        let (body, expect) = (body?, expect?);
        let accepts =
            |(name, value): (&String, &String)| name.eq_ignore_ascii_case("accept-encoding") && value.contains("gzip");
        if expect.gzip && !headers.iter().any(accepts) {
            let fix = "add headers: {Accept-Encoding: gzip}, or remove encoding";
            mistakes.add(place.key("expect").key("encoding"), "is not accepted by the request", fix);
        }
        let reasons = [
            (self.has_scenario, "stands beside a scenario, which is the load", "remove load: true"),
            (optional, "stands beside optional: true", "remove load or optional"),
            (once, "stands beside once: true, and load is sent again and again", "remove load or once"),
        ];
        for (_, problem, fix) in reasons.iter().filter(|(holds, ..)| *holds && load == Some(true)) {
            mistakes.add(place.key("load"), problem, *fix);
        }
        let in_load = load.unwrap_or(!reasons.iter().any(|(holds, ..)| *holds));
        if weight.is_some_and(|weight| !(1..=MOST_WEIGHT).contains(&weight)) {
            mistakes.add(
                place.key("weight"),
                format!("is not between 1 and {MOST_WEIGHT}"),
                "write a smaller share of the load",
            );
        } else if weight.is_some() && !in_load {
            mistakes.add(
                place.key("weight"),
                "is of a request that is no part of the load",
                "remove it, or write load: true",
            );
        }
        let weight = if in_load { weight.unwrap_or(1) } else { 0 };
        let request = Request { method, path, headers, body };
        Some(Exchange { name, request, expect, weight, once, optional })
    }

    fn expectation(&self, section: ExpectSection, place: &Place<'_>, mistakes: &mut Gathered) -> Option<Expectation> {
        let ExpectSection {
            status,
            body,
            body_file,
            mask,
            json_html,
            any_body,
            encoding,
            content_type,
            location,
            cookies,
        } = section;
        if !(100..600).contains(&status) {
            mistakes.add(place.key("status"), "is no status", "expect a status from 100 to 599");
        }
        let given = [
            ("body", body.is_some()),
            ("body_file", body_file.is_some()),
            ("json_html", json_html.is_some()),
            ("any_body", any_body),
        ];
        check_one(place, &given, mistakes);
        if self.needs_body && given.iter().all(|(_, is_given)| !is_given) {
            let fix = "add body, body_file or json_html (body: '' if it is empty), or any_body: true";
            mistakes.add(place, "has no body", fix);
        }
        let masked = |bytes: Vec<u8>| {
            let masked = mask.as_ref().and_then(|Text(mask)| Masked::read(&bytes, mask));
            masked.map_or(Body::Bytes(bytes), Body::Masked)
        };
        let expected = match (body, body_file, json_html) {
            (Some(Text(body)), ..) => masked(body.into_bytes()),
            (None, Some(file), _) => masked(self.file(&file, place.key("body_file"), mistakes)?),
            (None, None, Some(JsonHtmlSection { field: Text(field), file })) => {
                let place = place.key("json_html").key("file");
                match String::from_utf8(self.file(&file, place.clone(), mistakes)?) {
                    Ok(html) => Body::JsonHtml { field, html },
                    Err(_) => {
                        mistakes.add(place, "is not UTF-8", "correct it");
                        return None;
                    }
                }
            }
            (None, None, None) => Body::Any,
        };
        if mask.is_some() && !matches!(expected, Body::Masked(_)) {
            let fix = "write it in the body where the answer varies, or remove it";
            mistakes.add(place.key("mask"), "is not in the body", fix);
        }
        let head = ExpectedHead {
            content_type: content_type.map(|kind| kind.to_lowercase()),
            location: location.map(|Text(location)| location),
            cookies: cookies.map(|names| names.into_iter().map(|Text(name)| name).collect()),
        };
        Some(Expectation { status, body: expected, gzip: matches!(encoding, Some(EncodingEntry::Gzip)), head })
    }

    fn file(&self, file: &Path, place: Place<'_>, mistakes: &mut Gathered) -> Option<Vec<u8>> {
        let read = fs::read(self.folder.join(file));
        read.map_err(|error| mistakes.add(place, format!("cannot be read: {error}"), "correct the path")).ok()
    }
}

/// Sees that at most one of these keys is given.
fn check_one(place: &Place<'_>, keys: &[(&str, bool)], mistakes: &mut Gathered) {
    let given: Vec<_> = keys.iter().filter(|(_, is_given)| *is_given).map(|(key, _)| *key).collect();
    if given.len() > 1 {
        mistakes.add(place, format!("has {}", given.join(" and ")), "keep one of them");
    }
}
