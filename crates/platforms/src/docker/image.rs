//! Images with software in them: a base image, and packages of its distribution. Built once, and known again by all that went
//! into them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fmt};

use bollard::models::{CreateImageInfo, ImageInspect};
use bollard::query_parameters::{
    BuildImageOptions, CreateImageOptions, ListImagesOptions, RemoveImageOptions, TagImageOptions,
};
use futures_util::StreamExt as _;
use sha2::{Digest, Sha256};
use stampede_export::ExportError;

use super::engine::{Engine, api};
use super::error::DockerError;
use crate::log_tail::last_lines;

/// What images are called that are built from an application's Dockerfile, before the colon.
pub(super) const BUILT: &str = "stampede-built";

/// What all of them are called, before the colon.
const NAME: &str = "stampede-software";

/// The label of all of them; its value says what is in them.
pub(crate) const SOFTWARE: &str = "io.stampede.software";

/// The label of the image that it was made upon.
const UPON: &str = "io.stampede.upon";

/// What builders know without being told of, so that a value is in no layer and in no key.
/// <https://docs.docker.com/reference/dockerfile/#predefined-args>
const PROXIES: [&str; 8] =
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "FTP_PROXY", "ftp_proxy", "NO_PROXY", "no_proxy"];

/// Sees that the engine has an image for this machine; gets it from its registry where it has not, after it has told so.
pub(crate) async fn base(engine: &Engine, image: &str, tell: fn(&str)) -> Result<(), DockerError> {
    let found = match inspect(engine, image).await? {
        Some(found) => found,
        None => {
            tell(&format!("getting the image {image} from its registry"));
            pull(engine, image, tell).await?;
            let missing = || DockerError::Pull { image: image.to_owned(), problem: "the engine has it not".to_owned() };
            inspect(engine, image).await?.ok_or_else(missing)?
        }
    };
    let here = match env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    match found.architecture {
        Some(found) if found != here => Err(DockerError::Architecture { image: image.to_owned(), found, here }),
        _ => Ok(()),
    }
}

/// The digest by which the engine knows what is in an image, whatever its name.
pub(crate) async fn id(engine: &Engine, image: &str) -> Result<String, DockerError> {
    Ok(inspect(engine, image).await?.and_then(|found| found.id).unwrap_or_default())
}

/// The digest by which its registry knows an image; none where it came from no registry.
pub(crate) async fn digest(engine: &Engine, image: &str) -> Result<Option<String>, DockerError> {
    let digests = inspect(engine, image).await?.and_then(|found| found.repo_digests).unwrap_or_default();
    Ok(digests.first().and_then(|named| named.rsplit_once('@')).map(|(_, digest)| digest.to_owned()))
}

pub(crate) async fn inspect(engine: &Engine, image: &str) -> Result<Option<ImageInspect>, DockerError> {
    match engine.docker.inspect_image(image).await {
        Ok(found) => Ok(Some(found)),
        Err(bollard::errors::Error::DockerResponseServerError { status_code: 404, .. }) => Ok(None),
        Err(error) => Err(api("look an image up")(error)),
    }
}

async fn pull(engine: &Engine, image: &str, tell: fn(&str)) -> Result<(), DockerError> {
    let (name, tag) = split(image);
    let options =
        CreateImageOptions { from_image: Some(name.to_owned()), tag: Some(tag.to_owned()), ..Default::default() };
    let mut news = engine.docker.create_image(Some(options), None, None);
    let mut download = Download::default();
    let mut shown = Instant::now();
    while let Some(told) = news.next().await {
        let problem = match told {
            Ok(told) => {
                if download.take(&told) && shown.elapsed() >= PROGRESS_PAUSE {
                    tell(&format!("getting the image {image}: {download}"));
                    shown = Instant::now();
                }
                told.error_detail.and_then(|detail| detail.message)
            }
            Err(bollard::errors::Error::DockerResponseServerError { message, .. }) => Some(message),
            Err(error) => Some(error.to_string()),
        };
        if let Some(problem) = problem {
            return Err(DockerError::Pull { image: image.to_owned(), problem });
        }
    }
    Ok(())
}

/// How often is shown how far a download is.
const PROGRESS_PAUSE: Duration = Duration::from_secs(5);

/// How much of an image has come: bytes of each layer that the registry has told the size of, and that size.
#[derive(Debug, Default)]
struct Download(BTreeMap<String, (i64, i64)>);

impl Download {
    /// Whether something has come.
    fn take(&mut self, told: &CreateImageInfo) -> bool {
        let detail = told.progress_detail.as_ref().filter(|_| told.status.as_deref() == Some("Downloading"));
        match (&told.id, detail.and_then(|detail| Some((detail.current?, detail.total?)))) {
            (Some(layer), Some(progress)) => {
                self.0.insert(layer.clone(), progress);
                true
            }
            _ => false,
        }
    }
}

impl fmt::Display for Download {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = |part: fn(&(i64, i64)) -> i64| self.0.values().map(part).sum::<i64>();
        let (current, total) = (sum(|layer| layer.0), sum(|layer| layer.1));
        write!(f, "{} of {}", megabytes(current), megabytes(total))
    }
}

/// As makers of images tell their sizes: in units of 1000.
pub(crate) fn megabytes(bytes: i64) -> String {
    format!("{} MB", (bytes + 500_000) / 1_000_000)
}

/// The name and the tag, or digest, of an image. A colon before a slash is that of a registry's port.
fn split(image: &str) -> (&str, &str) {
    if let Some((name, digest)) = image.split_once('@') {
        return (name, digest);
    }
    match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, tag),
        _ => (image, "latest"),
    }
}

/// How an image is made upon another one.
pub(crate) struct Installation<'a> {
    /// The image that it is made upon.
    pub(crate) base: &'a str,
    /// Packages, as far as the distribution has them.
    pub(crate) packages: &'a BTreeSet<String>,
    /// What else is in it, for messages.
    pub(crate) beside: Vec<&'a str>,
    /// The Dockerfile with these of the packages.
    pub(crate) write: &'a (dyn Fn(&BTreeSet<String>) -> Result<String, ExportError> + Sync),
    /// Whether nothing may be fetched.
    pub(crate) offline: bool,
    /// Where a Dockerfile is kept whose build failed.
    pub(crate) keep: &'a Path,
    pub(crate) tell: fn(&str),
}

/// The image that is ordered: the kept one, or one that is built now. It is kept for all that was asked for, so that what the
/// distribution does not have is not tried again. With the Dockerfile of it.
pub(crate) async fn install(engine: &Engine, order: Installation<'_>) -> Result<(String, String), DockerError> {
    let Installation { base, packages, beside, write, offline, keep, tell } = order;
    let id = id(engine, base).await?;
    let mut packages = packages.clone();
    let mut tried = Vec::new();
    let (image, dockerfile) = loop {
        let dockerfile = write(&packages)?;
        let tag = key(&id, &dockerfile);
        let image = format!("{NAME}:{tag}");
        if inspect(engine, &image).await?.is_some() {
            break (image, dockerfile);
        }
        let names: Vec<&str> = beside.iter().copied().chain(packages.iter().map(String::as_str)).collect();
        if offline {
            return Err(DockerError::Offline(names.iter().map(|name| format!("{name} in {base}")).collect()));
        }
        if !names.is_empty() {
            tell(&format!("installing {} in {base} (kept for the next time)", names.join(", ")));
        }
        let labels = [(SOFTWARE, format!("{} in {base}", names.join(" "))), (UPON, base.to_owned())];
        let Err(output) = build(engine, &dockerfile, &image, &labels).await? else {
            break (image, dockerfile);
        };
        let lacking: BTreeSet<String> =
            not_found(&output).filter(|name| packages.contains(*name)).map(str::to_owned).collect();
        if lacking.is_empty() {
            let kept = keep.join(format!("{tag}.Dockerfile"));
            let written = std::fs::create_dir_all(keep).and_then(|()| std::fs::write(&kept, &dockerfile));
            written.map_err(|error| DockerError::Prepare(format!("keep {}: {error}", kept.display())))?;
            return Err(DockerError::Install {
                packages: names.join(" "),
                base: base.to_owned(),
                output: failed_step(&output),
                dockerfile: kept,
            });
        }
        packages.retain(|package| !lacking.contains(package));
        tried.push(tag);
    };
    for tag in tried {
        let named = TagImageOptions { repo: Some(NAME.to_owned()), tag: Some(tag) };
        engine.docker.tag_image(&image, Some(named)).await.map_err(api("name an image"))?;
    }
    Ok((image, dockerfile))
}

/// An image without any file, for a program that brings its own. It is made once.
pub(super) async fn empty(engine: &Engine) -> Result<String, DockerError> {
    const EMPTY: &str = "stampede-beside:1";
    if inspect(engine, EMPTY).await?.is_none() {
        let labels = [(SOFTWARE, "Stampede itself, beside this engine".to_owned()), (UPON, format!("{NAME}:"))];
        let built = build(engine, "FROM scratch\nENV PATH=/usr/bin:/bin\n", EMPTY, &labels).await?;
        built.map_err(|output| DockerError::Errand(format!("make an image for it: {}", failed_step(&output))))?;
    }
    Ok(EMPTY.to_owned())
}

/// The step that a build failed at, as its builder printed it, with the last lines after it.
fn failed_step(output: &str) -> String {
    let begins = output.rfind("\nStep ").map(|at| at + 1).or_else(|| output.starts_with("Step ").then_some(0));
    let Some(begins) = begins else { return last_lines(output.as_bytes()).join("\n") };
    let (step, after) = output[begins..].split_once('\n').unwrap_or((&output[begins..], ""));
    [vec![step.to_owned()], last_lines(after.as_bytes())].concat().join("\n")
}

fn key(base: &str, dockerfile: &str) -> String {
    const LENGTH: usize = 8;
    let hash = Sha256::new().chain_update(base).chain_update([0]).chain_update(dockerfile).finalize();
    hash.iter().take(LENGTH).map(|byte| format!("{byte:02x}")).collect()
}

/// Builds an image. The inner error is what the builder printed when a step of it failed.
async fn build(
    engine: &Engine,
    dockerfile: &str,
    image: &str,
    labels: &[(&str, String)],
) -> Result<Result<(), String>, DockerError> {
    let proxies = PROXIES.iter().filter_map(|name| Some(((*name).to_owned(), env::var(name).ok()?))).collect();
    let options = BuildImageOptions {
        t: Some(image.to_owned()),
        rm: true,
        forcerm: true,
        // What this machine reaches, a proxy of its own included, the builder reaches.
        networkmode: Some("host".to_owned()),
        buildargs: Some(proxies),
        labels: Some(labels.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()),
        ..Default::default()
    };
    let context = bollard::body_full(tar_of("Dockerfile", dockerfile).into());
    let mut news = engine.docker.build_image(options, None, Some(context));
    let mut output = String::new();
    while let Some(told) = news.next().await {
        let told = match told {
            Ok(told) => told,
            Err(bollard::errors::Error::DockerStreamError { error }) => return Ok(Err(output + &error)),
            Err(error) => return Err(api("build an image")(error)),
        };
        output.push_str(&without_colour(told.stream.as_deref().unwrap_or_default()));
        if let Some(problem) = told.error_detail.and_then(|detail| detail.message) {
            return Ok(Err(output + &problem));
        }
    }
    Ok(Ok(()))
}

/// Without the sequences by which the builder makes errors red.
pub(crate) fn without_colour(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let plain = parts.next().unwrap_or_default().to_owned();
    parts.fold(plain, |plain, part| plain + part.split_once('m').map_or(part, |(_, rest)| rest))
}

/// A POSIX tar archive with one file in it.
/// <https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html#tag_20_94_13_06>
pub(super) fn tar_of(name: &str, text: &str) -> Vec<u8> {
    tar_of_all([(name.to_owned(), text.to_owned())])
}

/// The same with several files; a name that ends with a slash is a folder's.
pub(super) fn tar_of_all(files: impl IntoIterator<Item = (String, String)>) -> Vec<u8> {
    let mut archive: Vec<u8> = files.into_iter().flat_map(|(name, text)| tar_entry(&name, &text)).collect();
    // Two empty blocks are the end.
    if !archive.is_empty() {
        archive.resize(archive.len() + 2 * BLOCK, 0);
    }
    archive
}

const BLOCK: usize = 512;

fn tar_entry(name: &str, text: &str) -> Vec<u8> {
    let is_folder = name.ends_with('/');
    const SUM: std::ops::Range<usize> = 148..156;
    let mut header = [0; BLOCK];
    let mut put = |at: usize, field: &str| header[at..at + field.len()].copy_from_slice(field.as_bytes());
    put(0, name);
    put(100, if is_folder { "0000755\0" } else { "0000644\0" });
    put(108, "0000000\0");
    put(116, "0000000\0");
    put(124, &format!("{:011o}\0", text.len()));
    put(136, "00000000000\0");
    // The sum is taken with blanks in its own place.
    put(SUM.start, "        ");
    put(156, if is_folder { "5" } else { "0" });
    put(257, "ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[SUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut archive = header.to_vec();
    archive.extend(text.as_bytes());
    archive.resize(archive.len().next_multiple_of(BLOCK), 0);
    archive
}

/// The packages that apt did not find, as it says so.
fn not_found(output: &str) -> impl Iterator<Item = &str> {
    // What apt was just saying of its progress may stand on the same line before it.
    output.split("E: ").skip(1).filter_map(|said| {
        let line = said.lines().next()?.trim();
        line.strip_prefix("Unable to locate package ")
            .or_else(|| line.strip_prefix("Package '")?.strip_suffix("' has no installation candidate"))
    })
}

/// Images that were removed, and others that they were made upon.
#[derive(Clone, Debug, Default)]
pub struct RemovedImages {
    /// What was removed, with what it held.
    pub removed: Vec<String>,
    /// Images of makers and distributions that the engine still has, since other programs may use them.
    pub upon: BTreeSet<String>,
}

/// Removes every image that was built for runtimes or from an application's Dockerfile: what each held, and how large it was. They
/// are built again when they are needed. The images that they were made upon stay, and are named.
///
/// # Errors
///
/// When there is no engine, or it refuses: a container uses one.
pub fn remove_images() -> Result<RemovedImages, DockerError> {
    super::engine::block_on(async {
        let engine = Engine::connect(&super::engine::socket()?).await?;
        let filters = HashMap::from([("label".to_owned(), vec![SOFTWARE.to_owned()])]);
        let options = ListImagesOptions { filters: Some(filters), ..Default::default() };
        let mut images = engine.docker.list_images(Some(options)).await.map_err(api("list images"))?;
        // Those that build upon others go first.
        images.sort_by_key(|image| std::cmp::Reverse(image.created));
        let mut all = RemovedImages::default();
        for image in images {
            let is_ours = |tag: &&String| [NAME, BUILT].iter().any(|name| tag.starts_with(name));
            let tags = image.repo_tags.iter().filter(is_ours).cloned().collect::<Vec<_>>();
            // It is gone with the last of its names.
            for tag in &tags {
                let removed = engine.docker.remove_image(tag, None::<RemoveImageOptions>, None).await;
                removed.map_err(api("remove an image"))?;
            }
            let held = image.labels.get(SOFTWARE).map_or("", String::as_str);
            all.removed.extend(tags.first().map(|tag| format!("{tag} ({held}; {})", megabytes(image.size))));
            all.upon.extend(
                image.labels.get(UPON).filter(|upon| !upon.starts_with(NAME) && !upon.starts_with("sha256:")).cloned(),
            );
        }
        Ok(all)
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use bollard::models::ProgressDetail;

    use super::*;

    #[test]
    fn an_image_has_a_name_and_a_tag() {
        for (image, name, tag) in [
            ("debian:bookworm", "debian", "bookworm"),
            ("debian", "debian", "latest"),
            ("registry:5000/debian", "registry:5000/debian", "latest"),
            ("registry:5000/debian:12", "registry:5000/debian", "12"),
            ("debian@sha256:ab", "debian", "sha256:ab"),
        ] {
            assert_eq!(split(image), (name, tag), "{image}");
        }
    }

    #[test]
    fn a_download_is_as_far_as_its_layers_are() {
        let told = |id: &str, status: &str, detail: Option<(i64, i64)>| CreateImageInfo {
            id: Some(id.to_owned()),
            status: Some(status.to_owned()),
            progress_detail: detail
                .map(|(current, total)| ProgressDetail { current: Some(current), total: Some(total) }),
            ..CreateImageInfo::default()
        };
        let mut download = Download::default();
        assert!(!download.take(&told("a", "Pulling fs layer", None)));
        assert!(download.take(&told("a", "Downloading", Some((1_000_000, 30_000_000)))));
        assert!(download.take(&told("b", "Downloading", Some((2_000_000, 70_000_000)))));
        assert!(download.take(&told("a", "Downloading", Some((9_000_000, 30_000_000)))));
        assert!(!download.take(&told("a", "Extracting", Some((1, 30_000_000)))));
        assert_eq!(download.to_string(), "11 MB of 100 MB");
    }

    #[test]
    fn a_build_that_fails_shows_the_step() {
        let output = format!("Step 1/2 : FROM a\nStep 2/2 : RUN b\n{}", "line\n".repeat(50));
        let shown = failed_step(&output);
        assert!(shown == "Step 2/2 : RUN b\n50 times: line" && !shown.contains("Step 1/2"), "{shown}");
    }

    #[test]
    fn packages_that_apt_does_not_find_are_read_from_what_it_says() {
        let output = "Reading package lists...\n\u{1b}[91mE: Unable to locate package php-swoole\n\u{1b}[0m\
            Reading state information...E: Package 'php-json' has no installation candidate\nE: Unable to fetch some archives\n";
        assert_eq!(not_found(&without_colour(output)).collect::<Vec<_>>(), ["php-swoole", "php-json"]);
    }

    #[test]
    fn a_key_is_of_the_base_and_of_the_text() {
        assert_eq!(key("a", "b").len(), 16);
        assert_ne!(key("a", "b"), key("ab", ""));
        assert_eq!(key("a", "b"), key("a", "b"));
    }

    #[test]
    fn tar_reads_the_archive() {
        let mut tar = Command::new("tar");
        let mut tar = tar.args(["-xO", "Dockerfile"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        tar.stdin.take().unwrap().write_all(&tar_of("Dockerfile", "FROM debian\n")).unwrap();
        let output = tar.wait_with_output().unwrap();
        assert!(output.status.success());
        assert_eq!(output.stdout, b"FROM debian\n");
    }
}
