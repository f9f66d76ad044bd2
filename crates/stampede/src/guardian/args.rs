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
    Put {
        /// The folder, which is at the same place in that container
        folder: PathBuf,
    },
    /// Say what this container is held to, once its server listens
    Look {
        /// The address of the pod
        address: IpAddr,
        /// The port that takes the load [default: found by asking]
        #[arg(long, value_name = "PORT")]
        on_port: Option<u16>,
        /// How long the server may take
        #[arg(long, value_name = "MS")]
        patience_ms: u64,
    },
    /// Say what this node is
    Node,
}
