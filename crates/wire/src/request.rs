//! Requests as HTTP/1.1 bytes.

use stampede_core::Request;

/// Writes a request as HTTP/1.1 bytes for a connection that is kept.
///
/// Adds `Host`, and `Content-Length` where there is a body or the method usually has one (RFC 9110, section 8.6). Adds
/// no `Accept-Encoding` and no `User-Agent`: what a server is measured on is in the request alone. Names and values are
/// written as they are.
pub fn encode(request: &Request, host: &str) -> Vec<u8> {
    let Request { method, path, headers, body } = request;
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n");
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
}
