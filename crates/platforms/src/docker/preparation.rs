//! Prepares an application: its own commands are run once, in a container and in a copy that all trials are then copied from, and
//! whose many packages they share.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use stampede_core::{App, with_causes};
use stampede_seam::PrepareError;

use super::engine::Engine;
use super::sandbox::{Order, Purpose, Sandbox};
use crate::layout::app_copy::{self, Survey};
use crate::layout::folder::{Folder, HOME};
use crate::log_tail::{self, with_log};
use crate::machine::user;
use crate::runs::process_owner::ProcessOwner;
use crate::units::{COMMAND_TIME, Command, DEFAULT_PATH};

/// A prepared copy, in the folder of a run; it is removed with its container when this is dropped.
#[derive(Debug)]
pub(super) struct Preparation {
    pub(super) folder: Folder,
    /// What is in the copy, where runs link to its packages.
    pub(super) shared: Option<Survey>,
    // Each removes the copy when it is dropped: the container in which commands were run, or the run of a copy alone.
    _sandbox: Option<Sandbox>,
    _owner: Option<ProcessOwner>,
}

fn failed(error: impl Display) -> PrepareError {
    PrepareError::Copy(error.to_string())
}

/// Copies an application that no command is run for, so that runs link to its packages.
pub(super) async fn share(state_dir: &Path, app: &App) -> Result<Preparation, PrepareError> {
    let (state_dir, source) = (state_dir.to_owned(), app.source.clone());
    let copied = tokio::task::spawn_blocking(move || {
        let user = user::for_units().map_err(failed)?;
        let owner = ProcessOwner::begin(&state_dir, None).map_err(failed)?;
        let folder = Folder::create(&owner.run().folder, user).map_err(|error| failed(with_causes(&error)))?;
        folder.copy_app(&source).map_err(|error| failed(with_causes(&error)))?;
        let shared = share_packages(&folder, user)?;
        Ok(Preparation { folder, shared, _sandbox: None, _owner: Some(owner) })
    });
    copied.await.map_err(failed)?
}

/// Makes the packages of a copy such that runs link to them, where there are many.
fn share_packages(folder: &Folder, user: Option<user::User>) -> Result<Option<Survey>, PrepareError> {
    let app = folder.app();
    let survey = Survey::of(&app).map_err(|error| failed(with_causes(&error)))?;
    if !survey.is_shared(user) {
        return Ok(None);
    }
    app_copy::share_packages(&app).map_err(|error| failed(with_causes(&error)))?;
    Ok(Some(survey))
}

/// Copies an application and runs its commands, one after the other.
pub(super) async fn prepare(
    engine: &Engine,
    state_dir: &Path,
    image: String,
    app: &App,
    offline: bool,
) -> Result<Preparation, PrepareError> {
    let failed = |error: &dyn std::error::Error| PrepareError::Copy(with_causes(error));
    let user = user::for_units().map_err(|error| failed(&error))?;
    let order = Order { image, user, shown: None, purpose: Purpose::Preparation };
    let mut sandbox = Sandbox::open(engine, state_dir, order).await.map_err(|error| failed(&error))?;
    let nothing = || PrepareError::Copy("the container has no folder".to_owned());
    let folder = sandbox.folder.take().ok_or_else(nothing)?;
    let (copied, source) = (folder.clone(), app.source.clone());
    let copied = tokio::task::spawn_blocking(move || {
        copied.copy_app(&source)?;
        [HOME, "logs"].into_iter().try_for_each(|writable| copied.make_writable(Path::new(writable)))
    });
    copied.await.map_err(|error| failed(&error))?.map_err(|error| failed(&error))?;
    let mut env = app.env.clone();
    env.entry("PATH".to_owned()).or_insert_with(|| DEFAULT_PATH.to_owned());
    env.entry("HOME".to_owned()).or_insert_with(|| folder.path().join(HOME).display().to_string());
    if offline {
        // <https://getcomposer.org/doc/03-cli.md#composer-disable-network>
        env.entry("COMPOSER_DISABLE_NETWORK".to_owned()).or_insert_with(|| "1".to_owned());
    }
    for (number, words) in app.prepare.iter().enumerate() {
        let Some((program, args)) = words.split_first() else { continue };
        let log: PathBuf = folder.log(&format!("prepare-{number}"));
        let command = Command {
            path: program.clone(),
            args: args.to_vec(),
            env: env.clone(),
            dir: folder.app(),
            log: log.clone(),
        };
        if let Err(problem) = sandbox.inside.run(&command, None, COMMAND_TIME).await.map_err(|error| failed(&error))? {
            let problem = with_log(&problem, &log_tail::read(&log));
            return Err(PrepareError::Command { command: words.join(" "), problem });
        }
    }
    let made = folder.clone();
    let shared = tokio::task::spawn_blocking(move || share_packages(&made, user));
    let shared = shared.await.map_err(|error| failed(&error))??;
    Ok(Preparation { folder, shared, _sandbox: Some(sandbox), _owner: None })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;

    use stampede_core::AppKind;

    use super::*;

    /// More files of packages than are copied into every run.
    const FILES: usize = 2_001;

    #[test]
    fn runs_in_containers_link_to_the_packages_of_one_copy() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("runs_in_containers_link_to_the_packages_of_one_copy: skipped, it needs root");
            return;
        }
        let (source, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let package = source.path().join("vendor/acme/x");
        fs::create_dir_all(&package).unwrap();
        fs::write(source.path().join("index.php"), "<?php").unwrap();
        (0..FILES).for_each(|number| fs::write(package.join(format!("{number}.php")), "<?php").unwrap());
        fs::create_dir_all(state.path().join("r")).unwrap();
        let mut app = App::new("shop", AppKind::FrontController { index: "index.php".into() });
        app.source = source.path().to_owned();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();

        let made = runtime.block_on(share(state.path(), &app)).unwrap();
        assert!(made.shared.is_some());
        let of_run = state.path().join("r/run");
        let run = Folder::create(&of_run, user::for_units().unwrap()).unwrap();
        run.copy_app(&made.folder.app()).unwrap();
        let of = |path: &str| fs::metadata(run.app().join(path)).unwrap();
        let links = ["vendor/acme/x/7.php", "index.php"].map(|path| (of(path).nlink(), of(path).uid() == 0));
        assert_eq!(links, [(2, true), (1, false)]);

        let copy = made.folder.path().to_owned();
        drop(made);
        assert!(!copy.exists() && of("vendor/acme/x/7.php").nlink() == 1);
    }
}
