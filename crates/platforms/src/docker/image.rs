//! Images with software in them: a base image, and packages of its distribution. Built once, and known again by all that went
//! into them.

use std::collections::{BTreeSet, HashMap};
use std::env;

use bollard::models::ImageInspect;
use bollard::query_parameters::{
    BuildImageOptions, CreateImageOptions, ListImagesOptions, RemoveImageOptions, TagImageOptions,
};
use futures_util::StreamExt as _;
use sha2::{Digest, Sha256};

use super::engine::{DockerError, Engine, api};
use super::own_image;
use crate::log_tail::last_lines;

/// What all of them are called, before the colon.
const NAME: &str = "stampede-software";

/// The label of all of them; its value says what is in them.
pub(crate) const SOFTWARE: &str = "io.stampede.software";

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
            pull(engine, image).await?;
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

pub(crate) async fn inspect(engine: &Engine, image: &str) -> Result<Option<ImageInspect>, DockerError> {
    match engine.docker.inspect_image(image).await {
        Ok(found) => Ok(Some(found)),
        Err(bollard::errors::Error::DockerResponseServerError { status_code: 404, .. }) => Ok(None),
        Err(error) => Err(api("look an image up")(error)),
    }
}

async fn pull(engine: &Engine, image: &str) -> Result<(), DockerError> {
    let (name, tag) = split(image);
    let options =
        CreateImageOptions { from_image: Some(name.to_owned()), tag: Some(tag.to_owned()), ..Default::default() };
    let mut news = engine.docker.create_image(Some(options), None, None);
    while let Some(told) = news.next().await {
        let problem = match told {
            Ok(told) => told.error_detail.and_then(|detail| detail.message),
            Err(bollard::errors::Error::DockerResponseServerError { message, .. }) => Some(message),
            Err(error) => Some(error.to_string()),
        };
        if let Some(problem) = problem {
            return Err(DockerError::Pull { image: image.to_owned(), problem });
        }
    }
    Ok(())
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

/// The image that has these packages upon another one, as far as the distribution has them: the kept one, or one that is built
/// now, after `tell` was called, unless nothing may be fetched. It is kept for all that was asked for, so that what the distribution has not is not tried again.
pub(crate) async fn install(
    engine: &Engine,
    base: &str,
    packages: &BTreeSet<String>,
    offline: bool,
    tell: impl Fn(&BTreeSet<String>),
) -> Result<String, DockerError> {
    let id = id(engine, base).await?;
    let mut packages = packages.clone();
    let mut tried = Vec::new();
    let image = loop {
        let dockerfile = stampede_export::software(base, packages.iter().map(String::as_str))?;
        let tag = key(&id, &dockerfile);
        let image = format!("{NAME}:{tag}");
        if inspect(engine, &image).await?.is_some() {
            break image;
        }
        if offline {
            return Err(DockerError::Offline(packages.iter().map(|name| format!("{name} in {base}")).collect()));
        }
        if !packages.is_empty() {
            tell(&packages);
        }
        let words = packages.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        let label = format!("{words} in {base}");
        let Err(output) = build(engine, &dockerfile, &image, label).await? else {
            break image;
        };
        let lacking: BTreeSet<String> =
            not_found(&output).filter(|name| packages.contains(*name)).map(str::to_owned).collect();
        if lacking.is_empty() {
            let output = last_lines(output.as_bytes()).join("\n");
            return Err(DockerError::Install { packages: words, base: base.to_owned(), output });
        }
        packages.retain(|package| !lacking.contains(package));
        tried.push(tag);
    };
    for tag in tried {
        let named = TagImageOptions { repo: Some(NAME.to_owned()), tag: Some(tag) };
        engine.docker.tag_image(&image, Some(named)).await.map_err(api("name an image"))?;
    }
    Ok(image)
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
    label: String,
) -> Result<Result<(), String>, DockerError> {
    let proxies = PROXIES.iter().filter_map(|name| Some(((*name).to_owned(), env::var(name).ok()?))).collect();
    let options = BuildImageOptions {
        t: Some(image.to_owned()),
        rm: true,
        forcerm: true,
        // What this machine reaches, a proxy of its own included, the builder reaches.
        networkmode: Some("host".to_owned()),
        buildargs: Some(proxies),
        labels: Some(HashMap::from([(SOFTWARE.to_owned(), label)])),
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
fn tar_of(name: &str, text: &str) -> Vec<u8> {
    const BLOCK: usize = 512;
    const SUM: std::ops::Range<usize> = 148..156;
    let mut header = [0; BLOCK];
    let mut put = |at: usize, field: &str| header[at..at + field.len()].copy_from_slice(field.as_bytes());
    put(0, name);
    put(100, "0000644\0");
    put(108, "0000000\0");
    put(116, "0000000\0");
    put(124, &format!("{:011o}\0", text.len()));
    put(136, "00000000000\0");
    // The sum is taken with blanks in its own place.
    put(SUM.start, "        ");
    put(156, "0");
    put(257, "ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[SUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut archive = header.to_vec();
    archive.extend(text.as_bytes());
    // The last block is filled up, and two empty ones are the end.
    archive.resize(archive.len().next_multiple_of(BLOCK) + 2 * BLOCK, 0);
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

/// Removes every image that was built for runtimes or from an application's Dockerfile: what each held. They are built again when they are needed.
///
/// # Errors
///
/// When there is no engine, or it refuses: a container uses one.
pub fn remove_images() -> Result<Vec<String>, DockerError> {
    super::engine::block_on(async {
        let engine = Engine::connect(&super::engine::socket()?).await?;
        let filters = HashMap::from([("label".to_owned(), vec![SOFTWARE.to_owned()])]);
        let options = ListImagesOptions { filters: Some(filters), ..Default::default() };
        let mut images = engine.docker.list_images(Some(options)).await.map_err(api("list images"))?;
        // Those that build upon others go first.
        images.sort_by_key(|image| std::cmp::Reverse(image.created));
        let mut removed = Vec::new();
        for image in images {
            let is_ours = |tag: &&String| [NAME, own_image::NAME].iter().any(|name| tag.starts_with(name));
            let tags = image.repo_tags.iter().filter(is_ours).cloned().collect::<Vec<_>>();
            // It is gone with the last of its names.
            for tag in &tags {
                let removed = engine.docker.remove_image(tag, None::<RemoveImageOptions>, None).await;
                removed.map_err(api("remove an image"))?;
            }
            let held = image.labels.get(SOFTWARE).map_or("", String::as_str);
            removed.extend(tags.first().map(|tag| format!("{tag} ({held})")));
        }
        Ok(removed)
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

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
