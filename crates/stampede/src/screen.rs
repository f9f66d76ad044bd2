//! What goes to a person: errors and warnings on stderr, the size of the terminal, and whether colour is wanted.

use std::env;
use std::io::{self, IsTerminal, Write};

use rustix::termios::tcgetwinsize;

use crate::exit::Failure;

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
    if io::stderr().is_terminal() { say(&fitted(text, size().0)) } else { say(text) }
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

/// Whoever closed our stderr does not want to read it; that must not end a measurement.
fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Data for whoever reads stdout. A reader that has had enough is no error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// Data that is no text.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| Failure::missing(format!("cannot write to stdout: {error}"))),
    }
}

/// Text that may come from a server, without what a terminal would obey.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { '\u{fffd}' } else { character }).collect()
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
    stream.is_terminal()
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
    let columns = tcgetwinsize(io::stdout()).map(|size| usize::from(size.ws_col)).ok().filter(|columns| *columns > 0);
    columns.or_else(|| env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0)).unwrap_or(80).max(60)
}
