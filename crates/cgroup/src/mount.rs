//! Where control group hierarchies are mounted, and where this process stands in each.

use std::path::{Path, PathBuf};

use crate::FileError;
use crate::kernel_file::malformed;

/// Which hierarchy something belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// A version 1 hierarchy with these controllers.
    V1(Vec<String>),
    /// The unified hierarchy.
    V2,
}

/// A mounted hierarchy, from one line of `/proc/self/mountinfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) version: Version,
    /// The group that is seen at the mount point: not the topmost one in a container.
    pub(crate) root: PathBuf,
    pub(crate) point: PathBuf,
}

/// This process's group in one hierarchy, from one line of `/proc/self/cgroup`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Membership {
    pub(crate) version: Version,
    pub(crate) group: PathBuf,
}

impl Mount {
    /// The folder at which a group is seen through this mount, if it is.
    pub(crate) fn folder(&self, group: &Path) -> Option<PathBuf> {
        group.strip_prefix(&self.root).ok().map(|below| self.point.join(below))
    }
}

/// Parses [mountinfo](https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html); `path` is for errors.
pub(crate) fn parse_mountinfo(path: &Path, text: &str) -> Result<Vec<Mount>, FileError> {
    let mut mounts = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let bad = || malformed(path, number, line, "a mount as in proc_pid_mountinfo(5)");
        // ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAGS...] - TYPE SOURCE SUPER-OPTIONS
        let (left, right) = line.split_once(" - ").ok_or_else(bad)?;
        let mut left = left.split(' ').skip(3);
        let (root, point) = left.next().zip(left.next()).ok_or_else(bad)?;
        let mut right = right.split(' ');
        let version = match right.next() {
            Some("cgroup2") => Version::V2,
            Some("cgroup") => {
                let options = right.nth(1).ok_or_else(bad)?;
                Version::V1(options.split(',').map(str::to_owned).collect())
            }
            _ => continue,
        };
        mounts.push(Mount { version, root: unescape(root).into(), point: unescape(point).into() });
    }
    Ok(mounts)
}

/// Parses [/proc/PID/cgroup](https://man7.org/linux/man-pages/man7/cgroups.7.html); `path` is for errors.
pub(crate) fn parse_membership(path: &Path, text: &str) -> Result<Vec<Membership>, FileError> {
    (1..)
        .zip(text.lines())
        .map(|(number, line)| {
            let bad = || malformed(path, number, line, "ID:CONTROLLERS:GROUP");
            let (id, rest) = line.split_once(':').ok_or_else(bad)?;
            let (controllers, group) = rest.split_once(':').ok_or_else(bad)?;
            let version =
                if id == "0" { Version::V2 } else { Version::V1(controllers.split(',').map(str::to_owned).collect()) };
            Ok(Membership { version, group: group.into() })
        })
        .collect()
}

/// Undoes mountinfo's escapes: blank, tab, newline and backslash are written as `\040` and so on.
fn unescape(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (escape, plain)| text.replace(escape, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_read_with_their_root_and_other_file_systems_passed_over() {
        let text = "22 1 0:20 / /proc rw - proc proc rw\n\
            30 22 0:29 /docker/ab /sys/fs/cgroup/cpu\\040x ro,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
            41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
        let mounts = parse_mountinfo(Path::new("mountinfo"), text).unwrap();
        assert_eq!(mounts.len(), 2);
        assert_eq!(mounts[0].folder(Path::new("/docker/ab/c")), Some("/sys/fs/cgroup/cpu x/c".into()));
        assert_eq!(mounts[0].folder(Path::new("/other")), None);
        assert_eq!(mounts[0].version, Version::V1(vec!["rw".into(), "cpu".into(), "cpuacct".into()]));
        assert_eq!(mounts[1].version, Version::V2);
    }

    #[test]
    fn malformed_lines_are_named() {
        let error = parse_mountinfo(Path::new("/m"), "1 2 3 - cgroup x\n").unwrap_err();
        assert!(error.to_string().starts_with("read /m:1:"), "{error}");
        let error = parse_membership(Path::new("/c"), "0::/\nnonsense\n").unwrap_err();
        assert!(error.to_string().starts_with("read /c:2:"), "{error}");
    }
}
