//! This machine, as studies and loads find it: a [`Host`](stampede_conduct::Host) with its processors, signals, lock, folders and
//! platforms; what is installed on it; bundles that are made on it; and what this program serves when it is started again (the reference server, an agent, a look around in a pod).
//!
//! It prints nothing: whoever is told is an [`Onlooker`].

pub mod agent;
mod backend;
pub mod beside;
pub mod bundle;
mod cluster_platform;
mod folders;
pub mod in_pod;
mod installed;
pub mod name_service;
mod onlooker;
mod open_files;
mod platform;
pub mod reference_server;
mod rendered;
mod side;
mod signals;
mod this_machine;
mod whole_file;

pub use folders::{cache_folder, state_folder};
pub use installed::{Installable, installed_runtimes, lacking, runtimes, services};
pub use onlooker::Onlooker;
pub use open_files::raise_open_files;
pub use platform::{LOOK, containers, local_config, software_source};
pub use rendered::{rendered, size_at_rest};
pub use side::{SideFiles, TypedSide};
pub use signals::Signals;
pub use this_machine::ThisMachine;
pub use whole_file::{writable, write_whole};
