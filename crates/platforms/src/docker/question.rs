//! What is looked for in an image. Stampede's own program is put into a container of it, looks there in the same way as on a
//! machine, and prints what it found.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use stampede_core::{
    Availability, Found, ImageSource, Install, PhpChoice, PhpSapi, PhpWants, Requirement, VersionProbe,
};

use crate::detect::debian::{self, InstalledPackage};
use crate::detect::{extension, frankenphp, php, program};

/// A requirement that is looked for in a container, as it is written down for that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    of: Sought,
    install: Install,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
enum Sought {
    Program {
        names: Vec<String>,
        args: Vec<String>,
        prefix: String,
    },
    Command {
        name: String,
    },
    Php {
        sapi: PhpSapi,
        build: Option<PhpChoice>,
        wants: PhpWants,
    },
    FrankenPhp {
        build: Option<PhpChoice>,
        wants: PhpWants,
    },
    PhpExtension {
        build: Option<PhpChoice>,
        extension: String,
    },
    AnyFile {
        name: String,
        paths: Vec<PathBuf>,
    },
    /// The package that a file came from: the answer is its name, as a path, and its version.
    PackageOf {
        file: PathBuf,
    },
}

/// Asks which package a file came from.
pub(crate) fn package_of(file: PathBuf) -> Question {
    Question { of: Sought::PackageOf { file }, install: Install { package: None, page: String::new() } }
}

/// Asks for a program by its name.
pub(crate) fn command(name: &str) -> Question {
    Question { of: Sought::Command { name: name.to_owned() }, install: Install { package: None, page: String::new() } }
}

/// Where a requirement is looked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place<'a> {
    /// Here: it builds, or it came with the application.
    Here,
    /// In a container.
    Container(Question),
    /// By the engine itself: an image.
    Engine(&'a ImageSource),
    /// Nowhere: containers cannot have it, for this reason.
    Nowhere(&'static str),
}

/// Where a requirement is looked for, with applications from these folders.
pub(crate) fn place<'a>(need: &'a Requirement, sources: &[PathBuf]) -> Place<'a> {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let (of, install) = match need {
        Requirement::Builder { .. } | Requirement::PhpPackage { .. } => return Place::Here,
        Requirement::Image { key: _, source } => return Place::Engine(source),
        Requirement::Program { key: _, names, version: VersionProbe { args, prefix }, install } => {
            (Sought::Program { names: owned(names), args: owned(args), prefix: (*prefix).to_owned() }, install.clone())
        }
        Requirement::Command { key: _, name } => {
            let install = Install { package: None, page: "name a program that the image has".to_owned() };
            (Sought::Command { name: name.clone() }, install)
        }
        Requirement::Php { key: _, sapi, build, wants, install } => {
            let (build, wants) = (build.clone(), wants.clone());
            (Sought::Php { sapi: *sapi, build, wants }, install.clone())
        }
        Requirement::FrankenPhp { binary: Some(_), .. } => {
            return Place::Nowhere("an application's own FrankenPHP, which is not run in containers");
        }
        Requirement::FrankenPhp { key: _, binary: None, build, wants, install } => {
            (Sought::FrankenPhp { build: build.clone(), wants: wants.clone() }, install.clone())
        }
        Requirement::PhpExtension { key: _, build, extension, install } => {
            let (build, extension) = (build.clone(), (*extension).to_owned());
            (Sought::PhpExtension { build, extension }, install.clone())
        }
        Requirement::AnyFile { key: _, name, paths, install } => {
            let of_app = |path: &&PathBuf| sources.iter().any(|source| path.starts_with(source));
            if paths.iter().filter(of_app).any(|path| path.exists()) {
                return Place::Here;
            }
            let paths = paths.iter().filter(|path| !of_app(path)).cloned().collect();
            (Sought::AnyFile { name: name.clone(), paths }, install.clone())
        }
    };
    Place::Container(Question { of, install })
}

/// Answers questions where this process is: JSON in, JSON out, in the same order.
///
/// # Errors
///
/// When the questions are not of this version.
pub async fn answer(questions: &str) -> Result<String, serde_json::Error> {
    let questions: Vec<Question> = serde_json::from_str(questions)?;
    let mut answers: Vec<Availability> = Vec::new();
    for Question { of, install } in questions {
        answers.push(match of {
            Sought::Program { names, args, prefix } => program::detect_version(&names, &args, &prefix, &install).await,
            Sought::Command { name } => program::detect_command(&name),
            Sought::Php { sapi, build, wants } => php::detect(sapi, build.as_ref(), &wants, &install).await,
            Sought::FrankenPhp { build, wants } => frankenphp::detect(None, build.as_ref(), &wants, &install).await,
            Sought::PhpExtension { build, extension } => extension::detect(&extension, build.as_ref(), &install).await,
            Sought::AnyFile { name, paths } => program::detect_file(&name, &paths, &install),
            Sought::PackageOf { file } => match debian::package_of(&file).await {
                Some(InstalledPackage { name, version }) => {
                    Availability::Found(Found { path: PathBuf::from(name), version, php: None })
                }
                None => Availability::Missing { what: format!("a package of {}", file.display()), install },
            },
        });
    }
    serde_json::to_string(&answers)
}

/// The packages that an answer asks for.
pub(crate) fn packages(answer: &Availability) -> impl Iterator<Item = &str> {
    let package = match answer {
        Availability::Missing { install, .. } => install.package.as_deref(),
        Availability::Found(_) => None,
    };
    package.into_iter().flat_map(str::split_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install() -> Install {
        Install { package: Some("php-parsedown".to_owned()), page: "https://parsedown.org/".to_owned() }
    }

    #[test]
    fn what_came_with_the_application_is_here_and_the_rest_in_the_image() {
        let app = tempfile::tempdir().unwrap();
        std::fs::write(app.path().join("Parsedown.php"), "").unwrap();
        let need = |paths: Vec<PathBuf>| Requirement::AnyFile {
            key: None,
            name: "the Parsedown library".to_owned(),
            paths,
            install: install(),
        };
        let (inside, outside) = (app.path().join("Parsedown.php"), PathBuf::from("/usr/share/php/Parsedown.php"));
        let sources = [app.path().to_owned()];
        assert_eq!(place(&need(vec![inside, outside.clone()]), &sources), Place::Here);
        let (absent, name) = (app.path().join("absent.php"), "the Parsedown library".to_owned());
        let question = Question { of: Sought::AnyFile { name, paths: vec![outside.clone()] }, install: install() };
        assert_eq!(place(&need(vec![absent, outside]), &sources), Place::Container(question));
    }

    #[tokio::test]
    async fn answers_come_in_the_order_of_the_questions() {
        let file = |path: &str| Question {
            of: Sought::AnyFile { name: "it".to_owned(), paths: vec![PathBuf::from(path)] },
            install: install(),
        };
        let asked = serde_json::to_string(&[file("/nonexistent"), file("/proc/version")]).unwrap();
        let answers: Vec<Availability> = serde_json::from_str(&answer(&asked).await.unwrap()).unwrap();
        assert_eq!(packages(&answers[0]).collect::<Vec<_>>(), ["php-parsedown"]);
        assert!(
            matches!(&answers[1], Availability::Found(found) if found.path == std::path::Path::new("/proc/version"))
        );
    }
}
