//! Processes beside those of a pod, and what they send.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{AttachParams, AttachedProcess};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::cluster::Cluster;
use crate::cluster_error::ClusterError;

/// What a stream holds at once: a frame of an agent.
const BUFFER: usize = 64 << 10;

/// What is kept of what an agent writes to standard error: the end.
const KEPT: usize = 2000;

/// An agent in a pod.
pub struct AgentStream {
    /// The pod that it runs in.
    pub pod: String,
    /// The node of that pod.
    pub node: String,
    /// What it sends.
    pub output: Box<dyn AsyncRead + Unpin + Send>,
    /// What it is sent.
    pub input: Box<dyn AsyncWrite + Unpin + Send>,
    /// What it wrote to standard error, and why its pod ended; holds the stream open.
    pub said: Box<dyn Fn() -> String + Send + Sync>,
}

/// Why the pod of a stream has ended, where it has.
pub(crate) type Ended = Box<dyn Fn() -> Option<String> + Send + Sync>;

/// Starts an agent in a container of a pod.
pub(crate) async fn agent(
    cluster: &Cluster,
    (pod, node): (&str, &str),
    container: &str,
    command: Vec<String>,
    ended: Ended,
) -> Result<AgentStream, ClusterError> {
    let how = AttachParams::default().container(container).stdin(true).stdout(true).stderr(true);
    let how = how.max_stdin_buf_size(BUFFER).max_stdout_buf_size(BUFFER);
    let begun = cluster.api::<Pod>().exec(pod, command, &how).await;
    let process = begun.map_err(|error| cluster.error(&format!("exec in {pod}"), &error))?;
    stream(pod, node, process, ended).ok_or_else(|| nothing(pod))
}

/// Runs a program in a container of a pod for so long at most, which reads this input, and gives what it printed.
///
/// # Errors
///
/// What it wrote to standard error, where it did not end with success in that time.
pub(crate) async fn ask(
    cluster: &Cluster,
    pod: &str,
    container: &str,
    (command, input): (Vec<String>, &str),
    limit: Duration,
) -> Result<String, ClusterError> {
    let how = AttachParams::default().container(container).stdin(!input.is_empty()).stdout(true).stderr(true);
    let failed = |problem: String| ClusterError::InPod { pod: pod.to_owned(), problem };
    let asked = async {
        let begun = cluster.api::<Pod>().exec(pod, command, &how).await;
        let mut process = begun.map_err(|error| cluster.error(&format!("exec in {pod}"), &error))?;
        let (Some(mut output), Some(mut errors), Some(status)) =
            (process.stdout(), process.stderr(), process.take_status())
        else {
            return Err(nothing(pod));
        };
        // Who ends before it has read all says why, and nobody waits for the rest.
        let mut writing = JoinSet::new();
        if let Some(mut reader) = process.stdin() {
            let input = input.to_owned();
            writing.spawn(async move {
                let _ = reader.write_all(input.as_bytes()).await;
                let _ = reader.shutdown().await;
            });
        }
        let (mut printed, mut said) = (String::new(), String::new());
        let read = tokio::try_join!(output.read_to_string(&mut printed), errors.read_to_string(&mut said));
        read.map_err(|error| failed(error.to_string()))?;
        let ended = status.await;
        // Who ends with success has a status without a reason; who is cut off has none.
        match ended.as_ref().map(|status| status.status.as_deref()) {
            Some(Some("Success")) => Ok(printed),
            _ if !said.trim().is_empty() => Err(failed(said.trim().to_owned())),
            _ => {
                let words = ended.and_then(|status| status.message);
                Err(failed(words.unwrap_or_else(|| "its output ended".to_owned())))
            }
        }
    };
    match timeout(limit, asked).await {
        Ok(answer) => answer,
        Err(_) => Err(failed(format!("it did not end within {} s", limit.as_secs()))),
    }
}

fn nothing(pod: &str) -> ClusterError {
    ClusterError::InPod { pod: pod.to_owned(), problem: "exec gave no streams".to_owned() }
}

fn stream(pod: &str, node: &str, mut process: AttachedProcess, ended: Ended) -> Option<AgentStream> {
    let (input, output, mut errors) = (process.stdin()?, process.stdout()?, process.stderr()?);
    let written = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&written);
    let mut listening = JoinSet::new();
    listening.spawn(async move {
        let mut buffer = [0; 1024];
        while let Ok(count) = errors.read(&mut buffer).await
            && count > 0
        {
            let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
            heard.extend_from_slice(&buffer[..count]);
            let excess = heard.len().saturating_sub(KEPT);
            heard.drain(..excess);
        }
    });
    let (name, place) = (pod.to_owned(), node.to_owned());
    let held = (process, listening);
    let said = move || {
        let (_process, _listening) = &held;
        match ended() {
            Some(why) => format!("pod {name} on node {place}: {why}"),
            None => {
                let written = written.lock().unwrap_or_else(PoisonError::into_inner);
                String::from_utf8_lossy(&written).trim().to_owned()
            }
        }
    };
    Some(AgentStream {
        pod: pod.to_owned(),
        node: node.to_owned(),
        output: Box::new(output),
        input: Box::new(input),
        said: Box::new(said),
    })
}
