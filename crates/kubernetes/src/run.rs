//! A run: the guardian that owns everything else, and the line over which its lease is renewed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use kube::api::{DeleteParams, PostParams};

use crate::cluster::Cluster;
use crate::cluster_error::ClusterError;
use crate::labels::{PodRole, selector_labels};
use crate::lease_line::LeaseLine;
use crate::manifest;
use crate::waiting::{START, wait_for};

/// Letters of a run's name.
const LETTERS: usize = 8;

/// What one command makes in a namespace. When this is dropped, nobody renews its lease, and all of it ends with that; [`PodRun::end`] ends
/// it at once.
pub struct PodRun {
    pub(crate) cluster: Cluster,
    pub(crate) name: String,
    /// An image that has this same program as `stampede` on its search path.
    pub(crate) image: String,
    /// The guardian's uid.
    pub(crate) owner: String,
    /// The last bound of all of it.
    pub(crate) longest: Duration,
    lease: LeaseLine,
    parts: AtomicU32,
}

impl PodRun {
    /// Makes the guardian, of an image that has this same program as `stampede` on its search path. `note` is told what takes its time.
    ///
    /// # Errors
    ///
    /// When it does not run in time; it is removed then.
    pub async fn begin(
        cluster: &Cluster,
        image: &str,
        longest: Duration,
        note: &(dyn Fn(&str) + Sync),
    ) -> Result<Arc<Self>, ClusterError> {
        let name: String = (0..LETTERS).map(|_| fastrand::alphanumeric().to_ascii_lowercase()).collect();
        let guardian = manifest::guardian(&name, image, longest);
        let made = cluster.api::<Job>().create(&PostParams::default(), &guardian).await;
        let made = made.map_err(|error| cluster.error("create a job", &error))?;
        let begun = async {
            wait_for(cluster, &name, PodRole::Guardian, 1, |_| false, note).await?;
            let lease = LeaseLine::open(cluster.clone(), name.clone());
            lease.begun().await?;
            Ok(lease)
        };
        match begun.await {
            Ok(lease) => Ok(Arc::new(Self {
                cluster: cluster.clone(),
                name,
                image: image.to_owned(),
                owner: made.metadata.uid.unwrap_or_default(),
                longest,
                lease,
                parts: AtomicU32::new(0),
            })),
            Err(problem) => {
                // Why it did not start is worth more than why it could not be removed: its lease ends.
                let _ = remove(cluster, &name).await;
                Err(problem)
            }
        }
    }

    /// A run whose guardian somebody else has made, and whose lease nobody renews here: for tests.
    #[doc(hidden)]
    pub fn begun(cluster: &Cluster, name: &str, image: &str) -> Arc<Self> {
        Arc::new(Self {
            cluster: cluster.clone(),
            name: name.to_owned(),
            image: image.to_owned(),
            owner: String::new(),
            longest: Duration::ZERO,
            lease: LeaseLine::none(),
            parts: AtomicU32::new(0),
        })
    }

    /// The labels of its pods under test.
    pub fn server_labels(&self) -> BTreeMap<String, String> {
        selector_labels(&self.name, PodRole::Server)
    }

    /// Why the guardian may have ended, where it may.
    pub fn is_over(&self) -> Option<String> {
        self.lease.is_over()
    }

    /// Removes all of it.
    ///
    /// # Errors
    ///
    /// When the guardian cannot be removed; its lease ends all the same.
    pub async fn end(&self) -> Result<(), ClusterError> {
        remove(&self.cluster, &self.name).await
    }

    /// The same for whoever cannot wait for a future, on a connection of its own. Without a kubeconfig its lease ends it.
    pub fn end_now(&self) {
        let name = self.name.clone();
        // What cannot be removed ends with its lease.
        let _ = self.cluster.apart(async move |cluster: Cluster| remove(&cluster, &name).await);
    }

    /// A name for another part of it.
    pub(crate) fn next_part(&self) -> String {
        (self.parts.fetch_add(1, Ordering::Relaxed) + 1).to_string()
    }
}

/// How long pods may be there that take so long at most, once they have started.
pub(crate) fn bound(longest: Duration) -> Duration {
    longest + START * 2
}

/// Removes the guardian: the cluster removes what it owns.
async fn remove(cluster: &Cluster, run: &str) -> Result<(), ClusterError> {
    let name = manifest::guardian_name(run);
    let removed = cluster.api::<Job>().delete(&name, &DeleteParams::background()).await.map(drop);
    cluster.gone(removed, &format!("remove the job {name}"))
}
