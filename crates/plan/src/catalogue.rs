//! What exists, as the binary knows it.

use std::path::{Path, PathBuf};

use stampede_core::Runtime;

/// What exists: a plan names things, the catalogue has them.
pub trait Catalogue {
    /// Every runtime, in the order in which they are listed.
    fn runtimes(&self) -> &[&'static dyn Runtime];

    /// Names of the built-in workloads.
    fn workloads(&self) -> Vec<String>;

    /// The folder of a built-in workload.
    ///
    /// # Errors
    ///
    /// When its files cannot be unpacked: the error's text.
    fn workload_folder(&self, name: &str) -> Result<PathBuf, String>;

    /// The folder with what a workload's command writes, run in the workload's folder with the name of the other one as its
    /// last argument. It is not run again as long as the workload is the same.
    ///
    /// # Errors
    ///
    /// When the command fails: its words.
    fn generated(&self, workload: &Path, command: &[String]) -> Result<PathBuf, String>;
}
