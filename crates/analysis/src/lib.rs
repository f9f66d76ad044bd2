//! Stored records to summaries, verdicts and findings.
//!
//! Pure: the same study and trials give the same analysis, so that any report can be made again later. It knows no
//! runtime by name, and neither how records are kept nor how figures are printed.

mod activity;
mod analysis;
mod change;
mod course;
mod family;
mod metric;
mod pace;
mod record;
mod rules;
mod verdicts;

#[cfg(test)]
mod samples;

pub use activity::{Activity, UnitActivity};
pub use analysis::{Analysis, CaseSummary, analyse};
pub use change::{Change, ChangeError, Outcome, between_studies, of_gate};
pub use course::{Course, course};
pub use family::ERROR;
pub use metric::{Better, METRICS, Metric, Unit, metric, percentile, primary};
pub use verdicts::MIN_BLOCKS;
