//! The Dockerfile of a recipe: what is made upon a maker's image. The same for an image that is exported and for one that is
//! measured in.

use std::collections::BTreeSet;

use minijinja::context;
use stampede_core::{CopiedProgram, ExtensionMeans, MakersImage, php_extension};

use crate::export_error::ExportError;
use crate::php_source::{commands, php_source};
use crate::template::Template;

const RECIPE: Template = Template { name: "recipe.j2", source: include_str!("../templates/recipe.j2") };

/// Where libraries in PHP come from that PHP's own images keep out, since packages of Debian bring Debian's PHP.
/// <https://github.com/docker-library/php/pull/542>
const LIBRARIES: &str = "debian:bookworm";

/// What a recipe adds to its maker's image beside its own programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Additions {
    /// Extensions of PHP.
    pub extensions: BTreeSet<String>,
    /// Packages of the distribution.
    pub packages: BTreeSet<String>,
    /// Packages of Debian with libraries in PHP, of which the files are taken.
    pub libraries: BTreeSet<String>,
}

impl Additions {
    /// All by name, for messages.
    pub fn names(&self) -> Vec<&str> {
        let Self { extensions, packages, libraries } = self;
        [extensions, packages, libraries].into_iter().flatten().map(String::as_str).collect()
    }

    /// The image beside the makers' that it takes to add them.
    pub fn image(&self) -> Option<&'static str> {
        (!self.libraries.is_empty()).then_some(LIBRARIES)
    }
}

/// The first lines of a Dockerfile: this image, which may be named by its digest or id, and what a recipe adds to it.
///
/// # Errors
///
/// When the template cannot be filled in.
pub fn recipe(image: &MakersImage, base: &str, additions: &Additions) -> Result<String, ExportError> {
    let Additions { extensions, packages, libraries } = additions;
    let names: Vec<&str> = extensions.iter().map(String::as_str).collect();
    let ordered = php_extension::in_order(&names, |name| !extensions.contains(name));
    let ordered: Vec<String> = ordered.into_iter().map(str::to_owned).collect();
    let mut packages: BTreeSet<&str> = packages.iter().map(String::as_str).collect();
    let commands = match image.recipe.extensions {
        ExtensionMeans::Packages => Vec::new(),
        _ if ordered.is_empty() => Vec::new(),
        ExtensionMeans::Installer => vec![format!("install-php-extensions {}", ordered.join(" "))],
        ExtensionMeans::Sources => {
            packages.extend(ordered.iter().flat_map(|name| php_source(name).1).copied());
            commands(&ordered)
        }
    };
    let copied = image.recipe.copied.iter();
    RECIPE.fill(context! {
        from => LIBRARIES,
        libraries => libraries.iter().cloned().collect::<Vec<_>>(),
        base,
        copied => copied.map(|CopiedProgram { image, source: _, from, to }| format!("--from={image} {from} {to}")).collect::<Vec<_>>(),
        packages => packages.into_iter().map(str::to_owned).collect::<Vec<_>>(),
        commands,
        uncapped => image.recipe.uncapped.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use stampede_core::Recipe;

    use super::*;

    static SERVER: Recipe = Recipe {
        image: "php:{php}-cli-bookworm",
        source: "https://php.example",
        copied: &[CopiedProgram {
            image: "maker/server:2",
            source: "https://server.example",
            from: "/usr/bin/server",
            to: "/usr/local/bin/server",
        }],
        extensions: ExtensionMeans::Sources,
        uncapped: &["/usr/local/bin/server"],
    };

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_recipe_is_what_is_added_to_a_makers_image() {
        let image = MakersImage::new(&SERVER, None);
        let additions = Additions {
            extensions: set(&["event", "intl", "sockets"]),
            packages: set(&["nginx"]),
            libraries: set(&["php-parsedown"]),
        };
        insta::assert_snapshot!(recipe(&image, "php:8.4-cli-bookworm@sha256:ab", &additions).unwrap());
        assert_eq!(additions.names(), ["event", "intl", "sockets", "nginx", "php-parsedown"]);
        assert_eq!(additions.image(), Some("debian:bookworm"));
    }
}
