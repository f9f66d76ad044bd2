//! A forecast: what a service at some sizes is expected to do, and which of them is the cheapest that keeps up.

mod json;

use stampede_core::Estimate;
use stampede_forecast::{Calibration, Forecast, ForecastPoint, ForecastQuestion};
use stampede_scale::Rejection;

use crate::page::{Block, Column, Page, Table};
use crate::quantity::number;

pub(crate) use self::json::WireForecast;
pub use self::json::json;

/// What a report is made from.
#[derive(Clone, Debug)]
pub struct ForecastView<'a> {
    /// The study that was calibrated from.
    pub study: &'a str,
    /// What was measured.
    pub calibration: &'a Calibration,
    /// What was asked.
    pub question: &'a ForecastQuestion,
    /// What was simulated.
    pub points: &'a [ForecastPoint],
}

/// For a terminal of this many characters a line; what it comes to is last. It ends with a line break.
pub fn terminal(view: &ForecastView<'_>, width: usize, color: bool) -> String {
    let (key, figures) = COLUMNS.split_at(3);
    let (speed, cost) = figures.split_at(6);
    let tables = [speed, cost].map(|columns| Block::Table(table(view, &[key, columns].concat())));
    let notes = notes(view).into_iter().map(Block::Paragraph);
    page(view, tables.into_iter().chain([Block::Gap]).chain(notes)).terminal(width, color)
}

/// As GitHub-flavoured Markdown. It ends with a line break.
pub fn markdown(view: &ForecastView<'_>) -> String {
    let notes = notes(view).into_iter().map(Block::Item);
    page(view, [Block::Table(figures(view))].into_iter().chain(notes)).markdown()
}

fn page(view: &ForecastView<'_>, shown: impl Iterator<Item = Block>) -> Page {
    let blocks = [Block::Paragraph(question(view))].into_iter().chain(shown).collect();
    Page { answer: vec![conclusion(view)], blocks }
}

type Cell = fn(&ForecastPoint) -> String;

/// What makes a point, how it serves, what it takes.
const COLUMNS: [(&str, Cell); 15] = [
    ("at once", |p| format!("{}{}", p.point.concurrency, if p.point.extrapolated.is_some() { "*" } else { "" })),
    ("CPU", |p| p.point.scenario.service.cpus.to_string()),
    ("memory", |p| p.point.scenario.service.memory.to_string()),
    ("req/s", |p| number(p.forecast.throughput.value)),
    ("p50 ms", |p| answered(&p.forecast, &p.forecast.p50)),
    ("p95 ms", |p| answered(&p.forecast, &p.forecast.p95)),
    ("p99 ms", |p| answered(&p.forecast, &p.forecast.p99)),
    ("rejected", |p| share(p.forecast.rejected.value)),
    ("too late", |p| share(p.forecast.timed_out.value)),
    ("instances", |p| {
        let (least, most) = p.forecast.instances_range;
        format!("{least}/{}/{most}", number(p.forecast.instances.value))
    }),
    ("cold", |p| number(p.forecast.cold_starts.value)),
    ("CPU used", |p| share(p.forecast.utilisation.value)),
    ("/vCPU-s", |p| number(p.forecast.per_vcpu_second.value)),
    ("a million", |p| money(p.forecast.per_million.value)),
    ("a month", |p| money(p.forecast.per_month.value)),
];

/// All figures of all points.
pub(crate) fn figures(view: &ForecastView<'_>) -> Table {
    table(view, &COLUMNS)
}

fn table(view: &ForecastView<'_>, columns: &[(&str, Cell)]) -> Table {
    let column = |(title, cell): &(&str, Cell)| Column::figures(title, view.points.iter().map(cell).collect());
    Table { columns: columns.iter().map(column).collect() }
}

/// Milliseconds; none if no request was answered.
pub(crate) fn answered(forecast: &Forecast, estimate: &Estimate) -> String {
    if forecast.throughput.value > 0.0 { number(estimate.value * 1e3) } else { "-".to_owned() }
}

pub(crate) fn question(view: &ForecastView<'_>) -> String {
    let c = view.calibration;
    let (cpu, wait) = (c.work.cpu.as_secs_f64() * 1e3, c.work.wait.as_secs_f64() * 1e3);
    format!(
        "Forecast for {} ({}) under {} with {}: simulated from {} requests one at a time in {} trial{} of study {} on {} CPU; the median request takes {} ms of CPU and {} ms of waiting, a start {} s of CPU and {} s of waiting.",
        c.case,
        c.runtime,
        view.question.load,
        view.question.policy.name(),
        c.requests,
        c.trials,
        if c.trials == 1 { "" } else { "s" },
        view.study,
        c.cpus,
        number(cpu),
        number(wait),
        number(c.start.cpu.as_secs_f64()),
        number(c.start.wait.as_secs_f64()),
    )
}

pub(crate) fn notes(view: &ForecastView<'_>) -> Vec<String> {
    let mut notes = vec![format!(
        "at once: the most requests that an instance is given. Times exclude the network. rejected: by the gateway (status {}); too late: beyond the time-out; instances: fewest/mean/most; cold: starts; /vCPU-s: answers per second of a vCPU that instances had.",
        view.question.policy.status(Rejection::WaitedTooLong),
    )];
    notes.push(waking(view.calibration));
    if let Some(processors) = view.points.first().and_then(|point| point.point.scenario.host_cpus) {
        let them = if processors == 1 { "one processor".to_owned() } else { format!("{processors} processors") };
        notes.push(format!("all instances share {them}."));
    }
    let price = view.question.price;
    notes.push(format!(
        "cost in {} by {} ({}, {}, prices of {}): a million requests without the free tier, a month of this load with it.",
        price.currency, price.id, price.provider, price.regions, price.read
    ));
    let rounds = view.question.rounds;
    let half_width = |estimate: &Estimate| match (estimate.low, estimate.high) {
        (Some(low), Some(high)) if estimate.value > 0.0 => (high - low) / 2.0 / estimate.value,
        _ => 0.0,
    };
    let widest = view.points.iter().map(|point| half_width(&point.forecast.p99)).fold(0.0, f64::max);
    notes.push(format!(
        "each line: {rounds} simulation{} with other random numbers, seed {}; the p99 is known to {} at worst, by chance alone: the model itself may be further off.",
        if rounds == 1 { "" } else { "s" },
        view.question.seed,
        if rounds > 1 { share(widest) } else { "an unknown share".to_owned() },
    ));
    let mut beyond: Vec<_> = view.points.iter().filter_map(|point| point.point.extrapolated.clone()).collect();
    beyond.sort();
    beyond.dedup();
    if !beyond.is_empty() {
        notes.push(format!("* beyond what was measured ({}).", beyond.join("; ")));
    }
    notes
}

/// What an instance that was idle takes longer, as far as that was measured.
fn waking(calibration: &Calibration) -> String {
    match calibration.waking.as_slice() {
        [_, .., last] => format!(
            "an instance that was idle for {} ms takes {} ms more of CPU and {} ms more of waiting.",
            number(last.idle.as_secs_f64() * 1e3),
            number(last.cpu.as_secs_f64() * 1e3),
            number(last.wait.as_secs_f64() * 1e3),
        ),
        _ => "how much slower an idle instance is was not measured: with little load the service is slower than this. A low open load measures it: stampede compare ... --load open:poisson:20, and --also.".to_owned(),
    }
}

/// What it comes to, in one sentence.
pub(crate) fn conclusion(view: &ForecastView<'_>) -> String {
    let by = |of: fn(&ForecastPoint) -> f64| move |a: &&ForecastPoint, b: &&ForecastPoint| of(a).total_cmp(&of(b));
    let good = view.points.iter().filter(|point| point.forecast.keeps_up());
    let told = |point: &ForecastPoint| {
        let service = &point.point.scenario.service;
        let mark = if point.point.extrapolated.is_some() { " (beyond what was measured)" } else { "" };
        format!("{} at once on {} CPU and {}{mark}", point.point.concurrency, service.cpus, service.memory)
    };
    if let Some(best) = good.min_by(by(|point| point.forecast.per_million.value)) {
        return format!(
            "{}: {} answers {} with a p99 of {} ms on {} instances on average, for {} {} a month.",
            if view.points.len() > 1 { "The cheapest that keeps up" } else { "It keeps up" },
            told(best),
            if best.forecast.failed() > 0.0 {
                format!("all but {} of the requests", share(best.forecast.failed()))
            } else {
                "all requests".to_owned()
            },
            answered(&best.forecast, &best.forecast.p99),
            number(best.forecast.instances.value),
            money(best.forecast.per_month.value),
            view.question.price.currency,
        );
    }
    match view.points.iter().min_by(|a, b| a.forecast.failed().total_cmp(&b.forecast.failed())) {
        Some(best) => format!(
            "None of them keeps up: the best, {}, leaves {} of the requests without an answer in time on {} instances at most; allow more with --max-instances, or give each more CPU.",
            told(best),
            share(best.forecast.failed()),
            best.forecast.instances_range.1,
        ),
        None => String::new(),
    }
}

/// With three digits, as small shares matter here.
fn share(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        value if value < 0.01 => "<0.01 %".to_owned(),
        value => format!("{} %", number(value)),
    }
}

pub(crate) fn money(value: f64) -> String {
    if value >= 100.0 { number(value) } else { format!("{value:.2}") }
}
