//! Which kinds of application a runtime serves, to say why it cannot serve another one.

use std::path::PathBuf;
use std::time::Duration;

use stampede_core::{AppKind, Command, CommandReady, GracefulStop, Runtime, StopSignal};

use crate::workload::KindEntry;

/// The kinds that a runtime serves, as plans write them.
pub(crate) fn kinds_served(runtime: &dyn Runtime) -> Vec<&'static str> {
    samples().iter().filter(|(_, kind)| runtime.serves(kind)).map(|(entry, _)| entry.name()).collect()
}

/// One of each kind.
fn samples() -> [(KindEntry, AppKind); 10] {
    let (index, name) = (PathBuf::from("index.php"), "hello".to_owned());
    let command = Command {
        run: vec!["./server".to_owned()],
        build: None,
        replacements: Vec::new(),
        ready: CommandReady::Request,
        stop: GracefulStop { signal: StopSignal::Term, grace: Duration::from_secs(5) },
        tunables: Vec::new(),
    };
    [
        (KindEntry::FrontController, AppKind::FrontController { index: index.clone() }),
        (KindEntry::Scripts, AppKind::Scripts { index: index.clone() }),
        (KindEntry::Psr15Handler, AppKind::Psr15Handler { handler: index.clone() }),
        (KindEntry::Symfony, AppKind::Symfony { kernel: name.clone(), autoload: index.clone() }),
        (KindEntry::Laravel, AppKind::Laravel { autoload: index.clone() }),
        (KindEntry::PhpFunction, AppKind::PhpFunction { script: index.clone(), function: name.clone() }),
        (KindEntry::EmbeddedPhp, AppKind::EmbeddedPhp { binary: PathBuf::from("app"), index, worker: None }),
        (KindEntry::GoProgram, AppKind::GoProgram),
        (KindEntry::GoFunction, AppKind::GoFunction { module: name.clone(), package: name.clone(), function: name }),
        (KindEntry::Command, AppKind::Command(command)),
    ]
}
