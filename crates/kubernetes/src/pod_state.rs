//! How a pod is, from what its kubelet and the scheduler report. Pure.

use k8s_openapi::api::core::v1::{ContainerState, Pod};

/// How a pod is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PodState {
    /// It is on its way.
    Pending,
    /// No node has room for it: the scheduler's words.
    Unschedulable(String),
    /// Its image cannot be used: the kubelet's words.
    Image(String),
    /// Its container does not start: the kubelet's words.
    Stuck(String),
    /// Its process runs, on this node.
    Running { node: String },
    /// It is over: why, as far as that is reported.
    Ended(String),
}

/// Reasons of the kubelet that do not pass by waiting.
const IMAGE: [&str; 4] = ["ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"];
const STUCK: [&str; 4] =
    ["CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff"];

impl PodState {
    pub(crate) fn of(pod: &Pod) -> Self {
        let status = pod.status.clone().unwrap_or_default();
        let node = node_of(pod);
        let before = status.init_container_statuses.unwrap_or_default().into_iter().next();
        let container = status.container_statuses.unwrap_or_default().into_iter().next();
        let state = container.and_then(|container| container.state).unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        let phase = status.phase.unwrap_or_default();
        // What is deleted is told to end, and may do so with success.
        if pod.metadata.deletion_timestamp.is_some() && status.reason.is_none() {
            let disruption = conditions.iter().find(|condition| condition.type_ == "DisruptionTarget");
            let reported = disruption.and_then(|found| words(found.reason.as_deref(), found.message.as_deref()));
            return Self::Ended(reported.unwrap_or_else(|| "it was deleted".to_owned()));
        }
        if phase == "Failed" || phase == "Succeeded" {
            let reported = words(status.reason.as_deref(), status.message.as_deref());
            return Self::Ended(reported.or_else(|| ended(&state)).unwrap_or_else(|| format!("it is {phase}")));
        }
        if let Some(problem) = before.and_then(|before| before.state).and_then(|state| unprepared(&state)) {
            return Self::Stuck(problem);
        }
        if let Some(ended) = ended(&state) {
            return Self::Ended(ended);
        }
        if state.running.is_some() {
            return Self::Running { node };
        }
        if let Some(waiting) = state.waiting {
            let reason = waiting.reason.unwrap_or_default();
            let words = words(Some(&reason), waiting.message.as_deref()).unwrap_or_default();
            if IMAGE.contains(&reason.as_str()) {
                return Self::Image(words);
            }
            if STUCK.contains(&reason.as_str()) {
                return Self::Stuck(words);
            }
        }
        let unschedulable = conditions.iter().find(|condition| {
            condition.type_ == "PodScheduled" && condition.reason.as_deref() == Some("Unschedulable")
        });
        match unschedulable {
            Some(condition) => Self::Unschedulable(condition.message.clone().unwrap_or_default()),
            None => Self::Pending,
        }
    }
}

/// The node that a pod is on; empty where it has none yet.
pub(crate) fn node_of(pod: &Pod) -> String {
    pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default()
}

/// Why the container that runs before the pod's own cannot do its work.
fn unprepared(state: &ContainerState) -> Option<String> {
    let waiting = state.waiting.as_ref()?;
    let reason = waiting.reason.as_deref().unwrap_or_default();
    let is_final = IMAGE.contains(&reason) || STUCK.contains(&reason);
    let words = words(Some(reason), waiting.message.as_deref()).filter(|_| is_final)?;
    Some(format!("the container that brings Stampede's program: {words}"))
}

/// Why a container is over.
pub(crate) fn ended(state: &ContainerState) -> Option<String> {
    let terminated = state.terminated.as_ref()?;
    let code = format!("exit code {}", terminated.exit_code);
    let reported = words(terminated.reason.as_deref(), terminated.message.as_deref());
    Some(reported.map_or(code.clone(), |words| format!("{words} ({code})")))
}

fn words(reason: Option<&str>, message: Option<&str>) -> Option<String> {
    let given = |text: Option<&str>| text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    match (given(reason), given(message)) {
        (Some(reason), Some(message)) => Some(format!("{reason}: {message}")),
        (reason, message) => reason.or(message),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn states_of_pods() {
        let container = |state: Value| {
            json!({"containerStatuses": [{"name": "stampede", "image": "", "imageID": "",
            "ready": false, "restartCount": 0, "state": state}], "phase": "Pending"})
        };
        let no_room = "0/3 nodes are available: 3 Insufficient cpu.";
        for (name, status, expected) in [
            ("new", json!({}), PodState::Pending),
            (
                "no node",
                json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
                    "reason": "Unschedulable", "message": no_room}]}),
                PodState::Unschedulable(no_room.to_owned()),
            ),
            ("is pulled", container(json!({"waiting": {"reason": "ContainerCreating"}})), PodState::Pending),
            ("is pulled again", container(json!({"waiting": {"reason": "ErrImagePull"}})), PodState::Pending),
            (
                "no image",
                container(json!({"waiting": {"reason": "ImagePullBackOff", "message": "not found"}})),
                PodState::Image("ImagePullBackOff: not found".to_owned()),
            ),
            (
                "another program",
                container(json!({"waiting": {"reason": "RunContainerError", "message": "no such file"}})),
                PodState::Stuck("RunContainerError: no such file".to_owned()),
            ),
            ("runs", container(json!({"running": {}})), PodState::Running { node: "n1".to_owned() }),
            (
                "out of memory",
                container(json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}})),
                PodState::Ended("OOMKilled (exit code 137)".to_owned()),
            ),
            (
                "evicted",
                json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}),
                PodState::Ended("Evicted: The node was low on resource: memory.".to_owned()),
            ),
        ] {
            let pod: Pod = serde_json::from_value(json!({"metadata": {}, "spec": {"nodeName": "n1", "containers": []},
                "status": status}))
            .unwrap();
            assert_eq!(PodState::of(&pod), expected, "{name}");
        }
        let mut unbrought = container(json!({"waiting": {"reason": "PodInitializing"}}));
        unbrought["initContainerStatuses"] = json!([{"name": "stampede", "image": "", "imageID": "", "ready": false,
            "restartCount": 0, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]);
        let pod: Pod = serde_json::from_value(json!({"metadata": {}, "status": unbrought})).unwrap();
        let words = "the container that brings Stampede's program: CrashLoopBackOff";
        assert_eq!(PodState::of(&pod), PodState::Stuck(words.to_owned()));
        let drained: Pod = serde_json::from_value(json!({"metadata": {"deletionTimestamp": "2026-11-26T10:00:00Z"},
            "status": {"phase": "Running", "conditions": [{"type": "DisruptionTarget", "status": "True",
            "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting"}]}}))
        .unwrap();
        assert_eq!(PodState::of(&drained), PodState::Ended("EvictionByEvictionAPI: Eviction API: evicting".to_owned()));
        let deleted: Pod = serde_json::from_value(json!({"metadata": {"deletionTimestamp": "2026-11-26T10:00:00Z"},
            "status": {"phase": "Succeeded"}}))
        .unwrap();
        assert_eq!(PodState::of(&deleted), PodState::Ended("it was deleted".to_owned()));
    }
}
