//! Document: one Markdown text, read once for its headings, its links and its page.

use std::collections::BTreeMap;

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

pub(crate) struct Document {
    pub(crate) title: String,
    pub(crate) parts: Vec<Part>,
    text: String,
}

/// A heading with the text below it.
pub(crate) struct Part {
    pub(crate) title: String,
    pub(crate) anchor: String,
    pub(crate) text: String,
    level: HeadingLevel,
    /// Text and address of each link, in their order.
    links: Vec<(String, String)>,
}

impl Document {
    pub(crate) fn read(text: &str) -> Self {
        let mut parts: Vec<Part> = Vec::new();
        let mut slugs = Slugs::default();
        let mut is_heading = false;
        let mut is_link = false;
        for event in parser(text) {
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    is_heading = true;
                    parts.push(Part::new(level));
                }
                Event::End(TagEnd::Heading(_)) => {
                    is_heading = false;
                    if let Some(part) = parts.last_mut() {
                        part.anchor = slugs.next(&part.title);
                    }
                }
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    is_link = true;
                    if parts.is_empty() {
                        parts.push(Part::new(HeadingLevel::H1));
                    }
                    if let Some(part) = parts.last_mut() {
                        part.links.push((String::new(), dest_url.to_string()));
                    }
                }
                Event::End(TagEnd::Link | TagEnd::Image) => is_link = false,
                Event::Text(text) | Event::Code(text) => {
                    let Some(part) = parts.last_mut() else { continue };
                    if is_link && let Some((title, _)) = part.links.last_mut() {
                        title.push_str(&text);
                    }
                    if is_heading { &mut part.title } else { &mut part.text }.push_str(&text);
                }
                Event::SoftBreak | Event::HardBreak | Event::End(_) => {
                    if let Some(part) = parts.last_mut()
                        && !is_heading
                        && !part.text.ends_with(' ')
                    {
                        part.text.push(' ');
                    }
                }
                _ => {}
            }
        }
        let title = parts.first().map(|part| part.title.clone()).unwrap_or_default();
        Self { title, parts, text: text.to_owned() }
    }

    pub(crate) fn links(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flat_map(|part| part.links.iter().map(|(_, address)| address.as_str()))
    }

    pub(crate) fn has_anchor(&self, anchor: &str) -> bool {
        self.parts.iter().any(|part| part.anchor == anchor)
    }

    /// Sections of a table of contents, each with the titles and paths of its links; this document is in `docs`.
    pub(crate) fn contents(&self) -> Vec<(String, Vec<(String, String)>)> {
        let sections = self.parts.iter().filter(|part| part.level == HeadingLevel::H2);
        let entries = |part: &Part| {
            let of_documents = part.links.iter().filter(|(_, address)| address.ends_with(".md"));
            of_documents
                .map(|(title, address)| (title.clone(), super::links::joined(super::CONTENTS, address)))
                .collect()
        };
        sections.map(|part| (part.title.clone(), entries(part))).collect()
    }

    /// As HTML; `resolve` says where a link leads, and none where there is nothing to lead to.
    pub(crate) fn html(&self, resolve: &dyn Fn(&str) -> Option<String>) -> String {
        let mut parts = self.parts.iter().filter(|part| !part.title.is_empty());
        let mut is_lost = false;
        let events = parser(&self.text).flat_map(|event| match event {
            Event::Start(Tag::Heading { level, classes, attrs, .. }) => {
                let id = parts.next().map(|part| CowStr::from(part.anchor.clone()));
                vec![Event::Start(Tag::Heading { level, id, classes, attrs })]
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => match resolve(&dest_url) {
                Some(to) => vec![Event::Start(Tag::Link { link_type, dest_url: to.into(), title, id })],
                None => {
                    is_lost = true;
                    vec![Event::InlineHtml("<span class=\"source\">".into())]
                }
            },
            Event::End(TagEnd::Link) if is_lost => {
                is_lost = false;
                vec![Event::InlineHtml("</span>".into())]
            }
            Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
                let dest_url = resolve(&dest_url).map_or(dest_url, CowStr::from);
                vec![Event::Start(Tag::Image { link_type, dest_url, title, id })]
            }
            // What is wider than a phone is scrolled by itself, also with the keyboard.
            Event::Start(Tag::Table(alignments)) => vec![
                Event::Html("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table\">".into()),
                Event::Start(Tag::Table(alignments)),
            ],
            Event::End(TagEnd::Table) => vec![Event::End(TagEnd::Table), Event::Html("</div>\n".into())],
            Event::Start(Tag::CodeBlock(kind)) => {
                let label = "<div class=\"wide code\" tabindex=\"0\" role=\"region\" aria-label=\"Code\">";
                vec![Event::Html(label.into()), Event::Start(Tag::CodeBlock(kind))]
            }
            Event::End(TagEnd::CodeBlock) => vec![Event::End(TagEnd::CodeBlock), Event::Html("</div>\n".into())],
            other => vec![other],
        });
        let mut out = String::new();
        html::push_html(&mut out, events);
        out
    }
}

impl Part {
    fn new(level: HeadingLevel) -> Self {
        Self { title: String::new(), anchor: String::new(), text: String::new(), level, links: Vec::new() }
    }
}

fn parser(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS)
}

/// Anchors as GitHub makes them of headings, so that a link holds there and here.
#[derive(Default)]
struct Slugs {
    seen: BTreeMap<String, usize>,
}

impl Slugs {
    fn next(&mut self, title: &str) -> String {
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
        let slug: String = title.trim().to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-");
        let seen = self.seen.entry(slug.clone()).or_default();
        *seen += 1;
        if *seen == 1 { slug } else { format!("{slug}-{}", *seen - 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_have_the_anchors_of_github() {
        let text = "# A `b-c` & d!\n\n## Über 50 %\n\n## Again\n\n## Again\n\ntext [a](b.md#c)\n";
        let document = Document::read(text);
        let anchors: Vec<&str> = document.parts.iter().map(|part| part.anchor.as_str()).collect();
        assert_eq!(anchors, ["a-b-c--d", "über-50-", "again", "again-1"]);
        assert_eq!(document.title, "A b-c & d!");
        assert_eq!(document.links().collect::<Vec<_>>(), ["b.md#c"]);
    }

    #[test]
    fn a_link_to_nothing_is_text() {
        let html =
            Document::read("# A\n\n[x](a.rs) [y](b.md)\n").html(&|to| (to == "b.md").then(|| "b.html".to_owned()));
        assert!(html.contains("<span class=\"source\">x</span> <a href=\"b.html\">y</a>"), "{html}");
        assert!(html.contains("<h1 id=\"a\">A</h1>"), "{html}");
    }
}
