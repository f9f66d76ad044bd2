//! Where deployments run.

use crate::image::is_image;
use crate::mistake::Gathered;

/// What containers are made of where nothing is said.
const BASE_IMAGE: &str = "debian:bookworm";

pub(crate) const LOCAL: &str = "local";
const DOCKER: &str = "docker";

/// Where deployments run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PlatformChoice {
    /// As processes of this machine.
    #[default]
    Local,
    /// In containers of this machine's engine.
    Docker {
        /// The image in which runtimes are installed.
        base_image: String,
    },
}

pub(crate) fn read(typed: Option<&str>, mistakes: &mut Gathered) -> PlatformChoice {
    match typed {
        None | Some(LOCAL) => PlatformChoice::Local,
        Some(DOCKER) => PlatformChoice::Docker { base_image: BASE_IMAGE.to_owned() },
        Some(platform) => {
            mistakes.add(format!("--platform {platform}"), "is not known", "use local or docker");
            PlatformChoice::Local
        }
    }
}

pub(crate) fn read_base_image(typed: Option<&str>, mistakes: &mut Gathered) -> Option<String> {
    let image = typed?;
    if is_image(image) {
        return Some(image.to_owned());
    }
    mistakes.add(format!("--base-image {image}"), "is not the name of an image", "for example debian:bookworm");
    None
}

/// The platform of a plan with images, which are containers wherever nothing else was asked for.
pub(crate) fn with_images(platform: PlatformChoice, asked: Option<&str>, mistakes: &mut Gathered) -> PlatformChoice {
    if asked == Some(LOCAL) {
        mistakes.add(format!("--platform {LOCAL}"), "has no containers, and images are compared", "leave it out");
    }
    match platform {
        PlatformChoice::Local => PlatformChoice::Docker { base_image: BASE_IMAGE.to_owned() },
        docker @ PlatformChoice::Docker { .. } => docker,
    }
}

/// Puts the base image that was named into the platform that takes one.
pub(crate) fn upon(platform: PlatformChoice, named: Option<String>, mistakes: &mut Gathered) -> PlatformChoice {
    match (platform, named) {
        (PlatformChoice::Docker { .. }, Some(base_image)) => PlatformChoice::Docker { base_image },
        (PlatformChoice::Local, Some(image)) => {
            let place = format!("--base-image {image}");
            mistakes.add(place, "is for containers", "add --platform docker, or leave it out");
            PlatformChoice::Local
        }
        (platform, None) => platform,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mistake::Mistakes;

    fn told(read: impl FnOnce(&mut Gathered) -> PlatformChoice) -> Result<PlatformChoice, Mistakes> {
        let mut mistakes = Gathered::default();
        let choice = read(&mut mistakes);
        mistakes.finish(Ok(choice))
    }

    #[test]
    fn a_base_image_is_for_containers_alone() {
        let both = |platform: Option<&str>, image: Option<&str>| {
            told(|mistakes| {
                let platform = read(platform, mistakes);
                let image = read_base_image(image, mistakes);
                upon(platform, image, mistakes)
            })
        };
        let docker = |image: &str| PlatformChoice::Docker { base_image: image.to_owned() };
        for (platform, image, read) in [
            (None, None, Ok(PlatformChoice::Local)),
            (Some("local"), None, Ok(PlatformChoice::Local)),
            (Some("docker"), None, Ok(docker("debian:bookworm"))),
            (Some("docker"), Some("reg:5000/debian@sha256:ab"), Ok(docker("reg:5000/debian@sha256:ab"))),
            (None, Some("ubuntu:24.04"), Err("--base-image ubuntu:24.04 is for containers")),
            (Some("docker"), Some("debian\nRUN x"), Err("is not the name of an image")),
            (Some("docker"), Some("--x"), Err("is not the name of an image")),
            (Some("kubernetes"), None, Err("--platform kubernetes is not known; use local or docker")),
        ] {
            match (both(platform, image), read) {
                (Ok(found), Ok(read)) => assert_eq!(found, read),
                (Err(found), Err(words)) => assert!(found.to_string().contains(words), "{found}"),
                other => panic!("{other:?}"),
            }
        }
    }
}
