//! Builds of PHP as an axis of a comparison: `--php 8.2,8.4`, or paths of command line programs.

use std::path::{Path, PathBuf};

use stampede_core::{App, CaseId, PhpChoice, Runtime};

use crate::listed::Listed;
use crate::mistake::Gathered;

/// The builds that were chosen, `None` for the one that is found first.
pub(crate) fn read_php(asked: Option<&[Listed]>, mistakes: &mut Gathered) -> Vec<Option<PhpChoice>> {
    let Some(asked) = asked else {
        return vec![None];
    };
    let mut chosen: Vec<Option<PhpChoice>> = Vec::new();
    for Listed { value: build, place } in asked {
        match read(build) {
            Some(choice) if chosen.contains(&Some(choice.clone())) => {
                mistakes.add(place, "is named twice", "name each build once");
            }
            Some(choice) => chosen.push(Some(choice)),
            None => mistakes.add(
                place,
                "is neither a version nor a path",
                "write a series such as 8.4, or the absolute path of a command line program of PHP",
            ),
        }
    }
    chosen
}

/// Whether a text names a build: its series or its command line program.
pub(crate) fn is_build(text: &str) -> bool {
    read(text).is_some()
}

fn read(build: &str) -> Option<PhpChoice> {
    if build.starts_with('/') {
        return Some(PhpChoice::Program(PathBuf::from(build)));
    }
    let (major, minor) = build.split_once('.')?;
    Some(PhpChoice::Series { major: major.parse().ok()?, minor: minor.parse().ok()? })
}

/// The builds that matter to what serves an application: all where it serves PHP, otherwise only that of no choice.
pub(crate) fn that_matter(runtime: &dyn Runtime, app: &App, chosen: &[Option<PhpChoice>]) -> Vec<Option<PhpChoice>> {
    if runtime.requires(app).iter().any(stampede_core::Requirement::is_php) { chosen.to_vec() } else { vec![None] }
}

/// A case's name with the build's behind it: `nginx-fpm@8.4`, or `nginx-fpm@php84` for `/opt/php84/bin/php` as long as no
/// other build is called so.
pub(crate) fn with_build(id: CaseId, build: Option<&PhpChoice>, chosen: &[Option<PhpChoice>]) -> CaseId {
    let Some(build) = build else { return id };
    let short = short(build);
    let several = chosen.iter().flatten().filter(|other| self::short(other) == short).count() > 1;
    CaseId::new(if several { format!("{id}@{build}") } else { format!("{id}@{short}") })
}

/// What a build is called: its series, its program's name, or the folder that it is installed in.
fn short(build: &PhpChoice) -> String {
    let name = |path: Option<&Path>| path.and_then(Path::file_name)?.to_str().map(str::to_owned);
    let found = match build {
        PhpChoice::Series { .. } => None,
        PhpChoice::Program(path) if path.ends_with("bin/php") => name(path.parent().and_then(Path::parent)),
        PhpChoice::Program(path) => name(Some(path)),
    };
    found.unwrap_or_else(|| build.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_are_series_or_paths() {
        for (typed, names) in [
            ("8.2", vec!["8.2"]),
            ("8.2, 8.4", vec!["8.2", "8.4"]),
            ("/opt/php84/bin/php,8.2", vec!["/opt/php84/bin/php", "8.2"]),
        ] {
            let mut mistakes = Gathered::default();
            let read = read_php(Some(&Listed::typed("--php", typed)), &mut mistakes);
            assert!(mistakes.finish(Ok(())).is_ok(), "{typed}");
            let found: Vec<String> = read.iter().flatten().map(ToString::to_string).collect();
            assert_eq!(found, names, "{typed}");
        }
        for typed in ["8", "eight.two", "8.2.", "bin/php", "", "8.2,8.2"] {
            let mut mistakes = Gathered::default();
            read_php(Some(&Listed::typed("--php", typed)), &mut mistakes);
            assert!(mistakes.finish(Ok(())).is_err(), "{typed}");
        }
        assert_eq!(read_php(None, &mut Gathered::default()), [None]);
    }

    #[test]
    fn a_case_is_named_after_its_build() {
        let builds = read_php(
            Some(&Listed::typed("--php", "8.4,/opt/php84/bin/php,/a/zts/bin/php,/b/zts/bin/php,/usr/bin/php8.2")),
            &mut Gathered::default(),
        );
        let names: Vec<String> =
            builds.iter().map(|build| with_build(CaseId::new("go"), build.as_ref(), &builds).to_string()).collect();
        assert_eq!(names, ["go@8.4", "go@php84", "go@/a/zts/bin/php", "go@/b/zts/bin/php", "go@php8.2"]);
    }
}
