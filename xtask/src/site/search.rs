//! Search: the text below each heading, in a script that a page loads when somebody searches. Pages from a disk may load scripts, but
//! no data.

use serde_json::json;

use super::{Documents, page_of};

/// `SEARCH = [[page, title of the page, anchor, heading, text], ...]`
pub(crate) fn index(documents: &Documents) -> String {
    let mut rows = Vec::new();
    for (path, document) in documents {
        for part in &document.parts {
            let text = part.text.split_whitespace().collect::<Vec<_>>().join(" ");
            rows.push(json!([page_of(path), document.title, part.anchor, part.title, text]));
        }
    }
    format!("SEARCH = {};\n", json!(rows))
}
