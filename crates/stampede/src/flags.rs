//! Flags that several commands have, in groups that each of them flattens.

use std::env;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, FromArgMatches, value_parser};
use stampede_catalogue::own_folder;
use stampede_conduct::{Bench, Host, metric_list};
use stampede_plan::OrList;
use stampede_report::{FORMATS, Format};

use crate::backend::BackendChoice;
use crate::exit::Failure;
use crate::study_place::{Report, StudyPlace};

/// How the load engine works.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct BackendArgs {
    /// System calls of the load generator: epoll, io-uring, or auto [default: auto, whichever costs less CPU on this machine]
    #[arg(
        long,
        value_enum,
        default_value_t,
        hide_possible_values = true,
        hide_default_value = true,
        help_heading = "Study"
    )]
    pub(crate) backend: BackendChoice,
}

/// What decides.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct MetricArgs {
    /// Metric that decides which is better, such as requests_per_cpu_second; --metric help lists all [default: throughput
    /// under closed load, the p99 response time under open load]
    #[arg(long, value_name = "KEY", value_parser = OrList(metric_list), help_heading = "Study")]
    pub(crate) metric: Option<String>,
}

/// What is resumed.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ResumeArgs {
    /// Resume an interrupted study; repeat the same command line [default: the newest]
    #[arg(long, value_name = "STUDY", help_heading = "Study")]
    pub(crate) resume: Option<Option<String>>,
}

/// Which study a case is of.
#[derive(Debug, clap::Args)]
pub(crate) struct StudyFlag {
    /// The study: its name, the start of one, or `latest`
    #[arg(long, value_name = "STUDY", default_value = "latest")]
    pub(crate) study: String,
}

/// A study that is measured: whether one is resumed, where it and its reports go, and how this machine is taken.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct StudyArgs {
    #[command(flatten)]
    pub(crate) resume: ResumeArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) bench: BenchArgs,
}

impl StudyArgs {
    /// Sees that every report can be written before anything is measured.
    pub(crate) fn on(self, host: &dyn Host) -> Result<StudyPlace<'_>, Failure> {
        let Self { resume: ResumeArgs { resume }, output, store, bench } = self;
        Ok(StudyPlace { resume, report: Report::new(output.0)?, store: store.file()?, bench: bench.on(host) })
    }
}

/// How this machine is taken, and what is shown meanwhile.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    pub(crate) wait: WaitArgs,
    #[command(flatten)]
    pub(crate) quiet: QuietArgs,
}

impl BenchArgs {
    pub(crate) fn on(self, host: &dyn Host) -> Bench<'_> {
        Bench { host, no_wait: self.wait.no_wait, quiet: self.quiet.quiet }
    }
}

/// Whether another Stampede is waited for.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct WaitArgs {
    /// End with exit code 3, instead of waiting, when another Stampede is measuring
    #[arg(long, help_heading = "Study")]
    pub(crate) no_wait: bool,
}

/// Whether progress is shown.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct QuietArgs {
    /// No progress on stderr
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
}

/// Where reports go: a flag for each format that was given, with its file.
#[derive(Clone, Debug)]
pub(crate) struct OutputArgs(pub(crate) Vec<(&'static Format, PathBuf)>);

impl clap::Args for OutputArgs {
    fn augment_args(command: Command) -> Command {
        FORMATS.iter().fold(command, |command, Format { flag, help, .. }| {
            let flag = flag.trim_start_matches("--");
            let file = Arg::new(flag).long(flag).value_name("FILE").value_parser(value_parser!(PathBuf));
            command.arg(file.help(help).help_heading("Output"))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for OutputArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let file = |format: &Format| matches.get_one::<PathBuf>(format.flag.trim_start_matches("--"));
        Ok(Self(FORMATS.iter().filter_map(|format| Some((format, file(format)?.clone()))).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        Self::from_arg_matches(matches).map(|output| *self = output)
    }
}

/// Where studies are kept.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct StoreArgs {
    /// Database file that holds all studies [default: $STAMPEDE_STORE, or ~/.local/share/stampede/studies.db]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) store: Option<PathBuf>,
}

impl StoreArgs {
    /// Where the store is.
    pub(crate) fn file(&self) -> Result<PathBuf, Failure> {
        if let Some(named) = self.store.clone().or_else(|| env::var_os("STAMPEDE_STORE").map(PathBuf::from)) {
            return Ok(named);
        }
        Ok(own_folder("XDG_DATA_HOME", ".local/share").map_err(Failure::missing)?.join("studies.db"))
    }
}
