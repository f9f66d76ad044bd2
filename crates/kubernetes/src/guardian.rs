//! What runs in the pods: a guardian that holds a lease, and generators that wait for agents to be started in them.
//!
//! A line is a process beside the guardian in its container (`exec`), which passes on what comes from Stampede: each byte renews the
//! lease and comes back. Lines may come and go, and a new one may take over. When the lease ends, the guardian ends, and with it its
//! Job and all that the Job owns.

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener as StdListener, UnixStream as StdStream};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy};
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// How long all of it outlives Stampede: longer than an API server that is restarted or a network that changes.
pub const LEASE: Duration = Duration::from_secs(45);

/// Why a guardian ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardianEnd {
    /// Nobody renewed its lease: its Job is complete.
    LeaseOver,
    /// It was told to, by whoever evicts it: its Job is not complete, and starts another one.
    Evicted,
}

/// A time that ends unless it is renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lease {
    length: Duration,
    until: Instant,
}

impl Lease {
    fn begin(length: Duration, now: Instant) -> Self {
        Self { length, until: now + length }
    }

    fn renew(&mut self, now: Instant) {
        self.until = self.until.max(now + self.length);
    }
}

/// A name that is seen in the pod alone: of an abstract Unix socket, which needs no file and belongs to a network namespace.
fn place(run: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("stampede-guardian-{run}"))
}

/// Holds the lease of a run until nobody renews it any more, or until SIGTERM.
///
/// # Errors
///
/// When its socket cannot be made, as when another guardian of the run is there.
pub async fn hold(run: &str, lease: Duration) -> io::Result<GuardianEnd> {
    let listener = StdListener::bind_addr(&place(run)?)?;
    listener.set_nonblocking(true)?;
    let listener = UnixListener::from_std(listener)?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut lease = Lease::begin(lease, Instant::now());
    let (renewed, mut renewals) = mpsc::channel(1);
    let mut lines = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                lines.spawn(answer(accepted?.0, renewed.clone()));
            }
            Some(()) = renewals.recv() => lease.renew(Instant::now()),
            Some(_) = lines.join_next() => {}
            () = sleep_until(lease.until) => return Ok(GuardianEnd::LeaseOver),
            _ = terminate.recv() => return Ok(GuardianEnd::Evicted),
        }
    }
}

/// Renews the lease for each byte, and sends it back.
async fn answer(mut line: UnixStream, renewed: mpsc::Sender<()>) {
    let mut byte = [0];
    while line.read_exact(&mut byte).await.is_ok() {
        if renewed.send(()).await.is_err() || line.write_all(&byte).await.is_err() {
            return;
        }
    }
}

/// Passes on what comes to the guardian of a run, and what it sends back, until either ends.
///
/// # Errors
///
/// When no guardian is there, or the line to it breaks.
pub async fn renew(
    run: &str,
    mut input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let line = StdStream::connect_addr(&place(run)?)?;
    line.set_nonblocking(true)?;
    let (mut answers, mut bytes) = UnixStream::from_std(line)?.into_split();
    let back = async {
        let mut byte = [0];
        while answers.read_exact(&mut byte).await.is_ok() {
            output.write_all(&byte).await?;
            output.flush().await?;
        }
        Ok(())
    };
    tokio::select! {
        passed = copy(&mut input, &mut bytes) => passed.map(drop),
        back = back => back,
    }
}

/// Waits until this process is told to end: agents are started beside it. The first process of a container is not ended by signals that it
/// does not take.
///
/// # Errors
///
/// When signals cannot be taken.
pub async fn wait() -> io::Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{duplex, split};

    use super::*;

    #[test]
    fn a_lease_is_as_long_as_it_was_renewed_last() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        for (name, renewals, until) in [
            ("never", &[][..], 45),
            ("once", &[10], 55),
            ("again by another line", &[10, 12], 57),
            ("late news of an older line", &[20, 12], 65),
        ] {
            let mut lease = Lease::begin(LEASE, start);
            renewals.iter().for_each(|seconds| lease.renew(after(*seconds)));
            assert_eq!(lease.until, after(until), "{name}");
        }
    }

    #[tokio::test]
    async fn each_byte_comes_back_and_another_line_takes_over() {
        let guardian = tokio::spawn(hold("lines", Duration::from_secs(60)));
        for _ in 0..2 {
            let (ours, theirs) = duplex(16);
            let line = tokio::spawn(async move {
                let (input, output) = split(theirs);
                // It may be quicker than the guardian.
                while let Err(error) = place("lines").and_then(|place| StdStream::connect_addr(&place)) {
                    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
                    tokio::task::yield_now().await;
                }
                renew("lines", input, output).await
            });
            let (mut answers, mut bytes) = split(ours);
            bytes.write_all(b"ab").await.unwrap();
            let mut back = [0; 2];
            answers.read_exact(&mut back).await.unwrap();
            assert_eq!(&back, b"ab");
            drop((answers, bytes));
            line.await.unwrap().unwrap();
        }
        assert!(!guardian.is_finished());
        guardian.abort();
    }

    #[tokio::test]
    async fn a_guardian_whose_lease_nobody_renews_ends() {
        assert_eq!(hold("over", Duration::from_millis(1)).await.unwrap(), GuardianEnd::LeaseOver);
        let error = renew("over", &b"a"[..], Vec::new()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
}
