//! Where a load goes.

use std::net::{IpAddr, SocketAddr};

use stampede_conduct::Failure;
use stampede_core::Endpoint;
use stampede_load::{Location, RedirectRules, TargetError, Trust, find_target};
use stampede_plan::HttpUrl;

/// The addresses to connect to: the URL's host, or those that take its place.
///
/// # Errors
///
/// When one is no address, is not known, or is far away and that is not allowed.
pub(crate) fn targets(url: &HttpUrl, connect: &[String], allow_remote: bool) -> Result<Vec<Endpoint>, Failure> {
    let find = |host: &str, port| {
        find_target(host, port, allow_remote).map_err(|error| match error {
            TargetError::Unknown { .. } => Failure::missing(error),
            TargetError::Far { .. } => Failure::usage(error),
        })
    };
    if connect.is_empty() {
        return Ok(vec![find(&url.host, url.port)?]);
    }
    let places = connect.iter().map(|typed| {
        let place = typed.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
        let (host, port) = place.ok_or_else(|| {
            Failure::usage(format!("--connect {typed} is not a place such as 127.0.0.1:8081 or [::1]:8081"))
        })?;
        find(host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host), port)
    });
    places.collect()
}

/// How redirects of a URL are followed: a body is not sent again, and any certificate is taken.
pub(crate) fn redirect_rules(url: &HttpUrl, allow_remote: bool) -> RedirectRules {
    let HttpUrl { encrypted, host, port, authority, path } = url.clone();
    let url = Location { encrypted, host, port, authority, path };
    RedirectRules { url, allow_remote, resends_bodies: false, trust: Trust::Anyone, by_proxy: false }
}

/// The places to connect to: those of `--connect`, or the addresses that `--resolve` gives the URL's host and port.
///
/// # Errors
///
/// When one of them cannot be read, or none is of the URL.
pub(crate) fn resolved(url: &HttpUrl, resolve: &[String], connect: Vec<String>) -> Result<Vec<String>, Failure> {
    if resolve.is_empty() {
        return Ok(connect);
    }
    let mut found = Vec::new();
    for typed in resolve {
        let parts = typed.split_once(':').and_then(|(host, rest)| Some((host, rest.split_once(':')?)));
        let address = parts.map(|(host, (port, address))| (host, port.parse::<u16>(), address));
        let Some((host, Ok(port), address)) =
            address.filter(|(host, _, address)| !host.is_empty() && !address.is_empty())
        else {
            let fix = "for example --resolve example.org:443:127.0.0.1";
            return Err(Failure::usage(format!("--resolve {typed} is not HOST:PORT:ADDRESS; {fix}")));
        };
        // As with curl, what is for another place is of no use here, and no mistake.
        if host.eq_ignore_ascii_case(&url.host) && port == url.port {
            let bare = address.strip_prefix('[').and_then(|address| address.strip_suffix(']')).unwrap_or(address);
            let Ok(address) = bare.parse::<IpAddr>() else {
                let fix = "give one, such as 127.0.0.1 or [::1]";
                return Err(Failure::usage(format!("--resolve {typed} ends with no address; {fix}")));
            };
            found.push(SocketAddr::from((address, port)).to_string());
        }
    }
    if found.is_empty() {
        let place = format!("{}:{}", url.host, url.port);
        return Err(Failure::usage(format!(
            "--resolve names other places than the URL's; for example --resolve {place}:127.0.0.1"
        )));
    }
    Ok(found)
}
