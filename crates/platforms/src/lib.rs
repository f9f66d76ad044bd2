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

mod certificate;
mod checkout;
mod detect;
pub mod docker;
pub mod doctor;
mod in_container;
mod layout;
mod local;
mod log_tail;
mod machine;
mod output;
mod runs;
mod units;

pub use certificate::{CertificateError, self_made};
pub use checkout::{Checkout, CheckoutError};
pub use detect::debian;
pub use detect::detect;
pub use detect::image::{ImageError, image};
pub use detect::needs::DetectedNeeds;
pub use detect::revision::revision;
pub use in_container::{look_around, node};
pub use layout::app_copy::{ReplaceError, replace};
pub use layout::builder::build;
pub use layout::bundle_folder::{BundleFolder, BundleFolderError, BundleWriteError};
pub use layout::folder::{CopyError, copy_app};
pub use local::warden;
pub use local::{LocalConfig, LocalPlatform};
pub use machine::{available_cpus, lock, machine, memory, pin_to, scope};
pub use runs::clean::{CleanReport, clean};
pub use runs::state_dir::{NewPlatformError, default_state_dir};
