//! The command line of `stampede __guardian`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Subcommand;

/// What a process in a pod of a load does.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum GuardianTask {
    /// Hold the lease of a load until nobody renews it
    Hold {
        /// The load
        run: String,
        /// Its length in seconds
        #[arg(long, value_name = "SECONDS")]
        lease: u64,
    },
    /// Renew the lease of a load for each byte of standard input
    Renew {
        /// The load
        run: String,
    },
    /// Wait until agents are no longer needed here
    Wait,
    /// Put this program where a container of another image sees it, and say in the pod's status how it is started there
    Put { folder: PathBuf },
    /// Say what this container is held to, once its server listens: on this port, or on one that is found by asking
    Look { address: IpAddr, patience_ms: u64, port: Option<u16> },
    /// Say what this node is
    Node,
}
