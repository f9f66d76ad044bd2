//! What the commands that prepare an application write into its database: migrations and seeders.
//!
//! The database beside the application is started once, the commands run against it, and what it then holds is what each trial begins
//! with.

use std::collections::BTreeMap;
use std::time::Duration;

use stampede_core::{
    Address, AddressId, AddressKind, App, ComposeContext, Composed, Composer, Deployment, InitScript, Programs,
    Service, ServiceKind, Terms, Topology, with_causes,
};
use stampede_seam::{Platform, PreparedApp, Running};

/// How long a dump may take: as long as a command that prepares the application.
const DUMP_TIME: Duration = Duration::from_secs(600);

/// The name of what was written, in messages of the service's client.
const NAME: &str = "prepared.sql";

/// Services with what each begins with.
pub(crate) type Inits = BTreeMap<ServiceKind, InitScript>;

/// What a database is prepared in.
#[derive(Clone, Copy)]
pub(crate) struct Databases<'a> {
    pub(crate) platform: &'a dyn Platform,
    pub(crate) composer: &'a dyn Composer,
    /// What was found for the services and for what dumps them.
    pub(crate) programs: &'a Programs,
    /// Its topology, limits, load and what its services begin with.
    pub(crate) context: ComposeContext<'a>,
}

/// The databases of a topology, where an application's commands can reach them: on this machine, not from the containers that
/// applications are prepared in.
pub(crate) fn reached(app: &App, topology: &Topology, platform: &dyn Platform) -> Option<Topology> {
    let services = topology.services.iter().filter(|service| service.kind.holds_rows());
    let services: Vec<Service> = services.map(|service| Service { share: None, ..service.clone() }).collect();
    let may = platform.id() == "local" && !app.prepare.is_empty() && !services.is_empty();
    may.then(|| Topology { services, ..Topology::default() })
}

impl Databases<'_> {
    /// Runs the commands of an application beside its databases: its copy, and what they begin with now.
    ///
    /// # Errors
    ///
    /// What stood in the way.
    pub(crate) async fn prepare(self, app: &App) -> Result<(PreparedApp, Inits), String> {
        let Self { platform, composer, programs: _, context } = self;
        let front = AddressId::new("front");
        let bare = Deployment {
            addresses: vec![Address { id: front.clone(), kind: AddressKind::Tcp }],
            front,
            app: app.source.clone(),
            container: None,
            image: None,
            preparation: None,
            probe: None,
            units: Vec::new(),
        };
        let Composed { deployment, .. } = composer.compose(bare, &context).map_err(|error| with_causes(&error))?;
        let terms = Terms::of(*context.limits);
        let running = platform.launch(&deployment, &terms).await.map_err(|error| with_causes(&error))?;
        let filled = self.fill(&*running, app).await;
        let stopped = running.stop().await;
        let (copy, dumps) = filled?;
        stopped.map_err(|error| with_causes(&error))?;
        let mut inits = context.init.clone();
        for (kind, before, after) in dumps {
            // What nobody wrote to begins with the script that it was given.
            if before != after {
                inits.insert(kind, InitScript { name: NAME.to_owned(), sql: after, changes: Vec::new() });
            }
        }
        Ok((copy, inits))
    }

    async fn fill(
        self,
        running: &dyn Running,
        app: &App,
    ) -> Result<(PreparedApp, Vec<(ServiceKind, String, String)>), String> {
        let before = self.dumps(running).await?;
        let mut connected = self.composer.connect(app, self.context.topology);
        for value in connected.env.values_mut() {
            // Places of what serves are none of this deployment: the commands see them as they were written.
            if let Ok(resolved) = running.resolve(value) {
                *value = resolved;
            }
        }
        let copy = self.platform.prepare(&connected).await.map_err(|error| with_causes(&error))?;
        let after = self.dumps(running).await?;
        let pairs = before.into_iter().zip(after).map(|((kind, before), (_, after))| (kind, before, after));
        Ok((copy, pairs.collect()))
    }

    async fn dumps(self, running: &dyn Running) -> Result<Vec<(ServiceKind, String)>, String> {
        let mut dumps = Vec::new();
        for service in &self.context.topology.services {
            let dump = self.composer.dump(service.kind, self.programs).map_err(|error| with_causes(&error))?;
            let Some(dump) = dump else { continue };
            let said = running.ask(&dump, DUMP_TIME).await;
            let said = said.map_err(|problem| format!("{} cannot be dumped: {problem}", service.kind.id()))?;
            dumps.push((service.kind, without_tokens(&said)));
        }
        Ok(dumps)
    }
}

/// A dump of PostgreSQL without the words by which each one is guarded, which are others every time.
/// <https://www.postgresql.org/docs/current/app-psql.html#APP-PSQL-META-COMMAND-RESTRICT>
fn without_tokens(dump: &str) -> String {
    let is_token = |line: &&str| line.starts_with("\\restrict ") || line.starts_with("\\unrestrict ");
    dump.split_inclusive('\n').filter(|line| !is_token(line)).collect()
}
