//! The command line of `stampede export`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Arg;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use stampede_export::Target;
use stampede_plan::{AppFlag, DeploymentFlags, IndexFlag, LoadFlag, PhpFlag};

use crate::flags::StoreArgs;

/// For what, of what, and where to.
#[derive(Debug, clap::Args)]
#[command(mut_args(in_export))]
#[command(after_help = "Examples:\n  \
        stampede export dockerfile --study latest -o ./deploy  # the recommended case\n  \
        stampede export kubernetes --study 20260301 --case tuned \\\n    \
        --image registry.example/shop:1 -o ./deploy\n  \
        stampede export config nginx-fpm markdown --cpus 0.5 --memory 256Mi \\\n    \
        -o ./server\n  \
        stampede export systemd apache-mod-php ./my-app \\\n    \
        --set apache-mod-php.MaxRequestWorkers=8 --output ./root")]
pub(crate) struct ExportArgs {
    /// What the files are for: dockerfile, compose, kubernetes, knative, cloud-run (each with the Dockerfile of its image),
    /// systemd, or config (the servers' own files and a script that starts them)
    #[arg(value_name = "TARGET", value_parser = target(), hide_possible_values = true)]
    pub(crate) target: Target,
    /// The runtime (see `stampede list runtimes`) [default: the one that the study recommends]
    #[arg(value_name = "RUNTIME")]
    pub(crate) runtime: Option<String>,
    /// Your application's folder, a plan file, or a built-in workload [default: the study's, or the stampede.yaml in this
    /// folder]
    #[arg(value_name = "DIR|PLAN|WORKLOAD")]
    pub(crate) subject: Option<String>,
    #[command(flatten)]
    pub(crate) index: IndexFlag,
    /// Take limits and settings from a stored study: its name, the start of one, or `latest`
    #[arg(long, value_name = "STUDY", help_heading = "What")]
    pub(crate) study: Option<String>,
    /// Which case of the study or plan [default: the recommended one; with RUNTIME, the best one of that runtime]
    #[arg(long, value_name = "CASE", help_heading = "What")]
    pub(crate) case: Option<String>,
    #[command(flatten)]
    pub(crate) app: AppFlag,
    #[command(flatten)]
    pub(crate) php: PhpFlag,
    #[command(flatten)]
    pub(crate) deployment: DeploymentFlags,
    #[command(flatten)]
    pub(crate) load: LoadFlag,
    /// Address and port to listen on; status pages listen on 127.0.0.1, on the next ports [default: 0.0.0.0:8080; for config
    /// 127.0.0.1:8080]
    #[arg(long, value_name = "IP:PORT", help_heading = "Where")]
    pub(crate) listen: Option<SocketAddr>,
    /// Name of the container image [default: APPLICATION-RUNTIME:STUDY]
    #[arg(long, value_name = "NAME", help_heading = "Where")]
    pub(crate) image: Option<String>,
    /// Folder to write to; it must be empty or not exist yet, and lie outside the application
    #[arg(long, short, value_name = "DIR", help_heading = "Where")]
    pub(crate) output: PathBuf,
    /// Replace files and folders that have the same names
    #[arg(long, help_heading = "Where")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

fn in_export(arg: Arg) -> Arg {
    let arg = match arg.get_id().as_str() {
        "load" => arg.help("Load that settings are made for, such as the number of connections [default: closed:16]"),
        _ => arg,
    };
    match arg.get_id().as_str() {
        "app" | "php" | "set" | "cpus" | "memory" | "load" => arg.conflicts_with("study").help_heading("What"),
        _ => arg,
    }
}

fn target() -> impl TypedValueParser<Value = Target> {
    PossibleValuesParser::new(Target::ALL.map(Target::id))
        .try_map(|word| Target::ALL.into_iter().find(|target| target.id() == word).ok_or("is not a target"))
}
