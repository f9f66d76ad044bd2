//! How an image of PHP gets Composer, which installs the packages that an application requires.

use minijinja::context;

use crate::export_error::ExportError;
use crate::template::Template;

const COMPOSER: Template = Template { name: "composer.j2", source: include_str!("../templates/composer.j2") };

/// The image of Composer's makers, of which the program is taken. <https://hub.docker.com/_/composer>
pub const COMPOSER_IMAGE: &str = "composer:2";

/// The Dockerfile of an image of PHP with Composer in it, and with what it unpacks archives by.
/// <https://getcomposer.org/doc/00-intro.md#docker-image>
///
/// # Errors
///
/// When the template cannot be filled in.
pub fn composer(base: &str) -> Result<String, ExportError> {
    COMPOSER.fill(context! { base, from => COMPOSER_IMAGE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn composer_comes_from_its_makers() {
        let text = composer("php:8.4-cli-bookworm").unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "FROM php:8.4-cli-bookworm");
        assert!(lines.contains(&"COPY --from=composer:2 /usr/bin/composer /usr/local/bin/composer"), "{text}");
    }
}
