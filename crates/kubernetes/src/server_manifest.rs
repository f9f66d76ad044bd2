//! A deployment that is under test: an image as it is, within limits that are its requests as well, on the node of the study. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy};
use k8s_openapi::api::core::v1::{
    Affinity, Container, EmptyDirVolumeSource, EnvVar, NodeAffinity, NodeSelector, NodeSelectorRequirement,
    NodeSelectorTerm, PodSpec, ResourceRequirements, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::labels::{PART, PodRole, RUN, labels, selector_labels};
use crate::manifest::{
    Apart, CONTAINER, PROGRAM, away_from, container, guardian_name, owned_by, pod, resources, selects,
};

/// The container under test.
pub(crate) const SERVER: &str = "server";

/// Where the container finds Stampede's program: a volume that is brought before it starts.
pub(crate) const PLACE: &str = "/.stampede";

/// Volumes of a pod.
const PROGRAM_VOLUME: &str = "stampede";

/// What is under test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerOrder {
    /// The image.
    pub image: String,
    /// What takes the place of the image's entrypoint; empty where nothing does.
    pub command: Vec<String>,
    /// What takes the place of the image's command; empty where nothing does.
    pub args: Vec<String>,
    /// Environment variables beside the image's.
    pub env: BTreeMap<String, String>,
    /// How many pods of it there are.
    pub replicas: u32,
    /// Thousandths of a processor, of each pod.
    pub cpu_millis: u32,
    /// Bytes of memory, of each pod.
    pub memory: u64,
    /// Places in the container at which there is an empty volume.
    pub empty: Vec<String>,
    /// The node; any where it is not given.
    pub node: Option<String>,
    /// How long it may take to end when it is told to.
    pub grace: Duration,
}

pub(crate) fn server_name(run: &str, part: &str) -> String {
    format!("{}-{part}", guardian_name(run))
}

/// A deployment of an order, owned by the guardian with this uid, in whose containers Stampede's program is found: the image `helper` has
/// it.
pub(crate) fn server(run: &str, part: &str, helper: &str, owner: &str, order: &ServerOrder) -> Deployment {
    let mut deployment = plain(run, part, owner, order);
    let Some(spec) = deployment.spec.as_mut().and_then(|spec| spec.template.spec.as_mut()) else { return deployment };
    // It must not make the pod larger than what is measured.
    let bringing = Container {
        volume_mounts: Some(vec![mount(PROGRAM_VOLUME, PLACE, false)]),
        ..container(helper, &["__guardian", "put", PLACE], resources_of(order))
    };
    spec.init_containers = Some(vec![bringing]);
    run_as_usual(spec);
    spec.volumes.get_or_insert_default().insert(0, empty_volume(PROGRAM_VOLUME));
    for of_image in &mut spec.containers {
        of_image.volume_mounts.get_or_insert_default().insert(0, mount(PROGRAM_VOLUME, PLACE, true));
    }
    deployment
}

/// A deployment of an order and nothing beside it, owned by the guardian with this uid.
pub(crate) fn plain(run: &str, part: &str, owner: &str, order: &ServerOrder) -> Deployment {
    let ServerOrder { image, command, args, env, replicas, empty, node, grace, .. } = order;
    let own = |number: usize| format!("volume-{number}");
    let some = |words: &Vec<String>| (!words.is_empty()).then(|| words.clone());
    let of_image = Container {
        name: SERVER.to_owned(),
        image: Some(image.clone()),
        image_pull_policy: Some("IfNotPresent".to_owned()),
        command: some(command),
        args: some(args),
        env: (!env.is_empty()).then(|| {
            let variable = |(name, value): (&String, &String)| EnvVar {
                name: name.clone(),
                value: Some(value.clone()),
                value_from: None,
            };
            env.iter().map(variable).collect()
        }),
        resources: Some(resources_of(order)),
        volume_mounts: (!empty.is_empty())
            .then(|| empty.iter().enumerate().map(|(number, at)| mount(&own(number), at, false)).collect()),
        ..Container::default()
    };
    let mut template = pod(run, PodRole::Server, of_image);
    let with_part = |mut labels: BTreeMap<String, String>| {
        labels.insert(PART.to_owned(), part.to_owned());
        labels
    };
    if let Some(metadata) = &mut template.metadata {
        metadata.labels = metadata.labels.take().map(with_part);
    }
    if let Some(spec) = &mut template.spec {
        spec.restart_policy = Some("Always".to_owned());
        spec.termination_grace_period_seconds = i64::try_from(grace.as_secs()).ok();
        // An image is run as it is: its user is its own.
        if let Some(security) = &mut spec.security_context {
            (security.run_as_non_root, security.run_as_user, security.run_as_group) = (None, None, None);
        }
        spec.volumes = (!empty.is_empty()).then(|| (0..empty.len()).map(|number| empty_volume(&own(number))).collect());
        let generators = selector_labels(run, PodRole::Generator);
        let node_affinity = node.as_ref().map(|node| on_node(node));
        spec.affinity = Some(Affinity { node_affinity, ..away_from(&generators, Apart::Rather) });
    }
    Deployment {
        metadata: metadata(run, part, owner),
        spec: Some(DeploymentSpec {
            replicas: Some(i32::try_from(*replicas).unwrap_or(i32::MAX)),
            revision_history_limit: Some(0),
            selector: selects(&part_labels(run, part)),
            strategy: Some(DeploymentStrategy { type_: Some("Recreate".to_owned()), rolling_update: None }),
            template,
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

/// Name, labels and owner of an object of a part.
pub(crate) fn metadata(run: &str, part: &str, owner: &str) -> ObjectMeta {
    let mut all = labels(run, PodRole::Server);
    all.insert(PART.to_owned(), part.to_owned());
    ObjectMeta {
        name: Some(server_name(run, part)),
        labels: Some(all),
        owner_references: Some(vec![owned_by(run, owner)]),
        ..ObjectMeta::default()
    }
}

/// The labels by which the pods of a part are told from all others.
pub(crate) fn part_labels(run: &str, part: &str) -> BTreeMap<String, String> {
    [(RUN.to_owned(), run.to_owned()), (PART.to_owned(), part.to_owned())].into()
}

fn resources_of(order: &ServerOrder) -> ResourceRequirements {
    resources(&format!("{}m", order.cpu_millis), &order.memory.to_string())
}

fn mount(name: &str, at: &str, read_only: bool) -> VolumeMount {
    VolumeMount {
        name: name.to_owned(),
        mount_path: at.to_owned(),
        read_only: read_only.then_some(true),
        ..VolumeMount::default()
    }
}

fn empty_volume(name: &str) -> Volume {
    Volume { name: name.to_owned(), empty_dir: Some(EmptyDirVolumeSource::default()), ..Volume::default() }
}

/// The container that brings the program runs as Stampede's own, whatever user the image has.
fn run_as_usual(spec: &mut PodSpec) {
    for container in spec.init_containers.iter_mut().flatten().filter(|container| container.name == CONTAINER) {
        if let Some(security) = &mut container.security_context {
            security.run_as_non_root = Some(true);
            security.run_as_user = Some(crate::manifest::USER);
            security.run_as_group = Some(crate::manifest::USER);
        }
    }
}

/// On this node alone, by its name, which no label need repeat.
fn on_node(node: &str) -> NodeAffinity {
    let is_it = NodeSelectorRequirement {
        key: "metadata.name".to_owned(),
        operator: "In".to_owned(),
        values: Some(vec![node.to_owned()]),
    };
    let term = NodeSelectorTerm { match_fields: Some(vec![is_it]), match_expressions: None };
    NodeAffinity {
        required_during_scheduling_ignored_during_execution: Some(NodeSelector { node_selector_terms: vec![term] }),
        preferred_during_scheduling_ignored_during_execution: None,
    }
}

/// What a pod of Stampede's own image does that only holds a place.
pub(crate) fn waiting() -> Vec<String> {
    [PROGRAM, "__guardian", "wait"].map(str::to_owned).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deployment_has_its_limits_as_requests_and_brings_the_program() {
        let order = ServerOrder {
            image: "shop:2".to_owned(),
            command: Vec::new(),
            args: vec!["serve".to_owned()],
            env: [("APP_ENV".to_owned(), "prod".to_owned())].into(),
            replicas: 2,
            cpu_millis: 1500,
            memory: 512 << 20,
            empty: vec!["/var/data".to_owned()],
            node: Some("node-7".to_owned()),
            grace: Duration::from_secs(10),
        };
        insta::assert_snapshot!(serde_saphyr::to_string(&server("abc", "3", "r/s:1", "the-uid", &order)).unwrap());
    }
}
