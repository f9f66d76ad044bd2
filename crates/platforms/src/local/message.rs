//! What Stampede and the warden say to each other: JSON, one message a line.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use stampede_core::{Restart, UnitExit, UnitId, UnitStop};

use crate::machine::user::User;
use crate::runs::run::Run;
use crate::units::Command;

/// Stampede to the warden.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// The first message: what the warden keeps. No answer.
    Begin {
        /// What must be ended at the end.
        run: Run,
        /// The user that units run as.
        user: Option<User>,
        /// Processors that units run on.
        cpus: Vec<u32>,
    },
    /// Run a program to its end; answered with [`News::Checked`].
    Check {
        /// The program.
        command: Command,
        /// The part that it belongs to.
        part: Option<String>,
        /// How long it may take.
        limit: Duration,
    },
    /// Start a unit; answered with [`News::Started`].
    Start {
        /// Its name.
        unit: UnitId,
        /// Its program.
        command: Command,
        /// The part that it belongs to.
        part: Option<String>,
        /// What happens when it ends by itself.
        restart: Restart,
        /// Number of the signal that asks it to stop.
        signal: i32,
        /// How long it may take to stop.
        grace: Duration,
    },
    /// Stop all units and end the run; answered with [`News::Stopped`] before its files are removed.
    Stop,
}

/// The warden to Stampede.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum News {
    /// How a check failed, if it did.
    Checked(Result<(), String>),
    /// Why a unit could not be started, if it could not.
    Started(Result<(), String>),
    /// A unit's main process has ended without having been asked to; not an answer.
    Exited(UnitExit),
    /// The same, and the unit is started again; not an answer.
    Restarted(UnitExit),
    /// The units were stopped, and no process of the run is left.
    Stopped {
        /// How, in the order of their start.
        units: Vec<UnitStop>,
        /// Why its processes could not be brought to their end, if they could not.
        problem: Option<String>,
    },
}
