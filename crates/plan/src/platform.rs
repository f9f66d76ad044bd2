//! Where deployments run.

use stampede_core::Cpus;

use crate::image::is_image;
use crate::look::Packages;
use crate::mistake::Gathered;

/// What is typed in place of a base image for the images of the makers.
const MAKERS: &str = "makers";

pub(crate) const LOCAL: &str = "local";
const DOCKER: &str = "docker";
pub(crate) const KUBERNETES: &str = "kubernetes";

/// Where deployments run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PlatformChoice {
    /// As processes of this machine.
    #[default]
    Local,
    /// In containers of this machine's engine.
    Docker {
        /// Where the runtimes come from.
        software: Software,
    },
    /// As pods of a cluster.
    Kubernetes(ClusterChoice),
}

/// Which cluster, and what drives load in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterChoice {
    /// The context of the kubeconfig; its current one by default.
    pub context: Option<String>,
    /// The namespace; the context's by default.
    pub namespace: Option<String>,
    /// An image that has this version of Stampede, for generators.
    pub image: String,
    /// Processors of each generator.
    pub cpus: Cpus,
    /// The node of all cases, where it is not to be chosen: that of a study that is resumed.
    pub node: Option<String>,
    /// Whether its own autoscaler starts and stops what is measured.
    pub scales: bool,
}

impl Default for ClusterChoice {
    fn default() -> Self {
        Self {
            context: None,
            namespace: None,
            image: String::new(),
            cpus: Cpus::from_millis(1000),
            node: None,
            scales: false,
        }
    }
}

/// Where the runtimes in containers come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Software {
    /// From the image of each one's makers.
    #[default]
    Makers,
    /// The same, from an image that was measured before: its name, with its digest or id behind it.
    Kept(String),
    /// As packages of a distribution, which are installed in this image.
    Upon(String),
}

impl PlatformChoice {
    const CONTAINERS: Self = Self::Docker { software: Software::Makers };
}

/// Where packages of an application are, on the platform that was asked for: a container has Composer, this machine need not.
pub(crate) fn packages(platform: Option<&str>) -> Packages {
    match platform {
        Some(DOCKER | KUBERNETES) => Packages::Installed,
        Some(_) | None => Packages::Here,
    }
}

/// `--platform`; not each command measures in a cluster.
pub(crate) fn read(typed: Option<&str>, in_cluster: bool, mistakes: &mut Gathered) -> PlatformChoice {
    match typed {
        None | Some(LOCAL) => PlatformChoice::Local,
        Some(DOCKER) => PlatformChoice::CONTAINERS,
        Some(KUBERNETES) if in_cluster => PlatformChoice::Kubernetes(ClusterChoice::default()),
        Some(KUBERNETES) => {
            let fix =
                "use local or docker; in a cluster stampede compare, capacity, gate, why and scale measure images";
            mistakes.add(format!("--platform {KUBERNETES}"), "is not built for this command", fix);
            PlatformChoice::Local
        }
        Some(platform) => {
            mistakes.add(format!("--platform {platform}"), "is not known", "use local, docker or kubernetes");
            PlatformChoice::Local
        }
    }
}

pub(crate) fn read_base_image(typed: Option<&str>, mistakes: &mut Gathered) -> Option<Software> {
    let image = typed?;
    if image == MAKERS {
        return Some(Software::Makers);
    }
    if is_image(image) {
        return Some(Software::Upon(image.to_owned()));
    }
    let fix = "for example debian:bookworm, or makers";
    mistakes.add(format!("--base-image {image}"), "is not the name of an image", fix);
    None
}

/// The platform of a plan with images, which are containers wherever nothing else was asked for.
pub(crate) fn with_images(platform: PlatformChoice, asked: Option<&str>, mistakes: &mut Gathered) -> PlatformChoice {
    if asked == Some(LOCAL) {
        mistakes.add(format!("--platform {LOCAL}"), "has no containers, and images are compared", "leave it out");
    }
    match platform {
        PlatformChoice::Local => PlatformChoice::CONTAINERS,
        containers @ (PlatformChoice::Docker { .. } | PlatformChoice::Kubernetes(_)) => containers,
    }
}

/// Puts the base image that was named into the platform that takes one.
pub(crate) fn upon(platform: PlatformChoice, named: Option<Software>, mistakes: &mut Gathered) -> PlatformChoice {
    match (platform, named) {
        (PlatformChoice::Docker { .. }, Some(software)) => PlatformChoice::Docker { software },
        (platform @ (PlatformChoice::Local | PlatformChoice::Kubernetes(_)), Some(software)) => {
            let image = match software {
                Software::Makers => MAKERS.to_owned(),
                Software::Upon(image) | Software::Kept(image) => image,
            };
            let place = format!("--base-image {image}");
            mistakes.add(place, "is for containers of this machine", "use --platform docker, or leave it out");
            platform
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
                let platform = read(platform, false, mistakes);
                let image = read_base_image(image, mistakes);
                upon(platform, image, mistakes)
            })
        };
        let docker = |image: &str| PlatformChoice::Docker { software: Software::Upon(image.to_owned()) };
        for (platform, image, read) in [
            (None, None, Ok(PlatformChoice::Local)),
            (Some("local"), None, Ok(PlatformChoice::Local)),
            (Some("docker"), None, Ok(PlatformChoice::CONTAINERS)),
            (Some("docker"), Some("makers"), Ok(PlatformChoice::CONTAINERS)),
            (Some("docker"), Some("reg:5000/debian@sha256:ab"), Ok(docker("reg:5000/debian@sha256:ab"))),
            (None, Some("ubuntu:24.04"), Err("--base-image ubuntu:24.04 is for containers of this machine")),
            (Some("docker"), Some("debian\nRUN x"), Err("is not the name of an image")),
            (Some("docker"), Some("--x"), Err("is not the name of an image")),
            (Some("moon"), None, Err("--platform moon is not known; use local, docker or kubernetes")),
            (Some("kubernetes"), None, Err("--platform kubernetes is not built for this command; use local or docker")),
        ] {
            match (both(platform, image), read) {
                (Ok(found), Ok(read)) => assert_eq!(found, read),
                (Err(found), Err(words)) => assert!(found.to_string().contains(words), "{found}"),
                other => panic!("{other:?}"),
            }
        }
    }
}
