//! The images of makers in which runtimes are served, and what is added to each.

use stampede_core::{CopiedProgram, ExtensionMeans, Recipe};

const PHP: &str = "https://hub.docker.com/_/php";

/// PHP-FPM; the web server beside it is a package of the image's distribution.
pub(crate) static FPM: Recipe = Recipe {
    image: "php:{php}-fpm-bookworm",
    source: PHP,
    copied: &[],
    extensions: ExtensionMeans::Sources,
    uncapped: &[],
};

/// PHP-FPM with Caddy beside it.
pub(crate) static CADDY_FPM: Recipe = Recipe {
    image: "php:{php}-fpm-bookworm",
    source: PHP,
    copied: &[CopiedProgram {
        image: "caddy:2",
        source: "https://hub.docker.com/_/caddy",
        from: "/usr/bin/caddy",
        to: "/usr/local/bin/caddy",
    }],
    extensions: ExtensionMeans::Sources,
    uncapped: &["/usr/local/bin/caddy"],
};

/// Apache with PHP as its module.
pub(crate) static APACHE: Recipe = Recipe {
    image: "php:{php}-apache-bookworm",
    source: PHP,
    copied: &[],
    extensions: ExtensionMeans::Sources,
    uncapped: &[],
};

/// PHP as a program, for servers that are written in PHP.
pub(crate) static CLI: Recipe = Recipe {
    image: "php:{php}-cli-bookworm",
    source: PHP,
    copied: &[],
    extensions: ExtensionMeans::Sources,
    uncapped: &[],
};

/// FrankenPHP with the PHP inside it.
pub(crate) static FRANKENPHP: Recipe = Recipe {
    image: "dunglas/frankenphp:1-php{php}-bookworm",
    source: "https://frankenphp.dev/docs/docker/",
    copied: &[],
    extensions: ExtensionMeans::Installer,
    uncapped: &["/usr/local/bin/frankenphp"],
};

/// RoadRunner beside PHP: its program needs no library.
pub(crate) static ROADRUNNER: Recipe = Recipe {
    image: "php:{php}-cli-bookworm",
    source: PHP,
    copied: &[CopiedProgram {
        image: "ghcr.io/roadrunner-server/roadrunner:2025",
        source: "https://docs.roadrunner.dev/docs/app-server/docker",
        from: "/usr/bin/rr",
        to: "/usr/local/bin/rr",
    }],
    extensions: ExtensionMeans::Sources,
    uncapped: &[],
};

/// PHP with Swoole.
pub(crate) static SWOOLE: Recipe = Recipe {
    image: "phpswoole/swoole:6.2-php{php}",
    source: "https://hub.docker.com/r/phpswoole/swoole",
    copied: &[],
    extensions: ExtensionMeans::Sources,
    uncapped: &[],
};

/// A distribution, for what no maker has an image of.
pub(crate) static DISTRIBUTION: Recipe = Recipe {
    image: "debian:bookworm",
    source: "https://hub.docker.com/_/debian",
    copied: &[],
    extensions: ExtensionMeans::Packages,
    uncapped: &[],
};
