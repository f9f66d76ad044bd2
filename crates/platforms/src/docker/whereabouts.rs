//! Where an engine runs: here, where its containers' processes, addresses and folders are seen, or elsewhere.
//!
//! Elsewhere is another machine (a virtual one, as of Docker Desktop, too) and whatever is outside of the container that this process
//! runs in.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use bollard::models::SystemInfo;
use rustix::system::uname;
use tokio::net::UnixStream;

/// Where runs are kept by default, which containers must see.
const SHARED: &str = "/var/tmp";

/// What tells where an engine runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Signs {
    /// The process that listens at its socket, where it is seen from here.
    pub(crate) listener: Option<u32>,
    /// Whether that process is in this one's network; nothing where this user may not know.
    network_is_ours: Option<bool>,
    /// Whether it sees the same folder for runs; nothing where this user may not know.
    files_are_ours: Option<bool>,
    /// The name of its machine, as the engine gives it.
    machine: Option<String>,
    /// The name of this machine.
    own_machine: String,
    /// Whether it says that it is in a virtual machine.
    is_desktop: bool,
}

impl Signs {
    /// The signs of the engine at this socket, which says this of itself.
    pub(crate) async fn of(socket: &Path, info: &SystemInfo) -> Self {
        let listener = listener(socket).await;
        let process = listener.map(|pid| format!("/proc/{pid}"));
        Self {
            listener,
            network_is_ours: process.as_ref().and_then(|process| {
                let [theirs, ours] = [process.as_str(), "/proc/self"].map(|one| fs::read_link(format!("{one}/ns/net")));
                Some(theirs.ok()? == ours.ok()?)
            }),
            files_are_ours: process.as_ref().and_then(|process| {
                let [theirs, ours] = [format!("{process}/root{SHARED}"), SHARED.to_owned()].map(fs::metadata);
                let (theirs, ours) = (theirs.ok()?, ours.ok()?);
                Some((theirs.dev(), theirs.ino()) == (ours.dev(), ours.ino()))
            }),
            machine: info.name.clone().filter(|name| !name.is_empty()),
            own_machine: uname().nodename().to_string_lossy().into_owned(),
            is_desktop: info.operating_system.as_ref().is_some_and(|system| system.contains("Docker Desktop")),
        }
    }

    /// Whether its containers are seen from here. A socket may be brought from another machine by a program of this one (`ssh -L`), so
    /// its listener alone does not decide.
    pub(crate) fn are_of_here(&self) -> bool {
        let Self { listener, network_is_ours, files_are_ours, machine, own_machine, is_desktop } = self;
        listener.is_some()
            && *network_is_ours != Some(false)
            && *files_are_ours != Some(false)
            && machine.as_ref().is_none_or(|machine| machine == own_machine)
            && !is_desktop
    }
}

/// The process that listens at a socket. One of another pid namespace has the number 0.
/// <https://man7.org/linux/man-pages/man7/unix.7.html> (`SO_PEERCRED`)
async fn listener(socket: &Path) -> Option<u32> {
    let connection = UnixStream::connect(socket).await.ok()?;
    let pid = connection.peer_cred().ok()?.pid()?;
    u32::try_from(pid).ok().filter(|pid| *pid > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> Signs {
        Signs {
            listener: Some(7),
            network_is_ours: Some(true),
            files_are_ours: Some(true),
            machine: Some("m".to_owned()),
            own_machine: "m".to_owned(),
            is_desktop: false,
        }
    }

    #[test]
    fn an_engine_is_here_where_nothing_says_otherwise() {
        for (what, signs, is_here) in [
            ("all is ours", here(), true),
            ("a user may not look", Signs { network_is_ours: None, files_are_ours: None, ..here() }, true),
            ("it does not name its machine", Signs { machine: None, ..here() }, true),
            ("outside of this container", Signs { listener: None, ..here() }, false),
            ("in a network of its own", Signs { network_is_ours: Some(false), ..here() }, false),
            ("with folders of its own", Signs { files_are_ours: Some(false), ..here() }, false),
            ("on another machine", Signs { machine: Some("far".to_owned()), ..here() }, false),
            ("in a virtual machine", Signs { is_desktop: true, ..here() }, false),
        ] {
            assert_eq!(signs.are_of_here(), is_here, "{what}");
        }
    }

    #[tokio::test]
    async fn a_socket_of_this_process_is_of_here() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let signs = Signs::of(&socket, &SystemInfo::default()).await;
        assert_eq!(signs.listener, Some(std::process::id()));
        assert!(signs.are_of_here(), "{signs:?}");
    }
}
