//! Where an image that serves by itself comes from: a registry, a folder, a study that was made before, or a file that names several.

use stampede_core::{Availability, Found, ImageSource, Install};

use super::compose::{self, Composition};
use super::engine::Engine;
use super::image;
use super::own_image::{Build, Lacking, build, pulled};

/// Has an image, and says what it is or why it cannot be had; several that serve together come with how they are run.
pub(crate) async fn find(
    engine: &Engine,
    source: &ImageSource,
    offline: bool,
    tell: fn(&str),
) -> (Availability, Option<Composition>) {
    let mut together = None;
    let found = match source {
        ImageSource::Named(name) => pulled(engine, name, tell).await.map(|id| (name.clone(), id)),
        ImageSource::Kept { name, id } => kept(engine, name, id).await.map(|id| (name.clone(), id)),
        ImageSource::Dockerfile(folder) => build(engine, &Build::of(folder), tell).await,
        ImageSource::Compose(compose) => match compose::find(engine, compose, offline, tell).await {
            Ok((id, composition)) => {
                together = Some(composition);
                Ok((source.to_string(), id))
            }
            Err(lacking) => Err(lacking),
        },
    };
    let what = match source {
        ImageSource::Compose(_) => "the file",
        ImageSource::Named(_) | ImageSource::Kept { .. } | ImageSource::Dockerfile(_) => "the image",
    };
    let found = match found {
        Ok((name, version)) => Availability::Found(Found { path: name.into(), version, php: None }),
        Err(Lacking { problem, fix }) => Availability::Missing {
            what: format!("{what} {source}, {problem}"),
            install: Install { package: None, page: fix },
        },
    };
    (found, together)
}

async fn kept(engine: &Engine, name: &str, id: &str) -> Result<String, Lacking> {
    match image::inspect(engine, id).await? {
        Some(_) => Ok(id.to_owned()),
        None => Err(Lacking {
            problem: format!("whose content of then ({id}) the engine does not have any more"),
            fix: format!("compare {name} again"),
        }),
    }
}
