//! How far a study is, told to a person from its events: a few lines of a terminal that are drawn over, or one line a trial.
//!
//! It knows no stream: where lines go, and how wide that is, is a [`Screen`].

mod panel;
mod progress;

pub use progress::{ProgressStyle, StudyProgress};

/// Where progress goes. Its clones are the same place; one of them writes in a thread of its own.
pub trait Screen: Clone + Send + 'static {
    /// Writes text as it is.
    fn write(&self, text: &str);

    /// Columns and rows of what is drawn over.
    fn size(&self) -> (usize, usize);

    /// Columns of lines that stay, where nothing is drawn over.
    fn width(&self) -> usize;

    /// A warning as a line, with its label.
    fn warned(&self, line: &str) -> String;
}
