//! Why files could not be made.

use stampede_core::{Cpus, UnknownPlace};
use thiserror::Error;

/// The longest path of a unix socket, in bytes without the final zero
/// ([unix(7)](https://man7.org/linux/man-pages/man7/unix.7.html)).
pub(crate) const LONGEST_SOCKET_PATH: usize = 107;

/// Why files could not be made.
#[derive(Debug, Error)]
pub enum ExportError {
    /// A text names a place that is not there.
    #[error("export {what}")]
    Place {
        /// The file or program.
        what: String,
        /// The place.
        #[source]
        source: UnknownPlace,
    },
    /// There are not enough ports after the front's.
    #[error("listen on port {0}: the ports that follow are needed too, and there are not enough of them")]
    Ports(u16),
    /// A server's configuration cannot name the folder.
    #[error(
        "write configuration for {0}: a server's file takes letters, digits and /-_.+@ of it, and a socket in it has at most \
         {LONGEST_SOCKET_PATH} bytes"
    )]
    Folder(String),
    /// Nothing is known of an image.
    #[error("write a Dockerfile: it is not known what the image builds upon")]
    Image,
    /// Cloud Run has no such CPUs.
    #[error("run it on Cloud Run: it has 1, 2, 4, 6 or 8 CPUs, or from 0.08 up to 1, and not {0}")]
    CloudRunCpus(Cpus),
    /// A template could not be filled.
    #[error("fill in {template}")]
    Template {
        /// The template.
        template: &'static str,
        /// Why.
        #[source]
        source: minijinja::Error,
    },
}
