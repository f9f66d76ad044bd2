//! Stampede's program in a place that containers of other images see, with the libraries that it runs with: an image need have none of them.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// What the program is called there.
const NAME: &str = "stampede";

/// Puts this program there, and gives the words that start it: it alone where it is static, otherwise by its own interpreter with its own
/// libraries.
///
/// # Errors
///
/// When a file cannot be read or written.
pub fn put(folder: &Path) -> io::Result<Vec<String>> {
    let own = fs::read_link("/proc/self/exe")?;
    copy(Path::new("/proc/self/exe"), &folder.join(NAME))?;
    let libraries = libraries(&fs::read_to_string("/proc/self/maps")?, &own);
    for library in &libraries {
        copy(library, &folder.join(name_of(library)))?;
    }
    Ok(command(folder, &libraries))
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    // Whoever the image's user is.
    fs::set_permissions(to, Permissions::from_mode(0o755))
}

/// The files that a process runs code of, beside its own program, by its
/// [maps](https://man7.org/linux/man-pages/man5/proc_pid_maps.5.html).
fn libraries(maps: &str, own: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = maps
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_ascii_whitespace();
            let rights = fields.nth(1)?;
            let path = fields.nth(3)?;
            (rights.contains('x') && path.starts_with('/')).then(|| PathBuf::from(path))
        })
        .filter(|path| path != own)
        .collect();
    all.sort();
    all.dedup();
    all
}

/// The words that start the program: its interpreter is the library whose name begins so, of glibc and of musl.
fn command(folder: &Path, libraries: &[PathBuf]) -> Vec<String> {
    let place = |name: &str| folder.join(name).display().to_string();
    match libraries.iter().map(|library| name_of(library)).find(|name| name.starts_with("ld-")) {
        Some(interpreter) => {
            vec![place(&interpreter), "--library-path".to_owned(), folder.display().to_string(), place(NAME)]
        }
        None => vec![place(NAME)],
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const MAPS: &str = "55d0-55d1 r--p 00000000 00:2b 12  /usr/local/bin/stampede\n\
        55d1-55d2 r-xp 00001000 00:2b 12  /usr/local/bin/stampede\n\
        7f00-7f01 r-xp 00001000 00:2b 13  /usr/lib/x86_64-linux-gnu/libc.so.6\n\
        7f02-7f03 r--p 00001000 00:2b 14  /usr/lib/locale/C.utf8/LC_CTYPE\n\
        7f04-7f05 r-xp 00001000 00:2b 15  /usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2\n\
        7ff0-7ff1 r-xp 00000000 00:00 0  [vdso]\n";

    #[test]
    fn a_program_is_started_with_its_own_libraries() {
        let own = Path::new("/usr/local/bin/stampede");
        let folder = Path::new("/.stampede");
        let found = libraries(MAPS, own);
        let names: Vec<String> = found.iter().map(|library| name_of(library)).collect();
        assert_eq!(names, ["ld-linux-x86-64.so.2", "libc.so.6"]);
        assert_eq!(
            command(folder, &found),
            ["/.stampede/ld-linux-x86-64.so.2", "--library-path", "/.stampede", "/.stampede/stampede"]
        );
        assert_eq!(command(folder, &[]), ["/.stampede/stampede"]);
    }

    /// This very program, without an environment: `--list` is what it answers wherever it runs.
    #[test]
    fn what_was_put_somewhere_runs_there() {
        let folder = tempfile::tempdir().unwrap();
        let words = put(folder.path()).unwrap();
        let answer = Command::new(&words[0]).args(&words[1..]).arg("--list").env_clear().output().unwrap();
        let printed = String::from_utf8_lossy(&answer.stdout);
        assert!(answer.status.success() && printed.contains("what_was_put_somewhere_runs_there"), "{answer:?}");
    }
}
