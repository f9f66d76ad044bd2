//! The address that a load goes to: found, and held against what may be loaded without being asked twice.

use std::net::{IpAddr, Ipv6Addr, ToSocketAddrs};
use std::path::PathBuf;

use stampede_core::Endpoint;
use stampede_plan::HttpUrl;

use crate::exit::Failure;

/// Finds the addresses to connect to: the URL's host, or those that take its place, or the unix socket.
pub(crate) fn find(
    url: &HttpUrl,
    unix: Option<PathBuf>,
    connect: &[String],
    allow_remote: bool,
) -> Result<Vec<Endpoint>, Failure> {
    if let Some(path) = unix {
        return Ok(vec![Endpoint::Unix(path)]);
    }
    let HttpUrl { host, port, .. } = url;
    if connect.is_empty() {
        return Ok(vec![find_one(host, *port, allow_remote)?]);
    }
    let places = connect.iter().map(|typed| {
        let (host, port) =
            typed.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?))).ok_or_else(|| {
                Failure::usage(format!("--connect {typed} is not a place such as 127.0.0.1:8081 or [::1]:8081"))
            })?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        find_one(host, port, allow_remote)
    });
    places.collect()
}

fn find_one(host: &str, port: u16, allow_remote: bool) -> Result<Endpoint, Failure> {
    let addresses = (host, port)
        .to_socket_addrs()
        .map_err(|error| Failure::missing(format!("cannot find the address of {host}: {error}")))?;
    // IPv4 first: a server on "localhost" often listens there only.
    let mut addresses: Vec<_> = addresses.collect();
    addresses.sort_by_key(std::net::SocketAddr::is_ipv6);
    let Some(address) = addresses.first() else {
        return Err(Failure::missing(format!("cannot find the address of {host}: it has none")));
    };
    if !allow_remote && !is_near(address.ip()) {
        return Err(Failure::usage(format!(
            "{host} ({}) is neither this machine nor in a private network\n  \
             a load on a server that is not yours is an attack; if it is yours, add --allow-remote",
            address.ip()
        )));
    }
    Ok(Endpoint::Tcp(*address))
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
    fn a_socket_is_loaded_in_place_of_the_address() {
        let socket = PathBuf::from("/run/php-fpm.sock");
        let url: HttpUrl = "http://far.example/x".parse().ok().unwrap();
        let found = find(&url, Some(socket.clone()), &[], false).ok().unwrap();
        assert_eq!(found, [Endpoint::Unix(socket)]);
    }

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
