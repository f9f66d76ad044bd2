//! The platform `docker`: one container a run, in an engine on this machine.
//!
//! All units of a deployment are processes of one container, as they are in an image that is exported: the container's limits hold
//! them together, and they meet over the same sockets as on the machine. Parts have control groups of their own below the container's. The run's folder is seen in the container at its own
//! place, so files, sockets and logs are the same inside and outside. The software comes from an image of a distribution with
//! packages of it; or the container is of an image that serves by itself, which is run as it is. The load goes to the container's own address, past the engine's proxy.

pub mod beside;
mod compose;
mod composer;
mod container_end;
mod context;
pub(crate) mod engine;
pub(crate) mod error;
mod image;
mod inside;
mod maker;
mod own_container;
mod own_image;
mod own_run;
mod own_source;
pub(crate) mod port;
mod preparation;
mod question;
pub(crate) mod rootless;
mod running;
mod sandbox;
pub(crate) mod sockets;
mod software;
mod view;
mod whereabouts;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::geteuid;
use stampede_core::{
    App, Availability, Container, Deployment, ExtensionMeans, FastCgiFront, Finding, Found, Fut, ImageSource, Install,
    Limits, MakersImage, Places, Program, Requirement, Terms, with_causes,
};
use stampede_seam::{LaunchError, Platform, PrepareError, PreparedApp, Running, Vantage};

use self::compose::Composition;
use self::engine::Engine;
pub use self::error::{DockerError, ELSEWHERE};
pub use self::image::{RemovedImages, remove_images};
use self::maker::Contained;
use self::own_container::{Entrance, OwnRunning};
use self::own_image::{Lacking, Traits};
use self::own_run::{Front, OwnOrder, OwnProcess, OwnRun};
use self::preparation::Preparation;
pub use self::question::answer;
use self::question::{Place, Question, place};
use self::rootless::Holding;
use self::running::{DockerRunning, Prepared};
use self::sandbox::{Order, Purpose, Sandbox, Shown};
use self::software::SoftwareImage;
pub use self::software::{Need, SoftwareSource};
use crate::detect::debian::InstalledPackage;
use crate::detect::detect;
use crate::layout::Built;
use crate::layout::app_copy;
use crate::machine::{preflight, user};
use crate::runs::clean::CleanReport;
use crate::runs::state_dir::NewPlatformError;
use crate::runs::take_state;
use crate::{doctor, layout, machine};

/// The name of this platform.
pub const DOCKER: &str = "docker";

/// The first port of a container: the deployment's addresses take those from here on, since nothing else is in its network.
const FIRST_PORT: u16 = 20_000;

/// Where Stampede's own program is in a container that is looked around in.
const PROGRAM: &str = "/stampede";

/// What to do without the image of a runtime's makers.
const ON_DEBIAN: &str = "use packages of a distribution: --base-image debian:bookworm";

/// How long a look around may take: builds of PHP are run and asked.
const LOOK_TIME: Duration = Duration::from_secs(120);

/// What the platform is told by the program that uses it.
#[derive(Clone, Debug)]
pub struct DockerConfig {
    /// Where runs and leases are kept: a short path on a disk, see [`crate::default_state_dir`].
    pub state_dir: PathBuf,
    /// Where builds are kept.
    pub cache_dir: PathBuf,
    /// Processors that deployments run on.
    pub server_cpus: Vec<u32>,
    /// How long a unit may take until something listens on its address.
    pub ready_timeout: Duration,
    /// Where the runtimes come from.
    pub software: SoftwareSource,
    /// Whether nothing is fetched or installed: what is missing is an error that lists it.
    pub offline: bool,
    /// Program and arguments that call [`crate::warden::run`].
    pub warden: Vec<OsString>,
    /// The program that is put into a container to look around, and its arguments before the questions: it prints what
    /// [`answer`] says to them.
    pub looker: (PathBuf, Vec<OsString>),
    /// Where the applications come from.
    pub sources: Vec<PathBuf>,
    /// Whether deployments have parts, which get control groups below a container's: only root can make them.
    pub parts: bool,
    /// Whether an application is prepared by Composer, which comes from its makers where the image has it not.
    pub composer: bool,
    /// Says to the user what takes long.
    pub tell: fn(&str),
}

/// One container a run.
#[derive(Debug)]
pub struct DockerPlatform {
    config: Arc<DockerConfig>,
    vantage: Arc<dyn Vantage>,
    engine: Engine,
    software: Mutex<Vec<SoftwareImage>>,
    /// What was found of images that serve by themselves.
    own_images: Mutex<Vec<(ImageSource, Availability)>>,
    /// How those are run that serve together.
    compositions: Mutex<Vec<(ImageSource, Composition)>>,
    /// Where containers that serve by themselves take the load, as they are run, and where their public files are.
    entrances: Mutex<Vec<KnownEntrance>>,
    /// Kept for their folders.
    preparations: Mutex<Vec<Preparation>>,
    cleaned: CleanReport,
    /// What stands in the way of measuring, as the engine says.
    findings: Vec<Finding>,
}

/// Where a container that serves by itself takes the load, as it was found.
#[derive(Debug)]
struct KnownEntrance {
    container: Container,
    program: Program,
    entrance: Entrance,
    /// Of one that speaks FastCGI: the folder with its public files.
    root: Option<String>,
}

impl DockerPlatform {
    /// Finishes the runs of Stampedes that were killed, and sees that there is an engine with the base image. What is launched is
    /// seen from this vantage, of this machine.
    ///
    /// # Errors
    ///
    /// When the engine or the image cannot be had, or the state folder cannot be used.
    pub async fn new(config: DockerConfig, vantage: Arc<dyn Vantage>) -> Result<Self, NewDockerError> {
        if config.parts && !geteuid().is_root() {
            return Err(NewDockerError::Parts);
        }
        let mut engine = Engine::connect(&engine::socket()?).await?;
        let (info, holding) = engine.examine().await?;
        if config.parts && holding == Holding::Nothing {
            return Err(NewDockerError::Parts);
        }
        engine.holding = holding;
        engine.tells_ends = !engine.manner().await?.is_podman;
        let state_dir = config.state_dir.clone();
        let cleaned = match tokio::task::spawn_blocking(move || take_state(&state_dir)).await {
            Ok(cleaned) => cleaned?,
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        };
        if let SoftwareSource::Upon(image) = &config.software
            && !config.offline
        {
            image::base(&engine, image, config.tell).await?;
        }
        let findings = match holding {
            Holding::Nothing => vec![rootless::unheld()],
            Holding::Limits => (info.swap_limit == Some(false)).then(no_swap_limit).into_iter().collect(),
        };
        Ok(Self {
            config: Arc::new(config),
            vantage,
            engine,
            software: Mutex::default(),
            own_images: Mutex::default(),
            compositions: Mutex::default(),
            entrances: Mutex::default(),
            preparations: Mutex::default(),
            cleaned,
            findings,
        })
    }

    /// What was left of Stampedes that were killed.
    pub fn cleaned(&self) -> &CleanReport {
        &self.cleaned
    }

    /// Sees that the engine has every image: one that is built from a folder is made of what is there.
    async fn must_have(&self, needs: &[Need]) -> Result<(), DockerError> {
        let own = needs.iter().filter_map(|(_, need)| match need {
            Requirement::Image { key: _, source: ImageSource::Named(name) } => Some(name),
            _ => None,
        });
        let mut lacking = self.lacking(needs).await?;
        let base = match &self.config.software {
            SoftwareSource::Upon(base) => Some(base),
            SoftwareSource::Nowhere | SoftwareSource::Makers { .. } => None,
        };
        for image in base.into_iter().chain(own) {
            if image::inspect(&self.engine, image).await?.is_none() && !lacking.contains(image) {
                lacking.push(image.clone());
            }
        }
        if lacking.is_empty() { Ok(()) } else { Err(DockerError::Offline(lacking)) }
    }

    /// An image that serves by itself, which is had from where it is named or built when it is first asked for.
    async fn own_image(&self, source: &ImageSource) -> Availability {
        let found = |known: &Vec<(ImageSource, Availability)>| {
            known.iter().find(|(known, _)| known == source).map(|(_, found)| found.clone())
        };
        let known = found(&self.own_images.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(known) = known {
            return known;
        }
        let (found, together) = own_source::find(&self.engine, source, self.config.offline, self.config.tell).await;
        if let Some(together) = together {
            let mut compositions = self.compositions.lock().unwrap_or_else(PoisonError::into_inner);
            compositions.push((source.clone(), together));
        }
        self.own_images.lock().unwrap_or_else(PoisonError::into_inner).push((source.clone(), found.clone()));
        found
    }

    /// The packages of the image that these files of it came from. What came from none is the base image's.
    ///
    /// # Errors
    ///
    /// When what is in the image cannot be told.
    pub async fn packages_of(&self, files: &[PathBuf]) -> Result<Vec<InstalledPackage>, DockerError> {
        let questions: Vec<Question> = files.iter().cloned().map(question::package_of).collect();
        let image = self.software_of(None).map_err(DockerError::Prepare)?;
        let answers = self.look(&image, &questions).await?;
        let package = |answer| match answer {
            Availability::Found(Found { path, version, php: _ }) => {
                Some(InstalledPackage { name: path.display().to_string(), version })
            }
            Availability::Missing { .. } => None,
        };
        Ok(answers.into_iter().filter_map(package).collect())
    }

    /// Where applications come from, those that were prepared included.
    fn sources(&self) -> Vec<PathBuf> {
        let preparations = self.preparations.lock().unwrap_or_else(PoisonError::into_inner);
        let prepared = preparations.iter().map(|preparation| preparation.folder.app());
        self.config.sources.iter().cloned().chain(prepared).collect()
    }

    fn software(&self) -> MutexGuard<'_, Vec<SoftwareImage>> {
        self.software.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The image in which deployments of this makers' image run, or why there is none.
    fn software_of(&self, image: Option<&MakersImage>) -> Result<String, String> {
        let software = self.software();
        let known = software.iter().find(|known| known.serves(image)).ok_or("there is no image for it")?;
        known.name.clone().map_err(|lacking| format!("the image {}, {}", known.record, lacking.problem))
    }

    /// The Dockerfile by which the image of deployments of this makers' image was made upon it.
    pub fn dockerfile_of(&self, image: &MakersImage) -> Option<String> {
        let is_of_makers = matches!(self.config.software, SoftwareSource::Makers { .. });
        let software = self.software();
        let known = software.iter().find(|known| known.serves(Some(image))).filter(|_| is_of_makers)?;
        (image.recipe.extensions != ExtensionMeans::Packages).then(|| known.dockerfile.clone())
    }

    /// Looks around in an image.
    async fn look(&self, image: &str, questions: &[Question]) -> Result<Vec<Availability>, DockerError> {
        let (program, args) = &self.config.looker;
        let unreadable = |problem: String| DockerError::Program { program: program.display().to_string(), problem };
        let text = serde_json::to_string(questions).map_err(|error| unreadable(error.to_string()))?;
        let order = Order {
            image: image.to_owned(),
            user: user::for_units().map_err(|error| DockerError::Prepare(error.to_string()))?,
            shown: Some(Shown::Program(program.clone(), PROGRAM)),
            purpose: Purpose::Aside,
        };
        let sandbox = Sandbox::open(&self.engine, &self.config.state_dir, order).await?;
        let args = args.iter().map(|arg| arg.to_string_lossy().into_owned());
        let words = [PROGRAM.to_owned()].into_iter().chain(args).chain([text]).collect();
        let answer = sandbox.inside.ask(words, LOOK_TIME).await;
        sandbox.close().await.map_err(DockerError::Prepare)?;
        let answer = answer?.map_err(|problem| {
            unreadable(format!(
                "{problem}\n  it must run in the image: use one that is not older than what it was built on"
            ))
        })?;
        serde_json::from_str(&answer).map_err(|error| unreadable(format!("{error}: {answer}")))
    }

    /// Runs an image that serves by itself, or several that serve together.
    async fn begin_own(
        &self,
        container: &Container,
        deployment: &Deployment,
        terms: &Terms,
    ) -> Result<OwnRunning, LaunchError> {
        let unit = deployment.units.first().ok_or_else(|| LaunchError::Prepare("there is no unit".to_owned()))?;
        let not_started = |problem: String| LaunchError::Start { unit: unit.id.clone(), problem };
        let (processes, told) = self.processes(container, &unit.program).await?;
        let order = OwnOrder {
            processes,
            limits: None,
            front: None,
            patience: self.config.ready_timeout,
            warden: self.config.warden.clone(),
        };
        let open = async |order: OwnOrder| {
            let opened = OwnRun::open(&self.engine, &self.config.state_dir, order).await;
            opened.map_err(|error| not_started(with_causes(&error)))
        };
        let known = self.known_entrance(container, &unit.program);
        let is_found = container.port.filter(|_| container.front.is_none() && container.compose.is_none());
        let (entrance, root) = match (known, is_found) {
            (Some(known), _) => known,
            (None, Some(port)) => (Entrance { member: 0, port, is_fast_cgi: false }, None),
            // In containers of its own, so that what is measured begins untouched.
            (None, None) => {
                let run = open(order.clone()).await?;
                let found = self.look_at(&run, container).await;
                run.close().await.map_err(LaunchError::Prepare)?;
                let (entrance, root) = found.map_err(not_started)?;
                told.iter().for_each(|line| (self.config.tell)(line));
                self.tell_entrance(container, &order.processes, entrance, root.as_deref());
                let (container, program) = (container.clone(), unit.program.clone());
                let found = KnownEntrance { container, program, entrance, root: root.clone() };
                self.entrances.lock().unwrap_or_else(PoisonError::into_inner).push(found);
                (entrance, root)
            }
        };
        let front = match entrance.is_fast_cgi {
            true => Some(self.front(container, entrance, root, terms).await.map_err(not_started)?),
            false => None,
        };
        let (member, port) = match &front {
            Some(_) => (entrance.member, FIRST_PORT),
            None => (entrance.member, entrance.port),
        };
        let limits = Some((terms.total, self.config.server_cpus.clone()));
        let run = open(OwnOrder { limits, front, ..order }).await?;
        let nothing = || LaunchError::Prepare("the container has no address".to_owned());
        let address = run.members.get(member).and_then(|member| member.address).ok_or_else(nothing)?;
        let endpoints = layout::bind(deployment, &run.folder, |_| Ok(SocketAddr::new(address, port)))?;
        let places = layout::places(&run.folder, &endpoints)?;
        let vantage = Arc::clone(&self.vantage);
        OwnRunning::start(run, deployment, (places, endpoints), self.config.ready_timeout, vantage).await
    }

    /// What a container stands for: the processes that are started, and what a person should know of them.
    async fn processes(
        &self,
        container: &Container,
        program: &Program,
    ) -> Result<(Vec<OwnProcess>, Vec<String>), LaunchError> {
        let failed = |error: &dyn std::error::Error| LaunchError::Prepare(with_causes(error));
        let Some(compose) = &container.compose else {
            let traits = Traits::of(&self.engine, &container.id).await.map_err(|error| failed(&error))?;
            let (env, told) = traits.environment(container, &[], program);
            let process = OwnProcess {
                image: container.id.clone(),
                command: program.args.clone(),
                env,
                volumes: container.volumes.clone(),
                ports: traits.ports,
                is_measured: true,
                ..OwnProcess::default()
            };
            return Ok((vec![process], told));
        };
        let source = ImageSource::Compose(compose.clone());
        let compositions = self.compositions.lock().unwrap_or_else(PoisonError::into_inner);
        let known = compositions.iter().find(|(known, _)| *known == source).map(|(_, found)| found);
        let nothing = || LaunchError::Prepare(format!("{source} was not read"));
        let Composition { mut processes, traits, mut told } = known.ok_or_else(nothing)?.clone();
        let without = Program { env: BTreeMap::new(), ..program.clone() };
        for (process, traits) in processes.iter_mut().zip(&traits) {
            // Settings are of what is under test.
            let given = if process.is_measured { program } else { &without };
            let (env, more) = traits.environment(container, &process.env, given);
            process.env = env;
            told.extend(more);
        }
        Ok((processes, told))
    }

    /// Where containers that run without limits take the load and, of those that speak FastCGI, the folder with public files.
    async fn look_at(&self, run: &OwnRun, container: &Container) -> Result<(Entrance, Option<String>), String> {
        let entrance = match container.port.filter(|_| run.members.len() == 1) {
            Some(port) => Entrance { member: 0, port, is_fast_cgi: container.front.is_some() },
            None => own_container::find_entrance(run, &*self.vantage, self.config.ready_timeout).await?,
        };
        if !entrance.is_fast_cgi {
            let unneeded = "it speaks HTTP by itself: leave front: nginx out";
            return if container.front.is_some() { Err(unneeded.to_owned()) } else { Ok((entrance, None)) };
        }
        let nothing = "there is no container";
        let member = run.members.get(entrance.member).ok_or(nothing)?;
        let root = container.root.clone().or_else(|| own_run::public_root(member.first));
        let lacking = || {
            format!(
                "its port {} speaks FastCGI, and no folder with its public files is found (index.php in /app/public or \
                 /var/www/html): name it in a plan, image: {{name: ..., front: nginx, root: /FOLDER}}",
                entrance.port
            )
        };
        Ok((entrance, Some(root.ok_or_else(lacking)?)))
    }

    fn tell_entrance(&self, container: &Container, all: &[OwnProcess], entrance: Entrance, root: Option<&str>) {
        let Entrance { member, port, is_fast_cgi } = entrance;
        let process = all.iter().filter(|process| process.is_measured).nth(member);
        let of = process.map_or("", |process| process.name.as_str());
        let of = if of.is_empty() { String::new() } else { format!(" of its service {of}") };
        let image = &container.image;
        (self.config.tell)(&match is_fast_cgi {
            true => format!(
                "{image} speaks FastCGI on port {port}{of}: {} goes before it, within the same limits, with the files in {}",
                container.fast_cgi.image,
                root.unwrap_or_default()
            ),
            false => format!("{image} answers on port {port}{of}"),
        });
    }

    /// The web server before a container that speaks FastCGI.
    async fn front(
        &self,
        container: &Container,
        entrance: Entrance,
        root: Option<String>,
        terms: &Terms,
    ) -> Result<Front, String> {
        let FastCgiFront { image, source: _, place, config } = container.fast_cgi;
        if !self.config.offline {
            let had = image::base(&self.engine, image, self.config.tell).await;
            had.map_err(|error| format!("put {image} before it: {}", with_causes(&error)))?;
        }
        let id = image::id(&self.engine, image).await.map_err(|error| with_causes(&error))?;
        if id.is_empty() {
            return Err(format!("put {image} before it: the engine does not have it, and --offline gets nothing"));
        }
        let root = root.unwrap_or_default();
        let mut places = Places::new();
        places.insert("listen", FIRST_PORT.to_string());
        places.insert("fpm", format!("127.0.0.1:{}", entrance.port));
        places.insert("root", root.clone());
        places.insert("workers", terms.total.cpus.millis().div_ceil(1000).max(1).to_string());
        let config = places.resolve(config).map_err(|error| error.to_string())?;
        Ok(Front { of: entrance.member, image: id, config, place, root })
    }

    fn known_entrance(&self, container: &Container, program: &Program) -> Option<(Entrance, Option<String>)> {
        let entrances = self.entrances.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |known: &&KnownEntrance| known.container == *container && known.program == *program;
        entrances.iter().find(is_it).map(|known| (known.entrance, known.root.clone()))
    }

    async fn begin(&self, deployment: &Deployment, terms: &Terms) -> Result<DockerRunning, LaunchError> {
        let config = &self.config;
        let failed = |error: &dyn std::error::Error| LaunchError::Prepare(with_causes(error));
        let user = user::for_units().map_err(|error| failed(&error))?;
        let image = self.software_of(deployment.image.as_ref()).map_err(LaunchError::Prepare)?;
        let maker = Contained { engine: &self.engine, state_dir: &config.state_dir, image: &image, user };
        let built = layout::build(deployment, &config.cache_dir, &config.state_dir, user, &maker).await?;
        let purpose = Purpose::Service(terms.total, config.server_cpus.clone());
        let order = Order { image, user, shown: None, purpose };
        let sandbox = Sandbox::open(&self.engine, &config.state_dir, order).await.map_err(|error| failed(&error))?;
        let (wanted, agreed, cpus) = (deployment.clone(), terms.clone(), config.server_cpus.clone());
        // The container goes with it: when this future is dropped, nothing is removed before this has ended.
        let filled = tokio::task::spawn_blocking(move || {
            let divided = sandbox.divide(&agreed.parts, &cpus);
            divided.map_err(|error| LaunchError::Prepare(with_causes(&error)))?;
            fill(sandbox, &wanted, &built)
        });
        let prepared = filled.await.map_err(|error| failed(&error))??;
        DockerRunning::start(prepared, deployment, terms, config.ready_timeout, Arc::clone(&self.vantage)).await
    }
}

/// Fills the folder of a container's run.
fn fill(mut sandbox: Sandbox, deployment: &Deployment, built: &[Built]) -> Result<Prepared, LaunchError> {
    let nothing = || LaunchError::Prepare("the container has no address or no folder".to_owned());
    let address = sandbox.address.ok_or_else(nothing)?;
    let folder = sandbox.folder.take().ok_or_else(nothing)?;
    let port = |number: usize| {
        let number = u16::try_from(number).ok().and_then(|number| FIRST_PORT.checked_add(number));
        let none = || std::io::Error::other("the deployment has more addresses than there are ports");
        Ok(SocketAddr::new(address, number.ok_or_else(none)?))
    };
    let endpoints = layout::bind(deployment, &folder, port)?;
    let places = layout::places(&folder, &endpoints)?;
    layout::fill(&folder, deployment, &places, built)?;
    // Programs in the container write their logs themselves.
    folder.make_writable(Path::new("logs")).map_err(|error| LaunchError::Prepare(with_causes(&error)))?;
    Ok(Prepared { sandbox, folder, places, endpoints })
}

impl Platform for DockerPlatform {
    fn vantage(&self) -> &Arc<dyn Vantage> {
        &self.vantage
    }

    fn id(&self) -> &'static str {
        DOCKER
    }

    fn image_of(&self, image: Option<&MakersImage>) -> Option<String> {
        self.software().iter().find(|known| known.serves(image)).map(|known| known.record.clone())
    }

    fn detect<'a>(&'a self, need: &'a Requirement, image: Option<&'a MakersImage>) -> Fut<'a, Availability> {
        Box::pin(async move {
            let question = match place(need, &self.sources()) {
                Place::Here => return detect(need).await,
                Place::Nowhere(what) => return missing(what.to_owned(), "--platform local".to_owned()),
                Place::Engine(source) => return self.own_image(source).await,
                Place::Container(question) => question,
            };
            let known = self.software().iter().find(|known| known.serves(image)).cloned();
            let Some(SoftwareImage { name, record, answers, .. }) = known else {
                return missing("an image".to_owned(), ON_DEBIAN.to_owned());
            };
            let name = match name {
                Ok(name) => name,
                Err(Lacking { problem, fix }) => {
                    let fix = if fix.is_empty() { ON_DEBIAN.to_owned() } else { format!("{fix}; or {ON_DEBIAN}") };
                    return missing(format!("the image {record}, {problem}"), fix);
                }
            };
            let known = answers.into_iter().find(|(known, _)| *known == question).map(|(_, answer)| answer);
            let answer = match known {
                Some(answer) => answer,
                None => match self.look(&name, std::slice::from_ref(&question)).await {
                    Ok(answers) => match answers.into_iter().next() {
                        Some(answer) => answer,
                        None => return missing("an answer from the image".to_owned(), String::new()),
                    },
                    Err(error) => return missing(with_causes(&error), "use another --base-image".to_owned()),
                },
            };
            match answer {
                Availability::Missing { what, install } => match &self.config.software {
                    SoftwareSource::Makers { .. } => {
                        let image = record.split_once('@').map_or(record.as_str(), |(image, _)| image);
                        missing(format!("{what}, which {image} does not have and its recipe did not add"), install.page)
                    }
                    SoftwareSource::Nowhere | SoftwareSource::Upon(_) => missing(
                        format!("{what}, which no package of {record} gives"),
                        "use another --base-image, or --platform local".to_owned(),
                    ),
                },
                found => found,
            }
        })
    }

    fn preflight<'a>(&'a self, limits: &'a Limits) -> Fut<'a, Vec<Finding>> {
        Box::pin(async move {
            let mut findings = preflight::judge(limits, self.config.server_cpus.len(), machine::memory(), None);
            findings.extend(self.findings.iter().cloned());
            findings
        })
    }

    /// With the programs of the image.
    fn prepare<'a>(&'a self, app: &'a App) -> Fut<'a, Result<PreparedApp, PrepareError>> {
        Box::pin(async move {
            let survey = app_copy::survey(app).await?;
            let left_out = survey.left_out().map(|what| format!("not copied: {what}"));
            let mut remarks: Vec<String> = left_out.into_iter().collect();
            let user = user::for_units().map_err(|error| PrepareError::Copy(with_causes(&error)))?;
            if app.prepare.is_empty() && !survey.is_shared(user) {
                return Ok(app_copy::prepared(app.source.clone(), remarks));
            }
            let begun = self.vantage.now();
            let state_dir = &self.config.state_dir;
            let preparation = if app.prepare.is_empty() {
                preparation::share(state_dir, app).await?
            } else {
                let mut image = self.software_of(None).map_err(PrepareError::Copy)?;
                if composer::is_run_by(app) {
                    image = self.with_composer(image).await.map_err(|error| PrepareError::Copy(with_causes(&error)))?;
                }
                preparation::prepare(&self.engine, state_dir, image, app, self.config.offline).await?
            };
            let took = self.vantage.now().since(begun);
            remarks.extend(preparation.shared.as_ref().map(|survey| survey.copied_once(took)));
            let folder = preparation.folder.app();
            self.preparations.lock().unwrap_or_else(PoisonError::into_inner).push(preparation);
            Ok(app_copy::prepared(folder, remarks))
        })
    }

    fn launch<'a>(
        &'a self,
        deployment: &'a Deployment,
        terms: &'a Terms,
    ) -> Fut<'a, Result<Box<dyn Running>, LaunchError>> {
        Box::pin(async move {
            match &deployment.container {
                Some(container) => {
                    Ok(Box::new(self.begin_own(container, deployment, terms).await?) as Box<dyn Running>)
                }
                None => Ok(Box::new(self.begin(deployment, terms).await?) as Box<dyn Running>),
            }
        })
    }
}

fn missing(what: String, page: String) -> Availability {
    Availability::Missing { what, install: Install { package: None, page } }
}

fn no_swap_limit() -> Finding {
    doctor::warning(
        "swap-not-limited",
        "the engine says that its kernel cannot limit swap: memory beyond the limit may be swapped out",
        "turn swap off, or start the kernel with swapaccount=1",
    )
}

/// Whether there is an engine that containers can be measured in, for `stampede doctor`.
pub fn examine() -> Finding {
    let asked = engine::block_on(async { Engine::connect(&engine::socket()?).await?.examine().await });
    match asked {
        Ok((info, holding)) => {
            let told = |text: Option<String>| text.unwrap_or_else(|| "?".to_owned());
            let driver = info.cgroup_driver.map_or_else(|| "?".to_owned(), |driver| driver.to_string());
            let version = info.cgroup_version.map_or_else(|| "?".to_owned(), |version| version.to_string());
            let text = format!("Docker {}, control groups version {version} ({driver})", told(info.server_version));
            match holding {
                Holding::Limits => doctor::fine(DOCKER, text),
                Holding::Nothing => {
                    doctor::warning(DOCKER, format!("{text}: {}", rootless::unheld().text), "use an engine of root")
                }
            }
        }
        Err(DockerError::NotThere { socket, source: _ }) => doctor::fine(
            DOCKER,
            format!("no engine at {}; only --platform docker and --image need one", socket.display()),
        ),
        Err(DockerError::Elsewhere) => doctor::fine(
            DOCKER,
            "an engine whose containers are not seen from here: Stampede starts itself in a container beside them"
                .to_owned(),
        ),
        Err(error) => {
            let because = format!("--platform docker cannot be used: {}", with_causes(&error));
            doctor::warning(DOCKER, because, "or use --platform local")
        }
    }
}

/// Why the platform cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NewDockerError {
    /// The engine or the image.
    #[error(transparent)]
    Docker(#[from] DockerError),
    /// The state folder.
    #[error(transparent)]
    State(#[from] NewPlatformError),
    /// Parts have no budgets without root.
    #[error(
        "measure replicas, balancers and services in a container: their control groups below the container's are made by root alone; \
         run Stampede as root, or use --platform local"
    )]
    Parts,
}
