//! A profile as a text for a terminal.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use crate::profile::{StackProfile, TimeShare};
use crate::sampler::{SampleCounts, SampledProcess};

/// What is shown of a sampling.
#[derive(Clone, Copy, Debug)]
pub struct SamplingSummary<'a> {
    /// What was found.
    pub profile: &'a StackProfile,
    /// The processes that were sampled at the end, or when there still were some.
    pub processes: &'a [SampledProcess],
    /// How reading went.
    pub counts: SampleCounts,
    /// Samples a second.
    pub rate: u32,
    /// How long it lasted.
    pub lasted: Duration,
    /// What the sampler ran itself, as a share of a processor.
    pub cost: f64,
}

/// Rows of each table.
const MOST_ROWS: usize = 15;
/// Shares below it are not shown.
const LEAST: f64 = 0.0005;

impl SamplingSummary<'_> {
    /// The text, in lines of at most so many columns.
    pub fn text(&self, columns: usize) -> String {
        let Self { profile, processes, counts, rate, lasted, cost } = *self;
        let mut text = String::new();
        let mut line = |line: String| {
            text.push_str(line.trim_end());
            text.push('\n');
        };
        let mut versions: BTreeMap<_, (usize, usize)> = BTreeMap::new();
        for process in processes {
            let (of_version, threads) = versions.entry(process.version).or_default();
            *of_version += 1;
            *threads += process.threads;
        }
        for (version, (processes, threads)) in versions {
            line(format!(
                "PHP {version}: {}, {}",
                counted(processes, "process", "es"),
                counted(threads, "thread", "s")
            ));
        }
        let SampleCounts { taken, torn, moved, ended: _, skipped } = counts;
        line(format!(
            "{taken} samples in {:.1} s, {rate} a second of each thread; {} left out",
            lasted.as_secs_f64(),
            torn + moved
        ));
        line(format!("the sampler used {:.1} % of a processor", cost * 100.0));
        if skipped > 0 {
            line("more threads than are sampled at once: they took turns".to_owned());
        }
        let spent = profile.spent();
        let total = spent.total().as_secs_f64();
        line(String::new());
        line("Time of PHP's threads".to_owned());
        let states = [
            ("running", spent.running, ""),
            ("ready", spent.ready, "  not run: throttled, or behind other processes"),
            ("waiting", spent.waiting, ""),
        ];
        for (state, time, note) in states {
            let seconds = time.as_secs_f64();
            let share = if total > 0.0 { seconds / total } else { 0.0 };
            line(format!("  {state:<8} {:>5.1} %  {seconds:>8.2} s{note}", share * 100.0));
        }

        let (outside, _) = profile.outside();
        let functions = profile.functions();
        let mut rows: Vec<_> = functions
            .iter()
            .filter(|row| row.running_total.value >= LEAST)
            .take(MOST_ROWS)
            .map(|row| (row.running_self, Some(row.running_total), row.function.to_string()))
            .collect();
        if outside.value >= LEAST {
            rows.push((outside, None, "(outside PHP)".to_owned()));
        }
        if !rows.is_empty() {
            line(String::new());
            line("Functions, by their share of the time that PHP ran".to_owned());
            line(format!("{:>14}  {:>14}  function", "self", "with calls"));
        }
        for (self_share, total_share, name) in rows {
            let total_share = total_share.map(shown).unwrap_or_default();
            line(format!(
                "{:>14}  {total_share:>14}  {}",
                shown(self_share),
                end_of(&name, columns.saturating_sub(32))
            ));
        }

        let waits = profile.waits();
        let waits: Vec<_> = waits.iter().filter(|row| row.share.value >= LEAST).take(MOST_ROWS).collect();
        if !waits.is_empty() {
            line(String::new());
            line("Waits, by their share of the time that PHP waited".to_owned());
        }
        for row in waits {
            let function = row.function.as_ref().map_or_else(|| "(outside PHP)".to_owned(), ToString::to_string);
            let what = ends_of(&row.wait.to_string(), columns.saturating_sub(16 + 4 + 20));
            let rest = columns.saturating_sub(16 + 4 + what.chars().count());
            line(format!("{:>14}  {what} in {}", shown(row.share), end_of(&function, rest)));
        }

        let requests = profile.requests();
        if requests.iter().any(|(path, _)| path.is_some()) {
            line(String::new());
            line("Requests, by their share of the time that PHP ran".to_owned());
            for (path, share) in requests.iter().filter(|(_, share)| share.value >= LEAST).take(MOST_ROWS) {
                let path = path.as_deref().unwrap_or("(none)");
                line(format!("{:>14}  {}", shown(*share), end_of(path, columns.saturating_sub(16))));
            }
        }
        text
    }
}

/// A share and its standard error.
fn shown(share: TimeShare) -> String {
    format!("{:.1} ± {:.1} %", share.value * 100.0, share.standard_error * 100.0)
}

fn counted(count: usize, noun: &str, plural: &str) -> String {
    let mut text = format!("{count} {noun}");
    if count != 1 {
        let _ = write!(text, "{plural}");
    }
    text
}

/// The end of a text, which tells more than its beginning.
fn end_of(text: &str, columns: usize) -> String {
    let length = text.chars().count();
    if length <= columns {
        return text.to_owned();
    }
    let end: String = text.chars().skip(length + 1 - columns.max(1)).collect();
    format!("…{end}")
}

/// The beginning of a text and its end.
fn ends_of(text: &str, columns: usize) -> String {
    const BEGINNING: usize = 8;
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(BEGINNING).collect();
    format!("{beginning}{}", end_of(text, columns.saturating_sub(BEGINNING)))
}
