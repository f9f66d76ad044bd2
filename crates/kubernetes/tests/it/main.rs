//! A cluster whose API is answered in this process.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod fake_api;
mod scaled;
mod servers;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use stampede_kubernetes::{ClusterError, GeneratorOrder, PodRun, Pods, Purpose, RoleSubject, role};

use crate::fake_api::FakeApi;

const JOBS: &str = "/apis/batch/v1/namespaces/shop/jobs";
const PODS: &str = "/api/v1/namespaces/shop/pods";
const EVENTS: &str = "/api/v1/namespaces/shop/events";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/shop/deployments";
const SERVICES: &str = "/api/v1/namespaces/shop/services";
const AUTOSCALERS: &str = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

fn order() -> GeneratorOrder {
    GeneratorOrder {
        image: "r/s:1".to_owned(),
        count: 2,
        cpus: 1.0,
        avoid: BTreeMap::new(),
        longest: Duration::from_secs(60),
    }
}

fn failure(code: u16, message: &str, kind: &str) -> (u16, Value) {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message,
        "reason": "", "code": code, "details": {"kind": kind}});
    (code, status)
}

fn list(items: Value) -> (u16, Value) {
    (200, json!({"metadata": {}, "items": items}))
}

/// What comes of a start, and what the API was asked: methods and paths.
async fn start(
    answer: impl Fn(&str, &str, &Value) -> (u16, Value) + Send + Sync + 'static,
) -> (ClusterError, Vec<String>, Vec<String>) {
    let api = FakeApi::new(answer);
    let notes = Mutex::new(Vec::new());
    let note = |words: &str| notes.lock().unwrap().push(words.to_owned());
    let error = Pods::start(&api.cluster("shop"), &order(), &note).await.err().unwrap();
    (error, api.asked(), notes.into_inner().unwrap())
}

#[tokio::test]
async fn missing_rights_are_named_all_at_once() {
    let api = FakeApi::new(|_, path, body| {
        assert_eq!(path, REVIEWS);
        let what = &body["spec"]["resourceAttributes"];
        assert_eq!(what["namespace"], "shop");
        let is_denied = what["verb"] == "create" || what["resource"] == "endpointslices";
        (201, json!({"metadata": {}, "spec": {}, "status": {"allowed": !is_denied}}))
    });
    let error = api.cluster("shop").check_rights(Purpose::Load).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "rights are missing in the namespace \"shop\": create jobs, create pods/exec, list endpointslices\n  have somebody \
         apply the output of `stampede show kubernetes-role`"
    );
    assert_eq!(api.asked().len(), 10);
    let error = api.cluster("shop").check_rights(Purpose::Deployments).await.unwrap_err();
    let words = "create jobs, create pods/exec, list endpointslices, create deployments\n";
    assert!(error.to_string().contains(words), "{error}");
    let api = FakeApi::new(|_, _, _| (201, json!({"metadata": {}, "spec": {}, "status": {"allowed": true}})));
    api.cluster("shop").check_rights(Purpose::Load).await.unwrap();
}

#[tokio::test]
async fn an_api_that_accepts_nobody_or_does_not_answer_is_reported_with_the_fix() {
    let api = FakeApi::new(|_, _, _| failure(401, "Unauthorized", ""));
    let error = api.cluster("shop").check_rights(Purpose::Load).await.unwrap_err().to_string();
    assert!(error.contains("(401): the token has expired") && error.contains("log in to the cluster again"), "{error}");
    let error = FakeApi::silent("shop").check_rights(Purpose::Load).await.unwrap_err().to_string();
    assert!(error.contains("is not reached: ") && error.contains("connection refused"), "{error}");
    let (error, asked, _) = start(|_, _, _| failure(404, "namespaces \"shop\" not found", "namespaces")).await;
    assert_eq!(error, ClusterError::NoNamespace("shop".to_owned()));
    assert_eq!(asked, [format!("POST {JOBS}")]);
}

/// Answers with these pods and events, and takes jobs.
fn with(pods: Value, events: Value) -> impl Fn(&str, &str, &Value) -> (u16, Value) + Send + Sync {
    move |method, path, body| match (method, path) {
        ("POST", JOBS) => {
            let mut job = body.clone();
            job["metadata"]["uid"] = json!("the-uid");
            (201, job)
        }
        ("GET", PODS) => list(pods.clone()),
        ("GET", EVENTS) => list(events.clone()),
        ("DELETE", _) => (200, json!({"kind": "Status", "apiVersion": "v1", "status": "Success"})),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn what_does_not_start_is_named_and_removed() {
    let pod = |status: Value| json!([{"metadata": {"name": "g-1"}, "spec": {"containers": []}, "status": status}]);
    let waiting = |reason: &str| {
        pod(
            json!({"phase": "Pending", "containerStatuses": [{"name": "stampede", "image": "", "imageID": "", "ready": false,
            "restartCount": 0, "state": {"waiting": {"reason": reason, "message": "its words"}}}]}),
        )
    };
    let no_room = pod(json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
        "reason": "Unschedulable", "message": "0/3 nodes are available: 3 Insufficient cpu."}]}));
    for (name, pods, expected, notes) in [
        ("image", waiting("ImagePullBackOff"), "the image of pod g-1 cannot be used: ImagePullBackOff: its words", 0),
        ("program", waiting("RunContainerError"), "pod g-1 did not start: RunContainerError: its words", 0),
        (
            "no program",
            // As containerd 1.6 with runc reports it.
            pod(
                json!({"phase": "Failed", "containerStatuses": [{"name": "stampede", "image": "", "imageID": "", "ready": false,
                "restartCount": 0, "state": {"terminated": {"exitCode": 128, "reason": "StartError",
                "message": "unable to start container process: exec: \"stampede\": executable file not found in $PATH: unknown"}}}]}),
            ),
            "the image of pod g-1 cannot be used: StartError: unable to start container process: exec: \"stampede\": executable",
            0,
        ),
        (
            "evicted",
            pod(json!({"phase": "Failed", "reason": "Evicted", "message": "low on memory"})),
            "pod g-1 did not start: Evicted: low on memory",
            0,
        ),
        (
            "no node",
            no_room,
            "no node has room for pod g-1 after 180 s: 0/3 nodes are available: 3 Insufficient cpu.",
            1,
        ),
        ("nothing happens", json!([]), "pod of a guardian did not start: 0 of 1 run after 180 s", 0),
    ] {
        let (error, asked, noted) = start(with(pods, json!([]))).await;
        assert!(error.to_string().starts_with(expected), "{name}: {error}");
        assert!(asked.last().unwrap().starts_with(&format!("DELETE {JOBS}/stampede-")), "{name}: {asked:?}");
        assert_eq!(noted.len(), notes, "{name}: {noted:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn generators_are_beside_what_they_load_only_where_no_other_node_has_room() {
    let pod = |number: usize, status: &Value| {
        json!({"metadata": {"name": format!("g-{number}")}, "spec": {"nodeName": format!("node-{number}"), "containers": []},
            "status": status})
    };
    let both = move |status: Value| json!([pod(1, &status), pod(2, &status)]);
    let running =
        both(json!({"phase": "Running", "containerStatuses": [{"name": "stampede", "image": "", "imageID": "",
        "ready": true, "restartCount": 0, "state": {"running": {}}}]}));
    let waiting = |words: &str| {
        both(json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
            "reason": "Unschedulable", "message": words}]}))
    };
    let crowded = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod anti-affinity rules.";
    for (name, first, jobs, notes) in
        [("other nodes", running.clone(), 1, 0), ("no other node", waiting(crowded), 2, 1)]
    {
        let asked = Arc::new(Mutex::new((Vec::new(), false)));
        let seen = Arc::clone(&asked);
        let running = running.clone();
        let api = FakeApi::new(move |method, path, body| {
            let mut asked = seen.lock().unwrap();
            match (method, path) {
                ("POST", JOBS) => {
                    *asked = ([&asked.0[..], &[body["spec"]["template"]["spec"]["affinity"].clone()]].concat(), false);
                    (201, body.clone())
                }
                ("DELETE", _) => {
                    asked.1 = true;
                    (200, json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}))
                }
                ("GET", PODS) => list(match (asked.0.len(), asked.1) {
                    (_, true) => json!([]),
                    (1, false) => first.clone(),
                    (_, false) => running.clone(),
                }),
                other => panic!("{other:?}"),
            }
        });
        let run = PodRun::begun(&api.cluster("shop"), "abc", "r/s:1");
        let noted = Mutex::new(Vec::new());
        let note = |words: &str| noted.lock().unwrap().push(words.to_owned());
        let order = GeneratorOrder { avoid: run.server_labels(), ..order() };
        Pods::start_in(&run, &order, &note).await.unwrap();
        let affinities = asked.lock().unwrap().0.clone();
        let kinds =
            ["requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"];
        assert_eq!((affinities.len(), noted.lock().unwrap().len()), (jobs, notes), "{name}");
        for (affinity, kind) in affinities.iter().zip(kinds) {
            assert_eq!(affinity["podAntiAffinity"].as_object().unwrap().keys().collect::<Vec<_>>(), [kind], "{name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_quota_is_reported_with_its_words() {
    let refused = "pods \"x\" is forbidden: exceeded quota: small, requested: limits.cpu=50m, limited: limits.cpu=1";
    let made = Mutex::new(String::new());
    let api = FakeApi::new(move |method, path, body| match (method, path) {
        ("GET", EVENTS) => {
            let of = |job: &str| {
                json!({"metadata": {}, "involvedObject": {"kind": "Job", "name": job},
                "reason": "FailedCreate", "message": format!("{job}: {refused}")})
            };
            list(json!([of("another"), of(&made.lock().unwrap())]))
        }
        _ => {
            if method == "POST" {
                *made.lock().unwrap() = body["metadata"]["name"].as_str().unwrap().to_owned();
            }
            with(json!([]), json!([]))(method, path, body)
        }
    });
    let error = Pods::start(&api.cluster("shop"), &order(), &|_| {}).await.err().unwrap();
    let is_ours = |words: &str| words.starts_with("stampede-") && words.ends_with(refused);
    assert!(matches!(&error, ClusterError::Quota(words) if is_ours(words)), "{error}");
}

#[tokio::test]
async fn what_is_left_is_found_by_its_label_and_removed() {
    let api = FakeApi::new(|method, path, _| match (method, path) {
        ("GET", JOBS) => list(json!([{"metadata": {"name": "stampede-a", "creationTimestamp": "2026-11-26T09:00:00Z",
            "labels": {"stampede/run": "a", "stampede/role": "guardian"}}}])),
        ("GET", PODS) => list(json!([{"metadata": {"name": "lost", "labels": {"stampede/run": "b"}}}])),
        ("GET", DEPLOYMENTS) => failure(403, "deployments.apps is forbidden", "deployments"),
        ("GET", SERVICES) => list(json!([{"metadata": {"name": "stampede-a-1", "labels": {"stampede/run": "a"}}}])),
        ("GET", AUTOSCALERS) => list(json!([{"metadata": {"name": "stampede-c-1", "labels": {"stampede/run": "c"}}}])),
        // It is gone already.
        ("DELETE", path) if path.ends_with("/lost") => failure(404, "pods \"lost\" not found", "pods"),
        _ => (200, json!({"kind": "Status", "apiVersion": "v1", "status": "Success"})),
    });
    let now: Timestamp = "2026-11-26T10:00:00Z".parse().unwrap();
    let found = api.cluster("shop").leftovers(now).await.unwrap();
    let names: Vec<_> = found.iter().map(|left| (left.run.as_str(), left.is_held)).collect();
    assert_eq!(names, [("a", false), ("b", false), ("c", false)]);
    for leftover in &found {
        api.cluster("shop").remove(leftover).await.unwrap();
    }
    let removed = [
        format!("DELETE {JOBS}/stampede-a"),
        format!("DELETE {SERVICES}/stampede-a-1"),
        format!("DELETE {PODS}/lost"),
        format!("DELETE {AUTOSCALERS}/stampede-c-1"),
    ];
    assert_eq!(api.asked()[5..], removed);
}

#[test]
fn the_role_has_what_is_checked() {
    let role = role("shop", RoleSubject::User("jane".to_owned())).unwrap();
    insta::assert_snapshot!(role);
}
