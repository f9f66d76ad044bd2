//! Files that go into a container and come from one, as archives that the engine takes and gives. `tar` writes and reads them.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use bollard::Docker;
use bollard::query_parameters::{DownloadFromContainerOptions, UploadToContainerOptions};
use futures_util::StreamExt as _;
use futures_util::stream::unfold;
use stampede_core::with_causes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use super::super::engine::api;
use super::super::error::DockerError;
use super::super::image::tar_of;

/// How long an archive may take: the engine answers when it has all of it.
const ARCHIVE_TIME: Duration = Duration::from_secs(3600);

/// How much is read from `tar` at once.
const PART: usize = 1 << 16;

/// The status of GNU tar where a file changed while it was read. <https://www.gnu.org/software/tar/manual/html_node/Synopsis.html>
const CHANGED: i32 = 1;

/// `tar`, and what it prints where it fails.
struct Tar {
    process: Child,
    said: File,
}

impl Tar {
    /// Starts it for an archive on standard input or output.
    fn start(args: &[&str], below: &Path, paths: &[PathBuf]) -> Result<Self, DockerError> {
        let failed = |error: io::Error| DockerError::Errand(format!("start tar: {error}"));
        // A file takes it whatever its length, while nobody reads.
        let said = tempfile::tempfile().map_err(failed)?;
        let stderr = said.try_clone().map_err(failed)?;
        let mut tar = Command::new("tar");
        tar.args(args).args(["--file", "-", "--directory"]).arg(below).arg("--").args(paths);
        tar.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).kill_on_drop(true);
        Ok(Self { process: tar.spawn().map_err(failed)?, said })
    }

    /// Waits for its end.
    async fn finish(mut self, what: &str) -> Result<(), DockerError> {
        let failed = |problem: String| DockerError::Errand(format!("{what}: tar {problem}"));
        drop(self.process.stdin.take());
        let status = self.process.wait().await.map_err(|error| failed(error.to_string()))?;
        if status.success() || status.code() == Some(CHANGED) {
            return Ok(());
        }
        let mut said = String::new();
        // What it says is for people: its status is reported without it.
        let _ = self.said.rewind().and_then(|()| self.said.read_to_string(&mut said));
        Err(failed(format!("ended with {status}: {}", said.trim())))
    }
}

/// The engine's client, as patient as an archive needs it, and where it puts one.
fn patient(docker: &Docker) -> Docker {
    docker.clone().with_timeout(ARCHIVE_TIME)
}

fn into(folder: &str) -> Option<UploadToContainerOptions> {
    Some(UploadToContainerOptions { path: folder.to_owned(), ..Default::default() })
}

/// Puts files and folders with what is in them, each named from the root, below a folder of a container.
pub(super) async fn upload(docker: &Docker, container: &str, to: &str, paths: &[PathBuf]) -> Result<(), DockerError> {
    put(docker, container, to, "--recursion", paths).await
}

/// The same of folders without what is in them.
pub(super) async fn upload_empty(
    docker: &Docker,
    container: &str,
    to: &str,
    folders: &[PathBuf],
) -> Result<(), DockerError> {
    put(docker, container, to, "--no-recursion", folders).await
}

async fn put(
    docker: &Docker,
    container: &str,
    to: &str,
    recursion: &str,
    paths: &[PathBuf],
) -> Result<(), DockerError> {
    let below: Vec<PathBuf> = paths.iter().map(|path| path.strip_prefix("/").unwrap_or(path).to_owned()).collect();
    let mut tar = Tar::start(&["--create", recursion], Path::new("/"), &below)?;
    let none = || DockerError::Errand("tar has no output".to_owned());
    let output = tar.process.stdout.take().ok_or_else(none)?;
    let parts = unfold(output, |mut output| async move {
        let mut part = vec![0; PART];
        match output.read(&mut part).await {
            Ok(0) => None,
            Ok(length) => {
                part.truncate(length);
                Some((Ok(part.into()), output))
            }
            Err(error) => Some((Err(error), output)),
        }
    });
    let archive = bollard::body_try_stream(parts);
    let sent = patient(docker).upload_to_container(container, into(to), archive).await;
    // Where the engine refuses, tar ends by its closed output.
    let archived = tar.finish("bring files to a container").await;
    sent.map_err(api("write files of a container"))?;
    archived
}

/// Puts a file with this text into a folder of a container.
pub(super) async fn write(
    docker: &Docker,
    container: &str,
    to: &str,
    name: &str,
    text: &str,
) -> Result<(), DockerError> {
    let archive = bollard::body_full(tar_of(name, text).into());
    patient(docker).upload_to_container(container, into(to), archive).await.map_err(api("write a file of a container"))
}

/// Brings a file or folder of a container to the same path here. What is the same already stays as it is.
pub(super) async fn fetch(docker: &Docker, container: &str, path: &Path) -> Result<(), DockerError> {
    let failed = |error: &dyn std::error::Error| {
        DockerError::Errand(format!("bring {} from its container: {}", path.display(), with_causes(error)))
    };
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    fs::create_dir_all(above).map_err(|error| failed(&error))?;
    // Beside the place, so that it comes there in one step.
    let made = tempfile::Builder::new().prefix(".stampede-").tempdir_in(above).map_err(|error| failed(&error))?;
    let mut tar = Tar::start(&["--extract", "--no-same-owner"], made.path(), &[])?;
    let from = DownloadFromContainerOptions { path: path.display().to_string() };
    let docker = patient(docker);
    let mut parts = Box::pin(docker.download_from_container(container, Some(from)));
    if let Some(input) = &mut tar.process.stdin {
        while let Some(part) = parts.next().await {
            let part = part.map_err(api("read files of a container"))?;
            // It says itself what is wrong.
            if input.write_all(&part).await.is_err() {
                break;
            }
        }
    }
    tar.finish("bring files from a container").await?;
    let found = made.path().join(name);
    let is_same = || Some(fs::read(&found).ok()? == fs::read(path).ok()?);
    if is_same() == Some(true) {
        return Ok(());
    }
    fs::rename(&found, path).map_err(|error| failed(&error))
}
