//! Where deployments run: `local`, processes on this machine under a warden, and `docker`, containers of this machine's engine.
//!
//! # How a run ends, whatever happens
//!
//! Each run has a *lease*, a locked file that says what must be ended and removed. A *warden*, a process of its own,
//! starts the run's units in the run's control group and ends them when it is told to, or when its socket to Stampede
//! is closed because Stampede is gone. Stampede in turn notices when the warden is gone and does the same; orphans come
//! to it, since it is a subreaper too. When both are killed the lease's lock is free, and [`clean`] or the next start
//! finishes the job. No process is ever looked for by its name.
//!
//! Nothing here knows runtimes: what is run is a [`stampede_core::Deployment`].

mod builder;
mod certificate;
mod clean;
mod comeback;
mod custody;
pub mod debian;
pub mod docker;
pub mod doctor;
mod end;
mod extension;
mod folder;
mod frankenphp;
mod group;
mod layout;
mod lease;
mod local;
pub mod lock;
mod log_tail;
mod machine;
mod message;
mod output;
mod package;
mod php;
mod php_build;
mod php_choice;
mod port;
mod preflight;
mod preparation;
mod process_table;
mod program;
mod readiness;
mod revision;
mod run;
mod running;
pub mod scope;
mod spawn;
mod template_folder;
mod unfinished;
mod user;
pub mod warden;

pub use builder::build;
pub use certificate::{CertificateError, self_made};
pub use clean::{CleanReport, clean};
pub use folder::{CopyError, copy_app};
pub use local::{LocalConfig, LocalPlatform, NewPlatformError, default_state_dir};
pub use machine::{available_cpus, machine, memory, pin_to};
pub use program::detect;
pub use revision::revision;
