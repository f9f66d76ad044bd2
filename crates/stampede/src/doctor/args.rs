//! The command line of `stampede doctor`.

use std::path::PathBuf;

use crate::flags::StoreArgs;

/// What to write of the machine.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit code 3: this machine cannot measure.\n\nExamples:\n  \
        stampede doctor\n  \
        stampede doctor --json -\n  \
        stampede compare markdown --calibrate  # how much do equal cases differ here?")]
pub(crate) struct DoctorArgs {
    /// Write what was found as JSON (`-` is stdout, in place of the table)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) json: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
