//! A question for the status of a server, whose answer may be waited for a little at a time: a server that is too busy to
//! answer now is not asked again and again, and holds up nobody.

use std::collections::BTreeMap;
use std::time::Duration;

use stampede_core::{Endpoint, Request, StatusSource, StatusTransport};

use crate::client::{BODY_LIMIT, Cause, Collector, Connection, SendError};
use crate::response::{Decoder, ReadProgress};
use crate::{fastcgi, request};

/// A question that was sent on a connection of its own.
pub struct Probe {
    connection: Connection,
    reader: Reader,
}

enum Reader {
    Http(Decoder, Collector),
    FastCgi(Vec<u8>),
    Stream(Vec<u8>),
}

impl Probe {
    /// Asks for a status, in no more than `timeout`.
    ///
    /// # Errors
    ///
    /// How far it got.
    pub fn send(source: &StatusSource<Endpoint>, timeout: Duration) -> Result<Self, SendError> {
        let StatusSource { address, transport, format: _ } = source;
        let mut connection = Connection::open(address, None, timeout).map_err(SendError::Connect)?;
        let (question, reader) = match transport {
            StatusTransport::Http(path) => {
                let request = Request {
                    method: "GET".to_owned(),
                    path: path.clone().into_owned(),
                    headers: BTreeMap::new(),
                    body: Vec::new(),
                };
                let mut decoder = Decoder::new();
                decoder.expect_answer(false);
                (request::encode(&request, "localhost"), Reader::Http(decoder, Collector::default()))
            }
            StatusTransport::FastCgi { script, query } => (fastcgi::encode(script, query), Reader::FastCgi(Vec::new())),
            // A database is asked in a session ([`crate::postgres`]).
            StatusTransport::Stream | StatusTransport::Postgres { .. } => (Vec::new(), Reader::Stream(Vec::new())),
        };
        connection.write_all(&question).map_err(SendError::Send)?;
        Ok(Self { connection, reader })
    }

    /// The status, if it comes within this time; it may be waited for again.
    ///
    /// # Errors
    ///
    /// When no status will come.
    pub fn wait(&mut self, patience: Duration) -> Result<Option<Vec<u8>>, SendError> {
        let mut buffer = [0; 16 << 10];
        self.connection.give(patience);
        loop {
            let count = match self.connection.read(&mut buffer) {
                Ok(count) => count,
                Err(Cause::TimedOut(_)) => return Ok(None),
                Err(cause) => return Err(SendError::Wait(cause)),
            };
            if let Some(status) = self.reader.take(&buffer[..count]).map_err(SendError::ReadBody)? {
                return Ok(Some(status));
            }
        }
    }
}

impl Reader {
    /// Takes the next bytes, or the end where there are none; the status once it is whole.
    fn take(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>, Cause> {
        let whole = match self {
            Self::Http(decoder, collector) => {
                let complete = if bytes.is_empty() {
                    decoder.finish()?;
                    true
                } else {
                    matches!(decoder.feed(bytes, collector)?, ReadProgress::Complete { .. })
                };
                match collector.0.take() {
                    Some(answer) if answer.status != 200 => return Err(Cause::Refused(answer.status)),
                    Some(answer) if complete => Some(answer.body),
                    begun => {
                        collector.0 = begun;
                        None
                    }
                }
            }
            Self::FastCgi(kept) => {
                kept.extend_from_slice(bytes);
                fastcgi::decode(kept)?
            }
            Self::Stream(kept) => {
                kept.extend_from_slice(bytes);
                bytes.is_empty().then(|| std::mem::take(kept))
            }
        };
        let kept = match self {
            Self::Http(_, collector) => collector.0.as_ref().map_or(0, |answer| answer.body.len()),
            Self::FastCgi(kept) | Self::Stream(kept) => kept.len(),
        };
        match whole {
            None if kept > BODY_LIMIT => Err(Cause::TooLong),
            None if bytes.is_empty() => Err(Cause::Io(std::io::ErrorKind::UnexpectedEof.into())),
            whole => Ok(whole),
        }
    }
}
