//! A dashboard of a test, and a client that sends what it is told to, byte for byte.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use stampede_core::{Study, StudyId};
use stampede_serve::{Access, Dashboard, Token};
use stampede_store::{Store, StoredStudy, read_study_file};
use tokio::sync::oneshot;

/// Longest wait for an answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A study with something in every record.
pub(crate) fn sample() -> StoredStudy {
    read_study_file(&include_bytes!("../../../store/tests/data/version-13.stampede-study")[..]).unwrap()
}

/// The sample under another name, begun some hours later.
pub(crate) fn named(id: &str, hours: i64) -> StoredStudy {
    let sample = sample();
    let started_at = Timestamp::from_second(1_700_000_000 + hours * 3_600).unwrap();
    StoredStudy { study: Study { id: StudyId::new(id), started_at, ..sample.study }, ..sample }
}

pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    pub(crate) store: tempfile::TempDir,
    end: Option<oneshot::Sender<()>>,
    server: Option<thread::JoinHandle<()>>,
}

impl Site {
    /// A dashboard of these studies, on a loopback address.
    pub(crate) fn of(studies: &[StoredStudy]) -> Self {
        Self::with(studies, None)
    }

    pub(crate) fn with(studies: &[StoredStudy], token: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        if !studies.is_empty() {
            let mut store = Store::open(&path).unwrap();
            for study in studies {
                store.import(study, Timestamp::UNIX_EPOCH).unwrap();
            }
        }
        Self::on(&path, token.map(|token| Token::new(token).unwrap()), folder)
    }

    fn on(path: &Path, token: Option<Token>, folder: tempfile::TempDir) -> Self {
        let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let access = Access::at(local, token).unwrap();
        let (end, ended) = oneshot::channel::<()>();
        let (say, said) = std::sync::mpsc::channel();
        let path = path.to_owned();
        let server = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let dashboard = Dashboard::listen(SocketAddr::new(local, 0), path, access).await.unwrap();
                say.send(dashboard.address()).unwrap();
                tokio::select! {
                    () = dashboard.serve() => {}
                    _ = ended => {}
                }
            });
        });
        Self { address: said.recv_timeout(PATIENCE).unwrap(), store: folder, end: Some(end), server: Some(server) }
    }

    /// The answer to bytes.
    pub(crate) fn send(&self, bytes: &[u8]) -> Said {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert!(!answer.is_empty(), "no answer to {:?}", String::from_utf8_lossy(bytes));
        Said::of(&String::from_utf8(answer).unwrap())
    }

    pub(crate) fn get(&self, target: &str) -> Said {
        self.ask("GET", target, &[("host", "localhost")])
    }

    pub(crate) fn ask(&self, method: &str, target: &str, headers: &[(&str, &str)]) -> Said {
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        self.send(format!("{method} {target} HTTP/1.1\r\n{headers}\r\n").as_bytes())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            let _ = end.send(());
        }
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Said {
    fn of(answer: &str) -> Self {
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        // Slashes are escaped like what HTML needs escaped.
        Self { status, head: head.to_owned(), body: body.replace("&#x2f;", "/") }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }
}
