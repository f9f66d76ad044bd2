//! The port of an image that takes the load: where it listens it is asked, since what an image exposes is only what its author wrote.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use stampede_core::{Endpoint, Request};
use stampede_seam::{Call, Vantage};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::sockets::Listening;

/// A question that every server of FastCGI answers, `FCGI_GET_VALUES` without names, and how its answer begins.
/// <https://fastcgi-archives.github.io/FastCGI_Specification.html#S4.1>
const GET_VALUES: [u8; 8] = [1, 9, 0, 0, 0, 0, 0, 0];
const VALUES: [u8; 2] = [1, 10];

/// How long a port may take to tell what it speaks.
const FAST_CGI_TIME: Duration = Duration::from_secs(1);

/// What a port was found to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spoken {
    /// It answers requests, this one with this status.
    Http(u16),
    /// It speaks FastCGI, as PHP-FPM.
    FastCgi,
    /// The container alone reaches it.
    Private,
    /// Neither, for this reason.
    Other(String),
}

/// Asks each port that was not asked before, or that was busy with something else then.
pub(crate) async fn ask(
    known: &mut BTreeMap<u16, Spoken>,
    listening: &[Listening],
    address: IpAddr,
    vantage: &dyn Vantage,
    patience: Duration,
) {
    for Listening { port, is_private } in listening {
        if matches!(known.get(port), Some(Spoken::Http(_) | Spoken::FastCgi)) {
            continue;
        }
        let spoken = match is_private {
            true => Spoken::Private,
            false => one(SocketAddr::new(address, *port), vantage, patience).await,
        };
        known.insert(*port, spoken);
    }
}

async fn one(address: SocketAddr, vantage: &dyn Vantage, patience: Duration) -> Spoken {
    let call = Call {
        endpoint: Endpoint::Tcp(address),
        tls: None,
        host: None,
        request: Request { method: "GET".to_owned(), path: "/".to_owned(), headers: BTreeMap::new(), body: Vec::new() },
        timeout: patience,
    };
    match vantage.exchange(&call).await {
        Ok(answer) => Spoken::Http(answer.status),
        Err(_) if speaks_fast_cgi(address).await => Spoken::FastCgi,
        Err(error) => Spoken::Other(error.problem),
    }
}

async fn speaks_fast_cgi(address: SocketAddr) -> bool {
    let asked = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(&GET_VALUES).await?;
        let mut begin = [0; VALUES.len()];
        stream.read_exact(&mut begin).await?;
        Ok::<_, std::io::Error>(begin)
    };
    matches!(timeout(FAST_CGI_TIME, asked).await, Ok(Ok(VALUES)))
}

/// The port that takes the load: that of a page, of a redirect, of an answer that there is none, in this order; of equals one that the
/// image exposes, and the lowest.
pub(crate) fn best(known: &BTreeMap<u16, Spoken>, exposed: &[u16]) -> Option<u16> {
    let rank = |status: u16| match status {
        200..=299 => 0,
        300..=399 => 1,
        401 | 403..=405 => 2,
        500.. => 3,
        // What a port answers that speaks TLS, or is an administrator's.
        _ => 4,
    };
    let answering = known.iter().filter_map(|(port, spoken)| match spoken {
        Spoken::Http(status) => Some((rank(*status), !exposed.contains(port), *port)),
        _ => None,
    });
    answering.min().map(|(_, _, port)| port)
}

/// Why none takes it, and what to do.
pub(crate) fn why_none(known: &BTreeMap<u16, Spoken>) -> String {
    let of = |wanted: fn(&Spoken) -> bool| -> Option<String> {
        let ports: Vec<String> =
            known.iter().filter(|(_, spoken)| wanted(spoken)).map(|(port, _)| port.to_string()).collect();
        (!ports.is_empty()).then(|| ports.join(", "))
    };
    if let Some(ports) = of(|spoken| *spoken == Spoken::FastCgi) {
        return format!(
            "its port {ports} speaks FastCGI and none speaks HTTP: name an image that has a web server before PHP-FPM"
        );
    }
    let other = known.iter().find_map(|(port, spoken)| match spoken {
        Spoken::Other(problem) => Some(format!("its port {port} does not answer HTTP: {problem}")),
        _ => None,
    });
    other
        .or_else(|| {
            let ports = of(|spoken| *spoken == Spoken::Private)?;
            Some(format!("it listens on 127.0.0.1 alone (port {ports}): let it listen on 0.0.0.0"))
        })
        .unwrap_or_else(|| "it listens on no port".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(ports: &[(u16, Spoken)]) -> BTreeMap<u16, Spoken> {
        ports.iter().cloned().collect()
    }

    #[test]
    fn the_port_of_a_page_takes_the_load() {
        for (what, ports, exposed, port) in [
            ("one", vec![(8080, Spoken::Http(200))], vec![80], Some(8080)),
            (
                "a page before its administrator's",
                vec![(80, Spoken::Http(200)), (2019, Spoken::Http(404))],
                vec![],
                Some(80),
            ),
            ("TLS beside it", vec![(443, Spoken::Http(400)), (8080, Spoken::Http(302))], vec![443], Some(8080)),
            ("two pages", vec![(80, Spoken::Http(200)), (8080, Spoken::Http(200))], vec![8080], Some(8080)),
            ("a page that needs a path", vec![(80, Spoken::Http(404)), (443, Spoken::Http(400))], vec![], Some(80)),
            ("none", vec![(9000, Spoken::FastCgi), (81, Spoken::Private)], vec![], None),
        ] {
            assert_eq!(best(&known(&ports), &exposed), port, "{what}");
        }
    }

    #[test]
    fn why_there_is_none_says_what_to_do() {
        let other = Spoken::Other("connection reset".to_owned());
        for (ports, told) in [
            (vec![], "it listens on no port"),
            (vec![(9000, Spoken::FastCgi), (81, Spoken::Private)], "its port 9000 speaks FastCGI"),
            (vec![(81, Spoken::Private)], "127.0.0.1 alone (port 81): let it listen on 0.0.0.0"),
            (vec![(81, Spoken::Private), (6379, other)], "its port 6379 does not answer HTTP: connection reset"),
        ] {
            assert!(why_none(&known(&ports)).contains(told), "{ports:?}");
        }
    }
}
