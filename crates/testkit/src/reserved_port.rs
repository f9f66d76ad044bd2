//! A port for a program that is started next.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket, sockopt};

/// A port of this machine that nobody else is given as long as this lives, and on which a program can listen that sets
/// `SO_REUSEADDR`, as servers do: socket(7) lets several such sockets have an address while none of them listens.
#[derive(Debug)]
pub struct ReservedPort {
    _socket: OwnedFd,
    address: SocketAddr,
}

impl ReservedPort {
    /// Reserves one.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn new() -> io::Result<Self> {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let address = SocketAddr::try_from(getsockname(&socket)?)?;
        Ok(Self { _socket: socket, address })
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_server_can_listen_on_it() {
        let port = ReservedPort::new().unwrap();
        assert!(TcpStream::connect(port.address()).is_err(), "nothing listens yet");
        let _server = TcpListener::bind(port.address()).unwrap();
        assert!(TcpStream::connect(port.address()).is_ok());
    }

    /// Of 500 that were drawn from Linux's 14,116 ports for this, some nine pairs would be the same.
    #[test]
    fn nobody_else_is_given_it() {
        let ports: Vec<ReservedPort> = (0..500).map(|_| ReservedPort::new().unwrap()).collect();
        let different: BTreeSet<SocketAddr> = ports.iter().map(ReservedPort::address).collect();
        assert_eq!(different.len(), ports.len());
    }
}
