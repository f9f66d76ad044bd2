//! The pages of a dashboard over all stored studies: a list, two studies beside each other, a metric over time.
//!
//! They are made on the server and need no script. A study's own page is its report. Links are the paths of [`DashboardPage`]; what
//! they ask for stands in the query, so that no name becomes part of a path.

mod comparison;
mod glance;
mod history;
mod live;

use std::sync::Arc;

use jiff::Timestamp;
use minijinja::value::Serde;
use minijinja::{Value, context};
use serde::Serialize;
use stampede_core::Revision;

use super::{STYLE, WORDS, digest, render};
use crate::StudyView;

pub use self::comparison::comparison;
pub use self::glance::Glance;
pub use self::history::{HistoryPoint, HistoryView, history};
pub(super) use self::live::events;
pub use self::live::{EVENTS, live};

/// The pages and their paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DashboardPage {
    /// All studies, or those that are searched for; with `a`, to compare one with that.
    Studies,
    /// The report of one (`id`).
    Study,
    /// Two beside each other (`a`, `b`).
    Compare,
    /// A metric over time (`workload`, `runtime`, `metric`).
    History,
}

impl DashboardPage {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Studies, Self::Study, Self::Compare, Self::History];

    /// Where it is.
    pub fn path(self) -> &'static str {
        match self {
            Self::Studies => "/",
            Self::Study => "/study",
            Self::Compare => "/compare",
            Self::History => "/history",
        }
    }
}

/// A study in the list.
#[derive(Clone, Debug)]
pub struct ListedStudy {
    /// Its name.
    pub id: String,
    /// What it asks: `compare`.
    pub question: String,
    /// What is served.
    pub workload: String,
    /// What is compared.
    pub cases: Vec<String>,
    /// Which states of the application were measured.
    pub revisions: Vec<Revision>,
    /// How many trials are stored.
    pub trials: u32,
    /// When it was started.
    pub started_at: Timestamp,
    /// When it was finished, if it was.
    pub finished_at: Option<Timestamp>,
    /// Whether it was measured elsewhere.
    pub imported: bool,
    /// What it comes to; none of what is not shown, and of what could not be read.
    pub glance: Option<Arc<Glance>>,
}

/// What is looked for in the list; an empty word asks for nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Filter {
    /// Words, all of which must stand in a study's name, question, workload, cases or revisions.
    pub words: String,
    /// The question.
    pub question: String,
    /// The workload.
    pub workload: String,
    /// `finished`, `unfinished` or `imported`.
    pub state: String,
}

/// A part of the list.
#[derive(Clone, Debug)]
pub struct ListView<'a> {
    /// What was looked for.
    pub filter: &'a Filter,
    /// The study that another one is sought for, to be compared with.
    pub chosen: Option<&'a str>,
    /// The questions and workloads that there are.
    pub questions: &'a [String],
    /// The workloads that there are.
    pub workloads: &'a [String],
    /// The studies of this page, newest first.
    pub studies: &'a [ListedStudy],
    /// How many were found, on all pages.
    pub found: usize,
    /// How many are stored.
    pub stored: usize,
    /// Which page this is, from 1, and how many there are.
    pub page: (usize, usize),
}

#[derive(Serialize)]
struct ListRow<'a> {
    id: &'a str,
    href: String,
    /// What it comes to, with its picture and its machine.
    glance: Option<&'a Glance>,
    question: String,
    cases: String,
    revisions: String,
    /// What leads on to a comparison; nothing of the study that is chosen.
    compare: Option<String>,
    trials: u32,
    started: String,
    state: String,
}

/// The page of the list.
pub fn list(view: &ListView<'_>) -> String {
    let row = |study: &'_ ListedStudy| -> Value {
        let finished = |at| format!("{} {} UTC", WORDS.of("finished"), time(at));
        let ended = study.finished_at.map_or_else(|| WORDS.of("unfinished"), finished);
        Value::from(Serde(ListRow {
            id: &study.id,
            href: study_link(&study.id),
            glance: study.glance.as_deref(),
            question: format!("{} {}", study.question, study.workload),
            cases: some(&study.cases),
            revisions: some(&study.revisions.iter().map(Revision::to_string).collect::<Vec<_>>()),
            compare: match view.chosen {
                None => Some(list_link(view.filter, None, Some(&study.id))),
                Some(chosen) if chosen == study.id => None,
                Some(chosen) => Some(link(DashboardPage::Compare.path(), &[("a", chosen), ("b", &study.id)])),
            },
            trials: study.trials,
            started: time(study.started_at),
            state: if study.imported { format!("{ended} ({})", WORDS.of("imported")) } else { ended },
        }))
    };
    let (page, pages) = view.page;
    let turned = |to: usize| list_link(view.filter, Some(to), view.chosen);
    document(
        "list.html",
        &WORDS.of("all_studies"),
        context! {
            filter => Serde(view.filter),
            chosen => view.chosen,
            chosen_href => view.chosen.map(study_link),
            another => list_link(view.filter, None, None),
            all => list_link(&Filter::default(), None, view.chosen),
            questions => Serde(view.questions),
            workloads => Serde(view.workloads),
            rows => view.studies.iter().map(row).collect::<Vec<_>>(),
            found => view.found,
            stored => view.stored,
            page => page,
            pages => pages,
            newer => (page > 1).then(|| turned(page - 1)),
            older => (page < pages).then(|| turned(page + 1)),
        },
    )
}

/// A page of the list, on which another study may be sought for one that is chosen.
fn list_link(filter: &Filter, page: Option<usize>, chosen: Option<&str>) -> String {
    let Filter { words, question, workload, state } = filter;
    let page = page.map(|page| page.to_string()).unwrap_or_default();
    let pairs = [
        ("q", words.as_str()),
        ("question", question.as_str()),
        ("workload", workload.as_str()),
        ("state", state.as_str()),
        ("page", page.as_str()),
        ("a", chosen.unwrap_or_default()),
    ];
    link(DashboardPage::Studies.path(), &pairs)
}

/// The first of many names: all of them are in the report.
fn some(names: &[String]) -> String {
    const SHOWN: usize = 4;
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} (+{more})"),
    }
}

/// A page that says why there is none, in a sentence.
pub fn problem(title: &str, text: &str) -> String {
    document("problem.html", title, context! { text => text })
}

/// A page that asks for the token.
pub fn locked() -> String {
    document("problem.html", &WORDS.of("locked"), context! { text => WORDS.of("locked_note") })
}

/// What may be loaded and run by a page: the script and style of reports by their digests, events of this dashboard alone, and forms
/// that go nowhere else.
/// <https://www.w3.org/TR/CSP3/>
pub fn policy() -> String {
    format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        digest(super::SCRIPT.trim_end()),
        digest(STYLE.trim_end())
    )
}

fn document(template: &str, title: &str, content: Value) -> String {
    let frame = context! {
        texts => Serde(&WORDS.0),
        title => title,
        style => Value::from_safe_string(STYLE.trim_end().to_owned()),
        home => DashboardPage::Studies.path(),
        history => DashboardPage::History.path(),
        version => env!("CARGO_PKG_VERSION"),
    };
    render(template, context! { ..content, ..frame })
}

/// Where another study is chosen, to be compared with this one.
pub(super) fn against(view: &StudyView<'_>) -> String {
    list_link(&Filter::default(), None, Some(view.study.id.as_str()))
}

fn study_link(id: &str) -> String {
    link(DashboardPage::Study.path(), &[("id", id)])
}

/// A path with a query; what is empty is left out.
fn link(path: &str, pairs: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(pairs.iter().filter(|(_, value)| !value.is_empty()));
    let query = query.finish();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M").to_string()
}
