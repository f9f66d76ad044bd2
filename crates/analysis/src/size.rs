//! The cheapest deployment that holds an objective: which size to try next, which to confirm, and what came of it.
//!
//! Pure: what is next follows from the readings of all trials before, so that a search that was interrupted continues as if it had
//! not been. A size is a runtime under limits of CPU and memory with so many workers, and its price. Single trials search, guided
//! by a model of queues; a choice is made from fresh blocks alone ([ADR 47](../../../docs/adr/0047-a-size-is-confirmed-from-dear-to-cheap.md)).

mod belief;
mod confirmation;
mod grid;
mod growth;
mod hopeless;
mod outcome;
mod peaks;
mod pool;
mod question;
mod search;
mod service;
mod shown;
mod stop;

pub use self::confirmation::{Confirmation, FIRST_BLOCKS, MOST_BLOCKS, SizeSides, SizeVerdict};
pub use self::grid::{SizeCell, SizeFigures, SizeGrid, SizeOutcome, SizeReading, SizeRole};
pub use self::growth::SizeGrowth;
pub use self::hopeless::Hopeless;
pub use self::outcome::{SizeChoice, SizeFate, SizeFound, size_found};
pub use self::question::SizeQuestion;
pub use self::search::{SizeStage, SizeStep, size_step};
pub use self::service::{
    ServiceCell, ServiceFate, ServiceFound, ServiceQuestion, ServiceStep, service_found, service_step, service_window,
};
pub use self::stop::SizeStop;
