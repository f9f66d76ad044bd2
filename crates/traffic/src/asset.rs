//! Files that pages are made of.

/// Ends of paths that web servers send from a disk: style sheets, scripts, images, fonts, sounds, archives.
const ENDS: [&str; 37] = [
    "avif",
    "bmp",
    "css",
    "cur",
    "eot",
    "gif",
    "gz",
    "ico",
    "jpeg",
    "jpg",
    "js",
    "map",
    "mjs",
    "mov",
    "mp3",
    "mp4",
    "ogg",
    "otf",
    "pdf",
    "png",
    "rar",
    "svg",
    "svgz",
    "swf",
    "tar",
    "tgz",
    "tif",
    "tiff",
    "ttf",
    "txt",
    "wasm",
    "wav",
    "webm",
    "webmanifest",
    "webp",
    "woff",
    "woff2",
];

/// Whether this path is that of such a file, by its end.
pub(crate) fn is_asset(path: &str) -> bool {
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let name = path.rsplit('/').next().unwrap_or_default();
    let Some((_, end)) = name.rsplit_once('.') else { return false };
    ENDS.iter().any(|known| known.eq_ignore_ascii_case(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_end() {
        for (path, expected) in [
            ("/style.css?v=3", true),
            ("/logo.SVG", true),
            ("/build/app.3f2a.js", true),
            ("/index.php", false),
            ("/articles/version-1.2", false),
            ("/css", false),
            ("/a.css/page", false),
            ("/search?q=a.css", false),
        ] {
            assert_eq!(is_asset(path), expected, "{path}");
        }
    }
}
