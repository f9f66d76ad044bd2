//! How many requests a string holds.

use httparse::{EMPTY_HEADER, Error, Request, Status};

/// The most headers that a request may have.
const HEADERS: usize = 256;

/// Why bytes are not requests, and at which of them that is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRequest {
    pub(crate) problem: &'static str,
    pub(crate) at: usize,
}

impl NoRequest {
    /// Line and column, from 1.
    pub(crate) fn place(&self, bytes: &[u8]) -> (usize, usize) {
        let before = bytes.get(..self.at).unwrap_or(bytes);
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let column = 1 + before.iter().rev().take_while(|byte| **byte != b'\n').count();
        (line, column)
    }
}

/// Counts complete requests; there is at least one, and nothing after the last.
pub(crate) fn count(bytes: &[u8]) -> Result<u32, NoRequest> {
    let (mut count, mut begin) = (0, 0);
    loop {
        let rest = bytes.get(begin..).unwrap_or_default();
        begin += length(rest).map_err(|NoRequest { problem, at }| NoRequest { problem, at: begin + at })?;
        count += 1;
        if begin >= bytes.len() {
            return Ok(count);
        }
    }
}

/// The length of the first request.
fn length(bytes: &[u8]) -> Result<usize, NoRequest> {
    let mut headers = [EMPTY_HEADER; HEADERS];
    let mut request = Request::new(&mut headers);
    let incomplete = NoRequest { problem: "incomplete request", at: bytes.len() };
    let head = match request.parse(bytes) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Err(incomplete),
        Err(error) => return Err(NoRequest { problem: problem(error), at: 0 }),
    };
    let header = |name: &str| request.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
    let body = bytes.get(head..).unwrap_or_default();
    if header("Transfer-Encoding").is_some_and(|header| header.value.to_ascii_lowercase().ends_with(b"chunked")) {
        return chunks(body).map(|length| head + length).ok_or(incomplete);
    }
    let Some(length) = header("Content-Length") else { return Ok(head) };
    let length = str::from_utf8(length.value).ok().and_then(|text| text.trim().parse::<usize>().ok());
    match length {
        None => Err(NoRequest { problem: "invalid Content-Length", at: head }),
        Some(length) if length > body.len() => Err(incomplete),
        Some(length) => Ok(head + length),
    }
}

/// The length of a body in chunks; `None` when it has no end (RFC 9112, section 7.1).
fn chunks(body: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let (used, size) = match httparse::parse_chunk_size(body.get(at..)?) {
            Ok(Status::Complete(found)) => found,
            Ok(Status::Partial) | Err(_) => return None,
        };
        at += used;
        if size == 0 {
            break;
        }
        at = at.checked_add(usize::try_from(size).ok()?)?.checked_add(2)?;
    }
    // Trailers, and the empty line.
    loop {
        let rest = body.get(at..)?;
        let line = rest.windows(2).position(|pair| pair == b"\r\n")?;
        at += line + 2;
        if line == 0 {
            return Some(at);
        }
    }
}

fn problem(error: Error) -> &'static str {
    match error {
        Error::HeaderName => "invalid character in the name of a header",
        Error::HeaderValue => "invalid character in the value of a header",
        Error::NewLine => "a line end is missing",
        Error::Status | Error::Token => "invalid request line",
        Error::TooManyHeaders => "too many headers",
        Error::Version => "invalid HTTP version",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted() {
        let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
        let post = "POST /a HTTP/1.1\r\nHost: h\r\ncontent-length: 3\r\n\r\na=b";
        let chunked = "PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na=b\r\n0\r\nX: y\r\n\r\n";
        for (text, expected) in [
            (get.to_owned(), Ok(1)),
            (get.repeat(16), Ok(16)),
            (format!("{get}{post}{chunked}{get}"), Ok(4)),
            (String::new(), Err(("incomplete request", 1, 1))),
            ("GET / HTTP/1.1\r\nHost: h\r\n".to_owned(), Err(("incomplete request", 3, 1))),
            (format!("{get}GET / HT"), Err(("incomplete request", 4, 9))),
            (post[..post.len() - 1].to_owned(), Err(("incomplete request", 5, 3))),
            ("hello world\r\n\r\n".to_owned(), Err(("invalid request line", 1, 1))),
            (format!("{get}\u{1}"), Err(("invalid request line", 4, 1))),
            ("GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n".to_owned(), Err(("invalid Content-Length", 4, 1))),
        ] {
            let found = count(text.as_bytes()).map_err(|error| {
                let (line, column) = error.place(text.as_bytes());
                (error.problem, line, column)
            });
            assert_eq!(found, expected, "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_are_a_surprise(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..300)) {
            if let Err(error) = count(&bytes) {
                proptest::prop_assert!(error.at <= bytes.len());
            }
        }
    }
}
