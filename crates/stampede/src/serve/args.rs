//! The command line of `stampede serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::flags::StoreArgs;

/// Where the dashboard is, and who may see it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
        stampede serve\n  \
        stampede serve --listen 127.0.0.1:0  # any port that is free\n  \
        ssh -t -L 8600:127.0.0.1:8600 HOST stampede serve\n  \
        stampede serve --listen 0.0.0.0:8600  # prints an address with a token")]
pub(crate) struct ServeArgs {
    /// Where to listen; any address but a loopback one needs a token
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8600")]
    pub(crate) listen: SocketAddr,
    /// A file whose first line is the token, of 16 characters or more [default: none on a loopback address, elsewhere a
    /// new one each time]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
