//! Finds an extension of PHP and its version.

use stampede_core::{Availability, Found, Install};

use crate::output::probe;
use crate::program::{find, search_folders, word_after};

/// Looks an extension of the `php` on the search path up.
pub(crate) async fn detect(extension: &str, install: &Install) -> Availability {
    let missing = || Availability::Missing { what: format!("the PHP extension {extension}"), install: install.clone() };
    let Some(path) = find(&search_folders(), "php") else {
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
