//! The one exchange of all runs: a request, and the answer that it always gets.

/// The body of the answer.
pub(crate) const BODY: &str = "Hello, World!";

/// The whole answer. It says `keep-alive` because ab, which speaks HTTP/1.0, waits for the end of the connection otherwise
/// (RFC 9112, 9.3).
pub(crate) const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: keep-alive\r\nContent-Length: 13\r\n\r\nHello, World!";

/// What the floor sends.
pub(crate) fn request(host: &str) -> Vec<u8> {
    format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes()
}

/// How many requests without a body end in `bytes`; `tail` keeps the last four bytes of the connection from call to call,
/// so that a request may come in pieces.
pub(crate) fn requests_ended(tail: &mut u32, bytes: &[u8]) -> usize {
    const END: u32 = u32::from_be_bytes(*b"\r\n\r\n");
    let mut ended = 0;
    for byte in bytes {
        *tail = *tail << 8 | u32::from(*byte);
        ended += usize::from(*tail == END);
    }
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_has_the_body_and_its_length() {
        let answer = std::str::from_utf8(ANSWER).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert_eq!(body, BODY);
        assert!(head.ends_with(&format!("Content-Length: {}", BODY.len())), "{head}");
    }

    #[test]
    fn requests_are_counted_however_they_are_cut() {
        let three = request("127.0.0.1:1").repeat(3);
        for size in 1..=three.len() {
            let mut tail = 0;
            let ended: usize = three.chunks(size).map(|piece| requests_ended(&mut tail, piece)).sum();
            assert_eq!(ended, 3, "in pieces of {size}");
        }
    }
}
