//! Open files, accept queues and ports.

use rustix::process::{Resource, getrlimit};
use stampede_core::{Finding, Severity};

use super::{fine, found, text, warning, with};

/// Stampede's own files and a few dozen connections.
const LEAST_FILES: u64 = 256;

/// 256 connections of an open load and as many of a server.
const ENOUGH_FILES: u64 = 4_096;

/// The backlog of nginx and PHP-FPM by default (511), which a smaller limit would cut.
const ENOUGH_BACKLOG: u64 = 511;

/// A closed connection keeps its port for 60 s ([tcp(7)](https://man7.org/linux/man-pages/man7/tcp.7.html), TIME_WAIT).
const PORT_REST: f64 = 60.0;

/// Ports for 170 new connections a second.
const ENOUGH_PORTS: u64 = 10_000;

/// A closed connection that is tracked keeps its place for 120 s
/// ([nf_conntrack](https://docs.kernel.org/networking/nf_conntrack-sysctl.html), `nf_conntrack_tcp_timeout_time_wait`).
const PLACE_REST: f64 = 120.0;

/// Places for 1,000 new connections a second.
const ENOUGH_PLACES: u64 = 120_000;

pub(super) struct Network {
    /// Absent where there is no limit.
    files: Option<u64>,
    backlog: Option<u64>,
    ports: Option<(u64, u64)>,
    /// How many connections the kernel tracks at most; absent where it tracks none.
    places: Option<u64>,
}

pub(super) fn read() -> Network {
    let ports = text("/proc/sys/net/ipv4/ip_local_port_range").and_then(|range| {
        let (from, to) = range.split_once(char::is_whitespace)?;
        Some((from.parse().ok()?, to.trim().parse().ok()?))
    });
    let setting = |name: &str| -> Option<u64> { text(format!("/proc/sys/net/netfilter/{name}"))?.parse().ok() };
    let tracks = setting("nf_conntrack_count").is_some_and(|count| count > 0);
    Network {
        files: getrlimit(Resource::Nofile).maximum,
        backlog: text("/proc/sys/net/core/somaxconn").and_then(|text| text.parse().ok()),
        ports,
        places: setting("nf_conntrack_max").filter(|_| tracks),
    }
}

pub(super) fn judge(network: &Network) -> Vec<Finding> {
    let Network { files, backlog, ports, places } = *network;
    let files = match files {
        None => fine("open-files", "any number of open files"),
        Some(files) => {
            let text = format!("{files} open files and connections at most");
            let finding = if files < LEAST_FILES {
                found("open-files", Severity::Error, text, "raise the hard limit: ulimit -Hn 65536")
            } else if files < ENOUGH_FILES {
                warning("open-files", text, "raise the hard limit for large loads: ulimit -Hn 65536")
            } else {
                fine("open-files", text)
            };
            with(finding, "open_files", files as f64)
        }
    };
    let backlog = backlog.map(|backlog| {
        let finding = if backlog < ENOUGH_BACKLOG {
            warning(
                "accept-queue",
                format!("at most {backlog} connections can wait to be accepted, whatever a server is configured for"),
                "raise it: sysctl net.core.somaxconn=4096",
            )
        } else {
            fine("accept-queue", format!("up to {backlog} connections may wait to be accepted"))
        };
        with(finding, "somaxconn", backlog as f64)
    });
    let ports = ports.map(|(from, to)| {
        let count = to.saturating_sub(from) + 1;
        let rate = count as f64 / PORT_REST;
        let text = format!("{count} local ports, enough for {rate:.0} new connections a second to one address");
        let finding = if count < ENOUGH_PORTS {
            warning("ports", text, "widen them: sysctl net.ipv4.ip_local_port_range='15000 60999'")
        } else {
            fine("ports", text)
        };
        with(finding, "ports", count as f64)
    });
    let places = places.map(|places| {
        let rate = places as f64 / PLACE_REST;
        let text = format!("{places} tracked connections, enough for {rate:.0} new ones a second");
        let finding = if places < ENOUGH_PLACES {
            warning("connection-table", text, "make the table larger: sysctl net.netfilter.nf_conntrack_max=1048576")
        } else {
            fine("connection-table", text)
        };
        with(finding, "tracked_connections_limit", places as f64)
    });
    [Some(files), backlog, ports, places].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_the_network_are_judged_by_what_servers_and_loads_take() {
        for (name, network, expected) in [
            (
                "as Debian has it",
                Network {
                    files: Some(1 << 20),
                    backlog: Some(4_096),
                    ports: Some((32_768, 60_999)),
                    places: Some(262_144),
                },
                vec![Severity::Info; 4],
            ),
            (
                "tight",
                Network { files: Some(1_024), backlog: Some(128), ports: Some((50_000, 50_999)), places: Some(65_536) },
                vec![Severity::Warning; 4],
            ),
            ("too tight", Network { files: Some(64), backlog: None, ports: None, places: None }, vec![Severity::Error]),
            ("no limit", Network { files: None, backlog: None, ports: None, places: None }, vec![Severity::Info]),
        ] {
            let severities: Vec<Severity> = judge(&network).iter().map(|finding| finding.severity).collect();
            assert_eq!(severities, expected, "{name}");
        }
    }
}
