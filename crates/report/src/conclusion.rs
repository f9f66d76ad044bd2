//! What a comparison comes to, in words.

use stampede_analysis::{
    Advice, Better, ERROR, MIN_BLOCKS, Metric, MetricUnit, PER_VCPU_SECOND, Recommendation, TurnScatter, metric,
};
use stampede_core::{CaseId, StudyKind, Verdict, VerdictWord, WindowsFrom};

use crate::columns::{half_width, in_unit};
use crate::quantity::{approximately, percent, ratio, with_unit};
use crate::{StudyView, recommendation, trust};

/// What a study comes to.
pub(crate) struct Conclusion {
    /// One sentence for someone who wants to know which to take.
    pub(crate) plain: String,
    /// One line for someone who wants to know how that follows.
    pub(crate) method: String,
}

/// The heading over [`sentences`].
pub(crate) const VERDICTS: &str = "Pairs: ratio within each round, with its 95 % interval";

/// With more cases than this, the report has a sentence for each comparison with the recommended case alone: the others are in JSON.
const MOST_CASES_IN_PAIRS: usize = 4;

/// What a study comes to that compares; nothing of one case alone, or before the first trial.
pub(crate) fn conclusion(view: &StudyView<'_>) -> Option<Conclusion> {
    let compares = !matches!(view.study.kind, StudyKind::Capacity | StudyKind::Why | StudyKind::OwnRates);
    if view.trials.is_empty() || !compares {
        return None;
    }
    if view.study.cases.len() < 2 {
        return alone(view);
    }
    let recommended = || view.analysis.recommendation.as_ref().map(|of| recommendation::line(view, of));
    let plain = trust::calibration(view).or_else(recommended)?;
    Some(Conclusion { plain, method: method(view) })
}

/// What a comparison of one case comes to.
fn alone(view: &StudyView<'_>) -> Option<Conclusion> {
    let [only] = &view.analysis.cases[..] else { return None };
    let metric = view.analysis.primary;
    if view.study.kind != StudyKind::Compare {
        return None;
    }
    let estimate = only.summary.get(metric.key)?;
    let figure = with_unit(metric.unit, estimate.value);
    let half = half_width(&in_unit(metric, estimate)).map(|half| format!(" ({half})")).unwrap_or_default();
    let figure = match metric.unit {
        MetricUnit::PerSecond => format!("{figure} {}{half}", metric.title),
        _ => format!("{} {figure}{half}", metric.title),
    };
    let plain = format!("{}: {figure}. Name a second runtime to compare it with.", only.case);
    let n = estimate.n;
    let method =
        format!("Method: mean of {n} {}, with half of its 95 % interval.", if n == 1 { "start" } else { "starts" });
    Some(Conclusion { plain, method })
}

/// Whether what is fast has more of a metric, or less: rates of requests and times until answers.
pub(crate) fn is_of_speed(metric: &Metric) -> bool {
    matches!(metric.unit, MetricUnit::PerSecond | MetricUnit::Microseconds) && metric.key != "response_deviation_us"
}

/// Enough blocks, but no interval.
pub(crate) fn is_constant(verdict: &Verdict) -> bool {
    verdict.ratio.n as usize >= MIN_BLOCKS && verdict.ratio.low.is_none()
}

/// After how many blocks an undecided pair is likely to be decided.
pub(crate) fn needed(verdict: &Verdict) -> Option<u32> {
    if (verdict.ratio.n as usize) < MIN_BLOCKS { Some(MIN_BLOCKS as u32) } else { verdict.blocks_to_decide }
}

/// `a study of about 12 minutes (--rounds 9)`: all rounds are measured again. Blocks in which a trial did not count are expected to
/// recur.
pub(crate) fn longer(view: &StudyView<'_>, blocks: u32) -> String {
    let so_far = view.trials.iter().map(|trial| trial.block).max().unwrap_or(0);
    let rounds = blocks.max(so_far + 1);
    match view.analysis.block_time {
        Some(time) => format!("a study of about {} (--rounds {rounds})", approximately(time * rounds)),
        None => format!("--rounds {rounds}"),
    }
}

fn method(view: &StudyView<'_>) -> String {
    let analysis = view.analysis;
    let n = analysis.verdicts.iter().map(|verdict| verdict.ratio.n).max().unwrap_or(0);
    let pairs = analysis.verdicts.len();
    let family = match pairs {
        0 | 1 => String::new(),
        _ => format!("; faster and slower are tested at {} over all {pairs} pairs (Holm)", percent(ERROR)),
    };
    let first = analysis.recommendation.as_ref().and_then(first_interval).unwrap_or_default();
    let floor = trust::floor(view).map(|floor| format!("; {floor}")).unwrap_or_default();
    let detectable = match analysis.detectable {
        Some(share) if pairs > 1 => {
            format!("; one pair alone would show a difference of {} or more in 9 of 10 such studies", percent(share))
        }
        Some(share) => format!("; 9 of 10 such studies would show a difference of {} or more", percent(share)),
        None => String::new(),
    };
    let turns = TurnScatter::of(view.study, view.trials).map(|turns| scatter(&turns)).unwrap_or_default();
    let windows_from = view.study.windows_from.as_ref().map(fallen_back).unwrap_or_default();
    let ratios = match n {
        0 => "no pair to compare".to_owned(),
        1 => "ratios within 1 round".to_owned(),
        _ => format!("ratios within {n} rounds"),
    };
    format!(
        "Method: {}, {ratios}; {} intervals{family}{first}; equivalence by two one-sided tests within {}{floor}\
         {turns}{windows_from}{detectable}.",
        analysis.primary.title,
        percent(1.0 - ERROR),
        percent(view.study.precision),
    )
}

/// `; 8 turns a lifetime: 0.6 % within lifetimes, 1.8 % between them, so longer windows would not help`.
fn scatter(turns: &TurnScatter) -> String {
    let (within, between) = (turns.within(), turns.between());
    let advice = if between > within {
        "more rounds help, longer windows hardly"
    } else {
        "longer windows help as much as more rounds"
    };
    format!(
        "; {} turns a lifetime: means scatter by {} within lifetimes and by {} between them, so {advice}",
        turns.turns,
        percent(within),
        percent(between)
    )
}

/// `; windows in place of turns from block 2 on: b: 2 of its 16 workers ended while it was at rest`.
fn fallen_back(WindowsFrom { block, why }: &WindowsFrom) -> String {
    format!("; windows in place of turns from round {block} on: {why}")
}

/// How wide the interval of the first line is: `; the first line's interval at 99.2 %, one of 6 pairs of candidates`.
fn first_interval(recommendation: &Recommendation) -> Option<String> {
    let Recommendation { of_candidates, advice, unfit: _, pairs } = recommendation;
    let (lead, of) = match advice {
        Advice::Best { lead, .. } if *of_candidates => (lead, " of candidates"),
        Advice::Best { lead, .. } | Advice::Alone { lead: Some(lead), .. } => (lead, ""),
        _ => return None,
    };
    if *pairs < 2 {
        return None;
    }
    Some(format!("; the first line's interval at {:.1} %, one of {pairs} pairs{of}", lead.level * 100.0))
}

/// The sentences of the report: each pair, or each comparison with the recommended case where there are many.
pub(crate) fn sentences(view: &StudyView<'_>, name: impl Fn(&CaseId) -> String) -> Vec<String> {
    let first = view.analysis.cases.first().map(|case| &case.case);
    let best = view.analysis.recommendation.as_ref().and_then(Recommendation::first).or(first);
    let all = view.analysis.cases.len() <= MOST_CASES_IN_PAIRS;
    let is_of_best = |verdict: &&Verdict| [&verdict.a, &verdict.b].into_iter().any(|case| Some(case) == best);
    let shown = view.analysis.verdicts.iter().filter(|verdict| all || is_of_best(verdict));
    shown.map(|verdict| sentence(view, verdict, &name) + &other_php(view, verdict)).collect()
}

fn sentence(view: &StudyView<'_>, verdict: &Verdict, name: impl Fn(&CaseId) -> String) -> String {
    let (a, b) = (name(&verdict.a), name(&verdict.b));
    let value = ratio(verdict.ratio.value);
    let times = format!("{value} times{}", interval(verdict));
    let precision = percent(view.study.precision);
    let of_speed = metric(&verdict.metric).is_none_or(is_of_speed);
    let word = match (verdict.verdict, of_speed) {
        (VerdictWord::Slower, true) => "slower",
        (VerdictWord::Slower, false) => "worse",
        (_, true) => "faster",
        (_, false) => "better",
    };
    match verdict.verdict {
        VerdictWord::Faster | VerdictWord::Slower if verdict.slight => {
            format!("{a} is {word} than {b}, by under {precision}: {times}")
        }
        VerdictWord::Faster | VerdictWord::Slower => match told_by_figure(verdict) {
            Some(metric) => format!("{a} is {word} than {b}: {} {times}", metric.title),
            None => format!("{a} {} {b}{}", times_as(verdict, &value), interval(verdict)),
        },
        VerdictWord::Equivalent => format!("{a} and {b} are equivalent within {precision}: {times}"),
        VerdictWord::Undecided if (verdict.ratio.n as usize) < MIN_BLOCKS => format!(
            "undecided: {a} against {b}, {value} times; a verdict needs {MIN_BLOCKS} rounds with both, and has {}",
            verdict.ratio.n
        ),
        VerdictWord::Undecided if !view.analysis.looked_at => {
            format!("not finished: {a} against {b}, {times} so far")
        }
        VerdictWord::Undecided if is_constant(verdict) => {
            format!("undecided: {a} against {b}, exactly {value} times in all {} rounds", verdict.ratio.n)
        }
        VerdictWord::Undecided => {
            let remedy = match verdict.blocks_to_decide {
                Some(blocks) => format!("; {} would probably decide it", longer(view, blocks)),
                None => String::new(),
            };
            let alone = match (verdict.ratio.low, verdict.ratio.high) {
                (Some(low), Some(high)) if low > 1.0 || high < 1.0 => {
                    let pairs = view.analysis.verdicts.len();
                    format!(", which would count if it were the only pair, but {pairs} pairs are compared")
                }
                _ => String::new(),
            };
            format!("undecided: {a} against {b}, {times}{alone}{remedy}")
        }
    }
}

/// `is 2.31 times as fast as`; of autoscaled services, which have CPU that they do not use, what they do with it.
fn times_as(verdict: &Verdict, value: &str) -> String {
    match verdict.metric.as_str() {
        PER_VCPU_SECOND => format!("answers {value} times as many requests per vCPU-second as"),
        _ => format!("is {value} times as fast as"),
    }
}

/// The metric, unless [`times_as`] says all: where less is better, and where it is not about speed.
fn told_by_figure(verdict: &Verdict) -> Option<&'static Metric> {
    let says_all = |metric: &Metric| is_of_speed(metric) || metric.key == PER_VCPU_SECOND;
    metric(&verdict.metric).filter(|metric| metric.better == Better::Lower || !says_all(metric))
}

fn interval(verdict: &Verdict) -> String {
    match (verdict.ratio.low, verdict.ratio.high) {
        (Some(low), Some(high)) => format!(" ({} to {}, {} rounds)", ratio(low), ratio(high), verdict.ratio.n),
        _ => String::new(),
    }
}

/// What a verdict is about beside the runtimes, where the two run other builds of PHP.
pub(crate) fn other_php(view: &StudyView<'_>, verdict: &Verdict) -> String {
    let case = |id: &CaseId| view.study.cases.iter().find(|case| case.id == *id);
    let (Some(a), Some(b)) = (case(&verdict.a), case(&verdict.b)) else { return String::new() };
    match (&a.php, &b.php) {
        (Some(own), Some(other)) if own.to_string() != other.to_string() && a.runtime != b.runtime => {
            format!("; they run PHP {own} and {other}, so the runtime is not the only difference")
        }
        _ => String::new(),
    }
}

pub(crate) fn join(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use stampede_core::Estimate;

    use super::*;

    #[test]
    fn sentences_have_the_words_of_the_metric() {
        let estimate = Estimate { value: 2.5, low: None, high: None, n: 5 };
        for (key, ratio) in [
            ("throughput_rps", "is 2.50 times as fast as"),
            ("response_p99_us", "by its figure"),
            (PER_VCPU_SECOND, "answers 2.50 times as many requests per vCPU-second as"),
            ("memory_share", "by its figure"),
        ] {
            let verdict = Verdict {
                metric: key.to_owned(),
                a: CaseId::new("a"),
                b: CaseId::new("b"),
                ratio: estimate,
                verdict: VerdictWord::Faster,
                slight: false,
                blocks_to_decide: None,
            };
            let told = match told_by_figure(&verdict) {
                Some(_) => "by its figure".to_owned(),
                None => times_as(&verdict, &super::ratio(estimate.value)),
            };
            assert_eq!(told, ratio, "{key}");
        }
    }

    #[test]
    fn names_are_joined_as_people_do() {
        assert_eq!([join(&["a"]), join(&["a", "b"]), join(&["a", "b", "c"])], ["a", "a and b", "a, b and c"]);
    }
}
