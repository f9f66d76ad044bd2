//! The file of a published experiment, `studies/NAME.yaml`, and what is wrong with one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Deserialize;
use stampede_core::{
    Bounds, CaseId, Claim, ClaimTest, Failures, Load, Publication, PublishedColumn, PublishedFigure, PublishedRow,
    PublishedTable, PublishedUnit,
};

use super::KnownPublication;
use super::builds;
use super::case::CaseKeys;
use crate::document::{self, Text};
use crate::mistake::{Gathered, Mistakes};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedFile {
    title: String,
    source: String,
    /// How all that is measured here differs from what was published.
    #[serde(default)]
    unlike: Vec<String>,
    /// Builds of PHP that rows name and `--build` places, each with what it must be.
    #[serde(default)]
    pub(super) builds: BTreeMap<String, String>,
    /// What a run without `--scale` or `--full` multiplies times with.
    #[serde(default = "whole")]
    pub(super) scale: f64,
    /// Blocks of a run without `--rounds`.
    pub(super) rounds: u32,
    pub(super) tables: Vec<TableEntry>,
    #[serde(default)]
    pub(super) claims: Vec<ClaimEntry>,
}

fn whole() -> f64 {
    1.0
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableEntry {
    id: String,
    title: String,
    pub(super) workload: Text,
    /// The published window; the length of the load's stages where nothing is said.
    pub(super) duration: Option<Text>,
    /// Load before the window, which is ours and never scaled.
    pub(super) warm_up: Text,
    /// Which of the workload's exchanges make up the load, `a,b`. Those that it says itself where nothing is said.
    pub(super) exchanges: Option<Text>,
    /// `figures` where requests without the right answer are what is looked for, and no fault of a trial.
    #[serde(default)]
    failures: FailuresEntry,
    /// How long a client waits for an answer before it gives up, which no publication says; scaled like published times.
    timeout: Option<Text>,
    /// What all rows have in common.
    #[serde(default)]
    pub(super) case: CaseKeys,
    columns: Vec<ColumnEntry>,
    baseline: String,
    pub(super) rows: Vec<RowEntry>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FailuresEntry {
    #[default]
    Faults,
    Figures,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ColumnEntry {
    metric: String,
    unit: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RowEntry {
    id: String,
    title: String,
    #[serde(default)]
    pub(super) case: CaseKeys,
    /// As a table has it, in place of the table's.
    pub(super) exchanges: Option<Text>,
    /// A figure for each column; fewer leave out the last ones.
    #[serde(default)]
    published: Vec<Option<Text>>,
    unlike: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimEntry {
    says: String,
    table: Option<String>,
    metric: Option<String>,
    /// `a / b`: two rows.
    ratio: Option<String>,
    /// `c / d`: two more rows, whose ratio the ratio is held against.
    against: Option<String>,
    /// One row.
    figure: Option<String>,
    from: Option<f64>,
    to: Option<f64>,
    /// Why nothing shows it here.
    untested: Option<String>,
    /// Whether it is about a number that a shorter or weaker load cannot have.
    #[serde(default)]
    pub(super) full: bool,
}

impl PublishedFile {
    /// Reads the text of a file.
    ///
    /// # Errors
    ///
    /// The first error of its YAML, or all mistakes in it.
    pub(super) fn read(known: &KnownPublication) -> Result<(Self, Publication), Mistakes> {
        let KnownPublication { name, place, text } = known;
        let file: Self = document::deserialize(text, serde_saphyr::Options::default()).map_err(|error| {
            Mistakes::one(place, format!("is not a published experiment: {error}"), "correct the line that it names")
        })?;
        let mut reader = Reader { place: place.clone(), mistakes: Gathered::default() };
        let publication = reader.publication(name, &file);
        reader.mistakes.finish(Ok((file, publication)))
    }
}

struct Reader {
    place: String,
    mistakes: Gathered,
}

impl Reader {
    fn wrong(&mut self, what: &str, problem: &str, fix: &str) {
        self.mistakes.add(format!("{} {what}", self.place), problem, fix);
    }

    fn publication(&mut self, name: &str, file: &PublishedFile) -> Publication {
        let PublishedFile { title, source, unlike, builds, scale, rounds, tables, claims } = file;
        for name in builds.keys().filter(|name| !builds::is_name(name)) {
            self.wrong(&format!("build {name}"), "is no name of a build", "use small letters, digits and -");
        }
        if !(*scale > 0.0 && *scale <= 1.0) {
            self.wrong("scale", "is not above 0 and up to 1", "for example scale: 0.1");
        }
        if *rounds < 3 {
            self.wrong("rounds", "give no verdict", "use at least 3");
        }
        let tables: Vec<PublishedTable> = tables.iter().map(|table| self.table(table)).collect();
        let claims = claims.iter().filter_map(|claim| self.claim(claim, &tables)).collect();
        Publication {
            name: name.to_owned(),
            title: title.clone(),
            source: source.clone(),
            unlike: unlike.clone(),
            tables,
            claims,
        }
    }

    fn table(&mut self, entry: &TableEntry) -> PublishedTable {
        let TableEntry {
            id,
            title,
            workload: _,
            duration: _,
            warm_up: _,
            exchanges: _,
            failures,
            timeout,
            case,
            columns,
            baseline,
            rows,
        } = entry;
        let timeout = timeout.as_ref().and_then(|Text(typed)| {
            let read = humantime::parse_duration(typed).ok().filter(|timeout| *timeout >= Duration::from_secs(1));
            if read.is_none() {
                self.wrong(id, "has a timeout that is no time of a second or more", "for example timeout: 30s");
            }
            read
        });
        let columns = columns.iter().filter_map(|ColumnEntry { metric, unit }| {
            let unit = PublishedUnit::ALL.iter().find(|(word, _)| word == unit).map(|(_, unit)| *unit);
            if unit.is_none() {
                self.wrong(id, "has a column in no known unit", "use req/s, s, ms, %, MiB or number");
            }
            Some(PublishedColumn { metric: metric.clone(), unit: unit? })
        });
        let columns: Vec<_> = columns.collect();
        if columns.is_empty() {
            self.wrong(id, "has no columns", "add the figure that was published");
        }
        let mut seen = BTreeSet::new();
        let mut models = BTreeSet::new();
        let mut published_rows = Vec::new();
        for row in rows {
            if !seen.insert(row.id.as_str()) {
                self.wrong(&row.id, "is the name of two rows", "give each a name of its own");
            }
            let load = row.case.load.as_ref().or(case.load.as_ref()).map(|Text(load)| load.parse::<Load>());
            match load {
                Some(Ok(load)) => drop(models.insert(matches!(load, Load::Open { .. }))),
                Some(Err(_)) => self.wrong(&row.id, "has a load that cannot be read", "for example load: closed:16"),
                // The workload has one of its own.
                None => {}
            }
            if row.case.clone().over(case).has_instances_alone() {
                self.wrong(
                    &row.id,
                    "has instances without a concurrency",
                    "say concurrency: 1, or how many requests each is given",
                );
            }
            published_rows.push(self.row(row, columns.len()));
        }
        if models.len() > 1 {
            self.wrong(id, "mixes open and closed loads, which ask different questions", "use a table for each");
        }
        if !seen.contains(baseline.as_str()) {
            self.wrong(id, "has a baseline that is none of its rows", "name one of them");
        }
        PublishedTable {
            failures: match failures {
                FailuresEntry::Faults => Failures::Faults,
                FailuresEntry::Figures => Failures::Figures,
            },
            timeout,
            id: id.clone(),
            title: title.clone(),
            columns,
            baseline: CaseId::new(baseline),
            rows: published_rows,
        }
    }

    fn row(&mut self, entry: &RowEntry, columns: usize) -> PublishedRow {
        let RowEntry { id, title, case, exchanges: _, published, unlike } = entry;
        if case.runtime.as_ref().is_some_and(|Text(runtime)| runtime.contains(',')) {
            self.wrong(id, "has several runtimes", "use a row for each");
        }
        if published.len() > columns {
            self.wrong(id, "has more figures than its table has columns", "add a column");
        }
        let mut figures: Vec<_> = published
            .iter()
            .map(|text| {
                let figure = figure(&text.as_ref()?.0);
                if figure.is_none() {
                    self.wrong(id, "has a figure that is no number", "write 12.5, or 10..20 for a range");
                }
                figure
            })
            .collect();
        figures.resize(columns, None);
        PublishedRow { case: CaseId::new(id), title: title.clone(), figures, unlike: unlike.clone() }
    }

    fn claim(&mut self, entry: &ClaimEntry, tables: &[PublishedTable]) -> Option<Claim> {
        let ClaimEntry { says, table, metric, ratio, against, figure, from, to, untested, full } = entry;
        let within = Bounds { from: *from, to: *to };
        let test = match (table, ratio, figure, untested) {
            (None, None, None, Some(because)) => ClaimTest::Untested { because: because.clone() },
            (Some(table), Some(ratio), None, None) => {
                let read = self.ratio(says, table, ratio, tables);
                let against = against.as_ref().map(|ratio| self.ratio(says, table, ratio, tables));
                let ((of, to), against) = (read?, against.map_or(Some(None), |read| read.map(Some))?);
                ClaimTest::Ratio { table: table.clone(), metric: metric.clone(), of, to, against, within }
            }
            (Some(table), None, Some(figure), None) => {
                let of = self.row_of(says, table, figure, tables)?;
                ClaimTest::Figure { table: table.clone(), metric: metric.clone()?, of, within }
            }
            _ => {
                self.wrong(says, "is no claim", "give it a table with a ratio or a figure, or say why it is untested");
                return None;
            }
        };
        if *full && untested.is_some() {
            self.wrong(says, "is untested, and so in a full run too", "leave out full");
        }
        if against.is_some() && !matches!(test, ClaimTest::Ratio { .. }) {
            self.wrong(says, "holds no ratio against another", "leave out against, or give it a ratio");
        }
        if !matches!(test, ClaimTest::Untested { .. }) && from.is_none() && to.is_none() {
            self.wrong(says, "has no bounds, so that anything shows it", "add from or to");
        }
        Some(Claim { says: says.clone(), test })
    }

    /// `a / b`.
    fn ratio(&mut self, says: &str, table: &str, text: &str, tables: &[PublishedTable]) -> Option<(CaseId, CaseId)> {
        let (of, to) = text.split_once(" / ").unwrap_or((text, ""));
        let [of, to] = [of, to].map(|row| self.row_of(says, table, row.trim(), tables));
        of.zip(to)
    }

    fn row_of(&mut self, says: &str, table: &str, row: &str, tables: &[PublishedTable]) -> Option<CaseId> {
        let rows = tables.iter().find(|known| known.id == table).map(|table| &table.rows);
        let found = rows.into_iter().flatten().find(|known| known.case.as_str() == row).map(|row| row.case.clone());
        if found.is_none() {
            self.wrong(says, &format!("names {row}, which is no row of the table {table}"), "name one of its rows");
        }
        found
    }
}

/// `217.93`, or `80000..160000`.
fn figure(text: &str) -> Option<PublishedFigure> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|value| *value >= 0.0);
    match text.split_once("..") {
        Some((low, high)) => {
            let (low, high) = (number(low)?, number(high)?);
            (low > 0.0 && low < high).then_some(PublishedFigure { low, high })
        }
        None => number(text).map(|value| PublishedFigure { low: value, high: value }),
    }
}
