//! What is sent back, and the headers that every answer carries.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use stampede_report::html::dashboard;

/// An answer before it is sent.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: String,
    /// Headers of this answer alone.
    pub(crate) headers: Vec<(HeaderName, String)>,
}

impl Answer {
    pub(crate) fn page(body: String) -> Self {
        Self { status: StatusCode::OK, body, headers: Vec::new() }
    }

    /// A page that says why there is no other.
    pub(crate) fn problem(status: StatusCode, text: &str) -> Self {
        let title = status.canonical_reason().unwrap_or("Error");
        Self { status, body: dashboard::problem(title, text), headers: Vec::new() }
    }

    pub(crate) fn with(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn response(self) -> Response<Full<Bytes>> {
        let Self { status, body, headers } = self;
        let mut response = Response::new(Full::new(Bytes::from(body)));
        *response.status_mut() = status;
        let always = [
            (header::CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
            (header::CONTENT_SECURITY_POLICY, dashboard::policy()),
            // A study goes on, and what is shown may be nobody else's business.
            (header::CACHE_CONTROL, "no-store".to_owned()),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
            (header::X_FRAME_OPTIONS, "DENY".to_owned()),
            (header::REFERRER_POLICY, "no-referrer".to_owned()),
            (HeaderName::from_static("cross-origin-resource-policy"), "same-origin".to_owned()),
            (HeaderName::from_static("cross-origin-opener-policy"), "same-origin".to_owned()),
        ];
        for (name, value) in always.into_iter().chain(headers) {
            // What a header cannot hold is left out: all of these are ours.
            if let Ok(value) = HeaderValue::from_str(&value) {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}
