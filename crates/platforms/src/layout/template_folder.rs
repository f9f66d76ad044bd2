//! Folders that are made once by a program, such as an empty database, and copied into each run.
//!
//! The program runs as the units' user, since database servers refuse to be root. What it made is taken from that user
//! afterwards: no unit of a run can change what the next one gets.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{getegid, geteuid};
use sha2::{Digest, Sha256};
use stampede_core::{BuildStep, Fut, Places, Program, RunFile, with_causes};

use super::builder::{add_files, add_program};
use super::temp_path::TempPath;
use crate::log_tail::{last_lines, with_log};
use crate::machine::user::User;
use crate::output::collect;

/// How long making one may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// Runs the programs that make folders, where the units will run.
pub(crate) trait Maker: Sync {
    /// What a folder depends on beside its step: the image that the program is of, nothing on this machine.
    ///
    /// # Errors
    ///
    /// When it cannot be told.
    fn software(&self) -> Fut<'_, Result<String, String>>;

    /// Runs a program to its end as the units' user, in a folder of that user's at its own place.
    ///
    /// # Errors
    ///
    /// How it failed, with what it printed.
    fn run<'a>(&'a self, program: &'a Program, folder: &'a Path) -> Fut<'a, Result<(), String>>;
}

/// Makes folders with the programs of this machine.
pub(crate) struct Here(pub(crate) Option<User>);

impl Maker for Here {
    fn software(&self) -> Fut<'_, Result<String, String>> {
        Box::pin(async { Ok(String::new()) })
    }

    fn run<'a>(&'a self, program: &'a Program, folder: &'a Path) -> Fut<'a, Result<(), String>> {
        Box::pin(async move {
            let mut command = tokio::process::Command::new(&program.path);
            command.args(&program.args).env_clear().envs(&program.env).current_dir(folder);
            if let Some(User { uid, gid }) = self.0 {
                command.uid(uid).gid(gid);
            }
            let made = collect(command, LIMIT).await;
            let made = made.map_err(|error| format!("{}: {}", program.path, with_causes(&error)))?;
            if made.status.success() {
                return Ok(());
            }
            Err(with_log(&format!("{} ended with {}", program.path, made.status), &last_lines(&made.all())))
        })
    }
}

/// Returns the folder that a step makes: the kept one if nothing that went into it has changed. `kept` must be a folder that
/// the units' user can get into.
pub(crate) async fn make(
    step: &BuildStep,
    kept: &Path,
    user: Option<User>,
    maker: &dyn Maker,
) -> Result<PathBuf, String> {
    let result = kept.join(key(step, &maker.software().await?));
    if result.is_dir() {
        return Ok(result);
    }
    let temp = TempPath::new(result.with_extension(format!("{}.tmp", std::process::id())));
    let made = run(step, temp.path(), user, maker).await;
    let made = match made {
        Ok(output) => tokio::task::spawn_blocking(move || own(&output).map(|()| output))
            .await
            .map_err(|error| with_causes(&error))
            .and_then(|owned| owned.map_err(|error| format!("take over what was made: {error}"))),
        Err(problem) => Err(problem),
    };
    match fs::rename(made?, &result) {
        // Another Stampede was faster; what it made is the same.
        Err(_) if result.is_dir() => {}
        moved => moved.map_err(|error| format!("keep {}: {error}", result.display()))?,
    }
    Ok(result)
}

async fn run(step: &BuildStep, folder: &Path, user: Option<User>, maker: &dyn Maker) -> Result<PathBuf, String> {
    let output = folder.join("output");
    let mut places = Places::new();
    places.insert("output", output.to_string_lossy());
    let resolve = |text: &str| places.resolve(text).map_err(|error| error.to_string());
    let prepared = || -> io::Result<()> {
        fs::create_dir(folder)?;
        for RunFile { path, text } in &step.files {
            fs::write(folder.join(path), text)?;
            give(&folder.join(path), user)?;
        }
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
        give(folder, user)
    };
    prepared().map_err(|error| format!("prepare {}: {error}", folder.display()))?;
    let Program { path, args, env } = &step.program;
    let args = args.iter().map(|argument| resolve(argument)).collect::<Result<_, _>>()?;
    let program = Program { path: resolve(path)?, args, env: env.clone() };
    maker.run(&program, folder).await?;
    if output.is_dir() { Ok(output) } else { Err(format!("{} did not make its folder", program.path)) }
}

fn give(path: &Path, user: Option<User>) -> io::Result<()> {
    match user {
        Some(User { uid, gid }) => chown(path, Some(uid), Some(gid)),
        None => Ok(()),
    }
}

/// Makes a folder and all in it this process's own.
fn own(folder: &Path) -> io::Result<()> {
    let me = Some(User { uid: geteuid().as_raw(), gid: getegid().as_raw() });
    give(folder, me)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()? {
            kind if kind.is_dir() => own(&entry.path())?,
            kind if kind.is_file() => give(&entry.path(), me)?,
            _ => return Err(io::Error::other(format!("{} is no file", entry.path().display()))),
        }
    }
    Ok(())
}

/// Copies a folder with its modes, for the units' user.
pub(crate) fn copy(template: &Path, target: &Path, user: Option<User>) -> io::Result<()> {
    fs::create_dir(target)?;
    for entry in fs::read_dir(template)? {
        let entry = entry?;
        let (from, to) = (entry.path(), target.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&from, &to, user)?;
        } else {
            fs::copy(&from, &to)?;
            give(&to, user)?;
        }
    }
    fs::set_permissions(target, fs::metadata(template)?.permissions())?;
    give(target, user)
}

/// A name for everything that goes into it.
fn key(step: &BuildStep, software: &str) -> String {
    let BuildStep { program, files, output: _, makes: _, toolchain } = step;
    let mut hash = Sha256::new();
    add_program(&mut hash, &format!("{toolchain}{software}"), program);
    add_files(&mut hash, files);
    let digest = hash.finalize();
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
