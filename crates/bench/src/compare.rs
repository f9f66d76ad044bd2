//! `stampede compare` as these benchmarks run it, a plan in a folder of its own and the study as JSON; and other commands beside it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{fs, io};

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;
use thiserror::Error;

use crate::process::ends_with_this;

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
        let program = program(named)?;
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

    /// Puts a copy of a folder into the application's in place of what is there; with none, nothing is there afterwards.
    pub(crate) fn copy(&self, folder: Option<&Path>, name: &str) -> Result<(), CompareError> {
        let place = self.folder.path().join(APP).join(name);
        let removed = if place.exists() { fs::remove_dir_all(&place) } else { Ok(()) };
        removed.and_then(|()| folder.map_or(Ok(()), |folder| copy(folder, &place))).map_err(CompareError::Prepare)
    }

    /// Writes a plan in place of the last one. Returns its path.
    pub(crate) fn plan(&self, text: &str) -> Result<String, CompareError> {
        let path = self.folder.path().join("stampede.yaml");
        fs::write(&path, text).map_err(CompareError::Prepare)?;
        Ok(path.display().to_string())
    }

    /// Runs a plan to its end, with these flags. Trials that failed or are invalid are part of the study.
    pub(crate) fn run(&self, plan: &str, flags: &[&str]) -> Result<Value, CompareError> {
        let path = self.plan(plan)?;
        let arguments: Vec<&str> = ["compare", &path, "--quiet"].into_iter().chain(flags.iter().copied()).collect();
        self.call(&arguments, |study| study["finished_at"].is_string())
    }

    /// Runs any of its commands with the store of this folder: the JSON that it prints, which is to be such.
    pub(crate) fn call(&self, arguments: &[&str], is_whole: fn(&Value) -> bool) -> Result<Value, CompareError> {
        let output = self.output(&[arguments, &["--json", "-"]].concat())?;
        let told: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        is_whole(&told).then_some(told).ok_or_else(|| CompareError::study(arguments, &output))
    }

    /// Runs any of its commands with the store of this folder: the text that it prints.
    pub(crate) fn text(&self, arguments: &[&str]) -> Result<String, CompareError> {
        let output = self.output(arguments)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(text).ok_or_else(|| CompareError::study(arguments, &output))
    }

    fn output(&self, arguments: &[&str]) -> Result<Output, CompareError> {
        let mut command = Command::new(&self.program);
        command.args(arguments).arg("--store").arg(self.folder.path().join("studies.db"));
        // What it has started is ended by it alone.
        ends_with_this(&mut command, Signal::TERM);
        command.output().map_err(|source| CompareError::Start { program: self.program.clone(), source })
    }

    /// What the program says of its version.
    pub(crate) fn version(&self) -> Result<String, CompareError> {
        let start = |source| CompareError::Start { program: self.program.clone(), source };
        let output = Command::new(&self.program).arg("--version").output().map_err(start)?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (path, place) = {
            let entry = entry?;
            (entry.path(), to.join(entry.file_name()))
        };
        if path.is_dir() { copy(&path, &place)? } else { fs::copy(&path, &place).map(drop)? }
    }
    Ok(())
}

/// The program that was named, or the one beside this.
pub(crate) fn program(named: Option<PathBuf>) -> Result<PathBuf, CompareError> {
    let beside = std::env::current_exe().map_err(CompareError::Prepare)?.with_file_name("stampede");
    let program = named.unwrap_or(beside);
    if program.is_file() { Ok(program) } else { Err(CompareError::NoStampede(program)) }
}

/// When a study, or a trial, began: to the second.
pub(crate) fn began(study: &Value) -> Option<String> {
    study["started_at"].as_str()?.split('.').next().map(str::to_owned)
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
    #[error("stampede {command} ended with {status} and without what was asked for: {told}")]
    Study { command: String, status: String, told: String },
}

impl CompareError {
    fn study(arguments: &[&str], output: &Output) -> Self {
        Self::Study {
            command: arguments.first().copied().unwrap_or_default().to_owned(),
            status: output.status.to_string(),
            told: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        }
    }
}
