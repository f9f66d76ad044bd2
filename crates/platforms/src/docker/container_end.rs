//! How a container has ended, and what it printed.

use bollard::Docker;
use bollard::models::ContainerState;
use bollard::query_parameters::LogsOptions;
use futures_util::StreamExt as _;
use stampede_seam::LogTail;

use super::engine::api;
use super::error::DockerError;
use crate::log_tail::with_log;
use crate::units::end::End;

/// How many lines of what a container printed are read.
const LOG_LINES: &str = "400";

/// How a container has ended; nothing as long as it runs.
pub(super) async fn end_of(docker: &Docker, container: &str) -> Result<Option<String>, DockerError> {
    let told = docker.inspect_container(container, None).await.map_err(api("inspect a container"))?;
    let Some(ContainerState { running, exit_code, oom_killed, error, .. }) = told.state else { return Ok(None) };
    if running == Some(true) {
        return Ok(None);
    }
    let mut how = End::told(exit_code).to_string();
    if oom_killed == Some(true) {
        how += ", its processes killed at the memory limit";
    }
    if let Some(error) = error.filter(|error| !error.is_empty()) {
        how = format!("{how}: {error}");
    }
    Ok(Some(how))
}

/// That a container has ended, with the end of what it printed; nothing as long as it runs.
pub(super) async fn ended(docker: &Docker, container: &str) -> Option<DockerError> {
    let how = end_of(docker, container).await.ok()??;
    Some(DockerError::Ended(with_log(&how, &log(docker, container).await.lines)))
}

/// The end of what a container printed.
pub(super) async fn log(docker: &Docker, container: &str) -> LogTail {
    let options = LogsOptions { stdout: true, stderr: true, tail: LOG_LINES.to_owned(), ..Default::default() };
    let mut news = docker.logs(container, Some(options));
    let mut text = Vec::new();
    while let Some(Ok(part)) = news.next().await {
        text.extend_from_slice(part.as_ref());
    }
    LogTail::of(String::from_utf8_lossy(&text).lines())
}
