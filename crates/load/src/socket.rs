//! Non-blocking sockets to a target.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::sockopt::set_tcp_nodelay;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, socket_with};
use stampede_core::Endpoint;

/// Where connections go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// From an address of this machine, where that is given.
    Tcp(SocketAddr, Option<IpAddr>),
    Unix(SocketAddrUnix),
}

impl Target {
    pub(crate) fn new(endpoint: &Endpoint, source: Option<IpAddr>) -> Result<Self, Errno> {
        match endpoint {
            Endpoint::Tcp(address) => Ok(Self::Tcp(*address, source)),
            Endpoint::Unix(path) => SocketAddrUnix::new(path).map(Self::Unix),
        }
    }

    /// Opens the `number`-th connection, which is writable when it is there. `EAGAIN` means that a unix socket's queue of new
    /// connections is full.
    pub(crate) fn open(&self, number: u32) -> Result<OwnedFd, Errno> {
        let family = match self {
            Self::Tcp(SocketAddr::V4(_), _) => AddressFamily::INET,
            Self::Tcp(SocketAddr::V6(_), _) => AddressFamily::INET6,
            Self::Unix(_) => AddressFamily::UNIX,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        let connecting = match self {
            Self::Tcp(address, given) => {
                set_tcp_nodelay(&socket, true)?;
                let given = given.map(|source| SocketAddr::from((source, 0)));
                if let Some(source) = given.or_else(|| source(*address, number)) {
                    bind(&socket, &source)?;
                }
                connect(&socket, address)
            }
            Self::Unix(address) => connect(&socket, address),
        };
        match connecting {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
            Err(errno) => Err(errno),
        }
    }
}

/// The address that a connection comes from, where the kernel's choice would not do.
///
/// A closed connection keeps its port for a minute (`TIME_WAIT`), and an address has some 28,000 ports. A server that
/// closes after each answer would use them up in seconds, so connections over the loopback device, all of whose
/// 127.0.0.0/8 is this machine, come from 256 addresses in turn.
fn source(target: SocketAddr, number: u32) -> Option<SocketAddr> {
    let [_, _, _, turn] = number.to_be_bytes();
    match target.ip() {
        IpAddr::V4(ip) if ip.is_loopback() => {
            let source = Ipv4Addr::new(127, 0, turn, 1);
            Some(SocketAddr::from((source, 0)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_connections_come_from_addresses_in_turn() {
        for (target, number, expected) in [
            ("127.0.0.1:80", 0, Some("127.0.0.1:0")),
            ("127.0.0.1:80", 255, Some("127.0.255.1:0")),
            ("127.0.0.1:80", 256, Some("127.0.0.1:0")),
            ("192.0.2.1:80", 1, None),
            ("[::1]:80", 1, None),
        ] {
            let expected = expected.map(|address| address.parse().unwrap());
            assert_eq!(source(target.parse().unwrap(), number), expected, "{target}");
        }
    }
}
