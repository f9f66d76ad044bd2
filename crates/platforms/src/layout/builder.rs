//! Builds a unit's program from the application's folder, outside the limits, and keeps the result.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};
use stampede_core::{BuildStep, Places, Program, RunFile, with_causes};

use super::temp_path::TempPath;
use crate::log_tail::{last_lines, with_log};
use crate::output::collect;

/// How long a build may take.
const LIMIT: Duration = Duration::from_secs(300);

/// Returns the file that a build step makes from an application: the kept one if nothing that went into it has changed.
///
/// The builder runs as the user who started Stampede, with that user's environment below its own, since a toolchain has
/// its caches and settings there.
///
/// # Errors
///
/// What the builder said, or why its result could not be kept.
pub async fn build(step: &BuildStep, app: &Path, kept: &Path) -> Result<PathBuf, String> {
    let key = {
        let (step, source) = (step.clone(), app.to_owned());
        tokio::task::spawn_blocking(move || key(&step, &source))
            .await
            .map_err(|error| with_causes(&error))?
            .map_err(|error| format!("read {}: {error}", app.display()))?
    };
    let result = kept.join(&key);
    if result.is_file() {
        return Ok(result);
    }
    let cannot = |error: io::Error| format!("keep builds in {}: {error}", kept.display());
    fs::create_dir_all(kept).map_err(cannot)?;
    // Made beside the result and moved there in one step, so that a half-written one is never used.
    let temp = TempPath::new(kept.join(format!("{key}.{}.tmp", std::process::id())));
    let files = TempPath::new(temp.path().with_extension("files"));
    run(step, app, files.path(), temp.path()).await?;
    fs::rename(temp.path(), &result).map_err(cannot)?;
    Ok(result)
}

async fn run(step: &BuildStep, app: &Path, files: &Path, output: &Path) -> Result<(), String> {
    let mut places = Places::new();
    places.insert("output", output.to_string_lossy());
    // Files lie elsewhere, so a path relative to this process would lead nowhere.
    let absolute = app.canonicalize().map_err(|error| format!("find {}: {error}", app.display()))?;
    places.insert("app", absolute.to_string_lossy());
    let resolve = |text: &str| places.resolve(text).map_err(|error| error.to_string());
    let program = &step.program;
    for RunFile { path, text } in &step.files {
        let path = files.join(path);
        let cannot = |error: io::Error| format!("write {}: {error}", path.display());
        fs::create_dir_all(path.parent().unwrap_or(files)).map_err(cannot)?;
        fs::write(&path, resolve(text)?).map_err(cannot)?;
    }
    let mut command = tokio::process::Command::new(resolve(&program.path)?);
    for argument in &program.args {
        command.arg(resolve(argument)?);
    }
    for (name, value) in &program.env {
        command.env(name, resolve(value)?);
    }
    command.current_dir(if step.files.is_empty() { app } else { files });
    let built = collect(command, LIMIT).await.map_err(|error| format!("{}: {}", program.path, with_causes(&error)))?;
    if !built.status.success() {
        let problem = format!("{} ended with {}", program.path, built.status);
        return Err(with_log(&problem, &last_lines(&built.all())));
    }
    if output.is_file() {
        Ok(())
    } else {
        let problem = format!("{} did not write its output", program.path);
        Err(with_log(&problem, &last_lines(&built.all())))
    }
}

/// A name for everything that goes into a build: the folder's content, the builder's version, arguments and settings.
fn key(step: &BuildStep, app: &Path) -> io::Result<String> {
    let BuildStep { program, files, output: _, makes: _, toolchain } = step;
    let mut hash = Sha256::new();
    add_program(&mut hash, toolchain, program);
    add_files(&mut hash, files);
    add_folder(&mut hash, app)?;
    let digest = hash.finalize();
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Adds what makes something, with its version.
pub(crate) fn add_program(hash: &mut Sha256, toolchain: &str, program: &Program) {
    let Program { path, args, env } = program;
    for text in [toolchain, path.as_str()].into_iter().chain(args.iter().map(String::as_str)) {
        add(hash, text.as_bytes());
    }
    for (name, value) in env {
        add(hash, format!("{name}={value}").as_bytes());
    }
}

/// Adds the files that it is given.
pub(crate) fn add_files(hash: &mut Sha256, files: &[RunFile]) {
    for RunFile { path, text } in files {
        add(hash, path.as_os_str().as_encoded_bytes());
        add(hash, text.as_bytes());
    }
}

/// Adds a text with its length, so that two texts cannot be taken for one.
fn add(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

fn add_folder(hash: &mut Sha256, folder: &Path) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        add(hash, entry.file_name().as_encoded_bytes());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            add(hash, b"folder");
            add_folder(hash, &entry.path())?;
            add(hash, b"end");
        } else if kind.is_symlink() {
            add(hash, b"link");
            add(hash, fs::read_link(entry.path())?.as_os_str().as_encoded_bytes());
        } else if kind.is_file() {
            let mut file = File::open(entry.path())?;
            let mode = file.metadata()?.permissions().mode();
            add(hash, if mode & 0o100 == 0 { b"file" } else { b"program" });
            let mut content = Vec::new();
            file.read_to_end(&mut content)?;
            add(hash, &content);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use stampede_core::Makes;

    #[test]
    fn a_builds_name_changes_with_whatever_goes_into_it() {
        let app = tempfile::tempdir().unwrap();
        fs::write(app.path().join("main.go"), "package main").unwrap();
        let step = BuildStep {
            program: Program {
                path: "go".into(),
                args: vec!["build".into()],
                env: [("CGO_ENABLED".to_owned(), "0".to_owned())].into(),
            },
            files: Vec::new(),
            output: "bin/server".into(),
            makes: Makes::Program,
            toolchain: "1.26.0".into(),
        };
        let first = key(&step, app.path()).unwrap();
        assert_eq!(key(&step, app.path()).unwrap(), first);

        let mut other = step.clone();
        other.toolchain = "1.26.1".into();
        assert_ne!(key(&other, app.path()).unwrap(), first);
        other = step.clone();
        other.files.push(RunFile { path: "main.go".into(), text: String::new() });
        assert_ne!(key(&other, app.path()).unwrap(), first);
        other = step.clone();
        other.program.env.clear();
        assert_ne!(key(&other, app.path()).unwrap(), first);
        fs::write(app.path().join("main.go"), "package main ").unwrap();
        assert_ne!(key(&step, app.path()).unwrap(), first);
    }
}
