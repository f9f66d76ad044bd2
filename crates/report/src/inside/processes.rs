//! Running processes that were sampled for once.

use std::time::Duration;

use stampede_analysis::InsideProfile;
use stampede_core::{InsideEffort, InsideRecord, InsideTimes};

use super::{missed, tables};
use crate::page::{Block, Column, Page, Table};
use crate::quantity::count;

/// What was sampled, and what was seen.
#[derive(Clone, Copy, Debug)]
pub struct ProcessesView<'a> {
    /// The builds of PHP that ran.
    pub php: &'a [SampledPhp],
    /// What was seen.
    pub record: &'a InsideRecord,
    /// Samples a second of each thread.
    pub rate: u32,
    /// How long it lasted.
    pub lasted: Duration,
}

/// Processes of a version of PHP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledPhp {
    /// Which.
    pub version: String,
    /// How many.
    pub processes: usize,
    /// Their threads that run PHP.
    pub threads: usize,
}

impl ProcessesView<'_> {
    /// For a terminal of this many characters a line. Without colour nothing is lost. It ends with a line break.
    pub fn terminal(&self, width: usize, color: bool) -> String {
        let profile = InsideProfile::of_processes(self.record);
        let mut blocks = self.head(&profile);
        blocks.extend([
            Block::Caption("Time of PHP's threads".to_owned()),
            Block::Table(self.states(&profile)),
            Block::Gap,
        ]);
        blocks.extend(tables(&profile));
        blocks.push(Block::Legend(
            "Samples of PHP's stacks, weighted by the scheduler's counters; \u{b1} is half of a 95 % interval by the number of samples."
                .to_owned(),
        ));
        Page { answer: Vec::new(), blocks }.terminal(width, color)
    }

    fn head(&self, profile: &InsideProfile) -> Vec<Block> {
        let counted =
            |count: usize, noun: &str, plural: &str| format!("{count} {}", if count == 1 { noun } else { plural });
        let mut blocks: Vec<Block> = Vec::new();
        for SampledPhp { version, processes, threads } in self.php {
            let (processes, threads) =
                (counted(*processes, "process", "processes"), counted(*threads, "thread", "threads"));
            blocks.push(Block::Paragraph(format!("PHP {version}: {processes}, {threads}")));
        }
        let InsideEffort { taken, torn, moved, skipped, missed: instants, cpu: _ } = self.record.effort;
        blocks.push(Block::Paragraph(format!(
            "{} samples in {:.1} s, {} a second of each thread; {} left out",
            count(taken),
            self.lasted.as_secs_f64(),
            self.rate,
            count(torn + moved),
        )));
        blocks.push(Block::Paragraph(format!("the sampler used {:.1} % of a processor", profile.sampler_cpu * 100.0)));
        if instants > 0 {
            blocks.push(Block::Paragraph(missed(instants)));
        }
        if skipped > 0 {
            blocks
                .push(Block::Paragraph("There are more threads than are sampled at once: they took turns.".to_owned()));
        }
        blocks
    }

    /// What threads did; those that wait without a request are idle.
    fn states(&self, profile: &InsideProfile) -> Table {
        let InsideTimes { running, ready, waiting, waits: _ } = self.record.spent;
        let [running, ready, waiting] = [running, ready, waiting].map(|time| time.as_secs_f64());
        let served = profile.parts.iter().map(|part| part.waiting_us.value / 1e6).sum::<f64>().min(waiting);
        let all = (running + ready + waiting).max(f64::MIN_POSITIVE);
        let rows = [
            ("running", running, ""),
            ("ready", ready, "not run: throttled, or behind other processes"),
            ("waiting", served, ""),
            ("idle", waiting - served, "without a request"),
        ];
        Table {
            columns: vec![
                Column::names("state", rows.iter().map(|(state, ..)| (*state).to_owned()).collect()),
                Column::figures("%", rows.iter().map(|(_, time, _)| format!("{:.1}", time / all * 100.0)).collect()),
                Column::figures("s", rows.iter().map(|(_, time, _)| format!("{time:.2}")).collect()),
                Column::prose("meaning", rows.iter().map(|(.., meaning)| (*meaning).to_owned()).collect()),
            ],
        }
    }
}
