//! What is sent back, and the headers that every answer carries.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use stampede_report::html::dashboard;
use tokio::sync::mpsc::Receiver;

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

    /// Headers, and then events as they come.
    pub(crate) fn events(events: Receiver<Bytes>) -> Response<Content> {
        let head = Self::page(String::new()).with(header::CONTENT_TYPE, "text/event-stream");
        head.response().map(|_| Content::Events(events))
    }

    pub(crate) fn response(self) -> Response<Content> {
        let Self { status, body, headers } = self;
        let mut response = Response::new(Content::Page(Full::new(Bytes::from(body))));
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

/// What follows the headers.
pub(crate) enum Content {
    Page(Full<Bytes>),
    Events(Receiver<Bytes>),
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Page(page) => Pin::new(page).poll_frame(context),
            Self::Events(events) => events.poll_recv(context).map(|event| event.map(|event| Ok(Frame::data(event)))),
        }
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        match self {
            Self::Page(page) => page.size_hint(),
            Self::Events(_) => hyper::body::SizeHint::default(),
        }
    }
}
