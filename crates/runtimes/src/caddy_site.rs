//! The part of a Caddyfile that serves the public folder, the same before PHP-FPM and with PHP inside.

use minijinja::context;
use stampede_core::PlanError;

use crate::template::{Template, template};
use crate::web_root::WebRoot;

const SITE: Template = template!("caddy/site.j2");

/// Who runs scripts, and where they are.
#[derive(Clone, Copy)]
pub(crate) struct Scripts<'a> {
    /// The address of PHP-FPM; `None`: Caddy itself, which FrankenPHP is.
    pub(crate) fpm: Option<&'a str>,
    /// The folder of the front controller.
    pub(crate) root: &'a str,
    /// Its path in URLs.
    pub(crate) name: &'a str,
    /// Whether they are inside the server's program, as FrankenPHP may have an application: only `php` and `php_server` find what
    /// is there, by a relative path. <https://frankenphp.dev/docs/embed/>
    pub(crate) inside: bool,
    /// Whether a proxy before this server ends TLS.
    pub(crate) https: bool,
}

/// The text. Without a public folder every request goes to the front controller.
pub(crate) fn text(web_root: Option<&WebRoot>, scripts: &Scripts<'_>) -> Result<String, PlanError> {
    let Scripts { fpm, root, name, inside, https } = *scripts;
    match web_root {
        Some(web_root) => {
            let public = (!inside).then_some(web_root.root.as_str());
            SITE.fill(context! { fpm, root, name, https, public, ..web_root.values() })
        }
        None => SITE.fill(context! { fpm, root, name, https, files => false, scripts => false, fallback => "front" }),
    }
}
