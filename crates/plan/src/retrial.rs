//! The plan of measuring a stored case again, beside changes to it: what holds it back?

use std::env;
use std::path::Path;

use clap::Args;
use stampede_core::{
    App, AppKind, BlockOrder, Candidate, Case, CaseId, DefaultsContext, ImageSource, Limits, MakersImage, PhpChoice,
    Rounds, Service, Study, Tuning, TuningProblem,
};

use crate::block_order::OrderChoice;
use crate::catalogue::Catalogue;
use crate::compare::{CompareFlags, ComparePlan, Given};
use crate::flags::{
    AppFlag, BaseImageFlag, DatabaseFlags, DeploymentFlags, DumpFlag, DurationFlag, ExchangesFlag, GeneratorsFlag,
    InsideFlag, MaxTimeFlag, OfflineFlag, PhpFlag, PlatformFlags, PodFlags, PrecisionFlag, ReadyTimeoutFlag,
    RoundsFlag, RuntimesFlag, SeedFlag, SiteFlags, SubjectFlag, TopologyFlags, WarmUpFlag,
};
use crate::image::{self, ImageFlags};
use crate::machine_size::MachineSize;
use crate::mistake::{Gathered, Mistakes};
use crate::plan_file::PLAN_FILE;
use crate::platform::{KUBERNETES, PlatformChoice, Software};
use crate::rounds::{LeastTime, make_room, read_max_time, read_rounds};
use crate::warm_up::LEAST_ROUNDS;

/// The flags of `stampede why` that say what is measured, unread. `None` takes what the stored study had, or the default.
#[derive(Args, Clone, Debug, Default)]
#[expect(missing_docs, reason = "each group says what it is")]
pub struct RetrialFlags {
    /// The folder, plan file or workload that the study measured [default: found by its name: a built-in workload, a folder
    /// here, this folder, or its stampede.yaml]
    #[arg(long, value_name = "DIR|PLAN|WORKLOAD")]
    pub from: Option<String>,
    #[command(flatten)]
    pub site: SiteFlags,
    #[command(flatten)]
    pub exchanges: ExchangesFlag,
    #[command(flatten)]
    pub dump: DumpFlag,
    #[command(flatten)]
    pub image: BaseImageFlag,
    #[command(flatten)]
    pub generators: GeneratorsFlag,
    #[command(flatten)]
    pub pods: PodFlags,
    #[command(flatten)]
    pub offline: OfflineFlag,
    #[command(flatten)]
    pub ready_timeout: ReadyTimeoutFlag,
    #[command(flatten)]
    pub duration: DurationFlag,
    #[command(flatten)]
    pub rounds: RoundsFlag,
    #[command(flatten)]
    pub max_time: MaxTimeFlag,
    #[command(flatten)]
    pub precision: PrecisionFlag,
    #[command(flatten)]
    pub seed: SeedFlag,
    #[command(flatten)]
    pub inside: InsideFlag,
    /// Do not sample where PHP's time goes
    #[arg(long, conflicts_with = "inside")]
    pub no_inside: bool,
}

/// A changed case, with settings of PHP over the application's own.
#[derive(Clone, Copy, Debug)]
pub struct ChangedCase<'a> {
    /// The case.
    pub case: &'a Case,
    /// Names and values for `php.ini`.
    pub ini: &'a [(&'a str, &'a str)],
}

/// A stored case and changes to it, all to be measured in the same blocks.
#[derive(Clone, Debug)]
pub struct RetrialPlan {
    /// The case as it was.
    pub base: ComparePlan,
    /// With each change that the runtime takes.
    pub changed: Vec<ComparePlan>,
    /// Changes that it does not take, each with the reason.
    pub left_out: Vec<(CaseId, String)>,
}

impl RetrialPlan {
    /// Reads flags, for a case of a stored study.
    ///
    /// # Errors
    ///
    /// All mistakes of the flags; a workload that is not found, or is not the one that was measured.
    pub fn read(
        flags: &RetrialFlags,
        (study, case): (&Study, &Case),
        changed: &[ChangedCase<'_>],
        machine: MachineSize,
        catalogue: &dyn Catalogue,
    ) -> Result<Self, Mistakes> {
        let in_cluster = case.platform == KUBERNETES;
        let from = flags.from.as_deref();
        let image = measured_image(case, catalogue);
        let subject = subject(from, study, image, catalogue)?;
        let mut mistakes = Gathered::default();
        let max_time = read_max_time(flags.max_time.max_time.as_deref(), &mut mistakes);
        let rounds = read_rounds(flags.rounds.rounds.as_deref(), max_time, &mut mistakes);
        if let Rounds::Fixed(few @ ..LEAST_ROUNDS) = rounds {
            let problem = format!("is too few: a verdict takes {LEAST_ROUNDS}");
            mistakes.add(format!("--rounds {few}"), problem, "for example --rounds 5");
        }
        let kept = makers_image(case, catalogue);
        // It is asked for where the case was named after it, or is what its image is of.
        let php = series(case).filter(|_| kept.is_some() || case.id.as_str().contains('@'));
        let php = php.map(|(major, minor)| format!("{major}.{minor}"));
        let base_image = case.base_image.clone().filter(|_| image.is_none() && kept.is_none());
        let base_image = BaseImageFlag { base_image: flags.image.base_image.clone().or(base_image) };
        // Images have no other than that of containers, or a cluster.
        let platform = (image.is_none() || in_cluster).then(|| case.platform.clone());
        let database = flags.dump.database.clone().or_else(|| study.chosen.database.clone());
        let by_name = CompareFlags {
            subject: SubjectFlag { subject, site: flags.site.clone() },
            app: AppFlag { app: image.is_none().then(|| case.app.clone()) },
            exchanges: flags.exchanges.clone().or(&study.chosen),
            platform: PlatformFlags { platform, image: base_image },
            offline: flags.offline,
            ready_timeout: flags.ready_timeout.clone(),
            php: PhpFlag { php },
            runtimes: RuntimesFlag { runtimes: image.is_none().then(|| case.runtime.to_string()) },
            duration: flags.duration.clone(),
            // The stored study says how long it was; pilots are not repeated.
            warm_up: WarmUpFlag { warm_up: Some("0s".to_owned()) },
            precision: flags.precision.clone(),
            seed: flags.seed.clone(),
            generators: flags.generators.clone(),
            pods: flags.pods.clone(),
            inside: InsideFlag { inside: !flags.no_inside && !in_cluster },
            // They decide which of its applications a runtime serves.
            deployment: DeploymentFlags {
                set: case.flags(),
                cpus: in_cluster.then(|| case.limits.cpus.to_string()),
                memory: in_cluster.then(|| case.limits.memory.to_string()),
            },
            topology: TopologyFlags {
                databases: DatabaseFlags { services: services(case), dump: DumpFlag { database } },
                share: if in_cluster { shares(case) } else { Vec::new() },
                ..TopologyFlags::default()
            },
            ..CompareFlags::default()
        };
        let read = match image {
            None => read_plan(&by_name, in_cluster, machine, catalogue),
            Some(image) => read_image(&by_name, image, (study, case), machine, catalogue),
        };
        let mut plan = mistakes.finish(read)?;
        if let (Some(kept), PlatformChoice::Docker { software: software @ Software::Makers }) =
            (kept, &mut plan.platform)
        {
            *software = Software::Kept(kept.to_owned());
        }
        if plan.workload.id != study.workload {
            let place = format!("--from {}", from.unwrap_or(PLAN_FILE));
            let problem = format!("is {}, and study {} was of {}", plan.workload.id, study.id, study.workload);
            return Err(Mistakes::one(place, problem, "name the folder or plan that was compared then"));
        }
        let Some(candidate) = plan.candidates.first().cloned() else {
            let place = format!("case {}", case.id);
            return Err(Mistakes::one(place, "has nothing that serves it any more", "compare it again"));
        };
        let warm_up = study.warm_up_of(&case.id);
        let duration = if flags.duration.duration.is_some() { plan.duration } else { study.duration };
        let mut mistakes = Gathered::default();
        let needed = LeastTime { cases: 1 + changed.len(), each: warm_up + duration, pilots: false, open_part: false };
        let rounds = make_room(rounds, max_time, needed, &mut mistakes);
        mistakes.finish(Ok(()))?;
        let base = ComparePlan {
            candidates: vec![of_case(&candidate, case, &[])],
            duration,
            warm_up,
            pilots: false,
            rounds,
            precision: if flags.precision.precision.is_some() { plan.precision } else { study.precision },
            ..under(plan, case)
        };
        let (mut taken, mut left_out) = (Vec::new(), Vec::new());
        for ChangedCase { case, ini } in changed {
            match candidate.runtime.validate(&case.tuning).first() {
                Some(problem) => left_out.push((case.id.clone(), problem.problem.clone())),
                None => taken.push(base.with(case, ini)),
            }
        }
        Ok(Self { base, changed: taken, left_out })
    }
}

impl ComparePlan {
    /// The same plan, whose cases are on this node where it is for a cluster.
    #[must_use]
    pub fn on_node(&self, node: Option<String>) -> Self {
        let mut plan = self.clone();
        if let PlatformChoice::Kubernetes(choice) = &mut plan.platform {
            choice.node = node;
        }
        plan
    }

    /// The same of a case that differs from its first one, with settings of PHP over the application's own.
    #[must_use]
    pub fn with(&self, case: &Case, ini: &[(&str, &str)]) -> Self {
        let candidates = self.candidates.first().map(|candidate| of_case(candidate, case, ini));
        Self { candidates: candidates.into_iter().collect(), ..under(self.clone(), case) }
    }
}

impl ComparePlan {
    /// The same of its first runtime alone, with these settings beside its defaults, under another name.
    ///
    /// # Errors
    ///
    /// What contradicts itself among the settings.
    pub fn tuned(&self, id: &str, given: &Tuning) -> Result<Self, TuningProblem> {
        let limits = self.topology.replica_limits(&self.limits);
        let mut candidates = Vec::new();
        if let Some(first) = self.candidates.first() {
            let load = self.load.joined_by(&self.beside);
            let context = DefaultsContext { app: &first.app, limits: &limits, load: &load, given };
            let tuning = first.runtime.defaults(&context);
            if let Some(problem) = first.runtime.validate(&tuning).into_iter().next() {
                return Err(problem);
            }
            candidates.push(Candidate { id: CaseId::new(id), tuning, ..first.clone() });
        }
        Ok(Self { candidates, ..self.clone() })
    }
}

/// The name and the id of the image that a case was, where it was one.
fn measured_image<'a>(case: &'a Case, catalogue: &dyn Catalogue) -> Option<(&'a str, &'a str)> {
    let runtime = catalogue.runtimes().iter().find(|runtime| runtime.id() == case.runtime)?;
    case.base_image.as_deref().filter(|_| runtime.serves_images())?.rsplit_once('@')
}

/// The image of its runtime's makers in which a case was measured, with its digest or id.
fn makers_image<'a>(case: &'a Case, catalogue: &dyn Catalogue) -> Option<&'a str> {
    let runtime = catalogue.runtimes().iter().find(|runtime| runtime.id() == case.runtime)?;
    let recorded = case.base_image.as_deref()?;
    let (name, _) = recorded.rsplit_once('@')?;
    let php = series(case).map(|(major, minor)| PhpChoice::Series { major, minor });
    (MakersImage::new(runtime.recipe()?, php.as_ref()).to_string() == name).then_some(recorded)
}

fn read_plan(
    flags: &CompareFlags,
    in_cluster: bool,
    machine: MachineSize,
    catalogue: &dyn Catalogue,
) -> Result<ComparePlan, Mistakes> {
    ComparePlan::read_given(flags, Given { in_cluster, ..Given::default() }, machine, catalogue)
}

/// The plan of an image, of what was measured whatever its name means now: the case of the plan file, which says how it is run, or
/// the image as it is.
fn read_image(
    flags: &CompareFlags,
    (name, id): (&str, &str),
    (study, case): (&Study, &Case),
    machine: MachineSize,
    catalogue: &dyn Catalogue,
) -> Result<ComparePlan, Mistakes> {
    let in_cluster = case.platform == KUBERNETES;
    let in_file = read_plan(flags, in_cluster, machine, catalogue)
        .ok()
        .and_then(|plan| Some((plan.candidates.iter().find(|one| one.id == case.id)?.clone(), plan)));
    let (mut candidate, mut plan) = match in_file {
        Some((candidate, plan)) if candidate.runtime.serves_images() => (candidate, plan),
        _ => {
            let named = || vec![name.to_owned()];
            let images = match image::is_compose_file(name) {
                true => ImageFlags { composes: named(), ..ImageFlags::default() },
                false => ImageFlags { images: named(), ..ImageFlags::default() },
            };
            let mut plan = read_plan(&CompareFlags { images, ..flags.clone() }, in_cluster, machine, catalogue)?;
            if plan.look.is_none() && plan.workload.apps.is_empty() {
                // Images alone are called by the first of them.
                plan.workload.id = study.workload.clone();
            }
            let none = || Mistakes::one(format!("case {}", case.id), "is no image any more", "compare it again");
            (plan.candidates.first().cloned().ok_or_else(none)?, plan)
        }
    };
    // Services that serve together are those that their file names now.
    if let AppKind::Image(image) = &mut candidate.app.kind
        && !image::is_compose_file(name)
    {
        image.source = ImageSource::Kept { name: name.to_owned(), id: id.to_owned() };
    }
    plan.candidates = vec![candidate];
    Ok(plan)
}

/// A plan under the limits, load and topology of a case: under some loads turns do not hold.
fn under(plan: ComparePlan, case: &Case) -> ComparePlan {
    let (load, beside) = (case.load.clone(), case.beside.clone());
    let (limits, topology) = (case.limits, case.topology.clone());
    let order = match plan.order {
        OrderChoice::Always(BlockOrder::Turns) => OrderChoice::Auto,
        other => other,
    };
    ComparePlan { limits, topology, load, beside, order, ..plan }
}

fn of_case(candidate: &Candidate, case: &Case, ini: &[(&str, &str)]) -> Candidate {
    let mut app: App = candidate.app.clone();
    app.ini.extend(ini.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    Candidate { id: case.id.clone(), tuning: case.tuning.clone(), app, ..candidate.clone() }
}

/// What is served: as it was named, or what is found by the name of the workload.
fn subject(
    from: Option<&str>,
    study: &Study,
    image: Option<(&str, &str)>,
    catalogue: &dyn Catalogue,
) -> Result<Option<String>, Mistakes> {
    let name = study.workload.as_str();
    let is_built_in = || catalogue.workloads().iter().any(|built_in| built_in == name);
    let is_this_folder = || env::current_dir().is_ok_and(|folder| folder.file_name().is_some_and(|own| own == name));
    match from {
        Some(from) => Ok(Some(from.to_owned())),
        None if is_built_in() || Path::new(name).is_dir() => Ok(Some(name.to_owned())),
        None if Path::new(PLAN_FILE).is_file() => Ok(None),
        None if is_this_folder() => Ok(Some(".".to_owned())),
        None if image.is_some() => Ok(None),
        None => Err(Mistakes::one(
            format!("study {}", study.id),
            format!("was of {name}, which is not here"),
            "go to where it is, or name its folder or plan",
        )),
    }
}

/// The series of its PHP.
fn series(case: &Case) -> Option<(u32, u32)> {
    let mut numbers = case.php.as_ref()?.version.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The shares of its services, which have one each in a cluster.
fn shares(case: &Case) -> Vec<String> {
    let share = |service: &Service| {
        service.share.map(|Limits { cpus, memory }| format!("{}={cpus},{memory}", service.kind.id()))
    };
    case.topology.services.iter().filter_map(share).collect()
}

fn services(case: &Case) -> Option<String> {
    let kinds: Vec<&str> = case.topology.services.iter().map(|service| service.kind.id()).collect();
    (!kinds.is_empty()).then(|| kinds.join(","))
}
