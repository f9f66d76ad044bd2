//! Which engine is meant, found as Docker's own programs find it: by `DOCKER_HOST`, or by the context that `DOCKER_CONTEXT` or
//! their configuration names. <https://docs.docker.com/engine/manage-resources/contexts/>

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::error::DockerError;

/// Where an engine of the system listens. <https://docs.docker.com/reference/cli/dockerd/#daemon-socket-option>
const SOCKET: &str = "/var/run/docker.sock";

/// Names an engine.
const HOST: &str = "DOCKER_HOST";

/// Names a context.
const CONTEXT: &str = "DOCKER_CONTEXT";

/// Names the folder with the configuration of Docker's programs.
const CONFIG: &str = "DOCKER_CONFIG";

/// The context that stands for no other.
const DEFAULT: &str = "default";

/// What to do where another kind of address is named.
const FIX: &str = "unset DOCKER_HOST, or let it name unix:///SOCKET; the socket of another machine is brought here by \
                   ssh -nNT -L /tmp/docker.sock:/var/run/docker.sock HOST, and named by DOCKER_HOST=unix:///tmp/docker.sock";

/// The socket of the engine that is meant, by what `variable` says of the environment.
///
/// # Errors
///
/// When that engine is not reached over a unix socket, or its context cannot be read.
pub(crate) fn socket(variable: impl Fn(&str) -> Option<String>) -> Result<PathBuf, DockerError> {
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
    if let Some(host) = variable(HOST) {
        return path(host, FIX);
    }
    let own = || variable("HOME").map(|home| Path::new(&home).join(".docker"));
    let Some(folder) = variable(CONFIG).map(PathBuf::from).or_else(own) else { return Ok(PathBuf::from(SOCKET)) };
    let chosen = || read(&folder.join("config.json"))?["currentContext"].as_str().map(str::to_owned);
    let Some(context) = variable(CONTEXT).or_else(chosen).filter(|name| name != DEFAULT && !name.is_empty()) else {
        return Ok(PathBuf::from(SOCKET));
    };
    let name: String = Sha256::digest(&context).iter().map(|byte| format!("{byte:02x}")).collect();
    let file = folder.join("contexts/meta").join(name).join("meta.json");
    let host = read(&file).and_then(|meta| meta["Endpoints"]["docker"]["Host"].as_str().map(str::to_owned));
    path(host.ok_or(DockerError::Context { context, file })?, "docker context use default")
}

fn path(host: String, fix: &'static str) -> Result<PathBuf, DockerError> {
    match host.strip_prefix("unix://") {
        Some(path) => Ok(PathBuf::from(path)),
        None => Err(DockerError::Host { host, fix }),
    }
}

fn read(file: &Path) -> Option<Value> {
    serde_json::from_str(&fs::read_to_string(file).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_found_as_dockers_own_programs_find_it() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".docker");
        let write = |context: &str, host: &str| {
            let name: String = Sha256::digest(context).iter().map(|byte| format!("{byte:02x}")).collect();
            let meta = folder.join("contexts/meta").join(name);
            fs::create_dir_all(&meta).unwrap();
            let text = format!(r#"{{"Name": "{context}", "Endpoints": {{"docker": {{"Host": "{host}"}}}}}}"#);
            fs::write(meta.join("meta.json"), text).unwrap();
        };
        write("colima", "unix:///home/me/.colima/docker.sock");
        write("far", "ssh://me@far.example");
        let found = |variables: &[(&str, &str)], current: Option<&str>| {
            let config = current.map_or("{}".to_owned(), |name| format!(r#"{{"currentContext": "{name}"}}"#));
            fs::write(folder.join("config.json"), config).unwrap();
            let of =
                |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
            socket(|name| of(name).or_else(|| (name == "HOME").then(|| home.path().display().to_string())))
        };
        for (what, variables, current, told) in [
            ("nothing", &[][..], None, Ok(SOCKET)),
            ("empty", &[(HOST, ""), (CONTEXT, "")], None, Ok(SOCKET)),
            ("the context in use", &[], Some("colima"), Ok("/home/me/.colima/docker.sock")),
            ("a named one", &[(CONTEXT, "colima")], Some("far"), Ok("/home/me/.colima/docker.sock")),
            ("the default one", &[(CONTEXT, "default")], Some("far"), Ok(SOCKET)),
            ("a host before all", &[(HOST, "unix:///a.sock"), (CONTEXT, "far")], None, Ok("/a.sock")),
            ("another machine", &[], Some("far"), Err("ssh://me@far.example")),
            ("another host", &[(HOST, "tcp://127.0.0.1:2375")], None, Err("unset DOCKER_HOST")),
            ("unknown", &[(CONTEXT, "gone")], None, Err("docker context ls")),
        ] {
            match (found(variables, current), told) {
                (Ok(found), Ok(told)) => assert_eq!(found, Path::new(told), "{what}"),
                (Err(error), Err(told)) => assert!(error.to_string().contains(told), "{what}: {error}"),
                other => panic!("{what}: {other:?}"),
            }
        }
    }
}
