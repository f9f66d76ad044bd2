//! Readiness: a real request through the front is answered, or something listens there.

use std::time::Duration;

use stampede_core::{Answer, Case, Endpoint, ReadinessRecord, Request, named_status};
use stampede_seam::{Call, NoAnswer, Running, TlsClient, TlsSpec, Trust, Vantage};

use crate::{complaint, crash_loop};

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
pub(crate) const NOT_YET: [u16; 3] = [502, 503, 504];

/// Where a request is sent.
#[derive(Clone, Debug)]
pub(crate) struct Front {
    pub(crate) endpoint: Endpoint,
    /// Whom to trust, where TLS is spoken.
    pub(crate) tls: Option<TlsSpec>,
    /// The name that the application is asked by, where it is not the endpoint.
    host: Option<String>,
    /// Whether its visitors reach it by https.
    https: bool,
}

impl Front {
    /// The front of a case that runs, with the certificate that is trusted there, in PEM, where it speaks TLS.
    pub(crate) fn of(running: &dyn Running, case: &Case, trust: Option<&[u8]>) -> Self {
        let tls = trust.map(|pem| TlsSpec {
            server_name: SERVER_NAME.to_owned(),
            trust: Trust::Pem(pem.to_vec()),
            client: TlsClient::default(),
        });
        Self { tls, ..Self::plain(running.front(), case) }
    }

    /// An address of a case where TLS is not spoken.
    pub(crate) fn plain(endpoint: &Endpoint, case: &Case) -> Self {
        let site = case.site.as_ref();
        let host = site.and_then(|site| site.host.clone());
        Self { host, https: site.is_some_and(|site| site.https), ..Self::bare(endpoint) }
    }

    /// An address where something else than the application is asked.
    pub(crate) fn bare(endpoint: &Endpoint) -> Self {
        Self { endpoint: endpoint.clone(), tls: None, host: None, https: false }
    }

    /// The same application at another address of it, where TLS is not spoken.
    pub(crate) fn at(&self, endpoint: &Endpoint) -> Self {
        Self { endpoint: endpoint.clone(), tls: None, ..self.clone() }
    }

    /// What requests say in `Host`.
    pub(crate) fn host(&self) -> String {
        self.host.clone().unwrap_or_else(|| self.endpoint.to_string())
    }

    /// The headers that every request of a visitor has in production, where a proxy stands before the application. Frameworks take
    /// a request from this machine itself without them for a developer's, and turn debugging on (Tracy, Yii's debug module).
    pub(crate) fn forwarded(&self) -> [(&'static str, String); 3] {
        let scheme = if self.https || self.tls.is_some() { "https" } else { "http" };
        [
            ("X-Forwarded-For", VISITOR.to_owned()),
            ("X-Forwarded-Host", self.host()),
            ("X-Forwarded-Proto", scheme.to_owned()),
        ]
    }

    /// A request as it is sent here: with the headers of a proxy, but for those that it has itself.
    pub(crate) fn completed(&self, request: &Request) -> Request {
        let mut request = request.clone();
        for (name, value) in self.forwarded() {
            if !request.headers.keys().any(|own| own.eq_ignore_ascii_case(name)) {
                request.headers.insert(name.to_owned(), value);
            }
        }
        request
    }
}

/// The address of all visitors: one that is nobody's (RFC 5737, TEST-NET-3).
const VISITOR: &str = "203.0.113.1";

/// What a front's certificate is for: all fronts are on this machine's own address.
const SERVER_NAME: &str = "127.0.0.1";

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
    let vantage = running.vantage();
    let deadline = vantage.now() + timeout;
    let mut attempts = 0;
    loop {
        attempts += 1;
        let left = deadline.since(vantage.now());
        let state = tokio::select! {
            connected = vantage.connect(&front.endpoint, left) => match connected {
                Ok(()) => return Ok(ReadinessRecord { took: vantage.now().since(running.started()), attempts }),
                Err(state) => state,
            },
            exit = running.exited() => return Err(format!("{} ended with {} before it was ready", exit.unit, exit.how)),
        };
        if vantage.now() >= deadline {
            return Err(format!("did not listen at its front within {timeout:?}; last state: {state}"));
        }
        tokio::select! {
            () = vantage.sleep_until(vantage.now() + PORT_PAUSE) => {}
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
    first_answer(running, front, request, timeout).await.map(|(ready, _)| ready)
}

/// The same with the first answer.
///
/// # Errors
///
/// As [`wait`].
pub(crate) async fn first_answer(
    running: &dyn Running,
    front: &Front,
    request: &Request,
    timeout: Duration,
) -> Result<(ReadinessRecord, Answer), String> {
    tokio::select! {
        ready = wait_for_answer(running, front, request, timeout) => ready,
        problem = crash_loop::watch(running) => Err(problem),
    }
}

async fn wait_for_answer(
    running: &dyn Running,
    front: &Front,
    request: &Request,
    timeout: Duration,
) -> Result<(ReadinessRecord, Answer), String> {
    let vantage = running.vantage();
    let deadline = vantage.now() + timeout;
    let mut attempts = 0;
    let mut patience = FIRST_TRY;
    let mut last = "nothing was tried".to_owned();
    loop {
        let left = deadline.since(vantage.now());
        if left.is_zero() {
            return Err(format!("was not ready within {timeout:?}; last state: {last}"));
        }
        attempts += 1;
        let outcome = tokio::select! {
            outcome = send(vantage.as_ref(), front, request, left.min(patience)) => outcome,
            exit = running.exited() => return Err(format!("{} ended with {} before it was ready", exit.unit, exit.how)),
        };
        match outcome {
            Ok(answer) if !NOT_YET.contains(&answer.status) => {
                return Ok((ReadinessRecord { took: vantage.now().since(running.started()), attempts }, answer));
            }
            Ok(answer) if complaint::refuses(running) => {
                let status = named_status(answer.status);
                return Err(format!("refused what the application answered: the front answered {status}"));
            }
            Ok(answer) => last = format!("the front answered {}", named_status(answer.status)),
            Err(NoAnswer { problem, waited }) => {
                if waited {
                    patience *= 2;
                }
                last = problem;
            }
        }
        vantage.sleep_until(vantage.now() + PAUSE).await;
    }
}

/// Sends one request through the front.
pub(crate) async fn send(
    vantage: &dyn Vantage,
    front: &Front,
    request: &Request,
    timeout: Duration,
) -> Result<Answer, NoAnswer> {
    let Front { endpoint, tls, host, https: _ } = front.clone();
    vantage.exchange(&Call { endpoint, tls, host, request: front.completed(request), timeout }).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_headers_of_a_proxy_but_for_its_own() {
        let front = Front::bare(&Endpoint::Tcp(([127, 0, 0, 1], 2001).into()));
        let request = |headers: &[(&str, &str)]| Request {
            method: "GET".to_owned(),
            path: "/".to_owned(),
            headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            body: Vec::new(),
        };
        let (visitor, host, plain) =
            (("X-Forwarded-For", VISITOR), ("X-Forwarded-Host", "127.0.0.1:2001"), ("X-Forwarded-Proto", "http"));
        for (own, all) in [
            (&[][..], &[visitor, host, plain][..]),
            (
                &[("x-forwarded-proto", "https"), ("Accept", "*/*")],
                &[("Accept", "*/*"), visitor, host, ("x-forwarded-proto", "https")],
            ),
        ] {
            assert_eq!(front.completed(&request(own)), request(all));
        }
        let named = Front { host: Some("shop.example".to_owned()), https: true, ..front };
        let [_, host, scheme] = named.forwarded();
        assert_eq!(
            (named.host().as_str(), host.1.as_str(), scheme.1.as_str()),
            ("shop.example", "shop.example", "https")
        );
    }
}
