//! Who drives the load: this process, or generators.

use std::net::{IpAddr, Ipv4Addr};

use stampede_core::Carrier;

use crate::mistake::Gathered;

/// `--generators`: none by default, and this process drives the load.
pub(crate) fn read_generators(typed: Option<&str>, mistakes: &mut Gathered) -> Vec<Carrier> {
    let Some(typed) = typed else { return Vec::new() };
    Carrier::read_all(typed).unwrap_or_else(|problem| {
        let fix = "for example --generators local:2,ssh:me@host";
        mistakes.add(format!("--generators {typed}"), problem, fix);
        Vec::new()
    })
}

/// The same for servers of this machine, which pods of a cluster do not reach in general.
pub(crate) fn read_generators_of_servers_here(typed: Option<&str>, mistakes: &mut Gathered) -> Vec<Carrier> {
    let mut carriers = read_generators(typed, mistakes);
    if carriers.contains(&Carrier::Kubernetes) {
        let fix = "use stampede load for what runs in the cluster, or generators by ssh here";
        mistakes.add(
            format!("--generators {}", typed.unwrap_or_default()),
            "has pods of a cluster, and the servers are on this machine",
            fix,
        );
        carriers.clear();
    }
    carriers
}

/// `--server-address`: the loopback address by default.
pub(crate) fn read_server_address(typed: Option<&str>, mistakes: &mut Gathered) -> IpAddr {
    let default = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let is_one = |address: &IpAddr| !address.is_unspecified() && !address.is_multicast();
    let read = |typed: &str| typed.parse().ok().filter(is_one);
    let fix = "for example --server-address 10.0.0.1; requests go to that one address";
    mistakes.value(("--server-address", typed), default, read, "is not one address of this machine", fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_listen_on_one_address() {
        for (typed, expected) in [
            (None, Some("127.0.0.1")),
            (Some("10.0.0.1"), Some("10.0.0.1")),
            (Some("fd00::1"), Some("fd00::1")),
            (Some("0.0.0.0"), None),
            (Some("::"), None),
            (Some("10.0.0.1:80"), None),
            (Some("host"), None),
        ] {
            let mut mistakes = Gathered::default();
            let address = read_server_address(typed, &mut mistakes).to_string();
            assert_eq!(mistakes.finish(Ok(address)).ok().as_deref(), expected, "{typed:?}");
        }
    }

    #[test]
    fn a_mistake_is_told_with_an_example() {
        for (typed, expected) in [
            (None, Ok(0)),
            (Some("local:2,ssh:me@host"), Ok(3)),
            (
                Some("remote"),
                Err(
                    "--generators remote has \"remote\", which is not local, ssh:DESTINATION, exec:COMMAND or kubernetes; for",
                ),
            ),
            (
                Some("local:0"),
                Err("--generators local:0 has \"0\", which is not a number of generators from 1 to 64; for"),
            ),
            (
                Some("local,kubernetes"),
                Err("--generators local,kubernetes has pods of a cluster, and the servers are on this machine; use"),
            ),
        ] {
            let mut mistakes = Gathered::default();
            let count = read_generators_of_servers_here(typed, &mut mistakes).len();
            match (mistakes.finish(Ok(count)), expected) {
                (Ok(count), Ok(expected)) => assert_eq!(count, expected),
                (Err(mistakes), Err(words)) => assert!(mistakes.to_string().starts_with(words), "{mistakes}"),
                other => panic!("{other:?}"),
            }
        }
    }
}
