//! Readiness: a real request through the front is answered, or something listens there.

use std::time::{Duration, Instant};

use stampede_core::{Endpoint, ReadinessRecord, Request, Running, with_causes};
use stampede_wire::Security;
use stampede_wire::client::{self, Cause, SendError};
use tokio::net::{TcpStream, UnixStream};

use crate::restarts;

/// How long to wait between two tries. A try costs the deployment one request, so it is not much shorter.
const PAUSE: Duration = Duration::from_millis(20);

/// The same between two tries to connect. A refused one costs the deployment nothing, and a platform that starts the instance
/// knows at once that it listens.
const PORT_PAUSE: Duration = Duration::from_millis(1);

/// How long a try waits for its answer at first; after one that waited in vain, twice as long. Some servers accept a connection
/// before they can serve, and never answer what came on it: FrankenPHP's web server may start before its workers.
const FIRST_TRY: Duration = Duration::from_secs(1);

/// Statuses of a front whose application is not there yet (RFC 9110, sections 15.6.3 to 15.6.5). Any other answer, a
/// wrong one too, is an answer of the application, and verifying it is the next phase.
const NOT_YET: [u16; 3] = [502, 503, 504];

/// Where a request is sent.
#[derive(Clone, Debug)]
pub(crate) struct Front {
    pub(crate) endpoint: Endpoint,
    /// Whom to trust, where TLS is spoken.
    pub(crate) security: Option<Security>,
}

impl Front {
    /// The front of a deployment, with the certificate that is trusted there, in PEM, where it speaks TLS.
    ///
    /// # Errors
    ///
    /// When the certificate cannot be read.
    pub(crate) fn of(running: &dyn Running, trust: Option<&[u8]>) -> Result<Self, String> {
        let security = trust.map(|pem| Security::new(SERVER_NAME, pem)).transpose();
        let security = security.map_err(|error| with_causes(&error))?;
        Ok(Self { endpoint: running.front().clone(), security })
    }
}

/// What a front's certificate is for: all fronts are on this machine's own address.
pub(crate) const SERVER_NAME: &str = "127.0.0.1";

/// Waits until something listens at a front.
///
/// # Errors
///
/// As [`wait`].
pub(crate) async fn wait_for_port(
    running: &dyn Running,
    front: &Front,
    timeout: Duration,
) -> Result<ReadinessRecord, String> {
    let deadline = Instant::now() + timeout;
    let mut attempts = 0;
    loop {
        attempts += 1;
        let listening = match &front.endpoint {
            Endpoint::Tcp(address) => TcpStream::connect(address).await.map(drop),
            Endpoint::Unix(path) => UnixStream::connect(path).await.map(drop),
        };
        let state = match listening {
            Ok(()) => return Ok(ReadinessRecord { took: running.started().elapsed(), attempts }),
            Err(error) => error,
        };
        if Instant::now() >= deadline {
            return Err(format!("did not listen at its front within {timeout:?}; last state: {state}"));
        }
        tokio::select! {
            () = tokio::time::sleep(PORT_PAUSE) => {}
            exit = running.exited() => return Err(format!("{} ended with {} before it was ready", exit.unit, exit.how)),
        }
    }
}

/// Waits for the first answer.
///
/// # Errors
///
/// The last state, as the end of a sentence, when there was no answer in time, a unit ended, or workers come and go.
pub(crate) async fn wait(
    running: &dyn Running,
    front: &Front,
    request: &Request,
    timeout: Duration,
) -> Result<ReadinessRecord, String> {
    tokio::select! {
        ready = wait_for_answer(running, front, request, timeout) => ready,
        problem = restarts::watch(running) => Err(problem),
    }
}

async fn wait_for_answer(
    running: &dyn Running,
    front: &Front,
    request: &Request,
    timeout: Duration,
) -> Result<ReadinessRecord, String> {
    let deadline = Instant::now() + timeout;
    let mut attempts = 0;
    let mut patience = FIRST_TRY;
    let mut last = "nothing was tried".to_owned();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(format!("was not ready within {timeout:?}; last state: {last}"));
        }
        attempts += 1;
        let outcome = tokio::select! {
            outcome = try_once(front, request, left.min(patience)) => outcome,
            exit = running.exited() => return Err(format!("{} ended with {} before it was ready", exit.unit, exit.how)),
        };
        match outcome {
            Ok(status) if !NOT_YET.contains(&status) => {
                return Ok(ReadinessRecord { took: running.started().elapsed(), attempts });
            }
            Ok(status) => last = format!("the front answered {status}"),
            Err(error) => {
                if let SendError::Wait(Cause::TimedOut(_)) = &error {
                    patience *= 2;
                }
                last = with_causes(&error);
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn try_once(front: &Front, request: &Request, timeout: Duration) -> Result<u16, SendError> {
    send(front, request, timeout).await.map(|answer| answer.status)
}

/// Sends one request through the front, on a thread that may block.
pub(crate) async fn send(front: &Front, request: &Request, timeout: Duration) -> Result<client::Answer, SendError> {
    let Front { endpoint, security } = front.clone();
    let request = request.clone();
    let host = endpoint.to_string();
    let sent = move || client::send_secured(&endpoint, security.as_ref(), &request, &host, timeout);
    match tokio::task::spawn_blocking(sent).await {
        Ok(answer) => answer,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}
