//! Which PHP extensions an application without a `composer.json` uses, by what its scripts call.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What gives an extension away. PHP's manual lists each under its extension.
const CALLS: [(&str, &str); 17] = [
    ("mb_", "mbstring"),
    ("curl_", "curl"),
    ("simplexml_load_", "simplexml"),
    ("new DOMDocument", "dom"),
    ("new PDO(", "pdo"),
    ("'sqlite:", "pdo_sqlite"),
    ("\"sqlite:", "pdo_sqlite"),
    ("'mysql:", "pdo_mysql"),
    ("\"mysql:", "pdo_mysql"),
    ("'pgsql:", "pdo_pgsql"),
    ("\"pgsql:", "pdo_pgsql"),
    ("new SQLite3(", "sqlite3"),
    ("mysqli_", "mysqli"),
    ("new mysqli(", "mysqli"),
    ("new NumberFormatter(", "intl"),
    ("imagecreate", "gd"),
    ("new ZipArchive", "zip"),
];

/// No more scripts than these are read, nor more bytes of each.
const MOST_FILES: usize = 1000;
const MOST_BYTES: u64 = 1 << 20;

pub(super) fn extensions(folder: &Path) -> BTreeSet<String> {
    let (mut found, mut left, mut folders) = (BTreeSet::new(), MOST_FILES, vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
            let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
            let is_script = kind.is_file() && path.extension().is_some_and(|ending| ending == "php");
            if kind.is_dir() && entry.file_name() != "vendor" {
                folders.push(path);
            } else if is_script && left > 0 && entry.metadata().is_ok_and(|file| file.len() <= MOST_BYTES) {
                left -= 1;
                let text = String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
                let called = CALLS.iter().filter(|(call, _)| is_called(&text, call));
                found.extend(called.map(|(_, extension)| (*extension).to_owned()));
            }
        }
    }
    found
}

/// Whether a call stands in a script, and not as the end of another name nor as text in `function_exists('mb_strlen')`.
fn is_called(text: &str, call: &str) -> bool {
    text.match_indices(call).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let is_function = call.ends_with('_') || call == "imagecreate";
        let named = before.is_some_and(|before| before.is_alphanumeric() || "_$>:".contains(before));
        !(named || is_function && matches!(before, Some('\'' | '"')))
    })
}
