//! The head of a request, made ready once and sent often.

use stampede_core::Request;

use super::hpack::{self, Encoder, Field};

/// Headers that are not sent: those of HTTP/1 that speak about the connection (RFC 9113, section 8.2.2), and what is said
/// elsewhere, as `:authority` and with the body.
const LEFT_OUT: [&str; 8] = [
    "connection",
    "content-length",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
];

/// Method, address and headers of a request, ready for any number of sessions.
///
/// Fields are entered into a connection's table when they are first sent on it, and take a byte or two from then on.
/// Those that were set with [`set_path`](Self::set_path) or [`set_header`](Self::set_header) are taken to differ each time
/// and stay out of the table.
#[derive(Clone, Debug)]
pub struct RequestHead {
    fields: Vec<Field>,
    is_head: bool,
    /// Whether the length of the body is stated even when it is zero.
    states_length: bool,
}

/// Where `:path` stands among the fields.
const PATH: usize = 3;

impl RequestHead {
    /// The head of a request to `authority` (`localhost:8080`) by `scheme` (`http` or `https`).
    ///
    /// As over HTTP/1, `Content-Length` is added where there is a body or the method usually has one (RFC 9110, section
    /// 8.6), and nothing else. Names are written in lower case, values as they are.
    pub fn new(request: &Request, scheme: &str, authority: &str) -> Self {
        let Request { method, path, headers, body: _ } = request;
        let pseudo = [(":method", method.as_str()), (":scheme", scheme), (":authority", authority), (":path", path)];
        let mut fields: Vec<Field> = pseudo.iter().map(|(name, value)| Field::new(name, value)).collect();
        for (name, value) in headers {
            let name = name.to_ascii_lowercase();
            // Of this one, a single value may be said (RFC 9113, section 8.2.2).
            let left_out = LEFT_OUT.contains(&name.as_str()) || (name == "te" && value != "trailers");
            if !left_out {
                fields.push(Field::new(&name, value));
            }
        }
        Self { fields, is_head: method == "HEAD", states_length: matches!(method.as_str(), "POST" | "PUT" | "PATCH") }
    }

    /// Gives the next request another path.
    pub fn set_path(&mut self, path: &str) {
        self.fields[PATH].vary(path);
    }

    /// Gives the next request another value of a header, or one more header; `name` is in lower case.
    pub fn set_header(&mut self, name: &str, value: &str) {
        let place = self.fields.iter().position(|field| field.name() == name).unwrap_or_else(|| {
            self.fields.push(Field::new(name, ""));
            self.fields.len() - 1
        });
        self.fields[place].vary(value);
    }

    pub(super) fn is_head(&self) -> bool {
        self.is_head
    }

    /// Appends the header block of a request with a body of `body_len` bytes.
    #[inline]
    pub(super) fn encode(&self, body_len: usize, encoder: &mut Encoder, out: &mut Vec<u8>) {
        encoder.begin_block(out);
        for field in &self.fields {
            encoder.encode(field, out);
        }
        if body_len > 0 || self.states_length {
            hpack::encode_content_length(body_len, out);
        }
    }
}
