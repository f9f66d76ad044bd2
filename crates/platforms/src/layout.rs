//! A deployment's files in the folder of a run: what is built, what is copied, what is written, with its places put in. The same
//! for processes on this machine and in containers.

pub(crate) mod app_copy;
pub(crate) mod builder;
pub(crate) mod bundle_folder;
pub(crate) mod folder;
pub(crate) mod owned;
mod packages;
pub(crate) mod temp_path;
pub(crate) mod template_folder;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use stampede_core::{
    AddressId, AddressKind, Deployment, Endpoint, Makes, Places, Replacement, UnknownPlace, with_causes,
};
use stampede_seam::LaunchError;

use self::folder::{Folder, SOCKETS};
use self::template_folder::Maker;
use crate::machine::user::User;
use crate::units::app_log;

/// The longest path of a unix socket, in bytes without the final zero
/// ([unix(7)](https://man7.org/linux/man-pages/man7/unix.7.html)).
const LONGEST_SOCKET_PATH: usize = 107;

/// Where folders that are copied into runs are kept, in the state folder: units' users must get there.
pub(crate) const TEMPLATES: &str = "t";

/// Something that was built and where it belongs in the run's folder.
pub(crate) struct Built {
    result: PathBuf,
    makes: Makes,
    place: PathBuf,
}

/// Builds what the units of a deployment are built from, where that is not kept already: programs on this machine, folders by
/// `maker`.
pub(crate) async fn build(
    deployment: &Deployment,
    cache_dir: &Path,
    state_dir: &Path,
    user: Option<User>,
    maker: &dyn Maker,
) -> Result<Vec<Built>, LaunchError> {
    let mut built = Vec::new();
    for unit in &deployment.units {
        let Some(step) = &unit.build else { continue };
        let result = match step.makes {
            Makes::Program => builder::build(step, &deployment.app, cache_dir).await,
            Makes::Folder => template_folder::make(step, &state_dir.join(TEMPLATES), user, maker).await,
        };
        let result = result.map_err(|problem| LaunchError::Build { unit: unit.id.clone(), problem })?;
        built.push(Built { result, makes: step.makes, place: step.output.clone() });
    }
    Ok(built)
}

/// Gives each symbolic address a real one. The number is the address's place in the deployment.
pub(crate) fn bind(
    deployment: &Deployment,
    folder: &Folder,
    socket_address: impl Fn(usize) -> io::Result<SocketAddr>,
) -> Result<BTreeMap<AddressId, Endpoint>, LaunchError> {
    let mut endpoints = BTreeMap::new();
    for (number, address) in deployment.addresses.iter().enumerate() {
        let endpoint = match address.kind {
            AddressKind::Tcp => {
                let free = socket_address(number);
                Endpoint::Tcp(free.map_err(|error| LaunchError::Prepare(format!("find a free port: {error}")))?)
            }
            AddressKind::UnixSocket => {
                let path = folder.socket(address.id.as_str());
                if path.as_os_str().len() > LONGEST_SOCKET_PATH {
                    return Err(LaunchError::Prepare(format!(
                        "place the socket {}: its path is longer than {LONGEST_SOCKET_PATH} bytes; use a shorter \
                         state folder",
                        path.display()
                    )));
                }
                Endpoint::Unix(path)
            }
        };
        endpoints.insert(address.id.clone(), endpoint);
    }
    Ok(endpoints)
}

/// The places behind a deployment's symbolic ones.
pub(crate) fn places(folder: &Folder, endpoints: &BTreeMap<AddressId, Endpoint>) -> Result<Places, LaunchError> {
    let text = |path: &Path| {
        path.to_str()
            .map(str::to_owned)
            .ok_or_else(|| LaunchError::Prepare(format!("name {}: it is not UTF-8", path.display())))
    };
    let mut places = Places::new();
    places.insert("run", text(folder.path())?);
    places.insert("app", text(&folder.app())?);
    for (id, endpoint) in endpoints {
        match endpoint {
            Endpoint::Tcp(address) => {
                places.insert(id.as_str(), address.to_string());
                places.insert(format!("{id}.host"), address.ip().to_string());
                places.insert(format!("{id}.port"), address.port().to_string());
            }
            Endpoint::Unix(path) => places.insert(id.as_str(), text(path)?),
        }
    }
    Ok(places)
}

/// Fills a run's folder: the application, what was built, and every file.
pub(crate) fn fill(
    folder: &Folder,
    deployment: &Deployment,
    places: &Places,
    built: &[Built],
) -> Result<(), LaunchError> {
    let failed = |error: &dyn std::error::Error| LaunchError::Prepare(with_causes(error));
    folder.copy_app(&deployment.app).map_err(|error| failed(&error))?;
    // What an application logged elsewhere is no log of this run.
    for log in deployment.units.iter().flat_map(|unit| &unit.logs).filter(|log| log.starts_with(app_log::APP)) {
        let log = app_log::inside(folder, log).map_err(|error| failed(&error))?;
        for file in app_log::files(&folder.app(), &log) {
            fs::remove_file(&file)
                .map_err(|error| LaunchError::Prepare(format!("remove {}: {error}", file.display())))?;
        }
    }
    for replacement in deployment.preparation.iter().flat_map(|preparation| &preparation.replacements) {
        let with = places.resolve(&replacement.with).map_err(|error| LaunchError::Prepare(error.to_string()))?;
        let replacement = Replacement { with, ..replacement.clone() };
        app_copy::replace(&folder.app(), &replacement).map_err(|error| failed(&error))?;
    }
    for (number, Built { result, makes, place }) in built.iter().enumerate() {
        let before = built[..number].iter().find(|other| other.result == *result);
        match (makes, before) {
            (Makes::Program, None) => folder.install(result, place),
            (Makes::Program, Some(other)) => folder.share(&other.place, place),
            (Makes::Folder, _) => folder.install_folder(result, place),
        }
        .map_err(|error| failed(&error))?;
    }
    let preparation = deployment.preparation.iter().flat_map(|preparation| &preparation.files);
    let probe = deployment.probe.iter().flat_map(|probe| &probe.files);
    for file in deployment.units.iter().flat_map(|unit| &unit.files).chain(preparation).chain(probe) {
        let path = file.path.display().to_string();
        let unknown = |error: UnknownPlace| LaunchError::Prepare(format!("{path}: {error}"));
        let text = places.resolve(&file.text).map_err(unknown)?;
        let path = places.resolve(&path).map_err(unknown)?;
        folder.write(Path::new(&path), &text).map_err(|error| failed(&error))?;
    }
    let sockets = Path::new(SOCKETS);
    for writable in deployment.units.iter().flat_map(|unit| &unit.folders).map(PathBuf::as_path).chain([sockets]) {
        folder.make_writable(writable).map_err(|error| failed(&error))?;
    }

    for written in deployment.preparation.iter().flat_map(|preparation| &preparation.folders) {
        folder.hand_over(written).map_err(|error| failed(&error))?;
    }
    Ok(())
}
