//! Redis or Valkey, which is empty when a trial begins and keeps nothing on disk.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use minijinja::context;
use stampede_core::{
    ComposeContext, Found, GracefulStop, PlanError, Program, ReadBack, Ready, Requirement, Service, ServiceKind,
    StopSignal, Unit,
};

use crate::service::{Rendered, file, found, needs, program, settings};
use crate::template::{Template, template};

const KIND: ServiceKind = ServiceKind::Redis;
pub(crate) const SERVER: &str = "redis-server";
const CLIENT: &str = "redis-cli";
pub(crate) const PAGE: &str = "https://redis.io/docs/latest/operate/oss_and_stack/install/";

const CONF: Template = template!("services/redis.conf.j2");

/// Prints settings as rows: a client that is no terminal prints the name and the value of each on lines of their own.
const SETTINGS: &str = r#"host=$1 port=$2 client=$3; shift 3
for name; do "$client" -h "$host" -p "$port" CONFIG GET "$name" | paste -s -d '\t' -; done"#;

/// Units of memory in its configuration, without regard to capitals. <https://redis.io/docs/latest/operate/oss_and_stack/management/config-file/>
const MEMORY: [(&str, u64); 6] =
    [("k", 1_000), ("kb", 1 << 10), ("m", 1_000_000), ("mb", 1 << 20), ("g", 1_000_000_000), ("gb", 1 << 30)];

pub(crate) fn requires() -> Vec<Requirement> {
    vec![
        needs(&[SERVER, "valkey-server"], "v=", "redis-server", PAGE),
        needs(&[CLIENT, "valkey-cli"], "-cli ", "redis-tools", PAGE),
    ]
}

/// Under the names that Laravel's configuration reads, and the address as Symfony's components take it. There is no password, and one
/// that the application brings is not sent.
pub(crate) fn environment() -> Vec<(&'static str, String)> {
    vec![
        ("REDIS_URL", "redis://@{redis.host}:@{redis.port}".to_owned()),
        ("REDIS_DSN", "redis://@{redis.host}:@{redis.port}".to_owned()),
        ("REDIS_HOST", "@{redis.host}".to_owned()),
        ("REDIS_PORT", "@{redis.port}".to_owned()),
        ("REDIS_PASSWORD", String::new()),
    ]
}

pub(crate) fn render(service: &Service, cx: &ComposeContext<'_>) -> Result<Rendered, PlanError> {
    let server = found(KIND, SERVER, cx)?;
    let client = found(KIND, CLIENT, cx)?;
    let settings = settings(service, &defaults(service));
    let settings: BTreeMap<String, String> =
        settings.into_iter().map(|(name, value)| (name, in_bytes(&value).unwrap_or(value))).collect();
    let conf = CONF.fill(context! { settings => lines(&settings) })?;
    let stop = GracefulStop { signal: StopSignal::Term, grace: Duration::from_secs(5) };
    let unit = Unit {
        files: vec![file(KIND, "redis.conf", conf)],
        folders: vec![PathBuf::from(KIND.id())],
        ready: Ready::Program(program(client, &["-h", "@{redis.host}", "-p", "@{redis.port}", "PING"], &[])),
        ..Unit::new(KIND.id(), program(server, &["@{run}/redis/redis.conf"], &[]), stop)
    };
    let read_back = ReadBack { program: read(client, &settings), asked: settings };
    Ok(Rendered { unit, read_back })
}

/// Nothing is saved. With a share of its own three quarters of that are for values: Redis itself counts neither its connections'
/// buffers nor what its allocator leaves unused.
/// <https://redis.io/docs/latest/operate/oss_and_stack/management/optimization/memory-optimization/#memory-allocation>
fn defaults(service: &Service) -> Vec<(&'static str, String)> {
    let most = service.share.map_or(0, |share| share.memory.get() / 4 * 3);
    vec![("appendonly", "no".to_owned()), ("maxmemory", most.to_string()), ("save", String::new())]
}

/// An amount of memory as Redis reads it and tells it; nothing of any other value.
fn in_bytes(value: &str) -> Option<String> {
    let end = value.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = value.split_at(end);
    let (_, size) = MEMORY.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name))?;
    Some(number.parse::<u64>().ok()?.checked_mul(*size)?.to_string())
}

/// Settings as its configuration has them; no value is an empty text.
fn lines(settings: &BTreeMap<String, String>) -> Vec<String> {
    let written = |value: &String| if value.is_empty() { "\"\"".to_owned() } else { value.clone() };
    settings.iter().map(|(name, value)| format!("{name} {}", written(value))).collect()
}

fn read(client: &Found, settings: &BTreeMap<String, String>) -> Program {
    let fixed = ["-c", SETTINGS, "settings", "@{redis.host}", "@{redis.port}"].map(str::to_owned);
    let client = client.path.display().to_string();
    Program {
        path: "/bin/sh".to_owned(),
        args: fixed.into_iter().chain([client]).chain(settings.keys().cloned()).collect(),
        env: BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_as_redis_reads_it() {
        for (value, bytes) in [
            ("64mb", Some("67108864")),
            ("64MB", Some("67108864")),
            ("64m", Some("64000000")),
            ("1gb", Some("1073741824")),
            ("100", None),
            ("900 1", None),
            ("allkeys-lru", None),
            ("", None),
        ] {
            assert_eq!(in_bytes(value).as_deref(), bytes, "{value}");
        }
    }

    #[test]
    fn settings_stand_on_lines_of_their_own() {
        let settings = [("save", ""), ("maxmemory-policy", "allkeys-lru")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(lines(&settings.into()), ["maxmemory-policy allkeys-lru", "save \"\""]);
    }
}
