//! A report that opens in a browser: one file that asks the network for nothing.
//!
//! What it says stands in it as text and tables, and the chart of all trials as SVG: it can be read, searched and printed
//! without a script. The script (`web/`) draws what is worth pointing at: latency distributions and what was sampled over
//! time. A content security policy in the page lets run only the script, and apply only the style, whose digests it names.

mod commands;
mod configuration;
mod curve;
pub mod dashboard;
mod document;
mod forecast;
mod picture;
mod prose;
mod study;
mod title;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Output, State, UndefinedBehavior, Value, context, escape_formatter};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use stampede_core::{RuntimeId, StudyKind, shell_line};

use self::document::WireDocument;
use self::study::{StudyPage, Table};
use crate::capacity::{self, CapacityView};
use crate::format::Format;
use crate::gate::{self, GateView};
use crate::page::{self, Block, Medium, Page};
use crate::replication::{self, ReplicationView};
use crate::size::service::ServiceSizeView;
use crate::size::{self, SizeView};
use crate::tune::{self, TuneView};
use crate::{StudyView, scale, why};

pub use self::document::schema;
pub use self::forecast::forecast;

/// `--html`.
pub(crate) const FORMAT: Format = Format {
    flag: "--html",
    help: "Write a report that opens in a browser, in one file (`-` is stdout, in place of the table)",
    write: |answer| answer.html(),
};

const SCRIPT: &str = include_str!("../../../web/dist/report.js");
const STYLE: &str = include_str!("../../../web/dist/report.css");
const TEXTS: &str = include_str!("../../../web/src/texts.json");

/// Every text of a page that does not come from a study, by name: one file, which the script reads too.
struct Texts(BTreeMap<String, String>);

impl Texts {
    /// A text; nothing where there is none, which tests find.
    fn of(&self, name: &str) -> String {
        debug_assert!(self.0.contains_key(name), "texts.json has no {name}");
        self.0.get(name).cloned().unwrap_or_default()
    }
}

static WORDS: LazyLock<Texts> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the file is part of the program, and every page is made from it in tests")]
    Texts(serde_json::from_str(TEXTS).expect("texts.json maps names to texts"))
});

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.set_formatter(printable);
    for (name, template) in [
        ("page.html", include_str!("../templates/page.html")),
        ("blocks.html", include_str!("../templates/blocks.html")),
        ("study.html", include_str!("../templates/study.html")),
        ("pieces.html", include_str!("../templates/pieces.html")),
        ("dots.svg", include_str!("../templates/dots.svg")),
        ("picture.svg", include_str!("../templates/picture.svg")),
        ("figure.html", include_str!("../templates/figure.html")),
        ("chart.svg", include_str!("../templates/chart.svg")),
        ("curve.html", include_str!("../templates/curve.html")),
        ("dashboard.html", include_str!("../templates/dashboard.html")),
        ("problem.html", include_str!("../templates/problem.html")),
        ("list.html", include_str!("../templates/list.html")),
        ("comparison.html", include_str!("../templates/comparison.html")),
        ("history.html", include_str!("../templates/history.html")),
        ("live.html", include_str!("../templates/live.html")),
    ] {
        #[expect(clippy::expect_used, reason = "templates are part of the program, and all are rendered in tests")]
        environment.add_template(name, template).expect("the template is well-formed");
    }
    environment
});

/// Escapes what a template prints; control characters of servers' logs, which HTML does not allow, are left out.
fn printable(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), minijinja::Error> {
    match value.as_str() {
        Some(text) if !value.is_safe() && text.contains(is_unprintable) => {
            escape_formatter(out, state, &Value::from(text.replace(is_unprintable, "")))
        }
        _ => escape_formatter(out, state, value),
    }
}

/// Control characters, and those that turn the direction of text around, so that a name could look like another.
fn is_unprintable(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t' || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// What stands before the studies of a page.
#[derive(Serialize)]
struct Head {
    title: String,
    /// By which name it is stored.
    origin: Option<String>,
    /// What it comes to, in a sentence; that of the only study where there is none.
    lead: Option<String>,
    blocks: Vec<HeadBlock>,
    /// What its commands are for, and they: that which does it again first.
    commands: Vec<(String, String)>,
}

/// A piece of what stands before the studies, or is an open part.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum HeadBlock {
    Heading {
        text: String,
    },
    Paragraph {
        text: Vec<prose::Piece>,
    },
    List {
        items: Vec<Vec<prose::Piece>>,
    },
    /// Folded away where it is one of several.
    Table {
        table: Table,
        folded: bool,
    },
    Curve {
        curve: curve::Curve,
    },
    /// Beside each other, as far as the page is wide enough.
    Curves {
        curves: Vec<curve::Curve>,
    },
    Map {
        map: forecast::CostMap,
    },
}

impl HeadBlock {
    fn table(table: Table) -> Self {
        Self::Table { table, folded: false }
    }

    fn paragraph(text: &str) -> Self {
        Self::Paragraph { text: prose::pieces(text) }
    }

    fn item(text: &str) -> Self {
        Self::List { items: vec![prose::pieces(text)] }
    }

    /// The blocks of a page that has its title already.
    fn all(blocks: Vec<Block>) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for block in blocks {
            // Of several figures the first decides.
            let folded = matches!(all.last(), Some(Self::Table { .. }));
            let legend = if let Block::Table(table) = &block { table.legend() } else { None };
            let next = match block {
                Block::Gap | Block::Heading { level: 1, .. } => continue,
                Block::Caption(text) | Block::Heading { text, .. } => Self::Heading { text },
                Block::Paragraph(text) | Block::Strong(text) | Block::Alarm(text) | Block::Legend(text) => {
                    Self::paragraph(&text)
                }
                Block::Item(text) | Block::Warning(text) | Block::SubItem(text) => Self::item(&text),
                Block::Finding { title, texts, advice, .. } => {
                    Self::item(&format!("{title}: {} {advice}", texts.join(" ")))
                }
                Block::Table(table) => Self::Table { table: Table::of(&table), folded },
            };
            match (all.last_mut(), next) {
                (Some(Self::List { items }), Self::List { items: more }) => items.extend(more),
                (_, next) => all.push(next),
            }
            all.extend(legend.map(|text| Self::paragraph(&text)));
        }
        all
    }
}

/// A page about one study.
pub fn study(view: &StudyView<'_>) -> String {
    study_beside(view, None)
}

/// The same with a way back to the list of all studies, and what follows a study that is not finished.
pub fn study_of_dashboard(view: &StudyView<'_>) -> String {
    study_beside(view, Some(dashboard::DashboardPage::Studies))
}

fn study_beside(view: &StudyView<'_>, home: Option<dashboard::DashboardPage>) -> String {
    let (lead, blocks) = answer(view).unzip();
    let (title, origin) = (title::of_study(view), Some(title::origin(view)));
    let head = Head { title, origin, lead, blocks: blocks.unwrap_or_default(), commands: Vec::new() };
    framed(&head, &view.with_parts(), home, home.is_some() && view.finished_at.is_none())
}

/// What a study comes to that asks for something else than a comparison, with what shows it.
fn answer(view: &StudyView<'_>) -> Option<(String, Vec<HeadBlock>)> {
    if let Some(explanation) = why::explanation(view) {
        let told = why::told(view, &explanation);
        let blocks = vec![
            HeadBlock::Heading { text: why::CHANGES.to_owned() },
            HeadBlock::table(Table::of(&why::changes(view, &explanation))),
            HeadBlock::paragraph(&told.method),
        ];
        return Some((told.outcome.into_iter().chain(told.remedy).collect::<Vec<_>>().join(" "), blocks));
    }
    match view.study.kind {
        StudyKind::Capacity => Some(of_capacity(view)),
        StudyKind::Scale => Some(of_scale(view)),
        _ => None,
    }
}

fn of_scale(view: &StudyView<'_>) -> (String, Vec<HeadBlock>) {
    // How services compare comes first, then what each of them does.
    let (each, between) = scale::sentences(view);
    let lead = if between.is_empty() { scale::answer(view) } else { between.join(" ") };
    let mut blocks = vec![HeadBlock::paragraph(&scale::question(view))];
    if !between.is_empty() {
        blocks.insert(0, HeadBlock::List { items: each.iter().map(|sentence| prose::pieces(sentence)).collect() });
    }
    for (service, table) in scale::services(view) {
        blocks.extend(service.map(|text| HeadBlock::Heading { text }));
        let mut table = Table::of(&table);
        if let Some(first) = table.columns.first_mut() {
            *first = WORDS.of("metric");
        }
        // Text indents what is a part of the row above.
        for title in table.rows.iter_mut().filter_map(|row| row.first_mut()) {
            if let Some(part) = title.strip_prefix("  ") {
                *title = format!("\u{2013} {part}");
            }
        }
        blocks.push(HeadBlock::table(table));
    }
    blocks.push(HeadBlock::paragraph(&scale::method(view)));
    (lead, blocks)
}

fn of_capacity(view: &StudyView<'_>) -> (String, Vec<HeadBlock>) {
    let view = &CapacityView { study: *view, capacity: &stampede_analysis::capacity(view.study, view.trials) };
    let Page { answer, blocks } = capacity::page(view);
    let mut blocks = HeadBlock::all(blocks);
    let curves = curve::of_capacity(view).into_iter().map(|curve| HeadBlock::Curve { curve });
    blocks.splice(1..1, curves);
    (answer.join(" "), blocks)
}

/// A page about a published experiment: its tables beside ours, then each study.
pub fn replication(view: &ReplicationView<'_>, studies: &[StudyView<'_>]) -> String {
    let publication = view.publication;
    let blocks = HeadBlock::all(replication::page(view, Medium::Html).blocks);
    let mut command = vec!["stampede".to_owned(), "reproduce".to_owned(), publication.name.clone()];
    for (flag, factor) in [("--scale", view.scale), ("--rate-scale", view.rate_scale)] {
        command.extend([flag.to_owned(), factor.to_string()]);
    }
    if view.tables.len() < publication.tables.len() {
        let ids: Vec<&str> = view.tables.iter().map(|table| table.run.table.id.as_str()).collect();
        command.extend(["--tables".to_owned(), ids.join(",")]);
    }
    let names: Vec<&str> = studies.iter().map(|view| view.study.id.as_str()).collect();
    let (studies_flag, page_flag) =
        (["--studies".to_owned(), names.join(",")], ["--html".to_owned(), "page.html".to_owned()]);
    let again = [&command[..], &studies_flag, &page_flag].concat();
    let head = Head {
        title: format!("{}: {}", publication.name, publication.title),
        origin: None,
        lead: Some(replication::lead(view)),
        blocks,
        commands: vec![
            (WORDS.of("measure_again"), shell_line(&command)),
            (WORDS.of("report_again"), shell_line(&again)),
        ],
    };
    page(&head, studies)
}

/// A page about a gate: what it says, then the study or the two of them.
pub fn gate(view: &GateView<'_>, studies: &[StudyView<'_>]) -> String {
    let columns = ["case", "metric", "before", "after", "ratio", "95 % interval", "rounds", "outcome"];
    let table = Table { columns: columns.map(str::to_owned).to_vec(), rows: gate::rows(view) };
    let mut blocks = vec![HeadBlock::table(table)];
    blocks.extend(gate::methods(view).into_iter().map(HeadBlock::paragraph));
    let head = Head {
        title: format!("{} compared with {}", view.head, view.base),
        origin: None,
        lead: Some(gate::conclusion(view)),
        blocks,
        commands: Vec::new(),
    };
    page(&head, studies)
}

/// A page about a search for settings: what it found, then each comparison of the winner.
pub fn tune(view: &TuneView<'_>) -> String {
    let columns = ["setting", "values, with the other settings of the winner"].map(str::to_owned).to_vec();
    let curves = Table { columns, ..Table::of(&tune::curves(view)) };
    let verdicts = tune::verdicts(view).iter().map(|line| prose::pieces(line)).collect();
    let blocks = vec![
        HeadBlock::paragraph(&tune::question(view)),
        HeadBlock::paragraph(&tune::searched(view)),
        HeadBlock::List { items: verdicts },
        HeadBlock::Heading { text: WORDS.of("settings_near") },
        HeadBlock::paragraph(&WORDS.of("settings_near_note")),
        HeadBlock::Curves { curves: curve::of_knobs(&tune::knob_curves(view)) },
        HeadBlock::table(curves),
    ];
    let lead = Some(tune::conclusion(view).join(" "));
    let studies: Vec<StudyView<'_>> = view.held.iter().map(|held| held.view).collect();
    let runtime = view.runtime.as_ref().map(RuntimeId::as_str);
    let title = format!("{}: its best settings", title::on(view.workload, runtime.into_iter()));
    let origin = Some(format!("search {}", view.id));
    page(&Head { title, origin, lead, blocks, commands: Vec::new() }, &studies)
}

/// A page about a search for a size: what it found, and the blocks that show that it holds.
pub fn size(view: &SizeView<'_>) -> String {
    found("size", view.workload, view.id, size::page(view), view.studies)
}

/// The same of a search for an autoscaled service.
pub fn service_size(view: &ServiceSizeView<'_>) -> String {
    found("service", view.workload, view.id, size::service::page(view), view.studies)
}

fn found(what: &str, workload: &str, search: &str, searched: Page, studies: &[StudyView<'_>]) -> String {
    let Page { answer, blocks } = searched;
    let head = Head {
        title: format!("{workload}: the cheapest {what}"),
        origin: Some(format!("search {search}")),
        lead: Some(answer.join(" ")),
        blocks: HeadBlock::all(blocks),
        commands: Vec::new(),
    };
    page(&head, studies)
}

/// A chart of the metric that decides, as a file by itself; none where no trial has it.
pub fn chart(view: &StudyView<'_>) -> Option<String> {
    let dots = crate::dots::chart(view, view.analysis.primary)?;
    Some(render("chart.svg", context! { chart => Serde(dots), workload => view.study.workload.as_str() }))
}

fn page(head: &Head, studies: &[StudyView<'_>]) -> String {
    framed(head, studies, None, false)
}

/// A page; `home` is the one that it leads back to, and one that is followed shows what is stored of its study as it comes.
fn framed(head: &Head, studies: &[StudyView<'_>], home: Option<dashboard::DashboardPage>, is_followed: bool) -> String {
    let followed = studies.first().filter(|_| is_followed);
    let pages: Vec<StudyPage> = studies.iter().map(|view| StudyPage::of(view, &WORDS)).collect();
    let lead = match (&head.lead, pages.first()) {
        (Some(lead), _) => lead.clone(),
        (None, Some(study)) => study.lead.clone(),
        (None, None) => WORDS.of("no_trial"),
    };
    render(
        "page.html",
        context! {
            texts => Serde(&WORDS.0),
            head => Serde(head),
            home => home.map(dashboard::DashboardPage::path),
            against => home.and(studies.first()).map(dashboard::against),
            events => followed.map(dashboard::events),
            live => followed.map(|view| Value::from_safe_string(dashboard::live(view))),
            lead => lead,
            studies => Serde(&pages),
            // The alphabet of base64 needs no escaping, and what is escaped in a script is not read back.
            data => Value::from_safe_string(WireDocument::of(studies).packed()),
            script => Value::from_safe_string(SCRIPT.trim_end().to_owned()),
            script_digest => digest(SCRIPT.trim_end()),
            style => Value::from_safe_string(STYLE.trim_end().to_owned()),
            style_digest => digest(STYLE.trim_end()),
            version => studies.first().map_or(env!("CARGO_PKG_VERSION"), |view| view.study.stampede_version.as_str()),
        },
    )
}

fn render(template: &str, context: Value) -> String {
    #[expect(clippy::expect_used, reason = "templates are part of the program, and all are rendered in tests")]
    TEMPLATES.get_template(template).and_then(|template| template.render(context)).expect("the template renders")
}

/// As a content security policy names an inline script or style.
/// <https://www.w3.org/TR/CSP3/#match-element-to-source-list>
fn digest(text: &str) -> Value {
    Value::from_safe_string(format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(text.as_bytes()))))
}

impl Table {
    fn of(table: &page::Table) -> Self {
        let row = |row| table.row(row).map(str::to_owned).collect();
        Self {
            columns: table.columns.iter().map(|column| column.title.clone()).collect(),
            rows: (0..table.rows()).map(row).collect(),
        }
    }
}
