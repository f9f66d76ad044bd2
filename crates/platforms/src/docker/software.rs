//! Images with the software of a study's deployments: one of a distribution for all of them, or one for each image of a maker.

use std::collections::BTreeSet;

use stampede_core::{Availability, ExtensionMeans, MakersImage, PhpWants, Requirement};
use stampede_export::{Additions, ExportError};

use super::DockerPlatform;
use super::error::DockerError;
use super::image::{self, Installation};
use super::own_image::Lacking;
use super::question::{Place, Question, packages, place};

/// Where the runtimes in containers come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SoftwareSource {
    /// From nowhere: all deployments are of images that serve by themselves.
    Nowhere,
    /// From the image of each one's makers.
    Makers {
        /// One that was measured before, in place of what its name means now: `php:8.4-fpm-bookworm@sha256:...`.
        kept: Option<String>,
    },
    /// As packages, which are installed in this image.
    Upon(String),
}

/// An image that runs, and what is known of it.
#[derive(Clone, Debug)]
pub(super) struct SoftwareImage {
    /// The image of makers that it is of; none where it is of all.
    of: Option<MakersImage>,
    /// What runs, or why there is none.
    pub(super) name: Result<String, Lacking>,
    /// What records say of it.
    pub(super) record: String,
    /// The Dockerfile that it was made by.
    pub(super) dockerfile: String,
    pub(super) answers: Vec<(Question, Availability)>,
}

impl SoftwareImage {
    /// Whether deployments of this makers' image run in it; what is of none runs in any.
    pub(super) fn serves(&self, image: Option<&MakersImage>) -> bool {
        match (&self.of, image) {
            (Some(of), Some(image)) => of == image,
            (Some(_), None) => self.name.is_ok(),
            (None, _) => true,
        }
    }
}

/// An image of makers as it is built upon.
struct Origin {
    /// What the engine knows it by.
    from: String,
    /// What everybody knows it by: with its digest, where it came from a registry.
    published: String,
    /// What records say of it: with its digest, or with its id where it came from no registry.
    record: String,
}

/// What a deployment needs, with the image of its makers.
pub type Need = (Option<MakersImage>, Requirement);

impl DockerPlatform {
    /// Sees that there is an image with all of these requirements that can be had.
    ///
    /// # Errors
    ///
    /// When nothing may be fetched and something is missing; when the one image for all cannot be made. A maker's image that cannot be
    /// had is missing for its cases alone.
    pub async fn provide(&self, needs: &[Need]) -> Result<(), DockerError> {
        if self.config.offline {
            self.must_have(needs).await?;
        }
        for (_, need) in needs {
            if let Requirement::Image { key: _, source } = need {
                self.own_image(source).await;
            }
        }
        match &self.config.software {
            SoftwareSource::Nowhere => Ok(()),
            SoftwareSource::Upon(base) => {
                let all: Vec<&Requirement> = needs.iter().map(|(_, need)| need).collect();
                let made = self.install(base, &self.questions(&all)).await?;
                self.add(SoftwareImage { of: None, record: base.clone(), ..made });
                Ok(())
            }
            SoftwareSource::Makers { kept } => {
                let mut images: Vec<&MakersImage> = Vec::new();
                for image in needs.iter().filter_map(|(image, _)| image.as_ref()) {
                    if !images.contains(&image) {
                        images.push(image);
                    }
                }
                self.announce(&images, kept.as_deref()).await?;
                for image in images {
                    let of = |(of, need)| (of == &Some(image.clone())).then_some(need);
                    let all: Vec<&Requirement> =
                        needs.iter().filter_map(|(of_image, need)| of((of_image, need))).collect();
                    let made = match self.make(image, kept.as_deref(), &all).await {
                        // It is all that can be told.
                        Err(error @ DockerError::Offline(_)) => return Err(error),
                        made => made.unwrap_or_else(|error| SoftwareImage {
                            of: None,
                            name: Err(Lacking::from(error)),
                            record: image.to_string(),
                            dockerfile: String::new(),
                            answers: Vec::new(),
                        }),
                    };
                    self.add(SoftwareImage { of: Some(image.clone()), ..made });
                }
                Ok(())
            }
        }
    }

    fn add(&self, image: SoftwareImage) {
        self.software().push(image);
    }

    /// Says which images will be fetched, before the first is.
    async fn announce(&self, images: &[&MakersImage], kept: Option<&str>) -> Result<(), DockerError> {
        let mut lacking = Vec::new();
        for image in images.iter().filter(|image| !is_kept(image, kept)).flat_map(|image| image.parts()) {
            if !lacking.contains(&image) && image::inspect(&self.engine, &image).await?.is_none() {
                lacking.push(image);
            }
        }
        lacking.extend(self.lacking_composer().await?);
        if !lacking.is_empty() {
            (self.config.tell)(&format!("images to get from their registries: {}", lacking.join(", ")));
        }
        Ok(())
    }

    /// The images of makers that are needed and not there.
    pub(super) async fn lacking(&self, needs: &[Need]) -> Result<Vec<String>, DockerError> {
        let SoftwareSource::Makers { kept } = &self.config.software else { return Ok(Vec::new()) };
        let mut lacking = Vec::new();
        for image in
            needs.iter().filter_map(|(image, _)| image.as_ref()).filter(|image| !is_kept(image, kept.as_deref()))
        {
            for part in image.parts() {
                if !lacking.contains(&part) && image::inspect(&self.engine, &part).await?.is_none() {
                    lacking.push(part);
                }
            }
        }
        lacking.extend(self.lacking_composer().await?);
        Ok(lacking)
    }

    fn questions(&self, needs: &[&Requirement]) -> Vec<Question> {
        let mut questions = Vec::new();
        for need in needs {
            if let Place::Container(question) = place(need, &self.sources())
                && !questions.contains(&question)
            {
                questions.push(question);
            }
        }
        questions
    }

    /// The image that has what these questions ask for as packages of its distribution: one image for all runtimes, so that they
    /// share one build of PHP.
    async fn install(&self, base: &str, questions: &[Question]) -> Result<SoftwareImage, DockerError> {
        let (mut name, mut dockerfile) = (base.to_owned(), String::new());
        // Whether the distribution has them or not.
        let mut asked = BTreeSet::new();
        loop {
            let answers = self.look(&name, questions).await?;
            // What an answer lacks shows only when what it was told before is there: an extension after its PHP.
            let lacking: BTreeSet<String> = answers.iter().flat_map(packages).map(str::to_owned).collect();
            let lacking: BTreeSet<String> = lacking.difference(&asked).cloned().collect();
            if lacking.is_empty() {
                let answers = questions.iter().cloned().zip(answers).collect();
                return Ok(SoftwareImage { of: None, name: Ok(name), record: base.to_owned(), dockerfile, answers });
            }
            let upon = name.clone();
            let write =
                |packages: &BTreeSet<String>| stampede_export::software(&upon, packages.iter().map(String::as_str));
            (name, dockerfile) =
                image::install(&self.engine, self.installation(&name, &lacking, Vec::new(), &write)).await?;
            asked.extend(lacking);
        }
    }

    pub(super) fn installation<'a>(
        &'a self,
        base: &'a str,
        packages: &'a BTreeSet<String>,
        beside: Vec<&'a str>,
        write: &'a (dyn Fn(&BTreeSet<String>) -> Result<String, ExportError> + Sync),
    ) -> Installation<'a> {
        let (offline, keep, tell) = (self.config.offline, self.config.cache_dir.as_path(), self.config.tell);
        Installation { base, packages, beside, write, offline, keep, tell }
    }

    /// The image of makers with what these requirements ask for, by the image's own means.
    async fn make(
        &self,
        image: &MakersImage,
        kept: Option<&str>,
        needs: &[&Requirement],
    ) -> Result<SoftwareImage, DockerError> {
        let Origin { from, published, record } = self.origin(image, kept).await?;
        let questions = self.questions(needs);
        if image.recipe.extensions == ExtensionMeans::Packages {
            return Ok(SoftwareImage { record, ..self.install(&from, &questions).await? });
        }
        let mut wanted = Additions { extensions: self.extensions(&from, needs).await?, ..Additions::default() };
        loop {
            let all: BTreeSet<String> = wanted.packages.union(&wanted.libraries).cloned().collect();
            let write = |found: &BTreeSet<String>| {
                let of = |names: &BTreeSet<String>| names.intersection(found).cloned().collect();
                let (packages, libraries) = (of(&wanted.packages), of(&wanted.libraries));
                stampede_export::recipe(image, &from, &Additions { packages, libraries, ..wanted.clone() })
            };
            let programs = image.recipe.copied.iter().map(|program| program.to);
            let beside = programs.chain(wanted.extensions.iter().map(String::as_str)).collect();
            let made = image::install(&self.engine, self.installation(&from, &all, beside, &write)).await?;
            let answers = self.look(&made.0, &questions).await?;
            let lacking = answers.iter().flat_map(packages);
            // Those of PHP itself are Debian's, which its own images keep out.
            let (libraries, others): (Vec<&str>, Vec<&str>) =
                lacking.filter(|name| !is_php(name)).partition(|name| name.starts_with("php"));
            let before = wanted.clone();
            wanted.libraries.extend(libraries.into_iter().map(str::to_owned));
            wanted.packages.extend(others.into_iter().map(str::to_owned));
            if wanted == before {
                let (name, dockerfile) = made;
                let dockerfile = dockerfile.replacen(&format!("FROM {from}\n"), &format!("FROM {published}\n"), 1);
                let answers = questions.into_iter().zip(answers).collect();
                return Ok(SoftwareImage { of: None, name: Ok(name), record, dockerfile, answers });
            }
        }
    }

    /// The image of makers as it is here, got from its registry where it is not.
    async fn origin(&self, image: &MakersImage, kept: Option<&str>) -> Result<Origin, DockerError> {
        let name = image.to_string();
        if let Some(record) = kept.filter(|_| is_kept(image, kept)) {
            let digest = record.rsplit_once('@').map_or(record, |(_, digest)| digest);
            let repository = name.rsplit_once(':').map_or(name.as_str(), |(repository, _)| repository);
            for from in [format!("{repository}@{digest}"), digest.to_owned()] {
                if image::inspect(&self.engine, &from).await?.is_some() {
                    let is_digest = from.contains('@');
                    let published = if is_digest { record.to_owned() } else { name };
                    return Ok(Origin { from, published, record: record.to_owned() });
                }
            }
            return Err(DockerError::Gone(record.to_owned()));
        }
        if !self.config.offline {
            image::base(&self.engine, &name, self.config.tell).await?;
        }
        Ok(match image::digest(&self.engine, &name).await? {
            Some(digest) => {
                let record = format!("{name}@{digest}");
                Origin { from: name, published: record.clone(), record }
            }
            None => {
                let record = format!("{name}@{}", image::id(&self.engine, &name).await?);
                Origin { from: name.clone(), published: name, record }
            }
        })
    }

    /// The extensions that these requirements name and an image does not have.
    async fn extensions(&self, image: &str, needs: &[&Requirement]) -> Result<BTreeSet<String>, DockerError> {
        let names = needs.iter().flat_map(|need| match need {
            Requirement::Php { wants: PhpWants { extensions, optional, .. }, .. }
            | Requirement::FrankenPhp { wants: PhpWants { extensions, optional, .. }, .. } => {
                extensions.iter().chain(optional).cloned().collect()
            }
            Requirement::PhpExtension { extension, .. } => vec![(*extension).to_owned()],
            _ => Vec::new(),
        });
        let mut names: BTreeSet<String> = names.collect();
        let bare: Vec<Question> = self.questions(&bare(needs).iter().collect::<Vec<_>>());
        for answer in self.look(image, &bare).await? {
            if let Availability::Found(found) = answer
                && let Some(php) = found.php
            {
                names.retain(|name| !php.has(name));
            }
        }
        Ok(names)
    }
}

/// Whether an image of makers is the one that was measured before.
fn is_kept(image: &MakersImage, kept: Option<&str>) -> bool {
    kept.and_then(|record| record.rsplit_once('@')).is_some_and(|(name, _)| name == image.to_string())
}

/// Whether a package is Debian's PHP, or an extension of it: `php-cli`, `php8.2-intl`, `libapache2-mod-php`.
fn is_php(package: &str) -> bool {
    const FORMS: [&str; 4] = ["php-cli", "php-fpm", "php-cgi", "php"];
    let versioned =
        package.strip_prefix("php").is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
    versioned || FORMS.contains(&package) || package.starts_with("libapache2-mod-php")
}

/// The same requirements of PHP whatever it can load.
fn bare(needs: &[&Requirement]) -> Vec<Requirement> {
    let of = |need: &&Requirement| match need {
        Requirement::Php { key, sapi, install, .. } => Some(Requirement::Php {
            key,
            sapi: *sapi,
            build: None,
            wants: PhpWants::default(),
            install: install.clone(),
        }),
        Requirement::FrankenPhp { key, install, .. } => Some(Requirement::FrankenPhp {
            key,
            binary: None,
            build: None,
            wants: PhpWants::default(),
            install: install.clone(),
        }),
        _ => None,
    };
    needs.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn php_of_debian_is_told_from_libraries_in_php() {
        for (package, is) in [
            ("php8.2-intl", true),
            ("php-fpm", true),
            ("libapache2-mod-php", true),
            ("php-parsedown", false),
            ("nginx", false),
        ] {
            assert_eq!(is_php(package), is, "{package}");
        }
    }
}
