//! Questions to a PostgreSQL server on a connection that is kept.
//!
//! Simple queries alone, whose values come as text (<https://www.postgresql.org/docs/current/protocol-flow.html>).

use std::time::Duration;

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use stampede_core::{DatabaseLogin, Endpoint};
use thiserror::Error;

use crate::client::{Cause, Connection};

/// How the session calls itself in `pg_stat_activity`.
const NAME: &str = "stampede";

/// The columns of a row as text; NULL is absent.
pub type Row = Vec<Option<String>>;

/// A connection that has signed in, and asks one question after another.
pub struct PostgresSession {
    connection: Connection,
    /// What came and was not looked at yet.
    unread: BytesMut,
    /// The rows that came to the question that is open; none where none is.
    rows: Option<Vec<Row>>,
}

/// Why a database said nothing.
#[derive(Debug, Error)]
pub enum PostgresError {
    /// The network, or too little time.
    #[error("speak to the database")]
    Wire(#[from] Cause),
    /// What came is not PostgreSQL's protocol.
    #[error("read what the database says")]
    Protocol(#[from] std::io::Error),
    /// It refused, with its SQLSTATE and words.
    #[error("the database answered: {0}")]
    Refused(String),
    /// It wants to know who asks in a way that is not spoken here.
    #[error("the database asks for another way to sign in than SCRAM-SHA-256")]
    Login,
}

impl PostgresSession {
    /// Signs in, in no more than `timeout`.
    ///
    /// # Errors
    ///
    /// How far it got.
    pub fn open(endpoint: &Endpoint, login: &DatabaseLogin, timeout: Duration) -> Result<Self, PostgresError> {
        let DatabaseLogin { user, password, database } = login;
        let connection = Connection::open(endpoint, None, timeout)?;
        let mut session = Self { connection, unread: BytesMut::new(), rows: None };
        let parameters = [("user", user.as_ref()), ("database", database.as_ref()), ("application_name", NAME)];
        session.say(|out| frontend::startup_message(parameters, out))?;
        let mut scram = None;
        loop {
            match session.hear()? {
                Message::AuthenticationSasl(body) => {
                    if !body.mechanisms().any(|mechanism| Ok(mechanism == SCRAM_SHA_256))? {
                        return Err(PostgresError::Login);
                    }
                    let begun = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
                    session.say(|out| frontend::sasl_initial_response(SCRAM_SHA_256, begun.message(), out))?;
                    scram = Some(begun);
                }
                Message::AuthenticationSaslContinue(body) => {
                    let scram = scram.as_mut().ok_or(PostgresError::Login)?;
                    scram.update(body.data())?;
                    session.say(|out| frontend::sasl_response(scram.message(), out))?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    scram.as_mut().ok_or(PostgresError::Login)?.finish(body.data())?;
                }
                Message::ErrorResponse(body) => return Err(refused(body.fields())),
                Message::ReadyForQuery(_) => return Ok(session),
                // It lets in without a password, or tells of its settings.
                Message::AuthenticationOk | Message::ParameterStatus(_) | Message::BackendKeyData(_) => {}
                Message::NoticeResponse(_) => {}
                _ => return Err(PostgresError::Login),
            }
        }
    }

    /// Asks, unless a question is open.
    ///
    /// # Errors
    ///
    /// When it cannot be sent.
    pub fn ask(&mut self, question: &str, patience: Duration) -> Result<(), PostgresError> {
        if self.rows.is_none() {
            self.connection.give(patience);
            self.say(|out| frontend::query(question, out))?;
            self.rows = Some(Vec::new());
        }
        Ok(())
    }

    /// The rows of the answer, if it is whole within this time; it may be waited for again.
    ///
    /// # Errors
    ///
    /// When no answer will come.
    pub fn answer(&mut self, patience: Duration) -> Result<Option<Vec<Row>>, PostgresError> {
        self.connection.give(patience);
        loop {
            match self.hear() {
                Ok(Message::DataRow(body)) => {
                    let buffer = body.buffer();
                    let text = |range: Option<std::ops::Range<usize>>| {
                        let bytes = range.and_then(|range| buffer.get(range));
                        Ok(bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
                    };
                    let row = body.ranges().map(text).collect()?;
                    self.rows.get_or_insert_default().push(row);
                }
                Ok(Message::ErrorResponse(body)) => return Err(refused(body.fields())),
                Ok(Message::ReadyForQuery(_)) => return Ok(self.rows.take()),
                Ok(_) => {}
                Err(PostgresError::Wire(Cause::TimedOut(_))) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    fn say(&mut self, write: impl FnOnce(&mut BytesMut) -> std::io::Result<()>) -> Result<(), PostgresError> {
        let mut out = BytesMut::new();
        write(&mut out)?;
        Ok(self.connection.write_all(&out)?)
    }

    fn hear(&mut self) -> Result<Message, PostgresError> {
        let mut buffer = [0; 16 << 10];
        loop {
            if let Some(message) = Message::parse(&mut self.unread)? {
                return Ok(message);
            }
            match self.connection.read(&mut buffer)? {
                0 => return Err(Cause::Io(std::io::ErrorKind::UnexpectedEof.into()).into()),
                count => self.unread.extend_from_slice(&buffer[..count]),
            }
        }
    }
}

/// SQLSTATE and message of an error (<https://www.postgresql.org/docs/current/protocol-error-fields.html>).
fn refused(fields: postgres_protocol::message::backend::ErrorFields<'_>) -> PostgresError {
    let told = fields.filter(|field| Ok(matches!(field.type_(), b'C' | b'M')));
    let words: Vec<String> =
        told.map(|field| Ok(String::from_utf8_lossy(field.value_bytes()).into_owned())).collect().unwrap_or_default();
    PostgresError::Refused(words.join(" "))
}
