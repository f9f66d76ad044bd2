//! Deployments under test that do not start, are taken away, or end.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use stampede_kubernetes::{ClusterError, Fate, PodRun, Server, ServerOrder};

use crate::fake_api::FakeApi;
use crate::{DEPLOYMENTS, EVENTS, JOBS, PODS, failure, list};

fn order() -> ServerOrder {
    ServerOrder {
        image: "shop:2".to_owned(),
        command: Vec::new(),
        args: Vec::new(),
        env: Default::default(),
        replicas: 1,
        cpu_millis: 1500,
        memory: 512 << 20,
        empty: Vec::new(),
        node: Some("node-7".to_owned()),
        grace: Duration::from_secs(10),
    }
}

/// A pod with this status.
fn pod(status: Value) -> Value {
    json!({"metadata": {"name": "shop-1-x", "creationTimestamp": "2026-11-26T10:00:00Z"},
        "spec": {"nodeName": "node-7", "containers": []}, "status": status})
}

/// A pod whose container is in this state, after the program was brought.
fn container(state: Value) -> Value {
    json!({"phase": "Running", "podIP": "10.1.0.7", "qosClass": "Guaranteed",
        "conditions": [{"type": "Ready", "status": "True"}],
        "initContainerStatuses": [{"name": "stampede", "image": "", "imageID": "", "ready": true, "restartCount": 0,
            "state": {"terminated": {"exitCode": 0, "reason": "Completed", "message": "[\"/.stampede/stampede\"]"}}}],
        "containerStatuses": [{"name": "server", "image": "", "imageID": "r/shop@sha256:ab", "ready": true, "restartCount": 0,
            "state": state}]})
}

/// Answers with these pods and events, and takes deployments. The n-th question for pods is answered by the n-th list, and all after
/// those by the last.
fn with(pods: Vec<Value>, events: Value) -> impl Fn(&str, &str, &Value) -> (u16, Value) + Send + Sync {
    let asked = AtomicUsize::new(0);
    move |method, path, body| match (method, path) {
        ("POST", DEPLOYMENTS | JOBS) => (201, body.clone()),
        ("GET", PODS) => {
            let number = asked.fetch_add(1, Ordering::SeqCst).min(pods.len() - 1);
            list(pods[number].clone())
        }
        ("GET", EVENTS) => list(events.clone()),
        ("GET", path) if path.ends_with("/log") => (200, json!("fatal: no database")),
        ("DELETE", _) => (200, json!({"kind": "Status", "apiVersion": "v1", "status": "Success"})),
        other => panic!("{other:?}"),
    }
}

/// What comes of a start in a run that has begun, and what the API was asked.
async fn start(
    answer: impl Fn(&str, &str, &Value) -> (u16, Value) + Send + Sync + 'static,
) -> (Result<Server, ClusterError>, Vec<String>, Vec<String>) {
    let api = FakeApi::new(answer);
    let run = PodRun::begun(&api.cluster("shop"), "abc", "r/s:1");
    let notes = Mutex::new(Vec::new());
    let note = |words: &str| notes.lock().unwrap().push(words.to_owned());
    let started = Server::start(&run, &order(), &note).await;
    (started, api.asked(), notes.into_inner().unwrap())
}

#[tokio::test(start_paused = true)]
async fn what_does_not_start_is_named_and_removed() {
    let waiting = |reason: &str| container(json!({"waiting": {"reason": reason, "message": "Back-off pulling image"}}));
    let no_room = json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
        "reason": "Unschedulable", "message": "0/3 nodes are available: 3 Insufficient memory."}]});
    let mut unbrought = container(json!({"waiting": {"reason": "PodInitializing"}}));
    unbrought["initContainerStatuses"][0]["state"] =
        json!({"waiting": {"reason": "ImagePullBackOff", "message": "r/s:1 not found"}});
    let events = json!([{"metadata": {}, "involvedObject": {"kind": "Pod", "name": "shop-1-x"}, "reason": "Failed",
        "message": "failed to pull shop:2: not found"}]);
    for (name, status, expected, notes) in [
        (
            "image",
            waiting("ImagePullBackOff"),
            "the image shop:2 cannot be used (pod shop-1-x): ImagePullBackOff: Back-off pulling image; failed to pull shop:2: \
             not found\n  name one that the cluster's nodes can pull",
            0,
        ),
        (
            "size",
            no_room,
            "no node has room for a deployment of 1.5 CPU and 512 MiB (pod shop-1-x) after 180 s: 0/3 nodes are available: 3 \
             Insufficient memory.\n  lower --cpus or --memory, or add a node",
            1,
        ),
        (
            "program",
            unbrought,
            "pod shop-1-x did not start: the container that brings Stampede's program: ImagePullBackOff: r/s:1 not found",
            0,
        ),
        (
            "crash",
            container(json!({"terminated": {"exitCode": 1, "reason": "Error"}})),
            "pod shop-1-x did not start: Error (exit code 1)",
            0,
        ),
        (
            "nothing happens",
            json!({"phase": "Pending"}),
            "pod of stampede-abc-1 did not start: it does not run after 180 s",
            0,
        ),
    ] {
        let (started, asked, noted) = start(with(vec![json!([pod(status)])], events.clone())).await;
        let error = started.err().unwrap().to_string();
        assert!(error.starts_with(expected), "{name}: {error}");
        assert_eq!(asked.last().unwrap(), &format!("DELETE {DEPLOYMENTS}/stampede-abc-1"), "{name}: {asked:?}");
        assert_eq!(noted.len(), notes, "{name}: {noted:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_node_of_a_study_that_is_resumed_is_its_own_or_the_reason_is_told() {
    let words =
        "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't match Pod's node affinity/selector.";
    let pending = json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
        "reason": "Unschedulable", "message": words}]});
    let made = std::sync::Arc::new(Mutex::new(Value::Null));
    let seen = std::sync::Arc::clone(&made);
    let answer = with(vec![json!([pod(pending)])], json!([]));
    let api = FakeApi::new(move |method, path, body| {
        if (method, path) == ("POST", DEPLOYMENTS) {
            *seen.lock().unwrap() = body["spec"]["template"]["spec"].clone();
        }
        answer(method, path, body)
    });
    let run = PodRun::begun(&api.cluster("shop"), "abc", "r/s:1");
    let error = Server::placeholder(&run, &order(), &|_| {}).await.err().unwrap().to_string();
    let expected = format!(
        "the study was measured on node node-7, which has no room for a deployment of 1.5 CPU and 512 MiB after 180 s: {words}\n  \
         resume it when that node is there and has room, or leave out --resume to begin another study"
    );
    assert_eq!(error, expected);
    let affinity = &made.lock().unwrap()["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    assert_eq!(affinity["nodeSelectorTerms"][0]["matchFields"][0]["values"], json!(["node-7"]));
}

#[tokio::test(start_paused = true)]
async fn what_the_cluster_refuses_is_told_with_its_words() {
    let of_set = |message: &str| {
        json!([{"metadata": {}, "involvedObject": {"kind": "ReplicaSet", "name": "stampede-abc-1-6d5f"},
        "reason": "FailedCreate", "message": message}])
    };
    let quota = "pods \"x\" is forbidden: exceeded quota: small, requested: limits.cpu=1500m, limited: limits.cpu=1";
    let (started, ..) = start(with(vec![json!([])], of_set(quota))).await;
    assert_eq!(started.err().unwrap(), ClusterError::Quota(quota.to_owned()));
    let policy = "pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\": runAsNonRoot != true";
    let (started, ..) = start(with(vec![json!([])], of_set(policy))).await;
    let error = started.err().unwrap();
    assert!(matches!(&error, ClusterError::NotStarted { problem, .. } if problem == policy), "{error}");
    let (started, ..) = start(|_, _, _| failure(403, "deployments.apps is forbidden", "deployments")).await;
    let error = started.err().unwrap().to_string();
    assert_eq!(error, "create a deployment: the API server answers 403: deployments.apps is forbidden");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_runs_is_known_with_what_was_read_back() {
    let serving = json!([pod(container(json!({"running": {}})))]);
    let mut unready = container(json!({"running": {}}));
    unready["conditions"][0]["status"] = json!("False");
    let mut ending = container(json!({"terminated": {"exitCode": 0, "reason": "Completed"}}));
    ending["reason"] = json!("Terminated");
    let pods = vec![json!([]), json!([pod(unready)]), serving, json!([pod(ending)]), json!([])];
    let (started, asked, _) = start(with(pods, json!([]))).await;
    let server = started.unwrap();
    assert_eq!(asked[0], format!("POST {DEPLOYMENTS}"));
    let [found] = server.pods() else { panic!("one pod") };
    let place = (found.name.as_str(), found.node.as_str(), found.address.to_string());
    assert_eq!(place, ("shop-1-x", "node-7", "10.1.0.7".to_owned()));
    assert_eq!((found.image_id.as_str(), found.class.as_str()), ("r/shop@sha256:ab", "Guaranteed"));
    let end = server.end().await.unwrap();
    assert_eq!(end.how["shop-1-x"], "Completed (exit code 0)");
}

#[tokio::test(start_paused = true)]
async fn replicas_are_there_when_all_of_them_are_and_what_befalls_one_befalls_all() {
    let named = |name: &str, mut status: Value, address: &str| {
        status["podIP"] = json!(address);
        let mut pod = pod(status);
        pod["metadata"]["name"] = json!(name);
        pod
    };
    let serving = |name: &str, address: &str| named(name, container(json!({"running": {}})), address);
    let both = json!([serving("b", "10.1.0.8"), serving("a", "10.1.0.7")]);
    let killed = container(json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}}));
    let pods = vec![
        json!([serving("b", "10.1.0.8")]),
        json!([serving("b", "10.1.0.8"), named("a", json!({"phase": "Pending"}), "")]),
        both.clone(),
        both,
        json!([serving("a", "10.1.0.7"), named("b", killed.clone(), "10.1.0.8")]),
        json!([serving("a", "10.1.0.7"), named("b", killed, "10.1.0.8")]),
        json!([]),
    ];
    let made = std::sync::Arc::new(Mutex::new(Value::Null));
    let seen = std::sync::Arc::clone(&made);
    let answer = with(pods, json!([]));
    let api = FakeApi::new(move |method, path, body| {
        if (method, path) == ("POST", DEPLOYMENTS) {
            *seen.lock().unwrap() = body["spec"]["replicas"].clone();
        }
        answer(method, path, body)
    });
    let run = PodRun::begun(&api.cluster("shop"), "abc", "r/s:1");
    let server = Server::start(&run, &ServerOrder { replicas: 2, ..order() }, &|_| {}).await.unwrap();
    assert_eq!(*made.lock().unwrap(), json!(2));
    let found: Vec<_> = server.pods().iter().map(|pod| (pod.name.as_str(), pod.address.to_string())).collect();
    assert_eq!(found, [("a", "10.1.0.7".to_owned()), ("b", "10.1.0.8".to_owned())]);
    let expected = Fate::Own("OOMKilled (exit code 137), pod b on node node-7".to_owned());
    assert_eq!(server.fate().await, expected);
    let end = server.end().await.unwrap();
    assert_eq!(end.how, [("b".to_owned(), "OOMKilled (exit code 137)".to_owned())].into());
}

#[tokio::test(start_paused = true)]
async fn what_befalls_a_pod_is_told_within_seconds() {
    let serving = || json!([pod(container(json!({"running": {}})))]);
    let killed = json!([pod(container(json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}})))]);
    let mut evicted = container(json!({"running": {}}));
    evicted["phase"] = json!("Failed");
    evicted["reason"] = json!("Evicted");
    for (name, after, expected) in [
        ("killed", killed, Fate::Own("OOMKilled (exit code 137), pod shop-1-x on node node-7".to_owned())),
        ("evicted", json!([pod(evicted)]), Fate::Taken("pod shop-1-x on node node-7: Evicted".to_owned())),
        ("deleted", json!([]), Fate::Taken("pod shop-1-x on node node-7: it was deleted or evicted".to_owned())),
    ] {
        let (started, ..) = start(with(vec![serving(), serving(), after], json!([]))).await;
        let server = started.unwrap();
        let begun = tokio::time::Instant::now();
        assert_eq!(server.fate().await, expected, "{name}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{name}");
        assert_eq!(server.fate_now().await, Some(expected), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_image_is_had_before_anything_is_measured() {
    let api = FakeApi::new(with(
        vec![
            json!([pod(json!({"phase": "Pending"}))]),
            // It need not serve: it may want variables that it does not have here.
            json!([pod(container(json!({"waiting": {"reason": "CrashLoopBackOff"}})))]),
            json!([]),
        ],
        json!([]),
    ));
    let run = PodRun::begun(&api.cluster("shop"), "abc", "r/s:1");
    let id = Server::image_id(&run, &order(), &|_| {}).await.unwrap();
    assert_eq!(id, "r/shop@sha256:ab");
    assert!(api.asked().contains(&format!("DELETE {DEPLOYMENTS}/stampede-abc-1")), "{:?}", api.asked());
}
