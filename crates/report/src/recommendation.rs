//! Which case to ship, in words: the first line of a study.

pub(crate) mod json;

use std::collections::BTreeMap;
use std::time::Duration;

use stampede_analysis::{
    Advice, Better, Lead, Metric, MetricUnit, PER_VCPU_SECOND, Recommendation, TieBreaker, Unfit, hides_precision,
    taken_by_others,
};
use stampede_core::{CaseId, CaseRole, Estimate, Outcome, Role, Rounds, Verdict, VerdictWord};

use crate::conclusion::{is_constant, is_of_speed, join, longer, needed, other_php};
use crate::quantity::{count, number, percent, ratio, ratio_between};
use crate::{StudyView, open_part};

/// A factor that matters to anyone: an open pair says whether it is ruled out.
const LARGE: f64 = 1.5;

/// A study that takes longer is worse advice than a quiet machine, where others are at work beside it.
const WORTH_WAITING: Duration = Duration::from_secs(3600);

/// More names than this are counted.
const MOST_NAMES: usize = 5;

/// More pairs than this are counted.
const MOST_PAIRS: usize = 4;

/// What a study recommends, in one line.
pub(crate) fn line(view: &StudyView<'_>, recommendation: &Recommendation) -> String {
    let Recommendation { of_candidates, advice, unfit, pairs } = recommendation;
    let text = Text { view, ships: *of_candidates, pairs: *pairs };
    let latency = open_part::latency(view, advice);
    let advice = match advice {
        Advice::Best { case, lead } => text.best(case, lead),
        Advice::Tie { cases, leads: _, breakers } => text.tie(cases, breakers),
        Advice::Open { cases, leads, beside, behind } => text.open(cases, leads, beside, behind),
        Advice::Alone { case, lead } => text.alone(case, lead.as_deref(), unfit),
        Advice::Contradiction => "No case is shown to be the best: the pairs contradict each other.".to_owned(),
        Advice::Unfinished if view.analysis.verdicts.is_empty() => unmeasured(view),
        Advice::Unfinished => return unfinished(view),
        Advice::Unmeasured => unmeasured(view),
        Advice::AllUnfit if text.ships => return format!("No runtime can be recommended: {}.", reasons(view, unfit)),
        Advice::AllUnfit => return format!("No case was measured validly: {}.", reasons(view, unfit)),
    };
    let advice = match latency {
        Some(latency) => format!("{}; {latency}.", advice.trim_end_matches('.')),
        None => advice,
    };
    match unfit[..] {
        [] => advice,
        _ if text.ships => format!("{advice} Not recommended: {}.", reasons(view, unfit)),
        _ => format!("{advice} Not compared: {}.", reasons(view, unfit)),
    }
}

struct Text<'a> {
    view: &'a StudyView<'a>,
    /// Whether it is about what to ship.
    ships: bool,
    /// How many pairs were judged together.
    pairs: usize,
}

impl Text<'_> {
    fn best(&self, case: &CaseId, lead: &Lead) -> String {
        let name = self.named(case);
        let head = if self.ships { format!("Ship {name}") } else { format!("{name} {}", most(self.metric())) };
        format!("{head}: {}.", self.compared(lead))
    }

    fn tie(&self, cases: &[CaseId], breakers: &[TieBreaker]) -> String {
        let (title, within) = (self.metric().title, percent(self.view.study.precision));
        let names: Vec<&str> = cases.iter().map(CaseId::as_str).collect();
        let equal = match names[..] {
            [first, _, _, ..] => format!("the others are within {within} of {first} in {title}"),
            _ => format!("they are within {within} of each other in {title}"),
        };
        let head = match self.ships {
            true => format!("Ship {}: {equal}.", either(&names)),
            false => format!("{} are equal: {equal}.", join(&names)),
        };
        let differ: Vec<String> = breakers.iter().map(breaks).collect();
        let differ: Vec<&str> = differ.iter().map(String::as_str).collect();
        match differ[..] {
            [] => format!("{head} No other figure separates them."),
            _ => format!("{head} What else decides: {}.", differ.join("; ")),
        }
    }

    fn open(&self, cases: &[CaseId], leads: &[Lead], beside: &[Lead], behind: &[CaseId]) -> String {
        let names: Vec<&str> = cases.iter().map(CaseId::as_str).collect();
        let mut text = format!("Undecided between {}: {}.", some_of(&names), self.remedy(leads));
        if let Some(known) = self.known(leads, beside) {
            text.push_str(&format!(" {known}"));
        }
        if let ([first, ..], [_, ..]) = (&names[..], behind) {
            let behind: Vec<&str> = behind.iter().map(CaseId::as_str).collect();
            text.push_str(&format!(" {first} is ahead of {}.", some_of(&behind)));
        }
        text
    }

    /// What is known of open pairs all the same.
    fn known(&self, leads: &[Lead], beside: &[Lead]) -> Option<String> {
        let alone = match self.pairs {
            1 => String::new(),
            pairs => format!(", which would count if it were the only pair, but {pairs} pairs are compared"),
        };
        if let [lead @ Lead { verdict, own, .. }] = leads {
            let far = match own.low {
                _ if lead.is_shown_alone() => alone,
                Some(_) if lead.is_within(LARGE) => format!(": neither is {LARGE} times the other"),
                _ => String::new(),
            };
            return Some(format!("{} has {}{far}.", verdict.a, self.times(verdict, own)));
        }
        let pairs = || leads.iter().chain(beside);
        let ahead = pairs().filter(|lead| lead.is_shown_alone()).map(|lead| {
            let Lead { verdict, own, .. } = &if lead.is_ahead() { lead.clone() } else { lead.turned() };
            format!("{} is ahead of {} ({})", verdict.a, verdict.b, range(own))
        });
        let near = pairs().filter(|lead| !lead.is_shown_alone() && lead.is_within(LARGE));
        let near =
            near.map(|lead| format!("{} and {} differ by less than {LARGE} times", lead.verdict.a, lead.verdict.b));
        let known: Vec<String> = ahead.chain(near).collect();
        let more = match known.len().saturating_sub(MOST_PAIRS) {
            0 => String::new(),
            1 => "; and 1 more pair".to_owned(),
            more => format!("; and {more} more pairs"),
        };
        let told = known.get(..MOST_PAIRS).unwrap_or(&known).join("; ");
        let pairs = self.pairs;
        (!known.is_empty()).then(|| format!("Likely, but not certain with {pairs} pairs compared: {told}{more}."))
    }

    /// What would decide these comparisons.
    fn remedy(&self, open: &[Lead]) -> String {
        let study = self.view.study;
        let verdicts = || open.iter().map(|lead| &lead.verdict);
        if let Some(floor) = hides_precision(study)
            && verdicts().all(|verdict| verdict.blocks_to_decide.is_none())
        {
            return format!(
                "this machine's noise floor of {} may hide differences of {} and more; calibrate it again when it is quiet, \
                 or ask for less (--precision)",
                percent(floor),
                percent(study.precision)
            );
        }
        if verdicts().any(is_constant) {
            return "some of their ratios are the same in every round, so there is no interval".to_owned();
        }
        let undecided = verdicts().filter(|verdict| verdict.verdict == VerdictWord::Undecided);
        let blocks: Option<Vec<u32>> = undecided.map(needed).collect();
        let blocks = blocks.and_then(|blocks| blocks.into_iter().max());
        let time = |blocks| Some(self.view.analysis.block_time? * blocks);
        let is_long = blocks.is_none_or(|blocks| time(blocks).is_some_and(|time| time > WORTH_WAITING));
        if let Some(share) = taken_by_others(self.view.analysis).filter(|_| is_long) {
            let by_cpu = match self.metric().key {
                PER_VCPU_SECOND => "",
                _ => ", or compare by CPU time (--metric requests_per_cpu_second)",
            };
            return format!(
                "this machine is too busy now: others took {} of its CPU time; measure again when it is quiet{by_cpu}",
                percent(share)
            );
        }
        match blocks {
            Some(blocks) => format!("{} would probably decide it", longer(self.view, blocks)),
            None => "no reasonable number of rounds would decide it".to_owned(),
        }
    }

    fn alone(&self, case: &CaseId, lead: Option<&Lead>, unfit: &[(CaseId, Unfit)]) -> String {
        let name = self.named(case);
        let compared = match lead {
            None => ".".to_owned(),
            Some(lead) if lead.verdict.verdict == VerdictWord::Undecided => {
                format!(". Which is faster is undecided: {}.", self.compared(lead))
            }
            Some(lead) => format!(": {}.", self.compared(lead)),
        };
        match (self.ships, unfit) {
            (true, []) => format!("Only {name} can be recommended{compared}"),
            (true, _) => format!("Ship {name}, the only one that can be recommended{compared}"),
            (false, _) => format!("{name} is the only case that was measured validly{compared}"),
        }
    }

    /// `1.9 times the requests per second of nginx-fpm (1.8 to 2.0), 22 MiB more memory`.
    fn compared(&self, Lead { verdict, memory, .. }: &Lead) -> String {
        let is_about_memory = self.metric().unit == MetricUnit::Bytes;
        let memory = memory.filter(|_| !is_about_memory).map(more_memory).unwrap_or_default();
        format!("{}{memory}{}", self.times(verdict, &verdict.ratio), other_php(self.view, verdict))
    }

    fn times(&self, Verdict { b, .. }: &Verdict, estimate: &Estimate) -> String {
        let role = self.view.study.cases.iter().find(|case| case.id == *b).map(|case| case.role);
        let role = match role {
            Some(CaseRole::Reference) if self.ships => ", which is there for reference",
            Some(CaseRole::NotForProduction) if self.ships => ", which is for development only",
            _ => "",
        };
        let title = self.metric().title;
        match (estimate.low, estimate.high) {
            (Some(low), Some(high)) => {
                let [value, low, high] = ratio_between(estimate.value, low, high);
                format!("{value} times the {title} of {b} ({low} to {high}){role}")
            }
            _ => {
                let rounds = if estimate.n == 1 { "1 round".to_owned() } else { format!("{} rounds", estimate.n) };
                format!(
                    "{} times the {title} of {b} (in {rounds}, too few for an interval){role}",
                    ratio(estimate.value)
                )
            }
        }
    }

    /// A case with its mode, where its runtime has several: `frankenphp (worker)`.
    fn named(&self, id: &CaseId) -> String {
        let case = self.view.study.cases.iter().find(|case| case.id == *id);
        let mode = case.and_then(|case| case.tuning.of_role(Role::Mode).find(|(name, _)| *name == "mode"));
        let mode = mode.map(|(_, mode)| mode);
        match mode.filter(|mode| !id.as_str().contains(mode)) {
            Some(mode) => format!("{id} ({mode})"),
            None => id.to_string(),
        }
    }

    fn metric(&self) -> &'static Metric {
        self.view.analysis.primary
    }
}

/// What the best case is, or has: `is the fastest`, `has the lowest peak memory`.
fn most(metric: &Metric) -> String {
    match metric.better {
        _ if is_of_speed(metric) => "is the fastest".to_owned(),
        _ if metric.key == PER_VCPU_SECOND => "does the most per CPU-second".to_owned(),
        Better::Lower => format!("has the lowest {}", metric.title),
        Better::Higher | Better::Neither => format!("has the most {}", metric.title),
    }
}

/// `, 22 MiB more memory`.
fn more_memory(bytes: f64) -> String {
    match mebibytes(bytes) {
        None => ", the same memory".to_owned(),
        Some(amount) if bytes > 0.0 => format!(", {amount} more memory"),
        Some(amount) => format!(", {amount} less memory"),
    }
}

/// The size of a difference; nothing where it is below a mebibyte.
fn mebibytes(bytes: f64) -> Option<String> {
    let size = bytes.abs() / f64::from(1 << 20);
    match size {
        ..1.0 => None,
        ..9.95 => Some(format!("{size:.1} MiB")),
        _ => Some(format!("{} MiB", count(size.round() as u64))),
    }
}

/// `nginx-fpm needs 12 MiB less memory than frankenphp`.
fn breaks(TieBreaker { metric, case, over, values: [own, theirs] }: &TieBreaker) -> String {
    match mebibytes(theirs - own).filter(|_| metric.unit == MetricUnit::Bytes) {
        Some(amount) => format!("{case} needs {amount} less memory than {over}"),
        None => format!("{case} has {} times the {} of {over}", ratio(own / theirs), metric.title),
    }
}

fn range(estimate: &Estimate) -> String {
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => {
            let [value, low, high] = ratio_between(estimate.value, low, high);
            format!("{value} times, {low} to {high}")
        }
        _ => format!("{} times", ratio(estimate.value)),
    }
}

fn reasons(view: &StudyView<'_>, unfit: &[(CaseId, Unfit)]) -> String {
    let of = unfit.iter().map(|(case, unfit)| format!("{case} ({})", reason(view, case, unfit)));
    of.collect::<Vec<_>>().join(", ")
}

/// Why a case may not be recommended, in a few words.
fn reason(view: &StudyView<'_>, case: &CaseId, unfit: &Unfit) -> String {
    let trials = || view.trials.iter().filter(|trial| trial.case == *case);
    match unfit {
        Unfit::NotMeasured => match (trials().count(), trials().any(|trial| trial.measurement.is_some())) {
            (0, _) => "not measured".to_owned(),
            (1, true) => "its one trial does not count".to_owned(),
            (trials, true) => format!("none of its {trials} trials counts"),
            (_, false) => "failed".to_owned(),
        },
        Unfit::Failed(1) => "failed once".to_owned(),
        Unfit::Failed(times) => format!("failed {times} times"),
        Unfit::WrongAnswers(1) => "1 request without a right answer".to_owned(),
        Unfit::WrongAnswers(requests) => format!("{} requests without a right answer", count(*requests)),
        Unfit::Slo { missed, rate } => {
            let under = rate.map(|rate| format!(" at {} req/s", number(rate))).unwrap_or_default();
            format!("missed {} by {} times{under}", missed.term, ratio(missed.times))
        }
        Unfit::NoFigure => "a trial lacks this figure".to_owned(),
        Unfit::Found(id) => format!("error {id}"),
    }
}

/// `a, b or c`.
fn either(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}

/// Names, or some and how many more.
fn some_of(names: &[&str]) -> String {
    match names.len() {
        ..=MOST_NAMES => join(names),
        all => format!("{} and {} others", names[..MOST_NAMES - 1].join(", "), all - (MOST_NAMES - 1)),
    }
}

/// Why there is no verdict at all.
fn unmeasured(view: &StudyView<'_>) -> String {
    let mut measured = BTreeMap::<u32, usize>::new();
    for trial in view.trials.iter().filter(|trial| trial.outcome == Outcome::Measured) {
        *measured.entry(trial.block).or_default() += 1;
    }
    if measured.values().all(|trials| *trials < 2) {
        return "No result: no two cases were measured in the same round. The reasons are below, with the trials that do not count."
            .to_owned();
    }
    format!(
        "No result by {}: no two cases have this figure in the same round. It is missing if requests had no answer, or were too few; --metric chooses another.",
        view.analysis.primary.title
    )
}

/// Why the verdicts of a study that was ended before its end are open.
fn unfinished(view: &StudyView<'_>) -> String {
    let rounds = view.trials.iter().map(|trial| trial.block).max().unwrap_or(0);
    let rounds = if rounds == 1 { "1 round was".to_owned() } else { format!("{rounds} rounds were") };
    match view.study.rounds {
        Rounds::Fixed(of) => format!("No verdict yet: {rounds} measured of {of}. Continue with --resume."),
        Rounds::Auto { .. } => format!(
            "No verdict: {rounds} measured, which is too early to tell. Give it more time (--max-time, at least 3 rounds), \
             or continue an interrupted study with --resume."
        ),
    }
}

#[cfg(test)]
mod tests {
    use stampede_analysis::metric;

    use super::*;

    #[test]
    fn what_the_best_is_follows_from_the_metric() {
        for (key, best) in [
            ("throughput_rps", "is the fastest"),
            ("response_p99_us", "is the fastest"),
            (PER_VCPU_SECOND, "does the most per CPU-second"),
            ("memory_share", "has the lowest peak memory of what is allowed"),
        ] {
            assert_eq!(most(metric(key).unwrap()), best, "{key}");
        }
    }

    #[test]
    fn memory_is_told_in_whole_mebibytes_from_ten_on() {
        for (mebi, text) in [
            (22.4, ", 22 MiB more memory"),
            (-14.0, ", 14 MiB less memory"),
            (3.25, ", 3.2 MiB more memory"),
            (0.4, ", the same memory"),
            (-1_234.0, ", 1,234 MiB less memory"),
        ] {
            assert_eq!(more_memory(mebi * f64::from(1 << 20)), text);
        }
    }

    #[test]
    fn many_names_are_counted() {
        assert_eq!(either(&["a", "b", "c"]), "a, b or c");
        assert_eq!(some_of(&["a", "b"]), "a and b");
        assert_eq!(some_of(&["a", "b", "c", "d", "e", "f", "g"]), "a, b, c, d and 3 others");
    }
}
