//! An HTTP/2 server of plain code that does what a script says: frames are written byte by byte, so that they may be wrong.

use std::io::{self, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use stampede_core::Endpoint;

/// What has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// The client's preface: nothing has been said yet.
    Preface,
    /// The head of a request, maybe with its end.
    Head(u32),
    /// The end of a request, after its head.
    End(u32),
}

/// What a server does about it; an error ends the connection.
pub(crate) type Script = fn(&mut Peer, Came) -> io::Result<()>;

/// One connection of the server.
pub(crate) struct Peer {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
    /// Its number, from 0, and how many requests came on it.
    pub(crate) connection: u64,
    pub(crate) requests: u64,
}

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PUSH_PROMISE: u8 = 5;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// The field `:status: 200` (RFC 7541, appendix A).
pub(crate) const OK: &[u8] = &[0x88];

/// The frame of RFC 9113, section 4.1.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = (payload.len() as u32).to_be_bytes();
    let mut frame = vec![a, b, c, kind, flags];
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

impl Peer {
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    pub(crate) fn say(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> io::Result<()> {
        self.write(&frame(kind, flags, stream, payload))
    }

    /// SETTINGS with these entries.
    pub(crate) fn settings(&mut self, entries: &[(u16, u32)]) -> io::Result<()> {
        let payload: Vec<u8> = entries
            .iter()
            .flat_map(|(identifier, value)| [&identifier.to_be_bytes()[..], &value.to_be_bytes()].concat())
            .collect();
        self.say(SETTINGS, 0, 0, &payload)
    }

    pub(crate) fn answer(&mut self, stream: u32) -> io::Result<()> {
        let answer = [frame(HEADERS, END_HEADERS, stream, OK), frame(DATA, END_STREAM, stream, b"ok")];
        self.write(&answer.concat())
    }

    pub(crate) fn go_away(&mut self, last_stream: u32) -> io::Result<()> {
        self.say(GOAWAY, 0, 0, &[last_stream.to_be_bytes(), [0; 4]].concat())
    }

    pub(crate) fn window_update(&mut self, stream: u32, increment: u32) -> io::Result<()> {
        self.say(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
    }

    /// Ends the connection now, as far as the server writes; what the client still sends is read, so that no reset follows.
    pub(crate) fn hang_up(&mut self) -> io::Result<()> {
        self.stream.shutdown(std::net::Shutdown::Write)?;
        io::copy(&mut self.reader, &mut io::sink())?;
        Err(io::ErrorKind::ConnectionAborted.into())
    }

    fn serve(&mut self, script: Script, received: &AtomicU64) -> io::Result<()> {
        let mut preface = [0; 24];
        self.reader.read_exact(&mut preface)?;
        assert_eq!(&preface, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        script(self, Came::Preface)?;
        loop {
            let mut head = [0; 9];
            self.reader.read_exact(&mut head)?;
            let [a, b, c, kind, flags, stream @ ..] = head;
            let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
            self.reader.read_exact(&mut payload)?;
            let stream = u32::from_be_bytes(stream);
            if kind == HEADERS {
                self.requests += 1;
                received.fetch_add(1, Ordering::SeqCst);
                script(self, Came::Head(stream))?;
            }
            if matches!(kind, HEADERS | DATA) && flags & END_STREAM != 0 {
                script(self, Came::End(stream))?;
            }
        }
    }
}

/// It lives as long as the test.
pub(crate) struct Http2Server {
    pub(crate) endpoint: Endpoint,
    received: Arc<AtomicU64>,
    accepted: Arc<AtomicU64>,
}

impl Http2Server {
    pub(crate) fn start(script: Script) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        Self::serve(listener, script, Duration::ZERO)
    }

    /// A server to which a connection comes only so long after it was asked for: its queue is full until then.
    pub(crate) fn start_late(script: Script, late: Duration) -> (Self, Vec<TcpStream>) {
        use rustix::net::{AddressFamily, SocketType, bind, listen, socket};
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        listen(&socket, 0).unwrap();
        let listener = TcpListener::from(socket);
        let address = listener.local_addr().unwrap();
        let mut fillers = Vec::new();
        // A queue of length 0 takes one connection; the next ones get no answer to their SYN.
        while let Ok(filler) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
            fillers.push(filler);
            assert!(fillers.len() < 10, "the queue of {address} does not become full");
        }
        (Self::serve(listener, script, late), fillers)
    }

    fn serve(listener: TcpListener, script: Script, late: Duration) -> Self {
        let endpoint = Endpoint::Tcp(listener.local_addr().unwrap());
        let (received, accepted) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (of_server, connections) = (Arc::clone(&received), Arc::clone(&accepted));
        thread::spawn(move || {
            let begins_at = Instant::now() + late;
            thread::sleep(begins_at.saturating_duration_since(Instant::now()));
            for stream in listener.incoming().flatten() {
                let received = Arc::clone(&of_server);
                let connection = connections.fetch_add(1, Ordering::SeqCst);
                stream.set_nodelay(true).unwrap();
                thread::spawn(move || {
                    let reader = BufReader::new(stream.try_clone().unwrap());
                    let mut peer = Peer { stream, reader, connection, requests: 0 };
                    // A client that has gone is no fault of the server.
                    drop(peer.serve(script, &received));
                });
            }
        });
        Self { endpoint, received, accepted }
    }

    /// How many requests have come.
    pub(crate) fn requests(&self) -> u64 {
        self.received.load(Ordering::SeqCst)
    }

    /// How many connections were accepted.
    pub(crate) fn connections(&self) -> u64 {
        self.accepted.load(Ordering::SeqCst)
    }
}
