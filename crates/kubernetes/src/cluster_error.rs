//! What goes wrong with a cluster, and what to do then.

use std::error::Error;
use std::time::Duration;

use kube::config::KubeconfigError;
use kube::core::Status;
use thiserror::Error;

/// What goes wrong with a cluster, each with the fix.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClusterError {
    /// There is no kubeconfig, or it cannot be read.
    #[error(
        "there is no usable kubeconfig: {0}\n  put one at ~/.kube/config, or name it in KUBECONFIG; `kubectl config view` shows what is found"
    )]
    Kubeconfig(String),
    /// The kubeconfig names no context.
    #[error("the kubeconfig has no current context\n  give --kube-context NAME; it has {0}")]
    NoContext(String),
    /// It has no context of that name.
    #[error("the kubeconfig has no context {name:?}\n  it has {known}")]
    UnknownContext {
        /// The name.
        name: String,
        /// Those that it has.
        known: String,
    },
    /// The context is there and of no use.
    #[error("the context {context:?} cannot be used: {problem}\n  look at it with `kubectl config view --minify`")]
    Context {
        /// Its name.
        context: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Nobody answers.
    #[error(
        "the API server {address} is not reached: {problem}\n  look whether `kubectl version` answers: the cluster may be stopped, or need a VPN"
    )]
    Unreachable {
        /// Its address.
        address: String,
        /// What happened.
        problem: String,
    },
    /// 401.
    #[error(
        "the API server {address} does not accept the credentials of the context {context:?} (401): the token has expired, or was never valid\n  log in to the cluster again, so that `kubectl auth whoami` works"
    )]
    Unauthorized {
        /// The server's address.
        address: String,
        /// The context.
        context: String,
    },
    /// The namespace is not there.
    #[error(
        "the namespace {0:?} is not there\n  create it with `kubectl create namespace {0}`, or give --namespace another one"
    )]
    NoNamespace(String),
    /// Rights are missing: each one.
    #[error(
        "rights are missing in the namespace {namespace:?}: {}\n  have somebody apply the output of `stampede show kubernetes-role`", .missing.join(", ")
    )]
    Rights {
        /// Where.
        namespace: String,
        /// Verb and resource of each.
        missing: Vec<String>,
    },
    /// A quota or an admission rule is in the way.
    #[error("{0}\n  lower --generators, --threads, --cpus or --memory, or have the quota of the namespace raised")]
    Quota(String),
    /// The server refuses something else.
    #[error("{verb}: the API server answers {code}: {message}")]
    Refused {
        /// What was tried.
        verb: String,
        /// The status code.
        code: u16,
        /// Its words.
        message: String,
    },
    /// An image cannot be used.
    #[error(
        "the image of pod {pod} cannot be used: {problem}\n  give --generator-image one that the cluster's nodes can pull, with this version of `stampede`; kind, minikube and k3d can also load one"
    )]
    Image {
        /// The pod.
        pod: String,
        /// What the kubelet reports.
        problem: String,
    },
    /// A pod has no node.
    #[error(
        "no node has room for pod {pod} after {} s: {problem}\n  lower --generators or --threads, or add a node", .waited.as_secs()
    )]
    NoNode {
        /// The pod.
        pod: String,
        /// What the scheduler reports.
        problem: String,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The image of a case cannot be used.
    #[error(
        "the image {image} cannot be used (pod {pod}): {problem}\n  name one that the cluster's nodes can pull; kind, minikube and k3d can also load one"
    )]
    ServerImage {
        /// The image.
        image: String,
        /// The pod.
        pod: String,
        /// What the kubelet and its events report.
        problem: String,
    },
    /// A pod under test has no node.
    #[error(
        "no node has room for a deployment of {size} (pod {pod}) after {} s: {problem}\n  lower --cpus or --memory, or add a node", .waited.as_secs()
    )]
    NoRoom {
        /// The pod.
        pod: String,
        /// Its requests.
        size: String,
        /// What the scheduler reports: which resource.
        problem: String,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The autoscaler does not know what pods use.
    #[error(
        "the autoscaler does not know what pods use of their CPU after {} s: {problem}\n  look whether `kubectl top pods` works: the cluster needs metrics-server, or another that serves metrics.k8s.io", .waited.as_secs()
    )]
    NoMetrics {
        /// Its words.
        problem: String,
        /// How long it was waited for.
        waited: Duration,
    },
    /// A deployment cannot be removed.
    #[error("remove the deployment {name}: {problem}")]
    NotRemoved {
        /// The deployment.
        name: String,
        /// What is known.
        problem: String,
    },
    /// The node of a study that is resumed has no room, or is not there.
    #[error(
        "the study was measured on node {node}, which has no room for a deployment of {size} after {} s: {problem}\n  \
         resume it when that node is there and has room, or leave out --resume to begin another study",
        .waited.as_secs()
    )]
    NodeTaken {
        /// The node.
        node: String,
        /// What each deployment may use.
        size: String,
        /// The scheduler's words.
        problem: String,
        /// How long it was waited for.
        waited: Duration,
    },
    /// A pod did not come up.
    #[error("pod {pod} did not start: {problem}")]
    NotStarted {
        /// The pod, or the job whose pod is missing.
        pod: String,
        /// What is known.
        problem: String,
    },
    /// A program that was run in a pod, which itself had come up, did not do what it was asked to.
    #[error("a program in pod {pod} failed: {problem}")]
    InPod {
        /// The pod.
        pod: String,
        /// What is known.
        problem: String,
    },
    /// A service that cannot be loaded.
    #[error("the service {name}: {problem}")]
    Service {
        /// Its name.
        name: String,
        /// What is wrong, with the fix.
        problem: String,
    },
}

impl ClusterError {
    /// Whether it may pass: the server is away, or knows no rights yet, as one that has just begun.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Refused { code: 403 | 429 | 500..=599, .. })
    }
}

/// What an error of a kubeconfig is.
pub(crate) fn of_kubeconfig(error: &KubeconfigError, asked: Option<&str>, known: &[String]) -> ClusterError {
    let known = match known {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    match error {
        KubeconfigError::CurrentContextNotSet => ClusterError::NoContext(known),
        KubeconfigError::LoadContext(name) => ClusterError::UnknownContext { name: name.clone(), known },
        KubeconfigError::FindPath | KubeconfigError::ReadConfig(..) | KubeconfigError::Parse(_) => {
            // What shows a place in YAML has several lines.
            ClusterError::Kubeconfig(chain(error).split_whitespace().collect::<Vec<_>>().join(" "))
        }
        other => {
            ClusterError::Context { context: asked.unwrap_or("the current one").to_owned(), problem: chain(other) }
        }
    }
}

/// Where a request went, for what is said when it fails.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) address: String,
    pub(crate) context: String,
    pub(crate) namespace: String,
}

impl Place {
    /// What an error of a request is, which was to do what `verb` says.
    pub(crate) fn error(&self, verb: &str, error: &kube::Error) -> ClusterError {
        match error {
            kube::Error::Api(status) => self.refused(verb, status),
            kube::Error::Auth(problem) => {
                ClusterError::Context { context: self.context.clone(), problem: chain(problem) }
            }
            kube::Error::UpgradeConnection(problem) => {
                ClusterError::Refused { verb: verb.to_owned(), code: 0, message: chain(problem) }
            }
            other => ClusterError::Unreachable { address: self.address.clone(), problem: chain(other) },
        }
    }

    fn refused(&self, verb: &str, status: &Status) -> ClusterError {
        let Self { address, context, namespace } = self;
        let is_of_namespace = status.details.as_ref().is_some_and(|details| details.kind == "namespaces");
        match status.code {
            401 => ClusterError::Unauthorized { address: address.clone(), context: context.clone() },
            404 if is_of_namespace => ClusterError::NoNamespace(namespace.clone()),
            403 if is_quota(&status.message) => ClusterError::Quota(status.message.clone()),
            code => ClusterError::Refused { verb: verb.to_owned(), code, message: status.message.clone() },
        }
    }
}

/// Whether an API server's words are about a quota or a limit range.
pub(crate) fn is_quota(message: &str) -> bool {
    message.contains("exceeded quota") || message.contains("maximum cpu") || message.contains("maximum memory")
}

/// An error and its causes in one line, each once.
fn chain(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !words.contains(&text) {
            words = format!("{words}: {text}");
        }
        source = cause.source();
    }
    words
}
