//! A platform whose deployments are made up.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use stampede_core::{
    AddressId, App, Availability, Deployment, Endpoint, Finding, Found, Fut, Install, Limits, MakersImage, PhpAsked,
    PhpBuild, PhpProbe, PhpProbeSource, PhpReadBack, Places, Ready, Requirement, Terms, Unit,
};
use stampede_seam::{
    Autoscaled, AutoscalerOrder, LaunchError, Located, Platform, PrepareError, PreparedApp, Running, Vantage,
};

use crate::fake_autoscaled::FakeAutoscaled;
use crate::fake_deployment::FakeDeployment;
use crate::fake_lifetime::{FakeLaunch, FakeLifetime};
use crate::fake_running::FakeRunning;
use crate::fake_vantage::FakeVantage;

/// What becomes of each launch.
type Script = Box<dyn Fn(&FakeLaunch<'_>) -> FakeLifetime + Send + Sync>;

/// A platform that starts nothing: a script says what becomes of each launch. Everything that is required is there, unless it is told
/// to lack it.
pub struct FakePlatform {
    script: Script,
    lacks: Vec<&'static str>,
    unprepared: Option<&'static str>,
    /// What stands in the way of limits.
    preflight: Vec<Finding>,
    /// The node of a cluster that it is, if it is one.
    node: Option<&'static str>,
    /// After how many launches nothing can be launched any more.
    over_after: Option<usize>,
    fake: Arc<FakeVantage>,
    vantage: Arc<dyn Vantage>,
    /// What happened, in order.
    log: Arc<Mutex<Vec<String>>>,
    launches: Mutex<usize>,
}

impl FakePlatform {
    /// Made within a tokio runtime, whose time its clock follows: best one that is paused.
    pub fn new(script: impl Fn(&FakeLaunch<'_>) -> FakeLifetime + Send + Sync + 'static) -> Self {
        let fake = FakeVantage::new();
        let vantage = fake.clone();
        let (lacks, unprepared, preflight) = (Vec::new(), None, Vec::new());
        Self {
            script: Box::new(script),
            lacks,
            unprepared,
            preflight,
            node: None,
            over_after: None,
            fake,
            vantage,
            log: Arc::default(),
            launches: Mutex::default(),
        }
    }

    /// Adds what happens to a log that others keep.
    #[must_use]
    pub fn logging_to(self, log: Arc<Mutex<Vec<String>>>) -> Self {
        Self { log, ..self }
    }

    /// Lacks what is required by these keys.
    #[must_use]
    pub fn lacking(self, keys: &[&'static str]) -> Self {
        Self { lacks: keys.to_vec(), ..self }
    }

    /// Finds this before anything is launched.
    #[must_use]
    pub fn finding(self, preflight: Vec<Finding>) -> Self {
        Self { preflight, ..self }
    }

    /// A cluster, in which all run on the node of this name, load goes to each replica, and services are scaled.
    #[must_use]
    pub fn on_node(self, node: Option<&'static str>) -> Self {
        Self { node, ..self }
    }

    /// Is gone after so many launches.
    #[must_use]
    pub fn over_after(self, launches: usize) -> Self {
        Self { over_after: Some(launches), ..self }
    }

    /// The commands that prepare the application of this name fail.
    #[must_use]
    pub fn unprepared(self, app: Option<&'static str>) -> Self {
        Self { unprepared: app, ..self }
    }

    /// What was launched, stopped and dropped, in order: `launch a`, `stop a`.
    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From where its deployments are seen.
    pub fn fake_vantage(&self) -> &FakeVantage {
        &self.fake
    }

    /// How many deployments are up.
    pub fn up(&self) -> usize {
        let mut up: Vec<_> = self.fake.deployments().values().map(Arc::as_ptr).collect();
        up.sort_unstable();
        up.dedup();
        up.len()
    }
}

impl fmt::Debug for FakePlatform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakePlatform").field("log", &self.log()).finish_non_exhaustive()
    }
}

impl Platform for FakePlatform {
    /// What records of it say is what those of this machine's own platform would, or of a cluster.
    fn id(&self) -> &'static str {
        if self.node.is_some() { "kubernetes" } else { "local" }
    }

    fn node(&self) -> Option<&str> {
        self.node
    }

    fn over(&self) -> Option<String> {
        let launches = *self.launches.lock().unwrap_or_else(PoisonError::into_inner);
        self.over_after.filter(|most| launches >= *most).map(|_| "it is gone".to_owned())
    }

    fn vantage(&self) -> &Arc<dyn Vantage> {
        &self.vantage
    }

    fn detect<'a>(&'a self, need: &'a Requirement, _image: Option<&'a MakersImage>) -> Fut<'a, Availability> {
        if let Some(what) = need.key().filter(|key| self.lacks.contains(key)) {
            let install = Install { package: Some(what.to_owned()), page: format!("https://{what}.example") };
            return Box::pin(async move { Availability::Missing { what: what.to_owned(), install } });
        }
        if let Requirement::Image { key: _, source } = need {
            let name = source.to_string();
            let found = Found { version: format!("sha256:{name:x<12}"), path: PathBuf::from(name), php: None };
            return Box::pin(async move { Availability::Found(found) });
        }
        let php = need.is_php().then(php_build);
        let version = php.as_ref().map_or_else(|| "1.26.0".to_owned(), |php| php.version.clone());
        let found = Found { path: PathBuf::from("/fake").join(need.key().unwrap_or("file")), version, php };
        Box::pin(async move { Availability::Found(found) })
    }

    fn preflight<'a>(&'a self, _limits: &'a Limits) -> Fut<'a, Vec<Finding>> {
        Box::pin(async { self.preflight.clone() })
    }

    fn prepare<'a>(&'a self, app: &'a App) -> Fut<'a, Result<PreparedApp, PrepareError>> {
        Box::pin(async move {
            if self.unprepared == Some(app.name.as_str()) {
                let (command, problem) = ("make".to_owned(), "ended with status 2".to_owned());
                return Err(PrepareError::Command { command, problem });
            }
            Ok(PreparedApp { folder: app.source.clone(), autoloader: None, remarks: Vec::new() })
        })
    }

    fn launch<'a>(
        &'a self,
        deployment: &'a Deployment,
        terms: &'a Terms,
    ) -> Fut<'a, Result<Box<dyn Running>, LaunchError>> {
        Box::pin(async move {
            if let Some(why) = self.over() {
                return Err(LaunchError::Lost(why));
            }
            let number = {
                let mut launches = self.launches.lock().unwrap_or_else(PoisonError::into_inner);
                *launches += 1;
                *launches - 1
            };
            let launch = FakeLaunch { number, deployment, terms };
            let (name, lifetime) = (launch.unit().to_owned(), (self.script)(&launch));
            self.log.lock().unwrap_or_else(PoisonError::into_inner).push(format!("launch {name}"));
            tokio::time::sleep(lifetime.launch).await;
            if let Some(problem) = lifetime.launch_problem {
                return Err(LaunchError::Prepare(problem));
            }
            // Each launch has an address of its own, and each of its addresses a port.
            let [high, low] = (number as u16).to_be_bytes();
            let endpoint = |port| Endpoint::Tcp(SocketAddr::from((Ipv4Addr::new(127, 1, high, low), port)));
            let front = endpoint(FRONT_PORT);
            let others = deployment.addresses.iter().filter(|address| address.id != deployment.front);
            let others = (FRONT_PORT + 1..).zip(others).map(|(port, address)| (address.id.clone(), endpoint(port)));
            let endpoints: BTreeMap<AddressId, Endpoint> =
                others.chain([(deployment.front.clone(), front.clone())]).collect();
            let overridden = lifetime.php_settings.clone();
            let made = Arc::new(FakeDeployment {
                lifetime,
                launched: self.vantage.now(),
                group: PathBuf::from(format!("/fake/{number}")),
                loaded: Mutex::default(),
                probe: match deployment.probe.as_ref().map(|probe| &probe.source) {
                    Some(PhpProbeSource::Page { address, .. }) => endpoints.get(address).cloned(),
                    _ => None,
                }
                .unwrap_or(front.clone()),
                php: deployment.probe.as_ref().map(|probe| php(probe, sapi(&name), &overridden)),
            });
            for endpoint in endpoints.values() {
                self.fake.deployments().insert(endpoint.clone(), Arc::clone(&made));
            }
            let of_unit = |unit: &Unit| match &unit.ready {
                Ready::Port(address) => endpoints.get(address).cloned(),
                Ready::Request | Ready::Program(_) => None,
            };
            let targets = match self.node {
                Some(_) => deployment.units.iter().filter_map(of_unit).collect(),
                None => vec![front.clone()],
            };
            let units = deployment.units.iter().map(|unit| unit.id.clone()).collect();
            let parts = terms.parts.iter().map(|part| part.name.clone()).collect();
            let located = Located {
                vantage: Arc::clone(&self.vantage),
                front,
                endpoints,
                places: Places::new(),
                started: made.launched,
            };
            let running = FakeRunning {
                name,
                located,
                targets,
                made,
                units,
                parts,
                total: terms.total,
                fake: Arc::clone(&self.fake),
                log: Arc::clone(&self.log),
                is_stopped: false,
            };
            Ok(Box::new(running) as Box<dyn Running>)
        })
    }

    fn has_autoscaler(&self) -> bool {
        self.node.is_some()
    }

    fn autoscale<'a>(
        &'a self,
        deployment: &'a Deployment,
        terms: &'a Terms,
        order: &'a AutoscalerOrder,
    ) -> Fut<'a, Result<Box<dyn Autoscaled>, LaunchError>> {
        Box::pin(async move {
            let running = self.launch(deployment, terms).await?;
            Ok(Box::new(FakeAutoscaled::new(running, order.clone())) as Box<dyn Autoscaled>)
        })
    }
}

/// The port of the front.
const FRONT_PORT: u16 = 80;

/// A build of PHP that has every extension.
fn php_build() -> PhpBuild {
    let extensions = [
        "apcu",
        "ctype",
        "curl",
        "dom",
        "fileinfo",
        "filter",
        "gd",
        "iconv",
        "intl",
        "mbstring",
        "mysqli",
        "opcache",
        "openssl",
        "pcntl",
        "pdo",
        "pdo_mysql",
        "pdo_pgsql",
        "pdo_sqlite",
        "phar",
        "posix",
        "session",
        "simplexml",
        "sockets",
        "sqlite3",
        "tokenizer",
        "xml",
        "zip",
        "zlib",
    ];
    PhpBuild {
        version: "8.4.1".to_owned(),
        thread_safe: false,
        debug: false,
        libc: "glibc".to_owned(),
        configure: String::new(),
        extension_dir: PathBuf::from("/fake/extensions"),
        built_in: extensions.map(str::to_owned).to_vec(),
        loadable: Vec::new(),
        setup: None,
    }
}

/// The SAPI of what a unit of this name runs.
fn sapi(unit: &str) -> &'static str {
    match unit {
        "php-fpm" => "fpm-fcgi",
        "php" => "cli-server",
        "apache" => "apache2handler",
        _ => "cli",
    }
}

/// A PHP of this SAPI with all settings as they were asked for, but these: who tells them, and what.
fn php(probe: &PhpProbe, sapi: &str, overridden: &[(&str, &str)]) -> (PhpProbeSource, PhpReadBack) {
    let PhpAsked { version, thread_safe, extensions, mut settings } = probe.asked.clone();
    settings.extend(overridden.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let has_cache = settings.get("opcache.enable").is_some_and(|value| value == "1");
    let told = PhpReadBack {
        version,
        thread_safe,
        sapi: sapi.to_owned(),
        extensions: extensions.into_iter().map(|name| (name, "8.4.1".to_owned())).collect(),
        settings,
        opcache: has_cache,
        ..PhpReadBack::default()
    };
    (probe.source.clone(), told)
}
