//! The kernel's own account of listening sockets, asked for over netlink
//! ([sock_diag(7)](https://man7.org/linux/man-pages/man7/sock_diag.7.html)): how many connections wait to be accepted, and how
//! many may. Only listening sockets are listed, so that the cost does not grow with the number of connections.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with};
use stampede_core::Endpoint;

/// `linux/netlink.h`.
const HEADER: usize = 16;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const REQUEST_DUMP: u16 = 1 | 0x300;
/// `linux/sock_diag.h`.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// `TCP_LISTEN` of `net/tcp_states.h`, as a bit; unix sockets use it too.
const LISTENING: u32 = 1 << 10;
const AF_UNIX: u8 = 1;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;
/// `linux/unix_diag.h`: show the name and the lengths of queues.
const SHOW: u32 = 1 | 0x10;
const UNIX_NAME: u16 = 0;
const UNIX_QUEUE: u16 = 4;

/// The kernel answers at once.
const PATIENCE: Duration = Duration::from_millis(100);

/// Connections that wait to be accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AcceptQueue {
    /// How many wait.
    pub(crate) waiting: u64,
    /// How many may: of a listening socket the kernel tells it where it tells the send queue of others.
    pub(crate) most: u64,
}

/// A line to the kernel.
pub(crate) struct AcceptQueues {
    socket: OwnedFd,
}

impl AcceptQueues {
    /// Opens it.
    pub(crate) fn open() -> io::Result<Self> {
        let socket =
            socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(netlink::INET_DIAG))?;
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
        Ok(Self { socket })
    }

    /// How many connections wait at each of these addresses; nothing where nothing listens. Several sockets on one address
    /// (`SO_REUSEPORT`) are added up.
    pub(crate) fn read(&self, endpoints: &[Endpoint]) -> io::Result<Vec<Option<AcceptQueue>>> {
        let mut waiting: Vec<Option<AcceptQueue>> = vec![None; endpoints.len()];
        let has = |family: u8| endpoints.iter().any(|endpoint| family_of(endpoint) == family);
        for family in [AF_INET, AF_INET6, AF_UNIX] {
            if !has(family) {
                continue;
            }
            send(&self.socket, &question(family), SendFlags::empty())?;
            self.listen(|endpoint, queue| {
                if let Some(place) = endpoints.iter().position(|known| *known == endpoint) {
                    let all = waiting[place].get_or_insert_default();
                    all.waiting += queue.waiting;
                    all.most += queue.most;
                }
            })?;
        }
        Ok(waiting)
    }

    fn listen(&self, mut each: impl FnMut(Endpoint, AcceptQueue)) -> io::Result<()> {
        let mut buffer = vec![0; 32 << 10];
        loop {
            let (count, _) = recv(&self.socket, &mut buffer[..], RecvFlags::empty())?;
            let mut rest = &buffer[..count];
            while let Some((kind, content, after)) = message(rest) {
                match kind {
                    DONE => return Ok(()),
                    ERROR => return Err(io::Error::other("the kernel refused to list sockets")),
                    SOCK_DIAG_BY_FAMILY => {
                        if let Some((endpoint, queue)) = listener(content) {
                            each(endpoint, queue);
                        }
                    }
                    _ => {}
                }
                rest = after;
            }
        }
    }
}

fn family_of(endpoint: &Endpoint) -> u8 {
    match endpoint {
        Endpoint::Tcp(SocketAddr::V4(_)) => AF_INET,
        Endpoint::Tcp(SocketAddr::V6(_)) => AF_INET6,
        Endpoint::Unix(_) => AF_UNIX,
    }
}

/// A request for all listening sockets of a family: `inet_diag_req_v2` or `unix_diag_req`.
fn question(family: u8) -> Vec<u8> {
    let mut body = if family == AF_UNIX { vec![family, 0, 0, 0] } else { vec![family, IPPROTO_TCP, 0, 0] };
    body.extend(LISTENING.to_ne_bytes());
    if family == AF_UNIX {
        body.extend([0; 4]);
        body.extend(SHOW.to_ne_bytes());
        body.extend([0; 8]);
    } else {
        body.extend([0; 48]);
    }
    let mut message = Vec::new();
    message.extend(((HEADER + body.len()) as u32).to_ne_bytes());
    message.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    message.extend(REQUEST_DUMP.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    message
}

/// The first message: its type, its content and what follows it.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = number(bytes, 0)? as usize;
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    let content = bytes.get(HEADER..length)?;
    Some((kind, content, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

/// A listening socket from an `inet_diag_msg` or a `unix_diag_msg`.
fn listener(content: &[u8]) -> Option<(Endpoint, AcceptQueue)> {
    match *content.first()? {
        AF_UNIX => {
            let (mut name, mut queue) = (None, None);
            let mut attributes = content.get(16..)?;
            while let Some((kind, value, after)) = attribute(attributes) {
                match kind {
                    UNIX_NAME => name = Some(value),
                    UNIX_QUEUE => queue = accept_queue(value, 0),
                    _ => {}
                }
                attributes = after;
            }
            let name = std::str::from_utf8(name?).ok()?.trim_end_matches('\0');
            Some((Endpoint::Unix(PathBuf::from(name)), queue?))
        }
        family => {
            let port = u16::from_be_bytes(content.get(4..6)?.try_into().ok()?);
            let ip = match family {
                AF_INET => IpAddr::from(<[u8; 4]>::try_from(content.get(8..12)?).ok()?),
                AF_INET6 => IpAddr::from(<[u8; 16]>::try_from(content.get(8..24)?).ok()?),
                _ => return None,
            };
            Some((Endpoint::Tcp(SocketAddr::new(ip, port)), accept_queue(content, 56)?))
        }
    }
}

/// Two lengths beside each other: `udiag_rqueue` and `udiag_wqueue`, or `idiag_rqueue` and `idiag_wqueue`.
fn accept_queue(bytes: &[u8], at: usize) -> Option<AcceptQueue> {
    Some(AcceptQueue { waiting: number(bytes, at)?.into(), most: number(bytes, at + 4)?.into() })
}

/// The first attribute: its type, its value and what follows it.
fn attribute(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
    let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?);
    let value = bytes.get(4..length)?;
    Some((kind, value, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::Path;

    use super::*;
    use crate::kernel_text::longest_accept_queue;

    #[test]
    fn a_queue_is_as_long_as_was_asked_for_and_the_kernel_allows() {
        let queues = AcceptQueues::open().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let (tcp, unix) = (TcpListener::bind("127.0.0.1:0").unwrap(), UnixListener::bind(&path).unwrap());
        let both = [Endpoint::Tcp(tcp.local_addr().unwrap()), Endpoint::Unix(path)];
        let (_, longest) = longest_accept_queue(Path::new("/")).unwrap();
        for (asked, most) in [(7, 7), (1 << 20, longest)] {
            rustix::net::listen(&tcp, asked).unwrap();
            rustix::net::listen(&unix, asked).unwrap();
            assert_eq!(queues.read(&both).unwrap(), [Some(AcceptQueue { waiting: 0, most }); 2], "{asked}");
        }
    }

    #[test]
    fn connections_that_nobody_accepted_are_counted() {
        let queues = AcceptQueues::open().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let (four, unix) = (TcpListener::bind("127.0.0.1:0").unwrap(), UnixListener::bind(&path).unwrap());
        let six = TcpListener::bind("[::1]:0").ok();
        let endpoint = |listener: &TcpListener| Endpoint::Tcp(listener.local_addr().unwrap());
        let nowhere = Endpoint::Unix(folder.path().join("nothing"));
        let mut all = vec![endpoint(&four), Endpoint::Unix(path.clone()), nowhere.clone()];
        all.extend(six.as_ref().map(endpoint));

        let mut held = Vec::new();
        for waiting in 0..4u64 {
            let read = queues.read(&all).unwrap();
            for (endpoint, read) in all.iter().zip(read) {
                let read = read.map(|queue| queue.waiting);
                assert_eq!(read, (*endpoint != nowhere).then_some(waiting), "{endpoint}");
            }
            held.push((
                TcpStream::connect(four.local_addr().unwrap()).unwrap(),
                UnixStream::connect(&path).unwrap(),
                six.as_ref().map(|six| TcpStream::connect(six.local_addr().unwrap()).unwrap()),
            ));
        }
        let accepted = four.accept().unwrap();
        assert_eq!(queues.read(&all).unwrap()[0].map(|queue| queue.waiting), Some(3));
        drop((accepted, held, unix));
    }

    #[test]
    fn bytes_that_are_no_message_are_not_read_beyond_their_end() {
        let whole = question(AF_INET);
        for cut in 0..whole.len() {
            assert!(message(&whole[..cut]).is_none(), "{cut}");
        }
        for length in 0..80 {
            for family in [AF_UNIX, AF_INET, AF_INET6, 7] {
                let mut content = vec![0xff; length];
                if let Some(first) = content.first_mut() {
                    *first = family;
                }
                let _ = listener(&content);
            }
        }
    }
}
