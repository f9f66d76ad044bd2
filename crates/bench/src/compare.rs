//! `stampede compare` as these benchmarks run it: a plan in a folder of its own, the study as JSON.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;
use thiserror::Error;

/// An empty folder beside the plan, for applications that have no files.
pub(crate) const APP: &str = "app";

/// The program under test, with a folder for plans and their store.
#[derive(Debug)]
pub(crate) struct Compare {
    program: PathBuf,
    folder: TempDir,
}

impl Compare {
    /// The program that was named, or the one beside this.
    pub(crate) fn new(named: Option<PathBuf>) -> Result<Self, CompareError> {
        let beside = std::env::current_exe().map_err(CompareError::Prepare)?.with_file_name("stampede");
        let program = named.unwrap_or(beside);
        if !program.is_file() {
            return Err(CompareError::NoStampede(program));
        }
        let folder = tempfile::Builder::new().prefix("stampede-bench-").tempdir().map_err(CompareError::Prepare)?;
        fs::create_dir(folder.path().join(APP)).map_err(CompareError::Prepare)?;
        Ok(Self { program, folder })
    }

    /// Puts a file into the application's folder.
    pub(crate) fn put(&self, path: &str, text: &str) -> Result<(), CompareError> {
        let path = self.folder.path().join(APP).join(path);
        let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
        folder.and_then(|()| fs::write(&path, text)).map_err(CompareError::Prepare)
    }

    /// Runs a plan to its end, with these flags. Trials that failed or are invalid are part of the study.
    pub(crate) fn run(&self, plan: &str, flags: &[&str]) -> Result<Value, CompareError> {
        let path = self.folder.path().join("stampede.yaml");
        fs::write(&path, plan).map_err(CompareError::Prepare)?;
        let mut command = Command::new(&self.program);
        command.arg("compare").arg(&path).args(flags).args(["--quiet", "--json", "-", "--store"]);
        command.arg(self.folder.path().join("studies.db"));
        let start = |source| CompareError::Start { program: self.program.clone(), source };
        let output = command.output().map_err(start)?;
        let study: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        if !study["finished_at"].is_string() {
            let told = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(CompareError::Study { status: output.status.to_string(), told });
        }
        Ok(study)
    }

    /// What the program says of its version.
    pub(crate) fn version(&self) -> Result<String, CompareError> {
        let start = |source| CompareError::Start { program: self.program.clone(), source };
        let output = Command::new(&self.program).arg("--version").output().map_err(start)?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}

/// Why there is no study.
#[derive(Debug, Error)]
pub(crate) enum CompareError {
    #[error("there is no {}: build it with cargo build --release -p stampede, or say --stampede FILE", .0.display())]
    NoStampede(PathBuf),
    #[error("prepare the run")]
    Prepare(#[source] std::io::Error),
    #[error("start {}", program.display())]
    Start {
        program: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("stampede compare ended with {status} and without a whole study: {told}")]
    Study { status: String, told: String },
}
