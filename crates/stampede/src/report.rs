//! `stampede report`: a stored study as a page for a browser, or as a chart.

pub(crate) mod args;

use std::path::{Path, PathBuf};

use stampede_analysis::OpenPartAnalysis;
use stampede_report::{StudyView, html};

use self::args::ReportArgs;
use crate::destination::{self, is_stdout, put};
use crate::exit::{Exit, Failure};
use crate::{Outcome, screen, show};

pub(crate) fn run(args: &ReportArgs) -> Outcome {
    let ReportArgs { study, output, svg, store } = args;
    destination::check(&[("--output", output.as_deref()), ("--svg", svg.as_deref())])?;
    let (stored, open_part) = show::load_with_open_part(store, study)?;
    let analysis = stampede_analysis::analyse_parts(&stored.study, &stored.trials, open_part.as_ref());
    let open_part = open_part.and_then(|part| OpenPartAnalysis::of(&stored.study, &stored.trials, part));
    let view = StudyView { open_part: open_part.as_ref(), ..StudyView::of(&stored, &analysis) };
    let study = &stored.study;
    match svg {
        Some(path) => {
            let chart = html::chart(&view).ok_or_else(|| {
                Failure::missing(format!("study {} has no trial with a figure that could be drawn", study.id))
            })?;
            write(path, &chart)?;
        }
        None => {
            let path = output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.html", study.id)));
            write(&path, &html::study(&view))?;
        }
    }
    Ok(Exit::Done)
}

/// Writes a file and says which.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    put(path, text)?;
    if is_stdout(path) { Ok(()) } else { screen::print(&format!("{}\n", path.display())) }
}
