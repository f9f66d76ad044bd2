//! Images that serve together, as a file of Docker Compose says. The file is read by Compose itself: with its variables, its overrides
//! and its defaults. <https://docs.docker.com/reference/compose-file/>

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use stampede_core::{ComposeFile, Volume, with_causes};
use tokio::process::Command;

use super::engine::Engine;
use super::own_image::{Build, Lacking, Traits, build, pulled};
use super::own_run::OwnProcess;
use crate::log_tail::{last_lines, with_log};
use crate::output::collect;

/// How long Compose may take to read a file.
const READ_TIME: Duration = Duration::from_secs(60);

/// How Compose is run: the plugin of Docker's program, and the program that was before it.
const PROGRAMS: [&[&str]; 2] = [&["docker", "compose"], &["docker-compose"]];

const INSTALL: &str =
    "install Docker Compose: docker-compose of Debian, docker-compose-v2 of Ubuntu, or docker-compose-plugin of Docker";

/// Parts of the names of images of databases, caches, queues and mail catchers: what applications use and what is not under test unless
/// it is named.
const BESIDE: [&str; 20] = [
    "mysql",
    "mariadb",
    "percona",
    "postgres",
    "postgis",
    "redis",
    "valkey",
    "keydb",
    "memcached",
    "mongo",
    "rabbitmq",
    "elasticsearch",
    "opensearch",
    "meilisearch",
    "minio",
    "mailpit",
    "mailhog",
    "mailcatcher",
    "adminer",
    "phpmyadmin",
];

/// Keys that change nothing of how a container serves, or that are Stampede's to decide.
const PASSED_OVER: [&str; 12] = [
    "ports",
    "expose",
    "restart",
    "healthcheck",
    "networks",
    "container_name",
    "deploy",
    "labels",
    "logging",
    "profiles",
    "pull_policy",
    "platform",
];

/// Keys that are read.
const READ: [&str; 10] = [
    "image",
    "build",
    "command",
    "entrypoint",
    "environment",
    "volumes",
    "working_dir",
    "user",
    "depends_on",
    "hostname",
];

/// Images that serve together.
#[derive(Clone, Debug)]
pub(crate) struct Composition {
    /// In the order of their start: those beside the ones under test come first.
    pub(crate) processes: Vec<OwnProcess>,
    /// What each image says of itself, in that order.
    pub(crate) traits: Vec<Traits>,
    /// What a person should know.
    pub(crate) told: Vec<String>,
}

/// Reads a file and has all its images.
pub(crate) async fn find(
    engine: &Engine,
    source: &ComposeFile,
    offline: bool,
    tell: fn(&str),
) -> Result<(String, Composition), Lacking> {
    let ComposeFile { file, services } = source;
    let text = config(engine, file).await?;
    let mut all =
        read(&text).map_err(|problem| wrong(problem, "correct it: docker compose config shows how it is read"))?;
    choose(&mut all, services)?;
    let mut told = Vec::new();
    let mut traits = Vec::new();
    let mut hash = Sha256::new();
    for service in &mut all {
        let name = &service.process.name;
        let id = match &service.build {
            Some(of) if !offline => build(engine, of, tell).await?.1,
            Some(_) => return Err(wrong(format!("whose service {name} is built"), "leave --offline out")),
            None => {
                let of_service = |lacking: Lacking| Lacking {
                    problem: format!("whose service {name} is of the image {}, {}", service.image, lacking.problem),
                    ..lacking
                };
                pulled(engine, &service.image, tell).await.map_err(of_service)?
            }
        };
        hash.update(format!("{name}={id}\n"));
        let of = Traits::of(engine, &id).await?;
        service.process.ports.clone_from(&of.ports);
        service.process.image = id;
        traits.push(of);
        told.append(&mut service.told);
    }
    let names = |is_measured: bool| {
        let of = all.iter().filter(|service| service.process.is_measured == is_measured);
        of.map(|service| service.process.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let mut beside = names(false);
    if !beside.is_empty() {
        beside = format!("; beside, without limits: {beside}");
    }
    told.insert(0, format!("{}: under test, within one total: {}{beside}", file.display(), names(true)));
    let id = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let processes = all.into_iter().map(|service| service.process).collect();
    Ok((format!("sha256:{id}"), Composition { processes, traits, told }))
}

fn wrong(problem: String, fix: &str) -> Lacking {
    Lacking { problem, fix: fix.to_owned() }
}

/// A file as Compose reads it.
async fn config(engine: &Engine, file: &Path) -> Result<String, Lacking> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    for words in PROGRAMS {
        let Some((program, rest)) = words.split_first() else { continue };
        let mut command = Command::new(program);
        command.args(rest).arg("--file").arg(file.file_name().unwrap_or_default()).arg("config");
        command.current_dir(folder).env("DOCKER_HOST", format!("unix://{}", engine.socket.display()));
        let Ok(done) = collect(command, READ_TIME).await else { continue };
        if done.status.success() {
            return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&done.all()).into_owned();
        // Docker's program without the plugin says that it knows no such command.
        let is_unknown = ["is not a docker command", "unknown command", "unknown flag", "unknown shorthand"];
        if is_unknown.iter().any(|words| said.contains(words)) {
            continue;
        }
        let problem = format!("which {} refuses", words.join(" "));
        return Err(wrong(with_log(&problem, &last_lines(said.as_bytes())), "correct it"));
    }
    Err(wrong("which Docker Compose reads, and that is not installed".to_owned(), INSTALL))
}

/// A service of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Service {
    process: OwnProcess,
    image: String,
    build: Option<Build>,
    after: BTreeSet<String>,
    told: Vec<String>,
}

/// The services of a file as Compose prints it, in its order.
fn read(text: &str) -> Result<Vec<Service>, String> {
    let file: Value =
        serde_saphyr::from_str(text).map_err(|error| format!("that cannot be read: {}", with_causes(&error)))?;
    let services = file["services"].as_object().filter(|all| !all.is_empty()).ok_or("that has no services")?;
    services.iter().map(|(name, service)| one(name, service.as_object().ok_or("that has an empty service")?)).collect()
}

fn one(name: &str, service: &Map<String, Value>) -> Result<Service, String> {
    let get = |key: &str| service.get(key).filter(|value| !value.is_null());
    let text = |key: &str| get(key).and_then(scalar);
    let mut told = Vec::new();
    let unknown: Vec<&str> =
        service.keys().map(String::as_str).filter(|key| !READ.contains(key) && !PASSED_OVER.contains(key)).collect();
    if !unknown.is_empty() {
        told.push(format!("service {name}: not taken over: {}", unknown.join(", ")));
    }
    let words = |key: &str| {
        get(key).map(words).transpose().map_err(|problem| format!("whose service {name} has a {key} {problem}"))
    };
    let build = get("build").map(read_build).transpose()?;
    let image = text("image").unwrap_or_default();
    if image.is_empty() && build.is_none() {
        return Err(format!("whose service {name} has no image"));
    }
    let volumes =
        list(get("volumes")).map(|volume| read_volume(volume, name, &mut told)).collect::<Result<Vec<_>, _>>()?;
    let env = match get("environment") {
        Some(Value::Object(all)) => {
            all.iter().map(|(name, value)| format!("{name}={}", scalar(value).unwrap_or_default())).collect()
        }
        other => list(other).filter_map(scalar).collect(),
    };
    let after = match get("depends_on") {
        Some(Value::Object(all)) => all.keys().cloned().collect(),
        other => list(other).filter_map(scalar).collect(),
    };
    let process = OwnProcess {
        image: String::new(),
        name: name.to_owned(),
        entry_point: words("entrypoint")?,
        command: words("command")?.unwrap_or_default(),
        env,
        user: text("user"),
        dir: text("working_dir"),
        volumes,
        ports: Vec::new(),
        is_measured: build.is_some() || !is_beside(&image),
    };
    Ok(Service { process, image, build, after, told })
}

/// Whether an image is of what applications use.
fn is_beside(image: &str) -> bool {
    let name = image.split('@').next().unwrap_or(image);
    let name = name.rsplit('/').next().unwrap_or(name).split(':').next().unwrap_or_default();
    BESIDE.iter().any(|known| name.contains(known))
}

fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A command, which older Compose prints as it was written.
fn words(value: &Value) -> Result<Vec<String>, String> {
    match value {
        Value::Array(words) => Ok(words.iter().filter_map(scalar).collect()),
        value => {
            shlex::split(&scalar(value).unwrap_or_default()).ok_or_else(|| "with a quote that is not closed".to_owned())
        }
    }
}

fn read_build(build: &Value) -> Result<Build, String> {
    let text = |key: &str| build.get(key).and_then(scalar);
    let folder = scalar(build).or_else(|| text("context")).ok_or("that builds an image from no folder")?;
    let args: BTreeMap<String, String> = match &build["args"] {
        Value::Object(all) => all.iter().filter_map(|(name, value)| Some((name.clone(), scalar(value)?))).collect(),
        other => list(Some(other))
            .filter_map(scalar)
            .filter_map(|pair| pair.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())))
            .collect(),
    };
    Ok(Build { folder: PathBuf::from(folder), file: text("dockerfile"), target: text("target"), args })
}

/// A volume. What is of this machine is only read: what a trial wrote would be there for the next, and in the project.
fn read_volume(volume: &Value, service: &str, told: &mut Vec<String>) -> Result<Volume, String> {
    let bad = || format!("whose service {service} has a volume that is not understood: {volume}");
    let (from, at, is_read_only) = match volume {
        Value::Object(all) => {
            let text = |key: &str| all.get(key).and_then(scalar);
            let is_read_only = all.get("read_only").and_then(Value::as_bool).unwrap_or(false);
            (text("source"), text("target").ok_or_else(bad)?, is_read_only)
        }
        other => {
            let typed = scalar(other).ok_or_else(bad)?;
            let parts: Vec<&str> = typed.split(':').collect();
            match parts[..] {
                [at] => (None, at.to_owned(), false),
                [from, at] => (Some(from.to_owned()), at.to_owned(), false),
                [from, at, mode] => (Some(from.to_owned()), at.to_owned(), mode.split(',').any(|one| one == "ro")),
                _ => return Err(bad()),
            }
        }
    };
    Ok(match from {
        None => Volume::Empty { at },
        Some(from) if from.starts_with('/') => {
            if !is_read_only {
                told.push(format!(
                    "service {service}: {from} may only be read; use a named volume for what is written"
                ));
            }
            Volume::Shown { from: PathBuf::from(from), at }
        }
        Some(name) => Volume::Shared { name, at },
    })
}

/// Which services are under test: those that were named; and the order of their start.
fn choose(all: &mut Vec<Service>, named: &[String]) -> Result<(), Lacking> {
    if let Some(unknown) = named.iter().find(|name| !all.iter().any(|service| service.process.name == **name)) {
        let known: Vec<&str> = all.iter().map(|service| service.process.name.as_str()).collect();
        return Err(wrong(format!("which has no service {unknown}"), &format!("it has {}", known.join(", "))));
    }
    for service in all.iter_mut().filter(|_| !named.is_empty()) {
        service.process.is_measured = named.contains(&service.process.name);
    }
    if !all.iter().any(|service| service.process.is_measured) {
        let fix = "name the services under test: in a plan, image: {compose: FILE, services: [web]}";
        return Err(wrong("in which no service is under test by itself".to_owned(), fix));
    }
    let mut ordered: Vec<Service> = Vec::new();
    let mut left = std::mem::take(all);
    while !left.is_empty() {
        let is_ready =
            |service: &Service| service.after.iter().all(|name| !left.iter().any(|other| other.process.name == *name));
        let ready = |is_measured: bool| {
            left.iter().position(|service| service.process.is_measured == is_measured && is_ready(service))
        };
        // Compose refuses circles.
        let next = ready(false).or_else(|| ready(true)).unwrap_or(0);
        ordered.push(left.remove(next));
    }
    *all = ordered;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As docker-compose 1.29 prints it.
    const OLD: &str = "services:
  db:
    environment:
      POSTGRES_PASSWORD: secret
    image: postgres:16
    volumes:
    - data:/var/lib/postgresql/data:rw
  php:
    build:
      context: /home/me/app
      target: prod
    command: php-fpm -F -d 'a b'
    depends_on:
      db:
        condition: service_started
    volumes:
    - code:/app:rw
  web:
    cap_add:
    - NET_ADMIN
    depends_on:
    - php
    image: nginx:stable
    ports:
    - published: 8080
      target: 80
    volumes:
    - /home/me/app/nginx.conf:/etc/nginx/conf.d/default.conf:ro
    - code:/app:rw
version: '3.9'
volumes:
  code: {}
  data: {}
";

    #[test]
    fn services_are_read_as_compose_prints_them() {
        let mut all = read(OLD).unwrap();
        choose(&mut all, &[]).unwrap();
        let names: Vec<(&str, bool)> =
            all.iter().map(|one| (one.process.name.as_str(), one.process.is_measured)).collect();
        assert_eq!(names, [("db", false), ("php", true), ("web", true)]);
        assert_eq!(all[1].process.command, ["php-fpm", "-F", "-d", "a b"]);
        assert_eq!(all[1].build.as_ref().unwrap().target.as_deref(), Some("prod"));
        assert_eq!(all[0].process.env, ["POSTGRES_PASSWORD=secret"]);
        let [shown, shared] = all[2].process.volumes.as_slice() else { panic!("{:?}", all[2]) };
        assert_eq!(*shared, Volume::Shared { name: "code".to_owned(), at: "/app".to_owned() });
        assert!(matches!(shown, Volume::Shown { at, .. } if at == "/etc/nginx/conf.d/default.conf"));
        assert_eq!(all[2].told, ["service web: not taken over: cap_add"]);

        let mut all = read(OLD).unwrap();
        choose(&mut all, &["web".to_owned()]).unwrap();
        assert_eq!(all.iter().filter(|one| one.process.is_measured).count(), 1);
        let lacking = choose(&mut read(OLD).unwrap(), &["api".to_owned()]).unwrap_err();
        assert!(lacking.problem.contains("no service api") && lacking.fix.contains("db, php, web"), "{lacking:?}");
    }

    #[test]
    fn services_are_read_as_the_plugin_prints_them() {
        let new = r#"{"name": "app", "services": {"web": {"image": "my/app:1", "command": null, "entrypoint": null,
            "environment": {"A": "b", "N": 1}, "networks": {"default": null},
            "volumes": [{"type": "bind", "source": "/home/me/app", "target": "/app", "bind": {}}, {"type": "volume", "target": "/tmp/x"}]}}}"#;
        let all = read(new).unwrap();
        assert_eq!(all[0].process.env, ["A=b", "N=1"]);
        assert_eq!(all[0].process.entry_point, None);
        assert_eq!(all[0].process.volumes[1], Volume::Empty { at: "/tmp/x".to_owned() });
        assert!(all[0].told[0].contains("/home/me/app may only be read"), "{:?}", all[0].told);
        for (text, problem) in [
            ("services: {}", "no services"),
            ("services: {a: {command: b}}", "a has no image"),
            ("a: [", "cannot be read"),
        ] {
            assert!(read(text).unwrap_err().contains(problem), "{text}");
        }
    }

    #[test]
    fn what_applications_use_is_known_by_its_image() {
        for (image, is) in
            [("postgres:16", true), ("bitnami/redis@sha256:ab", true), ("reg:5000/me/app", false), ("nginx", false)]
        {
            assert_eq!(is_beside(image), is, "{image}");
        }
    }
}
