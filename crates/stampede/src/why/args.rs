//! The command line of `stampede why`.

use clap::Arg;
use stampede_plan::RetrialFlags;

use crate::flags::StudyArgs;
use crate::flags::StudyFlag;

/// Which case, and how long its changes are measured.
#[derive(Debug, clap::Args)]
#[command(mut_args(in_why))]
#[command(after_help = "Examples:\n  \
        stampede compare mix --runtimes nginx-fpm --set nginx-fpm.pm.max_children=1\n  \
        stampede why  # the slowest case of the study before\n  \
        stampede why nginx-fpm --study 20260301 --max-time 5m\n  \
        stampede why --from ../my-app  # the application is elsewhere")]
pub(crate) struct WhyArgs {
    /// The case, by its name in the study's table [default: the slowest one]
    pub(crate) case: Option<String>,
    #[command(flatten)]
    pub(crate) study: StudyFlag,
    #[command(flatten)]
    pub(crate) flags: RetrialFlags,
    #[command(flatten)]
    pub(crate) place: StudyArgs,
}

fn in_why(arg: Arg) -> Arg {
    const MEASURING: &str = "Measuring";
    match arg.get_id().as_str() {
        "exchanges" => arg
            .help("Which of the workload's requests to send, by name [default: the study's]")
            .help_heading(None::<&str>),
        "base_image" => arg.help("Another image for containers [default: the study's]").help_heading(None::<&str>),
        "duration" => arg.help("How long each trial is measured [default: the study's]").help_heading(MEASURING),
        "rounds" => arg
            .help("Rounds, in each of which every change is measured once: auto, or a number [default: auto]")
            .help_heading(MEASURING),
        "precision" => arg.help("Smallest difference worth reporting [default: the study's]").help_heading(MEASURING),
        "seed" => arg.help("Seed of the order of changes [default: a random one]").help_heading(MEASURING),
        "resume" => {
            arg.help("Resume an interrupted run [default: the newest]").conflicts_with("study").help_heading(MEASURING)
        }
        "inside" => arg.help("Profile PHP in half of each measurement [default: on]").help_heading(MEASURING),
        "ready_timeout" | "max_time" | "no_wait" | "no_inside" => arg.help_heading(MEASURING),
        _ => arg,
    }
}
