//! Where a front controller is, in the words of web servers.

use std::path::Path;

/// The places of a front controller in the copy of the application.
pub(crate) struct FrontController {
    /// The folder that the web server calls its document root.
    pub(crate) root: String,
    /// The script's file.
    pub(crate) script: String,
    /// The script's path in URLs.
    pub(crate) name: String,
}

impl FrontController {
    /// From the script's path relative to the application.
    pub(crate) fn new(index: &Path) -> Self {
        let name = index.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let root = match index.parent() {
            Some(folder) if folder != Path::new("") => format!("@{{app}}/{}", folder.display()),
            _ => "@{app}".to_owned(),
        };
        Self { script: format!("{root}/{name}"), name: format!("/{name}"), root }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_root_is_the_scripts_folder() {
        for (index, root, script, name) in [
            ("public/index.php", "@{app}/public", "@{app}/public/index.php", "/index.php"),
            ("app.php", "@{app}", "@{app}/app.php", "/app.php"),
        ] {
            let front = FrontController::new(Path::new(index));
            assert_eq!((front.root.as_str(), front.script.as_str(), front.name.as_str()), (root, script, name));
        }
    }
}
