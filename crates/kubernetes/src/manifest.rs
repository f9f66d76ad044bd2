//! The objects of a load: a guardian, which owns everything else, and generators. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{
    Affinity, Capabilities, Container, PodAffinityTerm, PodAntiAffinity, PodSecurityContext, PodSpec, PodTemplateSpec,
    ResourceRequirements, SeccompProfile, SecurityContext, TopologySpreadConstraint, WeightedPodAffinityTerm,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference};

use crate::guardian::LEASE;
use crate::labels::{PodRole, annotations, labels};

/// The program in the image.
pub(crate) const PROGRAM: &str = "stampede";

/// The one container of a pod.
pub(crate) const CONTAINER: &str = "stampede";

/// Who runs it: the user of the image that the repository's Dockerfile describes. A number, since a kubelet cannot see whether a name is
/// root.
pub(crate) const USER: i64 = 10001;

/// What the guardian may use: it passes on a byte now and then.
const GUARDIAN_CPU: &str = "50m";
const GUARDIAN_MEMORY: &str = "64Mi";

/// Memory of a generator: 10,000 connections with their buffers and histograms take a tenth of it.
const GENERATOR_MEMORY: &str = "1Gi";

/// How often a guardian that was evicted is started again.
const GUARDIAN_RETRIES: i32 = 6;

/// A failed generator makes the load invalid; another one in its place would be of no use.
const GENERATOR_RETRIES: i32 = 0;

/// What the label of a node's name is.
const NODE: &str = "kubernetes.io/hostname";

pub(crate) fn guardian_name(run: &str) -> String {
    format!("stampede-{run}")
}

pub(crate) fn generators_name(run: &str) -> String {
    format!("{}-generators", guardian_name(run))
}

/// The Job that owns everything else. It ends with its lease, at the latest after `longest`, and is removed then.
pub(crate) fn guardian(run: &str, image: &str, longest: Duration) -> Job {
    let lease = format!("--lease={}", LEASE.as_secs());
    let resources = resources(GUARDIAN_CPU, GUARDIAN_MEMORY);
    let pod = pod(run, PodRole::Guardian, container(image, &["__guardian", "hold", run, &lease], resources));
    let spec = JobSpec {
        active_deadline_seconds: Some(seconds(longest)),
        backoff_limit: Some(GUARDIAN_RETRIES),
        ttl_seconds_after_finished: Some(0),
        template: pod,
        ..JobSpec::default()
    };
    job(&guardian_name(run), labels(run, PodRole::Guardian), spec)
}

/// How pods keep away from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Apart {
    /// They wait for another node.
    Always,
    /// They are on another node where the scheduler finds that better.
    Rather,
}

/// What generators are to be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GeneratorJob<'a> {
    pub(crate) run: &'a str,
    pub(crate) image: &'a str,
    pub(crate) count: u32,
    /// Processors of each.
    pub(crate) cpus: f64,
    /// Pods whose nodes are avoided: those that are loaded.
    pub(crate) avoid: &'a BTreeMap<String, String>,
    /// Whether they are never beside those, or where there are other nodes.
    pub(crate) apart: Apart,
    /// The guardian's uid.
    pub(crate) owner: &'a str,
    /// The last bound, where the cluster removes nothing.
    pub(crate) longest: Duration,
}

/// The Job of generators, owned by the guardian's.
pub(crate) fn generators(order: &GeneratorJob<'_>) -> Job {
    let GeneratorJob { run, image, count, cpus, avoid, apart, owner, longest } = order;
    let resources = resources(&cpus.to_string(), GENERATOR_MEMORY);
    let mut pod = pod(run, PodRole::Generator, container(image, &["__guardian", "wait"], resources));
    if let Some(spec) = &mut pod.spec {
        spec.topology_spread_constraints = Some(vec![TopologySpreadConstraint {
            max_skew: 1,
            topology_key: NODE.to_owned(),
            when_unsatisfiable: "ScheduleAnyway".to_owned(),
            label_selector: Some(selects(&labels(run, PodRole::Generator))),
            ..TopologySpreadConstraint::default()
        }]);
        spec.affinity = (!avoid.is_empty()).then(|| away_from(avoid, *apart));
    }
    let count = i32::try_from(*count).unwrap_or(i32::MAX);
    let spec = JobSpec {
        completion_mode: Some("Indexed".to_owned()),
        completions: Some(count),
        parallelism: Some(count),
        backoff_limit: Some(GENERATOR_RETRIES),
        active_deadline_seconds: Some(seconds(*longest)),
        template: pod,
        ..JobSpec::default()
    };
    let mut job = job(&generators_name(run), labels(run, PodRole::Generator), spec);
    job.metadata.owner_references = Some(vec![owned_by(run, owner)]);
    job
}

/// That an object goes with the guardian of this uid, and does not keep that from being removed.
pub(crate) fn owned_by(run: &str, owner: &str) -> OwnerReference {
    OwnerReference {
        api_version: "batch/v1".to_owned(),
        kind: "Job".to_owned(),
        name: guardian_name(run),
        uid: owner.to_owned(),
        controller: Some(false),
        block_owner_deletion: Some(false),
    }
}

fn seconds(time: Duration) -> i64 {
    i64::try_from(time.as_secs()).unwrap_or(i64::MAX).max(1)
}

fn job(name: &str, labels: BTreeMap<String, String>, spec: JobSpec) -> Job {
    let metadata = ObjectMeta { name: Some(name.to_owned()), labels: Some(labels), ..ObjectMeta::default() };
    Job { metadata, spec: Some(spec), status: None }
}

/// A pod as the Pod Security Standard "restricted" wants it, without the cluster's credentials.
pub(crate) fn pod(run: &str, role: PodRole, container: Container) -> PodTemplateSpec {
    let security = PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: Some(USER),
        run_as_group: Some(USER),
        seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".to_owned(), localhost_profile: None }),
        ..PodSecurityContext::default()
    };
    let spec = PodSpec {
        containers: vec![container],
        restart_policy: Some("Never".to_owned()),
        security_context: Some(security),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        termination_grace_period_seconds: Some(1),
        ..PodSpec::default()
    };
    let metadata =
        ObjectMeta { labels: Some(labels(run, role)), annotations: Some(annotations()), ..ObjectMeta::default() };
    PodTemplateSpec { metadata: Some(metadata), spec: Some(spec) }
}

pub(crate) fn container(image: &str, arguments: &[&str], resources: ResourceRequirements) -> Container {
    let command = [PROGRAM].iter().chain(arguments).map(|word| (*word).to_owned()).collect();
    let security = SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), add: None }),
        read_only_root_filesystem: Some(true),
        ..SecurityContext::default()
    };
    Container {
        name: CONTAINER.to_owned(),
        image: Some(image.to_owned()),
        image_pull_policy: Some("IfNotPresent".to_owned()),
        command: Some(command),
        resources: Some(resources),
        security_context: Some(security),
        ..Container::default()
    }
}

/// Requests equal to limits, so that the pod is of the class "Guaranteed"; whole processors are its own where the node's kubelet has the
/// static policy.
pub(crate) fn resources(cpu: &str, memory: &str) -> ResourceRequirements {
    let both: BTreeMap<String, Quantity> =
        [("cpu", cpu), ("memory", memory)].map(|(name, size)| (name.to_owned(), Quantity(size.to_owned()))).into();
    ResourceRequirements { limits: Some(both.clone()), requests: Some(both), claims: None }
}

pub(crate) fn selects(labels: &BTreeMap<String, String>) -> LabelSelector {
    LabelSelector { match_labels: Some(labels.clone()), match_expressions: None }
}

/// On no node of these pods.
pub(crate) fn away_from(pods: &BTreeMap<String, String>, apart: Apart) -> Affinity {
    let term = PodAffinityTerm {
        label_selector: Some(selects(pods)),
        topology_key: NODE.to_owned(),
        ..PodAffinityTerm::default()
    };
    let pods = match apart {
        Apart::Always => PodAntiAffinity {
            required_during_scheduling_ignored_during_execution: Some(vec![term]),
            preferred_during_scheduling_ignored_during_execution: None,
        },
        Apart::Rather => PodAntiAffinity {
            required_during_scheduling_ignored_during_execution: None,
            preferred_during_scheduling_ignored_during_execution: Some(vec![WeightedPodAffinityTerm {
                weight: 100,
                pod_affinity_term: term,
            }]),
        },
    };
    Affinity { pod_anti_affinity: Some(pods), ..Affinity::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_a_load() {
        let avoid = [("app".to_owned(), "shop".to_owned())].into();
        let longest = Duration::from_secs(700);
        let of = |apart| {
            let (run, image, owner) = ("abc", "r/s:1", "the-uid");
            generators(&GeneratorJob { run, image, count: 2, cpus: 1.0, avoid: &avoid, apart, owner, longest })
        };
        let guardian = guardian("abc", "r/s:1", longest);
        for (name, job) in [("guardian", guardian), ("generators", of(Apart::Rather))] {
            insta::assert_snapshot!(name, serde_saphyr::to_string(&job).unwrap());
        }
        let apart = of(Apart::Always).spec.unwrap().template.spec.unwrap().affinity.unwrap().pod_anti_affinity.unwrap();
        let terms = apart.required_during_scheduling_ignored_during_execution.unwrap();
        assert_eq!(terms[0].label_selector.as_ref().unwrap().match_labels.as_ref(), Some(&avoid));
        assert_eq!((terms.len(), terms[0].topology_key.as_str()), (1, NODE));
    }
}
