//! A stream of an agent, and who carries it.

use tokio::io::{AsyncRead, AsyncWrite};

/// Whoever carries an agent's stream. Dropping it ends the stream.
pub trait Carrying: Send + Sync {
    /// The end of what the agent, or what carries it, reported beside the stream: nothing, or why it ended.
    fn said(&self) -> String;
}

/// A stream of an agent that was started elsewhere.
pub struct CarriedStream {
    /// What the agent sends.
    pub output: Box<dyn AsyncRead + Unpin + Send>,
    /// What it is sent.
    pub input: Box<dyn AsyncWrite + Unpin + Send>,
    /// Who carries it.
    pub carrier: Box<dyn Carrying>,
}
