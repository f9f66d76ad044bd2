//! The line over which the guardian's lease is renewed. It may break and is opened again: an API server that is away for less than a lease
//! ends nothing.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{AttachParams, ListParams};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::cluster::Cluster;
use crate::cluster_error::ClusterError;
use crate::guardian::LEASE;
use crate::labels::{PodRole, selector};
use crate::manifest::{CONTAINER, PROGRAM};
use crate::pod_state::PodState;

/// How often the lease is renewed: nine times before it ends, and before anything between cuts a line that is idle.
const RENEWAL: Duration = Duration::from_secs(5);

/// How long a renewal may take, and the opening of a line.
const ANSWER: Duration = Duration::from_secs(10);

/// Between two lines.
const PAUSE: Duration = Duration::from_secs(1);

/// Renews the lease of a run until it is dropped.
pub(crate) struct LeaseLine {
    /// When it was renewed last, once it was.
    renewed: watch::Receiver<Option<Instant>>,
    /// Why the last line broke, or could not be opened.
    problem: Arc<Mutex<String>>,
    _renewing: JoinSet<()>,
}

impl LeaseLine {
    pub(crate) fn open(cluster: Cluster, run: String) -> Self {
        let (tell, renewed) = watch::channel(None);
        let problem = Arc::new(Mutex::new(String::new()));
        let told = Arc::clone(&problem);
        let mut renewing = JoinSet::new();
        renewing.spawn(async move {
            loop {
                let broken = renew(&cluster, &run, &tell).await;
                *told.lock().unwrap_or_else(PoisonError::into_inner) = broken;
                sleep(PAUSE).await;
            }
        });
        Self { renewed, problem, _renewing: renewing }
    }

    /// One that nobody renews.
    pub(crate) fn none() -> Self {
        Self { renewed: watch::channel(None).1, problem: Arc::default(), _renewing: JoinSet::new() }
    }

    /// Waits until it was renewed for the first time.
    pub(crate) async fn begun(&self) -> Result<(), ClusterError> {
        let mut renewed = self.renewed.clone();
        let begun = timeout(LEASE, renewed.wait_for(Option::is_some)).await;
        match begun {
            Ok(Ok(_)) => Ok(()),
            _ => Err(ClusterError::NotStarted { pod: "of the guardian".to_owned(), problem: self.problem() }),
        }
    }

    /// What is wrong with it, where the guardian may have ended.
    pub(crate) fn is_over(&self) -> Option<String> {
        let since = (*self.renewed.borrow())?.elapsed();
        (since > LEASE).then(|| format!("its lease was not renewed for {} s: {}", since.as_secs(), self.problem()))
    }

    fn problem(&self) -> String {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Renews the lease over one line, and gives why it broke.
async fn renew(cluster: &Cluster, run: &str, tell: &watch::Sender<Option<Instant>>) -> String {
    let pods = ListParams::default().labels(&selector(run, PodRole::Guardian));
    let listed = match timeout(ANSWER, cluster.api::<Pod>().list(&pods)).await {
        Ok(Ok(listed)) => listed,
        Ok(Err(error)) => return cluster.error("list pods", &error).to_string(),
        Err(_) => return format!("the API server did not answer within {} s", ANSWER.as_secs()),
    };
    let running = listed.items.into_iter().find(|pod| matches!(PodState::of(pod), PodState::Running { .. }));
    let Some(name) = running.and_then(|pod| pod.metadata.name) else {
        return "its pod does not run".to_owned();
    };
    let how = AttachParams::default().container(CONTAINER).stdin(true).stdout(true).stderr(true);
    let api = cluster.api::<Pod>();
    let opened = timeout(ANSWER, api.exec(&name, [PROGRAM, "__guardian", "renew", run], &how)).await;
    let mut line = match opened {
        Ok(Ok(line)) => line,
        Ok(Err(error)) => return cluster.error("exec in the guardian", &error).to_string(),
        Err(_) => return format!("exec in the guardian did not begin within {} s", ANSWER.as_secs()),
    };
    let (Some(mut bytes), Some(mut answers), Some(mut errors)) = (line.stdin(), line.stdout(), line.stderr()) else {
        return "the line has no streams".to_owned();
    };
    loop {
        let renewal = async {
            bytes.write_all(b".").await?;
            bytes.flush().await?;
            answers.read_u8().await
        };
        match timeout(ANSWER, renewal).await {
            Ok(Ok(_)) => tell.send_replace(Some(Instant::now())),
            Ok(Err(error)) => {
                let mut said = String::new();
                // What it printed is a reason, where it had one.
                let _ = timeout(PAUSE, errors.read_to_string(&mut said)).await;
                return if said.is_empty() { error.to_string() } else { said.trim().to_owned() };
            }
            Err(_) => return format!("the guardian did not answer within {} s", ANSWER.as_secs()),
        };
        sleep(RENEWAL).await;
    }
}
