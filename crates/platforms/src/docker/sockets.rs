//! The sockets on which somebody listens in a container's network, as the kernel tells of them in the table of one of its processes.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The state of a socket that listens, `TCP_LISTEN`.
/// <https://www.kernel.org/doc/html/latest/networking/proc_net_tcp.html>
const LISTEN: &str = "0A";

/// Where the engine itself answers questions for names in each container.
/// <https://docs.docker.com/engine/network/#dns-services>
const RESOLVER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 11));

/// An address on which somebody listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Listening {
    pub(crate) port: u16,
    /// Whether the container alone can reach it.
    pub(crate) is_private: bool,
}

/// Those of the network that a process is in, each port once; none where it has ended.
pub(crate) fn listening(pid: u32) -> Vec<Listening> {
    let tables =
        ["tcp", "tcp6"].map(|table| fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default());
    let mut all: Vec<Listening> = tables.iter().flat_map(|table| read(table)).collect();
    // The public one of a port comes first.
    all.sort_unstable();
    all.dedup_by_key(|listening| listening.port);
    all
}

fn read(table: &str) -> impl Iterator<Item = Listening> {
    table.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let local = fields.next()?;
        let state = fields.nth(1)?;
        let (address, port) = local.split_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        let address = address_of(address)?;
        (state == LISTEN && address != RESOLVER).then_some(Listening { port, is_private: address.is_loopback() })
    })
}

/// An address as the kernel prints it: words of 32 bits in its own order of bytes, in hexadecimal.
fn address_of(text: &str) -> Option<IpAddr> {
    let words = text.len() / 8;
    let word = |index: usize| u32::from_str_radix(text.get(8 * index..8 * index + 8)?, 16).ok().map(u32::to_ne_bytes);
    match words {
        1 => Some(IpAddr::V4(Ipv4Addr::from(word(0)?))),
        4 => {
            let bytes: Vec<u8> = (0..4).map(word).collect::<Option<Vec<_>>>()?.concat();
            let address = Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?);
            Some(address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn sockets_that_listen_are_read_with_whom_they_serve() {
        let line = |number: u32, local: &str, state: &str| {
            format!("   {number}: {local} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  0  0 1 1 0\n")
        };
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
        let table = head.to_owned()
            + &line(0, "00000000:1F90", "0A")
            + &line(1, "0100007F:07E3", "0A")
            + &line(2, "00000000:0050", "01")
            + &line(3, "00000000000000000000000000000000:0050", "0A")
            + &line(4, "00000000000000000000000001000000:2328", "0A")
            + &line(6, "0B00007F:A0C5", "0A")
            + &line(5, "0000000000000000FFFF00000100007F:2329", "0A");
        let found: Vec<(u16, bool)> = read(&table).map(|one| (one.port, one.is_private)).collect();
        assert_eq!(found, [(8080, false), (2019, true), (80, false), (9000, true), (9001, true)]);
    }

    #[test]
    fn a_socket_of_this_process_is_seen() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        let seen = listening(std::process::id());
        assert!(seen.contains(&Listening { port, is_private: true }), "{port} {seen:?}");
        assert_eq!(listening(u32::MAX), []);
    }
}
