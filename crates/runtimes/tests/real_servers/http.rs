//! As much of an HTTP/1.1 client as these tests need.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// One connection.
pub(crate) struct Connection(BufReader<TcpStream>);

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Whether the server closes the connection after it.
    pub(crate) fn closes(&self) -> bool {
        self.headers.get("connection").is_some_and(|value| value == "close")
    }
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::new(stream)))
    }

    pub(crate) fn exchange(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> std::io::Result<Answer> {
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n");
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        if method != "GET" {
            request.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        request.push_str("\r\n");
        let mut request = request.into_bytes();
        request.extend_from_slice(body);
        self.0.get_mut().write_all(&request)?;
        self.answer(method != "HEAD")
    }

    fn answer(&mut self, has_body: bool) -> std::io::Result<Answer> {
        let status_line = self.line()?;
        let status = status_line.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status in {status_line:?}"));
        let mut headers = BTreeMap::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            headers.insert(name.to_lowercase(), value.trim().to_lowercase());
        }
        let mut body = Vec::new();
        if !has_body || [204, 304].contains(&status) {
            // Its length, if it tells one, is that of what it does not send.
        } else if let Some(length) = headers.get("content-length") {
            body.resize(length.parse().expect("a length"), 0);
            self.0.read_exact(&mut body)?;
        } else if headers.get("transfer-encoding").is_some_and(|how| how == "chunked") {
            loop {
                let length = usize::from_str_radix(&self.line()?, 16).expect("a chunk's length");
                let mut chunk = vec![0; length];
                self.0.read_exact(&mut chunk)?;
                body.extend_from_slice(&chunk);
                self.line()?;
                if length == 0 {
                    break;
                }
            }
        } else {
            self.0.read_to_end(&mut body)?;
        }
        Ok(Answer { status, headers, body })
    }

    fn line(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}
