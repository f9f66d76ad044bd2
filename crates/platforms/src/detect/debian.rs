//! What Debian, and what descends from it, says of itself and of its packages.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use tokio::process::Command;

use crate::output::collect;

/// How long the package manager may take for an answer.
const LIMIT: Duration = Duration::from_secs(20);

/// A package that is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledPackage {
    /// Its name.
    pub name: String,
    /// Its version, revision included.
    pub version: String,
}

/// The official container image of the distribution that runs here; none where it is not Debian or Ubuntu.
pub fn image() -> Option<String> {
    image_of(&fs::read_to_string("/etc/os-release").ok()?)
}

/// <https://www.freedesktop.org/software/systemd/man/os-release.html>
fn image_of(os_release: &str) -> Option<String> {
    let fields: HashMap<&str, &str> = os_release
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name, value.trim_matches('"')))
        .collect();
    match *fields.get("ID")? {
        "debian" => Some(format!("debian:{}-slim", fields.get("VERSION_CODENAME")?)),
        "ubuntu" => Some(format!("ubuntu:{}", fields.get("VERSION_ID")?)),
        _ => None,
    }
}

/// The package that a file came from; none where it came from none.
pub async fn package_of(file: &Path) -> Option<InstalledPackage> {
    let name = match owner(file).await {
        Some(name) => name,
        // A link that the packages' scripts made, as /usr/bin/php is one.
        None => owner(&fs::canonicalize(file).ok()?).await?,
    };
    let version = ask(&["-W", "-f", "${Version}", &name]).await?;
    Some(InstalledPackage { name, version })
}

async fn owner(file: &Path) -> Option<String> {
    owner_in(&ask(&["-S", file.to_str()?]).await?).map(str::to_owned)
}

async fn ask(args: &[&str]) -> Option<String> {
    let mut command = Command::new("dpkg-query");
    command.args(args).env("LC_ALL", "C");
    let output = collect(command, LIMIT).await.ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The name in the answer of [`dpkg-query -S`](https://manpages.debian.org/bookworm/dpkg/dpkg-query.1.en.html), such as
/// `libc6:amd64: /lib/...`.
fn owner_in(answer: &str) -> Option<&str> {
    let owners = answer.lines().find(|line| !line.starts_with("diversion by "))?;
    let first = owners.split(": ").next()?.split(", ").next()?;
    first.split(':').next().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_has_an_image() {
        for (text, image) in [
            ("ID=debian\nVERSION_CODENAME=bookworm\nVERSION_ID=\"12\"\n", Some("debian:bookworm-slim")),
            ("NAME=\"Ubuntu\"\nVERSION_ID=\"24.04\"\nID=ubuntu\nID_LIKE=debian\n", Some("ubuntu:24.04")),
            ("ID=fedora\nVERSION_ID=42\n", None),
            ("ID=debian\n", None),
        ] {
            assert_eq!(image_of(text).as_deref(), image, "{text}");
        }
    }

    #[test]
    fn an_owner_is_read_past_diversions_and_architectures() {
        for (answer, name) in [
            ("nginx: /usr/sbin/nginx\n", Some("nginx")),
            ("libc6:amd64: /lib/x86_64-linux-gnu/libc.so.6\n", Some("libc6")),
            ("a, b: /usr/share/doc\n", Some("a")),
            ("diversion by dash from: /bin/sh\ndiversion by dash to: /bin/sh.distrib\ndash: /bin/sh\n", Some("dash")),
            ("", None),
        ] {
            assert_eq!(owner_in(answer), name, "{answer}");
        }
    }
}
