//! What the program under test offers, found out by trying.

use crate::failure::Failure;
use crate::stage::Stage;
use crate::tool::{STAMPEDE, StampedeRun, stampede_command_line};

const BACKENDS: [&str; 2] = ["epoll", "io-uring"];

/// A way to run `stampede load`.
#[derive(Clone, Debug)]
pub(crate) struct Variant {
    /// `stampede epoll`
    pub(crate) label: String,
    /// The flags that choose it, beside a run's own.
    pub(crate) flags: String,
}

/// The ways that work, and why others do not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variants {
    pub(crate) offered: Vec<Variant>,
    pub(crate) refused: Vec<String>,
}

/// Has `stampede load` send one request with the given flags on each backend.
pub(crate) fn find(stage: &Stage, url: &str, flags: &str) -> Result<Variants, Failure> {
    let mut variants = Variants::default();
    for backend in BACKENDS {
        let flags = format!("--backend {backend} {flags}");
        match answers(stage, url, &flags)? {
            Ok(_) => variants.offered.push(Variant { label: format!("stampede {backend}"), flags }),
            Err(reason) => variants.refused.push(format!("stampede {backend}: {reason}")),
        }
    }
    // A program without backends to choose from has one all the same.
    if variants.offered.is_empty() {
        match answers(stage, url, flags)? {
            Ok(run) => {
                let label = format!("stampede {}", run.generator.backend);
                variants.refused.retain(|reason| !reason.starts_with(&label));
                variants.offered.push(Variant { label, flags: flags.to_owned() });
            }
            Err(reason) => variants.refused = vec![format!("stampede: {reason}")],
        }
    }
    variants.refused.iter().for_each(|refused| stage.tell(&format!("not measured: {refused}")));
    Ok(variants)
}

/// Whether one request gets its answer; the inner error says why not.
fn answers(stage: &Stage, url: &str, flags: &str) -> Result<Result<StampedeRun, String>, Failure> {
    let line = stampede_command_line(url, &format!("{flags} -c 1 -n 1"));
    let finished = stage.try_out(STAMPEDE.name, stage.command(&line))?;
    let run = StampedeRun::read(&finished.stdout).filter(|run| run.requests.ok == 1);
    Ok(run.ok_or_else(|| finished.reason()))
}
