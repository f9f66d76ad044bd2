//! What an autoscaled service did, for people. Programs read the study's own JSON, whose trials hold all of it.

use stampede_analysis::percentile;
use stampede_core::{Case, Measurement, Outcome, ScaleRecord, Trial};

use crate::StudyView;
use crate::layout::{table, wrap};
use crate::quantity::{count, number};
use crate::scale_figures::{ScaleFigures, Spread};

/// For a terminal of this many characters a line. The answer comes last. It ends with a line break.
pub fn terminal(view: &StudyView<'_>, width: usize) -> String {
    let mut text = String::new();
    let mut put = |lines: Vec<String>| lines.iter().for_each(|line| text.push_str(&format!("{line}\n")));
    put(wrap("", &question(view), 2, width));
    let rows = rows(view);
    if rows.first().is_some_and(|row| row.len() > 1) {
        put(vec![String::new()]);
        put(table(&transposed(&rows)).into_iter().map(|line| format!("  {line}")).collect());
    }
    for note in uncounted(view) {
        put(vec![String::new()]);
        put(wrap("", &note, 2, width));
    }
    if findings(view).next().is_some() {
        put(vec![String::new(), "Findings".to_owned()]);
    }
    findings(view).for_each(|finding| put(wrap("  - ", &finding, 4, width)));
    put(vec![String::new()]);
    put(wrap("", &method(view), 2, width));
    put(vec![String::new()]);
    put(wrap("", &answer(view), 2, width));
    text
}

/// As GitHub-flavoured Markdown. It ends with a line break.
pub fn markdown(view: &StudyView<'_>) -> String {
    let mut text = format!("**{}**\n\n{}\n\n", escaped(&answer(view)), escaped(&question(view)));
    for (number, row) in rows(view).iter().enumerate() {
        let cells: Vec<String> = row.iter().map(|cell| escaped(cell)).collect();
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
        if number == 0 {
            text.push_str(&format!("|---|{}\n", "---:|".repeat(row.len().saturating_sub(1))));
        }
    }
    for note in uncounted(view) {
        text.push_str(&format!("\n{}\n", escaped(&note)));
    }
    if findings(view).next().is_some() {
        text.push_str("\nFindings:\n\n");
    }
    findings(view).for_each(|finding| text.push_str(&format!("- {}\n", escaped(&finding))));
    text.push_str(&format!("\n{}\n", escaped(&method(view))));
    text
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

fn transposed(rows: &[Vec<String>]) -> Vec<Vec<String>> {
    let width = rows.first().map_or(0, Vec::len);
    (0..width).map(|column| rows.iter().map(|row| row.get(column).cloned().unwrap_or_default()).collect()).collect()
}

/// A trial that was measured.
struct Measured<'a> {
    trial: &'a Trial,
    measurement: &'a Measurement,
    record: &'a ScaleRecord,
    figures: ScaleFigures,
}

fn measured<'a>(view: &StudyView<'a>) -> Vec<Measured<'a>> {
    let Some(case) = view.study.cases.first() else { return Vec::new() };
    let of = |trial: &'a Trial| {
        let (measurement, record) = (trial.measurement.as_ref()?, trial.scale.as_ref()?);
        Some(Measured { trial, measurement, record, figures: ScaleFigures::of(record, measurement, &case.limits) })
    };
    view.trials.iter().filter_map(of).collect()
}

fn question(view: &StudyView<'_>) -> String {
    let Some(Case { runtime, limits, load, .. }) = view.study.cases.first() else {
        return view.study.workload.to_string();
    };
    let window = humantime::format_duration(view.study.duration);
    let asked = measured(view).first().map_or_else(String::new, |of| {
        let service = &of.record.service;
        format!(
            " by {}, {} to {} instances, {} at once",
            service.policy,
            service.min_instances,
            service.max_instances,
            if service.concurrency == 1 { "1 request".to_owned() } else { format!("{} requests", service.concurrency) }
        )
    });
    format!(
        "{}: {runtime}, {} CPU and {} an instance, scaled{asked}; {load} for {window}",
        view.study.workload, limits.cpus, limits.memory
    )
}

fn rows(view: &StudyView<'_>) -> Vec<Vec<String>> {
    let trials = measured(view);
    let heading = trials.iter().map(|of| format!("trial {}", of.trial.block));
    let mut rows = vec![std::iter::once(String::new()).chain(heading).collect()];
    let mut row = |title: &str, cell: &dyn Fn(&Measured<'_>) -> String| {
        rows.push(std::iter::once(title.to_owned()).chain(trials.iter().map(cell)).collect());
    };
    let or_none = |value: Option<f64>| value.map_or_else(|| "n/a".to_owned(), number);
    row("requests sent", &|of| count(of.measurement.requests.sent));
    row("  ok", &|of| count(of.measurement.requests.ok));
    row("  failed", &|of| count(of.figures.failed));
    row("  rejected", &|of| count(of.figures.rejected));
    row("  no answer", &|of| count(of.measurement.requests.unfinished));
    row("answers a second", &|of| number(throughput(of.measurement)));
    for (title, q) in [("p50 ms", 0.5), ("p95 ms", 0.95), ("p99 ms", 0.99)] {
        row(title, &|of| or_none(percentile(&of.measurement.response, q).map(|time| time.as_secs_f64() * 1e3)));
    }
    row("instances min/mean/max", &|of| {
        let instances = of.figures.instances;
        format!("{}/{}/{}", instances.min, number(instances.mean), instances.max)
    });
    row("  lost", &|of| of.figures.lost.to_string());
    row("waited for one", &|of| count(of.record.waits.count()));
    row("  at most at once", &|of| of.record.most_waiting.to_string());
    row("  longest ms", &|of| number(of.record.waits.max().as_secs_f64() * 1e3));
    row("cold starts", &|of| of.figures.cold_starts.count.to_string());
    type Part = fn(&ScaleFigures) -> Spread;
    let parts: [(&str, Part); 4] = [
        ("  whole ms p50/max", |figures| figures.cold_starts.total),
        ("  processes ms", |figures| figures.cold_starts.process),
        ("  first answer ms", |figures| figures.cold_starts.ready),
        ("  first request ms", |figures| figures.cold_starts.first_request),
    ];
    for (title, part) in parts {
        row(title, &|of| match part(&of.figures) {
            Spread { p50: Some(p50), max: Some(max), .. } => format!("{}/{}", number(p50), number(max)),
            _ => "n/a".to_owned(),
        });
    }
    row("answers a vCPU-second", &|of| or_none(of.figures.rps_per_vcpu));
    row("CPU used %", &|of| or_none(of.figures.utilisation.map(|share| share * 100.0)));
    row("throttled periods %", &|of| {
        let used = of.measurement.resources.filter(|used| used.periods > 0);
        or_none(used.map(|used| used.throttled_periods as f64 / used.periods as f64 * 100.0))
    });
    row("a million answers cost", &|of| {
        let bill = of.figures.bill.as_ref();
        match bill.and_then(|bill| Some((bill.per_million?, bill.price.currency))) {
            Some((cost, currency)) => format!("{} {currency}", number(cost)),
            None => "n/a".to_owned(),
        }
    });
    row("gateway CPU us/request", &|of| or_none(of.figures.gateway_cpu.map(|cpu| cpu.as_secs_f64() * 1e6)));
    rows
}

fn throughput(measurement: &Measurement) -> f64 {
    measurement.requests.ok as f64 / measurement.window.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// Trials that do not count, and why.
fn uncounted(view: &StudyView<'_>) -> Vec<String> {
    let told = |trial: &Trial| match &trial.outcome {
        Outcome::Measured => None,
        Outcome::Invalid(reason) => Some(format!("trial {} is not valid: {reason}", trial.block)),
        Outcome::Failed(reason) => Some(format!("trial {} failed: {reason}", trial.block)),
    };
    let lost = |trial: &Trial| {
        let lost = trial.scale.as_ref()?.lives.iter().find_map(|life| life.lost.as_ref())?;
        matches!(trial.outcome, Outcome::Measured).then(|| format!("trial {} lost an instance: it {lost}", trial.block))
    };
    view.trials.iter().filter_map(|trial| told(trial).or_else(|| lost(trial))).collect()
}

fn findings<'a>(view: &StudyView<'a>) -> impl Iterator<Item = String> + use<'a> {
    let found = view.analysis.cases.iter().flat_map(|case| &case.findings);
    found.map(|finding| format!("{} {}", finding.text, finding.advice))
}

fn method(view: &StudyView<'_>) -> String {
    let price = measured(view).into_iter().find_map(|of| of.figures.bill).map_or_else(String::new, |bill| {
        format!("; costs by {} ({}, prices of {}), nothing free", bill.price.id, bill.price.provider, bill.price.read)
    });
    format!(
        "Method: real instances, each under its own limits, behind a gateway that shares the generator's processors; response \
         times from when a request was due, cold starts and the gateway included. A start is from its order to its first \
         answer{price}. Study {}, seed {}.",
        view.study.id, view.study.seed
    )
}

/// One sentence for somebody who wants to know whether it keeps up.
fn answer(view: &StudyView<'_>) -> String {
    let Some(case) = view.study.cases.first() else { return "Nothing was measured.".to_owned() };
    let counted: Vec<_> =
        measured(view).into_iter().filter(|of| matches!(of.trial.outcome, Outcome::Measured)).collect();
    let who = format!("{} on {}", case.runtime, view.study.workload);
    if counted.is_empty() {
        return format!("{who}: no trial counts, so nothing can be said.");
    }
    let mean = |of: &dyn Fn(&Measured<'_>) -> f64| counted.iter().map(of).sum::<f64>() / counted.len() as f64;
    let sent = mean(&|of| of.measurement.requests.sent as f64).max(1.0);
    let share = |of: &dyn Fn(&Measured<'_>) -> f64| mean(of) / sent;
    let failed = share(&|of| (of.figures.failed + of.measurement.requests.unfinished) as f64);
    let rejected = share(&|of| of.figures.rejected as f64);
    let trouble = match (failed > 0.0, rejected > 0.0) {
        (false, false) => "every request".to_owned(),
        (true, false) => format!("all but the {} % of requests that failed", number(failed * 100.0)),
        (false, true) => format!("all but the {} % of requests that were turned away", number(rejected * 100.0)),
        (true, true) => format!(
            "all but the requests that failed ({} %) or were turned away ({} %)",
            number(failed * 100.0),
            number(rejected * 100.0)
        ),
    };
    let of_instances = match counted[0].record.service.max_instances {
        1 => "1 instance".to_owned(),
        most => format!("{} of {most} instances", number(mean(&|of| of.figures.instances.mean))),
    };
    format!(
        "{who} answers {trouble}: {} a second on {of_instances}, {} for each second of a vCPU.",
        number(mean(&|of| throughput(of.measurement))),
        number(mean(&|of| of.figures.rps_per_vcpu.unwrap_or_default())),
    )
}
