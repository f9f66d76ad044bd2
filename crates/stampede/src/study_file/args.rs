//! The command lines of `stampede export-study` and `import-study`.

use std::path::PathBuf;

use crate::flags::StoreArgs;

/// Which study to write, and where.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
        stampede export-study latest latest.stampede-study\n  \
        stampede export-study latest - | ssh HOST stampede import-study -")]
pub(crate) struct ExportStudyArgs {
    /// A study's name, the start of one, or `latest`
    pub(crate) study: String,
    /// The file (`-` is stdout)
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Which file to take a study from.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
        stampede import-study latest.stampede-study\n  \
        stampede import-study latest.stampede-study --store others.db")]
pub(crate) struct ImportStudyArgs {
    /// The file (`-` is stdin)
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
