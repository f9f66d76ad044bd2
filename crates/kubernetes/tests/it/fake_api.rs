//! An API that a function answers.

use std::sync::{Arc, Mutex};

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use stampede_kubernetes::Cluster;
use tower::service_fn;

type Answer = dyn Fn(&str, &str, &Value) -> (u16, Value) + Send + Sync;

/// An API that a function answers: of a method, a path and a body, a status code and a body.
#[derive(Clone)]
pub(crate) struct FakeApi {
    answer: Arc<Answer>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl FakeApi {
    pub(crate) fn new(answer: impl Fn(&str, &str, &Value) -> (u16, Value) + Send + Sync + 'static) -> Self {
        Self { answer: Arc::new(answer), asked: Arc::default() }
    }

    /// The cluster of it.
    pub(crate) fn cluster(&self, namespace: &str) -> Cluster {
        let api = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let api = api.clone();
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect_bytes().await?;
                let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).unwrap() };
                let (method, path) = (head.method.as_str(), head.uri.path());
                api.asked.lock().unwrap().push(format!("{method} {path}"));
                let (code, answer) = (api.answer)(method, path, &body);
                let bytes = serde_json::to_vec(&answer).unwrap();
                Ok::<_, kube::Error>(Response::builder().status(code).body(Body::from(bytes)).unwrap())
            }
        });
        Cluster::of(Client::new(service, namespace), "test", namespace)
    }

    /// The cluster of one where nobody listens.
    pub(crate) fn silent(namespace: &str) -> Cluster {
        let service = service_fn(|_: Request<Body>| async {
            Err::<Response<Body>, _>(std::io::Error::from(std::io::ErrorKind::ConnectionRefused))
        });
        Cluster::of(Client::new(service, namespace), "test", namespace)
    }

    /// What it was asked: methods and paths.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}
