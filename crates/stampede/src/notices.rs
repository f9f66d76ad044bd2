//! What a person is told on stderr while studies are conducted.

use std::io;
use std::time::Duration;

use stampede_conduct::Notices;
use stampede_core::Study;
use stampede_harness::Stop;

use crate::progress::{self, Progress};
use crate::screen;

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
        screen::note(&stampede_report::terminal::settings(study, screen::width(), screen::colour_on(&io::stderr())));
    }

    fn stopping(&self, quiet: bool) {
        // A panel says so itself.
        if !progress::is_live(quiet) {
            screen::note("interrupted: this round is completed first; Ctrl-C again ends at once");
        }
    }

    fn progress<'a>(&self, quiet: bool, stop: &'a Stop, earlier: Duration) -> Box<dyn stampede_conduct::Progress + 'a> {
        Box::new(Progress::new(quiet, stop, earlier))
    }
}
