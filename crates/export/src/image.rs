//! An image that holds all units of a deployment: one container, as they were measured under one limit and met over
//! unix sockets.

use std::time::Duration;

use minijinja::context;
use stampede_core::shell_word;

use crate::bundle_file::BundleFile;
use crate::export_error::ExportError;
use crate::order::{Image, ImageSoftware};
use crate::resolved::Resolved;
use crate::script::Scripts;
use crate::software::pinned;
use crate::template::Template;

/// The folder of everything in an image.
pub(crate) const ROOT: &str = "/srv";

/// What is copied there.
pub(crate) const RUN: &str = "run";

/// The number of Debian's user for web servers, and of its group, in every Debian and what descends from it; a number, since
/// Kubernetes cannot tell of a name that it is not root. <https://www.debian.org/doc/debian-policy/ch-opersys.html#uid-and-gid-classes>
pub(crate) const USER: u32 = 33;

/// What the script that stops the units takes beside them.
const OWN_TIME: Duration = Duration::from_secs(2);

const DOCKERFILE: Template = Template { name: "Dockerfile.j2", source: include_str!("../templates/Dockerfile.j2") };

/// How long all units may take to stop, one after the other.
pub(crate) fn grace(resolved: &Resolved<'_>) -> Duration {
    resolved.order.deployment.units.iter().map(|unit| unit.stop.grace).sum::<Duration>() + OWN_TIME
}

pub(crate) fn dockerfile(resolved: &Resolved<'_>, parts: &Image, scripts: &Scripts) -> Result<BundleFile, ExportError> {
    let Image { name: _, software } = parts;
    let software = match software {
        ImageSoftware::Packages { base, packages } => pinned(base, packages)?,
        ImageSoftware::Recipe(lines) => lines.clone(),
    };
    let in_root = |path: &str| shell_word(&format!("{ROOT}/{path}"));
    let folders: Vec<String> = resolved.writable().iter().map(|folder| in_root(folder)).collect();
    let logs = resolved.order.deployment.units.iter().flat_map(|unit| &unit.logs);
    let logs: Vec<String> = logs.map(|log| in_root(&log.display().to_string())).collect();
    let text = DOCKERFILE.fill(context! {
        comment => resolved.comment(),
        software => software.trim_end(),
        root => ROOT,
        run => RUN,
        user => USER,
        folders,
        logs,
        steps => [&scripts.prepare, &scripts.check].into_iter().flatten().map(|file| in_root(&file.path.display().to_string())).collect::<Vec<_>>(),
        port => resolved.order.listen.port(),
        ready => resolved.order.ready.as_secs(),
    })?;
    Ok(BundleFile::text("Dockerfile", text))
}
