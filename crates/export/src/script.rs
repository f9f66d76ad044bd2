//! Scripts that do what the bench does around a deployment: prepare the application, check the configuration, start the
//! units in their order and stop them in reverse, and ask whether they are well.
//!
//! They are of Bash, which Debian's images have, and need nothing else.

use std::fmt::Write;

use minijinja::{Value, context};
use stampede_core::{AddressId, AddressKind, Program, Ready, shell_word};

use crate::bundle_file::BundleFile;
use crate::export_error::ExportError;
use crate::health;
use crate::resolved::Resolved;
use crate::template::Template;

/// Starts all units and stops them.
pub(crate) const START: &str = "start";
/// Prepares the application.
pub(crate) const PREPARE: &str = "prepare";
/// Checks the configuration by the servers' own means.
pub(crate) const CHECK: &str = "check";
/// Asks whether it is well.
pub(crate) const HEALTHY: &str = "healthy";

const START_TEMPLATE: Template = Template { name: "start.j2", source: include_str!("../templates/start.j2") };
const STEPS_TEMPLATE: Template = Template { name: "steps.j2", source: include_str!("../templates/steps.j2") };
const HEALTHY_TEMPLATE: Template = Template { name: "healthy.j2", source: include_str!("../templates/healthy.j2") };

/// The scripts of a deployment.
pub(crate) struct Scripts {
    start: BundleFile,
    healthy: BundleFile,
    /// Only where there is something to prepare, and to check; in this order.
    pub(crate) prepare: Option<BundleFile>,
    pub(crate) check: Option<BundleFile>,
}

impl Scripts {
    pub(crate) fn of(resolved: &Resolved<'_>) -> Result<Self, ExportError> {
        let deployment = resolved.order.deployment;
        let preparation = deployment.preparation.iter().flat_map(|preparation| &preparation.programs);
        let prepared = preparation.map(|program| words(resolved, program, PREPARE)).collect::<Result<Vec<_>, _>>()?;
        let checks = deployment.units.iter().filter_map(|unit| unit.check.as_ref());
        let checks = checks.map(|program| words(resolved, program, CHECK)).collect::<Result<Vec<_>, _>>()?;
        let steps = |name: &str, says: &str, steps: Vec<String>| -> Result<Option<BundleFile>, ExportError> {
            if steps.is_empty() {
                return Ok(None);
            }
            let text = STEPS_TEMPLATE.fill(context! { name, says, steps, ..of_all(resolved) })?;
            Ok(Some(BundleFile::program(name, text)))
        };
        Ok(Self {
            start: BundleFile::program(START, start(resolved)?),
            check: steps(CHECK, "Has each server check its configuration.", checks)?,
            healthy: BundleFile::program(HEALTHY, healthy(resolved)?),
            prepare: steps(PREPARE, "Makes the application ready to be served.", prepared)?,
        })
    }

    pub(crate) fn all(self) -> Vec<BundleFile> {
        let Self { start, healthy, prepare, check } = self;
        [start, healthy].into_iter().chain(prepare).chain(check).collect()
    }

    /// Those that are of use where something else starts and stops the units.
    pub(crate) fn for_services(self) -> Vec<BundleFile> {
        let Self { start: _, healthy, prepare, check } = self;
        [healthy].into_iter().chain(prepare).chain(check).collect()
    }
}

/// What all scripts begin with.
fn of_all(resolved: &Resolved<'_>) -> Value {
    let folders: Vec<String> = resolved.writable().iter().map(|folder| shell_word(folder)).collect();
    context! { comment => resolved.comment(), root => shell_word(&resolved.root), folders => folders.join(" ") }
}

fn start(resolved: &Resolved<'_>) -> Result<String, ExportError> {
    let units = &resolved.order.deployment.units;
    let of = |(number, unit): (usize, &stampede_core::Unit)| -> Result<Value, ExportError> {
        let id = unit.id.as_str();
        // Whoever is asked last is waited for by those who ask.
        let ready = if number + 1 < units.len() { condition(resolved, &unit.ready)? } else { None };
        let ready = ready.map(|condition| shell_word(&condition));
        Ok(context! {
            id,
            command => words(resolved, &unit.program, id)?,
            signal => unit.stop.signal.name(),
            grace => unit.stop.grace.as_secs(),
            ready,
        })
    };
    let rendered = units.iter().enumerate().map(of).collect::<Result<Vec<_>, _>>()?;
    let left: Vec<String> = resolved.sockets().map(|(_, socket)| shell_word(&socket)).collect();
    let pid_files = units.iter().flat_map(|unit| &unit.folders).map(|folder| format!("{}/*.pid", folder.display()));
    let left: Vec<String> = left.into_iter().chain(pid_files).collect();
    let seconds = resolved.order.ready.as_secs();
    let ids: Vec<&str> = units.iter().map(|unit| unit.id.as_str()).collect();
    let says =
        format!("{}{}", ids.join(", then "), if ids.len() > 1 { ", each when the one before it is ready" } else { "" });
    START_TEMPLATE.fill(context! { says, units => rendered, left => left.join(" "), seconds, ..of_all(resolved) })
}

/// What is true once a unit is started, as a command of Bash; nothing where only a request would tell.
pub(crate) fn condition(resolved: &Resolved<'_>, ready: &Ready) -> Result<Option<String>, ExportError> {
    match ready {
        Ready::Request => Ok(None),
        Ready::Program(program) => words(resolved, program, "readiness").map(Some),
        Ready::Port(id) => port(resolved, id).map(Some),
    }
}

fn port(resolved: &Resolved<'_>, id: &AddressId) -> Result<String, ExportError> {
    let addresses = &resolved.order.deployment.addresses;
    let is_socket = addresses.iter().any(|address| address.id == *id && address.kind == AddressKind::UnixSocket);
    if is_socket {
        return Ok(format!("[ -S {} ]", shell_word(&resolved.text(&format!("@{{{id}}}"), "readiness")?)));
    }
    let place = resolved.text(&format!("@{{{id}.host}}/@{{{id}.port}}"), "readiness")?;
    Ok(format!("(exec 3<>/dev/tcp/{place}) 2>/dev/null"))
}

fn healthy(resolved: &Resolved<'_>) -> Result<String, ExportError> {
    let listen = resolved.order.listen;
    let host = match listen.ip() {
        ip if !ip.is_unspecified() => ip.to_string(),
        ip if ip.is_ipv6() => "::1".to_owned(),
        _ => "127.0.0.1".to_owned(),
    };
    let asked = resolved.order.health.map(|exchange| {
        let request = health::request(&exchange.request, &host, listen.port());
        context! { name => &exchange.name, request => escaped(&request), status => exchange.expect.status }
    });
    HEALTHY_TEMPLATE.fill(context! { comment => resolved.comment(), host, port => listen.port(), asked })
}

/// A program with its environment as words of a shell. What the environment has beside it is inherited, so that an
/// application can be given more where it is deployed.
fn words(resolved: &Resolved<'_>, program: &Program, what: &str) -> Result<String, ExportError> {
    let Program { path, args, env } = resolved.program(program, what)?;
    let mut words: Vec<String> = Vec::new();
    if !env.is_empty() {
        words.push("env".to_owned());
        words.extend(env.iter().map(|(name, value)| shell_word(&format!("{name}={value}"))));
    }
    words.extend(std::iter::once(&path).chain(&args).map(|word| shell_word(word)));
    Ok(words.join(" "))
}

/// Bytes as the format of `printf`. <https://www.gnu.org/software/bash/manual/html_node/Bash-Builtins.html#index-printf>
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match byte {
            b'\r' => text.push_str("\\r"),
            b'\n' => text.push_str("\\n"),
            b'\\' => text.push_str("\\\\"),
            b'%' => text.push_str("%%"),
            b'\'' => text.push_str("\\047"),
            b' '..=b'~' => text.push(char::from(*byte)),
            // Three digits always, so that no digit that follows is read with it.
            _ => {
                let _ = write!(text, "\\{byte:03o}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_through_printf_as_they_were() {
        assert_eq!(escaped(b"50% \\ 'a'\r\n\x001\xff"), "50%% \\\\ \\047a\\047\\r\\n\\0001\\377");
    }
}
