//! Services that the cluster scales.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use stampede_kubernetes::{ClusterError, PodRun, ScaledOrder, ScaledServer, ServerOrder};

use crate::fake_api::FakeApi;
use crate::{AUTOSCALERS, DEPLOYMENTS, PODS, SERVICES, failure, list};

const METRICS: &str = "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods";

fn order() -> ScaledOrder {
    ScaledOrder {
        server: ServerOrder {
            image: "shop:2".to_owned(),
            command: Vec::new(),
            args: Vec::new(),
            env: Default::default(),
            replicas: 1,
            cpu_millis: 500,
            memory: 256 << 20,
            empty: Vec::new(),
            node: None,
            grace: Duration::from_secs(10),
        },
        most: 4,
        cpu_percent: 50,
        port: 8080,
        ready_path: Some("/".to_owned()),
    }
}

/// A pod that runs, and is ready.
fn ready(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"nodeName": "node-7", "containers": []}, "status": {"phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [{"name": "server", "image": "",
            "imageID": "", "ready": true, "restartCount": 0, "state": {"running": {}}}]}})
}

/// Answers with these pods, and with what the autoscaler is; takes all that is made and removed. The n-th list of pods is the n-th here,
/// and all after those the last; pods are gone once the deployment is.
fn with(pods: Vec<Value>, status: Value) -> impl Fn(&str, &str, &Value) -> (u16, Value) + Send + Sync {
    let (asked, is_gone) = (AtomicUsize::new(0), Mutex::new(false));
    move |method, path, body| match (method, path) {
        ("POST", DEPLOYMENTS | AUTOSCALERS) => (201, body.clone()),
        ("POST", SERVICES) => {
            let mut service = body.clone();
            service["spec"]["clusterIP"] = json!("10.96.0.7");
            (201, service)
        }
        ("GET", PODS) if *is_gone.lock().unwrap() => list(json!([])),
        ("GET", PODS) => {
            let number = asked.fetch_add(1, Ordering::SeqCst).min(pods.len() - 1);
            list(pods[number].clone())
        }
        ("GET", AUTOSCALERS) => list(json!([{"metadata": {"name": "a"}, "status": status}])),
        ("GET", METRICS) => list(json!([{"metadata": {"name": "web-1"}, "timestamp": "2026-11-28T10:00:00Z",
            "containers": [{"name": "server", "usage": {"cpu": "250m"}}]}])),
        ("DELETE", path) => {
            *is_gone.lock().unwrap() |= path.starts_with(DEPLOYMENTS);
            (200, json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}))
        }
        other => panic!("{other:?}"),
    }
}

fn at_work(wanted: u32, percent: u32) -> Value {
    json!({"desiredReplicas": wanted, "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu",
        "current": {"averageUtilization": percent}}}], "conditions": [{"type": "ScalingActive", "status": "True"}]})
}

async fn start(
    answer: impl Fn(&str, &str, &Value) -> (u16, Value) + Send + Sync + 'static,
) -> (Result<ScaledServer, ClusterError>, FakeApi) {
    let api = FakeApi::new(answer);
    let run = PodRun::begun(&api.cluster("shop"), "abc", "r/s:1");
    (ScaledServer::start(&run, &order(), &|_| ()).await, api)
}

/// What was removed, in order.
fn removed(api: &FakeApi) -> Vec<String> {
    api.asked().into_iter().filter_map(|asked| asked.strip_prefix("DELETE ").map(str::to_owned)).collect()
}

fn all_of_it() -> [String; 3] {
    [AUTOSCALERS, SERVICES, DEPLOYMENTS].map(|kind| format!("{kind}/stampede-abc-1"))
}

#[tokio::test(start_paused = true)]
async fn a_service_is_loaded_by_its_own_address_and_its_pods_are_seen_to_come() {
    let pods =
        vec![json!([]), json!([ready("web-1")]), json!([ready("web-1")]), json!([ready("web-1"), ready("web-2")])];
    let (started, api) = start(with(pods, at_work(2, 90))).await;
    let server = started.unwrap();
    assert_eq!(server.address().to_string(), "10.96.0.7:8080");
    tokio::time::sleep(Duration::from_secs(20)).await;
    let seen = server.seen();
    let names: Vec<_> = seen.pods.iter().map(|pod| (pod.name.as_str(), pod.ready.is_some(), pod.uses.len())).collect();
    assert_eq!(names, [("web-1", true, 1), ("web-2", true, 0)]);
    assert!(seen.pods[1].made > seen.pods[0].made);
    let decisions: Vec<_> = seen.decisions.iter().map(|one| (one.wanted, one.percent)).collect();
    assert_eq!(decisions, [(2, Some(90))]);
    server.end().await.unwrap();
    assert_eq!(removed(&api), all_of_it(), "first who would start pods again");
}

#[tokio::test(start_paused = true)]
async fn what_keeps_a_service_from_its_begin_is_told_and_all_of_it_is_removed() {
    let unready = json!({"desiredReplicas": 0, "conditions": [{"type": "ScalingActive", "status": "False",
        "reason": "FailedGetResourceMetric", "message": "the server could not find the requested resource"}]});
    let mut broken = ready("web-1");
    broken["status"] = json!({"phase": "Pending", "containerStatuses": [{"name": "server", "image": "", "imageID": "",
        "ready": false, "restartCount": 0, "state": {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}}]});
    let unplaced = json!({"metadata": {"name": "web-1"}, "spec": {"containers": []}, "status": {"phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}]}});
    for (pod, status, expected) in [
        (
            ready("web-1"),
            unready,
            "the autoscaler does not know what pods use of their CPU after 180 s: the server could not find the requested \
             resource\n  look whether `kubectl top pods` works",
        ),
        (broken, at_work(1, 10), "pod web-1 did not start: ImagePullBackOff: not found"),
        (unplaced, at_work(1, 10), "pod of stampede-abc-1 did not start: 0 of 1 pods are ready: 0/3 nodes"),
    ] {
        let (started, api) = start(with(vec![json!([pod])], status)).await;
        let problem = started.unwrap_err().to_string();
        assert!(problem.starts_with(expected), "{problem}");
        assert_eq!(removed(&api), all_of_it(), "{expected}");
    }
    let answer = with(vec![json!([ready("web-1")])], at_work(1, 10));
    let (started, _) = start(move |method, path, body| match (method, path) {
        ("POST", AUTOSCALERS) => failure(403, "horizontalpodautoscalers is forbidden", "horizontalpodautoscalers"),
        _ => answer(method, path, body),
    })
    .await;
    let problem = started.unwrap_err().to_string();
    assert!(problem.contains("create a horizontalpodautoscaler"), "{problem}");
}
