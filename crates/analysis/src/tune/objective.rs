//! What a search is for.

use stampede_core::{Objective, Outcome, Percentile, Slo, SloTerm, Study, Trial};

use crate::metric::{Better, metric, primary_of};

/// How much a missed limit weighs, as a power of by how much it was missed, beside the figure that is searched for.
const WEIGHT: f64 = 4.0;

/// What any miss costs: a million times the figure would make up for it, which no setting gives.
const MISS: f64 = 13.8;

/// Whether a setting is below another by so much in [`score`] because it misses the SLO, in half of its trials or more.
pub fn is_miss(below: f64) -> bool {
    below > MISS / 2.0
}

/// The key of the metric of an objective.
pub fn objective_metric(objective: Objective) -> &'static str {
    match objective {
        Objective::Throughput => "throughput_rps",
        Objective::Memory => "memory_peak_bytes",
        Objective::Cost => "cpu_us_per_request",
    }
}

/// A term of an SLO that was missed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shortfall {
    /// The term.
    pub term: SloTerm,
    /// By how many times it was missed: more than 1.
    pub times: f64,
}

/// How good a trial is: larger is better, and what is multiplied by two gains as much as what is divided by two loses. A missed
/// SLO costs more than any figure gains. None where it was not measured or lacks the figure.
pub fn score(study: &Study, trial: &Trial) -> Option<f64> {
    if trial.outcome != Outcome::Measured {
        return None;
    }
    let metric = study.metric.as_deref().and_then(metric).unwrap_or_else(|| primary_of(study));
    let value = (metric.reader)(trial).filter(|value| *value > 0.0)?.ln();
    let gain = if metric.better == Better::Lower { -value } else { value };
    let missed = study.slo.as_ref().map_or_else(Vec::new, |slo| shortfalls(slo, trial));
    Some(gain - missed.iter().map(|missed| MISS + WEIGHT * missed.times.ln()).sum::<f64>())
}

/// The terms that a trial missed.
pub fn shortfalls(slo: &Slo, trial: &Trial) -> Vec<Shortfall> {
    let missed = slo.terms().iter().filter_map(|term| {
        let times = match term {
            SloTerm::Response { percentile, below } => {
                let response = &trial.measurement.as_ref()?.response;
                if response.count() == 0 {
                    return None;
                }
                response.quantile(1.0 - Percentile::beyond(*percentile)).as_secs_f64() / below.as_secs_f64()
            }
            SloTerm::Errors { below } => (metric("unanswered_share")?.reader)(trial)? / below,
        };
        (times >= 1.0).then_some(Shortfall { term: *term, times: times.max(1.0 + 1e-9) })
    });
    missed.collect()
}

/// The terms that were missed in most of these trials, each by its median, the worst first.
pub fn missed(slo: &Slo, trials: &[&Trial]) -> Vec<Shortfall> {
    let of_term = |term: &SloTerm| {
        let missed = trials.iter().filter_map(|trial| shortfalls(slo, trial).into_iter().find(|of| of.term == *term));
        let mut times: Vec<f64> = missed.map(|missed| missed.times).collect();
        times.sort_by(f64::total_cmp);
        let median = times.get(times.len() / 2).copied()?;
        (times.len() * 2 > trials.len()).then_some(Shortfall { term: *term, times: median })
    };
    let mut missed: Vec<Shortfall> = slo.terms().iter().filter_map(of_term).collect();
    missed.sort_by(|a, b| b.times.total_cmp(&a.times));
    missed
}

#[cfg(test)]
mod tests {
    use stampede_core::StudyKind;

    use super::*;
    use crate::samples;

    #[test]
    fn a_figure_counts_by_its_ratio_and_a_missed_limit_by_more() {
        let study = |objective: Objective, slo: &str| Study {
            kind: StudyKind::Tune,
            metric: Some(objective_metric(objective).to_owned()),
            slo: (!slo.is_empty()).then(|| slo.parse().unwrap()),
            ..samples::study(&["a"])
        };
        let (slow, fast) = (samples::measured("a", 1, 500.0), samples::measured("a", 1, 1_000.0));
        let gain = |objective, slo: &str| {
            let study = study(objective, slo);
            score(&study, &fast).unwrap() - score(&study, &slow).unwrap()
        };
        assert!((gain(Objective::Throughput, "") - 2.0_f64.ln()).abs() < 1e-9);
        // CPU and memory are the same in both, and the faster one spends less CPU on a request.
        assert!((gain(Objective::Cost, "") - 2.0_f64.ln()).abs() < 1e-9);
        assert!(gain(Objective::Memory, "").abs() < 1e-9);
        // All answers take 1 ms and some nanoseconds.
        assert_eq!(shortfalls(&"p99<2ms,errors<1%".parse().unwrap(), &fast), []);
        let missed = shortfalls(&"p99<500us".parse().unwrap(), &fast);
        assert!((missed[0].times - 2.0).abs() < 0.02, "{missed:?}");
        let bound = study(Objective::Throughput, "p99<500us");
        assert!(score(&bound, &fast).unwrap() < 1_000.0_f64.ln() - 2.5);
        // However much faster it is, what misses the limit by little is worse than what meets it.
        let near = study(Objective::Throughput, "p99<999us");
        let met = study(Objective::Throughput, "p99<2ms");
        let missed_by = score(&met, &slow).unwrap() - score(&near, &fast).unwrap();
        assert!(is_miss(missed_by) && !is_miss(2.0_f64.ln()), "{missed_by}");
        let mut wrong = fast.clone();
        wrong.measurement.as_mut().unwrap().requests.failed = 100;
        assert_eq!(shortfalls(&"errors<1%".parse().unwrap(), &wrong).len(), 1);
        assert_eq!(score(&bound, &samples::failed("a", 1)), None);
    }
}
