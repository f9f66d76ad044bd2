//! Records trials of identical cases on this machine: `stampede-bench record`.
//!
//! A piece is one `stampede compare` of a few cases that do not differ, under one setting. Pieces are added to the file as
//! they end, so that recording goes on where it was left, and others who wait to measure get their turn between two.

use std::fs;
use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::Value;

use crate::compare::{Compare, began};
use crate::failure::Failure;
use crate::files;
use crate::flags::UnderTest;
use crate::progress::tell;
use crate::trials::{self, HEADER, SETTINGS, Setting, TrialRow};

/// Identical cases in a piece.
const CASES: [&str; 4] = ["a", "b", "c", "d"];
/// Blocks in a piece.
const ROUNDS: u32 = 8;
/// Long enough for 5,000 requests, and so a p99, where the load is open.
const DURATION: &str = "2.5s";
const WARM_UP: &str = "500ms";

/// What the file begins with.
const TITLE: &str = "# Trials of identical cases, recorded by `stampede-bench record`. Pieces with an even number are kept\n\
                     # back: nothing is chosen by them. Which of them score the methods: docs/bench-stats.md.\n";

/// How it is to be done.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Recording {
    /// How many pieces of 32 trials the file is to hold
    #[arg(long, value_name = "N", default_value_t = 2 * SETTINGS.len() as u32, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pieces: u32,
    /// Recorded trials
    #[arg(long, value_name = "FILE", default_value = "crates/bench/data/identical-trials.csv")]
    pub(crate) data: PathBuf,
    #[command(flatten)]
    pub(crate) under: UnderTest,
}

/// Records the pieces that are missing.
pub(crate) fn run(recording: &Recording) -> Result<(), Failure> {
    let Recording { pieces, data, under: UnderTest { stampede, remark } } = recording;
    let compare = Compare::new(stampede.clone())?;
    loop {
        let rows = trials::read(data)?;
        let piece = rows.iter().map(|row| row.piece).max().unwrap_or(0) + 1;
        if piece > *pieces {
            tell(&format!("{} trials of {} pieces in {}", rows.len(), piece - 1, data.display()));
            return Ok(());
        }
        let setting = setting_of(piece);
        tell(&format!("piece {piece} of {pieces}: {}", setting.name));
        let load_before = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let study = compare.run(&plan(setting), &[])?;
        let rows = rows_of(piece, setting, &study)
            .ok_or_else(|| Failure::Unusable("the study is not as stampede compare writes it".to_owned()))?;
        if rows.is_empty() {
            let reason = study["cases"][0]["trials"][0]["reason"].as_str().unwrap_or("no reason");
            return Err(Failure::Unusable(format!("record {}: no trial was measured: {reason}", setting.name)));
        }
        let planned = CASES.len() * ROUNDS as usize;
        let load = load_before.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
        let text = |value: &Value| value.as_str().unwrap_or("unknown").to_owned();
        let head = format!(
            "# piece {piece}: {} {} on {} CPU, {}; {} of {planned} trials of {DURATION} measured\n\
             # began {}, {} ({} CPUs), Linux {}, load before {load}; {remark}\n",
            setting.runtime,
            setting.workload,
            setting.cpus,
            setting.load,
            rows.len(),
            began(&study).unwrap_or_default(),
            text(&study["machine"]["cpu_model"]),
            study["machine"]["cpus"],
            text(&study["machine"]["kernel"]),
        );
        let lines: String = rows.iter().map(TrialRow::line).collect();
        files::append(data, &format!("{TITLE}{HEADER}"), &format!("{head}{lines}"))?;
    }
}

/// Two pieces under each setting follow each other: of every setting, one is kept back (see `proof`).
fn setting_of(piece: u32) -> &'static Setting {
    &SETTINGS[(piece as usize - 1) / 2 % SETTINGS.len()]
}

fn plan(setting: &Setting) -> String {
    let Setting { name: _, runtime, workload, cpus, load, figure: _ } = setting;
    let cases: String = CASES.iter().map(|case| format!("  - {{id: {case}, runtime: {runtime}}}\n")).collect();
    format!(
        "workload: {workload}\ncases:\n{cases}limits: {{cpus: {cpus}, memory: 512Mi}}\nload: {load}\n\
         study: {{rounds: {ROUNDS}, duration: {DURATION}, warm_up: {WARM_UP}}}\n"
    )
}

/// The measured trials in the order in which they were started; `None` where the study is not what it should be.
fn rows_of(piece: u32, setting: &'static Setting, study: &Value) -> Option<Vec<TrialRow>> {
    let began: Timestamp = study["started_at"].as_str()?.parse().ok()?;
    let mut rows = Vec::new();
    for trial in study["cases"].as_array()?.iter().filter_map(|case| case["trials"].as_array()).flatten() {
        if trial["outcome"] != "measured" {
            continue;
        }
        let started: Timestamp = trial["started_at"].as_str()?.parse().ok()?;
        let number = |value: &Value| u32::try_from(value.as_u64()?).ok();
        rows.push(TrialRow {
            piece,
            setting,
            block: number(&trial["block"])?,
            position: number(&trial["position"])?,
            start_s: started.duration_since(began).as_secs_f64(),
            throughput_rps: trial["throughput_rps"].as_f64()?,
            cpu_us_per_request: trial["cpu_us_per_request"].as_f64(),
            response_p99_us: trial["response_us"]["p99"].as_f64(),
        });
    }
    rows.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
    Some(rows)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn measured_trials_become_rows_in_the_order_of_time() {
        let trial = |outcome: &str, position: u32, second: u32, rate: f64| {
            json!({
                "outcome": outcome, "block": 1, "position": position, "started_at": format!("2026-01-01T00:00:{second:02}Z"),
                "throughput_rps": rate, "cpu_us_per_request": 10.0, "response_us": {"p99": null},
            })
        };
        let study = json!({
            "started_at": "2026-01-01T00:00:00Z",
            "cases": [
                {"trials": [trial("measured", 2, 7, 200.0)]},
                {"trials": [trial("measured", 1, 2, 100.0), trial("failed", 3, 9, 1.0)]},
            ],
        });
        let rows = rows_of(4, &SETTINGS[0], &study).unwrap();
        let seen: Vec<_> = rows.iter().map(|row| (row.position, row.start_s, row.throughput_rps)).collect();
        assert_eq!(seen, [(1, 2.0, 100.0), (2, 7.0, 200.0)]);
        assert_eq!(rows_of(1, &SETTINGS[0], &json!({})), None);
    }

    #[test]
    fn every_setting_has_a_piece_of_each_half() {
        for setting in 0..SETTINGS.len() as u32 {
            let [odd, even] = [1, 2].map(|place| setting_of(2 * setting + place).name);
            assert_eq!((odd, even), (SETTINGS[setting as usize].name, SETTINGS[setting as usize].name));
        }
        assert_eq!(setting_of(2 * SETTINGS.len() as u32 + 1), &SETTINGS[0]);
    }
}
