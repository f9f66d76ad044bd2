//! What bounds a study's claims, in words: its warm-ups, the machine's drift, the noise floor.

use std::collections::BTreeMap;
use std::time::Duration;

use stampede_analysis::{BUSY, Drift, Metric, drift, metric, noise_floor};
use stampede_core::{Floor, Load, NoiseFloor, Pilot, StudyKind, WarmUp};

use crate::StudyView;
use crate::quantity::{count, number, percent, ratio};

/// What a pilot showed: `at rest after 3.5 s`.
pub fn pilot(pilot: &Pilot) -> String {
    match pilot {
        Pilot::Steady { after: Duration::ZERO, .. } => "steady from the start".to_owned(),
        Pilot::Steady { after, .. } => format!("steady after {} s", after.as_secs_f64()),
        Pilot::Unsteady { watched } => format!("no steady state in {} s", watched.as_secs_f64()),
        Pilot::Untold { why } => format!("the pilot {why}"),
    }
}

/// For how long cases were loaded before their windows, and who said so.
pub(crate) fn warm_up(view: &StudyView<'_>) -> String {
    let study = view.study;
    if study.groundwork.warm_ups.is_empty() {
        return format!("warm-up of {} s", study.warm_up.as_secs_f64());
    }
    let mut groups: BTreeMap<(Duration, String), Vec<&str>> = BTreeMap::new();
    for (case, WarmUp { length, pilot: shown }) in &study.groundwork.warm_ups {
        let remark = match shown {
            Pilot::Steady { .. } => String::new(),
            Pilot::Unsteady { .. } | Pilot::Untold { .. } => format!(" ({})", pilot(shown)),
        };
        groups.entry((*length, remark)).or_default().push(case.as_str());
    }
    let told = groups.iter().map(|((length, remark), cases)| {
        let all = cases.len() == study.cases.len();
        let cases = if all { "all".to_owned() } else { cases.join(", ") };
        format!("{} s for {cases}{remark}", length.as_secs_f64())
    });
    format!("warm-up, by a short trial of each case: {}", told.collect::<Vec<_>>().join("; "))
}

/// What the reference server shows of the machine; none if it was not measured.
pub(crate) fn yard_stick(view: &StudyView<'_>) -> Option<String> {
    if view.yard_stick.is_empty() {
        return None;
    }
    let Some(Drift {
        median_rps,
        median_per_cpu_second: _,
        readings,
        range: (low, high),
        standing_out,
        trend,
        without,
    }) = drift(view.yard_stick)
    else {
        return Some("reference server: it could not be measured in any round".to_owned());
    };
    let rate = number(median_rps);
    let mut text = match readings {
        1 => format!("machine speed (reference server): {rate} req/s in its only reading"),
        _ => format!(
            "machine speed (reference server): {} to {} of its median, {rate} req/s, over {readings} readings",
            ratio(low),
            ratio(high)
        ),
    };
    if !standing_out.is_empty() {
        let blocks = standing_out.iter().map(|(block, share)| format!("round {block} at {}", ratio(*share)));
        let stand = if standing_out.len() == 1 { "stands" } else { "stand" };
        text.push_str(&format!(
            "; {} {stand} out: something else disturbed the machine",
            blocks.collect::<Vec<_>>().join(", ")
        ));
    }
    if let Some(trend) = trend {
        let word = if trend < 0.0 { "slower" } else { "faster" };
        text.push_str(&format!("; the machine became {word} by {} over the study", percent(trend.abs())));
    }
    if !without.is_empty() {
        let blocks: Vec<String> = without.iter().map(|block| count(u64::from(*block))).collect();
        text.push_str(&format!("; it failed in round {}", blocks.join(", ")));
    }
    Some(text)
}

/// What the method's line says of the floor: `noise floor 1.8 % (10 pairs)`. A calibration has none.
pub(crate) fn floor(view: &StudyView<'_>) -> Option<String> {
    let floor = view.study.groundwork.floor.as_ref();
    match floor.and_then(|floor| floor.metrics.get(view.analysis.primary.key)) {
        Some(Floor { share, pairs, .. }) => Some(format!("noise floor {} ({pairs} pairs)", percent(*share))),
        None if view.study.kind == StudyKind::Calibrate => None,
        None => Some("noise floor not measured here (--calibrate)".to_owned()),
    }
}

/// What a calibration comes to; nothing of another study.
pub(crate) fn calibration(view: &StudyView<'_>) -> Option<String> {
    const TOLD: [&str; 4] = ["throughput_rps", "requests_per_cpu_second", "response_p50_us", "response_p99_us"];
    if view.study.kind != StudyKind::Calibrate {
        return None;
    }
    let Some(NoiseFloor { metrics, .. }) = noise_floor(view.study, view.trials) else {
        return Some("No noise floor: that takes 3 rounds that count.".to_owned());
    };
    let model = match view.study.cases.first().map(|case| &case.load) {
        Some(Load::Open { .. }) => "open",
        _ => "closed",
    };
    let told = TOLD.into_iter().filter_map(|key| Some((metric(key)?, metrics.get(key)?)));
    let told: Vec<String> =
        told.map(|(Metric { title, .. }, floor)| format!("{} in {title}", percent(floor.share))).collect();
    let busy = match metrics.get(view.analysis.primary.key) {
        Some(floor) if floor.share > BUSY => {
            " The machine was busy with something else: calibrate it again when it is quiet."
        }
        _ => "",
    };
    Some(format!(
        "Two equal cases may seem to differ here by {}: under these limits and a load that is {model}, from now on, studies on this machine claim no smaller difference.{busy}",
        told.join(", ")
    ))
}
