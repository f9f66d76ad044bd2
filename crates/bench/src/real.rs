//! How often verdicts of real studies are right, where the truth is known: `stampede-bench real`.
//!
//! Identical cases, and a server that does a known share more work. A line is kept of each study as it ends, and the
//! document is written anew after each, so that hours of studies can be measured in pieces.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::compare::{APP, Compare, began};
use crate::document::{self, Section};
use crate::exchange::BODY;
use crate::failure::Failure;
use crate::files;
use crate::flags::{UnderTest, seconds};
use crate::progress::tell;
use crate::target::{Bound, Target};

/// How it is to be done.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Real {
    /// Studies of identical cases; a quarter as many of each share of work
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) studies: u32,
    /// The most time of a study
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = seconds)]
    pub(crate) time: Duration,
    /// What was measured so far
    #[arg(long, value_name = "FILE", default_value = "crates/bench/data/real-studies.csv")]
    pub(crate) data: PathBuf,
    /// The document
    #[arg(long, value_name = "FILE", default_value = "docs/bench-stats-real.md")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) under: UnderTest,
}

/// What differs between the two cases of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Nothing.
    Identical,
    /// The second does so many per cent more work.
    More(u32),
}

/// Of seven studies that follow each other, four are of identical cases.
const TURNS: [Kind; 7] =
    [Kind::Identical, Kind::More(10), Kind::Identical, Kind::More(5), Kind::Identical, Kind::More(3), Kind::Identical];

/// What the burner does for a request, in thousands of steps: a few milliseconds.
const WORK: u32 = 3000;

impl Kind {
    fn name(self) -> String {
        match self {
            Self::Identical => "identical".to_owned(),
            Self::More(percent) => format!("{percent} % more"),
        }
    }

    fn named(name: &str) -> Option<Self> {
        TURNS.into_iter().find(|kind| kind.name() == name)
    }

    /// Throughput of the first case over that of the second.
    fn truth(self) -> f64 {
        match self {
            Self::Identical => 1.0,
            Self::More(percent) => 1.0 + f64::from(percent) / 100.0,
        }
    }

    fn plan(self, time: Duration, bench: &Path) -> String {
        let study = format!("study: {{max_time: {}s, duration: 2500ms, warm_up: 500ms}}\n", time.as_secs());
        match self {
            Self::Identical => format!(
                "workload: markdown\ncases:\n  - {{id: a, runtime: nginx-fpm}}\n  - {{id: b, runtime: nginx-fpm}}\n\
                 limits: {{cpus: 0.5, memory: 256Mi}}\nload: closed:16\n{study}"
            ),
            Self::More(percent) => format!(
                "app:\n  dir: {APP}\n  kind: command\n  command:\n    run: [{bench:?}, burn]\n    \
                 tunables: {{WORK: {{min: 1, max: 1000000, default: '{WORK}'}}}}\n  \
                 requests: [{{path: /, expect: {{status: 200, body: '{BODY}'}}}}]\n\
                 cases:\n  - {{id: a, runtime: custom, set: {{WORK: {WORK}}}}}\n  \
                 - {{id: b, runtime: custom, set: {{WORK: {more}}}}}\n\
                 limits: {{cpus: 1, memory: 256Mi}}\nload: closed:16\n{study}",
                more = WORK + WORK * percent / 100
            ),
        }
    }
}

/// How a study ended.
#[derive(Clone, Debug, PartialEq)]
struct Ended {
    kind: Kind,
    started_at: String,
    /// Of the first case over the second.
    ratio: f64,
    /// None where too few of its trials counted: such a study counts all the same, as one that found nothing.
    interval: Option<(f64, f64)>,
    blocks: u64,
    /// Of the first case against the second.
    verdict: String,
}

impl Ended {
    fn of(kind: Kind, study: &Value) -> Option<Self> {
        let verdict = study["verdicts"].get(0)?;
        let swapped = verdict["a"] == "b";
        let number = |key: &str| verdict["ratio"][key].as_f64();
        let (ratio, interval) = (number("value")?, number("low").zip(number("high")));
        let (ratio, interval) = if swapped {
            (1.0 / ratio, interval.map(|(low, high)| (1.0 / high, 1.0 / low)))
        } else {
            (ratio, interval)
        };
        let word = match (verdict["verdict"].as_str()?, swapped) {
            ("faster", true) => "slower",
            ("slower", true) => "faster",
            (word, _) => word,
        };
        Some(Self {
            kind,
            started_at: began(study)?,
            ratio,
            interval,
            blocks: verdict["ratio"]["n"].as_u64()?,
            verdict: word.to_owned(),
        })
    }

    fn line(&self) -> String {
        let Self { kind, started_at, ratio, interval, blocks, verdict } = self;
        let interval = interval.map_or_else(|| ",".to_owned(), |(low, high)| format!("{low:.5},{high:.5}"));
        format!("{},{started_at},{ratio:.5},{interval},{blocks},{verdict}\n", kind.name())
    }

    fn read(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.split(',').collect();
        let [kind, started_at, ratio, low, high, blocks, verdict] = cells[..] else { return None };
        Some(Self {
            kind: Kind::named(kind)?,
            started_at: started_at.to_owned(),
            ratio: ratio.parse().ok()?,
            interval: match (low, high) {
                ("", "") => None,
                (low, high) => Some((low.parse().ok()?, high.parse().ok()?)),
            },
            blocks: blocks.parse().ok()?,
            verdict: verdict.to_owned(),
        })
    }

    fn covers(&self) -> bool {
        self.interval.is_some_and(|(low, high)| (low..=high).contains(&self.kind.truth()))
    }

    /// A direction that is not there, or the wrong one.
    fn is_false(&self) -> bool {
        match self.kind {
            Kind::Identical => self.verdict == "faster" || self.verdict == "slower",
            Kind::More(_) => self.verdict == "slower",
        }
    }
}

const HEADER: &str = "kind,started_at,ratio,low,high,blocks,verdict\n";

/// Measures the studies that are missing.
pub(crate) fn run(real: &Real) -> Result<(), Failure> {
    let Real { studies, time, data, output, under: UnderTest { stampede, remark } } = real;
    let compare = Compare::new(stampede.clone())?;
    let bench = std::env::current_exe().map_err(Failure::Prepare)?;
    let turns = studies.div_ceil(4) as usize * TURNS.len();
    let mut ended = files::lines(data, HEADER, Ended::read)?;
    loop {
        files::write(output, &document(&ended, real, &compare.version()?))?;
        let Some(kind) = (ended.len() < turns).then(|| TURNS[ended.len() % TURNS.len()]) else { return Ok(()) };
        tell(&format!("study {} of {turns}: {}", ended.len() + 1, kind.name()));
        let study = compare.run(&kind.plan(*time, &bench), &[])?;
        let one = Ended::of(kind, &study).ok_or_else(|| {
            let kind = kind.name();
            Failure::Unusable(format!(
                "measure cases of which one does {kind}: the study has no verdict with an interval"
            ))
        })?;
        files::append(data, &format!("# while they were measured: {remark}\n{HEADER}"), &one.line())?;
        ended.push(one);
    }
}

fn document(ended: &[Ended], real: &Real, version: &str) -> String {
    let of = |kind: Kind| ended.iter().filter(|one| one.kind == kind).collect::<Vec<_>>();
    let identical = of(Kind::Identical);
    let mut section = Section::new("Verdicts of real studies");
    section.paragraph(&format!(
        "How often `stampede compare` is right where the truth is known, on a real machine: two cases that do not differ \
         (nginx-fpm, markdown, half a CPU), and a server that does 3, 5 or 10 % more work than the other for each request \
         (some milliseconds of CPU time, under 1 CPU). Rounds are found out in at most {} s a study.",
        real.time.as_secs()
    ));
    section.paragraph(&format!(
        "Made by `stampede-bench real`, which goes on where it was left; {} of {} studies of identical cases are measured. \
         {version}. While they were measured: {}.",
        identical.len(),
        real.studies,
        real.under.remark,
    ));
    let mut targets = vec![{
        let wrong = identical.iter().filter(|one| one.is_false()).count();
        let what = format!("false directions, {} studies of identical cases", identical.len());
        Target::value(what, Bound::AtMost(f64::from(real.studies) / 10.0), seen(&identical, wrong), 0, "")
    }];
    for percent in [10, 5, 3] {
        let studies = of(Kind::More(percent));
        let count = |test: &dyn Fn(&Ended) -> bool| studies.iter().filter(|one| test(one)).count();
        let name = format!("{percent} % more work, {} studies", studies.len());
        if percent == 10 {
            let found = count(&|one| one.verdict == "faster");
            targets.push(share(format!("{name}: found"), 90.0, &studies, found));
        } else {
            let wrong = count(&Ended::is_false);
            let what = format!("{name}: wrong direction");
            targets.push(Target::value(what, Bound::AtMost(0.0), seen(&studies, wrong), 0, ""));
            targets.push(share(format!("{name}: interval holds the truth"), 80.0, &studies, count(&Ended::covers)));
        }
    }
    // A target that some of the studies keep to may still be missed by those that are not measured.
    let of_each = real.studies.div_ceil(4) as usize;
    let is_complete =
        TURNS.into_iter().all(|kind| of(kind).len() >= of_each * TURNS.iter().filter(|turn| **turn == kind).count());
    if !is_complete {
        targets.iter_mut().for_each(|target| target.met = target.met.filter(|met| !met));
    }
    let mut rows = vec![document::head("cases | began | ratio | 95 % interval | blocks | verdict")];
    rows.extend(ended.iter().map(|one| {
        let Ended { kind, started_at, ratio, interval, blocks, verdict } = one;
        let interval = interval.map_or_else(|| "none".to_owned(), |(low, high)| format!("{low:.3} to {high:.3}"));
        vec![kind.name(), started_at.clone(), format!("{ratio:.3}"), interval, blocks.to_string(), verdict.clone()]
    }));
    let mut each = Section::new("Every study");
    each.paragraph(
        "The ratio is that of the first case's throughput to the second's, the verdict that of the first case.",
    );
    each.table(&rows);
    document::of_targets(section.title, &section, &targets, &[each])
}

/// Nothing is seen of no studies.
fn seen(studies: &[&Ended], count: usize) -> Option<f64> {
    (!studies.is_empty()).then_some(count as f64)
}

fn share(what: String, least: f64, studies: &[&Ended], count: usize) -> Target {
    let seen = seen(studies, count).map(|count| 100.0 * count / studies.len() as f64);
    Target::value(what, Bound::AtLeast(least), seen, 0, " %")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_verdict_is_told_of_the_first_case_whichever_came_out_ahead() {
        let study = |a: &str, b: &str, verdict: &str| {
            json!({
                "started_at": "2026-01-01T00:00:00.5Z",
                "verdicts": [{"a": a, "b": b, "verdict": verdict, "ratio": {"value": 1.25, "low": 1.0, "high": 2.0, "n": 5}}],
            })
        };
        let kind = Kind::More(5);
        let straight = Ended::of(kind, &study("a", "b", "faster")).unwrap();
        assert_eq!((straight.ratio, straight.is_false(), straight.covers()), (1.25, false, true));
        let swapped = Ended::of(kind, &study("b", "a", "faster")).unwrap();
        assert_eq!((swapped.ratio, swapped.interval), (0.8, Some((0.5, 1.0))));
        assert!(swapped.is_false() && !swapped.covers());
        assert_eq!(Ended::read(swapped.line().trim_end()), Some(swapped));
        assert_eq!(Ended::of(kind, &json!({"verdicts": []})), None);
        // Too few blocks for an interval: the study counts, and found nothing.
        let mut short = study("a", "b", "undecided");
        short["verdicts"][0]["ratio"] = json!({"value": 1.25, "low": null, "high": null, "n": 2});
        let short = Ended::of(kind, &short).unwrap();
        assert!(!short.covers() && !short.is_false());
        assert_eq!(Ended::read(short.line().trim_end()), Some(short));
    }

    #[test]
    fn the_document_counts_what_there_is() {
        let one = |kind, verdict: &str| Ended {
            kind,
            started_at: "2026-01-01T00:00:00".to_owned(),
            ratio: 1.02,
            interval: Some((1.01, 1.04)),
            blocks: 9,
            verdict: verdict.to_owned(),
        };
        let text = document(
            &[one(Kind::Identical, "faster"), one(Kind::More(10), "faster"), one(Kind::More(3), "faster")],
            &crate::args::defaults(),
            "stampede 0",
        );
        for line in ["1 of 40 studies", "100 %", "not measured"] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        let row = |part: &str| text.lines().find(|line| line.contains(part)).unwrap_or_default();
        for part in ["3 % more work, 1 studies: interval", "false directions", "10 % more work"] {
            assert!(!row(part).ends_with("met"), "{part} is met before all is measured\n{text}");
        }
    }
}
