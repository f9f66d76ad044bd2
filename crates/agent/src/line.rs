//! The two directions of a stream.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::line_error::LineError;
use crate::message_reader::MessageReader;
use crate::outbox::Outbox;
use crate::preamble::{Preamble, Side};

/// What is read at once.
const BUFFER: usize = 64 << 10;

/// Frames between a side and whoever writes them.
const FRAMES: usize = 1;

/// What comes from the other side.
pub(crate) struct Incoming<R> {
    stream: R,
    reader: MessageReader,
    buffer: Vec<u8>,
    /// When something came last.
    heard: Instant,
    patience: Duration,
}

impl<R: AsyncRead + Unpin> Incoming<R> {
    /// Reads what this side sends. It is lost when nothing comes for as long as `patience`.
    pub(crate) fn new(stream: R, from: Side, patience: Duration) -> Self {
        let reader = MessageReader::new(from, Preamble::ours());
        Self { stream, reader, buffer: vec![0; BUFFER], heard: Instant::now(), patience }
    }

    /// Waits for the preamble.
    pub(crate) async fn begin(&mut self) -> Result<(), LineError> {
        while !self.reader.has_begun() {
            self.read().await?;
        }
        Ok(())
    }

    /// The next message. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Vec<u8>, LineError> {
        loop {
            if let Some(message) = self.reader.next_message() {
                return Ok(message);
            }
            self.read().await?;
        }
    }

    async fn read(&mut self) -> Result<(), LineError> {
        let read = timeout_at(self.heard + self.patience, self.stream.read(&mut self.buffer)).await;
        let count =
            read.map_err(|_| LineError::Silent(self.patience))?.map_err(|error| LineError::Io(error.to_string()))?;
        if count == 0 {
            return Err(self.reader.ended());
        }
        self.heard = Instant::now();
        self.reader.feed(&self.buffer[..count])
    }
}

/// What goes to the other side. A task of its own writes, so that whoever sends never waits for the stream.
pub(crate) struct Outgoing {
    outbox: Outbox,
    frames: mpsc::Sender<Vec<u8>>,
    /// Ended when this is dropped.
    writer: JoinSet<io::Result<()>>,
}

impl Outgoing {
    /// Begins with the preamble of this side.
    pub(crate) fn new<W: AsyncWrite + Unpin + Send + 'static>(mut stream: W, side: Side) -> Self {
        let (frames, mut written) = mpsc::channel::<Vec<u8>>(FRAMES);
        let mut writer = JoinSet::new();
        writer.spawn(async move {
            stream.write_all(&Preamble::ours().to_bytes(side)).await?;
            stream.flush().await?;
            while let Some(frame) = written.recv().await {
                stream.write_all(&frame).await?;
                if written.is_empty() {
                    stream.flush().await?;
                }
            }
            Ok(())
        });
        Self { outbox: Outbox::default(), frames, writer }
    }

    pub(crate) fn push(&mut self, message: Vec<u8>) {
        self.outbox.push(message);
    }

    /// Whether nothing waits for the stream.
    pub(crate) fn is_empty(&self) -> bool {
        self.outbox.is_empty()
    }

    /// Waits until the stream takes one more frame, and gives it the next. Dropping the future loses nothing.
    pub(crate) async fn send_next(&mut self) -> Result<(), LineError> {
        if let Ok(permit) = self.frames.reserve().await {
            if let Some(frame) = self.outbox.next_frame() {
                permit.send(frame);
            }
            return Ok(());
        }
        match self.writer.join_next().await {
            Some(Ok(Err(error))) => Err(LineError::Io(error.to_string())),
            _ => Err(LineError::Ended),
        }
    }
}
