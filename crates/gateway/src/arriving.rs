//! The body of a request that is coming in.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use thiserror::Error;
use tokio::time::{Instant, Sleep, sleep_until};

/// How long a client may pause within the body of a request: as long as nginx lets it
/// (nginx.org/en/docs/http/ngx_http_core_module.html#client_body_timeout). An instance is kept by it meanwhile.
pub const BODY_PAUSE: Duration = Duration::from_secs(60);

/// A client stopped in the midst of its request.
#[derive(Debug, Error)]
#[error("read a request: its client pauses in the midst of it")]
pub(crate) struct Stalled;

/// The body of a request. It fails with [`Stalled`] where a part of it does not come in time.
#[derive(Debug)]
pub(crate) struct Arriving {
    body: Incoming,
    longest_pause: Duration,
    /// Until when the part that is waited for may come; nothing where none is.
    patience: Option<Pin<Box<Sleep>>>,
}

impl Arriving {
    pub(crate) fn new(body: Incoming, longest_pause: Duration) -> Self {
        Self { body, longest_pause, patience: None }
    }
}

impl Body for Arriving {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            self.patience = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let longest = self.longest_pause;
        let patience = self.patience.get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + longest)));
        patience.as_mut().poll(cx).map(|()| Some(Err(Stalled.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
