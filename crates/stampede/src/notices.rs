//! What a person is told on stderr while studies are conducted.

use std::env;
use std::io;
use std::time::Duration;

use stampede_conduct::Notices;
use stampede_core::Study;
use stampede_harness::Stop;
use stampede_machine::Onlooker;
use stampede_progress::{ProgressStyle, Screen, StudyProgress};

use crate::screen;

/// Whoever sees stderr.
pub(crate) const ONLOOKER: Onlooker<'static> =
    Onlooker { notices: &OnScreen, tell: screen::note, warn: screen::warning, quiet: false };

/// Tells it on the terminal, or wherever stderr goes.
pub(crate) struct OnScreen;

impl Notices for OnScreen {
    fn note(&self, text: &str) {
        screen::note(text);
    }

    fn paragraph(&self, text: &str, hang: usize) {
        screen::paragraph(text, hang);
    }

    fn warning(&self, text: &str) {
        screen::warning(text);
    }

    fn settings(&self, study: &Study) {
        let colour = screen::colour_on(&io::stderr());
        screen::note(&stampede_report::terminal::notable_settings(study, screen::width(), colour));
    }

    fn stopping(&self, quiet: bool) {
        // A panel says so itself.
        if progress_style(quiet) != ProgressStyle::Live {
            screen::note("interrupted: this round is completed first; Ctrl-C again ends at once");
        }
    }

    fn has_line(&self, quiet: bool) -> bool {
        !quiet && screen::is_terminal(&io::stderr())
    }

    fn line(&self, text: &str) {
        screen::write(format!("\r\x1b[K{text}").as_bytes());
    }

    fn progress<'a>(&self, quiet: bool, stop: &'a Stop, earlier: Duration) -> Box<dyn stampede_conduct::Progress + 'a> {
        Box::new(StudyProgress::new(progress_style(quiet), Stderr::new(), stop, earlier))
    }
}

fn progress_style(quiet: bool) -> ProgressStyle {
    let obeys = env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
    match (quiet, screen::is_terminal(&io::stderr()) && obeys) {
        (true, _) => ProgressStyle::Silent,
        (false, true) => ProgressStyle::Live,
        (false, false) => ProgressStyle::Lines,
    }
}

/// Stderr, or what captures it of the thread that makes this.
#[derive(Clone)]
struct Stderr {
    #[cfg(test)]
    captured: Option<screen::capture::Captured>,
}

impl Stderr {
    fn new() -> Self {
        Self {
            #[cfg(test)]
            captured: screen::capture::installed(),
        }
    }
}

impl Screen for Stderr {
    fn write(&self, text: &str) {
        #[cfg(test)]
        screen::capture::install(self.captured.clone());
        screen::write(text.as_bytes());
    }

    fn size(&self) -> (usize, usize) {
        screen::size()
    }

    fn width(&self) -> usize {
        screen::width()
    }

    fn warned(&self, line: &str) -> String {
        screen::warned(line)
    }
}
