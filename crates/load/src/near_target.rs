//! The address that a load goes to: found, and checked against what may be loaded without being asked twice.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

use stampede_core::Endpoint;
use stampede_wire::fastcgi;
use thiserror::Error;

/// Why a place is not loaded.
#[derive(Debug, Error)]
pub enum TargetError {
    /// Its name leads nowhere.
    #[error("cannot find the address of {host}")]
    Unknown {
        /// The name.
        host: String,
        /// Why.
        source: io::Error,
    },
    /// It may be a stranger's.
    #[error(
        "{host} ({ip}) is neither this machine nor in a private network\n  a load on a server that is not yours is an attack; if it is \
         yours, add --allow-remote"
    )]
    Far {
        /// The name.
        host: String,
        /// Its address.
        ip: IpAddr,
    },
}

/// Longest wait for word that a server speaks FastCGI.
const FASTCGI_WAIT: Duration = Duration::from_secs(1);

/// Whether a server that gave no answer speaks FastCGI, as PHP-FPM does. Asks it, and waits a second for that at most.
pub fn speaks_fastcgi(endpoint: &Endpoint) -> bool {
    fastcgi::is_spoken(endpoint, FASTCGI_WAIT)
}

/// Finds the address of a host, which is near unless those that are not are allowed.
///
/// # Errors
///
/// When there is none, or it is not near.
pub fn find_target(host: &str, port: u16, allow_remote: bool) -> Result<Endpoint, TargetError> {
    let unknown = || TargetError::Unknown { host: host.to_owned(), source: io::Error::other("it has none") };
    find_addresses(host, port, allow_remote)?.first().map(|address| Endpoint::Tcp(*address)).ok_or_else(unknown)
}

/// Finds all addresses of a host, each of which is near unless those that are not are allowed: IPv4 first.
///
/// # Errors
///
/// When its name leads nowhere, or the first is not near.
pub fn find_addresses(host: &str, port: u16, allow_remote: bool) -> Result<Vec<SocketAddr>, TargetError> {
    let unknown = |source| TargetError::Unknown { host: host.to_owned(), source };
    // IPv4 first: a server on "localhost" often listens there only.
    let mut addresses: Vec<SocketAddr> = (host, port).to_socket_addrs().map_err(unknown)?.collect();
    addresses.sort_by_key(SocketAddr::is_ipv6);
    let may_be = |address: &SocketAddr| allow_remote || is_near(address.ip());
    if let Some(address) = addresses.first().filter(|address| !may_be(address)) {
        return Err(TargetError::Far { host: host.to_owned(), ip: address.ip() });
    }
    addresses.retain(may_be);
    Ok(addresses)
}

/// Loopback, link-local and private addresses (RFC 1918, RFC 3927, RFC 4193, RFC 4291).
fn is_near(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_unspecified(),
        IpAddr::V6(ip) => {
            ip == Ipv6Addr::LOCALHOST || ip.is_unspecified() || ip.is_unique_local() || ip.is_unicast_link_local()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_addresses_need_no_permission() {
        for ip in [
            "127.0.0.1",
            "127.9.9.9",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.0.1",
            "::1",
            "fd00::1",
            "fe80::1",
            "::ffff:127.0.0.1",
        ] {
            assert!(is_near(ip.parse().unwrap()), "{ip}");
        }
        for ip in ["192.0.2.1", "8.8.8.8", "172.32.0.1", "2001:db8::1", "::ffff:8.8.8.8"] {
            assert!(!is_near(ip.parse().unwrap()), "{ip}");
        }
    }
}
