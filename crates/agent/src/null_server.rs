//! A server that answers at once, for what a load can be at most.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::thread;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// What a request without a body ends with.
const END: &[u8] = b"\r\n\r\n";

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// What is read at once.
const BUFFER: usize = 16 << 10;

/// Answers requests of HTTP/1.1 that have no body, on the loopback device. It has a thread of its own, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct NullServer {
    pub(crate) address: SocketAddr,
    _kept: oneshot::Sender<()>,
}

impl NullServer {
    pub(crate) fn start() -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let (kept, dropped) = oneshot::channel::<()>();
        let serve = async move {
            let Ok(listener) = TcpListener::from_std(listener) else { return };
            let mut connections = JoinSet::new();
            while let Ok((connection, _)) = listener.accept().await {
                connections.spawn(answer(connection));
            }
        };
        thread::Builder::new().name("null-server".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = dropped => {}
                    () = serve => {}
                }
            });
        })?;
        Ok(Self { address, _kept: kept })
    }
}

/// Answers every request of a connection until it is closed.
async fn answer(mut connection: TcpStream) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut buffer = vec![0; BUFFER];
    // How much of the end of a request has come.
    let mut came = 0;
    loop {
        let count = connection.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        let mut answers = Vec::new();
        for byte in &buffer[..count] {
            came = match (*byte == END[came], *byte) {
                (true, _) => came + 1,
                (false, b'\r') => 1,
                (false, _) => 0,
            };
            if came == END.len() {
                came = 0;
                answers.extend_from_slice(ANSWER);
            }
        }
        connection.write_all(&answers).await?;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn each_request_has_its_answer_however_it_is_cut() {
        let server = NullServer::start().unwrap();
        let request = b"GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n";
        let both = request.repeat(2);
        for cut in 0..=both.len() {
            let mut connection = TcpStream::connect(server.address).unwrap();
            connection.set_nodelay(true).unwrap();
            connection.write_all(&both[..cut]).unwrap();
            connection.write_all(&both[cut..]).unwrap();
            let mut answers = vec![0; 2 * ANSWER.len()];
            connection.read_exact(&mut answers).unwrap();
            assert_eq!(answers, ANSWER.repeat(2), "cut at {cut}");
        }
    }

    #[test]
    fn it_ends_when_it_is_dropped() {
        let server = NullServer::start().unwrap();
        let mut connection = TcpStream::connect(server.address).unwrap();
        drop(server);
        assert_eq!(connection.read(&mut [0]).unwrap_or(0), 0);
    }
}
