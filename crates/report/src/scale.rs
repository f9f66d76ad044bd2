//! What an autoscaled service did, for people. Programs read the study's own JSON, whose trials hold all of it.

use stampede_analysis::{MIN_BLOCKS, percentile};
use stampede_core::{Case, Estimate, Measurement, Outcome, Passage, ScaleRecord, Trial, Verdict, VerdictWord};

use crate::StudyView;
use crate::page::{Block, Page, Table};
use crate::quantity::{count, number, ratio};
use crate::scale_figures::{ScaleFigures, Spread};

/// What each service did. The answer comes first.
#[must_use]
pub fn page(view: &StudyView<'_>) -> Page {
    let mut blocks = vec![Block::Paragraph(question(view))];
    for (service, table) in services(view) {
        blocks.extend(service.map(Block::Caption));
        blocks.push(Block::Table(table));
    }
    blocks.extend(uncounted(view).into_iter().flat_map(|text| [Block::Gap, Block::Paragraph(text)]));
    blocks.extend(Block::list("Findings", findings(view).map(Block::Item)));
    blocks.extend([Block::Gap, Block::Paragraph(method(view))]);
    Page { answer: vec![answer(view)], blocks }
}

/// What services did: each with what it is where there are several.
pub(crate) fn services(view: &StudyView<'_>) -> Vec<(Option<String>, Table)> {
    let of = |case: &Case| (is_of_several(view).then(|| service(view, case)), Table::of_rows(&rows(view, case)));
    view.study.cases.iter().map(of).filter(|(_, table)| table.columns.len() > 1).collect()
}

/// A trial that was measured.
struct Measured<'a> {
    trial: &'a Trial,
    measurement: &'a Measurement,
    record: &'a ScaleRecord,
    figures: ScaleFigures,
}

fn measured<'a>(view: &StudyView<'a>, case: &'a Case) -> Vec<Measured<'a>> {
    let of = |trial: &'a Trial| {
        let (measurement, record) = (trial.measurement.as_ref()?, trial.scale.as_ref()?);
        Some(Measured { trial, measurement, record, figures: ScaleFigures::of(record, measurement, case) })
    };
    view.trials.iter().filter(|trial| trial.case == case.id).filter_map(of).collect()
}

/// Whether services are compared with each other.
fn is_of_several(view: &StudyView<'_>) -> bool {
    view.study.cases.len() > 1
}

pub(crate) fn question(view: &StudyView<'_>) -> String {
    let workload = &view.study.workload;
    let (Some(case), window) = (view.study.cases.first(), humantime::format_duration(view.study.duration)) else {
        return workload.to_string();
    };
    let what = if is_of_several(view) {
        format!("{} services against each other", view.study.cases.len())
    } else {
        instances(view, case)
    };
    format!("{workload}: {what}; {} for {window}", case.load)
}

/// `large: apache-mod-php, 1 CPU and 512Mi an instance, ...`.
fn service(view: &StudyView<'_>, case: &Case) -> String {
    format!("{}: {}", case.id, instances(view, case))
}

fn instances(view: &StudyView<'_>, case: &Case) -> String {
    let Case { runtime, limits, .. } = case;
    let asked = measured(view, case).first().map_or_else(String::new, |of| {
        let service = &of.record.service;
        let shared = service.total_cpus.map_or_else(String::new, |total| match total {
            1 => " that share 1 processor".to_owned(),
            total => format!(" that share {total} processors"),
        });
        format!(
            " by {}, {} to {} instances{shared}{}",
            service.policy,
            service.min_instances,
            service.max_instances,
            match service.concurrency {
                // Nobody counts them before pods of a cluster.
                _ if of.record.is_of_cluster() => String::new(),
                1 => ", 1 request at once".to_owned(),
                many => format!(", {many} requests at once"),
            }
        )
    });
    format!("{runtime}, {} CPU and {} an instance, scaled{asked}", limits.cpus, limits.memory)
}

fn rows(view: &StudyView<'_>, case: &Case) -> Vec<Vec<String>> {
    let trials = measured(view, case);
    let in_cluster = trials.iter().any(|of| of.record.is_of_cluster());
    let heading = trials.iter().map(|of| format!("trial {}", of.trial.block));
    let mut rows = vec![std::iter::once(String::new()).chain(heading).collect()];
    let mut row = |title: &str, cell: &dyn Fn(&Measured<'_>) -> String| {
        rows.push(std::iter::once(title.to_owned()).chain(trials.iter().map(cell)).collect());
    };
    let or_none = |value: Option<f64>| value.map_or_else(|| "n/a".to_owned(), number);
    row("requests sent", &|of| count(of.measurement.requests.sent));
    row("  ok", &|of| count(of.measurement.requests.ok));
    row("  failed", &|of| count(of.figures.failed));
    if !in_cluster {
        row("  rejected", &|of| count(of.figures.rejected));
    }
    row("  no answer", &|of| count(of.measurement.requests.unfinished));
    row("responses a second", &|of| number(throughput(of.measurement)));
    for (title, q) in [("p50 ms", 0.5), ("p95 ms", 0.95), ("p99 ms", 0.99)] {
        row(title, &|of| or_none(percentile(&of.measurement.response, q).map(|time| time.as_secs_f64() * 1e3)));
    }
    row("instances min/mean/max", &|of| {
        let instances = of.figures.instances;
        format!("{}/{}/{}", instances.min, number(instances.mean), instances.max)
    });
    row("  lost", &|of| of.figures.lost.to_string());
    if in_cluster {
        row("  wanted at most", &|of| {
            of.record.most_wanted().map_or_else(|| "n/a".to_owned(), |most| most.to_string())
        });
        row("  CPU of each, %", &|of| uses(of.record, case));
    } else {
        row("waited for an instance", &|of| count(of.record.waits.count()));
        row("  at most at once", &|of| of.record.most_waiting.to_string());
        row("  longest, ms", &|of| number(of.record.waits.max().as_secs_f64() * 1e3));
    }
    row("cold starts", &|of| of.figures.cold_starts.count.to_string());
    type Part = fn(&ScaleFigures) -> Spread;
    let here: &[(&str, Part)] = &[
        ("  in all, ms p50/max", |figures| figures.cold_starts.total),
        ("  processes start, ms", |figures| figures.cold_starts.process),
        ("  of that, set-up ms", |figures| figures.cold_starts.set_up),
        ("  until ready, ms", |figures| figures.cold_starts.ready),
        ("  first request, ms", |figures| figures.cold_starts.first_request),
    ];
    let of_pods: &[(&str, Part)] = &[
        ("  in all, ms p50/max", |figures| figures.cold_starts.total),
        ("  process starts, ms", |figures| figures.cold_starts.process),
        ("  of that, no node, ms", |figures| figures.cold_starts.placed),
        ("  until ready, ms", |figures| figures.cold_starts.ready),
    ];
    for (title, part) in if in_cluster { of_pods } else { here } {
        row(title, &|of| match part(&of.figures) {
            Spread { p50: Some(p50), max: Some(max), .. } => format!("{}/{}", number(p50), number(max)),
            _ => "n/a".to_owned(),
        });
    }
    row("responses per vCPU-s", &|of| or_none(of.figures.rps_per_vcpu));
    if in_cluster {
        row("cost per million", &cost);
        return rows;
    }
    row("CPU used %", &|of| or_none(of.figures.utilisation.map(|share| share * 100.0)));
    row("throttled periods %", &|of| {
        let used = of.measurement.resources.filter(|used| used.periods > 0);
        or_none(used.map(|used| used.throttled_periods as f64 / used.periods as f64 * 100.0))
    });
    row("cost per million", &cost);
    row("gateway, ms/request", &|of| or_none(of.figures.gateway_ms));
    row("  ms p50/p99 without it", &|of| match of.record.gateway.passage {
        Some(Passage { p50, p99, .. }) => {
            format!("{}/{}", number(p50.as_secs_f64() * 1e3), number(p99.as_secs_f64() * 1e3))
        }
        None => "n/a".to_owned(),
    });
    row("  CPU, us/request", &|of| or_none(of.figures.gateway_cpu.map(|cpu| cpu.as_secs_f64() * 1e6)));
    rows
}

fn cost(of: &Measured<'_>) -> String {
    let bill = of.figures.bill.as_ref();
    match bill.and_then(|bill| Some((bill.per_million?, bill.price.currency))) {
        Some((cost, currency)) => format!("{} {currency}", number(cost)),
        None => "n/a".to_owned(),
    }
}

/// What pods used of their CPU, the oldest first: `81/12/n/a`.
fn uses(record: &ScaleRecord, case: &Case) -> String {
    let share = |used: Option<u32>| match used {
        Some(millis) => number(f64::from(millis) / f64::from(case.limits.cpus.millis().max(1)) * 100.0),
        None => "n/a".to_owned(),
    };
    record.lives.iter().map(|life| share(life.cpu_millis)).collect::<Vec<_>>().join("/")
}

fn throughput(measurement: &Measurement) -> f64 {
    measurement.requests.ok as f64 / measurement.window.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// Trials that do not count, and why.
fn uncounted(view: &StudyView<'_>) -> Vec<String> {
    let name = |trial: &Trial| {
        let of = if is_of_several(view) { format!(" of {}", trial.case) } else { String::new() };
        format!("trial {}{of}", trial.block)
    };
    let told = |trial: &Trial| match &trial.outcome {
        Outcome::Measured => None,
        Outcome::Invalid(reason) => Some(format!("{} is not valid: {reason}", name(trial))),
        Outcome::Failed(reason) => Some(format!("{} failed: {reason}", name(trial))),
    };
    let lost = |trial: &Trial| {
        let lost = trial.scale.as_ref()?.lives.iter().find_map(|life| life.lost.as_ref())?;
        matches!(trial.outcome, Outcome::Measured).then(|| format!("{} lost an instance: it {lost}", name(trial)))
    };
    view.trials.iter().filter_map(|trial| told(trial).or_else(|| lost(trial))).collect()
}

fn findings<'a>(view: &StudyView<'a>) -> impl Iterator<Item = String> + use<'a> {
    let several = is_of_several(view);
    view.analysis.cases.iter().flat_map(move |case| {
        let name = if several { format!("{}: ", case.case) } else { String::new() };
        case.findings.iter().map(move |finding| format!("{name}{} {}", finding.text, finding.advice))
    })
}

pub(crate) fn method(view: &StudyView<'_>) -> String {
    let trials = view.study.cases.iter().flat_map(|case| measured(view, case));
    let price = trials.into_iter().find_map(|of| of.figures.bill).map_or_else(String::new, |bill| {
        format!(
            "; costs by {} ({}, prices of {}), without the free tier",
            bill.price.id, bill.price.provider, bill.price.read
        )
    });
    if view.trials.iter().filter_map(|trial| trial.scale.as_ref()).any(ScaleRecord::is_of_cluster) {
        return format!(
            "Method: pods of a cluster, each under its own limits, started and stopped by its HorizontalPodAutoscaler, and loaded from \
             other pods through the cluster's service, which has each connection go to a pod of its choice; response times from when a \
             request was due, and parts of starts from when the cluster told of them{price}. Study {}, seed {}.",
            view.study.id, view.study.seed
        );
    }
    format!(
        "Method: real instances, each under its own limits, behind a gateway that shares the generator's processors; response \
         times from when a request was due, cold starts and the gateway included, and again from when it reached the gateway, without the gateway's own time. A start counts from its request until it is ready{price}. Study {}, seed {}.",
        view.study.id, view.study.seed
    )
}

/// What somebody wants to know first: whether it keeps up; of several services, which one does most for its CPU.
pub(crate) fn answer(view: &StudyView<'_>) -> String {
    if view.study.cases.is_empty() {
        return "Nothing was measured.".to_owned();
    }
    let (each, between) = sentences(view);
    [each, between].concat().join(" ")
}

/// What each service does, and how they compare.
pub(crate) fn sentences(view: &StudyView<'_>) -> (Vec<String>, Vec<String>) {
    let each = view.study.cases.iter().map(|case| keeps_up(view, case)).collect();
    let verdicts = view.analysis.verdicts.iter().filter(|_| is_of_several(view));
    (each, verdicts.map(more_for_its_cpu).collect())
}

/// How two services compare in answers for each second of a vCPU.
fn more_for_its_cpu(verdict: &Verdict) -> String {
    let Verdict { a, b, ratio: Estimate { value, low, high, n }, verdict, .. } = verdict;
    let blocks = if *n == 1 { "1 round".to_owned() } else { format!("{n} rounds") };
    let interval = match (low, high) {
        (Some(low), Some(high)) => format!("{} to {}, {blocks}", ratio(*low), ratio(*high)),
        _ => format!("{blocks}, and a verdict takes {MIN_BLOCKS}"),
    };
    let times = format!("{} times ({interval})", ratio(*value));
    match verdict {
        VerdictWord::Faster | VerdictWord::Slower => {
            format!("Per vCPU-second, {a} answers {times} the requests of {b}.")
        }
        VerdictWord::Equivalent => format!("Per vCPU-second, {a} and {b} answer the same: {times}."),
        VerdictWord::Undecided => {
            format!("Undecided whether {a} or {b} answers more per vCPU-second: {times}.")
        }
    }
}

fn keeps_up(view: &StudyView<'_>, case: &Case) -> String {
    let counted: Vec<_> =
        measured(view, case).into_iter().filter(|of| matches!(of.trial.outcome, Outcome::Measured)).collect();
    let name = if is_of_several(view) { case.id.to_string() } else { case.runtime.to_string() };
    let who = format!("{} on {}", name, view.study.workload);
    if counted.is_empty() {
        return format!("{who}: no result, since no trial counts.");
    }
    let mean = |of: &dyn Fn(&Measured<'_>) -> f64| counted.iter().map(of).sum::<f64>() / counted.len() as f64;
    let sent = mean(&|of| of.measurement.requests.sent as f64).max(1.0);
    let share = |of: &dyn Fn(&Measured<'_>) -> f64| mean(of) / sent;
    let failed = share(&|of| (of.figures.failed + of.measurement.requests.unfinished) as f64);
    let rejected = share(&|of| of.figures.rejected as f64);
    let trouble = match (failed > 0.0, rejected > 0.0) {
        (false, false) => "every request".to_owned(),
        (true, false) => format!("all but the {} % of requests that failed", number(failed * 100.0)),
        (false, true) => format!("all but the {} % of requests that were rejected", number(rejected * 100.0)),
        (true, true) => format!(
            "all but the requests that failed ({} %) or were rejected ({} %)",
            number(failed * 100.0),
            number(rejected * 100.0)
        ),
    };
    let of_instances = match counted[0].record.service.max_instances {
        1 => "1 instance".to_owned(),
        most => format!("{} of {most} instances", number(mean(&|of| of.figures.instances.mean))),
    };
    format!(
        "{who} answers {trouble}: {} a second on {of_instances}, {} per vCPU-second.",
        number(mean(&|of| throughput(of.measurement))),
        number(mean(&|of| of.figures.rps_per_vcpu.unwrap_or_default())),
    )
}
