//! Conducts studies: what is measured next, when a question is answered, what is kept, and what is resumed.
//!
//! Each question has a module that takes a plan and gives what was measured. All of them stand on a [`Host`]: the lock, the
//! processors, the signals, the platform and whoever is told. This crate prints nothing, reads no flag (its texts name
//! some), makes no platform and writes no report.

mod block_order;
mod calibration;
mod capacity;
mod connections;
mod detected;
mod exit;
mod gate;
mod host;
mod init;
mod interrupts;
mod ladder;
mod metric_choice;
mod notices;
mod open_part;
mod php_setups;
mod record;
mod recording;
pub mod reference_server;
mod reproduce;
mod resumption;
mod revisions;
mod scale;
mod sequence;
mod service_size;
mod site;
mod size;
mod study;
mod tune;
mod why;

pub use calibration::of_machine as calibrations_of;
pub use capacity::capacity;
pub use exit::{Exit, Failure, exit_of, exit_of_all};
pub use gate::{Gated, decided_by, gate, gate_exit, gate_losses, gate_question, gate_stored};
pub use host::{Bench, Ended, Host, LAST_WAIT, Lock, OwnProgram, attend};
pub use init::{ANSWERS, NewPlan, RequestsOfPlan, SiteWalk, init};
pub use interrupts::{Interrupts, LocalFut};
pub use ladder::{Beside, Ladder};
pub use metric_choice::{metric_list, read as read_metric};
pub use notices::{Notices, Progress, ToldFindings};
pub use open_part::compare_with_open_part;
pub use record::StudyRecord;
pub use reproduce::{Experiment, ExperimentTable};
pub use scale::scale;
pub use service_size::{ServiceSizing, service_size_exit};
pub use site::{needs, preparing};
pub use size::{Sizing, service_size_outline, size_exit, size_outline};
pub use study::{Deciding, StudyRequest, carry_out};
pub use tune::{Tune, space};
pub use why::WhyQuestion;
