//! Which backend costs less on this machine, found by a short trial of each against a server of its own.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::thread::{CpuSet, sched_setaffinity};
use stampede_core::{CpuLayout, Endpoint, Load, Protocol, Request};
use stampede_scenario::{Check, Pause, Statuses};
use thiserror::Error;

use crate::backend::try_out;
use crate::engine::{StartError, start};
use stampede_seam::Backend;
use stampede_seam::{LoadExchange, LoadSpec};

/// What load is driven: many connections, as that is where the backends differ.
const CONNECTIONS: u32 = 64;

/// Each backend has its turn this often, and the other one in between, so that what the machine does meanwhile meets both.
const TURNS: u32 = 2;
const TURN: Duration = Duration::from_millis(150);
const WARM_UP: Duration = Duration::from_millis(20);
const DRAIN: Duration = Duration::from_millis(500);

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nHello, World!";

/// A choice between the backends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendCalibration {
    /// The better one.
    pub backend: Backend,
    /// Why it is, in words; `None` when that was known from before.
    pub reason: Option<String>,
}

/// Chooses the backend that uses less CPU time a request here. That takes less than a second, the first time: the choice is
/// kept in a file, for as long as `machine` (its kernel and its processor, say), this version and what is permitted here
/// stay the same. Where there is none, or it cannot be written, the next time is like the first.
///
/// Load comes from the first of the generator's processors, and is answered on those of the server. What cannot be tried is
/// a reason for epoll.
pub fn calibrate(machine: &str, cpus: &CpuLayout, kept: Option<&Path>) -> BackendCalibration {
    let refused = try_out(Backend::IoUring).err();
    let version = env!("CARGO_PKG_VERSION");
    let permitted = refused.as_ref().map_or_else(|| "permitted".to_owned(), |error| format!("refused: {error}"));
    let conditions = format!("{machine}; stampede {version}; io-uring {permitted}").replace('\n', " ");
    let before = kept.and_then(|kept| fs::read_to_string(kept).ok());
    if let Some(backend) = before.and_then(|text| read(&text, &conditions)) {
        return BackendCalibration { backend, reason: None };
    }
    let (backend, reason) = match refused {
        Some(error) => (Backend::Epoll, format!("io-uring is refused here: {error}")),
        None => match measure(cpus) {
            Ok([epoll, io_uring]) => {
                let backend = if io_uring < epoll { Backend::IoUring } else { Backend::Epoll };
                (backend, format!("a request took {epoll:.2} us of CPU with epoll, {io_uring:.2} us with io-uring"))
            }
            // The next time may be better.
            Err(error) => {
                let reason = format!("the other one could not be tried: {error}");
                return BackendCalibration { backend: Backend::Epoll, reason: Some(reason) };
            }
        },
    };
    let _ = kept.map(|kept| keep(kept, &format!("{conditions}\n{backend}\n")));
    BackendCalibration { backend, reason: Some(reason) }
}

/// The backend in a kept choice, where it was made under these conditions.
fn read(text: &str, conditions: &str) -> Option<Backend> {
    let (made_under, backend) = text.trim_end().split_once('\n')?;
    let named = |known: &Backend| known.to_string() == backend;
    Backend::ALL.into_iter().find(named).filter(|_| made_under == conditions)
}

fn keep(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    // Another Stampede sees the old choice or the new one.
    let new = path.with_extension(format!("{}.new", std::process::id()));
    fs::write(&new, text)?;
    fs::rename(&new, path)
}

/// Microseconds of CPU time a request with each backend, in the order of [`Backend::ALL`].
fn measure(cpus: &CpuLayout) -> Result<[f64; 2], CalibrateError> {
    let server = Server::start(&cpus.server)?;
    let mut used = [(Duration::ZERO, 0); 2];
    for _ in 0..TURNS {
        for (backend, (cpu, answers)) in Backend::ALL.into_iter().zip(&mut used) {
            let result = start(spec(server.endpoint.clone(), backend, cpus))?.finish();
            *cpu += result.generator.cpu;
            *answers += result.total.requests.ok;
        }
    }
    match used {
        [(_, 0), _] | [_, (_, 0)] => Err(CalibrateError::Unanswered),
        used => Ok(used.map(|(cpu, answers)| cpu.as_secs_f64() * 1e6 / answers as f64)),
    }
}

fn spec(target: Endpoint, backend: Backend, cpus: &CpuLayout) -> LoadSpec {
    let request =
        Request { method: "GET".to_owned(), path: "/".to_owned(), headers: BTreeMap::new(), body: Vec::new() };
    LoadSpec {
        host: target.to_string(),
        targets: vec![target],
        protocol: Protocol::Http11,
        tls: None,
        exchanges: vec![LoadExchange::new(request, Check::new(Statuses::only(200), Vec::new()))],
        load: Load::Closed { connections: CONNECTIONS },
        think: Pause::default(),
        scenario: None,
        warm_up: WARM_UP,
        duration: TURN,
        requests: None,
        drain: DRAIN,
        timeout: None,
        keep_alive: true,
        seed: 0,
        shard: None,
        source: None,
        slices: false,
        cpus: cpus.generator.first().copied().into_iter().collect(),
        backend,
    }
}

/// A server on a thread of its own. Dropping it ends it.
struct Server {
    endpoint: Endpoint,
    end: Arc<OwnedFd>,
}

impl Server {
    fn start(cpus: &[u32]) -> Result<Self, CalibrateError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(CalibrateError::Serve)?;
        let endpoint = Endpoint::Tcp(listener.local_addr().map_err(CalibrateError::Serve)?);
        listener.set_nonblocking(true).map_err(CalibrateError::Serve)?;
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let end = Arc::new(event.map_err(|error| CalibrateError::Serve(error.into()))?);
        let mut set = CpuSet::new();
        cpus.iter().map(|cpu| *cpu as usize).filter(|cpu| *cpu < CpuSet::MAX_CPU).for_each(|cpu| set.set(cpu));
        let ended = Arc::clone(&end);
        let serving = thread::Builder::new().name("calibration".to_owned()).spawn(move || {
            // Where it may not be there it stays where this thread may be.
            let _ = sched_setaffinity(None, &set);
            // Without a server there is no answer, which is what is told.
            let _ = serve(&listener, &ended);
        });
        serving.map_err(CalibrateError::Serve)?;
        Ok(Self { endpoint, end })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = rustix::io::write(&*self.end, &1_u64.to_ne_bytes());
    }
}

/// Gives one answer for whatever comes at once: a client that waits for it sends one short request at a time.
fn serve(listener: &TcpListener, end: &OwnedFd) -> Result<(), Errno> {
    const LISTENER: u64 = u64::MAX;
    const END: u64 = u64::MAX - 1;
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
    epoll::add(&epoll, end, EventData::new_u64(END), EventFlags::IN)?;
    let mut streams = Vec::new();
    let mut events = Vec::with_capacity(CONNECTIONS as usize);
    let mut buffer = [0; 4096];
    loop {
        events.clear();
        match epoll::wait(&epoll, spare_capacity(&mut events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        for epoll::Event { data, .. } in events.iter().copied() {
            match data.u64() {
                END => return Ok(()),
                LISTENER => {
                    while let Ok((stream, _)) = listener.accept() {
                        let token = EventData::new_u64(streams.len() as u64);
                        if stream.set_nodelay(true).is_ok()
                            && epoll::add(&epoll, &stream, token, EventFlags::IN).is_ok()
                        {
                            streams.push(Some(stream));
                        }
                    }
                }
                token => {
                    let Some(place) = usize::try_from(token).ok().and_then(|token| streams.get_mut(token)) else {
                        continue;
                    };
                    let Some(stream) = place else { continue };
                    let came = recv(&*stream, &mut buffer, RecvFlags::DONTWAIT).map_or(0, |(count, _)| count);
                    if came == 0 || send(&*stream, ANSWER, SendFlags::NOSIGNAL | SendFlags::DONTWAIT).is_err() {
                        *place = None;
                    }
                }
            }
        }
    }
}

/// Why a backend could not be tried.
#[derive(Debug, Error)]
enum CalibrateError {
    #[error("start a server on 127.0.0.1: {0}")]
    Serve(io::Error),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("no request was answered")]
    Unanswered,
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use rustix::thread::sched_getaffinity;

    use super::*;

    fn cpus() -> CpuLayout {
        let allowed = sched_getaffinity(None).unwrap();
        let cpus: Vec<u32> = (0..1024).filter(|cpu| allowed.is_set(*cpu as usize)).collect();
        CpuLayout::divide(&cpus, 1)
    }

    #[test]
    fn a_choice_is_made_once_for_each_machine() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("new/backend");
        let started = Instant::now();
        let first = calibrate("this one", &cpus(), Some(&kept));
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
        let reason = first.reason.unwrap();
        assert!(reason.contains("io-uring"), "{reason}");

        let again = calibrate("this one", &cpus(), Some(&kept));
        assert_eq!(again, BackendCalibration { backend: first.backend, reason: None });
        assert!(calibrate("another one", &cpus(), Some(&kept)).reason.is_some());
        assert!(calibrate("this one", &cpus(), Some(&kept)).reason.is_some());
    }

    #[test]
    fn what_was_kept_holds_under_its_conditions_only() {
        for (text, expected) in [
            ("a; b\nepoll\n", Some(Backend::Epoll)),
            ("a; b\nio-uring\n", Some(Backend::IoUring)),
            ("a; b\nkqueue\n", None),
            ("a; c\nepoll\n", None),
            ("a; b", None),
            ("", None),
        ] {
            assert_eq!(read(text, "a; b"), expected, "{text:?}");
        }
    }

    #[test]
    fn what_cannot_be_tried_is_a_reason_for_epoll() {
        let nowhere = CpuLayout { server: vec![0], generator: vec![5000] };
        let calibration = calibrate("this one", &nowhere, None);
        assert_eq!(calibration.backend, Backend::Epoll);
        assert!(calibration.reason.is_some());
    }
}
