//! The services of a study, as they were typed: the one of the command line, and others that differ from it.

use std::collections::BTreeSet;
use std::time::Duration;

use stampede_conduct::PlannedService;
use stampede_core::{CaseId, Limits};
use stampede_harness::Scaling;
use stampede_plan::{CompareFlags, DeploymentFlags, InstancesAsked, MachineSize, read_scale};
use stampede_scale::{Price, Service};

use crate::catalogue::BuiltIn;
use crate::forecast::question::{CONCURRENCY, Flags};
use crate::scale::args::ServiceArgs;

/// A service, unread. `None` takes the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TypedService {
    /// What its case is called, where that was said.
    pub(super) name: Option<String>,
    pub(super) runtime: String,
    pub(super) deployment: DeploymentFlags,
    pub(super) service: ServiceArgs,
}

impl TypedService {
    /// The same, changed as `cpus=0.167,concurrency=1` says.
    pub(super) fn changed(&self, text: &str) -> Result<Self, String> {
        let mut changed = Self { name: None, ..self.clone() };
        for part in text.split(',') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let value = value.trim();
            let place = match key.trim() {
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
                    return Err(format!(
                        "--against {text} changes {other:?}, which is none of runtime, cpus, memory, concurrency, min-instances, \
                         max-instances, policy, name; for example --against cpus=0.167,memory=256Mi,concurrency=1"
                    ));
                }
            };
            if value.is_empty() {
                return Err(format!("--against {text} has no value for {key}; write {key}=VALUE"));
            }
            *place = Some(value.to_owned());
        }
        Ok(changed)
    }
}

/// What all services of a study have in common.
pub(super) struct Common {
    pub(super) flags: CompareFlags,
    pub(super) total_cpus: Option<u32>,
    pub(super) queue_wait: Option<Duration>,
    pub(super) request_timeout: Duration,
    pub(super) price: &'static Price,
    pub(super) machine: MachineSize,
}

impl Common {
    /// Reads a service with these settings, with what is told before it is measured; all that is wrong with it where something is.
    fn read(&self, typed: &TypedService, set: Vec<String>) -> Result<(PlannedService, Option<String>), Vec<String>> {
        let TypedService { name: _, runtime, deployment, service } = typed;
        let ServiceArgs { concurrency, min_instances, max_instances, policy } = service;
        let mut flags = Flags::default();
        let asked = flags.count("--concurrency", concurrency.as_ref(), CONCURRENCY);
        let least = flags.count("--min-instances", min_instances.as_ref(), 0);
        let most = max_instances.as_ref().map(|text| flags.count("--max-instances", Some(text), 1));
        let (policy, policy_name) = flags.policy(policy.as_deref());
        let service = |limits: &Limits, most: u32| Service {
            request_timeout: self.request_timeout,
            ..Service::on_demand(limits.cpus, limits.memory, asked, least, most)
        };
        let given = |limits: &Limits| policy.concurrency(&service(limits, 1));
        let deployment = DeploymentFlags { set, ..deployment.clone() };
        let of_runtime = CompareFlags { deployment, ..self.flags.clone() };
        let instances = InstancesAsked { least, most, total_cpus: self.total_cpus };
        let plan = read_scale(runtime, of_runtime, &given, instances, self.machine, &BuiltIn);
        let (plan, most) = match plan {
            Ok(plan) if flags.problems.is_empty() => plan,
            plan => {
                flags.problems.extend(plan.err().map(|mistakes| mistakes.to_string()));
                return Err(flags.problems);
            }
        };
        let service = service(&plan.limits, most);
        let problems: Vec<String> = policy.problems(&service).iter().map(ToString::to_string).collect();
        if !problems.is_empty() {
            return Err(problems);
        }
        let given = policy.concurrency(&service);
        let warning = (concurrency.is_some() && given != asked).then(|| {
            format!(
                "--concurrency {asked} is {given} on {} CPU: {policy_name} gives an instance below 1 CPU one request at a time",
                plan.limits.cpus
            )
        });
        let Self { queue_wait, price, total_cpus, .. } = *self;
        let scaling = Scaling { service, policy, policy_name, queue_wait, price, total_cpus };
        Ok((PlannedService { plan, scaling }, warning))
    }

    /// Reads all services of a study, with what is told before they are measured. Several have names that say what they are, unless
    /// they were given one.
    pub(super) fn read_all(&self, typed: &[TypedService]) -> Result<(Vec<PlannedService>, Vec<String>), Vec<String>> {
        let (mut services, mut warnings, mut problems) = (Vec::new(), Vec::new(), Vec::new());
        for (place, service) in typed.iter().enumerate() {
            match self.read(service, set_of(place, typed)) {
                Ok((service, warning)) => {
                    services.push(service);
                    warnings.extend(warning);
                }
                Err(told) => {
                    problems.extend(told.into_iter().filter(|problem| !problems.contains(problem)).collect::<Vec<_>>())
                }
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        if services.len() > 1 {
            name_all(typed, &mut services)?;
        }
        Ok((services, warnings))
    }
}

/// The settings of a service: those for its runtime. Those for no service's runtime are told as mistakes of the first.
fn set_of(place: usize, typed: &[TypedService]) -> Vec<String> {
    let is_for = |set: &String, typed: &TypedService| set.starts_with(&format!("{}.", typed.runtime));
    let of_none = |set: &String| place == 0 && !typed.iter().any(|typed| is_for(set, typed));
    let of_all = typed[place].deployment.set.iter();
    of_all.filter(|set| is_for(set, &typed[place]) || of_none(set)).cloned().collect()
}

/// Names cases that have no name by what they are: `apache-mod-php-0.167x6-c1` is 6 instances of 0.167 CPU with 1 request each.
fn name_all(typed: &[TypedService], services: &mut [PlannedService]) -> Result<(), Vec<String>> {
    let mut given = BTreeSet::new();
    let twice: Vec<&String> =
        typed.iter().filter_map(|typed| typed.name.as_ref()).filter(|name| !given.insert(*name)).collect();
    if !twice.is_empty() {
        return Err(twice.iter().map(|name| format!("--against name={name} is the name of another service")).collect());
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
        assert_eq!(said, ["--against name=small is the name of another service"]);
    }

    #[test]
    fn a_service_is_the_first_one_changed() {
        let first = TypedService {
            name: Some("large".to_owned()),
            runtime: "apache-mod-php".to_owned(),
            deployment: DeploymentFlags { cpus: Some("1".to_owned()), ..DeploymentFlags::default() },
            service: ServiceArgs { concurrency: Some("80".to_owned()), ..ServiceArgs::default() },
        };
        let small = first.changed("cpus=0.167, concurrency=1,max-instances=6").unwrap();
        let expected = TypedService {
            deployment: DeploymentFlags { cpus: Some("0.167".to_owned()), ..DeploymentFlags::default() },
            service: ServiceArgs {
                concurrency: Some("1".to_owned()),
                max_instances: Some("6".to_owned()),
                ..ServiceArgs::default()
            },
            name: None,
            ..first.clone()
        };
        assert_eq!(small, expected);
        for (text, told) in [("cpu=1", "changes \"cpu\""), ("cpus", "no value for cpus"), ("", "changes \"\"")] {
            let problem = first.changed(text).unwrap_err();
            assert!(problem.contains(told), "{text}: {problem}");
        }
        assert_eq!(first.changed("runtime=nginx-fpm,name=other").unwrap().runtime, "nginx-fpm");
    }
}
