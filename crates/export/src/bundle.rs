//! Everything that is written.

use std::path::{Path, PathBuf};

use stampede_core::{Deployment, Replacement, RunFile};

use crate::bundle_file::BundleFile;
use crate::export_error::{ExportError, LONGEST_SOCKET_PATH};
use crate::order::BundleOrder;
use crate::place::{APP, places};
use crate::resolved::Resolved;
use crate::script::Scripts;
use crate::target::Target;
use crate::{image, manifest, systemd};

/// What is written into one folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Files, with paths relative to that folder.
    pub files: Vec<BundleFile>,
    /// Where a copy of the application belongs.
    pub app: PathBuf,
    /// What is replaced in that copy.
    pub replacements: Vec<Replacement>,
    /// The folder below which what units build belongs, each at its output's path.
    pub run: PathBuf,
}

/// Makes the files of a target.
///
/// # Errors
///
/// When a text names a place that a runtime alone does not have, no port is left for it, or the target does not take such
/// limits.
pub fn export(target: Target, order: &BundleOrder<'_>) -> Result<Bundle, ExportError> {
    let root = match target {
        Target::Config => order.folder.to_owned(),
        Target::Systemd => format!("/srv/{}", order.name),
        _ => image::ROOT.to_owned(),
    };
    let places = places(order.deployment, &root, order.listen)?;
    let resolved = Resolved { order, root, places };
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/-_.+@".contains(letter);
    let longest = resolved.sockets().map(|(_, socket)| socket.len()).max();
    // Servers' files name it without quotes.
    if !resolved.root.chars().all(is_plain) || longest > Some(LONGEST_SOCKET_PATH) {
        return Err(ExportError::Folder(resolved.root));
    }
    let configuration = configuration(order.deployment, &resolved)?;
    let replacements = replacements(order.deployment, &resolved)?;
    let scripts = Scripts::of(&resolved)?;
    let below = |folder: &str, files: Vec<BundleFile>| -> Vec<BundleFile> {
        let inside = |file: BundleFile| BundleFile { path: Path::new(folder).join(&file.path), ..file };
        files.into_iter().map(inside).collect()
    };
    match target {
        Target::Config => {
            let files = [configuration, scripts.all()].concat();
            Ok(Bundle { files, app: PathBuf::from(APP), replacements, run: PathBuf::new() })
        }
        Target::Systemd => {
            let run = resolved.root.trim_start_matches('/');
            let files = [below(run, [configuration, scripts.for_services()].concat()), systemd::files(&resolved)?];
            Ok(Bundle { files: files.concat(), app: Path::new(run).join(APP), replacements, run: PathBuf::from(run) })
        }
        Target::Dockerfile | Target::Compose | Target::Kubernetes | Target::Knative | Target::CloudRun => {
            let parts = order.image.ok_or(ExportError::Image)?;
            let mut files = vec![image::dockerfile(&resolved, parts, &scripts)?];
            files.extend(manifest::file(target, &resolved, parts)?);
            files.extend(below(image::RUN, [configuration, scripts.all()].concat()));
            Ok(Bundle { files, app: PathBuf::from(APP), replacements, run: PathBuf::from(image::RUN) })
        }
    }
}

/// The deployment's own files with their places put in.
fn configuration(deployment: &Deployment, resolved: &Resolved<'_>) -> Result<Vec<BundleFile>, ExportError> {
    let preparation = deployment.preparation.iter().flat_map(|preparation| &preparation.files);
    let probe = deployment.probe.iter().flat_map(|probe| &probe.files);
    let files = deployment.units.iter().flat_map(|unit| &unit.files).chain(preparation).chain(probe);
    let of = |RunFile { path, text }: &RunFile| {
        Ok(BundleFile::text(path, resolved.text(text, &path.display().to_string())?))
    };
    files.map(of).collect()
}

/// What is replaced in the copy of the application, with places put in.
fn replacements(deployment: &Deployment, resolved: &Resolved<'_>) -> Result<Vec<Replacement>, ExportError> {
    let all = deployment.preparation.iter().flat_map(|preparation| &preparation.replacements);
    let of = |replacement: &Replacement| {
        let with = resolved.text(&replacement.with, &replacement.file.display().to_string())?;
        Ok(Replacement { with, ..replacement.clone() })
    };
    all.map(of).collect()
}
