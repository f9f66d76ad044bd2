//! A request on its way through the gateway: admitted, passed on, answered.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http_body_util::{Either, Full};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, VIA};
use hyper::http::uri::{PathAndQuery, Scheme, Uri};
use hyper::{Request, Response, StatusCode, Version};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::desk::Visit;
use crate::gateway::{Placed, Shared};
use crate::ledger::End;

/// What only concerns the connection that it came on (RFC 9110, 7.6.1), beside what `Connection` names.
const HOP_BY_HOP: [HeaderName; 7] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// The way to an instance: its connections, as many as it is given requests at once.
#[derive(Clone, Debug)]
pub(crate) struct Upstream {
    address: SocketAddr,
    client: Client<HttpConnector, Incoming>,
}

impl Upstream {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self { address, client: Client::builder(TokioExecutor::new()).build(connector) }
    }

    fn uri(&self, path: Option<PathAndQuery>) -> Option<Uri> {
        let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
        Uri::builder().scheme(Scheme::HTTP).authority(self.address.to_string()).path_and_query(path).build().ok()
    }
}

/// The body of an answer: an instance's, or the gateway's own.
type Answer = Response<Either<Passed, Full<Bytes>>>;

/// Answers a request.
pub(crate) async fn serve(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Answer, Infallible> {
    let deadline = Instant::now() + shared.request_timeout;
    let (place, placed) = oneshot::channel();
    shared.act(|desk, now| desk.arrive(now, place));
    let guest = match timeout_at(deadline, placed).await {
        Ok(Ok(Placed::At(guest))) => guest,
        Ok(Ok(Placed::Rejected(status))) => return Ok(own(status, "no instance was free in time")),
        Ok(Err(_)) => return Ok(own(503, "the gateway is being closed")),
        Err(_) => return Ok(own(504, "the request waited for as long as it may take")),
    };
    Ok(pass_on(guest, request, deadline).await)
}

async fn pass_on(mut guest: Guest, mut request: Request<Incoming>, deadline: Instant) -> Answer {
    let upstream = guest.visit.as_ref().and_then(|visit| guest.shared.upstream(visit.instance));
    let uri = upstream.as_ref().and_then(|upstream| upstream.uri(request.uri().path_and_query().cloned()));
    let (Some(upstream), Some(uri)) = (upstream, uri) else {
        guest.end = End::Broken;
        return own(502, "the instance is gone");
    };
    // HTTP/2 says in `:authority` what HTTP/1.1 says in `Host` (RFC 9113, 8.3.1).
    let host = request.uri().authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    let headers = request.headers_mut();
    without_hop_by_hop(headers);
    if let Some(host) = host {
        headers.entry(HOST).or_insert(host);
    }
    headers.append(VIA, HeaderValue::from_static("1.1 stampede"));
    (*request.uri_mut(), *request.version_mut()) = (uri, Version::HTTP_11);
    match timeout_at(deadline, upstream.client.request(request)).await {
        Ok(Ok(response)) => {
            let (mut head, body) = response.into_parts();
            without_hop_by_hop(&mut head.headers);
            head.version = Version::HTTP_11;
            let mut passed = Passed { body, status: head.status, guest: Some(guest) };
            passed.look();
            Response::from_parts(head, Either::Left(passed))
        }
        Ok(Err(_)) => {
            guest.end = End::Broken;
            own(502, "the instance broke off")
        }
        Err(_) => {
            guest.end = End::Late;
            own(504, "the answer took longer than a request may")
        }
    }
}

fn without_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|names| names.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in HOP_BY_HOP.iter().chain(&named) {
        headers.remove(name);
    }
}

/// An answer of the gateway's own.
fn own(status: u16, why: &'static str) -> Answer {
    let mut response = Response::new(Either::Right(Full::new(Bytes::from_static(why.as_bytes()))));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    response
}

/// A request that an instance was given. Its place is free once this is dropped, outside of the desk.
pub(crate) struct Guest {
    shared: Arc<Shared>,
    visit: Option<Visit>,
    end: End,
}

impl Guest {
    pub(crate) fn new(shared: Arc<Shared>, visit: Visit) -> Self {
        Self { shared, visit: Some(visit), end: End::Abandoned }
    }

    /// Its visit, which somebody else ends.
    pub(crate) fn into_visit(mut self) -> Option<Visit> {
        self.visit.take()
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if let Some(visit) = self.visit.take() {
            self.shared.act(|desk, now| desk.leave(now, &visit, self.end));
        }
    }
}

/// An instance's answer on its way. The place is free as soon as its last byte has come.
pub(crate) struct Passed {
    body: Incoming,
    status: StatusCode,
    guest: Option<Guest>,
}

impl Passed {
    /// Frees the place where the answer is complete.
    fn look(&mut self) {
        if self.body.is_end_stream() {
            self.end(End::Answered(self.status.as_u16()));
        }
    }

    fn end(&mut self, end: End) {
        if let Some(mut guest) = self.guest.take() {
            guest.end = end;
        }
    }
}

impl Body for Passed {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            Some(Ok(_)) => self.look(),
            Some(Err(_)) => self.end(End::Broken),
            None => {
                let status = self.status.as_u16();
                self.end(End::Answered(status));
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
