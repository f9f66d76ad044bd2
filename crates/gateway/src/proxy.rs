//! A request on its way through the gateway: admitted, passed on, answered.

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use http_body_util::{Either, Full};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{
    CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, VIA,
};
use hyper::http::uri::{PathAndQuery, Uri};
use hyper::{Request, Response, StatusCode, Version};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::admission::Visit;
use crate::arriving::{Arriving, Stalled};
use crate::gateway::{Placed, Shared, own_cpu};
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

/// The way to an instance: its connections, never more than it has requests at once. One that is free is taken before another
/// is opened, and waited for where the end of its last answer is not yet worked off: servers that hold a process for each
/// connection have no more of them than they may be given requests.
#[derive(Debug)]
pub(crate) struct Upstream {
    address: SocketAddr,
    free: Mutex<Vec<SendRequest<Arriving>>>,
}

impl Upstream {
    pub(crate) fn new(address: SocketAddr) -> Arc<Self> {
        Arc::new(Self { address, free: Mutex::default() })
    }

    fn free(&self) -> MutexGuard<'_, Vec<SendRequest<Arriving>>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request, and gives its connection back with the answer. What the instance closed while it was free is no failure
    /// as long as nothing was sent on it.
    async fn send(
        &self,
        mut request: Request<Arriving>,
    ) -> Result<(Response<Incoming>, SendRequest<Arriving>), Unsent> {
        loop {
            let free = self.free().pop();
            let was_free = free.is_some();
            let mut connection = match free {
                Some(mut connection) => match connection.ready().await {
                    Ok(()) => connection,
                    Err(_) => continue,
                },
                None => self.connect().await.map_err(|_| Unsent::BrokenOff)?,
            };
            match connection.try_send_request(request).await {
                Ok(response) => return Ok((response, connection)),
                Err(mut error) => match error.take_message().filter(|_| was_free) {
                    Some(unsent) => request = unsent,
                    None => return Err(Unsent::because_of(&error.into_error())),
                },
            }
        }
    }

    async fn connect(&self) -> Result<SendRequest<Arriving>, Box<dyn Error + Send + Sync>> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let (requests, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // Whoever sends on it learns how it ends.
        tokio::spawn(connection);
        Ok(requests)
    }
}

/// Why there is no answer of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unsent {
    /// The instance broke off, or could not be reached.
    BrokenOff,
    /// The client did not send all of its request in time.
    Stalled,
}

impl Unsent {
    fn because_of(error: &hyper::Error) -> Self {
        if error.source().is_some_and(|cause| cause.is::<Stalled>()) { Self::Stalled } else { Self::BrokenOff }
    }
}

/// The body of an answer: an instance's, or the gateway's own.
type Answer = Response<Either<Passed, Full<Bytes>>>;

/// Answers a request.
pub(crate) async fn serve(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Answer, Infallible> {
    let deadline = Instant::now() + shared.request_timeout;
    let (place, placed) = oneshot::channel();
    shared.act(|admission, now| admission.arrive(now, place, own_cpu));
    // The queue answers in time.
    let guest = match placed.await {
        Ok(Placed::At(guest)) => guest,
        Ok(Placed::Rejected(status)) => return Ok(own(status, "no instance was free in time")),
        Err(_) => return Ok(own(503, "the gateway is being closed")),
    };
    Ok(pass_on(guest, request, deadline).await)
}

async fn pass_on(mut guest: Guest, request: Request<Incoming>, deadline: Instant) -> Answer {
    let mut request = request.map(|body| Arriving::new(body, guest.shared.body_pause));
    let upstream = guest.visit.as_ref().and_then(|visit| guest.shared.upstream(visit.instance));
    let path = request.uri().path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    let Some(upstream) = upstream else {
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
    (*request.uri_mut(), *request.version_mut()) = (Uri::from(path), Version::HTTP_11);
    match timeout_at(deadline, upstream.send(request)).await {
        Ok(Ok((response, connection))) => {
            let (mut head, body) = response.into_parts();
            without_hop_by_hop(&mut head.headers);
            head.version = Version::HTTP_11;
            let way = Some((upstream, connection, guest));
            let mut passed = Passed { body, status: head.status, way };
            passed.look();
            Response::from_parts(head, Either::Left(passed))
        }
        Ok(Err(Unsent::BrokenOff)) => {
            guest.end = End::Broken;
            own(502, "the instance broke off")
        }
        // The instance is not at fault: the request counts as abandoned.
        Ok(Err(Unsent::Stalled)) => own(408, "the request did not come whole in time"),
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

/// A request that an instance was given. Its place is free once this is dropped, which locks the admission.
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
            self.shared.act(|admission, now| admission.leave(now, &visit, self.end));
        }
    }
}

/// An instance's answer on its way. The place is free as soon as its last byte has come.
pub(crate) struct Passed {
    body: Incoming,
    status: StatusCode,
    /// Until then: the instance, the connection, and who was given the place.
    way: Option<(Arc<Upstream>, SendRequest<Arriving>, Guest)>,
}

impl Passed {
    /// Frees the place where the answer is complete.
    fn look(&mut self) {
        if self.body.is_end_stream() {
            self.complete();
        }
    }

    fn complete(&mut self) {
        if let Some((upstream, connection, mut guest)) = self.way.take() {
            guest.end = End::Answered(self.status.as_u16());
            // Whoever is given the place now finds the connection.
            upstream.free().push(connection);
        }
    }

    fn break_off(&mut self) {
        if let Some((_, _, mut guest)) = self.way.take() {
            guest.end = End::Broken;
        }
    }
}

impl Body for Passed {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            Some(Ok(_)) => self.look(),
            Some(Err(_)) => self.break_off(),
            None => self.complete(),
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
