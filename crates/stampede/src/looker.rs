//! `stampede __look`: what is installed where this runs, for a Stampede outside of the container that this runs in.

use crate::exit::{Exit, Failure};
use crate::{Outcome, screen};

/// The command; its argument is the questions.
pub(crate) const COMMAND: &str = "__look";

pub(crate) fn answer(questions: &str) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let answers = runtime.block_on(stampede_platforms::docker::answer(questions)).map_err(Failure::usage)?;
    screen::print(&answers)?;
    Ok(Exit::Done)
}
