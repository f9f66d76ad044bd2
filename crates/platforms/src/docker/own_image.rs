//! Images that serve by themselves: had from where they are named or built, and what is known of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bollard::models::{ImageConfig, ImageInspect};
use sha2::{Digest, Sha256};
use stampede_core::{Container, ImageTraits, Program, with_causes};
use tokio::process::Command;

use super::engine::Engine;
use super::error::DockerError;
use super::image::{self, BUILT, SOFTWARE};
use crate::log_tail::{last_lines, with_log};
use crate::output::collect;

/// How long the build of an application's image may take: extensions of PHP are compiled in it.
const BUILD_TIME: Duration = Duration::from_secs(3600);

/// The engine's own program, which builds as its user does.
const CLIENT: &str = "docker";

/// Why there is no image.
#[derive(Clone, Debug)]
pub(crate) struct Lacking {
    /// The rest of a sentence that begins with the image.
    pub(crate) problem: String,
    pub(crate) fix: String,
}

impl From<DockerError> for Lacking {
    fn from(error: DockerError) -> Self {
        match error {
            DockerError::Pull { image, problem } => refused(&image, &problem),
            DockerError::Architecture { image, found, here } => Self {
                problem: format!("which is for {found}, and this machine is {here}"),
                fix: format!("build it for this machine: docker build --platform linux/{here} -t {image} DIR"),
            },
            error => Self { problem: format!("which cannot be used: {}", with_causes(&error)), fix: String::new() },
        }
    }
}

/// What a registry's refusal means, by its words.
/// <https://distribution.github.io/distribution/spec/api/#errors-2>
fn refused(image: &str, problem: &str) -> Lacking {
    let has = |words: &[&str]| words.iter().any(|word| problem.contains(word));
    let registry = image.split_once('/').map(|(first, _)| first).filter(|first| first.contains(['.', ':']));
    let fix = if has(&["denied", "unauthorized", "authentication required", "no basic auth"]) {
        let registry = registry.map(|registry| format!(" {registry}")).unwrap_or_default();
        format!("log in and get it: docker login{registry}, then docker pull {image}")
    } else if has(&["manifest unknown", "not found", "does not exist"]) {
        "correct its name or tag, or build it: see docker images".to_owned()
    } else {
        format!("where no registry is reached, bring it: docker load, or docker build -t {image} DIR")
    };
    Lacking { problem: format!("which the engine does not have and did not get: {problem}"), fix }
}

pub(crate) async fn pulled(engine: &Engine, name: &str, tell: fn(&str)) -> Result<String, Lacking> {
    image::base(engine, name, tell).await?;
    Ok(image::id(engine, name).await?)
}

/// What an image is built from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Build {
    /// The folder that is seen by its build.
    pub(crate) folder: PathBuf,
    /// Its Dockerfile, where that has another name.
    pub(crate) file: Option<String>,
    /// The stage that is built, where it is not the last.
    pub(crate) target: Option<String>,
    /// Values of its variables.
    pub(crate) args: BTreeMap<String, String>,
}

impl Build {
    /// Of the Dockerfile in a folder.
    pub(crate) fn of(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), ..Self::default() }
    }
}

/// Builds the image of a folder, as its user would, and gives its name and id.
pub(crate) async fn build(engine: &Engine, of: &Build, tell: fn(&str)) -> Result<(String, String), Lacking> {
    let Build { folder, file, target, args } = of;
    let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
    let name = format!("{BUILT}:{}", key(&folder, of));
    tell(&format!("building {}/{}", folder.display(), file.as_deref().unwrap_or("Dockerfile")));
    let mut build = Command::new(CLIENT);
    build.arg("build").args(["--force-rm", "--tag", &name, "--label"]).arg(format!("{SOFTWARE}={}", folder.display()));
    build.args(file.iter().flat_map(|file| ["--file", file.as_str()]));
    build.args(target.iter().flat_map(|target| ["--target", target.as_str()]));
    build.args(args.iter().flat_map(|(name, value)| ["--build-arg".to_owned(), format!("{name}={value}")]));
    build.arg(".");
    build.current_dir(&folder).env("DOCKER_HOST", format!("unix://{}", engine.socket.display()));
    let built = collect(build, BUILD_TIME).await.map_err(|error| Lacking {
        problem: format!("which {CLIENT} build should make: {}", with_causes(&error)),
        fix: "install the engine's own program: docker-cli of Debian and Ubuntu, or docker.io".to_owned(),
    })?;
    if !built.status.success() {
        let problem = format!("whose build ended with {}", built.status);
        return Err(Lacking {
            problem: with_log(&problem, &last_lines(plain(&built.all()).as_bytes())),
            fix: format!("see what is wrong in it: docker build {}", folder.display()),
        });
    }
    let id = pulled(engine, &name, tell).await?;
    Ok((name, id))
}

/// What a builder printed, without its colours.
fn plain(bytes: &[u8]) -> String {
    image::without_colour(&String::from_utf8_lossy(bytes))
}

/// What tells the images of two folders apart, or two of one folder.
fn key(folder: &Path, of: &Build) -> String {
    const LENGTH: usize = 8;
    let Build { folder: _, file, target, args } = of;
    let mut hash = Sha256::new_with_prefix(folder.as_os_str().as_encoded_bytes());
    if file.is_some() || target.is_some() || !args.is_empty() {
        hash.update(format!("\0{file:?}{target:?}{args:?}"));
    }
    let hash = hash.finalize();
    hash.iter().take(LENGTH).map(|byte| format!("{byte:02x}")).collect()
}

/// What an image says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traits {
    shown: ImageTraits,
    /// The ports that it exposes.
    pub(crate) ports: Vec<u16>,
}

impl Traits {
    /// Those of an image that the engine has.
    pub(crate) async fn of(engine: &Engine, id: &str) -> Result<Self, DockerError> {
        let found = image::inspect(engine, id).await?.and_then(|ImageInspect { config, .. }| config);
        Ok(found.map(Self::read).unwrap_or_default())
    }

    fn read(config: ImageConfig) -> Self {
        let ImageConfig { env, labels, entrypoint, cmd, exposed_ports, .. } = config;
        let variable = |pair: String| pair.split_once('=').map(|(name, _)| name.to_owned());
        let port = |port: String| match port.split_once('/') {
            None | Some((_, "tcp")) => port.split('/').next()?.parse().ok(),
            Some(_) => None,
        };
        let shown = ImageTraits {
            labels: labels.into_iter().flatten().collect(),
            variables: env.into_iter().flatten().filter_map(variable).collect(),
            words: entrypoint.into_iter().flatten().chain(cmd.into_iter().flatten()).collect(),
        };
        Self { shown, ports: exposed_ports.into_iter().flatten().filter_map(port).collect() }
    }

    /// The environment beside the image's own: what is given, and what one that is known needs; with a sentence on each of the latter.
    pub(crate) fn environment(
        &self,
        container: &Container,
        own: &[String],
        program: &Program,
    ) -> (Vec<String>, Vec<String>) {
        let own = own.iter().filter_map(|pair| pair.split_once('='));
        let mut env: BTreeMap<String, String> = own.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        env.extend(program.env.clone());
        let mut told = Vec::new();
        for (name, value, words) in container.needs(&self.shown, &env) {
            env.insert(name.to_owned(), value.to_owned());
            told.push(words);
        }
        (env.into_iter().map(|(name, value)| format!("{name}={value}")).collect(), told)
    }
}

#[cfg(test)]
mod tests {
    use stampede_core::{FastCgiFront, ImageSign, KnownImage};

    use super::*;

    #[test]
    fn what_a_registry_says_leads_to_a_command() {
        for (image, problem, fix) in [
            (
                "my/app:2",
                "manifest for my/app:2 not found: manifest unknown: manifest unknown",
                "correct its name or tag",
            ),
            (
                "my/app:2",
                "pull access denied for my/app, repository does not exist or may require 'docker login'",
                "docker login, then docker pull my/app:2",
            ),
            (
                "reg.example:5000/a",
                "Head \"https://reg.example\": no basic auth credentials",
                "docker login reg.example:5000, then",
            ),
            (
                "my/app:2",
                "Get \"https://registry-1.docker.io/v2/\": dial tcp: lookup failed",
                "docker build -t my/app:2 DIR",
            ),
        ] {
            let told = refused(image, problem);
            assert!(told.fix.contains(fix) && told.problem.contains(problem), "{}: {}", told.problem, told.fix);
        }
    }

    const KNOWN: &[KnownImage] = &[KnownImage {
        name: "maker/server",
        signs: &[ImageSign::Word("server"), ImageSign::Label("title", "Server"), ImageSign::Variable("SERVER_CONFIG")],
        env: &[("SERVER_NAME", ":80")],
        why: "as its page says",
    }];

    #[test]
    fn a_known_image_is_given_what_it_needs_unless_that_is_set() {
        let container = Container {
            image: "my/app".to_owned(),
            id: "sha256:ab".to_owned(),
            volumes: Vec::new(),
            port: None,
            compose: None,
            front: None,
            root: None,
            fast_cgi: FastCgiFront { image: "", source: "", place: "", config: "" },
            known: KNOWN,
        };
        let config = |words: &[&str], env: &[&str]| ImageConfig {
            cmd: Some(words.iter().map(|word| (*word).to_owned()).collect()),
            env: Some(env.iter().map(|pair| (*pair).to_owned()).collect()),
            exposed_ports: Some(vec!["443/udp".to_owned(), "80/tcp".to_owned()]),
            ..ImageConfig::default()
        };
        let given = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
        for (what, config, given, env) in [
            ("unknown", config(&["php-fpm"], &["PATH=/bin"]), given("A", "b"), vec!["A=b"]),
            ("by its command", config(&["/bin/server", "run"], &[]), given("A", "b"), vec!["A=b", "SERVER_NAME=:80"]),
            ("by a variable", config(&[], &["SERVER_CONFIG=x"]), BTreeMap::new(), vec!["SERVER_NAME=:80"]),
            ("the image's own", config(&["server"], &["SERVER_NAME=shop"]), BTreeMap::new(), vec![]),
            ("the plan's own", config(&["server"], &[]), given("SERVER_NAME", ":8080"), vec!["SERVER_NAME=:8080"]),
        ] {
            let program = Program { path: "my/app".to_owned(), args: Vec::new(), env: given };
            let traits = Traits::read(config);
            assert_eq!(traits.ports, [80], "{what}");
            let (found, told) = traits.environment(&container, &[], &program);
            assert_eq!(found, env, "{what}");
            assert_eq!(told.len(), env.iter().filter(|pair| **pair == "SERVER_NAME=:80").count(), "{what}");
        }
    }
}
