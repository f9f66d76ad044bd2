//! A namespace of a cluster.

use std::time::Duration;

use kube::api::{ApiResource, DynamicObject};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};

use crate::cluster_error::{ClusterError, Place, of_kubeconfig};
use crate::rights::{self, Purpose};

/// How long an API server may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// Which cluster, and which namespace of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterAccess {
    /// The context of the kubeconfig; its current one by default.
    pub context: Option<String>,
    /// The namespace; the context's by default.
    pub namespace: Option<String>,
}

/// A namespace of a cluster.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    place: Place,
    /// How it was found, where a kubeconfig names it.
    access: Option<ClusterAccess>,
}

/// How long what is done on a connection of its own may take.
const APART: Duration = Duration::from_secs(10);

impl Cluster {
    /// The one that a kubeconfig names: the files of KUBECONFIG, or `~/.kube/config`. Asks the cluster nothing yet.
    ///
    /// # Errors
    ///
    /// When the kubeconfig has no such context, or cannot be read.
    pub async fn connect(access: &ClusterAccess) -> Result<Self, ClusterError> {
        let ClusterAccess { context, namespace } = access;
        let own_access = access.clone();
        let kubeconfig = Kubeconfig::read().map_err(|error| of_kubeconfig(&error, context.as_deref(), &[]))?;
        let known: Vec<String> = kubeconfig.contexts.iter().map(|named| named.name.clone()).collect();
        let name = context.clone().or_else(|| kubeconfig.current_context.clone()).filter(|name| !name.is_empty());
        let Some(name) = name else {
            return Err(of_kubeconfig(&kube::config::KubeconfigError::CurrentContextNotSet, None, &known));
        };
        let options = KubeConfigOptions { context: Some(name.clone()), ..KubeConfigOptions::default() };
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
        let mut config = config.map_err(|error| of_kubeconfig(&error, Some(&name), &known))?;
        config.connect_timeout = Some(CONNECT);
        let address = config.cluster_url.to_string();
        let namespace = namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        let place = Place { address, context: name, namespace };
        let client = Client::try_from(config).map_err(|error| place.error("connect", &error))?;
        Ok(Self { client, place, access: Some(own_access) })
    }

    /// One whose API a client answers for.
    pub fn of(client: Client, context: &str, namespace: &str) -> Self {
        let place =
            Place { address: "(given)".to_owned(), context: context.to_owned(), namespace: namespace.to_owned() };
        Self { client, place, access: None }
    }

    /// Does something on a connection of its own, in a thread of its own: whoever asks need not be able to wait for a future. Nothing where
    /// no kubeconfig names the cluster, or where it fails or takes too long.
    pub(crate) fn apart<T: Send, W: Future<Output = Result<T, ClusterError>>>(
        &self,
        work: impl FnOnce(Self) -> W + Send,
    ) -> Option<T> {
        let access = self.access.as_ref()?;
        std::thread::scope(|scope| {
            let working = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
                let done = runtime.block_on(async {
                    tokio::time::timeout(APART, async { work(Self::connect(access).await?).await }).await
                });
                done.ok()?.ok()
            });
            working.join().ok().flatten()
        })
    }

    /// The namespace.
    pub fn namespace(&self) -> &str {
        &self.place.namespace
    }

    /// The context.
    pub fn context(&self) -> &str {
        &self.place.context
    }

    /// Sees that whoever asks may do what is needed.
    ///
    /// # Errors
    ///
    /// When rights are missing, all of them named, or the server is not reached or accepts nobody.
    pub async fn check_rights(&self, purpose: Purpose) -> Result<(), ClusterError> {
        let namespace = self.namespace();
        let missing = rights::missing(&self.client, namespace, purpose).await;
        let missing = missing.map_err(|error| self.error("ask for rights", &error))?;
        if missing.is_empty() {
            return Ok(());
        }
        Err(ClusterError::Rights { namespace: namespace.to_owned(), missing })
    }

    /// The API of a kind of objects in the namespace.
    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), self.namespace())
    }

    /// The same of a kind that only some clusters have.
    pub(crate) fn dynamic(&self, resource: &ApiResource) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), self.namespace(), resource)
    }

    /// What it is that it did not answer for so long.
    pub(crate) fn silent(&self, waited: Duration) -> ClusterError {
        let problem = format!("it did not answer within {} s", waited.as_secs());
        ClusterError::Unreachable { address: self.place.address.clone(), problem }
    }

    pub(crate) fn error(&self, verb: &str, error: &kube::Error) -> ClusterError {
        self.place.error(verb, error)
    }
}
