//! N copies of a runtime's deployment behind a balancer, with the services before them.

use stampede_core::{
    App, Candidate, ComposeContext, Composed, Composer, Deployment, Install, Part, PlanError, Program, Programs,
    RenderContext, Requirement, ServiceKind, Topology, UnitId,
};

use crate::replica::Replica;
use crate::service::{self, Rendered};
use crate::{balancer, front};

/// Builds topologies of the balancers and services that there are.
#[derive(Clone, Copy, Debug)]
pub struct Topologies;

impl Topologies {
    /// The deployment of a candidate with what stands around it; `programs` are those that its runtime needs.
    ///
    /// # Errors
    ///
    /// When something that is needed is not among the programs, or it cannot be rendered.
    pub fn deployment(
        &self,
        candidate: &Candidate,
        programs: &Programs,
        context: &ComposeContext<'_>,
    ) -> Result<Deployment, PlanError> {
        let ComposeContext { topology, limits, load, .. } = context;
        let Candidate { runtime, app, tuning, .. } = candidate;
        let app = &self.connect(app, topology);
        let own = topology.replica_limits(limits);
        let one = runtime.deployment(&RenderContext { app, limits: &own, load, tuning, programs })?;
        Ok(self.compose(one, context)?.deployment)
    }
}

/// What one line says of a service.
pub fn service_title(kind: ServiceKind) -> &'static str {
    service::title(kind)
}

/// What a service needs.
pub fn service_requires(kind: ServiceKind) -> Vec<Requirement> {
    service::requires(kind)
}

impl Composer for Topologies {
    fn requires(&self, topology: &Topology) -> Vec<Requirement> {
        let balancer = topology.balancer.iter().map(|balancer| balancer::requirement(balancer.kind));
        let services = topology.services.iter().flat_map(service::requires_of);
        balancer.chain(services).collect()
    }

    fn connect(&self, app: &App, topology: &Topology) -> App {
        let mut app = app.clone();
        // PgBouncer comes first: what is in front of a database takes its place.
        let mut kinds: Vec<ServiceKind> = topology.services.iter().map(|used| used.kind).collect();
        kinds.sort_by_key(|kind| match kind {
            ServiceKind::Pgbouncer => 0,
            ServiceKind::Postgres => 1,
            ServiceKind::Mariadb => 2,
            ServiceKind::Redis => 3,
        });
        for (name, value) in kinds.into_iter().flat_map(service::environment) {
            app.env.entry(name.to_owned()).or_insert(value);
        }
        app
    }

    fn compose(&self, one: Deployment, cx: &ComposeContext<'_>) -> Result<Composed, PlanError> {
        let topology = cx.topology;
        if let Some(container) = &one.container {
            // Beside an image stand services that are images as well, each in a container of its own.
            let around = Topology { services: Vec::new(), ..topology.clone() };
            if !around.is_single() || topology.services.iter().any(|used| used.image.is_none()) {
                return Err(PlanError::Alone(container.image.clone()));
            }
            return beside(one, cx);
        }
        if topology.is_single() {
            return Ok(Composed { deployment: one, parts: Vec::new(), replicas: Vec::new() });
        }
        let mut built = Building { topology, addresses: Vec::new(), units: Vec::new(), parts: Vec::new() };
        built.add_services(cx)?;
        let mut replicas = Vec::new();
        let (preparation, probe);
        match &topology.balancer {
            None => {
                built.addresses.extend(one.addresses);
                built.add(Topology::replica_name(1), one.units);
                (preparation, probe) = (one.preparation, one.probe);
            }
            Some(chosen) => {
                for number in 1..=topology.replicas {
                    let replica = Replica::new(&one, number);
                    built.addresses.extend(replica.addresses());
                    built.add(Topology::replica_name(number), replica.units().collect());
                    replicas.push(replica.front());
                }
                let first = Replica::new(&one, 1);
                (preparation, probe) = (first.preparation(), first.probe());
                built.addresses.push(front::address());
                built.add(balancer::BALANCER.to_owned(), vec![balancer::unit(chosen, &replicas, cx)?]);
            }
        }
        let Building { topology: _, addresses, units, parts } = built;
        let deployment =
            Deployment { addresses, image: one.image, preparation, probe, ..front::deployment(&one.app, units) };
        Ok(Composed { deployment, parts, replicas })
    }

    fn ask(&self, service: ServiceKind, sql: &str, programs: &Programs) -> Result<Program, PlanError> {
        service::ask(service, sql, programs)
    }

    fn dumper(&self, service: ServiceKind) -> Vec<Requirement> {
        service::dumper(service).into_iter().collect()
    }

    fn dump(&self, service: ServiceKind, programs: &Programs) -> Result<Option<Program>, PlanError> {
        service::dump(service, programs)
    }

    fn version<'a>(&self, service: ServiceKind, programs: &'a Programs) -> Option<&'a str> {
        programs.get(service::server(service)).map(|found| found.version.as_str())
    }

    fn install(&self, service: ServiceKind) -> Install {
        service::install(service)
    }
}

/// Copies of an image, each of which takes its own part of the load, with the services before them: nothing stands before the copies, and the
/// front is the first of them.
fn beside(one: Deployment, cx: &ComposeContext<'_>) -> Result<Composed, PlanError> {
    let ComposeContext { topology, limits, .. } = cx;
    if topology.replicas == 1 && topology.services.is_empty() {
        return Ok(Composed { deployment: one, parts: Vec::new(), replicas: Vec::new() });
    }
    let mut built = Building { topology, addresses: one.addresses.clone(), units: Vec::new(), parts: Vec::new() };
    built.add_services(cx)?;
    let mut replicas = Vec::new();
    for number in 1..=topology.replicas {
        if topology.replicas == 1 {
            built.add(Topology::replica_name(number), one.units.clone());
        } else {
            let replica = Replica::new(&one, number);
            built.addresses.extend(replica.addresses());
            built.add(Topology::replica_name(number), replica.units().collect());
            replicas.push(replica.front());
        }
        if let Some(part) = built.parts.last_mut() {
            part.share = Some(topology.replica_limits(limits));
        }
    }
    let Building { topology: _, addresses, units, parts } = built;
    Ok(Composed { deployment: Deployment { addresses, units, ..one }, parts, replicas })
}

struct Building<'a> {
    topology: &'a Topology,
    addresses: Vec<stampede_core::Address>,
    units: Vec<stampede_core::Unit>,
    parts: Vec<Part>,
}

impl Building<'_> {
    fn add_services(&mut self, cx: &ComposeContext<'_>) -> Result<(), PlanError> {
        for used in &self.topology.services {
            let Rendered { unit, read_back } = service::render(used, cx)?;
            self.addresses.push(service::address(used.kind));
            self.add(used.kind.id().to_owned(), vec![unit]);
            if let Some(part) = self.parts.last_mut() {
                part.read_back = Some(read_back);
            }
        }
        Ok(())
    }

    fn add(&mut self, name: String, units: Vec<stampede_core::Unit>) {
        let share = self.topology.parts().into_iter().find(|part| part.name == name).and_then(|part| part.share);
        let ids: Vec<UnitId> = units.iter().map(|unit| unit.id.clone()).collect();
        self.parts.push(Part { name, share, units: ids, restart: self.topology.restart, read_back: None });
        self.units.extend(units);
    }
}
