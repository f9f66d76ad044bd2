//! A forecast for people.

use stampede_core::Estimate;
use stampede_forecast::Calibration;
use stampede_report::html::{self, ForecastPoint, ForecastView};
use stampede_report::terminal::paragraph;
use stampede_scale::Rejection;

use super::{Answer, Answered};

/// A point turns away or gives up less than this share of its requests, or is not one to choose.
const FEW: f64 = 0.001;

/// Renders an answer; fits 80 columns where the width does.
pub(super) fn terminal(answer: &Answer, width: usize) -> String {
    let mut text = paragraph(&head(answer), 0, width) + "\n\n";
    let keys = || (0..3).map(|index| column(answer, index));
    let speed: Vec<_> = keys().chain((3..9).map(|index| column(answer, index))).collect();
    let cost: Vec<_> = keys().chain((9..COLUMNS.len()).map(|index| column(answer, index))).collect();
    for columns in [speed, cost] {
        text.push_str(&lined_up(&columns));
        text.push('\n');
    }
    for note in notes(answer) {
        text.push_str(&paragraph(&note, 2, width));
        text.push('\n');
    }
    text.push('\n');
    text.push_str(&paragraph(&conclusion(answer), 0, width));
    text.push('\n');
    text
}

/// The same as Markdown.
pub(super) fn markdown(answer: &Answer) -> String {
    let mut text = format!("{}\n\n", head(answer));
    let columns: Vec<_> = (0..COLUMNS.len()).map(|index| column(answer, index)).collect();
    for row in 0..=answer.points.len() {
        let cells: Vec<_> = columns.iter().map(|column| column[row].as_str()).collect();
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
        if row == 0 {
            text.push_str(&format!("|{}\n", "---:|".repeat(columns.len())));
        }
    }
    text.push('\n');
    for note in notes(answer) {
        text.push_str(&format!("- {note}\n"));
    }
    text.push_str(&format!("\n{}\n", conclusion(answer)));
    text
}

/// The same as a page.
pub(super) fn html(answer: &Answer) -> String {
    let point = |answered: &Answered| {
        let Answered { point, forecast } = answered;
        let service = &point.scenario.service;
        ForecastPoint {
            concurrency: point.concurrency,
            instance: format!("{} CPU, {}", service.cpus, service.memory),
            per_month: forecast.per_month.value,
            shown: money(forecast.per_month.value),
            latency: self::answered(answered, &forecast.p99),
            keeps_up: failed(answered) < FEW,
        }
    };
    let points: Vec<ForecastPoint> = answer.points.iter().map(point).collect();
    let rows = answer.points.iter().map(|answered| COLUMNS.iter().map(|(_, cell)| cell(answered)).collect());
    html::forecast(&ForecastView {
        title: format!("{}, {}", answer.calibration.case, answer.question.load),
        lead: conclusion(answer),
        question: head(answer),
        currency: answer.price.currency,
        points: &points,
        columns: COLUMNS.iter().map(|(title, _)| (*title).to_owned()).collect(),
        rows: rows.collect(),
        notes: notes(answer),
    })
}

type Cell = fn(&Answered) -> String;

/// What makes a point, how it serves, what it takes.
const COLUMNS: [(&str, Cell); 15] = [
    ("at once", |p| format!("{}{}", p.point.concurrency, if p.point.extrapolated.is_some() { "*" } else { "" })),
    ("CPU", |p| p.point.scenario.service.cpus.to_string()),
    ("memory", |p| p.point.scenario.service.memory.to_string()),
    ("req/s", |p| number(p.forecast.throughput.value)),
    ("p50 ms", |p| answered(p, &p.forecast.p50)),
    ("p95 ms", |p| answered(p, &p.forecast.p95)),
    ("p99 ms", |p| answered(p, &p.forecast.p99)),
    ("rejected", |p| percent(p.forecast.rejected.value)),
    ("too late", |p| percent(p.forecast.timed_out.value)),
    ("instances", |p| {
        let (least, most) = p.forecast.instances_range;
        format!("{least}/{}/{most}", number(p.forecast.instances.value))
    }),
    ("cold", |p| number(p.forecast.cold_starts.value)),
    ("CPU used", |p| percent(p.forecast.utilisation.value)),
    ("/vCPU-s", |p| number(p.forecast.per_vcpu_second.value)),
    ("a million", |p| money(p.forecast.per_million.value)),
    ("a month", |p| money(p.forecast.per_month.value)),
];

fn column(answer: &Answer, index: usize) -> Vec<String> {
    let (title, cell) = COLUMNS[index];
    let cells = answer.points.iter().map(cell);
    std::iter::once(title.to_owned()).chain(cells).collect()
}

fn lined_up(columns: &[Vec<String>]) -> String {
    let widths: Vec<_> =
        columns.iter().map(|column| column.iter().map(|cell| cell.chars().count()).max().unwrap_or(0)).collect();
    let rows = columns.first().map_or(0, Vec::len);
    let line = |row: usize| {
        let cells = columns.iter().zip(&widths).map(|(column, width)| format!("{:>width$}", column[row]));
        cells.collect::<Vec<_>>().join("  ") + "\n"
    };
    (0..rows).map(line).collect()
}

fn head(answer: &Answer) -> String {
    let Answer { calibration: c, question: q, .. } = answer;
    let (cpu, wait) = (c.work.cpu.as_secs_f64() * 1e3, c.work.wait.as_secs_f64() * 1e3);
    format!(
        "Forecast for {} ({}) under {} with {}: simulated from {} requests one at a time in {} trial{} of study {} on {} CPU; the median request is {} ms of CPU and {} ms off it, a start {} s of CPU and {} s beside.",
        c.case,
        c.runtime,
        q.load,
        q.policy_name,
        c.requests,
        c.trials,
        if c.trials == 1 { "" } else { "s" },
        answer.study,
        c.cpus,
        number(cpu),
        number(wait),
        number(c.start.cpu.as_secs_f64()),
        number(c.start.wait.as_secs_f64()),
    )
}

fn notes(answer: &Answer) -> Vec<String> {
    let mut notes = vec![format!(
        "at once: the most requests that an instance is given. Times are without any network. rejected: turned away (status {}); too late: beyond the time-out; instances: fewest/mean/most; cold: starts; /vCPU-s: answers for each second of a vCPU that instances had.",
        answer.question.policy.status(Rejection::WaitedTooLong),
    )];
    notes.push(waking(&answer.calibration));
    if let Some(processors) = answer.points.first().and_then(|answered| answered.point.scenario.host_cpus) {
        let them = if processors == 1 { "one processor".to_owned() } else { format!("{processors} processors") };
        notes.push(format!("all instances share {them}."));
    }
    let price = answer.price;
    notes.push(format!(
        "cost in {} by {} ({}, {}, prices of {}): a million requests with nothing free, a month like this after what is free.",
        price.currency, price.id, price.provider, price.regions, price.read
    ));
    let rounds = answer.question.rounds;
    let half_width = |estimate: &Estimate| match (estimate.low, estimate.high) {
        (Some(low), Some(high)) if estimate.value > 0.0 => (high - low) / 2.0 / estimate.value,
        _ => 0.0,
    };
    let widest = answer.points.iter().map(|point| half_width(&point.forecast.p99)).fold(0.0, f64::max);
    notes.push(format!(
        "each line: {rounds} simulation{} with other luck, seed {}; p99 is known to {} at worst, by luck alone: the model itself may be further off.",
        if rounds == 1 { "" } else { "s" },
        answer.question.seed,
        if rounds > 1 { percent(widest) } else { "an unknown share".to_owned() },
    ));
    let mut beyond: Vec<_> = answer.points.iter().filter_map(|point| point.point.extrapolated.clone()).collect();
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
            "an instance that had nothing to do for {} ms takes {} ms of CPU longer and {} ms beside.",
            number(last.idle.as_secs_f64() * 1e3),
            number(last.cpu.as_secs_f64() * 1e3),
            number(last.wait.as_secs_f64() * 1e3),
        ),
        _ => "how much longer an instance takes that was idle was not measured: with little load it is slower than this. A low open load tells: stampede compare ... --load open:poisson:20, and --also.".to_owned(),
    }
}

/// What it comes to, in one sentence.
pub(super) fn conclusion(answer: &Answer) -> String {
    let by = |of: fn(&Answered) -> f64| move |a: &&Answered, b: &&Answered| of(a).total_cmp(&of(b));
    let good = answer.points.iter().filter(|point| failed(point) < FEW);
    let told = |point: &Answered| {
        let service = &point.point.scenario.service;
        let mark = if point.point.extrapolated.is_some() { " (beyond what was measured)" } else { "" };
        format!("{} at once on {} CPU and {}{mark}", point.point.concurrency, service.cpus, service.memory)
    };
    if let Some(best) = good.min_by(by(|point| point.forecast.per_million.value)) {
        return format!(
            "{}: {} answers {} with a p99 of {} ms on {} instances in the mean, for {} {} a month.",
            if answer.points.len() > 1 { "The cheapest that keeps up" } else { "It keeps up" },
            told(best),
            if failed(best) > 0.0 {
                format!("all but {} of the requests", percent(failed(best)))
            } else {
                "all requests".to_owned()
            },
            answered(best, &best.forecast.p99),
            number(best.forecast.instances.value),
            money(best.forecast.per_month.value),
            answer.price.currency,
        );
    }
    match answer.points.iter().min_by(|a, b| failed(a).total_cmp(&failed(b))) {
        Some(best) => format!(
            "None of them keeps up: the best, {}, leaves {} of the requests without an answer in time on {} instances at most; allow more with --max-instances, or give each more CPU.",
            told(best),
            percent(failed(best)),
            best.forecast.instances_range.1,
        ),
        None => String::new(),
    }
}

/// The share of requests without an answer in time.
fn failed(point: &Answered) -> f64 {
    point.forecast.rejected.value + point.forecast.timed_out.value
}

/// Milliseconds; nothing where nobody was answered.
fn answered(point: &Answered, estimate: &Estimate) -> String {
    if point.forecast.throughput.value > 0.0 { number(estimate.value * 1e3) } else { "-".to_owned() }
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        value if value < 0.01 => "<0.01 %".to_owned(),
        value => format!("{} %", number(value)),
    }
}

fn money(value: f64) -> String {
    if value >= 100.0 { number(value) } else { format!("{value:.2}") }
}

/// Three digits, or all before the point.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        ..0.0995 => format!("{value:.4}"),
        ..0.995 => format!("{value:.3}"),
        ..9.995 => format!("{value:.2}"),
        ..99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}
