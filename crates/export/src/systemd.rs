//! Services of systemd, one for each unit, in a slice that holds all of them to the limits together.

use minijinja::{Value, context};
use stampede_core::{AddressId, Program, Ready, Unit};

use crate::bundle_file::BundleFile;
use crate::export_error::ExportError;
use crate::resolved::Resolved;
use crate::script::{PREPARE, condition};
use crate::template::Template;

const SERVICE: Template = Template { name: "unit.service.j2", source: include_str!("../templates/unit.service.j2") };
const SLICE: Template = Template { name: "slice.j2", source: include_str!("../templates/slice.j2") };
const TARGET: Template = Template { name: "target.j2", source: include_str!("../templates/target.j2") };
const TMPFILES: Template = Template { name: "tmpfiles.conf.j2", source: include_str!("../templates/tmpfiles.conf.j2") };

const UNITS: &str = "etc/systemd/system";

/// Units of systemd, and what it makes folders writable by.
pub(crate) fn files(resolved: &Resolved<'_>) -> Result<Vec<BundleFile>, ExportError> {
    let order = resolved.order;
    let name = order.name;
    // Hyphens in a slice's name would put it into others. https://www.freedesktop.org/software/systemd/man/systemd.slice.html
    let slice = name.replace('-', "_");
    let ids: Vec<String> = order.deployment.units.iter().map(|unit| format!("{name}-{}.service", unit.id)).collect();
    let mut files = Vec::new();
    for (number, unit) in order.deployment.units.iter().enumerate() {
        let id = unit.id.as_str();
        let program = resolved.program(&unit.program, id)?;
        let check = unit.check.as_ref().map(|check| resolved.program(check, id)).transpose()?;
        let prepares =
            number == 0 && order.deployment.preparation.as_ref().is_some_and(|made| !made.programs.is_empty());
        // Whoever is started next needs it ready.
        let ready = if number + 1 < ids.len() { condition(resolved, &unit.ready)? } else { None };
        let text = SERVICE.fill(context! {
            comment => resolved.comment(),
            id,
            name,
            slice => &slice,
            before => number.checked_sub(1).and_then(|before| ids.get(before)),
            root => &resolved.root,
            environment => environment(&program),
            left => left(resolved, unit),
            prepare => prepares.then(|| format!("{}/{PREPARE}", resolved.root)),
            check => check.as_ref().map(command),
            command => command(&program),
            ready => ready.map(|condition| word(&format!("until {condition}; do sleep 0.05; done"))),
            signal => unit.stop.signal.name(),
            grace => unit.stop.grace.as_secs(),
            start_seconds => order.ready.as_secs(),
        })?;
        files.push(BundleFile::text(format!("{UNITS}/{}", ids[number]), text));
    }
    let of_all: Value = context! {
        comment => resolved.comment(),
        name,
        root => &resolved.root,
        folders => resolved.writable(),
        services => ids,
        // Hundredths of a CPU, up to a tenth of one.
        percent => format!("{}", order.limits.cpus.cores() * 100.0),
        bytes => order.limits.memory.get(),
    };
    files.push(BundleFile::text(format!("{UNITS}/{slice}.slice"), SLICE.fill(of_all.clone())?));
    files.push(BundleFile::text(format!("{UNITS}/{name}.target"), TARGET.fill(of_all.clone())?));
    files.push(BundleFile::text(format!("etc/tmpfiles.d/{name}.conf"), TMPFILES.fill(of_all)?));
    Ok(files)
}

/// The sockets of a unit, which one that was killed has left: none can listen where a file is.
fn left(resolved: &Resolved<'_>, unit: &Unit) -> Vec<String> {
    let told = unit.statuses.iter().map(|status| &status.address);
    let served = match &unit.ready {
        Ready::Port(id) => Some(id),
        Ready::Request | Ready::Program(_) => None,
    };
    let own: Vec<&AddressId> = told.chain(served).collect();
    resolved.sockets().filter(|(id, _)| own.contains(id)).map(|(_, socket)| socket).collect()
}

fn environment(program: &Program) -> Vec<String> {
    program.env.iter().map(|(name, value)| word(&format!("{name}={value}")).replace("$$", "$")).collect()
}

fn command(program: &Program) -> String {
    let words = std::iter::once(&program.path).chain(&program.args).map(|text| word(text));
    words.collect::<Vec<_>>().join(" ")
}

/// A word of a command line. <https://www.freedesktop.org/software/systemd/man/systemd.service.html#Command%20lines>
fn word(text: &str) -> String {
    let text = text.replace('%', "%%").replace('$', "$$");
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@,+%$".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text;
    }
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
