//! The command line of `stampede __guardian`.

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
}
