//! How both sides of a change are measured.

use std::path::Path;

use clap::Args;

use crate::catalogue::Catalogue;
use crate::compare::{ChangeMetric, CompareFlags, ComparePlan};
use crate::flags::{
    BaseImageFlag, ClusterFlags, DeploymentFlags, DurationFlag, GeneratorsFlag, LoadFlag, MaxTimeFlag, OrderFlag,
    PlatformFlags, PodFlags, RoundsFlag, RuntimesFlag, SeedFlag, SiteFlags, SubjectFlag, WarmUpFlag,
};
use crate::image::ImageFlags;
use crate::machine_size::MachineSize;
use crate::mistake::Mistakes;

/// What an image's case is called until it is one of two sides.
const SIDE: &str = "image";

/// One side of a gate, as it was typed.
#[derive(Clone, Copy, Debug)]
pub enum GateSide<'a> {
    /// What lies in this folder.
    Folder(&'a Path),
    /// The image of this name, asked what the plan in the current folder asks, or for `/`.
    Image(&'a str),
}

/// How both sides of a gate are measured, where their plans do not say it.
#[derive(Args, Clone, Debug, Default)]
#[expect(missing_docs, reason = "each group says what it is")]
pub struct GateFlags {
    #[command(flatten)]
    pub site: SiteFlags,
    /// Runtime that serves both [default: the plan's, or the first that is installed and serves both]
    #[arg(long, value_name = "NAME", help_heading = "Measuring")]
    pub runtime: Option<String>,
    #[command(flatten)]
    pub deployment: DeploymentFlags,
    #[command(flatten)]
    pub load: LoadFlag,
    #[command(flatten)]
    pub duration: DurationFlag,
    #[command(flatten)]
    pub warm_up: WarmUpFlag,
    #[command(flatten)]
    pub rounds: RoundsFlag,
    #[command(flatten)]
    pub max_time: MaxTimeFlag,
    #[command(flatten)]
    pub order: OrderFlag,
    #[command(flatten)]
    pub seed: SeedFlag,
    #[command(flatten)]
    pub platform: PlatformFlags,
    #[command(flatten)]
    pub generators: GeneratorsFlag,
    #[command(flatten)]
    pub pods: PodFlags,
}

impl GateFlags {
    /// The first flag that was given.
    #[must_use]
    pub fn first_given(&self) -> Option<&'static str> {
        let Self {
            site: SiteFlags { index, host },
            runtime,
            deployment,
            load,
            duration,
            warm_up,
            rounds,
            max_time,
            order,
            seed,
            platform: PlatformFlags { platform, image: BaseImageFlag { base_image } },
            generators,
            pods: PodFlags { cluster: ClusterFlags { kube_context, namespace }, generator_image, generator_cpus },
        } = self;
        let DeploymentFlags { set, cpus, memory } = deployment;
        let is_given = |flag: &Option<String>| flag.is_some();
        [
            (index.index.is_some(), "--index"),
            (is_given(host), "--host"),
            (is_given(runtime), "--runtime"),
            (!set.is_empty(), "--set"),
            (is_given(cpus), "--cpus"),
            (is_given(memory), "--memory"),
            (is_given(&load.load), "--load"),
            (is_given(&duration.duration), "--duration"),
            (is_given(&warm_up.warm_up), "--warm-up"),
            (is_given(&rounds.rounds), "--rounds"),
            (is_given(&max_time.max_time), "--max-time"),
            (is_given(&order.order), "--order"),
            (is_given(&seed.seed), "--seed"),
            (is_given(platform), "--platform"),
            (is_given(base_image), "--base-image"),
            (is_given(&generators.generators), "--generators"),
            (is_given(kube_context), "--kube-context"),
            (is_given(namespace), "--namespace"),
            (is_given(generator_image), "--generator-image"),
            (generator_cpus.is_some(), "--generator-cpus"),
        ]
        .into_iter()
        .find_map(|(is_given, flag)| is_given.then_some(flag))
    }

    /// Reads them for a side, of which this decides.
    ///
    /// # Errors
    ///
    /// All mistakes of the command line and of the files in the folder.
    pub fn read(
        &self,
        side: GateSide<'_>,
        decides: ChangeMetric,
        machine: MachineSize,
        catalogue: &dyn Catalogue,
    ) -> Result<ComparePlan, Mistakes> {
        let own = self.clone();
        let (subject, images) = match side {
            GateSide::Folder(folder) => (Some(folder.display().to_string()), ImageFlags::default()),
            GateSide::Image(name) => {
                (None, ImageFlags { images: vec![format!("{SIDE}={name}")], ..ImageFlags::default() })
            }
        };
        let flags = CompareFlags {
            subject: SubjectFlag { subject, site: own.site },
            runtimes: RuntimesFlag { runtimes: own.runtime },
            images,
            deployment: own.deployment,
            load: own.load,
            duration: own.duration,
            warm_up: own.warm_up,
            rounds: own.rounds,
            max_time: own.max_time,
            order: own.order,
            seed: own.seed,
            platform: own.platform,
            generators: own.generators,
            pods: own.pods,
            ..CompareFlags::default()
        };
        ComparePlan::read_side(&flags, decides, machine, catalogue)
    }
}
