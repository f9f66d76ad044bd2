//! A study alone.

use jiff::Timestamp;
use stampede_analysis::{OpenPartAnalysis, analyse_parts};
use stampede_core::{OpenPart, Study, Trial, YardStickReading};
use stampede_report::StudyView;

/// What comes of writing a study, which was finished then, with what its trials and its open part say.
pub fn study<R>(
    study: &Study,
    finished_at: Option<Timestamp>,
    trials: &[Trial],
    yard_stick: &[YardStickReading],
    open_part: Option<OpenPart>,
    write: impl FnOnce(StudyView<'_>) -> R,
) -> R {
    let analysis = analyse_parts(study, trials, open_part.as_ref());
    let open_part = open_part.and_then(|part| OpenPartAnalysis::of(study, trials, part));
    let open_part = open_part.as_ref();
    write(StudyView { study, finished_at, trials, yard_stick, analysis: &analysis, open_part })
}
