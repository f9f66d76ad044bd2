//! A recording of a browser: an HTTP archive (HAR 1.2, <http://www.softwareishard.com/blog/har-12-spec/>).

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Deserialize;
use stampede_core::Request;

use crate::asset::is_asset;
use crate::recorded_request::RecordedRequest;
use crate::target::Target;

/// What a visitor did in a browser, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct BrowserRecording {
    /// The site: that of the first page.
    pub site: String,
    /// Its requests.
    pub steps: Vec<RecordedStep>,
    /// Other sites that were asked besides, which are left out.
    pub other_sites: BTreeSet<String>,
}

/// A request of a visitor.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedStep {
    /// What was sent.
    pub recorded: RecordedRequest,
    /// What it was answered with.
    pub status: u16,
    /// Whether it is a file of a page.
    pub is_asset: bool,
    /// The fields of the form that was sent.
    pub form: Vec<(String, String)>,
    /// The text of the answer, where the recording has it.
    pub page: Option<String>,
}

#[derive(Deserialize)]
struct Archive {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    started_date_time: Timestamp,
    request: ArchivedRequest,
    response: ArchivedResponse,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ArchivedRequest {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<Pair>,
    post_data: Option<PostData>,
}

#[derive(Deserialize)]
struct Pair {
    name: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PostData {
    #[serde(default)]
    mime_type: String,
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
struct ArchivedResponse {
    status: u16,
    content: Option<Content>,
}

#[derive(Deserialize)]
struct Content {
    text: Option<String>,
    encoding: Option<String>,
}

impl Content {
    /// Its text; what browsers pack for being no text is none.
    fn into_text(self) -> Option<String> {
        self.text.filter(|text| !text.is_empty() && self.encoding.is_none())
    }
}

/// How browsers send forms.
const FORM: &str = "application/x-www-form-urlencoded";

impl BrowserRecording {
    /// Reads an archive.
    ///
    /// # Errors
    ///
    /// Why it is none.
    pub fn read(archive: &[u8]) -> Result<Self, String> {
        let Archive { log } = serde_json::from_slice(archive).map_err(|error| {
            format!("is no HTTP archive ({error}); save one with the browser's network tools: Save all as HAR")
        })?;
        let mut entries = log.entries;
        entries.sort_by_key(|entry| entry.started_date_time);
        let (mut site, mut steps, mut other_sites) = (None::<String>, Vec::new(), BTreeSet::new());
        for Entry { started_date_time: _, request, response } in entries {
            let ArchivedRequest { method, url, headers, post_data } = request;
            // Data and scripts of extensions were not sent to anybody.
            let Some(Target { host: Some(host), path }) = Target::of(&url) else { continue };
            if site.get_or_insert_with(|| host.to_owned()) != host {
                other_sites.insert(host.to_owned());
                continue;
            }
            let fields = |data: &PostData| {
                let is_form = data.mime_type.to_ascii_lowercase().starts_with(FORM);
                is_form.then(|| url::form_urlencoded::parse(data.text.as_bytes()).into_owned().collect())
            };
            let form: Vec<(String, String)> = post_data.as_ref().and_then(fields).unwrap_or_default();
            let body = post_data.map(|data| data.text.into_bytes()).unwrap_or_default();
            let request = Request { method, path: path.to_owned(), headers: Default::default(), body };
            let mut recorded = RecordedRequest { host: Some(host.to_owned()), request, secrets: BTreeSet::new() };
            for Pair { name, value } in &headers {
                recorded.header(name, value);
            }
            let ArchivedResponse { status, content } = response;
            let page = content.and_then(Content::into_text);
            steps.push(RecordedStep { is_asset: is_asset(path), recorded, status, form, page });
        }
        let site = site.ok_or("holds no request of a web server; record a visit from its first page on")?;
        Ok(Self { site, steps, other_sites })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_visitor_did_is_read_in_order() {
        let entry = |at: &str, ms: u32, method: &str, url: &str, status: u16, more: &str| {
            format!(
                r#"{{"startedDateTime":"2026-01-01T10:00:{at}Z","time":{ms},"request":{{"method":"{method}","url":"{url}","headers":[{{"name":"Cookie","value":"s=1"}},{{"name":"Accept","value":"text/html"}},{{"name":"User-Agent","value":"Mozilla"}}]{more}}},"response":{{"status":{status}}}}}"#
            )
        };
        let entries = [
            entry(
                "05.500",
                100,
                "POST",
                "https://a.example/login",
                302,
                r#","postData":{"mimeType":"x","text":"u=1"}"#,
            ),
            entry("00.000", 200, "GET", "https://a.example/?x=1#top", 200, ""),
            entry("00.100", 100, "GET", "https://a.example/app.js", 200, ""),
            entry("00.150", 100, "GET", "https://cdn.example/lib.js", 200, ""),
            entry("00.160", 100, "GET", "data:image/png;base64,AA", 200, ""),
        ];
        let archive = format!(r#"{{"log":{{"version":"1.2","entries":[{}]}}}}"#, entries.join(","));
        let BrowserRecording { site, steps, other_sites } = BrowserRecording::read(archive.as_bytes()).unwrap();
        assert_eq!((&*site, other_sites), ("a.example", BTreeSet::from(["cdn.example".to_owned()])));
        let told: Vec<_> = steps
            .iter()
            .map(|RecordedStep { recorded, status, is_asset, .. }| {
                let Request { method, path, headers, body } = &recorded.request;
                format!("{method} {path} {} {status} {is_asset} {headers:?} {:?}", body.len(), recorded.secrets)
            })
            .collect();
        assert_eq!(
            told,
            [
                r#"GET /?x=1 0 200 false {"Accept": "text/html"} {"Cookie"}"#,
                r#"GET /app.js 0 200 true {"Accept": "text/html"} {"Cookie"}"#,
                r#"POST /login 3 302 false {"Accept": "text/html"} {"Cookie"}"#,
            ]
        );
        for (archive, problem) in
            [("{}", "is no HTTP archive (missing field"), (r#"{"log":{"entries":[]}}"#, "holds no request")]
        {
            let told = BrowserRecording::read(archive.as_bytes()).unwrap_err();
            assert!(told.starts_with(problem), "{told}");
        }
    }
}
