//! What forecasts make of the published rows of `gcp-markdown`: `make bench-forecast-published`.
//!
//! Each row's runtime is measured alone, one request at a time, and its service is forecast from that as it was published: 100 clients
//! that are a round trip away, and as many instances as Cloud Run allows. How long the round trip was is not known. It is fitted to
//! the fastest row, which is then not scored.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use crate::circumstances::Circumstances;
use crate::compare::Compare;
use crate::document::{self, Section};
use crate::failure::Failure;
use crate::files;
use crate::flags::UnderTest;
use crate::forecast::{self, Figures};
use crate::progress::tell;

/// The experiment as the program knows it.
const EXPERIMENT: &str = include_str!("../../../studies/gcp-markdown.yaml");
/// Its table with an instance's limits and the requests per second, which are its first column.
const TABLE: &str = "services";

const LOAD: &str = "closed:100";
/// As long as each row was loaded, from its first request on.
const WINDOW: &str = "60s";
/// A CPU that no row's instance has more of: what is measured on it does not wait for its quota.
const WHOLE: &str = "1";

/// Rows that are no further apart are not compared, as in `stampede reproduce`.
const NEAR: f64 = 1.2;
/// Forecasts are held to this share of what real services do (validation.rs), so they are equal when no further apart.
const EQUAL: f64 = 1.05;

/// The longest round trip that is tried, in milliseconds, and how often what is left of it is halved.
const LONGEST: f64 = 200.0;
const HALVINGS: u32 = 12;

/// Why nothing is forecast.
const FASTEST: &str = "the fastest published row cannot be measured here, and without it no round trip is known";

/// How it is to be done.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Published {
    /// How often each calibration is measured
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// The workload, or a folder with one of the same apps
    #[arg(long, value_name = "NAME|DIR", default_value = "markdown")]
    pub(crate) workload: String,
    /// The document
    #[arg(long, value_name = "FILE", default_value = "docs/bench-forecast-published.md")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) under: UnderTest,
}

#[derive(Debug, Deserialize)]
struct Experiment {
    tables: Vec<Table>,
}

#[derive(Debug, Deserialize)]
struct Table {
    id: String,
    #[serde(default)]
    case: Keys,
    rows: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    title: String,
    #[serde(default)]
    case: Keys,
    #[serde(default)]
    published: Vec<Option<f64>>,
}

/// What a table says of all its rows, or a row of itself.
#[derive(Clone, Debug, Default, Deserialize)]
struct Keys {
    runtime: Option<String>,
    app: Option<String>,
    #[serde(default)]
    set: BTreeMap<String, Value>,
    cpus: Option<f64>,
    memory: Option<String>,
    concurrency: Option<u32>,
}

/// A published service.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    title: String,
    runtime: String,
    app: Option<String>,
    /// `RUNTIME.SETTING=VALUE`
    set: Vec<String>,
    cpus: String,
    memory: String,
    concurrency: u32,
    /// Requests per second; of some nothing was published.
    published: Option<f64>,
}

fn unreadable(problem: impl Display) -> Failure {
    Failure::Unusable(format!("read studies/gcp-markdown.yaml: {problem}"))
}

/// The rows of the table.
fn rows() -> Result<Vec<Row>, Failure> {
    let experiment: Experiment = serde_saphyr::from_str(EXPERIMENT).map_err(unreadable)?;
    let table = experiment.tables.into_iter().find(|table| table.id == TABLE);
    let Table { case: common, rows, .. } = table.ok_or_else(|| unreadable(format!("no table {TABLE}")))?;
    let row = |Entry { title, case, published }: Entry| {
        let lacks = |what| unreadable(format!("{title} has no {what}"));
        let runtime = case.runtime.or_else(|| common.runtime.clone()).ok_or_else(|| lacks("runtime"))?;
        let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Ok(Row {
            set: case.set.iter().map(|(name, value)| format!("{runtime}.{name}={}", plain(value))).collect(),
            app: case.app.or_else(|| common.app.clone()),
            cpus: case.cpus.or(common.cpus).ok_or_else(|| lacks("cpus"))?.to_string(),
            memory: case.memory.or_else(|| common.memory.clone()).ok_or_else(|| lacks("memory"))?,
            concurrency: case.concurrency.or(common.concurrency).ok_or_else(|| lacks("concurrency"))?,
            published: published.first().copied().flatten(),
            runtime,
            title,
        })
    };
    rows.into_iter().map(row).collect()
}

/// A service with what came of it.
struct Forecast {
    row: Row,
    /// Why there are none, in a line.
    figures: Result<Figures, String>,
}

/// Measures, forecasts, and writes the document.
pub(crate) fn run(published: &Published) -> Result<(), Failure> {
    let Published { rounds, workload, output, under: UnderTest { stampede, remark } } = published;
    let stampede = Compare::new(stampede.clone())?;
    let under = Circumstances::now(&stampede.version()?, remark);
    let bench = Bench { stampede, workload: workload.clone(), rounds: rounds.to_string() };
    let mut calibrated = Vec::new();
    for row in rows()? {
        tell(&format!("alone: {}", row.title));
        let studies = bench.calibrate(&row);
        if let Err(error) = &studies {
            tell(&format!("not here: {error}"));
        }
        calibrated.push((row, studies));
    }
    let fastest = calibrated.iter().filter(|(row, _)| row.published.is_some());
    let fastest = fastest.max_by(|(a, _), (b, _)| a.published.unwrap_or(0.0).total_cmp(&b.published.unwrap_or(0.0)));
    let Some((fastest, Ok(studies))) = fastest else { return Err(Failure::Missing(FASTEST.to_owned())) };
    tell(&format!("the round trip by {}", fastest.title));
    let round_trip = bench.fit(fastest, studies)?;
    let fastest = fastest.title.clone();
    let mut forecasts = Vec::new();
    for (row, studies) in calibrated {
        tell(&format!("forecast: {}", row.title));
        let figures = match studies {
            Ok(studies) => Ok(bench.forecast(&row, &studies, round_trip)?),
            Err(error) => Err(error.to_string().lines().next().unwrap_or_default().to_owned()),
        };
        forecasts.push(Forecast { row, figures });
    }
    Ok(files::write(output, &document(&forecasts, &fastest, round_trip, &under))?)
}

/// The program under test, and what it measures.
struct Bench {
    stampede: Compare,
    workload: String,
    rounds: String,
}

impl Bench {
    /// Measures one instance alone: one request at a time; the same on as much CPU as it has, where that is less, for what a start
    /// takes; and so many requests at a time as it is given.
    fn calibrate(&self, row: &Row) -> Result<Vec<String>, Failure> {
        let at_once = format!("closed:{}", row.concurrency);
        let mut asked = vec![("closed:1", WHOLE)];
        if row.cpus != WHOLE {
            asked.push(("closed:1", &row.cpus));
        }
        if row.concurrency > 1 {
            asked.push((&at_once, WHOLE));
        }
        let mut studies = Vec::new();
        for (load, cpus) in asked {
            let mut arguments = vec!["compare", &self.workload, "--runtimes", &row.runtime, "--load", load];
            arguments.extend(["--cpus", cpus, "--memory", &row.memory, "--rounds", &self.rounds]);
            arguments.extend(["--duration", "4s", "--warm-up", "2s", "--no-yard-stick", "--quiet"]);
            arguments.extend(row.app.iter().flat_map(|app| ["--app", app]));
            arguments.extend(row.set.iter().flat_map(|set| ["--set", set]));
            let study = self.stampede.call(&arguments, |study| study["finished_at"].is_string())?;
            studies.push(forecast::name(&study)?);
        }
        Ok(studies)
    }

    /// The round trip in milliseconds with which a row is forecast as it was published; 0 where it is not as fast without one.
    fn fit(&self, row: &Row, studies: &[String]) -> Result<f64, Failure> {
        let published = row.published.unwrap_or_default();
        let (mut shortest, mut longest) = (0.0, LONGEST);
        for _ in 0..HALVINGS {
            let between = f64::midpoint(shortest, longest);
            if self.forecast(row, studies, between)?.throughput > published {
                shortest = between;
            } else {
                longest = between;
            }
        }
        Ok(shortest)
    }

    fn forecast(&self, row: &Row, studies: &[String], round_trip: f64) -> Result<Figures, Failure> {
        let (trip, concurrency) = (format!("{:.0}us", round_trip * 1e3), row.concurrency.to_string());
        let mut flags = vec!["--load", LOAD, "--client-rtt", &trip, "--cpus", &row.cpus, "--memory", &row.memory];
        flags.extend(["--concurrency", &concurrency, "--duration", WINDOW, "--warm-up", "0s", "--rounds", "10"]);
        forecast::forecast(&self.stampede, studies, &flags)
    }
}

/// How many times as fast one was published as another, and is forecast.
struct Pair<'a> {
    faster: &'a str,
    slower: &'a str,
    published: f64,
    forecast: f64,
}

impl Pair<'_> {
    fn is_confirmed(&self) -> bool {
        self.forecast > EQUAL
    }
}

/// All that differ by more than a fifth and can be scored.
fn pairs<'a>(forecasts: &'a [Forecast], fitted: &str) -> Vec<Pair<'a>> {
    let scored: Vec<(&str, f64, f64)> = forecasts
        .iter()
        .filter(|forecast| forecast.row.title != fitted)
        .filter_map(|Forecast { row, figures }| {
            Some((row.title.as_str(), row.published?, figures.as_ref().ok()?.throughput))
        })
        .collect();
    let mut pairs = Vec::new();
    for &(faster, more, of) in &scored {
        for &(slower, less, to) in &scored {
            if more / less > NEAR {
                pairs.push(Pair { faster, slower, published: more / less, forecast: of / to });
            }
        }
    }
    pairs.sort_by(|a, b| b.published.total_cmp(&a.published));
    pairs
}

fn document(forecasts: &[Forecast], fitted: &str, round_trip: f64, under: &Circumstances) -> String {
    let mut section = Section::new("Forecasts of the published rows");
    section.paragraph(&format!(
        "`stampede forecast` beside the published table of `gcp-markdown` ({TABLE}): each runtime was measured alone on this \
         machine, one request at a time and so many as an instance is given at once, and its service was forecast as it was \
         published: {LOAD} for {WINDOW} from the first start on, by the rules of Cloud Run, with at most 100 instances. The round \
         trip between clients and platform is not known; {round_trip:.1} ms is what {fitted}, the fastest row, comes nearest to its \
         published rate with, and it is not scored. How long an image takes to come, and how fast the platform's processors are, is not known \
         either: a pair of rows is told by its ratio."
    ));
    section.paragraph(&format!(
        "Made by `make bench-forecast-published`. {} A pair is confirmed when the faster row is forecast to be the faster one by more \
         than {:.0} %, which is as near as throughputs are held to come (`make bench-forecast-real`), and refuted otherwise.",
        Circumstances::sentences([under].into_iter()),
        (EQUAL - 1.0) * 100.0
    ));
    let mut table = vec![document::head("row | published req/s | forecast req/s | p50 ms | p99 ms | instances")];
    for Forecast { row, figures } in forecasts {
        let published = row.published.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.1}"));
        let mut cells = vec![row.title.clone(), published];
        match figures {
            Ok(Figures { throughput, p50_ms, p99_ms, instances, .. }) => cells.extend([
                format!("{throughput:.1}"),
                format!("{p50_ms:.1}"),
                format!("{p99_ms:.1}"),
                format!("{instances:.1}"),
            ]),
            Err(_) => cells.extend(["-"; 4].map(str::to_owned)),
        }
        table.push(cells);
    }
    section.table(&table);
    let missing = |Forecast { row, figures }: &Forecast| Some(format!("{}: {}", row.title, figures.as_ref().err()?));
    section.list(&forecasts.iter().filter_map(missing).collect::<Vec<_>>());
    let pairs = pairs(forecasts, fitted);
    let confirmed = pairs.iter().filter(|pair| pair.is_confirmed()).count();
    section.paragraph(&format!(
        "Of {} pairs that were published as more than 20 % apart, {confirmed} are confirmed and {} refuted.",
        pairs.len(),
        pairs.len() - confirmed
    ));
    let head = ["pair", "published", "forecast", ""].map(str::to_owned).to_vec();
    let line = |pair: &Pair<'_>| {
        let Pair { faster, slower, published, forecast } = pair;
        let standing = if pair.is_confirmed() { "confirmed" } else { "refuted" };
        vec![
            format!("{faster} over {slower}"),
            format!("{published:.2}"),
            format!("{forecast:.2}"),
            standing.to_owned(),
        ]
    };
    section.table(&std::iter::once(head).chain(pairs.iter().map(line)).collect::<Vec<_>>());
    format!("# {}\n\n{}\n", section.title, section.text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_are_those_of_the_experiment() {
        let rows = rows().unwrap();
        assert_eq!(rows.len(), 12);
        let row = |title: &str| rows.iter().find(|row| row.title == title).unwrap();
        let apache = row("apache-80");
        assert_eq!((apache.cpus.as_str(), apache.memory.as_str(), apache.concurrency), ("1", "512Mi", 80));
        assert_eq!((apache.app.as_deref(), apache.published), (Some("symfony"), Some(77.8)));
        assert_eq!(apache.set, ["apache-mod-php.MaxRequestWorkers=80"]);
        // What a row does not say is its table's.
        let function = row("cf-php");
        assert_eq!((function.cpus.as_str(), function.memory.as_str(), function.concurrency), ("0.167", "256Mi", 1));
        assert_eq!(row("frankenphp-binary-worker-2x").published, None);
    }

    #[test]
    fn pairs_that_were_published_as_different_are_scored() {
        let row = |title: &str, published: Option<f64>| Row {
            title: title.to_owned(),
            runtime: "go".to_owned(),
            app: None,
            set: Vec::new(),
            cpus: "1".to_owned(),
            memory: "256Mi".to_owned(),
            concurrency: 1,
            published,
        };
        let figures =
            |throughput| Ok(Figures { throughput, p50_ms: 1.0, p99_ms: 2.0, rejected_share: 0.0, instances: 3.0 });
        let forecasts = [
            Forecast { row: row("fitted", Some(1_000.0)), figures: figures(1_000.0) },
            Forecast { row: row("fast", Some(900.0)), figures: figures(450.0) },
            Forecast { row: row("near", Some(800.0)), figures: figures(100.0) },
            Forecast { row: row("slow", Some(300.0)), figures: figures(440.0) },
            Forecast { row: row("untold", None), figures: figures(1.0) },
            Forecast { row: row("gone", Some(1.0)), figures: Err("there is no rr".to_owned()) },
        ];
        let told: Vec<_> =
            pairs(&forecasts, "fitted").iter().map(|pair| (pair.faster, pair.slower, pair.is_confirmed())).collect();
        // 450 is no more than 5 % above 440.
        assert_eq!(told, [("fast", "slow", false), ("near", "slow", false)]);
        let text = document(&forecasts, "fitted", 31.25, &Circumstances::default());
        for part in ["31.2 ms", "- gone: there is no rr", "0 are confirmed and 2 refuted", "fast over slow"] {
            assert!(text.replace('\n', " ").contains(part), "{part}: {text}");
        }
    }
}
