//! Listens, and answers.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{ALLOW, LOCATION, SET_COOKIE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use stampede_core::StudyId;
use stampede_report::html::dashboard::{self, DashboardPage};
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task;
use tokio::time::{sleep, timeout};

use crate::access::{Access, Admission, TOKEN};
use crate::answer::{Answer, Content};
use crate::live;
use crate::pages::{Pages, Query};

/// Connections at once; who comes beyond them waits.
const CONNECTIONS: usize = 64;
/// Pages that are made at once. One of a large study takes some 200 MB for a second.
const PAGES: usize = 2;
/// Pages that are told what is stored of a study while it is measured.
const WATCHED: usize = 16;
/// The longest that a client may take to ask, and to be answered.
const ASKING: Duration = Duration::from_secs(10);
const ANSWERING: Duration = Duration::from_secs(120);
const _: () = assert!(live::WATCHING.as_secs() < ANSWERING.as_secs());
/// How long to wait when the system has no more connections to give.
const RESPITE: Duration = Duration::from_millis(100);

/// A dashboard that listens.
pub struct Dashboard {
    listener: TcpListener,
    address: SocketAddr,
    site: Arc<Site>,
}

struct Site {
    access: Access,
    pages: Arc<Pages>,
    making: Arc<Semaphore>,
    watched: Arc<Semaphore>,
}

impl Dashboard {
    /// Listens at an address; port 0 is any that is free.
    ///
    /// # Errors
    ///
    /// When the address is taken or is none of this machine's.
    pub async fn listen(address: SocketAddr, store: PathBuf, access: Access) -> Result<Self, ServeError> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => ServeError::InUse { address, source },
            _ => ServeError::Listen { address, source },
        };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let site = Site {
            access,
            pages: Arc::new(Pages::new(store)),
            making: Arc::new(Semaphore::new(PAGES)),
            watched: Arc::new(Semaphore::new(WATCHED)),
        };
        Ok(Self { listener, address, site: Arc::new(site) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until it is dropped.
    pub async fn serve(self) {
        let connections = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let Ok(place) = Arc::clone(&connections).acquire_owned().await else { return };
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let site = Arc::clone(&self.site);
                    task::spawn(async move {
                        site.attend(stream).await;
                        drop(place);
                    });
                }
                Err(_) => sleep(RESPITE).await,
            }
        }
    }
}

impl Site {
    /// One request a connection: a page is one file, and no client holds a place for longer than it needs.
    async fn attend(self: Arc<Self>, stream: TcpStream) {
        let service = service_fn(move |request| {
            let site = Arc::clone(&self);
            async move { Ok::<_, Infallible>(site.respond(request).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(ASKING)
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), service);
        // A client that goes away, or takes too long, is its own affair.
        let _ = timeout(ANSWERING, connection).await;
    }

    async fn respond(&self, request: Request<Incoming>) -> Response<Content> {
        if let Some(refusal) = self.refusal(&request) {
            return refusal.response();
        }
        if request.uri().path() == dashboard::EVENTS {
            return self.events(&request).await;
        }
        self.page(request).await.response()
    }

    /// Why a request is not answered, if it is not.
    fn refusal(&self, request: &Request<Incoming>) -> Option<Answer> {
        match self.access.admits(request) {
            Admission::Admitted => {}
            Admission::Known { cookie } => {
                let seen = Answer::problem(StatusCode::SEE_OTHER, "The token is known.");
                return Some(seen.with(LOCATION, without_token(request)).with(SET_COOKIE, cookie));
            }
            Admission::NoToken => {
                let (status, body) = (StatusCode::UNAUTHORIZED, dashboard::locked());
                return Some(Answer { status, body, headers: Vec::new() });
            }
            Admission::WrongHost => {
                return Some(Answer::problem(
                    StatusCode::MISDIRECTED_REQUEST,
                    "This dashboard answers under localhost, 127.0.0.1 and [::1] alone.",
                ));
            }
        }
        let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
        changes.then(|| {
            Answer::problem(StatusCode::METHOD_NOT_ALLOWED, "Nothing can be changed here.").with(ALLOW, "GET, HEAD")
        })
    }

    /// What is stored of a study, as it is stored.
    async fn events(&self, request: &Request<Incoming>) -> Response<Content> {
        let id = StudyId::new(Query::new(request.uri().query()).get("id").unwrap_or_default());
        let last = request.headers().get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
        let (pages, known) = (Arc::clone(&self.pages), id.clone());
        match task::spawn_blocking(move || pages.standing(&known)).await {
            Ok(Ok(Some(_))) => {}
            Ok(Ok(None)) => return Answer::problem(StatusCode::NOT_FOUND, "There is no such study.").response(),
            _ => {
                let problem = "The store cannot be read.";
                return Answer::problem(StatusCode::INTERNAL_SERVER_ERROR, problem).response();
            }
        }
        let Ok(place) = Arc::clone(&self.watched).try_acquire_owned() else {
            let problem = "As many pages as may be follow studies already.";
            return Answer::problem(StatusCode::SERVICE_UNAVAILABLE, problem).response();
        };
        let (tell, events) = mpsc::channel(1);
        task::spawn(live::tell(Arc::clone(&self.pages), Arc::clone(&self.making), id, last, tell, place));
        Answer::events(events)
    }

    async fn page(&self, request: Request<Incoming>) -> Answer {
        let Ok(place) = Arc::clone(&self.making).acquire_owned().await else {
            return Answer::problem(StatusCode::SERVICE_UNAVAILABLE, "The dashboard is ending.");
        };
        let pages = Arc::clone(&self.pages);
        let made = task::spawn_blocking(move || {
            // Kept until the page is made, also when nobody waits for it any more.
            let _place = place;
            let uri = request.uri();
            pages.answer(uri.path(), &Query::new(uri.query()))
        });
        made.await.unwrap_or_else(|_| {
            Answer::problem(StatusCode::INTERNAL_SERVER_ERROR, "This page cannot be made from what is stored.")
        })
    }
}

/// The address that was asked for, without what shall not stay in it. Only a page's path: others might lead to another site.
fn without_token(request: &Request<Incoming>) -> String {
    let path = DashboardPage::ALL.map(DashboardPage::path).into_iter().find(|path| *path == request.uri().path());
    let path = path.unwrap_or(DashboardPage::Studies.path());
    let pairs = form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes());
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(pairs.filter(|(name, _)| name != TOKEN));
    let query = query.finish();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

/// Why there is no dashboard.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The port is another program's.
    #[error(
        "listen at {address}: another program has that port; give another with --listen, such as {}:0 for any that is free",
        host(address)
    )]
    InUse {
        /// The address.
        address: SocketAddr,
        /// The system's words.
        source: io::Error,
    },
    /// The address cannot be had.
    #[error("listen at {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's words.
        source: io::Error,
    },
}

fn host(address: &SocketAddr) -> String {
    match address {
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    }
}
