//! The command line of `stampede reproduce`.

use clap::Arg;
use stampede_plan::ReproduceFlags;

use crate::flags::{BackendArgs, BenchArgs, OutputArgs, ResumeArgs, StoreArgs};

/// Which published experiment, how much of it.
#[derive(Debug, clap::Args)]
#[command(mut_args(in_reproduce))]
#[command(after_help = "Examples:\n  \
        stampede reproduce\n  \
        stampede reproduce symfony-blog\n  \
        stampede reproduce gcp-markdown --scale 0.1 --client-rtt 40ms\n  \
        stampede reproduce webman --tables keep-alive,data-layer --markdown webman.md\n  \
        stampede reproduce apache-to-nginx --full\n  \
        stampede reproduce apache-to-nginx --full --resume  # where it was interrupted\n  \
        stampede reproduce symfony-blog --studies latest --html symfony-blog.html")]
pub(crate) struct ReproduceArgs {
    /// The experiment, or the file of one of your own that ends in .yaml
    #[arg(value_name = "NAME|FILE")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) flags: ReproduceFlags,
    /// Measure nothing: show these stored studies of its tables again
    #[arg(
        long,
        value_name = "STUDY,STUDY",
        conflicts_with_all = ["rounds", "seed", "backend", "no_wait", "resume"],
        help_heading = "How much"
    )]
    pub(crate) studies: Option<String>,
    #[command(flatten)]
    pub(crate) resume: ResumeArgs,
    #[command(flatten)]
    pub(crate) backend: BackendArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) bench: BenchArgs,
}

fn in_reproduce(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "rounds" => arg
            .value_name("N")
            .help("Rounds, each of which measures every row once [default: the experiment's own, usually 5]"),
        "seed" => arg.help("Seed of the random order of rows; the same seed gives the same order [default: a random one]"),
        "resume" => arg.num_args(0).help("Resume an interrupted run; repeat the same command line"),
        "client_rtt" => {
            arg.help("Round-trip time between client and server, for rows that publish none: 40ms").help_heading("Study")
        }
        "feeders" => arg
            .help("Data file that the experiment's scenario takes its values from, in place of its own: payloads=people.tsv (may be repeated)")
            .help_heading("Study"),
        _ => arg,
    }
}
