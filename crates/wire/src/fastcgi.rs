//! FastCGI without I/O, as much of it as one question needs: a request without a body, and its answer.
//!
//! [FastCGI Specification 1.0](https://fastcgi-archives.github.io/FastCGI_Specification.html). The answer's body is
//! what follows its header fields ([RFC 3875](https://www.rfc-editor.org/rfc/rfc3875#section-6)).

use std::time::Duration;

use stampede_core::Endpoint;
use thiserror::Error;

use crate::client::{Cause, Connection};

const VERSION: u8 = 1;
const BEGIN_REQUEST: u8 = 1;
const END_REQUEST: u8 = 3;
const PARAMS: u8 = 4;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;
const GET_VALUES: u8 = 9;
const GET_VALUES_RESULT: u8 = 10;

/// The role of a program that answers as CGI would.
const RESPONDER: u8 = 1;
/// One request a connection, so that one number is enough.
const REQUEST: u8 = 1;
const HEADER: usize = 8;

/// The bytes of a `GET` for a script.
pub fn encode(script: &str, query: &str) -> Vec<u8> {
    let mut params = Vec::new();
    for (name, value) in [
        ("GATEWAY_INTERFACE", "CGI/1.1"),
        ("SERVER_PROTOCOL", "HTTP/1.1"),
        ("REQUEST_METHOD", "GET"),
        ("SCRIPT_NAME", script),
        ("SCRIPT_FILENAME", script),
        ("QUERY_STRING", query),
    ] {
        for text in [name, value] {
            // Four bytes with the first bit set hold any length. (3.4)
            params.extend_from_slice(&(text.len() as u32 | 1 << 31).to_be_bytes());
        }
        params.extend_from_slice(name.as_bytes());
        params.extend_from_slice(value.as_bytes());
    }
    // The connection is closed after the answer: no flag to keep it.
    let mut bytes = record(BEGIN_REQUEST, &[0, RESPONDER, 0, 0, 0, 0, 0, 0]);
    for piece in params.chunks(usize::from(u16::MAX)) {
        bytes.extend(record(PARAMS, piece));
    }
    bytes.extend(record(PARAMS, &[]));
    bytes.extend(record(STDIN, &[]));
    bytes
}

fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    let [high, low] = (content.len() as u16).to_be_bytes();
    let mut bytes = vec![VERSION, kind, 0, REQUEST, high, low, 0, 0];
    bytes.extend_from_slice(content);
    bytes
}

/// Whether a server speaks FastCGI: it is asked what it can do, which takes no more than this time (section 4.1).
pub fn is_spoken(endpoint: &Endpoint, timeout: Duration) -> bool {
    let asked = || -> Result<[u8; HEADER], Cause> {
        let mut connection = Connection::open(endpoint, None, timeout)?;
        connection.write_all(&question())?;
        let (mut answer, mut came) = ([0; HEADER], 0);
        while came < answer.len() {
            match connection.read(&mut answer[came..])? {
                0 => break,
                count => came += count,
            }
        }
        Ok(answer)
    };
    asked().is_ok_and(|[version, kind, ..]| (version, kind) == (VERSION, GET_VALUES_RESULT))
}

/// A record of the connection, not of a request, that names one value.
fn question() -> Vec<u8> {
    let name = b"FCGI_MPXS_CONNS";
    let mut bytes = vec![VERSION, GET_VALUES, 0, 0, 0, name.len() as u8 + 2, 0, 0, name.len() as u8, 0];
    bytes.extend_from_slice(name);
    bytes
}

/// The answer, if the records that came so far hold all of it.
///
/// # Errors
///
/// When the bytes are no FastCGI, or the program did not answer with a status of 200.
pub fn decode(bytes: &[u8]) -> Result<Option<Vec<u8>>, FastCgiError> {
    let mut output = Vec::new();
    let mut rest = bytes;
    while let Some((&[version, kind, _, _, high, low, padding, _], after)) = rest.split_first_chunk::<HEADER>() {
        if version != VERSION {
            return Err(FastCgiError::Version(version));
        }
        let length = usize::from(u16::from_be_bytes([high, low]));
        let Some(next) = after.get(length + usize::from(padding)..) else {
            return Ok(None);
        };
        match kind {
            STDOUT => output.extend_from_slice(&after[..length]),
            END_REQUEST => return body(&output).map(Some),
            // What a program says beside its answer is in its log too.
            _ => {}
        }
        rest = next;
    }
    Ok(None)
}

fn body(output: &[u8]) -> Result<Vec<u8>, FastCgiError> {
    let end = output.windows(4).position(|four| four == b"\r\n\r\n").ok_or(FastCgiError::NoHead)?;
    let head = String::from_utf8_lossy(&output[..end]);
    // Without it the status is 200. RFC 3875, section 6.3.3
    let status = head.lines().find_map(|line| line.strip_prefix("Status:"));
    match status.map(|status| status.trim().split(' ').next().unwrap_or_default().to_owned()) {
        Some(status) if status != "200" => Err(FastCgiError::Status(status)),
        _ => Ok(output[end + 4..].to_vec()),
    }
}

/// Why an answer could not be read.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum FastCgiError {
    /// Another protocol, or a later one.
    #[error("read the record: its version is {0}, not 1")]
    Version(u8),
    /// The program's output does not begin with header fields.
    #[error("read the answer: it has no head")]
    NoHead,
    /// The program refused.
    #[error("read the answer: its status is {0}")]
    Status(String),
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// PHP-FPM 8.2's own answer to a request for its status.
    const ANSWER: &[u8] = b"\x01\x06\x00\x01\x01\xa7\x01\x00Expires: Thu, 01 Jan 1970 00:00:00 GMT\r\nCache-Control: \
        no-cache, no-store, must-revalidate, max-age=0\r\nContent-Type: application/json\r\n\r\n{\"pool\":\"app\",\"process \
        manager\":\"static\",\"start time\":1795315575,\"start since\":1,\"accepted conn\":0,\"listen queue\":0,\"max \
        listen queue\":0,\"listen queue len\":0,\"idle processes\":4,\"active processes\":0,\"total processes\":4,\"max \
        active processes\":0,\"max children reached\":0,\"slow requests\":0}\x00\
        \x01\x03\x00\x01\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00";

    #[test]
    fn an_answer_is_complete_with_its_last_record() {
        let answer = decode(ANSWER).unwrap().unwrap();
        assert!(answer.starts_with(b"{\"pool\":") && answer.ends_with(b"\"slow requests\":0}"));
        for cut in 0..ANSWER.len() {
            assert_eq!(decode(&ANSWER[..cut]), Ok(None), "{cut}");
        }
    }

    #[test]
    fn what_is_no_answer_is_said() {
        let answer = |text: &[u8]| [record(STDOUT, text), record(END_REQUEST, &[0; 8])].concat();
        for (bytes, error) in [
            (b"HTTP/1.1 400 Bad".to_vec(), FastCgiError::Version(b'H')),
            (answer(b"File not found.\n"), FastCgiError::NoHead),
            (answer(b"Status: 404 Not Found\r\nA: b\r\n\r\nFile not found.\n"), FastCgiError::Status("404".to_owned())),
        ] {
            assert_eq!(decode(&bytes), Err(error));
        }
        assert_eq!(decode(&answer(b"Status: 200 OK\r\n\r\n")), Ok(Some(Vec::new())));
    }

    #[test]
    fn a_request_is_begun_given_its_parameters_and_ended() {
        let bytes = encode("/status", "json");
        assert!(bytes.starts_with(b"\x01\x01\x00\x01\x00\x08\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01\x04\x00\x01"));
        assert!(bytes.ends_with(b"\x01\x04\x00\x01\x00\x00\x00\x00\x01\x05\x00\x01\x00\x00\x00\x00"));
        let query = b"\x80\x00\x00\x0c\x80\x00\x00\x04QUERY_STRINGjson";
        assert!(bytes.windows(query.len()).any(|part| part == query));
    }

    #[test]
    fn who_speaks_fastcgi_says_so() {
        // What PHP-FPM 8.2 says to a question for values (section 4.1).
        let result = b"\x01\x0a\x00\x00\x00\x12\x06\x00\x0f\x01FCGI_MPXS_CONNS0\0\0\0\0\0\0".as_slice();
        for (answer, expected) in [(result, true), (b"HTTP/1.1 400 Bad Request\r\n\r\n", false), (b"", false)] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let endpoint = Endpoint::Tcp(listener.local_addr().unwrap());
            let server = thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let mut asked = [0; 25];
                stream.read_exact(&mut asked).unwrap();
                stream.write_all(answer).unwrap();
                asked
            });
            assert_eq!(is_spoken(&endpoint, Duration::from_secs(5)), expected, "{answer:?}");
            assert_eq!(&server.join().unwrap(), b"\x01\x09\0\0\0\x11\0\0\x0f\0FCGI_MPXS_CONNS");
        }
    }
}
