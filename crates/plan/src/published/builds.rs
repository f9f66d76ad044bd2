//! Builds of PHP that an experiment's rows name and the command line places: `php: zts`, `--build zts=/opt/zts/bin/php`.

use std::collections::BTreeMap;

use crate::mistake::{Gathered, Mistakes};
use crate::php;
use crate::suggestion::suggest_or;

/// Which builds there are, and where.
#[derive(Debug, Default)]
pub(super) struct Builds {
    /// What each must be.
    described: BTreeMap<String, String>,
    /// Where each is, as `--php` would have it.
    given: BTreeMap<String, String>,
}

impl Builds {
    /// Reads `--build NAME=PHP`, as often as it was given, for an experiment that describes these.
    pub(super) fn read(typed: &[String], described: &BTreeMap<String, String>, mistakes: &mut Gathered) -> Self {
        let mut builds = Self { described: described.clone(), given: BTreeMap::new() };
        for build in typed {
            let place = format!("--build {build}");
            let Some((name, php)) = build.split_once('=').filter(|(_, php)| php::is_build(php)) else {
                let fix = "for example --build zts=/opt/zts/bin/php";
                mistakes.add(place, "is not a name and a version or an absolute path of PHP", fix);
                continue;
            };
            let known = described.keys().map(String::as_str);
            if !described.contains_key(name) {
                let fix = suggest_or(name, known, || "leave it out".to_owned());
                mistakes.add(place, "is no build that the experiment names", fix);
            } else if builds.given.insert(name.to_owned(), php.to_owned()).is_some() {
                mistakes.add(place, "is given twice", "give each build once");
            }
        }
        builds
    }

    /// What `--php` is to be for a row with this build: the place of one that is described, and any other as it is.
    ///
    /// # Errors
    ///
    /// That one which is described was not given.
    pub(super) fn place_of(&self, build: String) -> Result<String, Mistakes> {
        let Some(description) = self.described.get(&build) else { return Ok(build) };
        self.given.get(&build).cloned().ok_or_else(|| {
            let fix = format!("name its command line program: --build {build}=/opt/{build}/bin/php");
            Mistakes::one(format!("build {build}"), format!("is not given: {description}"), fix)
        })
    }
}

/// Whether a build can be called so: not as a version or a path.
pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .chars()
            .all(|character| character.is_ascii_lowercase() || character.is_ascii_digit() || character == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described() -> BTreeMap<String, String> {
        BTreeMap::from([("zts".to_owned(), "PHP with --enable-zts".to_owned())])
    }

    #[test]
    fn a_build_is_where_the_command_line_says() {
        let mut mistakes = Gathered::default();
        let builds = Builds::read(&["zts=/opt/zts/bin/php".to_owned()], &described(), &mut mistakes);
        assert!(mistakes.finish(Ok(())).is_ok());
        assert_eq!(builds.place_of("zts".to_owned()).unwrap(), "/opt/zts/bin/php");
        assert_eq!(builds.place_of("8.4".to_owned()).unwrap(), "8.4");
        let none = Builds::read(&[], &described(), &mut Gathered::default());
        assert_eq!(
            none.place_of("zts".to_owned()).unwrap_err().to_string(),
            "build zts is not given: PHP with --enable-zts; name its command line program: --build zts=/opt/zts/bin/php"
        );
    }

    #[test]
    fn what_is_no_build_is_a_mistake() {
        for (typed, told) in [
            (&["zts"][..], "--build zts is not a name and a version or an absolute path of PHP"),
            (&["zts=bin/php"], "--build zts=bin/php is not a name and a version or an absolute path of PHP"),
            (&["zt=8.4"], "--build zt=8.4 is no build that the experiment names; did you mean zts?"),
            (&["musl=8.4"], "--build musl=8.4 is no build that the experiment names; leave it out"),
            (&["zts=8.4", "zts=8.5"], "--build zts=8.5 is given twice"),
        ] {
            let typed: Vec<String> = typed.iter().map(|&build| build.to_owned()).collect();
            let mut mistakes = Gathered::default();
            Builds::read(&typed, &described(), &mut mistakes);
            let problem = mistakes.finish(Ok(())).unwrap_err().to_string();
            assert!(problem.starts_with(told), "{problem}, not {told}");
        }
    }
}
