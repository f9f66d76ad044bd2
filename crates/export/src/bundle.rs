//! Everything that is written.

use std::path::{Path, PathBuf};

use stampede_core::{AddressId, AddressKind, Cpus, Deployment, Places, Program, Replacement, RunFile, UnknownPlace};
use thiserror::Error;

use crate::order::Order;
use crate::place::{APP, LONGEST_SOCKET_PATH, SOCKETS, places, socket};
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

/// A file that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleFile {
    /// Its path.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// Whether it is a program.
    pub executable: bool,
}

impl BundleFile {
    pub(crate) fn text(path: impl Into<PathBuf>, text: String) -> Self {
        Self { path: path.into(), text, executable: false }
    }

    pub(crate) fn program(path: impl Into<PathBuf>, text: String) -> Self {
        Self { executable: true, ..Self::text(path, text) }
    }
}

/// An order with its places put in.
pub(crate) struct Resolved<'a> {
    pub(crate) order: &'a Order<'a>,
    /// The folder that holds everything in the end.
    pub(crate) root: String,
    places: Places,
}

impl Resolved<'_> {
    pub(crate) fn text(&self, text: &str, what: &str) -> Result<String, ExportError> {
        self.places.resolve(text).map_err(|source| ExportError::Place { what: what.to_owned(), source })
    }

    /// A program with its places put in.
    pub(crate) fn program(&self, program: &Program, what: &str) -> Result<Program, ExportError> {
        let Program { path, args, env } = program;
        let text = |text: &String| self.text(text, what);
        Ok(Program {
            path: text(path)?,
            args: args.iter().map(text).collect::<Result<_, _>>()?,
            env: env
                .iter()
                .map(|(name, value)| Ok((name.clone(), text(value)?)))
                .collect::<Result<_, ExportError>>()?,
        })
    }

    /// The lines of a comment that every file of our own begins with.
    pub(crate) fn comment(&self) -> String {
        self.order.origin.iter().map(|line| format!("# {line}\n")).collect()
    }

    /// The unix sockets.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = (&AddressId, String)> {
        let addresses = self.order.deployment.addresses.iter();
        let of_kind = addresses.filter(|address| address.kind == AddressKind::UnixSocket);
        of_kind.map(|address| (&address.id, socket(&self.root, address.id.as_str())))
    }

    /// Folders that servers write to, relative to the root; the application's own copy is one by itself.
    pub(crate) fn writable(&self) -> Vec<String> {
        let deployment = self.order.deployment;
        let prepared = deployment.preparation.iter().flat_map(|preparation| &preparation.folders);
        let mut all = vec![SOCKETS.to_owned()];
        let folders = deployment.units.iter().flat_map(|unit| &unit.folders).chain(prepared);
        all.extend(folders.map(|folder| folder.display().to_string()));
        all
    }
}

/// Makes the files of a target.
///
/// # Errors
///
/// When a text names a place that a runtime alone does not have, no port is left for it, or the target does not take such
/// limits.
pub fn export(target: Target, order: &Order<'_>) -> Result<Bundle, ExportError> {
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

/// Why files could not be made.
#[derive(Debug, Error)]
pub enum ExportError {
    /// A text names a place that is not there.
    #[error("export {what}")]
    Place {
        /// The file or program.
        what: String,
        /// The place.
        #[source]
        source: UnknownPlace,
    },
    /// There are not enough ports after the front's.
    #[error("listen on port {0}: the ports that follow are needed too, and there are not enough of them")]
    Ports(u16),
    /// A server's configuration cannot name the folder.
    #[error(
        "write configuration for {0}: a server's file takes letters, digits and /-_.+@ of it, and a socket in it has at most \
         {LONGEST_SOCKET_PATH} bytes"
    )]
    Folder(String),
    /// Nothing is known of an image.
    #[error("write a Dockerfile: it is not known what the image builds upon")]
    Image,
    /// Cloud Run has no such CPUs.
    #[error("run it on Cloud Run: it has 1, 2, 4, 6 or 8 CPUs, or from 0.08 up to 1, and not {0}")]
    CloudRunCpus(Cpus),
    /// A template could not be filled.
    #[error("fill in {template}")]
    Template {
        /// The template.
        template: &'static str,
        /// Why.
        #[source]
        source: minijinja::Error,
    },
}
