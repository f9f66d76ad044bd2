//! How a pod comes and goes, by when that was told. Pure.

use k8s_openapi::api::core::v1::{Pod, PodCondition};
use tokio::time::Instant;

use crate::pod_state::{PodState, ended, node_of};

/// How a pod came and went. Each moment is that at which it was told: the cluster's own times are whole seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct PodCourse {
    /// Its name.
    pub name: String,
    /// Its node, once it has one.
    pub node: Option<String>,
    /// When it was made.
    pub made: Instant,
    /// When it was given a node.
    pub placed: Option<Instant>,
    /// When its first process was started.
    pub started: Option<Instant>,
    /// When it was ready, and so had its share of the service's connections.
    pub ready: Option<Instant>,
    /// When it was told to end, or was gone.
    pub ended: Option<Instant>,
    /// Why it had no node at first: the scheduler's words.
    pub unplaced: Option<String>,
    /// Why it ended by itself, or why its process was started again.
    pub lost: Option<String>,
    /// What it used of its processors, by when that was told.
    pub uses: Vec<PodUse>,
}

/// What the cluster's metrics say of a pod.
#[derive(Clone, Debug, PartialEq)]
pub struct PodUse {
    /// When that was told.
    pub at: Instant,
    /// When the cluster measured it, in its words.
    pub timestamp: String,
    /// Processors that it used, over some seconds before.
    pub cpus: f64,
}

impl PodCourse {
    pub(crate) fn new(name: &str, now: Instant) -> Self {
        Self {
            name: name.to_owned(),
            node: None,
            made: now,
            placed: None,
            started: None,
            ready: None,
            ended: None,
            unplaced: None,
            lost: None,
            uses: Vec::new(),
        }
    }

    /// Takes in how it is now.
    pub(crate) fn see(&mut self, pod: &Pod, now: Instant) {
        let status = pod.status.as_ref();
        let container = status.and_then(|status| status.container_statuses.as_ref()?.first());
        let node = Some(node_of(pod)).filter(|node| !node.is_empty());
        if node.is_some() {
            self.placed.get_or_insert(now);
            self.node = node;
        }
        if container.is_some_and(|container| container.state.as_ref().is_some_and(|state| state.running.is_some())) {
            self.started.get_or_insert(now);
        }
        let is_true = |condition: &PodCondition| condition.type_ == "Ready" && condition.status == "True";
        if status.is_some_and(|status| status.conditions.iter().flatten().any(is_true)) {
            self.ready.get_or_insert(now);
        }
        if pod.metadata.deletion_timestamp.is_some() {
            self.ended.get_or_insert(now);
            return;
        }
        let before = container.and_then(|container| ended(container.last_state.as_ref()?));
        match (PodState::of(pod), before) {
            (PodState::Unschedulable(words), _) => self.unplaced = Some(words),
            (PodState::Image(words) | PodState::Stuck(words), None) => self.lost = Some(words),
            (PodState::Ended(words), _) => {
                self.lost = Some(words);
                self.ended.get_or_insert(now);
            }
            (_, Some(words)) => self.lost = Some(words),
            (PodState::Pending | PodState::Running { .. }, None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_pod_comes_and_goes() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let container = |state: Value| {
            json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}], "containerStatuses": [{"name": "server",
                "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state}]})
        };
        let mut ready = container(json!({"running": {}}));
        ready["conditions"][0]["status"] = json!("True");
        let waits = json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
            "reason": "Unschedulable", "message": "0/3 nodes are available"}]});
        let mut course = PodCourse::new("web-1", at(0));
        for (seconds, node, status, going) in [
            (0, None, json!({}), false),
            (1, None, waits, false),
            (3, Some("n2"), json!({"phase": "Pending"}), false),
            (4, Some("n2"), container(json!({"waiting": {"reason": "ContainerCreating"}})), false),
            (6, Some("n2"), container(json!({"running": {}})), false),
            (7, Some("n2"), ready.clone(), false),
            (20, Some("n2"), ready, true),
        ] {
            let pod = json!({"metadata": {"name": "web-1", "deletionTimestamp": going.then_some("2026-11-26T10:00:00Z")},
                "spec": {"nodeName": node, "containers": []}, "status": status});
            course.see(&serde_json::from_value(pod).unwrap(), at(seconds));
        }
        let expected = PodCourse {
            node: Some("n2".to_owned()),
            placed: Some(at(3)),
            started: Some(at(6)),
            ready: Some(at(7)),
            ended: Some(at(20)),
            unplaced: Some("0/3 nodes are available".to_owned()),
            ..PodCourse::new("web-1", at(0))
        };
        assert_eq!(course, expected);
        let mut killed = container(json!({"running": {}}));
        killed["containerStatuses"][0]["lastState"] = json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}});
        let pod = json!({"metadata": {}, "spec": {"nodeName": "n1", "containers": []}, "status": killed});
        let mut course = PodCourse::new("web-2", at(0));
        course.see(&serde_json::from_value(pod).unwrap(), at(1));
        assert_eq!((course.lost.as_deref(), course.ended), (Some("OOMKilled (exit code 137)"), None));
    }
}
