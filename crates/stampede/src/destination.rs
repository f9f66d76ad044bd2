//! Where reports are written: files and stdout.

use std::io;
use std::path::{Path, PathBuf};

use stampede_machine::writable;

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
    stampede_machine::write_whole(path, bytes)
        .map_err(|error| Failure::missing(format!("cannot write {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

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
