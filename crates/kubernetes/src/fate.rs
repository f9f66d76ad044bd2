//! What befalls a pod under test while it is measured. Pure.

use k8s_openapi::api::core::v1::Pod;

use crate::pod_state::{PodState, ended};

/// What befell a pod, with its name and node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its own process ended, or was killed at its own memory limit.
    Own(String),
    /// The cluster took it away: what was measured says nothing of it.
    Taken(String),
}

impl Fate {
    /// It in words.
    pub fn words(&self) -> &str {
        match self {
            Self::Own(words) | Self::Taken(words) => words,
        }
    }

    /// What has befallen the pod of this name, which was on this node, among those of its deployment.
    pub(crate) fn of(pods: &[Pod], (name, node): (&str, &str)) -> Option<Self> {
        let Some(pod) = pods.iter().find(|pod| pod.metadata.name.as_deref() == Some(name)) else {
            return Some(Self::Taken(format!("pod {name} on node {node}: it was deleted or evicted")));
        };
        let place = format!("pod {name} on node {node}");
        let status = pod.status.as_ref()?;
        let conditions = || status.conditions.iter().flatten();
        let is_disrupted = conditions().any(|found| found.type_ == "DisruptionTarget" && found.status == "True");
        if pod.metadata.deletion_timestamp.is_some() || status.reason.is_some() || is_disrupted {
            return match PodState::of(pod) {
                PodState::Ended(why) => Some(Self::Taken(format!("{place}: {why}"))),
                _ if is_disrupted => Some(Self::Taken(format!("{place}: it is evicted"))),
                _ => None,
            };
        }
        let container = status.container_statuses.as_ref()?.first()?;
        if let Some(why) = container.state.as_ref().and_then(ended) {
            return Some(Self::Own(format!("{why}, {place}")));
        }
        if container.restart_count > 0 {
            let before = container.last_state.as_ref().and_then(ended);
            let why = before.unwrap_or_else(|| "an unknown status".to_owned());
            return Some(Self::Own(format!("{why}, and was started again, {place}")));
        }
        // It has no probe: a pod that runs is not ready where its node no longer reports.
        let ready = conditions().find(|found| found.type_ == "Ready" && found.status != "True")?;
        let reason = ready.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default();
        Some(Self::Taken(format!("{place}: the node no longer reports on it{reason}")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_the_cluster_takes_is_told_from_what_ends_by_itself() {
        let serving = json!({"name": "server", "image": "", "imageID": "", "ready": true, "restartCount": 0,
            "state": {"running": {}}});
        let with = |key: &str, value: Value| {
            let mut container = serving.clone();
            container[key] = value;
            json!({"phase": "Running", "containerStatuses": [container]})
        };
        let killed = json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}});
        let mut again = with("restartCount", json!(1));
        again["containerStatuses"][0]["lastState"] = killed.clone();
        let running = with("ready", json!(true));
        let conditions = |conditions: Value| {
            let mut status = running.clone();
            status["conditions"] = conditions;
            status
        };
        let own = |words: &str| Some(Fate::Own(words.to_owned()));
        let taken = |words: &str| Some(Fate::Taken(words.to_owned()));
        for (name, metadata, status, expected) in [
            ("runs", json!({"name": "p"}), running.clone(), None),
            ("is ready", json!({"name": "p"}), conditions(json!([{"type": "Ready", "status": "True"}])), None),
            ("gone", json!({"name": "another"}), running.clone(), taken("pod p on node n1: it was deleted or evicted")),
            ("memory", json!({"name": "p"}), with("state", killed), own("OOMKilled (exit code 137), pod p on node n1")),
            (
                "again",
                json!({"name": "p"}),
                again,
                own("OOMKilled (exit code 137), and was started again, pod p on node n1"),
            ),
            (
                "evicted for the node's memory",
                json!({"name": "p"}),
                json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}),
                taken("pod p on node n1: Evicted: The node was low on resource: memory."),
            ),
            (
                "drained",
                json!({"name": "p", "deletionTimestamp": "2026-11-26T10:00:00Z"}),
                conditions(json!([{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
                    "message": "Eviction API: evicting"}])),
                taken("pod p on node n1: EvictionByEvictionAPI: Eviction API: evicting"),
            ),
            (
                "a node that is gone",
                json!({"name": "p"}),
                conditions(json!([{"type": "Ready", "status": "False", "reason": "NodeNotReady"}])),
                taken("pod p on node n1: the node no longer reports on it (NodeNotReady)"),
            ),
        ] {
            let pod: Pod = serde_json::from_value(json!({"metadata": metadata, "status": status,
                "spec": {"nodeName": "n1", "containers": []}}))
            .unwrap();
            assert_eq!(Fate::of(&[pod], ("p", "n1")), expected, "{name}");
        }
    }
}
