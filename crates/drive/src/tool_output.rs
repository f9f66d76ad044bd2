//! Where the output of hey, ab and wrk goes.

use std::io;
use std::path::Path;

use stampede_conduct::Failure;

/// Where the output of a tool goes.
pub trait ToolOutput {
    /// Prints a text on standard output.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    fn print(&self, text: &str) -> Result<(), Failure>;

    /// Sees that a file can be written, without making it or changing it.
    ///
    /// # Errors
    ///
    /// When it cannot.
    fn writable(&self, path: &Path) -> io::Result<()>;

    /// Writes a file.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    fn put(&self, path: &Path, text: &str) -> Result<(), Failure>;
}
