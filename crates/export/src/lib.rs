//! Files that deploy what was measured: a [`stampede_core::Deployment`] with its places put in, and around it what a target
//! wants: an image, a manifest, services of systemd, or nothing but a script that starts it.
//!
//! The configuration is the bench's own text: nothing here renders a server's file a second time, and nothing knows a runtime.
//! Pure: text in, text out; who asks writes the files and puts copies of the application and of built programs beside them.

mod bundle;
mod bundle_file;
mod composer;
mod export_error;
mod health;
mod image;
mod manifest;
mod next;
mod order;
mod origin;
mod php_source;
mod place;
mod recipe;
mod resolved;
mod script;
mod software;
mod systemd;
mod target;
mod template;

pub use bundle::{Bundle, export};
pub use bundle_file::BundleFile;
pub use composer::{COMPOSER_IMAGE, composer};
pub use export_error::ExportError;
pub use next::next;
pub use order::{BundleOrder, Image, ImageSoftware, Package, label};
pub use origin::{BundleOrigin, Measured};
pub use recipe::{Additions, recipe};
pub use software::software;
pub use target::Target;
