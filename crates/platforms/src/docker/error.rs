//! What is wrong with an engine of containers.

use std::io;
use std::path::PathBuf;

use bollard::ClientVersion;
use thiserror::Error;

/// The label of all that belongs to a run; its value is the run's own.
pub(crate) const RUN: &str = "io.stampede.run";

/// The label of all that belongs to a Stampede beside the engine; its value is its own.
pub(crate) const BESIDE: &str = "io.stampede.beside";

/// That of Docker 20.10, the oldest that is tested against.
pub(super) const OLDEST: ClientVersion = ClientVersion { major_version: 1, minor_version: 41 };

/// What is said where an engine's containers are not seen: the command is then carried out beside it ([`super::beside`]).
pub const ELSEWHERE: &str =
    "measure containers: their processes are not seen from here; run Stampede on the engine's own machine";

/// Why an engine, or something in it, cannot be used.
#[derive(Debug, Error)]
pub enum DockerError {
    /// It is reached in another way.
    #[error("use the engine {host}: containers are measured where they run; {fix}")]
    Host {
        /// How it is named.
        host: String,
        /// What to do.
        fix: &'static str,
    },
    /// A context that Docker's programs would use is not there.
    #[error("find the engine of the context {context}: {} does not name it; see docker context ls", file.display())]
    Context {
        /// Its name.
        context: String,
        /// Where it was looked for.
        file: PathBuf,
    },
    /// Nobody answers.
    #[error(
        "find Docker's engine at {}: install it (docker.io of Debian and Ubuntu, https://docs.docker.com/engine/install/) and \
         start it, or name its socket in DOCKER_HOST", socket.display()
    )]
    NotThere {
        /// Where it was looked for.
        socket: PathBuf,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// The socket is not for this user.
    #[error("use Docker's engine at {}: put this user into the group docker and log in again, or run it as root (in a container: docker run --user 0)", socket.display())]
    NotAllowed {
        /// The socket.
        socket: PathBuf,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// Its interface lacks what is needed.
    #[error(
        "use Docker's engine: it speaks version {0} of its interface, and {OLDEST} is needed; install Docker 20.10 or newer"
    )]
    TooOld(String),
    /// Its containers cannot be measured.
    #[error("use Docker's engine: {0}; use one that runs as root on this machine, or --platform local")]
    Unsuitable(&'static str),
    /// It runs without root, and this process is not where it is.
    #[error("use the engine, which runs without root: run Stampede in its namespaces: {0}")]
    Rootless(&'static str),
    /// Its processes are not seen.
    #[error("{ELSEWHERE}")]
    Elsewhere,
    /// It does not see a file of this container.
    #[error(
        "show {} to a container: the engine does not see it; mount its folder into Stampede's own container (docker run -v), or put \
         it into the image", path.display()
    )]
    Unseen {
        /// The file or folder.
        path: PathBuf,
    },
    /// This program is for other processors than the engine's.
    #[error(
        "start Stampede beside the engine: this program is for {program} and the engine's machine is {machine}, where it would be \
         emulated; use a Stampede for {machine}"
    )]
    Emulated {
        /// What this program is for.
        program: &'static str,
        /// What the engine's machine is.
        machine: String,
    },
    /// This program needs files that an empty image lacks.
    #[error(
        "start Stampede beside the engine: {} needs libraries of this machine; use the released program, which needs none, or \
         Stampede's own image (docker run -v /var/run/docker.sock:/var/run/docker.sock ...)", program.display()
    )]
    Libraries {
        /// Its file.
        program: PathBuf,
    },
    /// What was to run beside the engine could not be started, or its end is not known.
    #[error("run Stampede beside the engine: {0}")]
    Errand(String),
    /// It refused.
    #[error("{action}")]
    Api {
        /// What it was asked for.
        action: &'static str,
        /// Its answer.
        #[source]
        source: Box<bollard::errors::Error>,
    },
    /// It has not the base image and cannot get it.
    #[error(
        "get the image {image}: {problem}\n  where no registry is reached, bring it: `docker load`, or `debootstrap bookworm DIR` \
         and `tar -C DIR -c . | docker import - {image}`; or name one that is there with --base-image"
    )]
    Pull {
        /// The image.
        image: String,
        /// What went wrong.
        problem: String,
    },
    /// What was measured before is not there any more.
    #[error("use the image {0}: the engine does not have it any more; compare again, which gets the one of now")]
    Gone(String),
    /// Something would have to be fetched.
    #[error(
        "measure with --offline: the engine does not have {}\n  get it first (docker pull, docker load), or leave --offline out",
        .0.join(", ")
    )]
    Offline(Vec<String>),
    /// The image is for other processors.
    #[error("use the image {image}: it is for {found}, and this machine is {here}")]
    Architecture {
        /// The image.
        image: String,
        /// What it is for.
        found: String,
        /// What this machine is.
        here: &'static str,
    },
    /// Software could not be installed.
    #[error(
        "install {packages} in {base}, an image of Debian or Ubuntu; its Dockerfile is kept as {}:\n{output}",
        dockerfile.display()
    )]
    Install {
        /// What was asked for.
        packages: String,
        /// Into which image.
        base: String,
        /// The step that failed, and the end of what the builder printed.
        output: String,
        /// The Dockerfile.
        dockerfile: PathBuf,
    },
    /// A container ended as soon as it was started.
    #[error("start it: it ended with {0}")]
    Ended(String),
    /// A container that serves with others, or that those need.
    #[error("start {name}: {problem}")]
    Beside {
        /// What it is called.
        name: String,
        /// What happened.
        problem: String,
    },
    /// A template could not be filled in.
    #[error("write a Dockerfile")]
    Dockerfile(#[from] stampede_export::ExportError),
    /// A program in a container did not do what it must.
    #[error("run {program} in a container: {problem}")]
    Program {
        /// The program.
        program: String,
        /// What happened.
        problem: String,
    },
    /// The run could not be prepared on this machine.
    #[error("prepare a container: {0}")]
    Prepare(String),
    /// Something of a run is still there.
    #[error("remove the containers and networks labelled {0}: some are left at the deadline")]
    Left(String),
    /// A thread could not be had.
    #[error("wait for the engine")]
    Thread(#[source] io::Error),
}
