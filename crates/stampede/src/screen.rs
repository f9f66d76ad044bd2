//! What goes to a person: errors and warnings on stderr, the size of the terminal, and whether colour is wanted.

use std::env;
use std::io::{self, IsTerminal, Write};

use rustix::termios::tcgetwinsize;
use stampede_core::printable;

use crate::exit::{Exit, Failure};

/// An error, one line.
pub(crate) fn error(line: &str) {
    say(&format!("{}{}", label("error: ", "1;31", line), printable(line)));
}

/// A warning, one line; says what to do next.
pub(crate) fn warning(line: &str) {
    say(&warned(line));
}

/// The same as a text.
pub(crate) fn warned(line: &str) -> String {
    format!("{}{}", label("warning: ", "1;33", line), printable(line))
}

/// A note; on a terminal, its long lines are broken between words.
pub(crate) fn note(text: &str) {
    if is_terminal(&io::stderr()) { say(&fitted(text, size().0)) } else { say(text) }
}

/// A note of one line that may be long, whose further lines are set in by so many columns.
pub(crate) fn paragraph(text: &str, hang: usize) {
    note(&stampede_report::terminal::paragraph(text, hang, width()));
}

/// That a search was interrupted, and how it is resumed: how its command ends.
pub(crate) fn interrupted(search: &str) -> Exit {
    warning(&format!("interrupted; what was measured is kept, and the same command with --resume {search} continues"));
    Exit::Interrupted
}

/// The text with long lines broken. What is laid out already begins with a blank, has colours, or fits.
fn fitted(text: &str, columns: usize) -> String {
    let fit = |line: &str| {
        if line.starts_with(' ') || line.contains('\x1b') || line.chars().count() <= columns {
            line.to_owned()
        } else {
            stampede_report::terminal::paragraph(line, 0, columns)
        }
    };
    text.lines().map(fit).collect::<Vec<_>>().join("\n")
}

fn say(text: &str) {
    write(format!("{text}\n").as_bytes());
}

/// Writes to stderr. Whoever closed it does not want to read it; that must not end a measurement.
pub(crate) fn write(bytes: &[u8]) {
    #[cfg(test)]
    if capture::take(capture::Stream::Err, bytes) {
        return;
    }
    let mut stderr = io::stderr();
    let _ = stderr.write_all(bytes).and_then(|()| stderr.flush());
}

/// Whether a stream is drawn on by a person's terminal.
pub(crate) fn is_terminal(stream: &impl IsTerminal) -> bool {
    #[cfg(test)]
    if capture::is_on() {
        return false;
    }
    stream.is_terminal()
}

/// Data for whoever reads stdout. A reader that has had enough is no error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// Data that is no text.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    #[cfg(test)]
    if capture::take(capture::Stream::Out, bytes) {
        return Ok(());
    }
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| Failure::missing(format!("cannot write to stdout: {error}"))),
    }
}

/// Lines that go on with the one before carry no label of their own.
fn label(text: &str, colour: &str, line: &str) -> String {
    if line.starts_with(' ') {
        String::new()
    } else if colour_on(&io::stderr()) {
        format!("\x1b[{colour}m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

/// Whether to colour what goes to this stream (https://no-color.org).
pub(crate) fn colour_on(stream: &impl IsTerminal) -> bool {
    is_terminal(stream)
        && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Columns and rows of the terminal on stderr; 80 and 24 where it does not say.
pub(crate) fn size() -> (usize, usize) {
    let size = tcgetwinsize(io::stderr()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
    size.map_or((80, 24), |size| (usize::from(size.ws_col), usize::from(size.ws_row)))
}

/// Columns of the terminal on stdout, or what `COLUMNS` says, or 80.
pub(crate) fn width() -> usize {
    #[cfg(test)]
    if capture::is_on() {
        return 80;
    }
    let columns = tcgetwinsize(io::stdout()).map(|size| usize::from(size.ws_col)).ok().filter(|columns| *columns > 0);
    columns.or_else(|| env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0)).unwrap_or(80).max(60)
}

/// What a command prints while a test runs it in its own thread.
#[cfg(test)]
pub(crate) mod capture {
    use std::cell::RefCell;
    use std::sync::{Arc, Mutex, PoisonError};

    #[derive(Clone, Copy)]
    pub(crate) enum Stream {
        Out,
        Err,
    }

    /// What was printed to stdout and stderr. Threads that print for a command get a copy of it.
    #[derive(Clone, Default)]
    pub(crate) struct Captured(Arc<Mutex<[Vec<u8>; 2]>>);

    impl Captured {
        /// What came so far on stdout and stderr.
        pub(crate) fn texts(&self) -> [String; 2] {
            let streams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            [0, 1].map(|stream| String::from_utf8_lossy(&streams[stream]).into_owned())
        }
    }

    thread_local! {
        static CAPTURED: RefCell<Option<Captured>> = const { RefCell::new(None) };
    }

    /// Captures what this thread prints from here on; nothing any more where that is none.
    pub(crate) fn install(captured: Option<Captured>) {
        CAPTURED.with(|own| *own.borrow_mut() = captured);
    }

    /// What captures this thread's output.
    pub(crate) fn installed() -> Option<Captured> {
        CAPTURED.with(|own| own.borrow().clone())
    }

    pub(super) fn is_on() -> bool {
        installed().is_some()
    }

    /// Whether it was captured.
    pub(super) fn take(stream: Stream, bytes: &[u8]) -> bool {
        installed().is_some_and(|captured| {
            captured.0.lock().unwrap_or_else(PoisonError::into_inner)[stream as usize].extend_from_slice(bytes);
            true
        })
    }
}
