//! Records grids of sizes on this machine: `stampede-bench size-grid`.
//!
//! A slice is one trial of each cell that lacks one under the same limits; it is written when it is over, so that a recording continues
//! where it was left. All cells of a subject get their first trial before any gets its second, those near the objective get more in the
//! end, and then it is the next subject's turn.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;
use stampede_core::{Role, TunableKind};

use super::HEADROOM;
use super::recorded::{Figures, Line, Place, SUBJECTS, Subject, TRIALS, TRIALS_NEAR, grids, wanted};
use crate::circumstances::Circumstances;
use crate::compare::Compare;
use crate::failure::Failure;
use crate::flags::{UnderTest, seconds};
use crate::jsonl;
use crate::progress::tell;

/// Warm-up of a trial, and what it takes beside that and its window, in seconds.
const WARM_UP: u64 = 2;
const BESIDE: u64 = 5;

/// The window of a trial with all that a size can do, in seconds.
const SATURATED: u64 = 10;

/// How it is to be done.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SizeRecording {
    /// How long to record: a slice that would end later is not begun, as 3600s [default: until all is there]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(crate) max_time: Option<Duration>,
    /// Where trials are kept
    #[arg(long, value_name = "FILE", default_value = "crates/bench/data/sizes.jsonl")]
    pub(crate) data: PathBuf,
    #[command(flatten)]
    pub(crate) under: UnderTest,
}

/// Cells of a subject under the same limits, which one study measures.
#[derive(Debug)]
struct Slice {
    subject: &'static Subject,
    cpus: u32,
    memory: u64,
    cells: Vec<Place>,
    /// Whether they are given all they can do, and not the load.
    saturated: bool,
}

/// What is to be recorded next: of the first subject that is not whole, those cells that lack the fewest-numbered trial under the first
/// limits that have some. Subjects come one after the other, since each is searched as soon as it is whole, and is then of one machine
/// where it can be.
fn next(lines: &[Line], skip: &[(usize, u32, u64)]) -> Option<Slice> {
    for (number, grid) in grids(lines).iter().enumerate() {
        let missing = grid.saturated.iter().filter(|(_, trials)| trials.len() < TRIALS);
        let cells: Vec<Place> = missing.map(|(place, _)| place.clone()).collect();
        if let Some((_, cpus, memory, _)) = cells.first().cloned()
            && !skip.contains(&(number, cpus, memory))
        {
            return Some(Slice { subject: grid.subject, cpus, memory, cells, saturated: true });
        }
        for trial in 1..=TRIALS_NEAR {
            let mut by_limits: BTreeMap<(u32, u64), Vec<Place>> = BTreeMap::new();
            for (place, trials) in &grid.trials {
                if trials.len() < trial && trials.len() < wanted(place.2, trials) {
                    by_limits.entry((place.1, place.2)).or_default().push(place.clone());
                }
            }
            let open = by_limits.into_iter().find(|((cpus, memory), _)| !skip.contains(&(number, *cpus, *memory)));
            if let Some(((cpus, memory), cells)) = open {
                return Some(Slice { subject: grid.subject, cpus, memory, cells, saturated: false });
            }
        }
    }
    None
}

impl Slice {
    fn name(cell: usize) -> String {
        format!("cell-{cell}")
    }

    /// A plan with a case for each cell.
    fn plan(&self) -> Result<String, Failure> {
        let Self { subject, cpus, memory, cells, saturated } = self;
        let mut cases = String::new();
        for (number, (runtime, _, _, workers)) in cells.iter().enumerate() {
            let pool = pool_of(runtime)?;
            cases.push_str(&format!(
                "  - {{id: {}, runtime: {runtime}, set: {{{pool}: '{workers}'}}}}\n",
                Self::name(number)
            ));
        }
        // Twice as many requests as workers are as many as `stampede size` gives a size that is to have all it can do.
        let (load, window) = match (saturated, cells.first()) {
            (true, Some((.., workers))) => (format!("closed:{}", 2 * workers), SATURATED),
            _ => (format!("open:poisson:{}", subject.rate * (1.0 + HEADROOM)), subject.window),
        };
        Ok(format!(
            "workload: {}\ncases:\n{cases}limits: {{cpus: {}, memory: {memory}Mi}}\nload: {load}\n\
             study: {{rounds: 1, duration: {window}s, warm_up: {WARM_UP}s}}\n",
            subject.workload,
            f64::from(*cpus) / 1e3,
        ))
    }

    fn takes(&self) -> Duration {
        Duration::from_secs((WARM_UP + self.subject.window + BESIDE) * self.cells.len() as u64)
    }

    /// The trials that say something of their cells.
    fn lines(&self, study: &Value, under: &Circumstances) -> Vec<Line> {
        let of = |(number, (runtime, ..)): (usize, &Place)| {
            let id = Self::name(number);
            let case = study["cases"].as_array()?.iter().find(|case| case["id"] == id.as_str())?;
            let trial = &case["trials"][0];
            // Of a trial that has all it can do response times say nothing, and there may be too few for the percentile.
            let beyond = if self.saturated { 0.5 } else { self.subject.beyond };
            let (figures, reason) = match trial["outcome"].as_str()? {
                "measured" => (Some(figures(trial, self.subject, beyond)?), None),
                "invalid" if is_overload(trial["reason"].as_str()?) => {
                    (Some(figures(trial, self.subject, beyond)?), None)
                }
                "failed" => (None, Some(trial["reason"].as_str()?.lines().next()?.to_owned())),
                _ => return None,
            };
            let (_, _, _, workers) = self.cells.get(number)?;
            Some(Line {
                workload: self.subject.workload.to_owned(),
                runtime: runtime.clone(),
                cpus_millis: self.cpus,
                memory_mib: self.memory,
                workers: *workers,
                saturated: self.saturated,
                figures,
                reason,
                under: under.clone(),
            })
        };
        self.cells.iter().enumerate().filter_map(of).collect()
    }
}

/// The setting of a runtime that says how many requests it works on at once.
fn pool_of(runtime: &str) -> Result<&'static str, Failure> {
    let missing = || Failure::Missing(format!("record {runtime}: it has no pool"));
    let runtime = stampede_runtimes::by_id(runtime).ok_or_else(missing)?;
    let pool = runtime
        .tunables()
        .iter()
        .find(|tunable| tunable.role == Role::PoolSize && matches!(tunable.kind, TunableKind::Count { .. }));
    pool.map(|pool| pool.name).ok_or_else(missing)
}

/// Whether that a size had not answered all is all that is wrong with a trial: `compare` may not compare it, and it is a figure of the size.
fn is_overload(reason: &str) -> bool {
    reason.contains(" requests had no answer ") && !reason.contains("; ")
}

/// What a trial showed; `beyond` is the share of requests that its response time is beyond.
fn figures(trial: &Value, subject: &Subject, beyond: f64) -> Option<Figures> {
    let response = &trial["response_us"];
    let at = |share: f64| response[percentile(share)].as_f64();
    let requests = &trial["requests"];
    let count = |key: &str| requests[key].as_u64().unwrap_or_default();
    let periods = trial["periods"].as_f64().unwrap_or_default();
    let unsent = trial["sending"]["unsent"].as_u64().unwrap_or_default();
    let failed = count("failed") + count("unfinished") + unsent;
    Some(Figures {
        times: at(beyond)? / 1e6 / subject.below,
        over: share_beyond(response, subject.below * 1e6) / subject.beyond,
        failed,
        requests: count("ok") + failed,
        work_us: trial["cpu_us_per_request"].as_f64(),
        median_us: response["p50"].as_f64()?,
        mean_us: response["mean"].as_f64(),
        memory_peak_bytes: trial["memory_peak_bytes"].as_u64(),
        throttled: trial["throttled_periods"].as_f64().unwrap_or_default() / periods.max(1.0),
    })
}

/// Percentiles that a report has, each with the share of requests beyond it.
const PERCENTILES: [(&str, f64); 7] =
    [("min", 1.0), ("p50", 0.5), ("p75", 0.25), ("p90", 0.1), ("p95", 0.05), ("p99", 0.01), ("p999", 0.001)];

fn percentile(share: f64) -> &'static str {
    let is = |(_, beyond): &&(&str, f64)| (beyond - share).abs() < 1e-9;
    PERCENTILES.iter().find(is).map_or("p99", |(name, _)| name)
}

/// The share of requests beyond a time, by the percentiles around it: on a line over the logarithm of the share.
fn share_beyond(response: &Value, limit_us: f64) -> f64 {
    let known = PERCENTILES.iter().filter_map(|(name, share)| Some((response[*name].as_f64()?, *share)));
    let known: Vec<(f64, f64)> = known.collect();
    let after = known.partition_point(|(time, _)| *time < limit_us);
    match (after.checked_sub(1).and_then(|before| known.get(before)), known.get(after)) {
        (Some((low, more)), Some((high, fewer))) => {
            let place = (limit_us - low) / (high - low).max(f64::MIN_POSITIVE);
            (more.ln() + (fewer.ln() - more.ln()) * place).exp()
        }
        (None, _) => 1.0,
        (Some(_), None) => 0.0,
    }
}

/// Records what is missing, as long as there is time.
pub(crate) fn run(recording: &SizeRecording) -> Result<(), Failure> {
    let SizeRecording { max_time, data, under: UnderTest { stampede, remark } } = recording;
    let began = Instant::now();
    let mut lines: Vec<Line> = jsonl::read(data)?;
    let compare = Compare::new(stampede.clone())?;
    let under = Circumstances::now(&compare.version()?, remark);
    // Limits under which trials of this recording did not count; another one tries them again.
    let mut skip = Vec::new();
    while let Some(slice) = next(&lines, &skip) {
        if max_time.is_some_and(|most| began.elapsed() + slice.takes() > most) {
            tell("the time is over; the same command continues");
            return Ok(());
        }
        let Slice { subject, cpus, memory, cells, .. } = &slice;
        tell(&format!(
            "{}: {} cells under {cpus}m and {memory}Mi, {} trials are there",
            subject.workload,
            cells.len(),
            lines.len()
        ));
        let study = compare.run(&slice.plan()?, FLAGS)?;
        let new = slice.lines(&study, &under);
        if new.is_empty() {
            let number = SUBJECTS.iter().position(|known| known.workload == subject.workload);
            skip.push((number.unwrap_or_default(), *cpus, *memory));
        }
        jsonl::append(data, &new)?;
        lines.extend(new);
    }
    tell(&format!("all is there that counts: {} trials", lines.len()));
    Ok(())
}

/// A size that starves a server would be waited for 30 s in vain.
const FLAGS: &[&str] = &["--no-yard-stick", "--ready-timeout", "5s"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn trial(place: &Place, times: f64) -> Line {
        let (runtime, cpus_millis, memory_mib, workers) = place.clone();
        let figures = Figures {
            times,
            over: times,
            failed: 0,
            requests: 100,
            work_us: None,
            median_us: 100.0,
            mean_us: None,
            memory_peak_bytes: None,
            throttled: 0.0,
        };
        Line {
            workload: "markdown".to_owned(),
            runtime,
            cpus_millis,
            memory_mib,
            workers,
            saturated: false,
            figures: Some(figures),
            reason: None,
            under: Circumstances::default(),
        }
    }

    #[test]
    fn every_cell_has_a_trial_before_any_has_two_and_those_near_the_limit_get_more() {
        // What requests take at the least comes first: the largest cell of each runtime, with twice as many requests as workers.
        let first = next(&[], &[]).unwrap();
        assert_eq!((first.subject.workload, first.cpus, first.memory, first.cells.len()), ("markdown", 110, 96, 3));
        let plan = first.plan().unwrap();
        assert!(plan.contains("load: closed:8\n") && plan.contains("duration: 10s"), "{plan}");
        let saturated = |subject: &Subject, place: &Place| Line {
            workload: subject.workload.to_owned(),
            saturated: true,
            ..trial(place, 3.0)
        };
        let mut known: Vec<Line> = Vec::new();
        for subject in &SUBJECTS {
            known.extend(subject.largest().flat_map(|place| [(); TRIALS].map(|()| saturated(subject, &place))));
        }
        let with = |lines: &[Line]| -> Vec<Line> { known.iter().chain(lines).cloned().collect() };
        let slice = next(&known, &[]).unwrap();
        assert_eq!((slice.subject.workload, slice.cpus, slice.memory, slice.cells.len()), ("markdown", 60, 32, 9));
        let plan = slice.plan().unwrap();
        for part in [
            "workload: markdown\n",
            "limits: {cpus: 0.06, memory: 32Mi}\nload: open:poisson:330\n",
            "runtime: nginx-fpm, set: {pm.max_children: '4'}",
            "duration: 20s, warm_up: 2s",
        ] {
            assert!(plan.contains(part), "{part}\n{plan}");
        }
        // What was recorded of these limits is not recorded again before the others were, nor what was skipped.
        let done: Vec<Line> = slice.cells.iter().map(|place| trial(place, 3.0)).collect();
        let done = with(&done);
        let after = next(&done, &[]).unwrap();
        assert_eq!((after.cpus, after.memory), (60, 48));
        assert_eq!(next(&done, &[(0, 60, 48)]).unwrap().memory, 96);
        // A whole grid of markdown leaves the other one; one with a cell near the limit leaves that first.
        let places = SUBJECTS[0].places();
        let all: Vec<Line> = places.iter().flat_map(|place| (0..3).map(|_| trial(place, 3.0))).collect();
        assert_eq!(next(&with(&all), &[]).unwrap().subject.workload, "mix");
        let near: Vec<Line> = places
            .iter()
            .flat_map(|place| (0..3).map(|_| trial(place, if *place == places[7] { 1.1 } else { 3.0 })))
            .collect();
        let slice = next(&with(&near), &[]).unwrap();
        assert_eq!((slice.subject.workload, slice.cells), ("markdown", vec![places[7].clone()]));
    }

    #[test]
    fn figures_are_those_of_a_size() {
        let trial = json!({
            "outcome": "measured",
            "requests": {"ok": 990, "failed": 8, "unfinished": 2},
            "response_us": {"min": 100, "p50": 1000, "p75": 2000, "p90": 5000, "p95": 75_000, "p99": 300_000, "p999": 400_000},
            "cpu_us_per_request": 450.5,
            "memory_peak_bytes": 12_000_000,
            "throttled_periods": 50,
            "periods": 200,
        });
        let seen = figures(&trial, &SUBJECTS[0], SUBJECTS[0].beyond).unwrap();
        assert!((seen.times - 2.0).abs() < 1e-9 && (seen.throttled - 0.25).abs() < 1e-9, "{seen:?}");
        // A third of the way from p95 to p99: 0.05 x (0.01 / 0.05)^(1/3).
        assert!((seen.over - 2.924).abs() < 0.001, "{seen:?}");
        assert_eq!((seen.failed, seen.requests, seen.memory_peak_bytes), (10, 1_000, Some(12_000_000)));
        let unanswered =
            "2543 requests had no answer 5s after the window, so the load was smaller than open:poisson:330";
        assert!(is_overload(unanswered) && !is_overload("the generator was late"));
        assert!(!is_overload(&format!("{unanswered}; the generator was late")));
        assert!(share_beyond(&trial["response_us"], 50.0) == 1.0 && share_beyond(&trial["response_us"], 1e6) == 0.0);
    }
}
