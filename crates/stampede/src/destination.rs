//! Where reports are written: files and stdout.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;

use crate::exit::Failure;
use crate::screen;

/// Where the reports of a command go, each by its flag. What is for the terminal goes to stdout unless a report does.
pub(crate) struct Outputs(Vec<(&'static str, Option<PathBuf>)>);

impl Outputs {
    /// Sees that every file can be written before anything is measured.
    pub(crate) fn new(files: impl IntoIterator<Item = (&'static str, Option<PathBuf>)>) -> Result<Self, Failure> {
        let files: Vec<_> = files.into_iter().collect();
        check(&files.iter().map(|(flag, path)| (*flag, path.as_deref())).collect::<Vec<_>>())?;
        Ok(Self(files))
    }

    /// The flag of the report that goes to stdout.
    pub(crate) fn on_stdout(&self) -> Option<&'static str> {
        let on_stdout = self.0.iter().find(|(_, path)| path.as_deref().is_some_and(is_stdout));
        on_stdout.map(|(flag, _)| *flag)
    }

    /// Puts each report where it belongs, in the order of their flags, and what is for a terminal of so many columns, with colour or
    /// without.
    pub(crate) fn put(
        &self,
        render: &dyn Fn(&str) -> String,
        terminal: &dyn Fn(usize, bool) -> String,
    ) -> Result<(), Failure> {
        for (flag, path) in &self.0 {
            path.as_ref().map_or(Ok(()), |path| put(path, &render(flag)))?;
        }
        match self.on_stdout() {
            Some(_) => Ok(()),
            None => put(Path::new("-"), &terminal(screen::width(), screen::colour_on(&io::stdout()))),
        }
    }
}

/// Sees that each file can be written, without making it or changing it, and that no more than one goes to stdout.
pub(crate) fn check(files: &[(&'static str, Option<&Path>)]) -> Result<(), Failure> {
    let files = || files.iter().filter_map(|(flag, path)| Some((flag, (*path)?)));
    let on_stdout: Vec<String> =
        files().filter(|(_, path)| is_stdout(path)).map(|(flag, _)| format!("{flag} -")).collect();
    if let [first, others @ ..] = &on_stdout[..]
        && !others.is_empty()
    {
        let all = format!("{first} and {}", others.join(" and "));
        let (both, one) = if others.len() == 1 { ("both", "one of them") } else { ("all", "all but one") };
        return Err(Failure::usage(format!("{all} {both} go to stdout; give {one} a file")));
    }
    for (flag, path) in files().filter(|(_, path)| !is_stdout(path)) {
        writable(path)
            .map_err(|error| Failure::usage(format!("{flag} {} cannot be written: {error}", path.display())))?;
    }
    Ok(())
}

/// Whether a file can be written, without making it or changing it.
pub(crate) fn writable(path: &Path) -> io::Result<()> {
    match fs::OpenOptions::new().append(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(rustix::fs::access(folder(path), rustix::fs::Access::WRITE_OK)?)
        }
        opened => opened.map(drop),
    }
}

pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Writes a text. A file is there wholly or as it was before, also when the disk is full.
pub(crate) fn put(path: &Path, text: &str) -> Result<(), Failure> {
    if is_stdout(path) {
        return screen::print(&format!("{}\n", text.trim_end()));
    }
    put_bytes(path, text.as_bytes())
}

/// Writes bytes as they are, in the same way.
pub(crate) fn put_bytes(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    if is_stdout(path) {
        return screen::print_bytes(bytes);
    }
    replace(path, bytes).map_err(|error| Failure::missing(format!("cannot write {}: {error}", path.display())))
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // What a link leads to is replaced, not the link.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let is_regular = fs::metadata(&path).map_or(true, |metadata| metadata.is_file());
    if !is_regular || rustix::fs::access(folder(&path), rustix::fs::Access::WRITE_OK).is_err() {
        return fs::write(&path, bytes);
    }
    let part = beside(&path);
    let written = fs::metadata(&path).map(|metadata| metadata.permissions());
    let result = File::create_new(&part).and_then(|mut file| {
        file.write_all(bytes)?;
        if let Ok(permissions) = written {
            file.set_permissions(permissions)?;
        }
        file.sync_all()?;
        fs::rename(&part, &path)
    });
    if result.is_err() {
        let _ = fs::remove_file(&part);
    }
    result
}

/// A name in the same folder that nothing else has.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.part", process::id()));
    path.with_file_name(name)
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = entries.collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_keeps_its_rights() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("report.html"), folder.path().join("link"));
        put(&file, "one").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        put(&link, "two").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "two");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(names(folder.path()), ["link", "report.html"]);
    }

    #[test]
    fn a_device_is_written_to_and_not_replaced() {
        put(Path::new("/dev/null"), "text").unwrap();
        assert!(put(Path::new("/dev/full"), "text").unwrap_err().message.contains("No space left on device"));
    }

    #[test]
    fn what_cannot_be_written_is_said_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("none/report.html");
        let failure = put(&file, "text").unwrap_err();
        assert!(failure.message.starts_with(&format!("cannot write {}: ", file.display())), "{}", failure.message);
        let stdout = Path::new("-");
        for (files, message) in [
            (
                &[("--json", Some(stdout)), ("--csv", Some(stdout))][..],
                "--json - and --csv - both go to stdout; give one of them a file",
            ),
            (
                &[("--json", Some(stdout)), ("--html", Some(stdout)), ("--csv", Some(stdout))],
                "--json - and --html - and --csv - all go to stdout; give all but one a file",
            ),
        ] {
            assert_eq!(check(files).unwrap_err().message, message);
        }
        assert!(check(&[("--json", Some(stdout)), ("--csv", None)]).is_ok());
    }
}
