//! What is exported.

use std::net::SocketAddr;
use std::time::Duration;

use stampede_core::{Deployment, Exchange, Limits, ScaledService};

/// What is exported.
#[derive(Clone, Copy, Debug)]
pub struct BundleOrder<'a> {
    /// What it is called where things have names: lower case, see [`label`].
    pub name: &'a str,
    /// Where it comes from, a line each, for comments.
    pub origin: &'a [String],
    /// What runs. A runtime alone, without balancer and services.
    pub deployment: &'a Deployment,
    /// What the whole may use.
    pub limits: &'a Limits,
    /// How it shows that it is well; by an open port where nothing is known.
    pub health: Option<&'a Exchange>,
    /// How long it may take to its first answer.
    pub ready: Duration,
    /// Where it listens. Its other addresses are of the loopback and take the ports that follow.
    pub listen: SocketAddr,
    /// The folder that holds it in the end; of images and systemd that is known.
    pub folder: &'a str,
    /// The most requests that it works on at once, where that is known.
    pub concurrency: Option<u64>,
    /// How it was scaled, where it is an instance of an autoscaled service.
    pub scaling: Option<&'a ScaledService>,
    /// What an image is made of; needed for targets that have one.
    pub image: Option<&'a Image>,
}

/// What an image is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// What it will be called: `registry.example/app:1`.
    pub name: String,
    /// What is installed in it.
    pub software: ImageSoftware,
}

/// How an image gets its programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageSoftware {
    /// As packages.
    Packages {
        /// The image that it builds upon: an official one of a distribution whose packages have Debian's form.
        base: String,
        /// What is installed in it.
        packages: Vec<Package>,
    },
    /// By the first lines of a Dockerfile, which name the maker's image, see [`crate::recipe`].
    Recipe(String),
}

/// A distribution's package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version, revision included: `1.22.1-9+deb12u2`.
    pub version: String,
}

impl Package {
    /// What `apt-get install` is given: the makers' version with any revision of the distribution, since an archive keeps
    /// the newest revision only, and that may hold a repair. <https://www.debian.org/doc/debian-policy/ch-controlfields.html#version>
    pub(crate) fn pin(&self) -> String {
        let Self { name, version } = self;
        match version.rsplit_once('-') {
            Some((makers, _)) => format!("{name}={makers}-*"),
            None => format!("{name}={version}"),
        }
    }
}

/// A name that Kubernetes takes for a Service (RFC 1035): at most 63 lower-case letters, digits and hyphens, the first a
/// letter and the last no hyphen.
pub fn label(text: &str) -> String {
    const LONGEST: usize = 63;
    let mut name = String::new();
    for letter in text.chars().map(|letter| letter.to_ascii_lowercase()) {
        if letter.is_ascii_lowercase() || (letter.is_ascii_digit() && !name.is_empty()) {
            name.push(letter);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    name.truncate(LONGEST);
    let name = name.trim_end_matches('-');
    if name.is_empty() { "app".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_pinned_to_its_makers_version() {
        for (version, pin) in
            [("1.22.1-9+deb12u2", "p=1.22.1-*"), ("2:8.2+93", "p=2:8.2+93"), ("1.0-rc1-2", "p=1.0-rc1-*")]
        {
            assert_eq!(Package { name: "p".to_owned(), version: version.to_owned() }.pin(), pin);
        }
    }

    #[test]
    fn a_label_is_what_kubernetes_takes() {
        for (text, name) in [
            ("markdown-nginx-fpm", "markdown-nginx-fpm"),
            ("My_App v2.1!", "my-app-v2-1"),
            ("2048-go", "go"),
            ("--", "app"),
            (&"x".repeat(80), &"x".repeat(63)),
        ] {
            assert_eq!(label(text), name, "{text}");
        }
    }
}
