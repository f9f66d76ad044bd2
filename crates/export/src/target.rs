//! What files are for.

use std::net::{IpAddr, Ipv4Addr};

/// What files are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// An image of a container.
    Dockerfile,
    /// That image, run by Docker Compose.
    Compose,
    /// That image, as a Deployment with its Service.
    Kubernetes,
    /// That image, as a service of Knative.
    Knative,
    /// That image, as a service of Cloud Run.
    CloudRun,
    /// Services of systemd in a slice that holds them all.
    Systemd,
    /// The configuration alone, and a script that starts it where it lies.
    Config,
}

impl Target {
    /// All.
    pub const ALL: [Self; 7] =
        [Self::Dockerfile, Self::Compose, Self::Kubernetes, Self::Knative, Self::CloudRun, Self::Systemd, Self::Config];

    /// Its name on the command line.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Dockerfile => "dockerfile",
            Self::Compose => "compose",
            Self::Kubernetes => "kubernetes",
            Self::Knative => "knative",
            Self::CloudRun => "cloud-run",
            Self::Systemd => "systemd",
            Self::Config => "config",
        }
    }

    /// Whether it runs an image.
    pub const fn has_image(self) -> bool {
        !matches!(self, Self::Systemd | Self::Config)
    }

    /// Where it listens unless it is said: a container's address is nobody else's, and a try on this machine is for this machine.
    pub const fn address(self) -> IpAddr {
        match self {
            Self::Config => IpAddr::V4(Ipv4Addr::LOCALHOST),
            _ => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        }
    }
}
