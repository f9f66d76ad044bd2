//! Files that are there wholly or as they were before.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;

/// Sees that a file can be written, without making it or changing it.
///
/// # Errors
///
/// When it cannot be.
pub fn writable(path: &Path) -> io::Result<()> {
    match fs::OpenOptions::new().append(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(rustix::fs::access(folder(path), rustix::fs::Access::WRITE_OK)?)
        }
        opened => opened.map(drop),
    }
}

/// Writes a file, also when the disk is full: it is there wholly or as it was before, and keeps its rights. A device is written to.
///
/// # Errors
///
/// When it cannot be written.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
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
        write_whole(&file, b"one").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        write_whole(&link, b"two").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "two");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(names(folder.path()), ["link", "report.html"]);
    }

    #[test]
    fn a_device_is_written_to_and_not_replaced() {
        write_whole(Path::new("/dev/null"), b"text").unwrap();
        assert!(
            write_whole(Path::new("/dev/full"), b"text").unwrap_err().to_string().contains("No space left on device")
        );
    }
}
