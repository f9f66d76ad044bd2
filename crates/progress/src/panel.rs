//! Lines at the bottom of a terminal that are drawn over, below those that stay.
//!
//! A thread of its own writes them: a terminal that is paused must not hold up a measurement. It draws four times a second at
//! most, and of what is drawn over only the newest. Lines that stay are few, some for each trial, and all of them wait.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::Screen;

/// The shortest time between two drawings.
const PERIOD: Duration = Duration::from_millis(250);

enum Told {
    /// A line that stays.
    Line(String),
    /// There are lines to be drawn over.
    Frame,
}

/// The newest lines that are drawn over, until they are taken to be drawn.
#[derive(Clone, Default)]
struct Newest(Arc<Mutex<Option<Vec<String>>>>);

impl Newest {
    fn replace(&self, lines: Option<Vec<String>>) -> Option<Vec<String>> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), lines)
    }
}

/// The writing thread and the way to it; gone once this is dropped.
pub(super) struct Panel {
    newest: Newest,
    thread: Option<(Sender<Told>, JoinHandle<()>)>,
}

impl Panel {
    pub(super) fn new(screen: impl Screen) -> Self {
        let (newest, (tell, told)) = (Newest::default(), channel());
        let of_thread = newest.clone();
        let write = move || write_all(&screen, &told, &of_thread);
        Self { newest, thread: Some((tell, thread::spawn(write))) }
    }

    /// Writes a line that stays.
    pub(super) fn line(&self, line: String) {
        self.tell(Told::Line(line));
    }

    /// Draws over what was drawn last.
    pub(super) fn draw(&self, lines: Vec<String>) {
        if self.newest.replace(Some(lines)).is_none() {
            self.tell(Told::Frame);
        }
    }

    fn tell(&self, told: Told) {
        if let Some((tell, _)) = &self.thread {
            let _ = tell.send(told);
        }
    }
}

impl Drop for Panel {
    /// Takes away what is drawn over.
    fn drop(&mut self) {
        if let Some((tell, thread)) = self.thread.take() {
            drop(tell);
            let _ = thread.join();
        }
    }
}

/// Writes until the sender is gone.
fn write_all(screen: &impl Screen, told: &Receiver<Told>, newest: &Newest) {
    let mut drawing = Drawing::default();
    // Whether there is something to be drawn over once it is time.
    let mut is_waiting = false;
    let mut due = Instant::now();
    let mut is_over = false;
    while !is_over {
        let next = match is_waiting {
            true => told.recv_timeout(due.saturating_duration_since(Instant::now())),
            false => told.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let text = match next {
            Ok(Told::Line(line)) => drawing.above(&line, screen.size().0),
            Ok(Told::Frame) => {
                is_waiting = true;
                continue;
            }
            Err(RecvTimeoutError::Timeout) => {
                (is_waiting, due) = (false, Instant::now() + PERIOD);
                drawing.over(newest.replace(None).unwrap_or_default(), screen.size().0)
            }
            Err(RecvTimeoutError::Disconnected) => {
                is_over = true;
                drawing.over(Vec::new(), screen.size().0)
            }
        };
        screen.write(&text);
    }
}

/// What is drawn at present, the cursor at the end of its last line.
#[derive(Default)]
struct Drawing(Vec<String>);

impl Drawing {
    /// Takes it away: up to its first line, and all from there on.
    fn clear(&self, columns: usize) -> String {
        // A terminal that has become narrower has broken lines in several.
        let rows: usize = self.0.iter().map(|line| line.chars().count().div_ceil(columns.max(1)).max(1)).sum();
        match rows {
            0 => String::new(),
            1 => "\r\x1b[J".to_owned(),
            rows => format!("\r\x1b[{}A\x1b[J", rows - 1),
        }
    }

    /// Draws these lines in place of it.
    fn over(&mut self, lines: Vec<String>, columns: usize) -> String {
        let clear = self.clear(columns);
        self.0 = lines;
        format!("{clear}{}", self.0.join("\n"))
    }

    /// Puts a line above it.
    fn above(&self, line: &str, columns: usize) -> String {
        format!("{}{line}\n{}", self.clear(columns), self.0.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a terminal of so many columns shows of this, without the blanks at the ends of lines.
    fn shown(text: &str, columns: usize) -> Vec<String> {
        let mut screen: Vec<Vec<char>> = vec![Vec::new()];
        let (mut row, mut column) = (0, 0);
        let mut rest = text;
        while let Some(character) = rest.chars().next() {
            rest = &rest[character.len_utf8()..];
            match character {
                '\r' => column = 0,
                '\n' => (row, column) = (row + 1, 0),
                '\x1b' => {
                    let end = rest.find(char::is_alphabetic).unwrap();
                    let number = rest[1..end].parse::<usize>();
                    match &rest[end..=end] {
                        "A" => row -= number.unwrap(),
                        "J" => {
                            screen.truncate(row + 1);
                            screen[row].truncate(column);
                        }
                        other => panic!("{other}"),
                    }
                    rest = &rest[end + 1..];
                }
                character => {
                    if column == columns {
                        (row, column) = (row + 1, 0);
                    }
                    screen.resize(screen.len().max(row + 1), Vec::new());
                    let length = screen[row].len().max(column + 1);
                    screen[row].resize(length, ' ');
                    screen[row][column] = character;
                    column += 1;
                }
            }
            screen.resize(screen.len().max(row + 1), Vec::new());
        }
        screen.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned()).collect()
    }

    #[test]
    fn lines_stay_above_what_is_drawn_over() {
        let lines = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let (mut drawing, mut text) = (Drawing::default(), String::new());
        for step in [&["one"][..], &["a longer first", "second", "third"], &["short", "2nd"]] {
            text += &drawing.over(lines(step), 80);
            assert_eq!(shown(&text, 80), lines(step));
        }
        text += &drawing.above("stays", 80);
        assert_eq!(shown(&text, 80), lines(&["stays", "short", "2nd"]));
        text += &drawing.above("stays too", 80);
        text += &drawing.over(lines(&["last"]), 80);
        assert_eq!(shown(&text, 80), lines(&["stays", "stays too", "last"]));
        text += &drawing.over(Vec::new(), 80);
        assert_eq!(shown(&text, 80), lines(&["stays", "stays too", ""]));
    }

    #[test]
    fn a_terminal_that_became_narrower_keeps_nothing_of_what_was_drawn() {
        let mut drawing = Drawing::default();
        // As the narrower terminal shows it: both lines are broken in two.
        let mut text = drawing.over(vec!["0123456789".to_owned(), "abcdefgh".to_owned()], 80);
        assert_eq!(shown(&text, 6), ["012345", "6789", "abcdef", "gh"]);
        text += &drawing.over(vec!["new".to_owned()], 6);
        assert_eq!(shown(&text, 6), ["new"]);
    }
}
