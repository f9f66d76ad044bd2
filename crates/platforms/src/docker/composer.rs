//! Composer in the image in which an application is prepared: from its makers, or as a package of the distribution.

use std::collections::BTreeSet;

use stampede_core::{App, Availability};
use stampede_export::COMPOSER_IMAGE;

use super::error::DockerError;
use super::image;
use super::question;
use super::{DockerPlatform, SoftwareSource};

/// The program.
const COMPOSER: &str = "composer";

/// Whether an application is prepared by Composer.
pub(super) fn is_run_by(app: &App) -> bool {
    app.prepare.iter().any(|command| command.first().is_some_and(|program| program == COMPOSER))
}

impl DockerPlatform {
    /// The image of Composer's makers, where it will be needed and is not there.
    pub(super) async fn lacking_composer(&self) -> Result<Option<String>, DockerError> {
        let is_needed = self.config.composer && matches!(self.config.software, SoftwareSource::Makers { .. });
        let lacks = is_needed && image::inspect(&self.engine, COMPOSER_IMAGE).await?.is_none();
        Ok(lacks.then(|| COMPOSER_IMAGE.to_owned()))
    }

    /// An image like this one with Composer in it: the same where it has that already.
    pub(super) async fn with_composer(&self, image: String) -> Result<String, DockerError> {
        let answers = self.look(&image, &[question::command(COMPOSER)]).await?;
        if let Some(Availability::Found(_)) = answers.first() {
            return Ok(image);
        }
        let of_distribution = BTreeSet::from([COMPOSER.to_owned()]);
        let none = BTreeSet::new();
        let by_makers = |_: &BTreeSet<String>| stampede_export::composer(&image);
        let by_package = |found: &BTreeSet<String>| stampede_export::software(&image, found.iter().map(String::as_str));
        let order = match &self.config.software {
            SoftwareSource::Makers { .. } => {
                if !self.config.offline {
                    image::base(&self.engine, COMPOSER_IMAGE, self.config.tell).await?;
                }
                self.installation(&image, &none, vec![COMPOSER], &by_makers)
            }
            SoftwareSource::Nowhere | SoftwareSource::Upon(_) => {
                self.installation(&image, &of_distribution, Vec::new(), &by_package)
            }
        };
        Ok(image::install(&self.engine, order).await?.0)
    }
}
