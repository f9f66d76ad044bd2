//! Runs from their lease to their end, whoever brings it: the warden, Stampede, or a later `clean`.

pub(crate) mod clean;
pub(crate) mod group;
pub(crate) mod lease;
pub(crate) mod process_owner;
pub(crate) mod process_table;
pub(crate) mod run;
pub(crate) mod state_dir;

use std::path::Path;

use self::clean::{CleanReport, clean};
use self::state_dir::{NewPlatformError, own_folder};
use crate::layout;

/// Takes a state folder into use and finishes the runs of Stampedes that were killed.
pub(crate) fn take_state(state_dir: &Path) -> Result<CleanReport, NewPlatformError> {
    own_folder(state_dir)?;
    own_folder(&state_dir.join("r"))?;
    own_folder(&state_dir.join(layout::TEMPLATES))?;
    Ok(clean(state_dir))
}
