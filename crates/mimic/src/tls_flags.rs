//! The TLS options of ab, as far as the library has what they name.

use stampede_seam::{TlsClient, TlsIdentity, TlsVersion};

use crate::Surroundings;
use crate::flags::Typed;

/// Names of OpenSSL and of IANA (<https://www.iana.org/assignments/tls-parameters>).
const SUITES: [(&str, &str); 6] = [
    ("ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
    ("ECDHE-ECDSA-AES128-GCM-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
    ("ECDHE-ECDSA-CHACHA20-POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"),
    ("ECDHE-RSA-AES256-GCM-SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"),
    ("ECDHE-RSA-AES128-GCM-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
    ("ECDHE-RSA-CHACHA20-POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
];

/// Those of TLS 1.3, which OpenSSL offers whatever a list of ciphers says.
const SUITES_OF_13: [&str; 3] = ["TLS_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"];

/// What ab knows and the library does not speak (RFC 8996).
const OLD_VERSIONS: [&str; 4] = ["SSL2", "SSL3", "TLS1", "TLS1.1"];

/// Reads `-E`, `-I`, `-Z` and `-f`.
pub(crate) fn read(typed: &mut Typed, surroundings: Surroundings<'_>) -> TlsClient {
    let version = match typed.last("f") {
        None | Some("ALL") => None,
        Some("TLS1.2") => Some(TlsVersion::Tls12),
        Some("TLS1.3") => Some(TlsVersion::Tls13),
        Some(other) => {
            if OLD_VERSIONS.contains(&other) {
                typed.refuse(format!("-f {other}"), "use -f TLS1.2, -f TLS1.3 or -f ALL");
            } else {
                typed.mistake(format!("-f {other}"), "is no protocol", "use -f TLS1.2, -f TLS1.3 or -f ALL");
            }
            None
        }
    };
    let suites = match typed.last("Z") {
        None => Vec::new(),
        Some(list) => suites(typed, list, version),
    };
    let identity = typed.last("E").map(|path| {
        let pem = typed.file("-E", path, surroundings);
        TlsIdentity { chain: pem.clone(), key: pem }
    });
    TlsClient { identity, hides_name: typed.has("I"), version, suites }
}

fn suites(typed: &mut Typed, list: &str, version: Option<TlsVersion>) -> Vec<String> {
    let mut suites = Vec::new();
    for name in list.split([':', ',', ' ']).filter(|name| !name.is_empty()) {
        if ["ALL", "DEFAULT", "HIGH"].contains(&name) {
            return Vec::new();
        }
        match SUITES.iter().find(|(known, _)| *known == name) {
            Some((_, suite)) => suites.push((*suite).to_owned()),
            None => {
                let known: Vec<_> = SUITES.iter().map(|(known, _)| *known).collect();
                let fix = format!("use some of {}, with colons between", known.join(", "));
                typed.mistake(format!("-Z {name}"), "is no cipher suite of this program", fix);
            }
        }
    }
    if version != Some(TlsVersion::Tls12) {
        suites.extend(SUITES_OF_13.map(str::to_owned));
    }
    suites
}
