//! What goes to a person: errors and warnings on stderr, the size of the terminal, and whether colour is wanted.

use std::env;
use std::io::{self, IsTerminal};

use rustix::termios::tcgetwinsize;

/// An error, one line.
pub(crate) fn error(line: &str) {
    eprintln!("{}{line}", label("error: ", "1;31", line));
}

/// A warning, one line; says what to do next.
pub(crate) fn warning(line: &str) {
    eprintln!("{}{line}", label("warning: ", "1;33", line));
}

/// A note, one line.
pub(crate) fn note(line: &str) {
    eprintln!("{line}");
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

/// Columns of the terminal on stdout, or what `COLUMNS` says, or 80.
pub(crate) fn width() -> usize {
    let columns = tcgetwinsize(io::stdout()).map(|size| usize::from(size.ws_col)).ok().filter(|columns| *columns > 0);
    columns.or_else(|| env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0)).unwrap_or(80).max(60)
}
