//! Where PHP's time went, as tables and as JSON.

mod processes;

use schemars::JsonSchema;
use serde::Serialize;
use stampede_analysis::{
    CaseSummary, FlameTree, FunctionTime, InsideProfile, InsideSubject, NativeTime, PartTime, WaitTime,
};
use stampede_core::Estimate;

use crate::StudyView;
use crate::json::{WireEstimate, rounded};
use crate::page::{Block, Column, Table};
use crate::places::without_runs;
use crate::quantity::{count, number};

pub use self::processes::{ProcessesView, SampledPhp};

/// The heading of all of it.
pub(crate) const INSIDE: &str = "Inside PHP";

/// Where the time went in each case that was sampled.
pub(crate) fn blocks(view: &StudyView<'_>) -> Vec<Block> {
    let mut blocks: Vec<Block> = view.analysis.cases.iter().flat_map(of_case).collect();
    if !blocks.is_empty() {
        blocks.push(Block::Legend(
            "Samples of PHP's stacks, weighted by the scheduler's counters; \u{b1} is half of a 95 % interval over the trials.".to_owned(),
        ));
    }
    blocks
}

/// That of one case.
pub(crate) fn of_named(view: &StudyView<'_>, case: &str) -> Vec<Block> {
    let summary = view.analysis.cases.iter().find(|summary| summary.case.as_str() == case);
    summary.map(of_case).unwrap_or_default()
}

fn of_case(summary: &CaseSummary) -> Vec<Block> {
    let Some(inside) = summary.inside.as_deref() else { return Vec::new() };
    let mut blocks = vec![Block::Caption(format!("{INSIDE}: {}", summary.case))];
    blocks.extend(inside.problems.iter().map(|problem| Block::Warning(format!("left out: {}", without_runs(problem)))));
    if inside.samples == 0 {
        return blocks;
    }
    blocks.push(Block::Paragraph(price(inside)));
    blocks.extend(tables(inside));
    blocks
}

/// Parts, functions, waits and requests.
fn tables(inside: &InsideProfile) -> Vec<Block> {
    let times = Times::of(inside.subject);
    let mut blocks = vec![Block::Table(parts(&inside.parts, times))];
    if !inside.functions.is_empty() {
        blocks.extend([
            Block::Caption("Functions, by their share of the time that PHP ran".to_owned()),
            Block::Table(functions(&inside.functions)),
        ]);
    }
    if !inside.waits.is_empty() {
        blocks.extend([Block::Caption(times.waits.to_owned()), Block::Table(waits(&inside.waits, times))]);
    }
    if inside.requests.len() > 1 {
        let names = inside.requests.iter().map(|(path, _)| path.clone()).collect();
        let shares = inside.requests.iter().map(|(_, share)| percent(share)).collect();
        let columns = vec![Column::names("path", names), Column::figures("% of PHP's CPU", shares)];
        blocks.extend([Block::Caption("Requests".to_owned()), Block::Table(Table { columns })]);
    }
    if !inside.native.is_empty() {
        let of = if inside.native_without_kernel { " outside the kernel" } else { "" };
        blocks.extend([
            Block::Caption(format!("PHP's engine, libraries and the kernel, by their share of the CPU{of}")),
            Block::Table(native(&inside.native)),
        ]);
    }
    blocks
}

/// Instants without a sample.
fn missed(instants: u64) -> String {
    match instants {
        1 => "1 instant has no samples: the sampler came too late for it".to_owned(),
        _ => format!("{} instants have no samples: the sampler came too late for them", count(instants)),
    }
}

/// What it cost, and what is beside PHP.
fn price(inside: &InsideProfile) -> String {
    let mut text = format!(
        "{} samples; the sampler used {:.1} % of a processor while it sampled",
        count(inside.samples),
        inside.sampler_cpu * 100.0
    );
    if let Some(price) = &inside.price {
        text.push_str(&format!(" and cost {} % of the throughput", percent(price)));
    }
    if inside.torn_share > 0.0 {
        text.push_str(&format!("; {:.2} % of samples could not be read", inside.torn_share * 100.0));
    }
    if inside.missed > 0 {
        text.push_str(&format!("; {}", missed(inside.missed)));
    }
    text.push('.');
    if let Some(beside) = &inside.beside_php {
        text.push_str(&format!(" {} % of the deployment's CPU was not PHP's threads'.", percent(beside)));
    }
    text
}

/// A share in per cent, with half of its interval.
fn percent(share: &Estimate) -> String {
    let half = share.low.zip(share.high).map(|(low, high)| (high - low) * 50.0);
    let half = half.map_or_else(String::new, |half| format!(" \u{b1} {half:.1}"));
    format!("{:.1}{half}", share.value * 100.0)
}

/// How times are written.
#[derive(Clone, Copy)]
struct Times {
    /// Microseconds of the unit.
    us: f64,
    unit: &'static str,
    /// What the table of parts calls them elsewhere than on a terminal.
    running: &'static str,
    waiting: &'static str,
    /// The caption of waits.
    waits: &'static str,
}

impl Times {
    const fn of(subject: InsideSubject) -> Self {
        match subject {
            InsideSubject::Requests => Self {
                us: 1.0,
                unit: "us/request",
                running: "CPU of a request (us)",
                waiting: "waits of a request (us)",
                waits: "Waits of a request",
            },
            InsideSubject::Processes => {
                Self { us: 1e3, unit: "ms", running: "CPU (ms)", waiting: "waits (ms)", waits: "Waits" }
            }
        }
    }

    fn show(self, time: &Estimate) -> String {
        let half = time.low.zip(time.high).map(|(low, high)| (high - low) / 2.0);
        let half = half.map_or_else(String::new, |half| format!(" \u{b1} {}", number(half / self.us)));
        format!("{}{half}", number(time.value / self.us))
    }
}

fn parts(parts: &[PartTime], times: Times) -> Table {
    let column = |title: &str, heading: [&str; 2], cell: &dyn Fn(&PartTime) -> String| {
        Column::figures(title, parts.iter().map(cell).collect()).headed(heading)
    };
    Table {
        columns: vec![
            Column::names("part", parts.iter().map(|part| part.part.title().to_owned()).collect()),
            column("% of PHP's CPU", ["% of", "PHP's CPU"], &|part| percent(&part.share)),
            column(times.running, ["CPU", times.unit], &|part| times.show(&part.running_us)),
            column(times.waiting, ["waits", times.unit], &|part| times.show(&part.waiting_us)),
        ],
    }
}

fn functions(functions: &[FunctionTime]) -> Table {
    let column =
        |title: &str, cell: fn(&FunctionTime) -> String| Column::figures(title, functions.iter().map(cell).collect());
    Table {
        columns: vec![
            column("self %", |function| percent(&function.own)),
            column("with calls %", |function| percent(&function.total)),
            Column::prose("function", functions.iter().map(|of| without_runs(&of.function).into_owned()).collect()),
        ],
    }
}

fn waits(waits: &[WaitTime], times: Times) -> Table {
    Table {
        columns: vec![
            Column::figures(times.unit, waits.iter().map(|wait| times.show(&wait.us)).collect()),
            Column::prose("wait", waits.iter().map(|wait| without_runs(&wait.wait).into_owned()).collect()),
        ],
    }
}

/// A part of the engine or a library, with its functions.
fn where_it_is(row: &NativeTime) -> String {
    if row.most.is_empty() { row.what.clone() } else { format!("{}: {}", row.what, row.most.join(", ")) }
}

fn native(rows: &[NativeTime]) -> Table {
    let of = |cell: fn(&NativeTime) -> String| rows.iter().map(cell).collect();
    Table {
        columns: vec![
            Column::figures("% of PHP's CPU", of(|row| percent(&row.share))),
            Column::prose("where", of(where_it_is)),
        ],
    }
}

/// Where PHP's time went in the trials of a case that were sampled. Shares are of the time that PHP's threads ran; intervals are
/// over trials.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Inside")]
pub(crate) struct WireInside {
    samples: u64,
    torn_share: f64,
    /// Instants that were over before anything could be looked at, as on a busy machine.
    missed_instants: u64,
    /// The share of answers a second that sampling cost.
    price: Option<WireEstimate>,
    sampler_cpu_share: f64,
    /// CPU time of the deployment that was not PHP's threads'.
    beside_php_share: Option<WireEstimate>,
    /// Time of a request in which its thread could run and did not.
    ready_us: WireEstimate,
    parts: Vec<WirePartTime>,
    functions: Vec<WireFunction>,
    waits: Vec<WireWait>,
    requests: Vec<WirePath>,
    /// What PHP's threads ran of the engine, its libraries and the kernel; empty where the kernel does not show it.
    native: Vec<WireNative>,
    /// Whether the kernel's own code was not seen: shares of `native` are of the time outside it.
    native_without_kernel: bool,
    flame: WireFlame,
    problems: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct WirePartTime {
    part: &'static str,
    share: WireEstimate,
    running_us: WireEstimate,
    waiting_us: WireEstimate,
}

#[derive(Serialize, JsonSchema)]
struct WireFunction {
    function: String,
    self_share: WireEstimate,
    total_share: WireEstimate,
}

#[derive(Serialize, JsonSchema)]
struct WireWait {
    wait: String,
    us: WireEstimate,
}

#[derive(Serialize, JsonSchema)]
struct WirePath {
    path: String,
    share: WireEstimate,
}

#[derive(Serialize, JsonSchema)]
struct WireNative {
    /// A part of the engine, or the file of a library.
    what: String,
    share: WireEstimate,
    /// Its functions that were seen most often.
    most: Vec<String>,
}

/// All stacks as a tree, by columns: a node each, parents before what they call; the first is the root. Times are microseconds of a
/// request with all that is called.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Flame")]
struct WireFlame {
    names: Vec<String>,
    /// For each node the place of its name.
    name: Vec<usize>,
    /// For each node the place of the one that called it.
    parent: Vec<usize>,
    running_us: Vec<f64>,
    waiting_us: Vec<f64>,
}

impl WireInside {
    pub(crate) fn of(inside: &InsideProfile) -> Self {
        let InsideProfile {
            subject: _,
            parts,
            functions,
            waits,
            requests,
            native,
            native_without_kernel,
            ready_us,
            beside_php,
            price,
            sampler_cpu,
            samples,
            torn_share,
            missed,
            flame,
            problems,
        } = inside;
        Self {
            samples: *samples,
            torn_share: rounded(*torn_share),
            missed_instants: *missed,
            price: price.as_ref().map(WireEstimate::of),
            sampler_cpu_share: rounded(*sampler_cpu),
            beside_php_share: beside_php.as_ref().map(WireEstimate::of),
            ready_us: WireEstimate::of(ready_us),
            parts: parts
                .iter()
                .map(|PartTime { part, share, running_us, waiting_us }| WirePartTime {
                    part: part.key(),
                    share: WireEstimate::of(share),
                    running_us: WireEstimate::of(running_us),
                    waiting_us: WireEstimate::of(waiting_us),
                })
                .collect(),
            functions: functions
                .iter()
                .map(|FunctionTime { function, own, total }| WireFunction {
                    function: without_runs(function).into_owned(),
                    self_share: WireEstimate::of(own),
                    total_share: WireEstimate::of(total),
                })
                .collect(),
            waits: waits
                .iter()
                .map(|WaitTime { wait, us }| WireWait {
                    wait: without_runs(wait).into_owned(),
                    us: WireEstimate::of(us),
                })
                .collect(),
            requests: requests
                .iter()
                .map(|(path, share)| WirePath { path: path.clone(), share: WireEstimate::of(share) })
                .collect(),
            native: native
                .iter()
                .map(|NativeTime { what, share, most }| WireNative {
                    what: what.clone(),
                    share: WireEstimate::of(share),
                    most: most.clone(),
                })
                .collect(),
            native_without_kernel: *native_without_kernel,
            flame: WireFlame::of(flame),
            problems: problems.iter().map(|problem| without_runs(problem).into_owned()).collect(),
        }
    }
}

impl WireFlame {
    fn of(FlameTree { nodes }: &FlameTree) -> Self {
        let mut names: Vec<String> = nodes.iter().map(|node| without_runs(&node.name).into_owned()).collect();
        let named = names.clone();
        names.sort();
        names.dedup();
        let place = |name: &String| names.binary_search(name).unwrap_or_default();
        let name = named.iter().map(place).collect();
        Self {
            name,
            parent: nodes.iter().map(|node| node.parent).collect(),
            running_us: nodes.iter().map(|node| rounded(node.running_us)).collect(),
            waiting_us: nodes.iter().map(|node| rounded(node.waiting_us)).collect(),
            names,
        }
    }
}
