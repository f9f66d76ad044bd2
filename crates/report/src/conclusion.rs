//! What a comparison comes to, in words.

use std::collections::BTreeMap;

use stampede_analysis::{
    Better, CaseSummary, ERROR, MIN_BLOCKS, Metric, PER_VCPU_SECOND, TurnScatter, Unit, hides_precision, metric,
};
use stampede_core::{CaseId, Outcome, Rounds, StudyKind, Verdict, VerdictWord};

use crate::quantity::{approximately, percent, ratio};
use crate::{StudyView, trust};

/// What a study comes to.
pub(crate) struct Conclusion {
    /// One sentence for someone who wants to know which to take.
    pub(crate) plain: String,
    /// One line for someone who wants to know how that follows.
    pub(crate) method: String,
}

/// The heading over [`sentences`].
pub(crate) const VERDICTS: &str = "Verdicts: ratios within blocks, each with its 95 % interval";

/// With more cases than this, the report has a sentence for each comparison with the best case alone: the others are in JSON.
const MOST_CASES_IN_PAIRS: usize = 4;

/// What a study comes to that compares; nothing of one case alone, or before the first trial.
pub(crate) fn conclusion(view: &StudyView<'_>) -> Option<Conclusion> {
    let compares = !matches!(view.study.kind, StudyKind::Capacity | StudyKind::Why);
    if view.study.cases.len() < 2 || view.trials.is_empty() || !compares {
        return None;
    }
    Some(Conclusion { plain: trust::calibration(view).unwrap_or_else(|| plain(view)), method: method(view) })
}

fn plain(view: &StudyView<'_>) -> String {
    let analysis = view.analysis;
    if analysis.verdicts.is_empty() {
        return nothing(view);
    }
    if !analysis.looked_at {
        return unfinished(view);
    }
    let leaders: Vec<&CaseSummary> =
        analysis.cases.iter().filter(|case| case.ranks.as_ref().is_some_and(|ranks| *ranks.start() == 1)).collect();
    among(view, &leaders) + &unranked(view)
}

/// What is said of the cases that nothing was shown to be better than.
fn among(view: &StudyView<'_>, leaders: &[&CaseSummary]) -> String {
    let analysis = view.analysis;
    if let [only] = leaders[..]
        && let Some(next) = analysis.cases.get(1)
        && let Some(verdict) = between(view, &only.case, &next.case)
    {
        let name = &only.case;
        let most = most(analysis.primary);
        return if verdict.slight {
            format!(
                "{name} {most}, but by under {}: choose by something else. {}.",
                percent(view.study.precision),
                capital(&compared(view, verdict))
            )
        } else {
            format!("{name} {most}. {}.", capital(&compared(view, verdict)))
        };
    }
    let names: Vec<&str> = leaders.iter().map(|case| case.case.as_str()).collect();
    let pairs: Vec<Option<&Verdict>> = leaders
        .iter()
        .enumerate()
        .flat_map(|(place, a)| leaders[place + 1..].iter().map(|b| between(view, &a.case, &b.case)))
        .collect();
    let is_equivalent = |pair: &Option<&Verdict>| pair.is_some_and(|pair| pair.verdict == VerdictWord::Equivalent);
    if leaders.len() > 1 && pairs.iter().all(is_equivalent) {
        let equal = if is_of_speed(analysis.primary) {
            "equally fast".to_owned()
        } else {
            format!("equal in {}", analysis.primary.title)
        };
        return format!(
            "{} are {equal} within {}: choose between them by something else.",
            join(&names),
            percent(view.study.precision)
        );
    }
    if names.is_empty() {
        return "Nothing says which case is the best: the pairs contradict each other.".to_owned();
    }
    let open: Vec<&Verdict> = pairs.into_iter().flatten().collect();
    format!("Nothing tells {} apart yet{}.", join(&names), remedy(view, &open))
}

/// Of cases that were measured and have no rank.
fn unranked(view: &StudyView<'_>) -> String {
    let without = view.analysis.cases.iter().filter(|case| case.ranks.is_none() && !case.summary.is_empty());
    let names: Vec<&str> = without.map(|case| case.case.as_str()).collect();
    match names[..] {
        [] => String::new(),
        [one] => format!(" {one} has no rank: a trial of it lacks this figure."),
        _ => format!(" {} have no rank: a trial of each lacks this figure.", join(&names)),
    }
}

/// Why the verdicts of a study that was ended before its end are open.
fn unfinished(view: &StudyView<'_>) -> String {
    let blocks = view.trials.iter().map(|trial| trial.block).max().unwrap_or(0);
    let end = match view.study.rounds {
        Rounds::Fixed(rounds) => format!("its {rounds} rounds are measured"),
        Rounds::Auto { .. } => "its first look is due".to_owned(),
    };
    format!(
        "Nothing is claimed before the study is finished: it came to block {blocks}, and looking before {end} would find \
         differences that are not there."
    )
}

/// Whether what is fast has more of a metric, or less: rates of requests and times until answers.
fn is_of_speed(metric: &Metric) -> bool {
    matches!(metric.unit, Unit::PerSecond | Unit::Microseconds) && metric.key != "response_deviation_us"
}

/// What the best case is, or has: `is the fastest`, `has the lowest peak memory`.
fn most(metric: &Metric) -> String {
    match metric.better {
        _ if is_of_speed(metric) => "is the fastest".to_owned(),
        _ if metric.key == PER_VCPU_SECOND => "does the most with its CPU".to_owned(),
        Better::Lower => format!("has the lowest {}", metric.title),
        Better::Higher | Better::Neither => format!("has the most {}", metric.title),
    }
}

/// Why there is no verdict at all.
fn nothing(view: &StudyView<'_>) -> String {
    let mut measured = BTreeMap::<u32, usize>::new();
    for trial in view.trials.iter().filter(|trial| trial.outcome == Outcome::Measured) {
        *measured.entry(trial.block).or_default() += 1;
    }
    if measured.values().all(|trials| *trials < 2) {
        return "Nothing is known: no two cases were measured in one block; the trials that do not count say why."
            .to_owned();
    }
    format!(
        "Nothing tells the cases apart by their {}: no two of them have this figure in one block. Requests without an \
         answer, or too few of them, leave it open; --metric names another.",
        view.analysis.primary.title
    )
}

/// What would decide these comparisons: `: a study of about 12 minutes (--rounds 9) probably would`.
fn remedy(view: &StudyView<'_>, open: &[&Verdict]) -> String {
    if let Some(floor) = hides_precision(view.study)
        && open.iter().all(|verdict| verdict.blocks_to_decide.is_none())
    {
        return format!(
            ": this machine's noise floor of {} may hide differences of {} and more, so that nothing is shown to be \
             equivalent; calibrate it again when it is quiet, or ask for less (--precision)",
            percent(floor),
            percent(view.study.precision)
        );
    }
    if open.iter().any(|verdict| is_constant(verdict)) {
        return ": some of their ratios are the same in every block, so that nothing says how sure they are".to_owned();
    }
    let undecided = open.iter().filter(|verdict| verdict.verdict == VerdictWord::Undecided);
    let blocks: Option<Vec<u32>> = undecided.map(|verdict| needed(verdict)).collect();
    match blocks.and_then(|blocks| blocks.into_iter().max()) {
        Some(blocks) => format!(": {} probably would", longer(view, blocks)),
        None => ", and no number of rounds that is worth waiting for would".to_owned(),
    }
}

/// Enough blocks, but no interval.
fn is_constant(verdict: &Verdict) -> bool {
    verdict.ratio.n as usize >= MIN_BLOCKS && verdict.ratio.low.is_none()
}

/// After how many blocks an undecided pair is likely to be decided.
fn needed(verdict: &Verdict) -> Option<u32> {
    if (verdict.ratio.n as usize) < MIN_BLOCKS { Some(MIN_BLOCKS as u32) } else { verdict.blocks_to_decide }
}

/// `a study of about 12 minutes (--rounds 9)`: rounds are measured anew. Blocks in which a trial did not count are expected to
/// recur.
fn longer(view: &StudyView<'_>, blocks: u32) -> String {
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
        1 => String::new(),
        _ => format!("; directions at {} over all {pairs} pairs (Holm)", percent(ERROR)),
    };
    let floor = trust::floor(view).map(|floor| format!("; {floor}")).unwrap_or_default();
    let detectable = match analysis.detectable {
        Some(share) if pairs > 1 => {
            format!("; one pair by itself would show a difference of {} 9 times of 10", percent(share))
        }
        Some(share) => format!("; a difference of {} would be found 9 times of 10", percent(share)),
        None => String::new(),
    };
    let turns = TurnScatter::of(view.study, view.trials).map(|turns| scatter(&turns)).unwrap_or_default();
    format!(
        "Method: {}, ratios within {n} {}; {} intervals{family}; equivalence by two one-sided tests within {}{floor}\
         {turns}{detectable}.",
        analysis.primary.title,
        if n == 1 { "block" } else { "blocks" },
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

/// The sentences of the report: each pair, or each comparison with the best case where there are many.
pub(crate) fn sentences(view: &StudyView<'_>, name: impl Fn(&CaseId) -> String) -> Vec<String> {
    let best = view.analysis.cases.first().map(|case| &case.case);
    let all = view.analysis.cases.len() <= MOST_CASES_IN_PAIRS;
    let shown = view.analysis.verdicts.iter().filter(|verdict| all || Some(&verdict.a) == best);
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
            "undecided: {a} against {b}, {value} times in {} of the {MIN_BLOCKS} blocks that a verdict needs",
            verdict.ratio.n
        ),
        VerdictWord::Undecided if !view.analysis.looked_at => {
            format!("not finished: {a} against {b}, {times} so far")
        }
        VerdictWord::Undecided if is_constant(verdict) => {
            format!("undecided: {a} against {b}, exactly {value} times in all {} blocks", verdict.ratio.n)
        }
        VerdictWord::Undecided => {
            let remedy = match verdict.blocks_to_decide {
                Some(blocks) => format!("; {} would probably decide it", longer(view, blocks)),
                None => String::new(),
            };
            let alone = match (verdict.ratio.low, verdict.ratio.high) {
                (Some(low), Some(high)) if low > 1.0 || high < 1.0 => {
                    format!(", enough for one pair and not for one of {}", view.analysis.verdicts.len())
                }
                _ => String::new(),
            };
            format!("undecided: {a} against {b}, {times}{alone}{remedy}")
        }
    }
}

/// `it is 2.31 times as fast as nginx-fpm (2.18 to 2.45, 5 blocks)`.
fn compared(view: &StudyView<'_>, verdict: &Verdict) -> String {
    let Verdict { b, ratio: estimate, .. } = verdict;
    let value = ratio(estimate.value);
    let compared = match told_by_figure(verdict) {
        Some(metric) if metric.better == Better::Lower => {
            format!("its {} is {value} times that of {b}{}", metric.title, interval(verdict))
        }
        Some(metric) => format!("it has {value} times the {} of {b}{}", metric.title, interval(verdict)),
        None => format!("it {} {b}{}", times_as(verdict, &value), interval(verdict)),
    };
    compared + &other_php(view, verdict)
}

/// `is 2.31 times as fast as`; of autoscaled services, which have CPU that they do not use, what they do with it.
fn times_as(verdict: &Verdict, value: &str) -> String {
    match verdict.metric.as_str() {
        PER_VCPU_SECOND => format!("answers {value} times as much a vCPU-second as"),
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
        (Some(low), Some(high)) => format!(" ({} to {}, {} blocks)", ratio(low), ratio(high), verdict.ratio.n),
        _ => String::new(),
    }
}

/// What a verdict is about beside the runtimes, where the two run other builds of PHP.
fn other_php(view: &StudyView<'_>, verdict: &Verdict) -> String {
    let build =
        |id: &CaseId| view.study.cases.iter().find(|case| case.id == *id)?.php.as_ref().map(ToString::to_string);
    match (build(&verdict.a), build(&verdict.b)) {
        (Some(a), Some(b)) if a != b => format!("; PHP {a} against {b}, so not the runtime alone"),
        _ => String::new(),
    }
}

fn between<'a>(view: &StudyView<'a>, a: &CaseId, b: &CaseId) -> Option<&'a Verdict> {
    view.analysis.verdicts.iter().find(|verdict| verdict.a == *a && verdict.b == *b)
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn join(names: &[&str]) -> String {
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
    fn words_are_those_of_the_metric() {
        let estimate = Estimate { value: 2.5, low: None, high: None, n: 5 };
        for (key, best, ratio) in [
            ("throughput_rps", "is the fastest", "is 2.50 times as fast as"),
            ("response_p99_us", "is the fastest", "by its figure"),
            (PER_VCPU_SECOND, "does the most with its CPU", "answers 2.50 times as much a vCPU-second as"),
            ("memory_share", "has the lowest peak memory of what is allowed", "by its figure"),
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
            assert_eq!((most(metric(key).unwrap()), told.as_str()), (best.to_owned(), ratio), "{key}");
        }
    }

    #[test]
    fn names_are_joined_as_people_do() {
        assert_eq!([join(&["a"]), join(&["a", "b"]), join(&["a", "b", "c"])], ["a", "a and b", "a, b and c"]);
    }
}
