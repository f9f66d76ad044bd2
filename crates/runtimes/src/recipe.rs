//! The images of makers in which runtimes are served, and what is added to each.

use stampede_core::{CopiedProgram, ExtensionMeans, Recipe};

const PHP: &str = "https://hub.docker.com/_/php";

/// An image whose extensions are built from their sources, as it is.
const fn plain(image: &'static str, source: &'static str) -> Recipe {
    Recipe { image, source, copied: &[], extensions: ExtensionMeans::Sources, uncapped: &[] }
}

/// PHP-FPM; the web server beside it is a package of the image's distribution.
pub(crate) static FPM: Recipe = plain("php:{php}-fpm-bookworm", PHP);

/// PHP-FPM with Caddy beside it.
pub(crate) static CADDY_FPM: Recipe = Recipe {
    copied: &[CopiedProgram {
        image: "caddy:2",
        source: "https://hub.docker.com/_/caddy",
        from: "/usr/bin/caddy",
        to: "/usr/local/bin/caddy",
    }],
    uncapped: &["/usr/local/bin/caddy"],
    ..plain("php:{php}-fpm-bookworm", PHP)
};

/// Apache with PHP as its module.
pub(crate) static APACHE: Recipe = plain("php:{php}-apache-bookworm", PHP);

/// PHP as a program, for servers that are written in PHP.
pub(crate) static CLI: Recipe = plain("php:{php}-cli-bookworm", PHP);

/// FrankenPHP with the PHP inside it.
pub(crate) static FRANKENPHP: Recipe = Recipe {
    extensions: ExtensionMeans::Installer,
    uncapped: &["/usr/local/bin/frankenphp"],
    ..plain("dunglas/frankenphp:1-php{php}-bookworm", "https://frankenphp.dev/docs/docker/")
};

/// RoadRunner beside PHP: its program needs no library.
pub(crate) static ROADRUNNER: Recipe = Recipe {
    copied: &[CopiedProgram {
        image: "ghcr.io/roadrunner-server/roadrunner:2025",
        source: "https://docs.roadrunner.dev/docs/app-server/docker",
        from: "/usr/bin/rr",
        to: "/usr/local/bin/rr",
    }],
    ..plain("php:{php}-cli-bookworm", PHP)
};

/// PHP with Swoole.
pub(crate) static SWOOLE: Recipe = plain("phpswoole/swoole:6.2-php{php}", "https://hub.docker.com/r/phpswoole/swoole");

/// A distribution, for what no maker has an image of.
pub(crate) static DISTRIBUTION: Recipe =
    Recipe { extensions: ExtensionMeans::Packages, ..plain("debian:bookworm", "https://hub.docker.com/_/debian") };
