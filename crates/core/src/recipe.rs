//! The image of a maker in which a runtime is served, and what is made upon it.

use std::fmt;

use crate::PhpChoice;

/// The series of PHP that is taken when none is chosen: the newest whose patch releases were maintained for a year, so that the
/// extensions of most applications support it. <https://www.php.net/supported-versions.php>
const SERIES: (u32, u32) = (8, 4);

/// What stands in a name for the series of PHP.
const PHP: &str = "{php}";

/// How a runtime's image is made upon its maker's.
#[derive(Debug, PartialEq, Eq)]
pub struct Recipe {
    /// The maker's image with its tag, with `{php}` for the series of PHP.
    pub image: &'static str,
    /// The page that describes the image.
    pub source: &'static str,
    /// Programs that come from images of other makers.
    pub copied: &'static [CopiedProgram],
    /// How the image gets extensions of PHP.
    pub extensions: ExtensionMeans,
    /// Programs whose file capabilities are removed: without that capability in its container such a program does not start,
    /// and no runtime listens on a port below 1024.
    pub uncapped: &'static [&'static str],
}

/// A program that comes from the image of another maker.
#[derive(Debug, PartialEq, Eq)]
pub struct CopiedProgram {
    /// That image with its tag.
    pub image: &'static str,
    /// The page that describes the image.
    pub source: &'static str,
    /// Its place there.
    pub from: &'static str,
    /// Its place in the image that is made.
    pub to: &'static str,
}

/// How an image gets extensions of PHP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtensionMeans {
    /// As packages of its distribution.
    Packages,
    /// By `docker-php-ext-install` and `pecl`, as the images of PHP do.
    Sources,
    /// By `install-php-extensions`, which the image has.
    Installer,
}

/// A recipe for one series of PHP: what tells one image that runtimes are served in from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MakersImage {
    /// How it is made.
    pub recipe: &'static Recipe,
    /// The series: 8 and 4 of PHP 8.4.
    pub php: (u32, u32),
}

impl MakersImage {
    /// Of a recipe, for a build of PHP that was chosen.
    pub fn new(recipe: &'static Recipe, php: Option<&PhpChoice>) -> Self {
        let php = match php {
            Some(PhpChoice::Series { major, minor }) if recipe.image.contains(PHP) => (*major, *minor),
            _ => SERIES,
        };
        Self { recipe, php }
    }

    /// All images that it is made of: the maker's own first.
    pub fn parts(&self) -> Vec<String> {
        let copied = self.recipe.copied.iter().map(|program| program.image.to_owned());
        std::iter::once(self.to_string()).chain(copied).collect()
    }
}

impl fmt::Display for MakersImage {
    /// The name of the maker's image: `php:8.4-fpm-bookworm`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { recipe, php: (major, minor) } = self;
        f.write_str(&recipe.image.replace(PHP, &format!("{major}.{minor}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_of_the_series_that_was_chosen() {
        static PHP: Recipe = recipe("php:{php}-cli-bookworm");
        static DEBIAN: Recipe = recipe("debian:bookworm");
        const fn recipe(image: &'static str) -> Recipe {
            Recipe { image, source: "", copied: &[], extensions: ExtensionMeans::Sources, uncapped: &[] }
        }
        let chosen = PhpChoice::Series { major: 8, minor: 2 };
        assert_eq!(MakersImage::new(&PHP, Some(&chosen)).to_string(), "php:8.2-cli-bookworm");
        assert_eq!(MakersImage::new(&PHP, None).parts(), ["php:8.4-cli-bookworm"]);
        // The same image whatever was chosen.
        assert_eq!(MakersImage::new(&DEBIAN, Some(&chosen)), MakersImage::new(&DEBIAN, None));
    }
}
