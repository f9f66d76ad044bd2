//! The durable, append-only history of studies, in one SQLite file.
//!
//! The only crate that knows SQLite. It keeps what was planned and what was counted; rates, percentiles and intervals are
//! computed when reported, and nothing here knows how.

mod columns;
mod scale_rows;
mod schema;
mod step_rows;
mod store;
mod study_file;
mod study_row;
mod study_rows;
mod study_tables;
mod trial_rows;
mod yard_stick_rows;

pub use schema::VERSION;
pub use stampede_core::StoredStudy;
pub use store::{Import, Store, StoreError};
pub use study_file::{LAYOUT as STUDY_FILE_VERSION, StudyFileError, read_study_file};
pub use study_row::{StudyRow, StudyState};
pub use study_tables::StageError;
