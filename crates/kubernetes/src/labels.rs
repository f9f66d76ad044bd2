//! What objects of a load are known by.

use std::collections::BTreeMap;

/// The load that an object belongs to; `stampede clean` finds objects by it.
pub(crate) const RUN: &str = "stampede/run";

/// What an object is for.
pub(crate) const ROLE: &str = "stampede/role";

/// Which of a run's deployments an object belongs to: there are several, one after another.
pub(crate) const PART: &str = "stampede/part";

/// What pods of a load are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PodRole {
    Guardian,
    Generator,
    /// It is under test.
    Server,
}

impl PodRole {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Guardian => "guardian",
            Self::Generator => "generator",
            Self::Server => "server",
        }
    }
}

/// The labels of an object. A mesh would put a proxy between a generator and its target, and keep the pod from ending.
pub(crate) fn labels(run: &str, role: PodRole) -> BTreeMap<String, String> {
    text_map(&[
        (RUN, run),
        (ROLE, role.name()),
        ("app.kubernetes.io/name", "stampede"),
        ("app.kubernetes.io/component", role.name()),
        ("sidecar.istio.io/inject", "false"),
    ])
}

/// What keeps autoscalers of nodes from moving a pod: Cluster Autoscaler and Karpenter.
pub(crate) fn annotations() -> BTreeMap<String, String> {
    text_map(&[
        ("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"),
        ("karpenter.sh/do-not-disrupt", "true"),
        ("linkerd.io/inject", "disabled"),
    ])
}

/// The labels by which the pods of a role are told from all others.
pub(crate) fn selector_labels(run: &str, role: PodRole) -> BTreeMap<String, String> {
    text_map(&[(RUN, run), (ROLE, role.name())])
}

/// What selects the pods of a role.
pub(crate) fn selector(run: &str, role: PodRole) -> String {
    format!("{RUN}={run},{ROLE}={}", role.name())
}

/// What selects the pods of one deployment.
pub(crate) fn selector_of_part(run: &str, part: &str) -> String {
    format!("{RUN}={run},{PART}={part}")
}

pub(crate) fn text_map(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}
