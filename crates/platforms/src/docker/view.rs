//! What of this process's files the engine sees, and where: the same files at the same places, but where Stampede was started in a
//! container beside the engine ([`super::beside`]). There it sees mounts alone, each with a place of its own on the engine's machine.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::DockerError;

/// Names the file with the view, in a container beside the engine.
pub(super) const VARIABLE: &str = "STAMPEDE_BESIDE";

/// A folder or file that is seen by the engine, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mounted {
    /// Where it is for this process.
    pub(super) at: PathBuf,
    /// Where it is for the engine.
    pub(super) source: PathBuf,
}

/// What is known in a container beside the engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Beside {
    /// The value of the label of all that belongs to it.
    pub(super) label: String,
    pub(super) mounted: Vec<Mounted>,
}

/// What of this process's files the engine sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct View(pub(super) Option<Beside>);

impl View {
    /// That of this process, as its environment has it.
    pub(crate) fn of_this_process() -> Self {
        let text = env::var_os(VARIABLE).and_then(|file| fs::read_to_string(file).ok());
        Self(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Whether this process was started beside the engine.
    pub(crate) fn is_beside(&self) -> bool {
        self.0.is_some()
    }

    /// The label of what belongs to a Stampede beside the engine.
    pub(crate) fn label(&self) -> Option<String> {
        self.0.as_ref().map(|beside| beside.label.clone())
    }

    /// Where the engine sees this path.
    ///
    /// # Errors
    ///
    /// When it does not.
    pub(crate) fn source(&self, path: &Path) -> Result<PathBuf, DockerError> {
        let Some(Beside { label: _, mounted }) = &self.0 else { return Ok(path.to_owned()) };
        let found = mounted.iter().filter_map(|one| Some((one, path.strip_prefix(&one.at).ok()?)));
        let (innermost, below) = found
            .max_by_key(|(one, _)| one.at.components().count())
            .ok_or_else(|| DockerError::Unseen { path: path.to_owned() })?;
        // Joining nothing would leave a slash, which makes a folder of a file.
        Ok(if below.as_os_str().is_empty() { innermost.source.clone() } else { innermost.source.join(below) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_the_innermost_mount() {
        let mounted = |at: &str, source: &str| Mounted { at: at.into(), source: source.into() };
        let beside = Beside {
            label: "l".to_owned(),
            mounted: vec![
                mounted("/app", "/home/me/shop"),
                mounted("/app/vendor", "/var/lib/docker/volumes/v/_data"),
                mounted("/etc/x.ini", "/home/me/x.ini"),
            ],
        };
        let text = serde_json::to_string(&beside).unwrap();
        let view = View(serde_json::from_str(&text).unwrap());
        let source = |path: &str| view.source(Path::new(path)).map(|path| path.display().to_string());
        assert_eq!(source("/app").unwrap(), "/home/me/shop");
        assert_eq!(source("/app/php.ini").unwrap(), "/home/me/shop/php.ini");
        assert_eq!(source("/app/vendor/a").unwrap(), "/var/lib/docker/volumes/v/_data/a");
        assert_eq!(source("/etc/x.ini").unwrap(), "/home/me/x.ini");
        let unseen = source("/application").unwrap_err().to_string();
        assert!(unseen.contains("/application") && unseen.contains("-v"), "{unseen}");
        assert_eq!(View::default().source(Path::new("/a")).unwrap(), Path::new("/a"));
        assert!(view.is_beside() && !View::default().is_beside());
    }
}
