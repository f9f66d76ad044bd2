//! How an image gets its programs: the base, and packages of its distribution. The same for an image that is exported and for
//! one that is measured in.

use minijinja::context;

use crate::export_error::ExportError;
use crate::order::Package;
use crate::template::Template;

const SOFTWARE: Template = Template { name: "software.j2", source: include_str!("../templates/software.j2") };

/// The first lines of a Dockerfile: a base image of Debian's family, and these packages in it, each as `apt-get install` takes
/// it, in the versions that its archive has. An archive that is not reached is an error at once (`--error-on=any` of apt-get(8), in the
/// form that versions without it ignore): otherwise it ends well, and then nothing is found.
///
/// # Errors
///
/// When the template cannot be filled in.
pub fn software<'a>(base: &str, packages: impl IntoIterator<Item = &'a str>) -> Result<String, ExportError> {
    fill(base, packages.into_iter().map(str::to_owned).collect(), Vec::new())
}

/// The same with packages in the versions that are installed here.
pub(crate) fn pinned(base: &str, packages: &[Package]) -> Result<String, ExportError> {
    let pins = packages.iter().map(Package::pin).collect();
    let installed = packages.iter().map(|Package { name, version }| format!("{name} {version}")).collect();
    fill(base, pins, installed)
}

fn fill(base: &str, packages: Vec<String>, installed: Vec<String>) -> Result<String, ExportError> {
    SOFTWARE.fill(context! { base, packages, installed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_installed_upon_a_base() {
        let text = software("debian:bookworm", ["nginx", "php-fpm"]).unwrap();
        assert_eq!(
            text,
            "FROM debian:bookworm\n\nRUN apt-get update -o APT::Update::Error-Mode=any \\\n    && DEBIAN_FRONTEND=noninteractive apt-get install -y \
             --no-install-recommends \\\n        'nginx' \\\n        'php-fpm' \\\n    && rm -rf /var/lib/apt/lists/*\n\n"
        );
        assert_eq!(software("debian:bookworm", []).unwrap(), "FROM debian:bookworm\n\n");
    }
}
