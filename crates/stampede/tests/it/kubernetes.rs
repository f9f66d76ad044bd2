//! Clusters that are not there, or refuse: what is printed, before anything is made. What needs a cluster is in tests/cluster.

use std::fs;

use serde_json::{Value, json};

use crate::answerer::{Asked, answer};
use crate::stage::{Said, Stage};

const LOAD: [&str; 6] =
    ["load", "http://web.shop.svc/", "--generators", "kubernetes:2", "--generator-image", "r.example/stampede:1"];

/// A stage whose kubeconfig leads to this address.
fn stage(server: &str) -> Stage {
    let stage = Stage::new();
    let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "of-yesterday"}}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "shop"}}]});
    fs::write(stage.home().join("kubeconfig"), kubeconfig.to_string()).unwrap();
    stage
}

fn run(stage: &Stage, args: &[&str]) -> Said {
    let kubeconfig = stage.home().join("kubeconfig");
    stage.run_with(&[("KUBECONFIG", kubeconfig.to_str().unwrap())], args)
}

fn failure(code: u16, message: &str) -> (u16, Value) {
    (code, json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code}))
}

/// An API that answers by this.
fn api(by: impl Fn(&Asked) -> (u16, Value) + Send + 'static) -> String {
    answer(move |asked| {
        let (code, body) = by(asked);
        (code, body.to_string().into_bytes())
    })
}

#[test]
fn what_is_wrong_with_a_cluster_is_printed_with_the_fix() {
    let refuses = api(|_| failure(401, "Unauthorized"));
    let denies = api(|asked| {
        let allowed = !asked.body.contains("exec");
        (201, json!({"metadata": {}, "spec": {}, "status": {"allowed": allowed}}))
    });
    for (name, server, more, expected) in [
        ("nobody listens", "https://127.0.0.1:1", &[][..], "the API server https://127.0.0.1:1/ is not reached: "),
        (
            "expired",
            &refuses,
            &[],
            "does not accept the credentials of the context \"here\" (401): the token has expired",
        ),
        (
            "rights",
            &denies,
            &[],
            "rights are missing in the namespace \"shop\": create pods/exec, get pods/exec\n  have somebody apply the \
             output of `stampede show kubernetes-role`",
        ),
        ("context", &denies, &["--kube-context", "there"], "the kubeconfig has no context \"there\"\n  it has here"),
    ] {
        let said = run(&stage(server), &[&LOAD[..], more].concat());
        assert!(said.stderr.contains(expected), "{name}: {said:?}");
        assert_eq!(said.code, Some(3), "{name}: {said:?}");
        assert!(said.stdout.is_empty(), "{name}: {said:?}");
    }
    let stage = Stage::new();
    let said = run(&stage, &LOAD);
    assert!(said.stderr.contains("there is no usable kubeconfig: "), "{said:?}");
    assert_eq!(said.code, Some(3), "{said:?}");
}

#[test]
fn flags_of_pods_belong_together() {
    for (name, args, expected) in [
        ("no image", &LOAD[..4], "give --generator-image REGISTRY/stampede:TAG"),
        ("no pods", &["load", "http://127.0.0.1:1/", "--namespace", "shop"], "--namespace belongs to pods"),
        (
            "no pods of a size",
            &["load", "http://127.0.0.1:1/", "--generators", "local:2", "--generator-cpus", "1"],
            "--generator-cpus belongs to pods",
        ),
        (
            "no processors",
            &[&LOAD[..], &["--generator-cpus", "0"]].concat(),
            "--generator-cpus 0 is not a number of processors; for example 0.5",
        ),
        (
            "servers here",
            &["compare", "markdown", "--generators", "kubernetes"],
            "has pods of a cluster, and the servers are on this machine",
        ),
        ("a cluster that is not cleaned", &["clean", "--namespace", "shop"], "give --platform kubernetes"),
    ] {
        let said = Stage::new().run(args);
        assert!(said.stderr.contains(expected), "{name}: {said:?}");
        assert_eq!(said.code, Some(2), "{name}: {said:?}");
    }
}

#[test]
fn what_loads_left_is_listed_and_removed() {
    let api = api(|asked| match asked.method.as_str() {
        "DELETE" => (200, json!({"kind": "Status", "apiVersion": "v1", "status": "Success"})),
        _ if asked.path.contains("/jobs") => {
            let job = |run: &str, role: &str| {
                json!({"metadata": {"name": format!("stampede-{run}"), "creationTimestamp": "2026-11-26T09:00:00Z",
                    "labels": {"stampede/run": run, "stampede/role": role}}})
            };
            (200, json!({"metadata": {}, "items": [job("dead", "guardian"), job("held", "guardian")]}))
        }
        _ if asked.path.contains("/services") => (200, json!({"metadata": {}, "items": []})),
        _ if asked.path.contains("/deployments") || asked.path.contains("/horizontalpodautoscalers") => {
            let labels = json!({"stampede/run": "dead", "stampede/role": "server"});
            (200, json!({"metadata": {}, "items": [{"metadata": {"name": "stampede-dead-1", "labels": labels}}]}))
        }
        _ => {
            let pod = json!({"metadata": {"name": "p", "labels": {"stampede/run": "held", "stampede/role": "guardian"},
                "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "stampede-held", "uid": "1"}]},
                "status": {"phase": "Running", "containerStatuses": [{"name": "stampede", "image": "", "imageID": "",
                    "ready": true, "restartCount": 0, "state": {"running": {}}}]}});
            (200, json!({"metadata": {}, "items": [pod]}))
        }
    });
    let said = run(&stage(&api), &["clean", "--platform", "kubernetes"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(
        said.stderr,
        "removed load dead: job stampede-dead, deployment stampede-dead-1, horizontalpodautoscaler stampede-dead-1\nleft alone: load held: \
         job stampede-held; its guardian removes it at the end of its lease\n",
        "{said:?}"
    );
}
