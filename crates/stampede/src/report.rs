//! `stampede report`: a stored study as a page for a browser, or as a chart.

pub(crate) mod args;

use std::path::{Path, PathBuf};

use stampede_report::html;
use stampede_store::StoredStudy;

use self::args::ReportArgs;
use crate::destination::{self, is_stdout, put};
use crate::exit::{Exit, Failure};
use crate::{Outcome, screen, show};

pub(crate) fn run(args: &ReportArgs) -> Outcome {
    let ReportArgs { study, output, svg, store } = args;
    destination::check(&[("--output", output.as_deref()), ("--svg", svg.as_deref())])?;
    let end = output.as_deref().and_then(Path::extension).and_then(|end| end.to_str());
    if let Some(flag) = [("md", "markdown"), ("csv", "csv"), ("json", "json")]
        .iter()
        .find_map(|(of, flag)| (end == Some(of)).then_some(flag))
    {
        return Err(Failure::usage(format!("a report is HTML; for this file use stampede show {study} --{flag} FILE")));
    }
    let (StoredStudy { study, finished_at, trials, yard_stick }, open_part) = show::load_with_open_part(store, study)?;
    stampede_answers::study(&study, finished_at, &trials, &yard_stick, open_part, |view| match svg {
        Some(path) => {
            let none =
                || Failure::missing(format!("study {} has no trial with a figure that could be drawn", study.id));
            write(path, &html::chart(&view).ok_or_else(none)?)
        }
        None => {
            let path = output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.html", study.id)));
            write(&path, &html::study(&view))
        }
    })?;
    Ok(Exit::Done)
}

/// Writes a file and says which.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    put(path, text)?;
    if is_stdout(path) { Ok(()) } else { screen::print(&format!("{}\n", path.display())) }
}
