//! What an image is made of: the packages that the programs found here came from.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use stampede_core::{App, Deployment, Requirement};
use stampede_export::{Image, ImageSoftware, Package};
use stampede_seam::Platform as _;
use thiserror::Error;

use super::debian::{self, InstalledPackage};
use super::needs::DetectedNeeds;
use crate::docker::{DockerError, DockerPlatform};

/// Why there is no image of a deployment.
#[derive(Debug, Error)]
pub enum ImageError {
    /// Its packages have another form.
    #[error(
        "an image builds upon Debian's or Ubuntu's, whose packages are what is measured there; this is another system\n  \
         export systemd or config"
    )]
    System,
    /// A file that no package holds.
    #[error(
        "an image is made of packages, and {} came from none on this machine\n  install it as a package, or export systemd or \
         config",
        .0.display()
    )]
    NoPackage(PathBuf),
    /// The container does not say.
    #[error(transparent)]
    Container(#[from] DockerError),
}

/// Looks up which packages serve this deployment: on this machine, or in the image of containers, upon whose base it is built then.
pub async fn image(
    name: String,
    app: &App,
    deployment: &Deployment,
    found: &DetectedNeeds,
    needs: &[Requirement],
    containers: Option<&DockerPlatform>,
) -> Result<Image, ImageError> {
    let files = files(app, deployment, found);
    let extensions = extensions(app, found, needs);
    if let Some(containers) = containers {
        if let Some(lines) = deployment.image.as_ref().and_then(|image| containers.dockerfile_of(image)) {
            return Ok(Image { name, software: ImageSoftware::Recipe(lines) });
        }
        let base = containers.image_of(deployment.image.as_ref()).unwrap_or_default();
        let all: Vec<PathBuf> = files.into_iter().chain(extensions).collect();
        let packages = containers.packages_of(&all).await?;
        let packages: BTreeSet<Package> =
            packages.into_iter().map(|InstalledPackage { name, version }| Package { name, version }).collect();
        return Ok(Image {
            name,
            software: ImageSoftware::Packages { base, packages: packages.into_iter().collect() },
        });
    }
    let Some(base) = debian::image() else {
        return Err(ImageError::System);
    };
    let mut packages = BTreeSet::new();
    for file in files.into_iter().chain(extensions.into_iter().filter(|file| file.is_file())) {
        let Some(InstalledPackage { name, version }) = debian::package_of(&file).await else {
            return Err(ImageError::NoPackage(file));
        };
        packages.insert(Package { name, version });
    }
    Ok(Image { name, software: ImageSoftware::Packages { base, packages: packages.into_iter().collect() } })
}

/// What was found and comes from outside: what is built is copied, and what lies in the application comes with it.
fn files(app: &App, deployment: &Deployment, found: &DetectedNeeds) -> Vec<PathBuf> {
    let builders: Vec<&Path> = deployment
        .units
        .iter()
        .filter_map(|unit| unit.build.as_ref())
        .map(|step| Path::new(&step.program.path))
        .collect();
    let outside = |path: &&PathBuf| !builders.contains(&path.as_path()) && !path.starts_with(&app.source);
    found.paths.iter().filter(outside).cloned().collect()
}

/// Where the files of PHP's extensions are that are not compiled in.
fn extensions(app: &App, found: &DetectedNeeds, needs: &[Requirement]) -> Vec<PathBuf> {
    let servers = needs.iter().filter_map(|need| match need {
        Requirement::PhpExtension { extension, .. } => Some(*extension),
        _ => None,
    });
    let names: Vec<&str> = app.extensions.iter().map(String::as_str).chain(servers).chain(["opcache"]).collect();
    let builds = found.programs.values().filter_map(|program| program.php.as_ref());
    let of_build = builds.flat_map(|php| {
        let set_up = php.setup.iter().flat_map(|setup| &setup.modules).map(|module| module.name.as_str());
        names.iter().copied().chain(set_up).map(|name| php.extension_dir.join(format!("{name}.so")))
    });
    of_build.collect()
}
