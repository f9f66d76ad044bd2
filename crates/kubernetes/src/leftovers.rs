//! What is left in a namespace, by its label.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, ListParams};
use serde::de::DeserializeOwned;

use crate::cluster::Cluster;
use crate::cluster_error::ClusterError;
use crate::labels::{ROLE, RUN};
use crate::pod_state::PodState;
use crate::waiting::START;

/// How long a guardian may be on its way before it is taken for left over: longer than Stampede waits for it.
const ON_ITS_WAY: Duration = START.saturating_mul(2);

/// The objects of one load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Which load.
    pub run: String,
    /// Its jobs.
    pub jobs: Vec<String>,
    /// Its deployments.
    pub deployments: Vec<String>,
    /// Its services.
    pub services: Vec<String>,
    /// Its autoscalers.
    pub autoscalers: Vec<String>,
    /// Pods whose job or deployment is gone.
    pub pods: Vec<String>,
    /// Whether its guardian runs, or is on its way: it removes all of this when its lease ends.
    pub is_held: bool,
}

impl Leftover {
    /// All of it, by kind and name: `job stampede-abc`.
    pub fn objects(&self) -> Vec<String> {
        let Self { jobs, deployments, services, autoscalers, pods, .. } = self;
        let kinds = [
            ("job", jobs),
            ("deployment", deployments),
            ("service", services),
            ("horizontalpodautoscaler", autoscalers),
            ("pod", pods),
        ];
        kinds.iter().flat_map(|(kind, names)| names.iter().map(move |name| format!("{kind} {name}"))).collect()
    }
}

impl Cluster {
    /// What is in the namespace of loads, by its label.
    ///
    /// # Errors
    ///
    /// When it cannot be listed.
    pub async fn leftovers(&self, now: Timestamp) -> Result<Vec<Leftover>, ClusterError> {
        let labelled = ListParams::default().labels(RUN);
        let jobs = self.api::<Job>().list(&labelled).await.map_err(|error| self.error("list jobs", &error))?;
        let pods = self.api::<Pod>().list(&labelled).await.map_err(|error| self.error("list pods", &error))?;
        let deployments = self.of_runs::<Deployment>(&labelled, "list deployments").await?;
        let services = self.of_runs::<Service>(&labelled, "list services").await?;
        let autoscalers = self.of_runs::<HorizontalPodAutoscaler>(&labelled, "list horizontalpodautoscalers").await?;
        let mut runs = sorted_out(&jobs.items, &deployments, &pods.items, now);
        for (metadata, is_service) in services
            .iter()
            .map(|service| (&service.metadata, true))
            .chain(autoscalers.iter().map(|autoscaler| (&autoscaler.metadata, false)))
        {
            let run = label(metadata, RUN);
            let known = runs.iter_mut().position(|leftover| leftover.run == run);
            let place = known.unwrap_or_else(|| {
                runs.push(nothing(run));
                runs.len() - 1
            });
            let names = if is_service { &mut runs[place].services } else { &mut runs[place].autoscalers };
            names.extend(metadata.name.clone());
        }
        Ok(runs)
    }

    /// Those of a kind that runs have made.
    async fn of_runs<K>(&self, labelled: &ListParams, verb: &str) -> Result<Vec<K>, ClusterError>
    where
        K: kube::Resource<Scope = NamespaceResourceScope> + Clone + fmt::Debug + DeserializeOwned,
        K::DynamicType: Default,
    {
        match self.api::<K>().list(labelled).await {
            Ok(listed) => Ok(listed.items),
            // Who may not see them has made none.
            Err(kube::Error::Api(status)) if status.code == 403 => Ok(Vec::new()),
            Err(error) => Err(self.error(verb, &error)),
        }
    }

    /// Removes it.
    ///
    /// # Errors
    ///
    /// When one of its objects cannot be removed; what is gone already is fine.
    pub async fn remove(&self, leftover: &Leftover) -> Result<(), ClusterError> {
        for job in &leftover.jobs {
            let removed = self.api::<Job>().delete(job, &DeleteParams::background()).await.map(drop);
            self.gone(removed, &format!("remove the job {job}"))?;
        }
        for autoscaler in &leftover.autoscalers {
            let api = self.api::<HorizontalPodAutoscaler>();
            let removed = api.delete(autoscaler, &DeleteParams::background()).await.map(drop);
            self.gone(removed, &format!("remove the horizontalpodautoscaler {autoscaler}"))?;
        }
        for service in &leftover.services {
            let removed = self.api::<Service>().delete(service, &DeleteParams::background()).await.map(drop);
            self.gone(removed, &format!("remove the service {service}"))?;
        }
        for deployment in &leftover.deployments {
            let removed = self.api::<Deployment>().delete(deployment, &DeleteParams::background()).await.map(drop);
            self.gone(removed, &format!("remove the deployment {deployment}"))?;
        }
        for pod in &leftover.pods {
            let removed = self.api::<Pod>().delete(pod, &DeleteParams::background()).await.map(drop);
            self.gone(removed, &format!("remove the pod {pod}"))?;
        }
        Ok(())
    }

    /// That an object was not there is no error.
    pub(crate) fn gone(&self, removed: Result<(), kube::Error>, verb: &str) -> Result<(), ClusterError> {
        match removed {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            removed => removed.map_err(|error| self.error(verb, &error)),
        }
    }
}

fn label<'a>(metadata: &'a ObjectMeta, name: &str) -> &'a str {
    metadata.labels.as_ref().and_then(|labels| labels.get(name)).map_or("", String::as_str)
}

/// A run of which nothing is known to be left.
fn nothing(run: &str) -> Leftover {
    Leftover {
        run: run.to_owned(),
        jobs: Vec::new(),
        deployments: Vec::new(),
        services: Vec::new(),
        autoscalers: Vec::new(),
        pods: Vec::new(),
        is_held: false,
    }
}

/// The loads that these objects are of, in the order of their names.
fn sorted_out(jobs: &[Job], deployments: &[Deployment], pods: &[Pod], now: Timestamp) -> Vec<Leftover> {
    let mut runs: BTreeMap<&str, Leftover> = BTreeMap::new();
    for job in jobs {
        let run = label(&job.metadata, RUN);
        let leftover = runs.entry(run).or_insert_with(|| nothing(run));
        leftover.jobs.extend(job.metadata.name.clone());
        let created = job.metadata.creation_timestamp.as_ref().map(|created| created.0);
        let is_new = created
            .is_some_and(|created| Duration::try_from(now.duration_since(created)).unwrap_or_default() < ON_ITS_WAY);
        leftover.is_held |= label(&job.metadata, ROLE) == "guardian" && is_new;
    }
    for deployment in deployments {
        let run = label(&deployment.metadata, RUN);
        let leftover = runs.entry(run).or_insert_with(|| nothing(run));
        leftover.deployments.extend(deployment.metadata.name.clone());
    }
    for pod in pods {
        let run = label(&pod.metadata, RUN);
        let leftover = runs.entry(run).or_insert_with(|| nothing(run));
        let owners = || pod.metadata.owner_references.iter().flatten();
        let has_job = owners().filter(|owner| owner.kind == "Job").any(|owner| leftover.jobs.contains(&owner.name));
        // Between a deployment and its pods is a set of replicas, which is called after it.
        let is_of = |set: &str| {
            leftover.deployments.iter().any(|name| set.strip_prefix(name).is_some_and(|rest| rest.starts_with('-')))
        };
        let has_deployment = owners().filter(|owner| owner.kind == "ReplicaSet").any(|owner| is_of(&owner.name));
        let runs_there = matches!(PodState::of(pod), PodState::Running { .. });
        leftover.is_held |= has_job && label(&pod.metadata, ROLE) == "guardian" && runs_there;
        if !has_job && !has_deployment {
            leftover.pods.extend(pod.metadata.name.clone());
        }
    }
    runs.into_values().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_has_a_guardian_is_held() {
        let now: Timestamp = "2026-11-26T10:00:00Z".parse().unwrap();
        let job = |run: &str, role: &str, created: &str| {
            json!({"metadata": {"name": format!("{run}-{role}"), "creationTimestamp": created,
                "labels": {RUN: run, ROLE: role}}})
        };
        let pod = |run: &str, role: &str, state: Value| {
            json!({"metadata": {"name": format!("{run}-{role}-x"), "labels": {RUN: run, ROLE: role},
                "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": format!("{run}-{role}"), "uid": ""}]},
                "status": {"phase": "Running", "containerStatuses": [{"name": "s", "image": "", "imageID": "",
                    "ready": true, "restartCount": 0, "state": state}]}})
        };
        let replica = |run: &str, set: &str| {
            json!({"metadata": {"name": format!("{set}-x"), "labels": {RUN: run, ROLE: "server"},
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": set, "uid": ""}]}})
        };
        let (old, new) = ("2026-11-26T09:00:00Z", "2026-11-26T09:59:00Z");
        let running = || json!({"running": {}});
        let jobs: Vec<Job> = serde_json::from_value(json!([
            job("alive", "guardian", old),
            job("alive", "generator", old),
            job("begun", "guardian", new),
            job("stuck", "guardian", old),
            job("orphans", "generator", old)
        ]))
        .unwrap();
        let pods: Vec<Pod> = serde_json::from_value(json!([
            pod("alive", "guardian", running()),
            pod("stuck", "guardian", json!({"waiting": {"reason": "ImagePullBackOff"}})),
            pod("orphans", "generator", running()),
            pod("pod", "generator", running()),
            replica("served", "served-1-6d5f"),
            // Of a deployment that is gone.
            replica("served", "served-12-6d5f")
        ]))
        .unwrap();
        let deployments: Vec<Deployment> = serde_json::from_value(json!([
            {"metadata": {"name": "served-1", "labels": {RUN: "served", ROLE: "server"}}}
        ]))
        .unwrap();
        let found: Vec<_> = sorted_out(&jobs, &deployments, &pods, now)
            .into_iter()
            .map(|left| (left.run, left.jobs.len(), left.deployments.len(), left.pods.len(), left.is_held))
            .collect();
        let expected = [
            ("alive", 2, 0, 0, true),
            ("begun", 1, 0, 0, true),
            ("orphans", 1, 0, 0, false),
            ("pod", 0, 0, 1, false),
            ("served", 0, 1, 1, false),
            ("stuck", 1, 0, 0, false),
        ];
        assert_eq!(
            found,
            expected.map(|(run, jobs, deployments, pods, held)| (run.to_owned(), jobs, deployments, pods, held))
        );
    }
}
