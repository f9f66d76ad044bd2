//! The services of a study, as they were typed: the one of the command line, and others that differ from it.

use std::collections::BTreeSet;
use std::time::Duration;

use stampede_core::{Candidate, CaseId, Role};
use stampede_scale::{HpaParameters, Policy, Scaling};

use super::{InstancesAsked, PlannedService, ServiceAsked, read_service};
use crate::catalogue::Catalogue;
use crate::compare::CompareFlags;
use crate::flags::DeploymentFlags;
use crate::machine_size::MachineSize;
use crate::mistake::{Gathered, Mistake, Mistakes};
use crate::platform::KUBERNETES;
use crate::service::{
    CONCURRENCY, ServiceFlags, check_service, connected_instances, fewer_at_once, read_connections, read_count,
    read_policy, read_price,
};

/// A service, unread. `None` takes the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TypedService {
    /// What its case is called, where that was said.
    pub(super) name: Option<String>,
    pub(super) runtime: String,
    pub(super) deployment: DeploymentFlags,
    pub(super) service: ServiceFlags,
}

impl TypedService {
    /// The same, changed as `cpus=0.167,concurrency=1` says.
    pub(super) fn changed(&self, text: &str) -> Result<Self, Mistakes> {
        let place = format!("--against {text}");
        let mut changed = Self { name: None, ..self.clone() };
        for part in text.split(',') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let value = value.trim();
            let field = match key.trim() {
                "runtime" => {
                    changed.runtime = value.to_owned();
                    continue;
                }
                "name" => &mut changed.name,
                "cpus" => &mut changed.deployment.cpus,
                "memory" => &mut changed.deployment.memory,
                "concurrency" => &mut changed.service.concurrency,
                "min-instances" => &mut changed.service.min_instances,
                "max-instances" => &mut changed.service.max_instances,
                "policy" => &mut changed.service.policy,
                other => {
                    let problem = format!(
                        "changes {other:?}, which is none of runtime, cpus, memory, concurrency, min-instances, max-instances, \
                         policy, name"
                    );
                    let fix = "for example --against cpus=0.167,memory=256Mi,concurrency=1";
                    return Err(Mistakes::one(place, problem, fix));
                }
            };
            if value.is_empty() {
                return Err(Mistakes::one(place, format!("has no value for {key}"), format!("write {key}=VALUE")));
            }
            *field = Some(value.to_owned());
        }
        Ok(changed)
    }
}

/// What all services of a study have in common.
pub(super) struct Common<'a> {
    pub(super) flags: CompareFlags,
    pub(super) total_cpus: Option<u32>,
    pub(super) queue_wait: Option<Duration>,
    pub(super) request_timeout: Duration,
    /// By what it is paid for, unread.
    pub(super) price: Option<String>,
    pub(super) machine: MachineSize,
    pub(super) catalogue: &'a dyn Catalogue,
}

impl Common<'_> {
    /// In a cluster the autoscaler is the cluster's own.
    fn with_default(&self, service: &ServiceFlags) -> ServiceFlags {
        let is_cluster = self.flags.platform.platform.as_deref() == Some(KUBERNETES);
        let own = Policy::Hpa(HpaParameters::default());
        let policy = service.policy.clone().or_else(|| is_cluster.then(|| own.name().to_owned()));
        ServiceFlags { policy, ..service.clone() }
    }

    /// Reads a service with these settings, with what is told before it is measured.
    fn read(&self, typed: &TypedService, set: Vec<String>) -> Result<(PlannedService, Vec<String>), Mistakes> {
        let TypedService { name: _, runtime, deployment, service } = typed;
        let ServiceFlags { concurrency, min_instances, max_instances, max_connections, .. } = service;
        let mut mistakes = Gathered::default();
        let policy = read_policy(&self.with_default(service), &mut mistakes);
        let price = read_price(self.price.as_deref(), &policy, policy.allocation(), &mut mistakes);
        let connections = read_connections(max_connections.as_deref(), &mut mistakes);
        let mut count = |flag, typed: Option<&str>, default| read_count(flag, typed, default, &mut mistakes);
        let asked = ServiceAsked {
            concurrency: count("--concurrency", concurrency.as_deref(), CONCURRENCY),
            instances: InstancesAsked {
                least: count("--min-instances", min_instances.as_deref(), policy.fewest()),
                most: max_instances.as_deref().map(|typed| count("--max-instances", Some(typed), 1)),
                total_cpus: self.total_cpus,
            },
            policy,
            queue_wait: self.queue_wait,
            request_timeout: self.request_timeout,
            price,
        };
        let deployment = DeploymentFlags { set, ..deployment.clone() };
        let flags = CompareFlags { deployment, ..self.flags.clone() };
        let mut read = read_service(runtime, flags, asked, self.machine, self.catalogue);
        let connected = read.as_mut().ok().and_then(|service| hold(service, connections, &mut mistakes));
        if let (Ok(PlannedService { scaling, .. }), true) = (&read, mistakes.is_empty()) {
            check_service(&policy, &scaling.service, &mut mistakes);
        }
        let service = mistakes.finish(read)?;
        let fewer = concurrency.as_ref().and_then(|_| fewer_at_once(&policy, &service.scaling.service));
        Ok((service, fewer.into_iter().chain(connected).collect()))
    }

    /// Reads all services of a study, with what is told before they are measured. Several have names that say what they are, unless
    /// they were given one.
    pub(super) fn read_all(&self, typed: &[TypedService]) -> Result<(Vec<PlannedService>, Vec<String>), Mistakes> {
        let (mut services, mut warnings, mut mistakes) = (Vec::new(), Vec::new(), Vec::new());
        for (place, service) in typed.iter().enumerate() {
            match self.read(service, set_of(place, typed)) {
                Ok((service, warning)) => {
                    services.push(service);
                    warnings.extend(warning);
                }
                Err(Mistakes(told)) => {
                    mistakes.extend(told.into_iter().filter(|one| !mistakes.contains(one)).collect::<Vec<_>>());
                }
            }
        }
        if !mistakes.is_empty() {
            return Err(Mistakes(mistakes));
        }
        if services.len() > 1 {
            name_all(typed, &mut services)?;
        }
        Ok((services, warnings))
    }
}

/// Leaves a service as many instances as a database has connections for, where their workers are known.
fn hold(service: &mut PlannedService, connections: Option<u32>, mistakes: &mut Gathered) -> Option<String> {
    let PlannedService { plan, scaling } = service;
    let Candidate { runtime, tuning, .. } = plan.candidates.first()?;
    let tuning = tuning.clone().with_roles(runtime.tunables());
    let workers =
        tuning.of_role(Role::PoolSize).filter_map(|(_, value)| value.parse().ok()).max().filter(|pool| *pool > 0)?;
    let own = &mut scaling.service;
    let (most, told) = connected_instances(own.max_instances, own.min_instances, workers, connections, mistakes);
    own.max_instances = most;
    told
}

/// The settings of a service: those for its runtime. Those for no service's runtime are told as mistakes of the first.
fn set_of(place: usize, typed: &[TypedService]) -> Vec<String> {
    let is_for = |set: &String, typed: &TypedService| set.starts_with(&format!("{}.", typed.runtime));
    let of_none = |set: &String| place == 0 && !typed.iter().any(|typed| is_for(set, typed));
    let of_all = typed[place].deployment.set.iter();
    of_all.filter(|set| is_for(set, &typed[place]) || of_none(set)).cloned().collect()
}

/// Names cases that have no name by what they are: `apache-mod-php-0.167x6-c1` is 6 instances of 0.167 CPU with 1 request each.
fn name_all(typed: &[TypedService], services: &mut [PlannedService]) -> Result<(), Mistakes> {
    let mut given = BTreeSet::new();
    let twice: Vec<&String> =
        typed.iter().filter_map(|typed| typed.name.as_ref()).filter(|name| !given.insert(*name)).collect();
    if !twice.is_empty() {
        let mistake = |name: &&String| {
            let place = format!("--against name={name}");
            Mistake { place, problem: "is the name of another service".to_owned(), fix: "choose another".to_owned() }
        };
        return Err(Mistakes(twice.iter().map(mistake).collect()));
    }
    let mut names: Vec<String> = Vec::new();
    for (typed, PlannedService { plan, scaling }) in typed.iter().zip(services) {
        let Scaling { service, policy, .. } = scaling;
        let own = typed.name.clone().unwrap_or_else(|| {
            let (cpus, most, given) = (service.cpus, service.max_instances, policy.concurrency(service));
            format!("{}-{cpus}x{most}-c{given}", typed.runtime)
        });
        let mut numbered = (2..).map(|number| format!("{own}-{number}"));
        let mut name = own.clone();
        // One that was typed stays as it is.
        while names.contains(&name) || (typed.name.is_none() && given.contains(&name)) {
            name = numbered.next().unwrap_or_default();
        }
        if let [candidate] = plan.candidates.as_mut_slice() {
            candidate.id = CaseId::new(&name);
        }
        names.push(name);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_given_once() {
        let named = TypedService { name: Some("small".to_owned()), ..TypedService::default() };
        let said = name_all(&[named.clone(), TypedService::default(), named], &mut []).unwrap_err();
        assert_eq!(said.to_string(), "--against name=small is the name of another service; choose another");
    }

    #[test]
    fn a_service_is_the_first_one_changed() {
        let first = TypedService {
            name: Some("large".to_owned()),
            runtime: "apache-mod-php".to_owned(),
            deployment: DeploymentFlags { cpus: Some("1".to_owned()), ..DeploymentFlags::default() },
            service: ServiceFlags { concurrency: Some("80".to_owned()), ..ServiceFlags::default() },
        };
        let small = first.changed("cpus=0.167, concurrency=1,max-instances=6").unwrap();
        let expected = TypedService {
            deployment: DeploymentFlags { cpus: Some("0.167".to_owned()), ..DeploymentFlags::default() },
            service: ServiceFlags {
                concurrency: Some("1".to_owned()),
                max_instances: Some("6".to_owned()),
                ..ServiceFlags::default()
            },
            name: None,
            ..first.clone()
        };
        assert_eq!(small, expected);
        for (text, told) in [("cpu=1", "changes \"cpu\""), ("cpus", "no value for cpus"), ("", "changes \"\"")] {
            let problem = first.changed(text).unwrap_err().to_string();
            assert!(problem.contains(told), "{text}: {problem}");
        }
        assert_eq!(first.changed("runtime=nginx-fpm,name=other").unwrap().runtime, "nginx-fpm");
    }
}
