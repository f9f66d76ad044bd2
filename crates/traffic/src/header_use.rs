//! Which headers of a recorded request are sent again.

/// Headers whose values open somebody's account, in lower case.
const SECRET: [&str; 8] = [
    "authorization",
    "cookie",
    "proxy-authorization",
    "x-amz-security-token",
    "x-api-key",
    "x-auth-token",
    "x-csrf-token",
    "x-xsrf-token",
];

/// Headers of a connection, a cache or a browser, in lower case: the load has its own, or an application does not care.
const LEFT_OUT: [&str; 18] = [
    "accept-encoding",
    "cache-control",
    "connection",
    "content-length",
    "dnt",
    "expect",
    "host",
    "if-modified-since",
    "if-none-match",
    "keep-alive",
    "origin",
    "pragma",
    "priority",
    "referer",
    "te",
    "transfer-encoding",
    "upgrade-insecure-requests",
    "user-agent",
];

/// What becomes of a header that was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderUse {
    /// It is sent again.
    Kept,
    /// It is left out, and that is reported.
    Secret,
    /// It is left out.
    LeftOut,
}

impl HeaderUse {
    /// Of the header with this name.
    pub(crate) fn of(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        match &*name {
            name if SECRET.contains(&name) => Self::Secret,
            // HTTP/2's own, and what browsers say of themselves (https://www.w3.org/TR/fetch-metadata/).
            name if name.starts_with(':') || name.starts_with("sec-") || LEFT_OUT.contains(&name) => Self::LeftOut,
            _ => Self::Kept,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_what_browsers_add_are_left_out() {
        for (name, expected) in [
            ("Cookie", HeaderUse::Secret),
            ("AUTHORIZATION", HeaderUse::Secret),
            ("sec-ch-ua-platform", HeaderUse::LeftOut),
            (":authority", HeaderUse::LeftOut),
            ("User-Agent", HeaderUse::LeftOut),
            ("Accept", HeaderUse::Kept),
            ("X-Tenant", HeaderUse::Kept),
        ] {
            assert_eq!(HeaderUse::of(name), expected, "{name}");
        }
    }
}
