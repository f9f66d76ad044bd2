//! The part of a Caddyfile that serves the public folder, the same before PHP-FPM and with PHP inside.

use minijinja::context;
use stampede_core::PlanError;

use crate::template::Template;
use crate::web_root::WebRoot;

const SITE: Template = Template { name: "caddy/site.j2", source: include_str!("../templates/caddy/site.j2") };

/// Who runs scripts, and where they are.
#[derive(Clone, Copy)]
pub(crate) struct Scripts<'a> {
    /// The address of PHP-FPM; `None`: Caddy itself, which FrankenPHP is.
    pub(crate) fpm: Option<&'a str>,
    /// The folder of the front controller.
    pub(crate) root: &'a str,
    /// Its path in URLs.
    pub(crate) name: &'a str,
    /// Whether a proxy before this server ends TLS.
    pub(crate) https: bool,
}

/// The text. Without a public folder every request goes to the front controller.
pub(crate) fn text(web_root: Option<&WebRoot>, scripts: &Scripts<'_>) -> Result<String, PlanError> {
    let Scripts { fpm, root, name, https } = *scripts;
    match web_root {
        Some(web_root) => {
            SITE.fill(context! { fpm, root, name, https, public => web_root.root.as_str(), ..web_root.values() })
        }
        None => SITE.fill(context! { fpm, root, name, https, files => false, scripts => false, fallback => "front" }),
    }
}
