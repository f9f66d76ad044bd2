//! What this program says when it is started in a pod under test: what the container is held to, and what the node is.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use serde_json::to_string;
use stampede_vantage::Here;

/// What a container writes there is in its pod's status when it has ended.
/// <https://kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure/>
const TERMINATION_LOG: &str = "/dev/termination-log";

/// Puts this program where a container of another image sees it, and says in the pod's status how it is started there.
///
/// # Errors
///
/// When a file cannot be read or written.
pub fn put(folder: &Path) -> io::Result<()> {
    let command = to_string(&stampede_kubernetes::put(folder)?)?;
    fs::write(TERMINATION_LOG, command)
}

/// What the container is, in JSON, once a server listens in it.
///
/// # Errors
///
/// When the kernel's files cannot be read.
pub async fn look_around(address: IpAddr, port: Option<u16>, patience: Duration) -> Result<String, String> {
    let look = stampede_platforms::look_around(&*Here::new(), address, port, patience).await?;
    to_string(&look).map_err(|error| error.to_string())
}

/// What the node is, in JSON.
///
/// # Errors
///
/// When it cannot be written.
pub fn node() -> Result<String, String> {
    to_string(&stampede_platforms::node()).map_err(|error| error.to_string())
}
