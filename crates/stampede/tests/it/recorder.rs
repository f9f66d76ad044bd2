//! A server that keeps every request, and answers as it is told.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// What is sent in answer to a request; of one to HEAD, the head.
pub(crate) struct Answer {
    pub(crate) bytes: Vec<u8>,
    /// Whether the connection is closed after it.
    pub(crate) closes: bool,
}

/// Keeps every request, and answers it by its target and the server's port.
pub(crate) struct Recorder {
    pub(crate) port: u16,
    requests: Arc<Mutex<Vec<Vec<u8>>>>,
    open: Arc<Mutex<Vec<TcpStream>>>,
    stopping: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

impl Recorder {
    pub(crate) fn start(answer: fn(&str, u16) -> Answer) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (requests, open, stopping) = (Arc::default(), Arc::default(), Arc::new(AtomicBool::new(false)));
        let acceptor = {
            let (requests, open, stopping) = (Arc::clone(&requests), Arc::clone(&open), Arc::clone(&stopping));
            thread::spawn(move || accept(&listener, (answer, port), &requests, &open, &stopping))
        };
        Self { port, requests, open, stopping, acceptor: Some(acceptor) }
    }

    /// Every request in order: its line, its headers by name, and its body.
    pub(crate) fn stop(mut self) -> Vec<String> {
        self.stopping.store(true, Ordering::SeqCst);
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)));
        for stream in self.open.lock().unwrap().iter() {
            // It may have ended by itself.
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.acceptor.take().unwrap().join().unwrap();
        let port = self.port.to_string();
        let requests = self.requests.lock().unwrap();
        requests.iter().map(|request| sorted(&String::from_utf8_lossy(request).replace(&port, "PORT"))).collect()
    }
}

fn accept(
    listener: &TcpListener,
    answer: (fn(&str, u16) -> Answer, u16),
    requests: &Arc<Mutex<Vec<Vec<u8>>>>,
    open: &Mutex<Vec<TcpStream>>,
    stopping: &AtomicBool,
) {
    thread::scope(|scope| {
        for stream in listener.incoming() {
            if stopping.load(Ordering::SeqCst) {
                return;
            }
            let Ok(stream) = stream else { continue };
            open.lock().unwrap().push(stream.try_clone().unwrap());
            // A client that has gone is no fault of the server.
            scope.spawn(move || drop(serve(stream, answer, requests)));
        }
    });
}

fn serve(
    mut stream: TcpStream,
    (answer, port): (fn(&str, u16) -> Answer, u16),
    requests: &Mutex<Vec<Vec<u8>>>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut unread, mut buffer) = (Vec::new(), [0; 16 << 10]);
    loop {
        while let Some(length) = length(&unread) {
            let request: Vec<u8> = unread.drain(..length).collect();
            let target = String::from_utf8_lossy(&request).split(' ').nth(1).unwrap_or_default().to_owned();
            let is_head = request.starts_with(b"HEAD ");
            requests.lock().unwrap().push(request);
            let Answer { bytes, closes } = answer(&target, port);
            let head = bytes.windows(4).position(|end| end == b"\r\n\r\n").unwrap_or(bytes.len()) + 4;
            stream.write_all(if is_head { &bytes[..head] } else { &bytes })?;
            if closes {
                // It is open elsewhere, too.
                return stream.shutdown(Shutdown::Both);
            }
        }
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            count => unread.extend_from_slice(&buffer[..count]),
        }
    }
}

/// The length of the first request, when it is complete.
fn length(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|end| end == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
    let body = text.split("\r\n").find_map(|line| line.strip_prefix("content-length: "));
    let length = head + body.map_or(0, |body| body.parse().unwrap());
    (bytes.len() >= length).then_some(length)
}

/// Tables of Lua have no order: the same request with its headers by name.
fn sorted(request: &str) -> String {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<_> = head.split("\r\n").collect();
    lines[1..].sort_unstable();
    format!("{}\n\n{body}", lines.join("\n"))
}
