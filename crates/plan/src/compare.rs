//! The plan of a comparison: which runtime is fastest under these limits?

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use stampede_core::{
    BlockOrder, Candidate, Carrier, ChosenByFlags, Exchange, Limits, Load, LoadShare, Rounds, RuntimeId, ServiceNeed,
    Slo, Topology, Tuning, TuningProblem, Workload,
};
use stampede_scenario::Scenario;

use crate::app::{app_for, case_id, check_service, named, reach_services, read_apps};
use crate::application::Served;
use crate::at::{read_at, settle_at};
use crate::block_order::{OrderChoice, read_order, settle_order};
use crate::case::{Asked, check_alone, read_cases};
use crate::catalogue::Catalogue;
use crate::choice::{RuntimeChoice, RuntimesAsked, tune};
use crate::cluster;
use crate::exchange;
use crate::flags::{
    AppFlag, AtFlag, DatabaseFlags, DeploymentFlags, DurationFlag, ExchangesFlag, FeederFlag, GeneratorsFlag,
    INSIDE_RATE, InsideFlag, LoadFlag, MaxTimeFlag, OfflineFlag, OrderFlag, PhpFlag, PlatformFlags, PodFlags,
    PrecisionFlag, ReadyTimeoutFlag, RoundsFlag, RuntimesFlag, SamplingFlag, SeedFlag, ServerAddressFlag, SiteFlags,
    SloFlag, SubjectFlag, TopologyFlags, WarmUpFlag,
};
use crate::generators::read_server_address;
use crate::image::{self, ImageFlags, read_images};
use crate::kind::kinds_served;
use crate::load::read_feeders;
use crate::look::Look;
use crate::machine_size::MachineSize;
use crate::mistake::{Gathered, Mistakes};
use crate::php::{read_php, that_matter, with_build};
use crate::plan_file::PlanFile;
use crate::platform::{self, PlatformChoice};
use crate::play::{self, AskedLoad, Played};
use crate::quantity::{read_cpus, read_duration, read_load, read_memory, read_ready_timeout, read_seed};
use crate::rounds::{
    AUTO, LeastTime, calibration_rounds, has_room_for_pilots, make_room, read_max_time, read_precision, read_rounds,
    window_within,
};
use crate::site::{HOST_FIX, problem_of_host};
use crate::slo::read_slo;
use crate::subject::Subject;
use crate::topology::{self, Around};
use crate::values::Values;
use crate::warm_up::{WarmUpChoice, read_warm_up, settle};

/// The flags of `stampede compare` that say what is measured, unread.
#[derive(Args, Clone, Debug, Default)]
#[expect(missing_docs, reason = "each group says what it is")]
pub struct CompareFlags {
    #[command(flatten)]
    pub subject: SubjectFlag,
    #[command(flatten)]
    pub runtimes: RuntimesFlag,
    #[command(flatten)]
    pub images: ImageFlags,
    #[command(flatten)]
    pub app: AppFlag,
    #[command(flatten)]
    pub exchanges: ExchangesFlag,
    #[command(flatten)]
    pub feeders: FeederFlag,
    #[command(flatten)]
    pub php: PhpFlag,
    #[command(flatten)]
    pub deployment: DeploymentFlags,
    #[command(flatten)]
    pub load: LoadFlag,
    #[command(flatten)]
    pub generators: GeneratorsFlag,
    #[command(flatten)]
    pub server_address: ServerAddressFlag,
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
    pub precision: PrecisionFlag,
    #[command(flatten)]
    pub seed: SeedFlag,
    #[command(flatten)]
    pub ready_timeout: ReadyTimeoutFlag,
    #[command(flatten)]
    pub platform: PlatformFlags,
    #[command(flatten)]
    pub pods: PodFlags,
    #[command(flatten)]
    pub offline: OfflineFlag,
    #[command(flatten)]
    pub sampling: SamplingFlag,
    #[command(flatten)]
    pub inside: InsideFlag,
    /// Do not measure the reference server, whose rate shows whether the machine's speed changes: saves about 1.5 s a round
    #[arg(long = "no-reference-server", alias = "no-yard-stick", help_heading = "Study")]
    pub no_yard_stick: bool,
    /// Measure the noise of this machine: compare the first case with itself (10 rounds, or --rounds). Later studies with the
    /// same limits and kind of load then report no smaller differences
    #[arg(long, conflicts_with = "max_time", help_heading = "Study")]
    pub calibrate: bool,
    #[command(flatten)]
    pub topology: TopologyFlags,
    /// An objective is what other commands have; a comparison takes that of its plan file.
    #[arg(skip)]
    pub slo: SloFlag,
}

/// What a command that measures a comparison of its own kind says itself, whatever flags and file say.
#[derive(Default)]
pub(crate) struct Given<'a> {
    /// The application in this folder is served, whatever plan lies there.
    pub(crate) application: Option<&'a Path>,
    /// The one runtime, which such a command takes as an argument.
    pub(crate) runtime: Option<&'a str>,
    /// How many rounds.
    pub(crate) rounds: Option<u32>,
    /// The load.
    pub(crate) load: GivenLoad<'a>,
    /// Whether an open part may follow, and its flag.
    pub(crate) open_part: Option<&'a AtFlag>,
    /// It is one side of a change: a round measures two cases, on whichever runtime serves both.
    pub(crate) side: Option<ChangeMetric>,
    /// Whether it may be measured in a cluster.
    pub(crate) in_cluster: bool,
    /// How the cases of a block are measured where nothing is asked for.
    pub(crate) order: OrderChoice,
}

/// What decides about a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeMetric {
    /// A figure that windows of any length have.
    Mean,
    /// A latency: a percentile takes many requests.
    Latency,
}

/// What load a comparison is for.
#[derive(Default)]
pub(crate) enum GivenLoad<'a> {
    /// That of flags and file, or of the workload's scenario.
    #[default]
    Asked,
    /// That of flags and file for all instances together. Settings follow from so many connections, by the limits of one.
    OfInstances(&'a dyn Fn(&Limits) -> u32),
    /// This one.
    Only(&'static str),
}

/// A comparison without mistakes.
#[derive(Clone, Debug)]
pub struct ComparePlan {
    /// What is served.
    pub workload: Workload,
    /// What flags chose beside it.
    pub chosen: ChosenByFlags,
    /// Names of the workload's exchanges whose answers must be recorded before anything is compared; what they expect means
    /// nothing.
    pub unrecorded: Vec<String>,
    /// What the application is, where that was found by a look at its folder.
    pub look: Option<Look>,
    /// What is compared.
    pub candidates: Vec<Candidate>,
    /// Runtimes that were meant and cannot serve the workload, with the kinds of application that they serve.
    pub unable: Vec<(RuntimeId, Vec<&'static str>)>,
    /// What becomes of a runtime that cannot run.
    pub choice: RuntimeChoice,
    /// What each deployment may use.
    pub limits: Limits,
    /// What stands around each runtime.
    pub topology: Topology,
    /// What is said of the topology's services beside their settings.
    pub services: Vec<ServiceNeed>,
    /// What load is driven; of a scenario, that of its first crowd.
    pub load: Load,
    /// The loads of a scenario's other crowds.
    pub beside: Vec<Load>,
    /// What is sent in place of the workload's exchanges.
    pub scenario: Option<Arc<Scenario>>,
    /// Who drives the load, in place of this process.
    pub generators: Vec<Carrier>,
    /// The address on which servers listen.
    pub listen: IpAddr,
    /// Length of the measuring window; the most of one that pilots choose.
    pub duration: Duration,
    /// Whether pilots choose how long windows are.
    pub window_by_pilots: bool,
    /// Load before the window, of cases without a pilot.
    pub warm_up: Duration,
    /// Whether a pilot of each case says how long it is loaded before its windows.
    pub pilots: bool,
    /// How many blocks.
    pub rounds: Rounds,
    /// How the cases of a block are measured.
    pub order: OrderChoice,
    /// At which share of the slowest candidate's throughput an open part follows; its rounds then share their time with it.
    pub at: Option<LoadShare>,
    /// Differences below this share do not matter.
    pub precision: f64,
    /// Seed of the order; `None` lets the caller choose one.
    pub seed: Option<u64>,
    /// How long a runtime may take to answer its first request.
    pub ready_timeout: Duration,
    /// Where deployments run.
    pub platform: PlatformChoice,
    /// Whether nothing is fetched for that.
    pub offline: bool,
    /// Whether deployments are sampled while they are measured.
    pub sampled: bool,
    /// How many samples a second are taken of the stacks of each thread of PHP meanwhile; none where they are not sampled.
    pub inside: Option<u32>,
    /// Whether the yard-stick is measured in each block.
    pub yard_stick: bool,
    /// Whether the first case is compared with itself, in place of the others.
    pub calibrate: bool,
    /// What answers must be, where it was said.
    pub slo: Option<Slo>,
}

impl ComparePlan {
    /// The request that shows that an application is well. It is sent again and again, so it is one that changes nothing; one that is
    /// answered with success, and one of the load, come first.
    #[must_use]
    pub fn health(&self) -> Option<&Exchange> {
        let changes_nothing = |exchange: &&Exchange| exchange.request.method == "GET" && !exchange.once;
        let known = |exchange: &&Exchange| !self.unrecorded.contains(&exchange.name);
        let all = self.workload.load_mix().chain(&self.workload.exchanges);
        // Of equals the first is taken.
        all.filter(changes_nothing).filter(known).min_by_key(|exchange| !(200..400).contains(&exchange.expect.status))
    }

    /// The same with this workload, which is its own with all answers.
    #[must_use]
    pub fn with_answers(self, workload: Workload) -> Self {
        Self { workload, unrecorded: Vec::new(), ..self }
    }

    /// Reads flags and the plan file that they name.
    ///
    /// # Errors
    ///
    /// All mistakes of the command line and of the files that it names.
    pub fn read(flags: &CompareFlags, machine: MachineSize, catalogue: &dyn Catalogue) -> Result<Self, Mistakes> {
        Self::read_given(flags, Given { order: OrderChoice::Auto, ..Given::default() }, machine, catalogue)
    }

    /// The same of a comparison that an open part may follow.
    ///
    /// # Errors
    ///
    /// All mistakes of the command line and of the files that it names.
    pub fn read_with_open_part(
        flags: &CompareFlags,
        at: &AtFlag,
        machine: MachineSize,
        catalogue: &dyn Catalogue,
    ) -> Result<Self, Mistakes> {
        let given = Given { open_part: Some(at), in_cluster: true, order: OrderChoice::Auto, ..Given::default() };
        Self::read_given(flags, given, machine, catalogue)
    }

    /// Reads the plan of one side of a change, about which a metric decides.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn read_side(
        flags: &CompareFlags,
        decides: ChangeMetric,
        machine: MachineSize,
        catalogue: &dyn Catalogue,
    ) -> Result<Self, Mistakes> {
        let given = Given { side: Some(decides), in_cluster: true, order: OrderChoice::Auto, ..Given::default() };
        Self::read_given(flags, given, machine, catalogue)
    }

    /// The plan of an application in a folder, whatever plan lies there.
    ///
    /// # Errors
    ///
    /// What is wrong with the application.
    pub fn of_application(
        folder: &Path,
        site: &SiteFlags,
        databases: &DatabaseFlags,
        machine: MachineSize,
        catalogue: &dyn Catalogue,
    ) -> Result<Self, Mistakes> {
        let given = Given { application: Some(folder), ..Given::default() };
        let subject = SubjectFlag { subject: None, site: site.clone() };
        let topology = TopologyFlags { databases: databases.clone(), ..TopologyFlags::default() };
        let flags = CompareFlags { subject, topology, ..CompareFlags::default() };
        Self::read_given(&flags, given, machine, catalogue)
    }

    pub(crate) fn read_given(
        flags: &CompareFlags,
        given: Given<'_>,
        machine: MachineSize,
        catalogue: &dyn Catalogue,
    ) -> Result<Self, Mistakes> {
        let Subject { mut served, file } = match given.application {
            Some(folder) => Subject::of_application(folder, &flags.subject.site, flags.platform.platform.as_deref()),
            None => Subject::read(&flags.subject, &flags.images, flags.platform.platform.as_deref(), catalogue),
        };
        let written = file.as_ref().and_then(|file| Some(file.sections.platform.as_ref()?.0.as_str()));
        let asked_platform = flags.platform.platform.as_deref().or(written);
        let machine = cluster::size(asked_platform.filter(|_| given.in_cluster), machine);
        let mut values = Values { file: file.as_ref(), mistakes: Gathered::default() };
        if flags.inside.inside && flags.sampling.no_sampling {
            let problem = "needs samples, and --no-sampling takes none";
            values.mistakes.add("--inside", problem, "leave one of them out");
        }
        let feeders = read_feeders(&flags.feeders.feeders, &mut values.mistakes);
        let chosen_exchanges =
            values.list("--exchanges", "exchanges", &flags.exchanges.exchanges, |all| all.exchanges.as_ref());
        if let Ok(Served { workload, .. }) = &mut served {
            exchange::choose(chosen_exchanges.as_deref(), flags.exchanges.cookies, workload, &mut values.mistakes);
        }
        if let Some(host) = &flags.subject.site.host {
            if let Some(problem) = problem_of_host(host) {
                values.mistakes.add(format!("--host {host}"), problem, HOST_FIX);
            }
            for app in served.iter_mut().flat_map(|served| &mut served.workload.apps) {
                app.site.host = Some(host.clone());
            }
        }
        let cpus = values.of(
            ["--cpus", "limits.cpus"],
            &flags.deployment.cpus,
            |all| all.limits.as_ref()?.cpus.as_ref(),
            |typed, mistakes| read_cpus(typed, machine, mistakes),
        );
        let memory = values.of(
            ["--memory", "limits.memory"],
            &flags.deployment.memory,
            |all| all.limits.as_ref()?.memory.as_ref(),
            |typed, mistakes| read_memory(typed, machine, mistakes),
        );
        let limits = Limits { cpus, memory };
        let needs = served.as_ref().map_or(&[][..], |served| &served.workload.services);
        let is_spread = given.in_cluster && asked_platform == Some(platform::KUBERNETES);
        let (topology, set) = (&flags.topology, &flags.deployment.set);
        let Around { topology, services, set } =
            topology::read(topology, set, file.as_ref(), (&limits, is_spread), needs, &mut values.mistakes);
        if let Ok(Served { workload, look, .. }) = &mut served {
            reach_services(workload, look.as_mut(), &services, &topology);
        }
        let asked = match &given.load {
            GivenLoad::Only(load) => {
                let load = read_load(Some(load), machine, &mut values.mistakes);
                AskedLoad { load, place: None, is_one: true }
            }
            GivenLoad::OfInstances(_) => AskedLoad { is_one: true, ..values.load(&flags.load.load, machine) },
            GivenLoad::Asked => values.load(&flags.load.load, machine),
        };
        let workload = served.as_ref().ok().map(|served| &served.workload);
        let Played { load, beside, scenario } =
            play::read(workload, asked, &feeders, machine, catalogue, &mut values.mistakes);
        let has_users = scenario.is_some() || workload.is_some_and(|workload| workload.cookies);
        let duration = values.of(
            ["--duration", "study.duration"],
            &flags.duration.duration,
            |all| all.study.as_ref()?.duration.as_ref(),
            |typed, mistakes| read_duration(typed, [&load].into_iter().chain(&beside), mistakes),
        );
        let warm_up = values.of(
            ["--warm-up", "study.warm_up"],
            &flags.warm_up.warm_up,
            |all| all.study.as_ref()?.warm_up.as_ref(),
            read_warm_up,
        );
        let ready_timeout = values.of(
            ["--ready-timeout", "study.ready_timeout"],
            &flags.ready_timeout.ready_timeout,
            |all| all.study.as_ref()?.ready_timeout.as_ref(),
            read_ready_timeout,
        );
        // Rounds that were typed take the place of the file's time for them, and a time that was typed that of its rounds.
        let (rounds, max_time) = (&flags.rounds.rounds, &flags.max_time.max_time);
        let rounds_are_typed = rounds.as_deref().is_some_and(|typed| typed != AUTO);
        let time_is_typed = max_time.is_some();
        let (rounds, max_time) = match given.rounds {
            Some(rounds) => (Rounds::Fixed(rounds), None),
            None => {
                let max_time = values.of(
                    ["--max-time", "study.max_time"],
                    max_time,
                    |all| all.study.as_ref()?.max_time.as_ref().filter(|_| !rounds_are_typed),
                    read_max_time,
                );
                let rounds = values.of(
                    ["--rounds", "study.rounds"],
                    rounds,
                    |all| all.study.as_ref()?.rounds.as_ref().filter(|_| !time_is_typed),
                    |typed, mistakes| read_rounds(typed, max_time, mistakes),
                );
                (rounds, max_time)
            }
        };
        let precision = values.of(
            ["--precision", "study.precision"],
            &flags.precision.precision,
            |all| all.study.as_ref()?.precision.as_ref(),
            read_precision,
        );
        let order = values.of(
            ["--order", "study.order"],
            &flags.order.order,
            |all| all.study.as_ref()?.order.as_ref(),
            |typed, mistakes| read_order(typed, given.order, mistakes),
        );
        let at = given
            .open_part
            .filter(|_| !flags.calibrate)
            .and_then(|flag| values.of(["--at", "study.at"], &flag.at, |all| all.study.as_ref()?.at.as_ref(), read_at));
        let seed =
            values.of(["--seed", "study.seed"], &flags.seed.seed, |all| all.study.as_ref()?.seed.as_ref(), read_seed);
        // Typed, it takes the place of the file's platform and of that one's image.
        let PlatformFlags { platform, image } = &flags.platform;
        let is_typed_local = platform.as_deref() == Some(platform::LOCAL);
        let platform = values.of(
            ["--platform", "platform"],
            platform,
            |all| all.platform.as_ref(),
            |typed, mistakes| platform::read(typed, given.in_cluster, mistakes),
        );
        let base_image = values.of(
            ["--base-image", "base_image"],
            &image.base_image,
            |all| all.base_image.as_ref().filter(|_| !is_typed_local),
            platform::read_base_image,
        );
        let has_images = !flags.images.is_empty() || file.as_ref().is_some_and(PlanFile::has_images);
        let platform = match has_images {
            true => platform::with_images(platform, asked_platform, &mut values.mistakes),
            false => platform,
        };
        let platform = platform::upon(platform, base_image, &mut values.mistakes);
        if flags.offline.offline && !matches!(platform, PlatformChoice::Docker { .. }) {
            values.mistakes.add("--offline", "is for containers of this machine, and there are none", "leave it out");
        }
        let generators = flags.generators.generators.as_deref();
        let (platform, generators) = cluster::read(platform, &flags.pods, generators, &mut values.mistakes);
        let listen = read_server_address(flags.server_address.server_address.as_deref(), &mut values.mistakes);
        if flags.server_address.server_address.is_some() && platform != PlatformChoice::Local {
            values.mistakes.add(
                "--server-address",
                "is for servers that are processes of this machine",
                "leave it out",
            );
        }
        let slo = read_slo(flags.slo.slo.as_deref(), values.file, &mut values.mistakes);
        let chosen_apps = values.list("--app", "apps", &flags.app.app, |all| all.apps.as_ref());
        let builds = values.list("--php", "php", &flags.php.php, |all| all.php.as_ref());
        let mut mistakes = values.mistakes;
        let apps = served.as_ref().map_or(&[][..], |served| &served.workload.apps);
        let runtimes = match given.runtime {
            Some(name) => RuntimesAsked::One(name),
            None => RuntimesAsked::Listed(flags.runtimes.runtimes.as_deref()),
        };
        let images = read_images(&flags.images, &mut mistakes);
        let (cases, choice) = read_cases(runtimes, images, &set, file.as_ref(), apps, catalogue, &mut mistakes);
        // `tune shop`: that shop is no runtime says it all, and not also that nothing else was named.
        let is_misplaced = given.runtime.is_some() && flags.subject.subject.is_none() && cases.is_empty();
        check_alone(&cases, &cluster::around_images(&platform, &topology), &mut mistakes);
        let workload = served.as_ref().ok().map(|served| &served.workload);
        let chosen_apps = read_apps(chosen_apps.as_deref(), workload, &mut mistakes);
        let builds = read_php(builds.as_deref(), &mut mistakes);
        let tuned_for = match given.load {
            GivenLoad::OfInstances(connections) => Load::Closed { connections: connections(&limits).max(1) },
            GivenLoad::Asked | GivenLoad::Only(_) => load.joined_by(&beside),
        };
        let mut candidates: Vec<Candidate> = Vec::new();
        if let Ok(Served { workload, .. }) = &served {
            check_service(workload, &chosen_apps, &cases, choice, &mut mistakes);
            for (name, case) in chosen_apps.iter().flat_map(|name| cases.iter().map(move |case| (name, case))) {
                let own = case.image.as_ref().map(|image| image::app(image, workload));
                let app = match app_for(case.runtime, &named(workload, name.as_deref()), &case.given) {
                    _ if own.is_some() && name.as_ref() != chosen_apps.first().and_then(Option::as_ref) => continue,
                    Ok(found) => match own.as_ref().or(found) {
                        Some(app) => app,
                        None => continue,
                    },
                    Err(TuningProblem { tunable, problem, fix }) => {
                        mistakes.add(case.setting(&tunable, &case.given), problem, fix);
                        continue;
                    }
                };
                let place = |tunable: &str, tuning: &Tuning| case.setting(tunable, tuning);
                let tuning = tune(
                    case.runtime,
                    app,
                    &topology.replica_limits(&limits),
                    &tuned_for,
                    &case.given,
                    place,
                    &mut mistakes,
                );
                let id = case_id(&case.id, app, chosen_apps.len() > 1 && own.is_none());
                for php in that_matter(case.runtime, app, &builds) {
                    let id = with_build(id.clone(), php.as_ref(), &builds);
                    let (runtime, app, tuning) = (case.runtime, app.clone(), tuning.clone());
                    candidates.push(Candidate { id, runtime, role: case.role, app, php, tuning });
                }
            }
        }
        // A plan's order is that of its comparison; who brings a load of his own measures in windows.
        let order = match given.load {
            GivenLoad::Asked => settle_order(order, &load, has_users || !beside.is_empty(), &mut mistakes),
            GivenLoad::OfInstances(_) | GivenLoad::Only(_) => OrderChoice::Always(BlockOrder::Windows),
        };
        let order = cluster::check(&platform, &candidates, order, flags.inside.inside, &mut mistakes);
        cluster::check_replicas(&platform, &topology, &limits, &mut mistakes);
        let at = at.filter(|at| settle_at(*at, &load, scenario.is_some() || !beside.is_empty(), &mut mistakes));
        let is_given = flags.duration.duration.is_some()
            || file
                .as_ref()
                .is_some_and(|file| file.sections.study.as_ref().is_some_and(|study| study.duration.is_some()));
        let is_even = matches!(load, Load::Closed { .. }) && beside.is_empty() && scenario.is_none();
        let of_one_mean = given.side.is_none_or(|side| side == ChangeMetric::Mean);
        let sides = if given.side.is_some() { 2 } else { candidates.len() };
        let duration = match max_time {
            Some(max_time) if is_even && !is_given && !flags.calibrate && of_one_mean => {
                window_within(max_time, warm_up.length(), sides, at.is_some()).min(duration)
            }
            _ => duration,
        };
        let pilots_are_asked = warm_up == WarmUpChoice::Pilots;
        let (warm_up, pilots) = settle(warm_up, &load, scenario.is_some(), rounds, duration, &mut mistakes);
        let all_are_images = !candidates.is_empty() && candidates.iter().all(|one| one.runtime.serves_images());
        let is_unable = |case: &&Asked| {
            served.is_ok() && !candidates.iter().any(|candidate| candidate.runtime.id() == case.runtime.id())
        };
        let unable =
            cases.iter().filter(is_unable).map(|case| (case.runtime.id(), kinds_served(case.runtime))).collect();
        let cases = if flags.calibrate || given.side.is_some() { 2 } else { candidates.len() };
        let pilots = pilots
            && (pilots_are_asked
                || has_room_for_pilots(max_time.map(|time| if at.is_some() { time / 2 } else { time }), cases));
        let window_by_pilots = pilots && is_even && !is_given && !flags.calibrate && given.side.is_none();
        let rounds = if flags.calibrate {
            calibration_rounds(rounds, &mut mistakes)
        } else {
            let needed = LeastTime { cases, each: warm_up + duration, pilots, open_part: at.is_some() };
            make_room(rounds, max_time, needed, &mut mistakes)
        };
        let served =
            if is_misplaced && !mistakes.is_empty() { served.map_err(|_| Mistakes(Vec::new())) } else { served };
        let Served { workload, unrecorded, look } = mistakes.finish(served)?;
        Ok(Self {
            workload,
            chosen: ChosenByFlags {
                database: flags.topology.databases.dump.database.clone(),
                ..flags.exchanges.chosen()
            },
            unrecorded,
            look,
            candidates,
            unable,
            choice,
            limits,
            topology,
            services,
            load,
            beside,
            scenario,
            generators,
            listen,
            duration,
            window_by_pilots,
            warm_up,
            pilots,
            rounds,
            order,
            at,
            precision,
            seed,
            ready_timeout,
            platform,
            offline: flags.offline.offline,
            sampled: !flags.sampling.no_sampling,
            inside: flags.inside.inside.then_some(INSIDE_RATE),
            // It is served in the base image, which images alone do not need.
            yard_stick: !flags.no_yard_stick && !all_are_images,
            calibrate: flags.calibrate,
            slo,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use clap::{Command, FromArgMatches};
    use stampede_core::{Bytes, Runtime};

    use super::*;

    struct Empty;

    impl Catalogue for Empty {
        fn runtimes(&self) -> &[&'static dyn Runtime] {
            &[]
        }

        fn workloads(&self) -> Vec<String> {
            vec!["markdown".to_owned()]
        }

        fn workload_folder(&self, _name: &str) -> Result<PathBuf, String> {
            Err("read-only file system".to_owned())
        }

        fn generated(&self, _workload: &Path, _command: &[String]) -> Result<PathBuf, String> {
            Err("read-only file system".to_owned())
        }
    }

    const MACHINE: MachineSize = MachineSize { cpus: 2, memory: Bytes::from_mib(1024), connections: 900 };

    #[test]
    fn all_mistakes_of_one_command_line_are_told_at_once() {
        let typed = [
            "compare",
            "markdwon",
            "--app",
            "web",
            "--feeder",
            "payloads",
            "--php",
            "eight",
            "--runtimes",
            "zzz,zzz",
            "--cpus",
            "64",
            "--memory",
            "1Mi",
            "--load",
            "closed:none",
            "--duration",
            "0",
            "--warm-up",
            "soon",
            "--rounds",
            "0",
            "--max-time",
            "1d2",
            "--precision",
            "0",
            "--seed",
            "-1",
            "--ready-timeout",
            "9999d",
            "--platform",
            "moon",
            "--base-image",
            "a moon",
            "--set",
            "pm=static",
            "--set",
            "zzz.a=b",
        ];
        let typed = CompareFlags::augment_args(Command::new("compare")).get_matches_from(typed);
        let slo = SloFlag { slo: Some("fast".to_owned()) };
        let flags = CompareFlags { slo, ..CompareFlags::from_arg_matches(&typed).unwrap() };
        let Mistakes(mistakes) = ComparePlan::read(&flags, MACHINE, &Empty).unwrap_err();
        let places = mistakes.iter().map(|mistake| mistake.place.as_str()).collect::<Vec<_>>();
        assert_eq!(
            places,
            [
                "workload markdwon",
                "--feeder payloads",
                "--cpus 64",
                "--memory 1Mi",
                "--load closed:none",
                "--duration 0",
                "--warm-up soon",
                "--ready-timeout 9999d",
                "--max-time 1d2",
                "--rounds 0",
                "--rounds 0",
                "--precision 0",
                "--seed -1",
                "--platform moon",
                "--base-image a moon",
                "--slo fast",
                "--runtimes zzz",
                "--runtimes zzz",
                "--set pm=static",
                "--set zzz.a=b",
                "--php eight",
            ]
        );
        assert_eq!(mistakes[0].fix, "did you mean markdown?");
    }
}
