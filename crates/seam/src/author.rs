//! What writes the requests of a load while it runs, and reads their answers.
//!
//! An author is the counterpart of [`LoadSpec`](crate::LoadSpec)'s fixed exchanges: it stays where the load is driven, on the
//! thread whose connections it writes for, and crosses no stream.

use std::fmt::Debug;
use std::num::NonZeroU32;
use std::ops::Range;
use std::time::Duration;

use stampede_core::Endpoint;

/// Writes the requests of one thread's connections.
///
/// The thread waits for each call. An author that has ended is called no more, and its thread sends nothing more.
pub trait Author: Send + Debug {
    /// Adds what a connection sends next: as many requests as [`AuthoredThread::requests`] says. `false` when the author has
    /// ended; nothing is sent then.
    fn write(&mut self, request: &mut Vec<u8>) -> bool;

    /// How long a connection waits before its next request.
    fn pause(&mut self) -> Duration;

    /// Takes a complete answer, in the order in which they come. Called only where [`AuthoredThread::reads`] asks for it.
    fn read(&mut self, answer: &KeptAnswer);

    /// Whether it has ended.
    fn has_ended(&self) -> bool;
}

/// What one thread of an authored load sends, and where.
#[derive(Debug)]
pub struct AuthoredThread {
    /// Where its connections go.
    pub target: Endpoint,
    /// What each connection sends every time; `None` where the author writes it.
    pub fixed: Option<Vec<u8>>,
    /// How many requests are sent together, which are answered one after the other (RFC 9112, section 9.3.2).
    pub requests: NonZeroU32,
    /// Whether the author takes each answer.
    pub reads: bool,
    /// Who is asked while load runs; nobody where every request is the same and no answer is read.
    pub author: Option<Box<dyn Author>>,
}

/// An answer that is kept as a whole. Its memory is used again for the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptAnswer {
    status: u16,
    /// Names and values of headers, one after the other.
    text: Vec<u8>,
    headers: Vec<(Range<usize>, Range<usize>)>,
    body: Vec<u8>,
}

impl KeptAnswer {
    /// Forgets what it holds, and begins with a status.
    pub fn begin(&mut self, status: u16) {
        self.status = status;
        self.text.clear();
        self.headers.clear();
        self.body.clear();
    }

    /// Adds a header.
    pub fn header(&mut self, name: &str, value: &[u8]) {
        let begin = self.text.len();
        self.text.extend_from_slice(name.as_bytes());
        let middle = self.text.len();
        self.text.extend_from_slice(value);
        self.headers.push((begin..middle, middle..self.text.len()));
    }

    /// Adds bytes of the body.
    pub fn extend(&mut self, body: &[u8]) {
        self.body.extend_from_slice(body);
    }

    /// The status, from 100 to 999.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Names as the server wrote them, and values, in their order.
    pub fn headers(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let part = |range: &Range<usize>| self.text.get(range.clone()).unwrap_or_default();
        self.headers.iter().map(move |(name, value)| (part(name), part(value)))
    }

    /// The body without its transfer coding.
    pub fn body(&self) -> &[u8] {
        &self.body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_holds_nothing_of_the_one_before() {
        let mut answer = KeptAnswer::default();
        answer.begin(404);
        answer.header("X-Long", b"some value");
        answer.extend(b"gone");
        answer.begin(200);
        answer.header("A", b"b");
        answer.header("A", b"");
        answer.extend(b"He");
        answer.extend(b"llo");
        assert_eq!((answer.status(), answer.body()), (200, &b"Hello"[..]));
        let headers: Vec<_> = answer.headers().collect();
        assert_eq!(headers, [(&b"A"[..], &b"b"[..]), (b"A", b"")]);
    }
}
