//! The process at the other end of an agent's stream: the agent, or what carries its stream.

use std::ffi::OsString;
use std::io;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

use crate::carried::{CarriedStream, Carrying};

/// What is kept of what it writes to standard error: the end.
const KEPT: usize = 2000;

/// A process, killed when this is dropped. An agent that it carries ends by itself then, with its input.
#[derive(Debug)]
pub(crate) struct AgentProcess {
    _child: Child,
    said: Arc<Mutex<Vec<u8>>>,
    /// Who reads its standard error.
    _listener: JoinSet<()>,
}

impl AgentProcess {
    /// Starts this command.
    pub(crate) fn start(command: &[OsString]) -> io::Result<CarriedStream> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let missing = || io::Error::from(io::ErrorKind::BrokenPipe);
        let output = child.stdout.take().ok_or_else(missing)?;
        let input = child.stdin.take().ok_or_else(missing)?;
        let mut errors = child.stderr.take().ok_or_else(missing)?;
        let said = Arc::new(Mutex::new(Vec::new()));
        let mut listener = JoinSet::new();
        let heard = Arc::clone(&said);
        listener.spawn(async move {
            let mut buffer = [0; 1024];
            while let Ok(count) = errors.read(&mut buffer).await
                && count > 0
            {
                let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                heard.extend_from_slice(&buffer[..count]);
                let excess = heard.len().saturating_sub(KEPT);
                heard.drain(..excess);
            }
        });
        let carrier = Box::new(Self { _child: child, said, _listener: listener });
        Ok(CarriedStream { output: Box::new(output), input: Box::new(input), carrier })
    }
}

impl Carrying for AgentProcess {
    fn said(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&said).trim().to_owned()
    }
}
