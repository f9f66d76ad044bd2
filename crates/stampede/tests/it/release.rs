//! What a release gives to those who install it: packages, the script that installs them, manual pages and completions.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::answerer::answer;
use crate::stage::{Stage, have};

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A file that is run.
pub(crate) fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A release of a program that runs the one that is tested: packing that takes minutes.
fn release(folder: &Path, epoch: &str) -> PathBuf {
    let (program, licences, out) = (folder.join("program"), folder.join("licences"), folder.join("release"));
    script(&program, &format!("#!/bin/sh\nexec {} \"$@\"\n", env!("CARGO_BIN_EXE_stampede")));
    fs::write(&licences, "licences\n").unwrap();
    let packed = Command::new(root().join("scripts/package.sh"))
        .args([&program, Path::new("x86_64"), &licences, &out])
        .env("SOURCE_DATE_EPOCH", epoch)
        .output()
        .unwrap();
    assert!(packed.status.success(), "{packed:?}");
    let archive = format!("stampede-{VERSION}-x86_64.tar.gz");
    let sums = Command::new("sha256sum").arg(archive).current_dir(&out).output().unwrap();
    fs::write(out.join("SHA256SUMS"), sums.stdout).unwrap();
    out
}

fn install(home: &Path, args: &[&str]) -> Output {
    let path = format!("{}:{}", home.join("bin").display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command.arg(root().join("scripts/install.sh")).args(args).env("HOME", home).env("PATH", path);
    command.env_remove("XDG_DATA_HOME").env_remove("XDG_CACHE_HOME").output().unwrap()
}

fn texts(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// Paths of all files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().unwrap().is_dir() { found.extend(files(&entry.path())) } else { found.push(entry.path()) }
    }
    found
}

#[test]
fn a_release_is_installed_and_removed_without_a_trace() {
    if !have("a_release_is_installed_and_removed_without_a_trace", &["dpkg-deb", "curl"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let release = release(folder.path(), "1700000000");
    let served = release.clone();
    let address = answer(move |asked| match fs::read(served.join(asked.path.trim_start_matches('/'))) {
        Ok(file) => (200, file),
        Err(_) => (404, Vec::new()),
    });
    let (home, to) = (folder.path().join("home"), folder.path().join("home/own"));
    fs::create_dir_all(to.join("bin")).unwrap();
    fs::write(to.join("bin/other"), "").unwrap();
    let to = to.to_str().unwrap();

    // Twice: the second one takes the place of the first.
    for _ in 0..2 {
        let installed = install(&home, &["--from", &address, "--to", to]);
        assert!(installed.status.success(), "{}", texts(&installed));
        assert!(texts(&installed).contains(&format!("Installed stampede {VERSION} in {to}")), "{}", texts(&installed));
    }
    let run = Command::new(format!("{to}/bin/stampede")).arg("--version").output().unwrap();
    assert_eq!(texts(&run), format!("stampede {VERSION}\n"));
    for file in [
        "share/man/man1/stampede-compare.1.gz",
        "share/bash-completion/completions/stampede",
        "share/zsh/site-functions/_stampede",
        "share/fish/vendor_completions.d/stampede.fish",
        "share/doc/stampede/licences.gz",
    ] {
        assert!(Path::new(to).join(file).is_file(), "{file}");
    }
    let removed = install(&home, &["--remove", "--to", to]);
    assert!(removed.status.success(), "{}", texts(&removed));
    assert_eq!(files(&home), [Path::new(to).join("bin/other")]);
    assert!(!Path::new(to).join("share").exists());
}

#[test]
fn what_cannot_be_installed_changes_nothing() {
    if !have("what_cannot_be_installed_changes_nothing", &["dpkg-deb", "curl"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let release = release(folder.path(), "1700000000");
    let archive = release.join(format!("stampede-{VERSION}-x86_64.tar.gz"));
    let whole = fs::read(&archive).unwrap();
    let mut altered = whole.clone();
    *altered.last_mut().unwrap() ^= 1;
    let from = release.to_str().unwrap();
    for (name, bytes, machine, args, problem) in [
        ("half a download", &whole[..whole.len() / 2], "x86_64", &["--from", from][..], "cut short or altered"),
        ("an altered file", &altered, "x86_64", &["--from", from], "cut short or altered"),
        ("an unknown machine", &whole, "riscv64", &["--from", from], "no program for Linux on riscv64"),
        ("a machine of no program", &whole, "aarch64", &["--from", from], "has no program for aarch64"),
        ("no address", &whole, "x86_64", &[], "give --from ADDRESS"),
        (
            "nobody there",
            &whole,
            "x86_64",
            &["--from", "http://127.0.0.1:9"],
            "cannot get http://127.0.0.1:9/SHA256SUMS",
        ),
        ("nothing to remove", &whole, "x86_64", &["--remove"], "nothing is installed in "),
        ("an unknown flag", &whole, "x86_64", &["--form", from], "unknown: --form"),
    ] {
        fs::write(&archive, bytes).unwrap();
        let home = tempfile::tempdir_in(folder.path()).unwrap();
        let to = home.path().join("own");
        script(
            &home.path().join("bin/uname"),
            &format!("#!/bin/sh\n[ \"$1\" = -s ] && echo Linux || echo {machine}\n"),
        );
        let said = install(home.path(), &[args, &["--to", to.to_str().unwrap()]].concat());
        assert_eq!(said.status.code(), Some(1), "{name}: {}", texts(&said));
        assert!(texts(&said).contains(problem), "{name}: {}", texts(&said));
        assert!(!to.exists(), "{name}");
    }
}

#[test]
fn the_same_input_is_packed_into_the_same_bytes() {
    if !have("the_same_input_is_packed_into_the_same_bytes", &["dpkg-deb"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let read = |epoch| {
        let release = release(folder.path(), epoch);
        let mut all: Vec<_> = files(&release).into_iter().map(|file| (fs::read(&file).unwrap(), file)).collect();
        all.sort();
        all
    };
    let first = read("1700000000");
    assert!(first == read("1700000000"), "the files differ");
    assert!(first != read("1700000001"), "the time of the commit is not in them");

    let package = folder.path().join(format!("release/stampede_{VERSION}_amd64.deb"));
    let info = texts(&Command::new("dpkg-deb").arg("--info").arg(&package).output().unwrap());
    assert!(info.contains(&format!("Version: {VERSION}")) && !info.contains("Depends"), "{info}");
    let content = texts(&Command::new("dpkg-deb").arg("--contents").arg(&package).output().unwrap());
    for part in [
        "root/root",
        "./usr/bin/stampede",
        "./usr/share/man/man1/stampede-gate.1.gz",
        "./usr/share/doc/stampede/copyright",
    ] {
        assert!(content.contains(part), "{part}\n{content}");
    }
}

#[test]
fn shells_complete_commands_and_flags() {
    let stage = Stage::new();
    let folder = tempfile::tempdir().unwrap();
    for (shell, args) in [
        (
            "bash",
            &[
                "--norc",
                "-c",
                "source $FILE; COMP_WORDS=(stampede comp); COMP_CWORD=1; _stampede stampede comp stampede; echo ${COMPREPLY[@]}",
            ][..],
        ),
        (
            "zsh",
            &[
                "-f",
                "-c",
                "autoload -U compinit; compinit -D -u; source $FILE; whence -w _stampede; echo $_comps[stampede] compare completions",
            ],
        ),
        ("fish", &["--no-config", "-c", "source $FILE; complete -C 'stampede comp'; complete -C 'stampede list st'"]),
    ] {
        if !have("shells_complete_commands_and_flags", &[shell]) {
            continue;
        }
        let said = stage.run(&["completions", shell]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let file = folder.path().join(shell);
        fs::write(&file, &said.stdout).unwrap();
        let told = Command::new(shell).args(args).env("FILE", &file).env("HOME", folder.path()).output().unwrap();
        let told = texts(&told);
        for part in ["compare", "completions"] {
            assert!(told.contains(part), "{shell}: {part}\n{told}");
        }
        assert!(!told.contains("not found"), "{shell}: {told}");
    }
}

#[test]
fn manual_pages_are_read_by_man() {
    if !have("manual_pages_are_read_by_man", &["man", "groff"]) {
        return;
    }
    let stage = Stage::new();
    let folder = tempfile::tempdir().unwrap();
    let said = stage.run(&["help", "man", "compare"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let file = folder.path().join("stampede-compare.1");
    fs::write(&file, &said.stdout).unwrap();
    let mut man = Command::new("man");
    man.args(["--warnings", "--local-file"])
        .arg(&file)
        .env("MANWIDTH", "100")
        .env("LC_ALL", "C.UTF-8")
        .env("MAN_KEEP_FORMATTING", "");
    let told = texts(&man.output().unwrap());
    for part in ["stampede-compare - Compare runtimes on your application", "--runtimes", "Examples:"] {
        assert!(told.contains(part), "{part}\n{told}");
    }
    assert!(!told.contains("warning"), "{told}");
}
