//! Free TCP ports of an address of this machine.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// Below this, ports belong to the system's services.
const LOWEST: u16 = 1024;

/// The most ports that are looked through.
const SPAN: u16 = 10_000;

/// Linux's default `ip_local_port_range` begins here
/// ([ip-sysctl](https://docs.kernel.org/networking/ip-sysctl.html)).
const DEFAULT_LOCAL: u16 = 32_768;

/// Goes through the ports, so that a server does not get one whose last connections are not yet forgotten.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A port that nothing is bound to, outside the range that the kernel takes for outgoing connections: those could take it
/// before the server does.
pub(crate) fn free(address: IpAddr) -> io::Result<SocketAddr> {
    let ports = below_local_ports(&fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range")?);
    let span = u32::from(ports.end - ports.start);
    // Two Stampedes begin at different places.
    let begin = std::process::id().wrapping_mul(97);
    for _ in 0..span {
        let step = begin.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % span;
        let port = u16::try_from(u32::from(ports.start) + step).unwrap_or(ports.start);
        let address = SocketAddr::from((address, port));
        match TcpListener::bind(address) {
            Ok(_) => return Ok(address),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AddrInUse, format!("every port from {} to {} is in use", ports.start, ports.end)))
}

fn below_local_ports(setting: &str) -> Range<u16> {
    let low: u16 = setting.split_whitespace().next().and_then(|low| low.parse().ok()).unwrap_or(DEFAULT_LOCAL);
    // Where local ports begin very low there is nothing below; then one is as good as another.
    let end = if low > LOWEST { low } else { DEFAULT_LOCAL };
    end.saturating_sub(SPAN).max(LOWEST)..end
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn ports_lie_below_those_of_outgoing_connections() {
        assert_eq!(below_local_ports("32768\t60999\n"), 22_768..32_768);
        assert_eq!(below_local_ports("2000 60999"), 1024..2000);
        assert_eq!(below_local_ports("1024 65535"), 22_768..32_768);
        assert_eq!(below_local_ports(""), 22_768..32_768);
    }

    #[test]
    fn two_ports_differ_and_can_be_bound() {
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let (a, b) = (free(here).unwrap(), free(here).unwrap());
        assert_ne!(a, b);
        let _a = TcpListener::bind(a).unwrap();
        let _b = TcpListener::bind(b).unwrap();
    }
}
