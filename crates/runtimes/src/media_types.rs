//! Types of files by their endings, for web servers that bring no table of their own.
//! <https://www.iana.org/assignments/media-types>

/// Each type with its endings.
const TYPES: [(&str, &str); 36] = [
    ("application/atom+xml", "atom"),
    ("application/gzip", "gz"),
    ("application/json", "json map"),
    ("application/ld+json", "jsonld"),
    ("application/manifest+json", "webmanifest"),
    ("application/pdf", "pdf"),
    ("application/rss+xml", "rss"),
    ("application/wasm", "wasm"),
    ("application/xhtml+xml", "xhtml"),
    ("application/zip", "zip"),
    ("audio/mpeg", "mp3"),
    ("audio/ogg", "ogg"),
    ("audio/x-wav", "wav"),
    ("font/otf", "otf"),
    ("font/ttf", "ttf"),
    ("font/woff", "woff"),
    ("font/woff2", "woff2"),
    ("image/avif", "avif"),
    ("image/gif", "gif"),
    ("image/jpeg", "jpeg jpg"),
    ("image/png", "png"),
    ("image/svg+xml", "svg svgz"),
    ("image/tiff", "tif tiff"),
    ("image/vnd.microsoft.icon", "ico"),
    ("image/webp", "webp"),
    ("text/calendar", "ics"),
    ("text/css", "css"),
    ("text/csv", "csv"),
    ("text/html", "html htm"),
    ("text/javascript", "js mjs"),
    ("text/markdown", "md"),
    ("text/plain", "txt"),
    ("text/xml", "xml xsl"),
    ("video/mp4", "mp4"),
    ("video/quicktime", "mov"),
    ("video/webm", "webm"),
];

/// The table as nginx reads it. <https://nginx.org/en/docs/http/ngx_http_core_module.html#types>
pub(crate) fn directives() -> String {
    TYPES.iter().map(|(kind, endings)| format!("        {kind} {endings};\n")).collect()
}

/// The table in PHP, by endings.
pub(crate) fn php() -> String {
    let entries = TYPES
        .iter()
        .flat_map(|(kind, endings)| endings.split(' ').map(move |ending| format!("        '{ending}' => '{kind}',\n")));
    entries.collect()
}

/// The table as Apache reads it. <https://httpd.apache.org/docs/2.4/mod/mod_mime.html#typesconfig>
pub(crate) fn lines() -> String {
    TYPES.iter().map(|(kind, endings)| format!("{kind} {endings}\n")).collect()
}
