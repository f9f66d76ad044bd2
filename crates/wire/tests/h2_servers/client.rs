//! A session on a blocking socket, and what it sees.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Instant;

use stampede_core::Request;
use stampede_wire::h2::{RequestHead, Session, StreamFault, StreamVisitor};
use stampede_wire::response::Head;

use crate::DEADLINE;

/// What a visitor was told of one request.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Seen {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) end: Option<Result<(), StreamFault>>,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }
}

#[derive(Default)]
pub(crate) struct Answers {
    pub(crate) seen: Vec<Seen>,
    pub(crate) ended: Vec<u32>,
}

impl StreamVisitor for Answers {
    fn head(&mut self, key: u32, head: &Head<'_>) {
        let seen = &mut self.seen[key as usize];
        assert_eq!(seen.status, 0, "one head");
        seen.status = head.status;
        seen.headers = head
            .headers()
            .map(|(name, value)| (name.to_owned(), String::from_utf8_lossy(value).into_owned()))
            .collect();
    }

    fn body(&mut self, key: u32, bytes: &[u8]) {
        self.seen[key as usize].body.extend_from_slice(bytes);
    }

    fn end(&mut self, key: u32) {
        let before = self.seen[key as usize].end.replace(Ok(()));
        assert_eq!(before, None, "one end");
        self.ended.push(key);
    }

    fn failed(&mut self, key: u32, fault: StreamFault) {
        let before = self.seen[key as usize].end.replace(Err(fault));
        assert_eq!(before, None, "one end");
        self.ended.push(key);
    }
}

/// A session on a blocking socket.
pub(crate) struct Client {
    pub(crate) socket: TcpStream,
    pub(crate) session: Session,
    pub(crate) out: Vec<u8>,
    authority: String,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(DEADLINE)).unwrap();
        socket.set_nodelay(true).unwrap();
        let mut out = Vec::new();
        let session = Session::new(&mut out);
        Self { socket, session, out, authority: address.to_string() }
    }

    /// Sends all requests, `width` at a time in as many slots, and passes on what was seen of each.
    pub(crate) fn run(&mut self, requests: &[Request], width: usize, mut each: impl FnMut(&Request, Seen)) {
        let mut answers = Answers { seen: (0..width).map(|_| Seen::default()).collect(), ended: Vec::new() };
        let mut under_way: Vec<Option<&Request>> = vec![None; width];
        let mut waiting = requests.iter().peekable();
        loop {
            for (key, slot) in under_way.iter_mut().enumerate() {
                if slot.is_none() && self.session.can_start() {
                    *slot = waiting.next();
                    if let Some(request) = slot {
                        self.start(key as u32, request);
                    }
                }
            }
            self.flush(&mut answers);
            if waiting.peek().is_none() && self.session.in_flight() == 0 && answers.ended.is_empty() {
                return;
            }
            self.read_until(&mut answers, |_, answers| !answers.ended.is_empty());
            for key in answers.ended.drain(..) {
                let seen = std::mem::take(&mut answers.seen[key as usize]);
                each(under_way[key as usize].take().unwrap(), seen);
            }
        }
    }

    pub(crate) fn start(&mut self, key: u32, request: &Request) {
        let head = RequestHead::new(request, "http", &self.authority);
        self.session.request(key, &head, &request.body, &mut self.out).unwrap();
    }

    /// Reads, and sends what that asks for.
    pub(crate) fn read_until(&mut self, answers: &mut Answers, is_enough: impl Fn(&Session, &Answers) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        let mut buffer = vec![0; 64 << 10];
        while !is_enough(&self.session, answers) {
            assert!(Instant::now() < deadline, "{:?}", answers.seen);
            let count = self.socket.read(&mut buffer).unwrap();
            assert_ne!(count, 0, "the server closed: {:?}", answers.seen);
            self.session.feed(&buffer[..count], &mut self.out, answers).unwrap();
            self.flush(answers);
        }
    }

    /// Sends what there is to send; reads when the server does not, for it may be waiting for us to.
    pub(crate) fn flush(&mut self, answers: &mut Answers) {
        self.socket.set_nonblocking(true).unwrap();
        let mut buffer = vec![0; 64 << 10];
        let deadline = Instant::now() + DEADLINE;
        let mut sent = 0;
        while sent < self.out.len() {
            assert!(Instant::now() < deadline, "{} bytes cannot be sent", self.out.len() - sent);
            match self.socket.write(&self.out[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    match self.socket.read(&mut buffer) {
                        Ok(count) => self.session.feed(&buffer[..count], &mut self.out, answers).unwrap(),
                        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "{error}"),
                    }
                    thread::yield_now();
                }
                Err(error) => panic!("{error}"),
            }
        }
        self.out.clear();
        self.socket.set_nonblocking(false).unwrap();
    }
}
