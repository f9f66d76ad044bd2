//! The gateway's thread: connections, time, and the way to whoever starts instances.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant as Clock};

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustix::time::{ClockId, clock_gettime};
use stampede_priority::{Precedence, ThreadRole};
use stampede_scale::{Policy, QueueLimits, ServiceSettings, Time};
use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::admission::{Admission, Deed, Instance};
use crate::ledger::{Account, End};
use crate::proxy::{self, Guest, Upstream};

/// Connections that the kernel may hold for the gateway: more than a load opens at once.
const BACKLOG: u32 = 4096;

/// What a gateway acts out.
pub struct Setup {
    /// The service.
    pub service: ServiceSettings,
    /// Its autoscaler.
    pub policy: Policy,
    /// Its queue.
    pub queue: QueueLimits,
    /// What times on the bill are rounded up to.
    pub granularity: Duration,
    /// How long a client may pause in the midst of a request; see [`BODY_PAUSE`](crate::BODY_PAUSE).
    pub body_pause: Duration,
    /// Tells the CPU-seconds that all instances have used so far, those that are gone included.
    pub cpu_seconds: Box<dyn Fn() -> f64 + Send + Sync>,
}

/// What a gateway asks of whoever starts its instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceOrder {
    /// Start an instance, and say when it is [ready](Gateway::ready) or [lost](Gateway::lose).
    Start(Instance),
    /// End an instance. It has no request, or was lost; it may still be starting.
    Stop(Instance),
}

/// A gateway at work on `127.0.0.1`, for HTTP/1.1 and for HTTP/2 with prior knowledge. Dropping it closes its connections and
/// ends its thread.
pub struct Gateway {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Option<Account>>>,
}

impl Gateway {
    /// Opens it. Its first orders are for the fewest instances. The thread runs on the processors that the caller may use.
    ///
    /// # Errors
    ///
    /// When it cannot listen or start its thread.
    pub fn open(setup: Setup) -> Result<(Self, mpsc::UnboundedReceiver<InstanceOrder>), OpenError> {
        let Setup { service, policy, queue, granularity, body_pause, cpu_seconds } = setup;
        let runtime = Builder::new_current_thread().enable_all().build().map_err(OpenError)?;
        let listener = listen(&runtime).map_err(OpenError)?;
        let address = listener.local_addr().map_err(OpenError)?;
        let (orders, ordered) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            admission: Mutex::new(Admission::new(service, policy, queue, granularity)),
            upstreams: Mutex::default(),
            orders,
            sooner: Notify::new(),
            origin: Clock::now(),
            request_timeout: service.request_timeout,
            body_pause,
            cpu_seconds,
        });
        let (stop, stopped) = oneshot::channel();
        let of_thread = Arc::clone(&shared);
        let precedence = Precedence::here();
        let thread = thread::Builder::new()
            .name("stampede-gateway".to_owned())
            .spawn(move || {
                precedence.adopt(ThreadRole::Load);
                runtime.block_on(run(listener, of_thread, stopped))
            })
            .map_err(OpenError)?;
        shared.act(Admission::begin);
        Ok((Self { address, shared, stop: Some(stop), thread: Some(thread) }, ordered))
    }

    /// Where clients find it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// When the platform came up: what the account's times are counted from.
    pub fn origin(&self) -> Clock {
        self.shared.origin
    }

    /// An instance is ready, and serves there. Ignored where it was to be stopped meanwhile.
    pub fn ready(&self, instance: Instance, address: SocketAddr) {
        self.shared.upstreams().insert(instance, Upstream::new(address));
        self.shared.act(|admission, now| admission.ready(now, instance));
    }

    /// An instance has gone by itself, or will never come up.
    pub fn lose(&self, instance: Instance) {
        self.shared.act(|admission, now| admission.lose(now, instance));
    }

    /// Starts what sends requests, and counts those alone that come in its window, which opens and closes so long after now: none
    /// is let in before that is known.
    ///
    /// # Errors
    ///
    /// Those of the start.
    pub fn count<T, E>(
        &self,
        start: impl FnOnce() -> Result<T, E>,
        window: impl FnOnce(&T) -> Range<Duration>,
    ) -> Result<T, E> {
        let mut admission = self.shared.admission();
        let started = start()?;
        let Range { start, end } = window(&started);
        let now = self.shared.origin.elapsed();
        let at = |later: Duration| Time::from_nanos((now + later).as_nanos() as u64);
        admission.count(at(start)..at(end));
        drop(admission);
        self.shared.sooner.notify_one();
        Ok(started)
    }

    /// Whoever sends requests has ended and waits for no answer: those that are still here count as abandoned, and not as broken off
    /// by an instance that is stopped next.
    pub fn desert(&self) {
        self.shared.admission().desert();
    }

    /// Ends it: what it has counted; nothing where its thread has failed.
    pub fn close(mut self) -> Option<Account> {
        self.end()
    }

    fn end(&mut self) -> Option<Account> {
        // A thread that has ended already does not listen.
        let _ = self.stop.take()?.send(());
        self.thread.take()?.join().ok().flatten()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("address", &self.address).finish_non_exhaustive()
    }
}

/// What a request that waits is told.
pub(crate) enum Placed {
    At(Guest),
    Rejected(u16),
}

/// What requests, time and whoever starts instances have in common.
pub(crate) struct Shared {
    admission: Mutex<Admission<oneshot::Sender<Placed>>>,
    upstreams: Mutex<HashMap<Instance, Arc<Upstream>>>,
    orders: mpsc::UnboundedSender<InstanceOrder>,
    /// Something is due sooner than it was.
    sooner: Notify,
    origin: Clock,
    pub(crate) request_timeout: Duration,
    pub(crate) body_pause: Duration,
    cpu_seconds: Box<dyn Fn() -> f64 + Send + Sync>,
}

impl Shared {
    fn admission(&self) -> MutexGuard<'_, Admission<oneshot::Sender<Placed>>> {
        self.admission.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn upstreams(&self) -> MutexGuard<'_, HashMap<Instance, Arc<Upstream>>> {
        self.upstreams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn upstream(&self, instance: Instance) -> Option<Arc<Upstream>> {
        self.upstreams().get(&instance).cloned()
    }

    fn now(&self) -> Time {
        Time::from_nanos(self.origin.elapsed().as_nanos() as u64)
    }

    /// Lets the admission decide on what happens, and does what follows from it.
    pub(crate) fn act(
        self: &Arc<Self>,
        happens: impl FnOnce(&mut Admission<oneshot::Sender<Placed>>, Time) -> Vec<Deed<oneshot::Sender<Placed>>>,
    ) {
        let mut admission = self.admission();
        let due = admission.next_due();
        let mut deeds = happens(&mut admission, self.now());
        while !deeds.is_empty() {
            let mut more = Vec::new();
            for deed in deeds {
                match deed {
                    // Nobody starts instances any more once the gateway is being closed.
                    Deed::Start(instance) => {
                        let _ = self.orders.send(InstanceOrder::Start(instance));
                    }
                    Deed::Stop(instance) => {
                        self.upstreams().remove(&instance);
                        let _ = self.orders.send(InstanceOrder::Stop(instance));
                    }
                    Deed::Reject { request, status } => {
                        let _ = request.send(Placed::Rejected(status));
                    }
                    Deed::Send { request, visit } => {
                        // A client that went away while it waited has its place given to the next.
                        let guest = Guest::new(Arc::clone(self), visit);
                        if let Err(Placed::At(guest)) = request.send(Placed::At(guest))
                            && let Some(visit) = guest.into_visit()
                        {
                            more.extend(admission.leave(self.now(), &visit, End::Abandoned));
                        }
                    }
                }
            }
            deeds = more;
        }
        if admission.next_due() < due {
            self.sooner.notify_one();
        }
    }
}

fn listen(runtime: &Runtime) -> io::Result<TcpListener> {
    let _inside = runtime.enter();
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    socket.listen(BACKLOG)
}

/// Serves until it is told to stop.
async fn run(listener: TcpListener, shared: Arc<Shared>, mut stopped: oneshot::Receiver<()>) -> Option<Account> {
    tokio::spawn(keep_time(Arc::clone(&shared)));
    let server = auto::Builder::new(TokioExecutor::new());
    loop {
        let (stream, _) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                // Out of files, or a connection that was gone before it was taken: others may do better.
                Err(_) => {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    continue;
                }
            },
            _ = &mut stopped => break,
        };
        let _ = stream.set_nodelay(true);
        let (shared, server) = (Arc::clone(&shared), server.clone());
        tokio::spawn(async move {
            let service = service_fn(move |request| proxy::serve(Arc::clone(&shared), request));
            // A connection that breaks is its client's affair; requests on it are counted by what became of them.
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
    }
    Some(shared.admission().account(shared.now(), own_cpu()))
}

/// The autoscaler decides every few seconds: the instances' CPU time, which takes a file of each to read, need not be newer.
const FRESH: Duration = Duration::from_millis(100);

/// Lets the admission know that time has passed when something is due.
async fn keep_time(shared: Arc<Shared>) {
    let mut read: Option<(Clock, f64)> = None;
    loop {
        let due = shared.admission().next_due();
        let wait = due.since(shared.now());
        if wait.is_zero() {
            let (_, cpu) = *match &mut read {
                Some(last) if last.0.elapsed() < FRESH => last,
                stale => stale.insert((Clock::now(), (shared.cpu_seconds)())),
            };
            shared.act(|admission, now| admission.pass(now, cpu, own_cpu()));
            continue;
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = shared.sooner.notified() => {}
        }
    }
}

/// CPU time of this thread.
pub(crate) fn own_cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// Why a gateway could not be opened.
#[derive(Debug, Error)]
#[error("open the gateway")]
pub struct OpenError(#[source] io::Error);
