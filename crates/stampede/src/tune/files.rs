//! The winner's files, as `stampede show runtime --render` has them.

use std::fs;
use std::io;
use std::path::{Component, Path};

use stampede_core::Deployment;
use stampede_harness::Copies;
use stampede_plan::ComparePlan;
use stampede_report::runtime::files;

use crate::compare::Site;
use crate::exit::Failure;

/// What is beside the files: programs, arguments and environment of each unit.
const OVERVIEW: &str = "deployment.txt";

/// Sees that the folder can be filled before anything is measured.
pub(super) fn check(folder: &Path) -> Result<(), Failure> {
    let problem = |error: io::Error| Failure::usage(format!("--out {} cannot be written: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(problem)?;
    match fs::read_dir(folder).map_err(problem)?.next() {
        Some(_) => Err(Failure::usage(format!(
            "--out {} is not empty\n  name a folder that is not there yet",
            folder.display()
        ))),
        None => Ok(()),
    }
}

/// Writes what the plan's only case would be run with.
pub(super) async fn write(
    site: &Site<'_>,
    plan: &ComparePlan,
    copies: &mut Copies,
    folder: &Path,
) -> Result<(), Failure> {
    let deployment = site.deployment(plan, copies).await?;
    write_all(&deployment, folder)
        .map_err(|error| Failure::missing(format!("cannot write to {}: {error}", folder.display())))
}

fn write_all(deployment: &Deployment, folder: &Path) -> io::Result<()> {
    fs::write(folder.join(OVERVIEW), files(deployment))?;
    for file in deployment.units.iter().flat_map(|unit| &unit.files) {
        // A path of a run folder; nothing outside of it is written.
        if file.path.components().any(|part| !matches!(part, Component::Normal(_))) {
            continue;
        }
        let path = folder.join(&file.path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, &file.text)?;
    }
    Ok(())
}
