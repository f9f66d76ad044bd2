//! An image of a container that serves by itself, as somebody has built it: its own command, user and signals.

use std::time::Duration;

use stampede_core::{
    About, App, AppKind, Container, DefaultsContext, Deployment, FastCgiFront, GracefulStop, ImageApp, ImageSign,
    ImageSource, KnownImage, PlanError, ProcessModel, Program, Programs, Ready, RenderContext, Requirement, Runtime,
    StopSignal, Tuning, Unit,
};

use crate::front;
use crate::lookup::Lookup;

const ID: &str = "image";
const IMAGE: &str = "the image";

/// As long as the engine waits by default. <https://docs.docker.com/reference/cli/docker/container/stop/>
const GRACE: Duration = Duration::from_secs(10);

/// How many letters of an image's id tell it from others, as the engine's own program shows it.
const ID_LETTERS: usize = 12;

/// What images of makers need, as their own pages say.
const KNOWN: &[KnownImage] = &[KnownImage {
    name: "dunglas/frankenphp",
    signs: &[
        ImageSign::Label("org.opencontainers.image.title", "FrankenPHP"),
        ImageSign::Variable("FRANKENPHP_CONFIG"),
        ImageSign::Word("frankenphp"),
    ],
    env: &[("SERVER_NAME", ":80")],
    why: "it serves localhost over HTTPS by default, see https://frankenphp.dev/docs/config/",
}];

/// nginx before PHP-FPM as its makers' image has it: what is a file is sent, and the front controller answers the rest.
static NGINX: FastCgiFront = FastCgiFront {
    image: "nginx:stable",
    source: "https://hub.docker.com/_/nginx",
    place: "/etc/nginx/nginx.conf",
    config: include_str!("../templates/image/nginx.conf"),
};

/// Any image.
pub(crate) struct Image;

impl Runtime for Image {
    fn about(&self) -> About {
        About {
            id: ID,
            title: "any image of a container that listens on a port, by --image, --dockerfile or --compose",
            // What is least likely to flatter it: nothing is known of what it runs.
            process_model: ProcessModel::LongLivedWorkers,
            recipe: None,
            status: &[],
            // They are the image's environment variables, see `serves_images`.
            tunables: &[],
        }
    }

    fn serves_images(&self) -> bool {
        true
    }

    fn serves(&self, kind: &AppKind) -> bool {
        matches!(kind, AppKind::Image(_))
    }

    fn requires(&self, app: &App) -> Vec<Requirement> {
        let AppKind::Image(ImageApp { source, .. }) = &app.kind else {
            return Vec::new();
        };
        vec![Requirement::Image { key: IMAGE, source: source.clone() }]
    }

    fn version(&self, programs: &Programs) -> String {
        let Some(found) = programs.get(IMAGE) else { return "the image's own".to_owned() };
        let id: String = found.version.trim_start_matches("sha256:").chars().take(ID_LETTERS).collect();
        format!("{} ({id})", found.path.display())
    }

    fn defaults(&self, cx: &DefaultsContext<'_>) -> Tuning {
        cx.given.clone()
    }

    fn deployment(&self, cx: &RenderContext<'_>) -> Result<Deployment, PlanError> {
        let AppKind::Image(ImageApp { source, command, volumes, port, front: server, root }) = &cx.app.kind else {
            return Err(PlanError::AppKind(self.id()));
        };
        let found = Lookup::new(ID, cx).program(IMAGE)?;
        let image = found.path.display().to_string();
        let mut env = cx.app.env.clone();
        env.extend(cx.tuning.iter().map(|(name, setting)| (name.to_owned(), setting.value.clone())));
        let program = Program { path: image.clone(), args: command.clone(), env };
        // The engine sends the image's own signal.
        let stop = GracefulStop { signal: StopSignal::Term, grace: GRACE };
        let unit = Unit { ready: Ready::Port(front::id()), ..Unit::new(ID, program, stop) };
        Ok(Deployment {
            container: Some(Container {
                image,
                id: found.version.clone(),
                volumes: volumes.clone(),
                port: *port,
                compose: match source {
                    ImageSource::Compose(file) => Some(file.clone()),
                    ImageSource::Named(_) | ImageSource::Kept { .. } | ImageSource::Dockerfile(_) => None,
                },
                front: *server,
                root: root.clone(),
                fast_cgi: NGINX,
                known: KNOWN,
            }),
            ..front::deployment(&cx.app.source, vec![unit])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_known_image_is_given_has_a_name_a_sign_and_a_source() {
        for KnownImage { name, signs, env, why } in KNOWN {
            assert!(!signs.is_empty() && !env.is_empty(), "{name}");
            assert!(why.contains("https://"), "{name}: {why}");
        }
    }
}
