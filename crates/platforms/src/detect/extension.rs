//! Finds an extension of PHP and its version.

use stampede_core::{Availability, Found, Install, PhpChoice, PhpSapi};

use super::php_choice;
use super::program::{find, search_folders, word_after};
use crate::output::probe;

/// Looks an extension of a chosen PHP up, or of the `php` on the search path.
pub(crate) async fn detect(extension: &str, build: Option<&PhpChoice>, install: &Install) -> Availability {
    let missing = || Availability::Missing { what: format!("the PHP extension {extension}"), install: install.clone() };
    let path = match build {
        None => find(&search_folders(), "php"),
        Some(choice) => php_choice::find(PhpSapi::Cli, choice).await.ok().map(|installed| installed.program),
    };
    let Some(path) = path else {
        return missing();
    };
    // Where the user's own configuration loads it already, loading it again is a warning and nothing else.
    let load = format!("extension={extension}");
    match probe(&path, ["-d", &load, "--ri", extension]).await {
        Ok(told) => match word_after(&told, "Version => ") {
            Some(version) => Availability::Found(Found { version: version.to_owned(), path, php: None }),
            None => missing(),
        },
        Err(_) => missing(),
    }
}
