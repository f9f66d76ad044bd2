//! The first process of a container beside the engine: it starts Stampede when it is told to, passes signals on to it that come on the
//! line from the Stampede outside, and ends it when nothing comes on that line any more. At its end it tells the exit code, and stays until what was
//! written is collected.

use std::ffi::OsString;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Stdin};
use tokio::process::{Child, Command};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

/// How often something comes on the line.
pub(super) const BEAT: Duration = Duration::from_secs(1);

/// How long nothing may come on it. A process that was stopped for longer finds its Stampede ended.
pub(super) const SILENCE: Duration = Duration::from_secs(10);

/// What comes on the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Word {
    /// Somebody is still there.
    Beat = b'.',
    /// All that the command needs was brought.
    Begin = b'b',
    /// Ctrl-C was pressed.
    Interrupt = b'i',
    /// `kill`.
    Terminate = b't',
    /// The terminal was closed.
    HangUp = b'h',
    /// All was collected.
    End = b'e',
}

impl Word {
    fn of(byte: u8) -> Option<Self> {
        [Self::Beat, Self::Begin, Self::Interrupt, Self::Terminate, Self::HangUp, Self::End]
            .into_iter()
            .find(|word| *word as u8 == byte)
    }

    /// What the process is sent.
    fn signal(self) -> Option<Signal> {
        match self {
            Self::Beat | Self::Begin | Self::End => None,
            Self::Interrupt => Some(Signal::INT),
            Self::Terminate => Some(Signal::TERM),
            Self::HangUp => Some(Signal::HUP),
        }
    }
}

/// What is printed on stderr before the exit code: no text has it.
const MARK: u8 = 0;

/// The exit code as it is printed after all else.
fn last_word(code: u8) -> Vec<u8> {
    [&[MARK][..], code.to_string().as_bytes(), b"\n"].concat()
}

/// Reads a container's stderr: text, and the exit code after it.
#[derive(Debug, Default)]
pub(super) struct LastWord(Option<String>);

impl LastWord {
    /// The text in these bytes, and the exit code once it is there wholly.
    pub(super) fn take<'a>(&mut self, bytes: &'a [u8]) -> (&'a [u8], Option<u8>) {
        let (text, word) = match (&mut self.0, bytes.iter().position(|byte| *byte == MARK)) {
            (Some(_), _) => (&[][..], bytes),
            (none, Some(at)) => {
                *none = Some(String::new());
                (&bytes[..at], &bytes[at + 1..])
            }
            (None, None) => return (bytes, None),
        };
        let digits = self.0.get_or_insert_default();
        digits.push_str(&String::from_utf8_lossy(word));
        (text, digits.strip_suffix('\n').and_then(|digits| digits.parse().ok()))
    }
}

/// Runs this program with other arguments, from when it is told to on and as long as something comes on standard input. Returns its exit code, which is printed too.
///
/// # Errors
///
/// When it cannot be started, or the system refuses to tell of signals.
pub fn keep(args: &[OsString]) -> io::Result<u8> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(keep_running(args));
    // A thread that reads standard input would be waited for otherwise.
    runtime.shutdown_background();
    code
}

async fn keep_running(args: &[OsString]) -> io::Result<u8> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut line = tokio::io::stdin();
    loop {
        match next(&mut line).await {
            Some(Word::Begin) => break,
            Some(_) => {}
            // There is nothing yet that would have to be ended.
            None => return Ok(0),
        }
    }
    let mut command = Command::new(std::env::current_exe()?);
    let mut child = command.args(args).stdin(Stdio::null()).kill_on_drop(true).spawn()?;
    let mut is_heard = true;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status?,
            word = next(&mut line), if is_heard => match word {
                Some(word) => word.signal().into_iter().for_each(|signal| send(&child, signal)),
                None => {
                    is_heard = false;
                    send(&child, Signal::TERM);
                }
            },
            _ = terminate.recv() => send(&child, Signal::TERM),
            _ = interrupt.recv() => send(&child, Signal::INT),
        }
    };
    let code = code(status);
    if is_heard {
        let mut stderr = tokio::io::stderr();
        stderr.write_all(&last_word(code)).await?;
        stderr.flush().await?;
        while next(&mut line).await.is_some_and(|word| word != Word::End) {}
    }
    Ok(code)
}

/// What comes next on the line; nothing when nobody is there any more. A byte that means nothing is of a version that says more.
async fn next(line: &mut Stdin) -> Option<Word> {
    let mut byte = [0];
    match timeout(SILENCE, line.read(&mut byte)).await {
        Ok(Ok(1..)) => Some(Word::of(byte[0]).unwrap_or(Word::Beat)),
        Ok(Ok(0) | Err(_)) | Err(_) => None,
    }
}

fn send(child: &Child, signal: Signal) {
    let pid = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
    if let Some(pid) = pid {
        // One that has ended is found so next.
        let _ = kill_process(pid, signal);
    }
}

/// As a shell gives the status of a process that was ended by a signal.
fn code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt as _;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_before_the_exit_code_however_it_is_cut() {
        let all = [b"warning: slow\n".to_vec(), last_word(130)].concat();
        for cut in 0..=all.len() {
            let mut last = LastWord::default();
            let (first, early) = last.take(&all[..cut]);
            let (second, late) = last.take(&all[cut..]);
            assert_eq!([first, second].concat(), b"warning: slow\n", "{cut}");
            assert_eq!(early.or(late), Some(130), "{cut}");
        }
        assert_eq!(LastWord::default().take(b"text"), (&b"text"[..], None));
    }

    #[test]
    fn words_are_read_as_they_are_written() {
        for word in [Word::Beat, Word::Begin, Word::Interrupt, Word::Terminate, Word::HangUp, Word::End] {
            assert_eq!(Word::of(word as u8), Some(word));
        }
        assert_eq!(Word::of(b'?'), None);
        assert_eq!((Word::Interrupt.signal(), Word::End.signal()), (Some(Signal::INT), None));
    }
}
