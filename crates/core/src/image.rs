//! An image of a container that serves by itself, and the container that runs of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// An application that is an image: any that listens on a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageApp {
    /// Which image.
    pub source: ImageSource,
    /// What takes the place of the image's own command; empty where nothing does.
    pub command: Vec<String>,
    /// What the container sees beside its image.
    pub volumes: Vec<Volume>,
    /// The port that takes the load; found by asking where it is not given.
    pub port: Option<u16>,
    /// The web server that is put before it, where it was asked for: an image that speaks FastCGI gets one in any case.
    pub front: Option<WebServer>,
    /// The folder in it whose files that web server sends; found by looking where it is not given.
    pub root: Option<String>,
}

impl ImageApp {
    /// An image as it is.
    pub fn of(source: ImageSource) -> Self {
        Self { source, command: Vec::new(), volumes: Vec::new(), port: None, front: None, root: None }
    }
}

/// Where an image comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageSource {
    /// Its name with tag or digest.
    Named(String),
    /// One that was measured before: what is in it, whatever its name means now.
    Kept {
        /// The name that it had.
        name: String,
        /// What the engine knows it by: `sha256:...`.
        id: String,
    },
    /// The Dockerfile in this folder, which is what it is built from.
    Dockerfile(PathBuf),
    /// Several, which serve together.
    Compose(ComposeFile),
}

/// A file of Docker Compose: images that serve together. <https://docs.docker.com/reference/compose-file/>
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComposeFile {
    /// The file.
    pub file: PathBuf,
    /// Which of its services are under test; empty where each is but for those that are known as what others use.
    pub services: Vec<String>,
}

/// A web server that can be put before an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebServer {
    /// nginx.
    Nginx,
}

/// How a web server is put before an image that speaks FastCGI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastCgiFront {
    /// The image of its makers.
    pub image: &'static str,
    /// The page that describes the image.
    pub source: &'static str,
    /// The place of its configuration there.
    pub place: &'static str,
    /// Its configuration, with the places `listen` (a port), `fpm` (an address), `root` (a folder) and `workers`.
    pub config: &'static str,
}

impl fmt::Display for ImageSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) | Self::Kept { name, id: _ } => f.write_str(name),
            Self::Dockerfile(folder) => write!(f, "{}/Dockerfile", folder.display()),
            Self::Compose(ComposeFile { file, services: _ }) => write!(f, "{}", file.display()),
        }
    }
}

/// What a container sees at a place of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Volume {
    /// An empty volume of the run, which it writes to.
    Empty {
        /// Its place in the container.
        at: String,
    },
    /// A file or folder of this machine, which it may only read: what a trial wrote would be there for the next.
    Shown {
        /// What is shown.
        from: PathBuf,
        /// Its place in the container.
        at: String,
    },
    /// An empty volume of the run that several containers write to.
    Shared {
        /// What it is called.
        name: String,
        /// Its place in the container.
        at: String,
    },
}

/// A container of an image of its own, whose first process is the image's. Its deployment has one unit, whose program holds the
/// arguments that take the place of the image's command, if there are any, and the environment beside the image's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// The image as it was named.
    pub image: String,
    /// What the engine knows it by, whatever its name: `sha256:...`.
    pub id: String,
    /// What it sees beside its image.
    pub volumes: Vec<Volume>,
    /// The port that takes the load; found by asking where it is not given.
    pub port: Option<u16>,
    /// The file that it is of with others, which it stands for.
    pub compose: Option<ComposeFile>,
    /// The web server that was asked for.
    pub front: Option<WebServer>,
    /// The folder in it whose files that web server sends, where it is given.
    pub root: Option<String>,
    /// How a web server is put before one that speaks FastCGI.
    pub fast_cgi: FastCgiFront,
    /// What images of makers need to serve plain HTTP to anybody.
    pub known: &'static [KnownImage],
}

impl Container {
    /// The image and what is in it, for records: `my/app:fpm@sha256:...`.
    pub fn record(&self) -> String {
        format!("{}@{}", self.image, self.id)
    }

    /// What its image is given, as it is known by these traits, of what neither it nor `given` sets: name and value of each variable, with
    /// a sentence on it.
    pub fn needs(
        &self,
        traits: &ImageTraits,
        given: &BTreeMap<String, String>,
    ) -> Vec<(&'static str, &'static str, String)> {
        let is_known = |known: &&KnownImage| known.signs.iter().any(|sign| traits.have(sign));
        let each = self.known.iter().filter(is_known).flat_map(|known| known.env.iter().map(move |env| (known, env)));
        let lacks = each.filter(|(_, (name, _))| !traits.variables.contains(*name) && !given.contains_key(*name));
        let told = lacks.map(|(KnownImage { name, why, .. }, (variable, value))| {
            let words = format!("{} is given {variable}={value}, as it is upon {name}: {why}", self.image);
            (*variable, *value, words)
        });
        told.collect()
    }
}

/// What an image shows of whose it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageTraits {
    /// Its labels, where its configuration is seen.
    pub labels: BTreeMap<String, String>,
    /// The names of its environment variables.
    pub variables: BTreeSet<String>,
    /// The words of its entry point and command, or those of its first process.
    pub words: Vec<String>,
}

impl ImageTraits {
    fn have(&self, sign: &ImageSign) -> bool {
        match sign {
            ImageSign::Label(name, value) => self.labels.get(*name).is_some_and(|label| label == value),
            ImageSign::Variable(name) => self.variables.contains(*name),
            ImageSign::Word(part) => self.words.iter().any(|word| word.contains(part)),
        }
    }
}

/// What an image needs that is built upon a maker's, known by a sign of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownImage {
    /// The maker's image.
    pub name: &'static str,
    /// By which it is known; one is enough.
    pub signs: &'static [ImageSign],
    /// Environment variables that it is given, unless the image or the plan sets them.
    pub env: &'static [(&'static str, &'static str)],
    /// Why, and where that stands.
    pub why: &'static str,
}

/// A sign of whose an image is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageSign {
    /// A label with this value.
    Label(&'static str, &'static str),
    /// An environment variable.
    Variable(&'static str),
    /// A part of a word of its entry point or command.
    Word(&'static str),
}
