//! Requests as bytes of HTTP/1.

use stampede_core::Request;

/// A version of HTTP/1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0: the server closes after its answer, unless the request says `Connection: keep-alive`.
    Http10,
    /// HTTP/1.1: the connection is kept, unless the request says `Connection: close`.
    Http11,
}

/// Writes a request as HTTP/1.1 bytes, as [`encode_as`] does.
pub fn encode(request: &Request, host: &str) -> Vec<u8> {
    encode_as(Version::Http11, request, host)
}

/// Writes a request as bytes of this version.
///
/// Adds `Host`, and `Content-Length` where there is a body or the method usually has one (RFC 9110, section 8.6). Adds
/// no `Connection`, no `Accept-Encoding` and no `User-Agent`: what a server is measured on is in the request alone. Names
/// and values are written as they are.
pub fn encode_as(version: Version, request: &Request, host: &str) -> Vec<u8> {
    let Request { method, path, headers, body } = request;
    let version = match version {
        Version::Http10 => "HTTP/1.0",
        Version::Http11 => "HTTP/1.1",
    };
    let mut head = format!("{method} {path} {version}\r\nHost: {host}\r\n");
    for (name, value) in headers {
        head.extend([name.as_str(), ": ", value.as_str(), "\r\n"]);
    }
    if !body.is_empty() || matches!(method.as_str(), "POST" | "PUT" | "PATCH") {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, headers: &[(&str, &str)], body: &str) -> Request {
        Request {
            method: method.to_owned(),
            path: "/a?b=c".to_owned(),
            headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            body: body.as_bytes().to_vec(),
        }
    }

    #[test]
    fn a_length_is_stated_where_there_is_a_body_or_could_be_one() {
        let cases = [
            (request("GET", &[], ""), "GET /a?b=c HTTP/1.1\r\nHost: h:1\r\n\r\n"),
            (request("POST", &[], ""), "POST /a?b=c HTTP/1.1\r\nHost: h:1\r\nContent-Length: 0\r\n\r\n"),
            (
                request("POST", &[("Accept", "*/*"), ("X-A", "1")], "{}"),
                "POST /a?b=c HTTP/1.1\r\nHost: h:1\r\nAccept: */*\r\nX-A: 1\r\nContent-Length: 2\r\n\r\n{}",
            ),
            (request("DELETE", &[], "x"), "DELETE /a?b=c HTTP/1.1\r\nHost: h:1\r\nContent-Length: 1\r\n\r\nx"),
        ];
        for (request, expected) in cases {
            assert_eq!(String::from_utf8(encode(&request, "h:1")).unwrap(), expected);
        }
    }

    #[test]
    fn a_request_of_http10_differs_in_its_version_alone() {
        let request = request("GET", &[("Connection", "keep-alive")], "");
        let bytes = String::from_utf8(encode_as(Version::Http10, &request, "h:1")).unwrap();
        assert_eq!(bytes, "GET /a?b=c HTTP/1.0\r\nHost: h:1\r\nConnection: keep-alive\r\n\r\n");
    }
}
