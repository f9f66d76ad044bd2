//! How often the first bottleneck that is named is the right one: `make bench-findings`.
//!
//! Faults are provoked for real, each on three runtimes in three severities, and held against a run of the same without
//! the fault; and there are runs without any. A line is kept of each run as it ends, and the document is written anew
//! after each, so that they can be measured in pieces. Who mends a rule by what a held-out run showed gives that fault another third
//! runtime, or other limits, which nobody has seen.

mod fault;
mod neighbour;
mod score;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::fault::{FAULTS, Fault, Setup, healthy};
use self::neighbour::Neighbours;
use crate::circumstances::Circumstances;
use crate::compare::{Compare, CompareError, began};
use crate::failure::Failure;
use crate::files;
use crate::flags::UnderTest;
use crate::jsonl;
use crate::progress::tell;
use crate::steal::{AllProcessors, TOO_MUCH};

/// Severities of a fault, with that of none.
const SEVERITIES: usize = 4;

/// Runtimes of a fault.
const RUNTIMES: usize = 3;

/// The most scripts that a request needs.
const SCRIPTS: u32 = 600;

/// The smallest `opcache.max_accelerated_files` that PHP takes; it has room for 223.
/// <https://www.php.net/manual/en/opcache.configuration.php#ini.opcache.max-accelerated-files>
const FULL: u32 = 200;

/// How often something is run at most until other guests of the host leave the processors alone; the last of these counts.
const TRIES: u32 = 6;

/// How it is to be done.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Provocation {
    /// This fault alone [default: all]
    #[arg(long, value_name = "FAULT", value_parser = PossibleValuesParser::new(FAULTS.map(|fault| fault.name)))]
    pub(crate) only: Option<String>,
    /// These runs alone, the last one not included: 0..40 [default: all]
    #[arg(long, value_name = "FROM..TO", value_parser = range)]
    pub(crate) cells: Option<Range<usize>>,
    /// Runs so far
    #[arg(long, value_name = "FILE", default_value = "crates/bench/data/findings.jsonl")]
    pub(crate) data: PathBuf,
    /// The document
    #[arg(long, value_name = "FILE", default_value = "docs/bench-findings.md")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) under: UnderTest,
}

/// `10..20`
fn range(typed: &str) -> Result<Range<usize>, String> {
    let ends = typed.split_once("..").and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    ends.filter(|cells: &Range<usize>| !cells.is_empty())
        .ok_or_else(|| "it takes two whole numbers, the smaller one first, as 0..40".to_owned())
}

/// A run.
#[derive(Clone, Debug)]
enum Cell {
    /// Of a fault, the place of a runtime, and a severity.
    Provoked(&'static Fault, usize, usize),
    /// Of a built-in workload.
    Healthy(fault::Healthy),
}

impl Cell {
    /// All, in the order in which they are run; their places are their numbers.
    fn all() -> Vec<Self> {
        let provoked = FAULTS.iter().flat_map(|fault| {
            (0..RUNTIMES)
                .flat_map(move |runtime| (0..SEVERITIES).map(move |severity| Self::Provoked(fault, runtime, severity)))
        });
        provoked.chain(healthy().into_iter().map(Self::Healthy)).collect()
    }

    /// The fault's name, or the workload's.
    fn subject(&self) -> &'static str {
        match self {
            Self::Provoked(fault, ..) => fault.name,
            Self::Healthy(healthy) => healthy.workload,
        }
    }

    fn runtime(&self) -> &'static str {
        match self {
            Self::Provoked(fault, runtime, _) => fault.runtimes[*runtime],
            Self::Healthy(healthy) => healthy.runtime,
        }
    }

    fn severity(&self) -> usize {
        match self {
            Self::Provoked(.., severity) => *severity,
            Self::Healthy(_) => 0,
        }
    }

    fn setup(&self) -> Option<Setup> {
        match self {
            Self::Provoked(fault, runtime, severity) => Some((fault.setup)(fault.runtimes[*runtime], *severity)),
            Self::Healthy(_) => None,
        }
    }

    fn plan(&self) -> String {
        let plan = match self {
            Self::Provoked(..) => self.setup().map(|setup| setup.plan(self.runtime())).unwrap_or_default(),
            Self::Healthy(healthy) => healthy.plan(),
        };
        format!("{plan}study: {{rounds: 1, duration: 2s, warm_up: 1s}}\n")
    }
}

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ran {
    cell: usize,
    /// What the cell's number stands for.
    subject: String,
    runtime: String,
    severity: usize,
    began: String,
    outcome: String,
    reason: Option<String>,
    /// The bottleneck that was named.
    answer: Option<String>,
    findings: Vec<String>,
    /// Right answers a second.
    rate: Option<f64>,
    /// The mean response time.
    response_us: Option<f64>,
    open: bool,
    /// What other guests of the host took of the processors.
    #[serde(default)]
    stolen_share: f64,
    under: Circumstances,
}

impl Ran {
    /// `None` where the study is not what it should be.
    fn of(number: usize, cell: &Cell, study: &Value, under: &Circumstances) -> Option<Self> {
        let case = study["cases"].get(0)?;
        let trial = case["trials"].get(0)?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Some(Self {
            cell: number,
            subject: cell.subject().to_owned(),
            runtime: cell.runtime().to_owned(),
            severity: cell.severity(),
            began: began(study)?,
            outcome: text(&trial["outcome"])?,
            reason: text(&trial["reason"]).map(|reason| reason.lines().next().unwrap_or_default().to_owned()),
            answer: text(&case["bottleneck"]),
            findings: case["findings"].as_array()?.iter().filter_map(|finding| text(&finding["id"])).collect(),
            rate: trial["throughput_rps"].as_f64(),
            response_us: trial["response_us"]["mean"].as_f64(),
            open: case["load"]["model"] == "open",
            stolen_share: 0.0,
            under: under.clone(),
        })
    }

    /// The share that a fault took: of the rate, or under an open load of the speed of an answer. A run that was not measured took
    /// all.
    fn cost(&self, healthy: &Self) -> Option<f64> {
        let (with, without) = if self.open {
            (self.response_us.map_or(0.0, f64::recip), healthy.response_us?.recip())
        } else {
            (self.rate.unwrap_or(0.0), healthy.rate?)
        };
        (without > 0.0).then(|| 1.0 - with / without)
    }
}

/// Runs what is missing.
pub(crate) fn run(provocation: &Provocation) -> Result<(), Failure> {
    let Provocation { only, cells, data, output, under: UnderTest { stampede, remark } } = provocation;
    let compare = Compare::new(stampede.clone())?;
    compare.put("index.php", include_str!("findings/index.php"))?;
    for number in 0..SCRIPTS {
        compare.put(&format!("scripts/{number}.php"), &script(number))?;
    }
    let all = Cell::all();
    let mut ran = read(data, &all)?;
    let under = Circumstances::now(&compare.version()?, remark);
    let write = |ran: &BTreeMap<usize, Ran>| files::write(output, &score::document(&all, ran));
    write(&ran)?;
    for (number, cell) in all.iter().enumerate() {
        let wanted = cells.as_ref().is_none_or(|cells| cells.contains(&number))
            && only.as_ref().is_none_or(|only| cell.subject() == only);
        if !wanted || ran.contains_key(&number) {
            continue;
        }
        let mut one = measure(&compare, number, cell, &under)?;
        for _ in 1..TRIES {
            if one.stolen_share <= TOO_MUCH {
                break;
            }
            AllProcessors::wait_for_quiet(TOO_MUCH);
            one = measure(&compare, number, cell, &under)?;
        }
        tell(&format!(
            "{number}: {} {} {}: {}, {}{}",
            one.subject,
            one.runtime,
            one.severity,
            one.answer.as_deref().unwrap_or("no answer"),
            one.rate.map_or_else(|| one.outcome.clone(), |rate| format!("{rate:.0}/s")),
            one.reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})")),
        ));
        jsonl::append(data, std::slice::from_ref(&one))?;
        ran.insert(number, one);
        write(&ran)?;
    }
    Ok(())
}

fn measure(compare: &Compare, number: usize, cell: &Cell, under: &Circumstances) -> Result<Ran, Failure> {
    let neighbours = Neighbours::start(cell.setup().map_or(0, |setup| setup.neighbours));
    let processors = AllProcessors::now();
    let study = compare.run(&cell.plan(), &["--no-yard-stick"]);
    let stolen_share = processors.share_since();
    drop(neighbours);
    // What could not be measured at all is a row with its reason.
    let ran = match study {
        Ok(study) => Ran::of(number, cell, &study, under).ok_or_else(|| {
            Failure::Unusable(format!("the study of run {number} is not as stampede compare writes it"))
        })?,
        Err(CompareError::Study { told, .. }) => Ran {
            cell: number,
            subject: cell.subject().to_owned(),
            runtime: cell.runtime().to_owned(),
            severity: cell.severity(),
            outcome: "not run".to_owned(),
            reason: Some(told),
            under: under.clone(),
            ..Ran::default()
        },
        Err(error) => return Err(error.into()),
    };
    Ok(Ran { stolen_share, ..ran })
}

/// A script of a library, long enough to take PHP a while to compile.
fn script(number: u32) -> String {
    let methods: String = (0..12)
        .map(|method| {
            format!(
                "\n    public function step{method}(int $value): string\n    {{\n        \
                 $parts = [$value, $value + {method}, 'a' . $value];\n        \
                 return match (true) {{\n            $value > {method} => implode(',', $parts),\n            \
                 default => sprintf('%d of %s', $value, json_encode($parts)),\n        }};\n    }}\n"
            )
        })
        .collect();
    format!("<?php\n\ndeclare(strict_types=1);\n\nfinal class Script{number}\n{{{methods}}}\n")
}

/// What is kept, the last line of each run. The number of a run stands for another one where faults were added between.
fn read(path: &Path, cells: &[Cell]) -> Result<BTreeMap<usize, Ran>, Failure> {
    let mut kept = BTreeMap::new();
    for ran in jsonl::read::<Ran>(path)? {
        let name = |subject: &str, runtime: &str, severity: usize| format!("{subject} {severity} on {runtime}");
        let was = name(&ran.subject, &ran.runtime, ran.severity);
        let is = cells
            .get(ran.cell)
            .map_or_else(|| "none".to_owned(), |cell| name(cell.subject(), cell.runtime(), cell.severity()));
        if was != is {
            return Err(Failure::Unusable(format!(
                "read {}: run {} was {was} there and is {is} now; name another --data",
                path.display(),
                ran.cell
            )));
        }
        kept.insert(ran.cell, ran);
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn there_are_as_many_cells_as_promised() {
        let all = Cell::all();
        let (faults, healthy): (Vec<_>, Vec<_>) = all.iter().partition(|cell| cell.severity() > 0);
        assert_eq!((faults.len(), healthy.len()), (20 * 3 * 3, 100));
        let names: BTreeSet<_> = FAULTS.iter().map(|fault| fault.name).collect();
        assert_eq!(names.len(), FAULTS.len());
        for fault in &FAULTS {
            assert_eq!(fault.runtimes.iter().collect::<BTreeSet<_>>().len(), RUNTIMES, "{}", fault.name);
        }
    }

    #[test]
    fn a_plan_says_what_differs() {
        let pool = FAULTS.iter().find(|fault| fault.name == "pool").unwrap();
        let plan = Cell::Provoked(pool, 0, 3).plan();
        for part in ["env: {WAIT_MS: '20', WORK: '40'}", "set: {pm.max_children: '1'}", "duration: 2s"] {
            assert!(plan.contains(part), "{part}\n{plan}");
        }
    }

    #[test]
    fn a_run_is_read_from_its_study_and_costs_what_it_lacks() {
        let study = |rate: Value, model: &str| {
            json!({
                "started_at": "2026-01-01T00:00:00.5Z",
                "cases": [{
                    "bottleneck": "pool-full",
                    "load": {"model": model},
                    "findings": [{"id": "pool-full"}, {"id": "cpu-throttled"}],
                    "trials": [{"outcome": "measured", "reason": null, "throughput_rps": rate, "response_us": {"mean": 500.0}}],
                }],
            })
        };
        let cell = Cell::all().swap_remove(1);
        let ran = |rate: Value, model| Ran::of(1, &cell, &study(rate, model), &Circumstances::default()).unwrap();
        let one = ran(json!(50.0), "closed");
        assert_eq!((one.answer.as_deref(), one.findings.len(), one.severity), (Some("pool-full"), 2, 1));
        assert_eq!(one.cost(&ran(json!(200.0), "closed")), Some(0.75));
        assert_eq!(ran(Value::Null, "closed").cost(&one), Some(1.0));
        let slow = Ran { response_us: Some(2_000.0), ..ran(json!(50.0), "open") };
        assert_eq!(slow.cost(&ran(json!(50.0), "open")), Some(0.75));
        assert_eq!(Ran::of(1, &cell, &json!({"cases": []}), &Circumstances::default()), None);
    }

    #[test]
    fn the_last_line_of_a_run_counts_and_one_of_another_fault_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (path, cells) = (folder.path().join("findings.jsonl"), Cell::all());
        let of = |cell: usize, rate| Ran {
            cell,
            subject: cells[cell].subject().to_owned(),
            runtime: cells[cell].runtime().to_owned(),
            severity: cells[cell].severity(),
            rate: Some(rate),
            ..Ran::default()
        };
        assert_eq!(read(&path, &cells).unwrap(), BTreeMap::new());
        jsonl::append(&path, &[of(1, 10.0), of(1, 20.0)]).unwrap();
        assert_eq!(read(&path, &cells).unwrap(), BTreeMap::from([(1, of(1, 20.0))]));
        jsonl::append(&path, &[Ran { cell: 2, ..of(1, 30.0) }]).unwrap();
        let said = read(&path, &cells).unwrap_err().to_string();
        assert!(said.contains("run 2 was pool 1 on nginx-fpm there and is pool 2 on nginx-fpm now"), "{said}");
    }
}
