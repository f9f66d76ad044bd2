//! Launches images as pods on the node of a study.

mod scaled;
mod services;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use stampede_core::{
    Address, AddressId, App, Availability, Container, Cpus, Deployment, Endpoint, EnforcedLimits, Finding, Found, Fut,
    ImageSource, Install, Limit, Limits, Machine, MakersImage, Places, Program, Ready, Requirement, Terms, Unit,
    UnitId, Volume,
};
use stampede_kubernetes::{ClusterError, FoundPod, Pods, Server, ServerOrder};
use stampede_seam::{
    Autoscaled, AutoscalerOrder, ContainerLook, LaunchError, LogTail, Moment, Platform, PrepareError, PreparedApp,
    Running, Vantage,
};
use tokio::time::{Instant, sleep, timeout};

use self::services::{Beside, endpoints, is_service};
use crate::ground::{Ground, server_order};
use crate::pod_agent::PodAgent;
use crate::pod_vantage::PodVantage;
use crate::running::{ClusterRunning, ServingPod};

/// The name of this platform.
pub const KUBERNETES: &str = "kubernetes";

/// The class of pods whose requests are their limits.
const GUARANTEED: &str = "Guaranteed";

/// How long it is waited for what befell a pod in which something failed.
const EXPLAIN: Duration = Duration::from_secs(5);

/// Lines of a log that are shown beside a failure.
const LOG_LINES: usize = 10;

/// What a look around may take beside the wait for the server.
const LOOK: Duration = Duration::from_secs(30);

/// How long agents that are lost are tried again, and between two tries.
const AGAIN: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_secs(1);

/// How long one try may take.
const TRY: Duration = Duration::from_secs(30);

/// Starts agents in generators again, and gives what is seen from there.
pub type Again = Box<dyn for<'a> Fn(&'a Pods) -> Fut<'a, Result<PodVantage, String>> + Send + Sync>;

/// What was found of a container in a pod of its own.
#[derive(Clone, Debug)]
struct FoundContainer {
    port: u16,
    /// What its image needs in its environment beside what is given.
    env: BTreeMap<String, String>,
}

/// Images as pods on the node of a study. Dropping it ends all that the study has in the cluster.
pub struct ClusterPlatform {
    ground: Ground,
    seen: tokio::sync::Mutex<PodVantage>,
    again: Again,
    vantage: Arc<dyn Vantage>,
    limits: Limits,
    ready_timeout: Duration,
    /// What was found of images.
    images: Mutex<Vec<(String, Availability)>>,
    /// What was found of containers by asking.
    found: Mutex<Vec<(Container, Program, FoundContainer)>>,
    /// Why the node has no room any more.
    no_room: OnceLock<String>,
    tell: fn(&str),
}

impl ClusterPlatform {
    /// Deployments within these limits on this ground, seen from this vantage, and from another one once that is lost. `tell` says to the
    /// user what takes long.
    #[must_use]
    pub fn new(
        ground: Ground,
        (seen, again): (PodVantage, Again),
        limits: Limits,
        ready_timeout: Duration,
        tell: fn(&str),
    ) -> Self {
        let vantage = Arc::new(seen.clone());
        let seen = tokio::sync::Mutex::new(seen);
        let (images, found, no_room) = (Mutex::default(), Mutex::default(), OnceLock::new());
        Self { ground, seen, again, vantage, limits, ready_timeout, images, found, no_room, tell }
    }

    /// An image, which the node gets when it is first asked for.
    async fn image(&self, name: &str) -> Availability {
        let known = |all: &Vec<(String, Availability)>| {
            all.iter().find(|(known, _)| known == name).map(|(_, found)| found.clone())
        };
        if let Some(found) = known(&self.images.lock().unwrap_or_else(PoisonError::into_inner)) {
            return found;
        }
        let order =
            ServerOrder { image: name.to_owned(), ..server_order(self.limits, Some(self.ground.node.as_str())) };
        let found = match Server::image_id(&self.ground.run, &order, &self.tell).await {
            Ok(id) => Availability::Found(Found { path: PathBuf::from(name), version: digest(&id), php: None }),
            Err(error) => missing(name.to_owned(), error.to_string()),
        };
        self.images.lock().unwrap_or_else(PoisonError::into_inner).push((name.to_owned(), found.clone()));
        found
    }

    /// From where deployments are seen. Agents that are lost are started again once the cluster answers, as long as the lease lasts.
    async fn seen(&self) -> Result<PodVantage, LaunchError> {
        let mut seen = self.seen.lock().await;
        let Some(lost) = seen.why_lost() else { return Ok(seen.clone()) };
        let until = Instant::now() + AGAIN;
        let mut problem = "the cluster does not answer".to_owned();
        while self.over().is_none() && Instant::now() < until {
            match timeout(TRY, (self.again)(&self.ground.pods)).await {
                Ok(Ok(again)) => {
                    (self.tell)(&format!("the generators' agents were started again: {lost}"));
                    *seen = again;
                    return Ok(seen.clone());
                }
                Ok(Err(error)) => problem = error,
                Err(_) => {}
            }
            sleep(PAUSE).await;
        }
        Err(LaunchError::Lost(format!("{lost}; {}", self.over().unwrap_or(problem))))
    }

    /// What was found of a container before.
    fn known(&self, container: &Container, program: &Program) -> Option<FoundContainer> {
        let is_it = |(known, of, _): &&(Container, Program, FoundContainer)| known == container && of == program;
        let all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().find(is_it).map(|(_, _, found)| found.clone())
    }

    /// What the node's runtime knows an image by that was found.
    fn id_of(&self, image: &str) -> String {
        let all = self.images.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.iter().find_map(|(name, found)| match found {
            Availability::Found(Found { version, .. }) if name == image => Some(version.clone()),
            _ => None,
        });
        found.unwrap_or_default()
    }

    /// The port of a container, and what its image needs; found in a pod of its own, so that what is measured begins untouched.
    async fn found(
        &self,
        container: &Container,
        program: &Program,
        order: &ServerOrder,
    ) -> Result<FoundContainer, String> {
        let (mut order, mut needs) = (order.clone(), BTreeMap::new());
        let port = loop {
            let look = self.look_apart(container, &order).await?;
            let more = container.needs(&look.traits, &order.env);
            if more.is_empty() {
                break look.port?;
            }
            for (name, value, words) in more {
                (self.tell)(&words);
                needs.insert(name.to_owned(), value.to_owned());
            }
            order.env.extend(needs.clone());
        };
        if container.port.is_none() {
            (self.tell)(&format!("{} answers on port {port}", container.image));
        }
        let found = FoundContainer { port, env: needs };
        let mut all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((container.clone(), program.clone(), found.clone()));
        Ok(found)
    }

    /// Looks around in a container of one pod, which is gone then.
    async fn look_apart(&self, container: &Container, order: &ServerOrder) -> Result<ContainerLook, String> {
        let server = Server::start(&self.ground.run, order, &self.tell).await.map_err(|error| error.to_string())?;
        let pod = server.pods().first().ok_or("it has no pod")?;
        let look = match self.look(&server, pod, container.port).await {
            Ok(ContainerLook { port: Err(problem), traits, .. }) if container.needs(&traits, &order.env).is_empty() => {
                Err(problem)
            }
            look => look,
        };
        let look = match look {
            Ok(look) => Ok(look),
            Err(problem) => Err(explained(&server, pod, problem).await),
        };
        server.end().await.map_err(|error| error.to_string())?;
        look
    }

    /// Starts pods of a unit.
    async fn start(&self, order: &ServerOrder, unit: &UnitId) -> Result<Server, LaunchError> {
        let server = Server::start(&self.ground.run, order, &self.tell).await;
        server.map_err(|error| match error {
            // It had room when the study began.
            ClusterError::NoRoom { .. } => LaunchError::Lost(self.no_room.get_or_init(|| error.to_string()).clone()),
            error => failed(unit)(error.to_string()),
        })
    }

    async fn begin(&self, deployment: &Deployment, terms: &Terms) -> Result<ClusterRunning, LaunchError> {
        let nothing = |what: &str| LaunchError::Prepare(format!("{what}: a cluster serves images alone"));
        let container = deployment.container.as_ref().ok_or_else(|| nothing("it is no image"))?;
        let units: Vec<&Unit> = deployment.units.iter().filter(|unit| !is_service(unit)).collect();
        let unit = *units.first().ok_or_else(|| nothing("there is no unit"))?;
        let eyes = self.seen().await?;
        let limits = terms.part_of(&unit.id).and_then(|part| part.share).unwrap_or(terms.total);
        let FoundContainer { port, env } = match self.known(container, &unit.program) {
            Some(found) => found,
            None => {
                // What it does to services while it is looked at is gone before it is measured.
                let services = self.services(deployment, terms).await?;
                let order = self.order(container, unit, limits, &places(&endpoints(&services)))?;
                let found = self.found(container, &unit.program, &order).await;
                for Beside { server, .. } in services {
                    server.end().await.map_err(|error| failed(&unit.id)(error.to_string()))?;
                }
                found.map_err(failed(&unit.id))?
            }
        };
        let services = self.services(deployment, terms).await?;
        let mut endpoints = endpoints(&services);
        let one = self.order(container, unit, limits, &places(&endpoints))?;
        let replicas = u32::try_from(units.len()).unwrap_or(u32::MAX);
        let mut order = ServerOrder { replicas, ..one };
        order.env.extend(env);
        let server = self.start(&order, &unit.id).await?;
        let seen = self.seen_in(&server, container, port).await;
        let (server, seen) = or_ended(server, seen).await.map_err(failed(&unit.id))?;
        let age = seen.iter().map(|(look, _)| look.age).max().unwrap_or_default();
        let (mut servers, mut serving, mut inside) = (Vec::new(), Vec::new(), Vec::new());
        for Beside { server, pod, meter } in services {
            servers.push(server);
            inside.push((pod.agent.clone(), meter));
            serving.push(pod);
        }
        let mut front = None;
        for ((unit, pod), (look, agent)) in units.into_iter().zip(server.pods()).zip(seen) {
            let target = Endpoint::Tcp(SocketAddr::new(pod.address, port));
            if let Ready::Port(address) = &unit.ready {
                endpoints.insert(address.clone(), target.clone());
            }
            front.get_or_insert_with(|| target.clone());
            let enforced = enforced(&look, limits);
            inside.push((agent.clone(), look.meter));
            serving.push(ServingPod {
                part: terms.part_of(&unit.id).map(|part| part.name.clone()),
                unit: unit.id.clone(),
                agent,
                target,
                enforced,
            });
        }
        servers.push(server);
        let vantage = Arc::new(eyes.with_inside(inside));
        let started = Moment::new(vantage.now().since_start().saturating_sub(age));
        let front = front.ok_or_else(|| nothing("it has no pod"))?;
        // What is said to no pod in particular, the first is asked.
        for Address { id, .. } in &deployment.addresses {
            endpoints.entry(id.clone()).or_insert_with(|| front.clone());
        }
        let places = places(&endpoints);
        Ok(ClusterRunning::new(servers, serving, vantage, (front, endpoints, places), started))
    }

    /// Each pod of a container with who is in it, once it listens.
    async fn seen_in(
        &self,
        server: &Server,
        container: &Container,
        port: u16,
    ) -> Result<Vec<(ContainerLook, PodAgent)>, String> {
        server.pods().iter().try_for_each(|pod| check(pod, &container.image, &container.id))?;
        let each = join_all(server.pods().iter().map(|pod| async move {
            let (look, agent) = tokio::join!(self.look(server, pod, Some(port)), agent(server, pod));
            match (look, agent) {
                (Ok(ContainerLook { port: Err(problem), .. }), _) | (Err(problem), _) | (_, Err(problem)) => {
                    Err(explained(server, pod, problem).await)
                }
                (Ok(look), Ok(agent)) => Ok((look, agent)),
            }
        }));
        each.await.into_iter().collect()
    }

    /// The cluster's order for a container.
    fn order(
        &self,
        container: &Container,
        unit: &Unit,
        limits: Limits,
        places: &Places,
    ) -> Result<ServerOrder, LaunchError> {
        let mut empty = Vec::new();
        for volume in &container.volumes {
            match volume {
                Volume::Empty { at } => empty.push(at.clone()),
                Volume::Shown { at, .. } | Volume::Shared { at, .. } => {
                    return Err(LaunchError::Prepare(format!(
                        "{at}: a cluster does not see the files of this machine"
                    )));
                }
            }
        }
        Ok(ServerOrder {
            image: container.image.clone(),
            args: unit.program.args.clone(),
            // What names no service is as it was written.
            env: unit.program.env.iter().map(|(name, value)| (name.clone(), resolved(value, places))).collect(),
            empty,
            grace: unit.stop.grace,
            ..server_order(limits, Some(self.ground.node.as_str()))
        })
    }

    /// Looks around in a container, once its server listens.
    async fn look(&self, server: &Server, pod: &FoundPod, port: Option<u16>) -> Result<ContainerLook, String> {
        let mut words = vec!["__guardian".to_owned(), "look".to_owned(), pod.address.to_string()];
        words.push(self.ready_timeout.as_millis().to_string());
        words.extend(port.map(|port| port.to_string()));
        let printed = server.ask(pod, &words, self.ready_timeout + LOOK).await.map_err(|error| error.to_string())?;
        serde_json::from_str(&printed).map_err(|error| format!("read {printed:?}: {error}"))
    }
}

/// Why a unit was not started.
fn failed(unit: &UnitId) -> impl Fn(String) -> LaunchError {
    move |problem| LaunchError::Start { unit: unit.clone(), problem }
}

/// Ends pods in which something failed.
async fn or_ended<T>(server: Server, found: Result<T, String>) -> Result<(Server, T), String> {
    match found {
        Ok(found) => Ok((server, found)),
        Err(problem) => match server.end().await {
            Ok(_) => Err(problem),
            Err(error) => Err(error.to_string()),
        },
    }
}

/// A text with the places that it names, or as it is where it names others.
fn resolved(text: &str, places: &Places) -> String {
    places.resolve(text).unwrap_or_else(|_| text.to_owned())
}

/// An agent in a container.
async fn agent(server: &Server, pod: &FoundPod) -> Result<PodAgent, String> {
    PodAgent::begin(server.agent(pod).await.map_err(|error| error.to_string())?).await
}

/// That a pod is what was asked for.
fn check(pod: &FoundPod, image: &str, id: &str) -> Result<(), String> {
    let now = digest(&pod.image_id);
    if now != id {
        return Err(format!(
            "the image {image} was {id} when the study began, and pod {} on node {} has {now}: give it by its digest",
            pod.name, pod.node
        ));
    }
    if pod.class != GUARANTEED {
        return Err(format!(
            "pod {} on node {} is of the class {:?} and not {GUARANTEED}: something in the cluster changes its requests or limits",
            pod.name, pod.node, pod.class
        ));
    }
    Ok(())
}

/// A problem with what befell its pod, where that explains it.
async fn explained(server: &Server, pod: &FoundPod, problem: String) -> String {
    let fate = timeout(EXPLAIN, server.fate()).await;
    let problem = fate.map_or(problem, |fate| format!("it ended with {}", fate.words()));
    let lines = LogTail::of(server.log(pod).await.iter().map(String::as_str)).lines;
    let last = &lines[lines.len().saturating_sub(LOG_LINES)..];
    last.iter().fold(problem, |text, line| format!("{text}\n  {line}"))
}

/// What the kernel holds a container to. One that has whole processors for itself need have no quota.
fn enforced(look: &ContainerLook, asked: Limits) -> EnforcedLimits {
    let ContainerLook { enforced, processors, .. } = look;
    let set = Cpus::from_millis(processors.saturating_mul(1000));
    let cpus = match enforced.cpus {
        Limit::Unlimited if set == asked.cpus => Limit::AtMost(set),
        cpus => cpus,
    };
    EnforcedLimits { cpus, ..*enforced }
}

fn places(endpoints: &BTreeMap<AddressId, Endpoint>) -> Places {
    let mut places = Places::new();
    for (id, endpoint) in endpoints {
        if let Endpoint::Tcp(address) = endpoint {
            places.insert(id.as_str(), address.to_string());
            places.insert(format!("{id}.host"), address.ip().to_string());
            places.insert(format!("{id}.port"), address.port().to_string());
        }
    }
    places
}

/// The digest of an image by what a node's runtime knows it by: `docker-pullable://name@sha256:...`, `name@sha256:...` or `sha256:...`.
fn digest(image_id: &str) -> String {
    image_id.rsplit_once('@').map_or(image_id, |(_, digest)| digest).to_owned()
}

/// An image that was measured before, where its name still means that one.
fn same(found: Availability, id: &str) -> Availability {
    match found {
        Availability::Found(Found { path, version, .. }) if version != id => {
            let what = format!("the image {} as it was measured, {id}; its name means {version} now", path.display());
            missing(what, "compare it again".to_owned())
        }
        found => found,
    }
}

fn missing(what: String, page: String) -> Availability {
    Availability::Missing { what, install: Install { package: None, page } }
}

impl fmt::Debug for ClusterPlatform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterPlatform").field("node", &self.ground.node).finish_non_exhaustive()
    }
}

impl Platform for ClusterPlatform {
    fn id(&self) -> &'static str {
        KUBERNETES
    }

    fn vantage(&self) -> &Arc<dyn Vantage> {
        &self.vantage
    }

    fn machine(&self) -> Option<Machine> {
        Some(self.ground.machine.clone())
    }

    fn node(&self) -> Option<&str> {
        Some(&self.ground.node)
    }

    fn over(&self) -> Option<String> {
        self.ground.run.is_over().or_else(|| self.ground.pods.ended()).or_else(|| self.no_room.get().cloned())
    }

    fn detect<'a>(&'a self, need: &'a Requirement, _image: Option<&'a MakersImage>) -> Fut<'a, Availability> {
        Box::pin(async move {
            match need {
                Requirement::Image { source: ImageSource::Named(name), .. } => self.image(name).await,
                Requirement::Image { source: ImageSource::Kept { name, id }, .. } => same(self.image(name).await, id),
                _ => missing("an image that exists".to_owned(), "give --image NAME".to_owned()),
            }
        })
    }

    /// A node with room was found before.
    fn preflight<'a>(&'a self, _limits: &'a Limits) -> Fut<'a, Vec<Finding>> {
        Box::pin(async { Vec::new() })
    }

    fn prepare<'a>(&'a self, app: &'a App) -> Fut<'a, Result<PreparedApp, PrepareError>> {
        Box::pin(async move { Ok(PreparedApp { folder: app.source.clone(), autoloader: None, remarks: Vec::new() }) })
    }

    fn launch<'a>(
        &'a self,
        deployment: &'a Deployment,
        terms: &'a Terms,
    ) -> Fut<'a, Result<Box<dyn Running>, LaunchError>> {
        Box::pin(async move {
            match self.begin(deployment, terms).await {
                Ok(running) => Ok(Box::new(running) as Box<dyn Running>),
                Err(LaunchError::Lost(why)) => Err(LaunchError::Lost(why)),
                // Who does not reach the cluster knows nothing of what was launched.
                Err(error) => match self.seen.lock().await.why_lost() {
                    Some(lost) => Err(LaunchError::Lost(format!("{lost}; {error}"))),
                    None => Err(error),
                },
            }
        })
    }

    fn has_autoscaler(&self) -> bool {
        true
    }

    fn autoscale<'a>(
        &'a self,
        deployment: &'a Deployment,
        terms: &'a Terms,
        order: &'a AutoscalerOrder,
    ) -> Fut<'a, Result<Box<dyn Autoscaled>, LaunchError>> {
        Box::pin(self.scaled(deployment, terms, order))
    }
}

#[cfg(test)]
mod tests {
    use stampede_core::{Bytes, ImageTraits, MeterSource};

    use crate::running::summed;

    use super::*;

    #[test]
    fn images_are_known_by_their_digests() {
        for (id, expected) in [
            ("docker-pullable://r/shop@sha256:ab", "sha256:ab"),
            ("r/shop@sha256:ab", "sha256:ab"),
            ("sha256:ab", "sha256:ab"),
        ] {
            assert_eq!(digest(id), expected, "{id}");
        }
    }

    #[test]
    fn a_name_may_mean_another_image_than_before() {
        let found =
            || Availability::Found(Found { path: PathBuf::from("shop:1"), version: "sha256:ab".to_owned(), php: None });
        assert_eq!(same(found(), "sha256:ab"), found());
        let Availability::Missing { what, .. } = same(found(), "sha256:cd") else { panic!("it is another") };
        assert_eq!(what, "the image shop:1 as it was measured, sha256:cd; its name means sha256:ab now");
    }

    #[test]
    fn pods_together_are_held_to_what_each_is() {
        let of = |millis, mib| EnforcedLimits {
            cpus: Limit::AtMost(Cpus::from_millis(millis)),
            period: Duration::from_millis(100),
            memory: Limit::AtMost(Bytes::from_mib(mib)),
        };
        let free = EnforcedLimits { cpus: Limit::Unlimited, ..of(0, 16) };
        assert_eq!(summed([of(100, 16); 4].into_iter()), of(400, 64));
        assert_eq!(summed([of(100, 16)].into_iter()), of(100, 16));
        assert_eq!(summed([of(100, 16), free].into_iter()), EnforcedLimits { cpus: Limit::Unlimited, ..of(0, 32) });
    }

    #[test]
    fn processors_of_ones_own_are_a_limit() {
        let memory = Limit::AtMost(Bytes::from_mib(64));
        let look = |cpus, processors| ContainerLook {
            enforced: EnforcedLimits { cpus, period: Duration::ZERO, memory },
            processors,
            meter: MeterSource::CgroupV2 { dir: PathBuf::from("/sys/fs/cgroup") },
            age: Duration::ZERO,
            traits: ImageTraits::default(),
            port: Ok(80),
        };
        let two = Limits { cpus: Cpus::from_millis(2000), memory: Bytes::from_mib(64) };
        let quota = |millis| Limit::AtMost(Cpus::from_millis(millis));
        for (name, look, fulfils) in [
            ("a quota", look(quota(2000), 64), true),
            ("another quota", look(quota(1000), 64), false),
            ("a set of two", look(Limit::Unlimited, 2), true),
            ("all of a node", look(Limit::Unlimited, 64), false),
        ] {
            assert_eq!(enforced(&look, two).fulfil(&two), fulfils, "{name}");
        }
    }
}
