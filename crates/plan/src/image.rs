//! Images that serve by themselves: by flag, or as cases of the plan file.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use stampede_core::{App, AppKind, ComposeFile, ImageApp, ImageSource, Runtime, Volume, WebServer, Workload};

use crate::case_name::is_id;
use crate::document::{Place, Text};
use crate::flags::SubjectFlag;
use crate::mistake::Gathered;

/// What stands for the name of an application that is an image.
const APP: &str = "image";

/// A file that an image is built from.
const DOCKERFILE: &str = "Dockerfile";

const DOCKERFILE_FLAG: &str = "--dockerfile";
const COMPOSE_FLAG: &str = "--compose";

/// Images that are compared as they are.
#[derive(Args, Clone, Debug, Default)]
pub struct ImageFlags {
    /// Measure this container image as it is; it must listen on a port: my/app:fpm, or fpm=my/app:fpm to name it in tables
    /// (may be repeated)
    #[arg(long = "image", value_name = "[NAME=]IMAGE", help_heading = "What")]
    pub images: Vec<String>,
    /// Build the Dockerfile in DIR and measure the image (may be repeated)
    #[arg(long = "dockerfile", value_name = "[NAME=]DIR", help_heading = "What")]
    pub dockerfiles: Vec<String>,
    /// Measure the services of a Docker Compose file together: they share the limits, while its databases and caches run beside
    /// them without limits (may be repeated)
    #[arg(long = "compose", value_name = "[NAME=]FILE", help_heading = "What")]
    pub composes: Vec<String>,
}

impl ImageFlags {
    /// Whether there are any.
    pub(crate) fn is_empty(&self) -> bool {
        self.images.is_empty() && self.dockerfiles.is_empty() && self.composes.is_empty()
    }

    /// What the first of them is called without its tag, where nothing else says what is served.
    pub(crate) fn subject(&self) -> Option<String> {
        let image = self.images.first().map(|typed| name_and(typed).1).map(|image| short(image).to_owned());
        let image = image.map(|short| short.split(':').next().unwrap_or_default().to_owned());
        let dockerfile = || Some(folder_name(Path::new(name_and(self.dockerfiles.first()?).1)));
        image.or_else(dockerfile).or_else(|| Some(compose_name(Path::new(name_and(self.composes.first()?).1))))
    }
}

/// An image of a plan file: one that is named, or that a Dockerfile makes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImageEntry {
    /// The image, with its tag or digest.
    #[schemars(extend("examples" = ["my/app:fpm"]))]
    name: Option<Text>,
    /// In place of a name: the folder of a Dockerfile, from the folder of this file. The image is built first.
    #[schemars(extend("examples" = ["."]))]
    dockerfile: Option<PathBuf>,
    /// In place of a name: a file of Docker Compose, from the folder of this file. Its services serve together.
    #[schemars(extend("examples" = ["./compose.yaml"]))]
    compose: Option<PathBuf>,
    /// Of compose: the services under test, within the limits together; others run beside them, without limits. By default all but
    /// databases, caches, queues and mail catchers, which are known by their images.
    #[schemars(extend("examples" = ["[nginx, php]"]))]
    services: Option<Vec<Text>>,
    /// The web server that is put before it. An image that speaks FastCGI gets nginx in any case.
    front: Option<FrontEntry>,
    /// The folder in the image whose files that web server sends. By default the one with index.php below the image's own folder,
    /// /app or /var/www/html.
    #[schemars(extend("examples" = ["/app/public"]))]
    root: Option<Text>,
    /// What takes the place of the image's own command, word by word.
    #[serde(default)]
    #[schemars(extend("examples" = ["[frankenphp, run]"]))]
    command: Vec<Text>,
    /// What it sees beside its files: a file or folder of this machine, which it may only read (./php.ini:/etc/php.ini), or a place
    /// alone (/var/data), which is an empty volume of each run.
    #[serde(default)]
    #[schemars(extend("examples" = ["['./php.ini:/usr/local/etc/php/conf.d/app.ini', /var/data]"]))]
    volumes: Vec<Text>,
    /// The port that takes the load. By default each port on which it listens is asked.
    #[schemars(extend("examples" = [8080]))]
    port: Option<u16>,
}

/// A web server before an image.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum FrontEntry {
    /// nginx of its makers' image.
    Nginx,
}

impl ImageEntry {
    /// The image of a case, whose paths begin at this folder. None where that is mistaken.
    pub(crate) fn read(&self, folder: &Path, place: &Place<'_>, mistakes: &mut Gathered) -> Option<ImageApp> {
        let Self { name, dockerfile, compose, services, command, volumes, port, front, root } = self;
        let source = match (name, dockerfile, compose) {
            (Some(Text(name)), None, None) => named(name, &place.key("name").to_string(), mistakes),
            (None, Some(of), None) => built(&folder.join(of), &place.key("dockerfile").to_string(), mistakes),
            (None, None, Some(of)) => {
                let services = services.iter().flatten().map(|Text(name)| name.clone()).collect();
                composed(&folder.join(of), services, &place.key("compose").to_string(), mistakes)
            }
            (Some(_), Some(_), _) => {
                mistakes.add(place.key("dockerfile"), "stands beside a name", "keep one of the two");
                None
            }
            (_, _, Some(_)) => {
                mistakes.add(place.key("compose"), "stands beside an image", "keep one of the two");
                None
            }
            (None, None, None) => {
                mistakes.add(place, "names no image", "add name: my/app:1, dockerfile: . or compose: compose.yaml");
                None
            }
        };
        if compose.is_none() && services.is_some() {
            mistakes.add(place.key("services"), "are those of a file of Docker Compose", "add compose: compose.yaml");
        }
        if compose.is_some() {
            let of_one = [("command", !command.is_empty()), ("volumes", !volumes.is_empty()), ("port", port.is_some())];
            for (key, _) in of_one.iter().filter(|(_, is_given)| *is_given) {
                mistakes.add(place.key(key), "is of one image", "write it in the file of Docker Compose");
            }
        }
        if let Some(Text(root)) = root.as_ref().filter(|Text(root)| !root.starts_with('/')) {
            mistakes.add(
                place.key("root"),
                format!("is no absolute place in the container: {root}"),
                "for example /app/public",
            );
        }
        let volumes = volumes.iter().enumerate().filter_map(|(index, Text(typed))| {
            let read = volume(typed, folder);
            read.map_err(|(problem, fix)| mistakes.add(place.key("volumes").item(index), problem, fix)).ok()
        });
        let volumes = volumes.collect();
        let command = command.iter().map(|Text(word)| word.clone()).collect();
        let front = front.map(|FrontEntry::Nginx| WebServer::Nginx);
        let root = root.as_ref().map(|Text(root)| root.trim_end_matches('/').to_owned());
        Some(ImageApp { source: source?, command, volumes, port: *port, front, root })
    }
}

/// An image that was asked for by a flag.
pub(crate) struct AskedImage {
    /// What its case is called.
    pub(crate) id: String,
    pub(crate) image: ImageApp,
    /// What mistakes call it.
    pub(crate) place: String,
}

/// Reads the images of flags. One that has no name of its own is called by the end of its image's, or all of that where it is not
/// the only one.
pub(crate) fn read_images(flags: &ImageFlags, mistakes: &mut Gathered) -> Vec<AskedImage> {
    let ImageFlags { images, dockerfiles, composes } = flags;
    let mut asked: Vec<(String, AskedImage)> = Vec::new();
    let mut add = |flag: &str, typed: &str, mistakes: &mut Gathered| {
        let place = format!("{flag} {typed}");
        let (name, image) = name_and(typed);
        if let Some(name) = name.filter(|name| !is_id(name)) {
            mistakes.add(
                &place,
                format!("has no name that a case can have: {name}"),
                "use letters, digits and . _ - @",
            );
        }
        let path = Path::new(image);
        let (source, id) = match flag {
            DOCKERFILE_FLAG => (built(path, &place, mistakes), folder_name(path)),
            COMPOSE_FLAG => (composed(path, Vec::new(), &place, mistakes), compose_name(path)),
            _ => (named(image, &place, mistakes), short(image).to_owned()),
        };
        let id = name.map_or(id, str::to_owned);
        if let Some(source) = source {
            let full = name.unwrap_or(image).to_owned();
            asked.push((full, AskedImage { id, image: ImageApp::of(source), place }));
        }
    };
    images.iter().for_each(|typed| add("--image", typed, mistakes));
    dockerfiles.iter().for_each(|typed| add(DOCKERFILE_FLAG, typed, mistakes));
    composes.iter().for_each(|typed| add(COMPOSE_FLAG, typed, mistakes));
    let ids: Vec<String> = asked.iter().map(|(_, one)| one.id.clone()).collect();
    let is_shared = |id: &String| ids.iter().filter(|other| *other == id).count() > 1;
    for (full, one) in &mut asked {
        if is_shared(&one.id) {
            one.id.clone_from(full);
        }
    }
    let mut images: Vec<AskedImage> = Vec::new();
    for (_, one) in asked {
        if images.iter().any(|other| other.id == one.id) {
            mistakes.add(&one.place, "is the name of another case", "give it a name of its own: NAME=IMAGE");
        } else {
            images.push(one);
        }
    }
    images
}

/// An image as an application, asked as the others of its workload are.
pub(crate) fn app(image: &ImageApp, workload: &Workload) -> App {
    let mut app = App::new(APP, AppKind::Image(image.clone()));
    if let Some(first) = workload.apps.first() {
        app.site.host.clone_from(&first.site.host);
        app.site.https = first.site.https;
    }
    app
}

/// What the arguments of a command mean that takes one runtime: where an image is given and no runtime is named `image`, the first
/// of them is what it is asked.
pub(crate) fn runtime_and_subject(
    runtime: Option<String>,
    subject: SubjectFlag,
    images: &ImageFlags,
) -> (String, SubjectFlag) {
    match runtime {
        Some(named) if images.is_empty() || named == APP => (named, subject),
        Some(first) if subject.subject.is_none() => (APP.to_owned(), SubjectFlag { subject: Some(first), ..subject }),
        Some(named) => (named, subject),
        None => (APP.to_owned(), subject),
    }
}

/// The one of these runtimes that serves images.
pub(crate) fn runtime(all: &[&'static dyn Runtime]) -> Option<&'static dyn Runtime> {
    all.iter().copied().find(|runtime| runtime.serves_images())
}

/// An image's name as engines take it, with its tag or digest.
/// <https://pkg.go.dev/github.com/distribution/reference>
pub(crate) fn is_image(text: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "._-/:@".contains(letter);
    text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.chars().all(is_part)
}

/// A variable as a setting of an image.
/// <https://pubs.opengroup.org/onlinepubs/9799919799/basedefs/V1_chap08.html>
pub(crate) fn is_variable(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// The name of a case, where there is one, and what stands behind it.
fn name_and(typed: &str) -> (Option<&str>, &str) {
    match typed.split_once('=') {
        Some((name, image)) => (Some(name), image),
        None => (None, typed),
    }
}

/// The end of an image's name with its tag, without registry, owner and digest.
fn short(image: &str) -> &str {
    let name = image.split('@').next().unwrap_or(image);
    name.rsplit('/').next().unwrap_or(name)
}

/// What a folder is called, also one that is named `.`.
pub(crate) fn folder_name(folder: &Path) -> String {
    let real = fs::canonicalize(folder);
    let name = real.ok().and_then(|real| Some(real.file_name()?.to_string_lossy().into_owned()));
    name.unwrap_or_else(|| folder.display().to_string())
}

fn named(image: &str, place: &str, mistakes: &mut Gathered) -> Option<ImageSource> {
    if is_image(image) {
        return Some(ImageSource::Named(image.to_owned()));
    }
    mistakes.add(place, "is not the name of an image", "for example my/app:fpm");
    None
}

fn built(folder: &Path, place: &str, mistakes: &mut Gathered) -> Option<ImageSource> {
    if folder.join(DOCKERFILE).is_file() {
        // Without the dots of `./.`, which messages would show.
        return Some(ImageSource::Dockerfile(folder.components().collect()));
    }
    mistakes.add(place, format!("holds no {DOCKERFILE}"), "name the folder that holds it");
    None
}

/// The services of a file of Docker Compose. What stands in it is read when they are had.
fn composed(file: &Path, services: Vec<String>, place: &str, mistakes: &mut Gathered) -> Option<ImageSource> {
    match fs::canonicalize(file) {
        Ok(file) if file.is_file() => Some(ImageSource::Compose(ComposeFile { file, services })),
        Ok(_) => {
            mistakes.add(place, "is a folder", "name the file in it: compose.yaml");
            None
        }
        Err(error) => {
            mistakes.add(place, format!("cannot be found: {error}"), "name the file: compose.yaml");
            None
        }
    }
}

/// What the services of a file are called: as the folder that it lies in, or as itself where it is not called as others are.
fn compose_name(file: &Path) -> String {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    match stem.strip_prefix("docker-").unwrap_or(&stem) {
        "compose" => {
            folder_name(file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")))
        }
        _ => stem,
    }
}

/// Whether a record's name is that of a file of Docker Compose.
pub(crate) fn is_compose_file(name: &str) -> bool {
    name.starts_with('/')
}

/// A volume as it is written, or what is wrong with it and what to do.
fn volume(typed: &str, folder: &Path) -> Result<Volume, (String, &'static str)> {
    let (from, at) = match typed.split_once(':') {
        Some((from, at)) => (Some(folder.join(from)), at),
        None => (None, typed),
    };
    if !at.starts_with('/') || at.contains(':') {
        return Err(("has no absolute place in the container".to_owned(), "for example ./php.ini:/etc/php.ini"));
    }
    let at = at.to_owned();
    let Some(from) = from else { return Ok(Volume::Empty { at }) };
    match fs::canonicalize(&from) {
        Ok(from) => Ok(Volume::Shown { from, at }),
        Err(error) => Err((format!("shows {}, which cannot be found: {error}", from.display()), "correct it")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(images: &[&str], dockerfiles: &[&str]) -> (Vec<String>, Vec<String>) {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let flags = ImageFlags { images: owned(images), dockerfiles: owned(dockerfiles), composes: Vec::new() };
        let mut mistakes = Gathered::default();
        let ids = read_images(&flags, &mut mistakes).into_iter().map(|one| one.id).collect();
        let told = mistakes.finish(Ok(())).err().map(|told| told.0).unwrap_or_default();
        (ids, told.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn cases_of_images_are_called_by_the_ends_of_their_names_as_long_as_these_differ() {
        for (images, ids) in [
            (&["my/app:fpm", "my/app:frankenphp"][..], &["app:fpm", "app:frankenphp"][..]),
            (&["a/app:1", "b/app:1"], &["a/app:1", "b/app:1"]),
            (&["registry:5000/a/app"], &["app"]),
            (&["my/app@sha256:ab"], &["app"]),
            (&["old=my/app:1", "new=my/app:1"], &["old", "new"]),
        ] {
            assert_eq!(read(images, &[]), (ids.iter().map(|id| (*id).to_owned()).collect(), Vec::new()), "{images:?}");
        }
    }

    #[test]
    fn what_names_no_image_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let empty = folder.path().to_str().unwrap();
        for (images, dockerfiles, told) in [
            (&["a b"][..], &[][..], "--image a b is not the name of an image; for example my/app:fpm"),
            (&["my/app:1", "my/app:1"], &[], "--image my/app:1 is the name of another case"),
            (&["a/b=my/app:1"], &[], "has no name that a case can have: a/b"),
            (&[], &[empty], "holds no Dockerfile"),
        ] {
            let (_, mistakes) = read(images, dockerfiles);
            assert!(mistakes.len() == 1 && mistakes[0].contains(told), "{images:?} {mistakes:?}");
        }
    }

    #[test]
    fn a_volume_is_empty_or_shows_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("php.ini"), "").unwrap();
        let here = fs::canonicalize(folder.path().join("php.ini")).unwrap();
        for (typed, read) in [
            ("/var/data", Some(Volume::Empty { at: "/var/data".to_owned() })),
            ("php.ini:/etc/php.ini", Some(Volume::Shown { from: here, at: "/etc/php.ini".to_owned() })),
            ("data", None),
            ("php.ini:etc", None),
            ("missing.ini:/etc/php.ini", None),
            ("php.ini:/etc/php.ini:rw", None),
        ] {
            assert_eq!(volume(typed, folder.path()).ok(), read, "{typed}");
        }
    }

    #[test]
    fn settings_of_an_image_are_variables() {
        for (name, is) in [("WORKERS", true), ("_x1", true), ("1x", false), ("a.b", false), ("", false)] {
            assert_eq!(is_variable(name), is, "{name}");
        }
    }
}
