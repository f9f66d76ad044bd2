//! What a gate says, for people, for pull requests and for the machines that run it.

use std::fmt::Write;

use stampede_analysis::{Change, ChangeOutcome, Loss, Metric, metric};
use stampede_core::Estimate;

use crate::layout::wrap;
use crate::page::{Block, Column, Page, Table};
use crate::quantity::{exact_percent, percent, ratio, with_unit};

/// What a gate compared.
#[derive(Clone, Copy, Debug)]
pub struct GateView<'a> {
    /// What was before the change, as it was typed.
    pub base: &'a str,
    /// What came after it.
    pub head: &'a str,
    /// What both were asked, and under which limits; absent where two stored studies say it.
    pub question: Option<&'a str>,
    /// What came of it, a row for each case.
    pub changes: &'a [Change],
    /// The sides of which trials do not count: with one, a change that is not shown to be worse is not shown to be good either.
    pub losses: &'a [Loss],
    /// Whether it takes more than an undecided comparison to let a change pass.
    pub strict: bool,
}

impl GateView<'_> {
    /// What is said of all cases together: it fails when one does, and passes when all do.
    pub fn outcome(&self) -> ChangeOutcome {
        let any = |outcome| self.changes.iter().any(|change| change.outcome == outcome);
        if any(ChangeOutcome::Failed) {
            ChangeOutcome::Failed
        } else if any(ChangeOutcome::Undecided) {
            ChangeOutcome::Undecided
        } else {
            ChangeOutcome::Passed
        }
    }

    /// Whether the change may pass.
    pub fn passes(&self) -> bool {
        match self.outcome() {
            _ if !self.losses.is_empty() => false,
            ChangeOutcome::Passed => true,
            ChangeOutcome::Undecided => !self.strict,
            ChangeOutcome::Failed => false,
        }
    }

    /// What it comes to, in a word.
    fn word(&self) -> &'static str {
        match self.outcome() {
            ChangeOutcome::Passed | ChangeOutcome::Undecided if !self.losses.is_empty() => "not valid",
            outcome => word(outcome),
        }
    }
}

/// For a terminal of this width: what it comes to, and a paragraph for each case. It ends with a line break.
pub fn terminal(view: &GateView<'_>, width: usize) -> String {
    let figures = view.changes.iter().map(|change| format!("{}: {}", change.case, figures(change)));
    let paragraphs = [conclusion(view)].into_iter().chain(view.question.map(str::to_owned)).chain(figures);
    let lines = paragraphs.flat_map(|paragraph| wrap("", &paragraph, 2, width));
    lines.map(|line| line + "\n").collect()
}

/// A comment for a pull request, in GitHub-flavoured Markdown. It ends with a line break.
pub fn markdown(view: &GateView<'_>) -> String {
    let of = |cell: &dyn Fn(&Change) -> String| view.changes.iter().map(cell).collect::<Vec<_>>();
    let columns = vec![
        Column::names("", of(&|change| format!("{}, {}", change.case, title(change)))),
        Column::figures(view.base, of(&|change| value(change, &change.base))),
        Column::figures(view.head, of(&|change| value(change, &change.head))),
        Column::figures("ratio", of(&|change| ratio(change.ratio.value))),
        Column::figures("95 % interval", of(&|change| interval(change).unwrap_or_else(|| "n/a".to_owned()))),
        Column::prose("verdict", of(&|change| word(change.outcome).to_owned())),
    ];
    let mut blocks = vec![
        Block::Heading { text: format!("Performance: {}", view.word()), level: 3 },
        Block::Paragraph(conclusion(view)),
        Block::Table(Table { columns }),
    ];
    blocks.extend(view.question.into_iter().chain(methods(view)).map(|text| Block::Paragraph(text.to_owned())));
    Page { answer: Vec::new(), blocks }.markdown()
}

/// As JUnit reports are read by CI servers: a test for each case. One that is undecided is skipped, or fails where the gate is
/// strict; a case that lost trials is an error. <https://github.com/testmoapp/junitxml>
pub fn junit(view: &GateView<'_>) -> String {
    let count = |outcome| view.changes.iter().filter(|change| change.outcome == outcome).count();
    let (mut failures, mut skipped) = (count(ChangeOutcome::Failed), count(ChangeOutcome::Undecided));
    if view.strict {
        (failures, skipped) = (failures + skipped, 0);
    }
    let (tests, errors) = (view.changes.len() + view.losses.len(), view.losses.len());
    let head = format!("tests=\"{tests}\" failures=\"{failures}\" skipped=\"{skipped}\" errors=\"{errors}\"");
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {head}>\n  <testsuite name=\"stampede gate\" {head}>\n"
    );
    for change in view.changes {
        let name = xml(&format!("{}: {} within {}", change.case, title(change), exact_percent(change.threshold)));
        let message = xml(&format!("{}: {}", word(change.outcome), figures(change)));
        let inner = match change.outcome {
            ChangeOutcome::Passed => format!("<system-out>{message}</system-out>"),
            ChangeOutcome::Undecided if !view.strict => format!("<skipped message=\"{message}\"/>"),
            ChangeOutcome::Undecided | ChangeOutcome::Failed => format!("<failure message=\"{message}\"/>"),
        };
        let _ = writeln!(text, "    <testcase classname=\"stampede.gate\" name=\"{name}\">{inner}</testcase>");
    }
    for loss in view.losses {
        let (name, message) = (xml(&format!("{}: its trials count", loss.case)), xml(&lost(loss)));
        let _ = writeln!(
            text,
            "    <testcase classname=\"stampede.gate\" name=\"{name}\"><error message=\"{message}\"/></testcase>"
        );
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

/// Workflow commands that GitHub shows beside a pull request: a line for each case, and for each that lost trials.
/// <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>
pub fn annotations(view: &GateView<'_>) -> String {
    let line = |change: &Change| {
        let level = match change.outcome {
            ChangeOutcome::Failed => "error",
            ChangeOutcome::Undecided if view.strict => "error",
            ChangeOutcome::Undecided => "warning",
            ChangeOutcome::Passed => "notice",
        };
        annotation(level, &format!("{}: {}: {}", change.case, word(change.outcome), figures(change)))
    };
    view.changes.iter().map(line).chain(view.losses.iter().map(|loss| annotation("error", &lost(loss)))).collect()
}

fn annotation(level: &str, message: &str) -> String {
    let message = message.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    format!("::{level} title=stampede gate::{message}\n")
}

/// `9 of 12 trials of head do not count: no answer within 10 s`.
fn lost(Loss { case, failed, invalid, trials, reason }: &Loss) -> String {
    let lost = failed + invalid;
    let verb = if lost == 1 { "does" } else { "do" };
    // A log may follow the reason.
    let reason = reason.lines().next().unwrap_or_default().trim_end_matches(['.', ':']);
    format!("{lost} of {trials} trials of {case} {verb} not count: {reason}")
}

/// `requests per second 1,012 before, 801 after: 0.792 times (0.771 to 0.813, 9 rounds that vary by 3.1 %)`.
fn figures(change: &Change) -> String {
    let interval = interval(change).map_or_else(String::new, |interval| format!("{interval}, "));
    let floor = match change.is_within_floor() {
        true => format!(", within this machine's noise floor of {}", exact_percent(change.floor)),
        false => String::new(),
    };
    let scatter = change.scatter.map_or_else(String::new, |share| format!(" that vary by {}", percent(share)));
    format!(
        "{} {} before, {} after: {} times ({interval}{} {}{scatter}){floor}",
        title(change),
        value(change, &change.base),
        value(change, &change.head),
        ratio(change.ratio.value),
        change.ratio.n,
        if change.paired { "rounds" } else { "trials of each" }
    )
}

pub(crate) fn conclusion(view: &GateView<'_>) -> String {
    let lost: Vec<String> = view.losses.iter().map(lost).collect();
    match (&lost[..], view.outcome()) {
        ([], _) => of_those_that_count(view),
        (lost, ChangeOutcome::Failed) => format!("{} Besides, {}.", of_those_that_count(view), lost.join("; ")),
        (lost, ChangeOutcome::Passed | ChangeOutcome::Undecided) => {
            format!("Not valid: {}. From the others: {}", lost.join("; "), of_those_that_count(view))
        }
    }
}

/// What the trials that count say.
fn of_those_that_count(view: &GateView<'_>) -> String {
    let GateView { base, head, .. } = view;
    let threshold = view.changes.first().map_or_else(String::new, |change| exact_percent(change.threshold));
    let named = |outcome| -> String {
        let of = view.changes.iter().filter(|change| change.outcome == outcome);
        of.map(|change| format!("{} of {}", title(change), change.case)).collect::<Vec<_>>().join(", ")
    };
    match view.outcome() {
        ChangeOutcome::Passed => format!("Passed: {head} is no more than {threshold} worse than {base}."),
        ChangeOutcome::Failed => {
            format!("Failed: {head} is more than {threshold} worse than {base}: {}.", named(ChangeOutcome::Failed))
        }
        ChangeOutcome::Undecided => {
            let is_paired = view.changes.iter().all(|change| change.paired);
            let (reason, remedy) = match view.changes.iter().find(|change| change.is_within_floor()) {
                Some(change) => (
                    format!("this machine's noise floor of {} hides", exact_percent(change.floor)),
                    "a larger --threshold, or a calibration on a quieter machine",
                ),
                None if view.changes.iter().any(|change| change.is_cut_short) => {
                    let rounds = view.changes.first().map_or(0, |change| change.ratio.n);
                    let rounds = if rounds == 1 { "1 round".to_owned() } else { format!("{rounds} rounds") };
                    (
                        format!("the time was over after {rounds}, which do not show"),
                        "a longer --max-time, a shorter --duration or a larger --threshold",
                    )
                }
                None if is_paired => {
                    ("the measurements do not show".to_owned(), "a longer --max-time or a larger --threshold")
                }
                None => ("the measurements do not show".to_owned(), "studies with more rounds"),
            };
            let by_cpu = view.changes.iter().filter_map(by_cpu_time).collect::<String>();
            let verdict = if view.strict { "it does not pass (--strict)" } else { "it passes" };
            format!(
                "Undecided: {reason} whether {head} is more than {threshold} worse than {base}: {}; {verdict}. \
                 {by_cpu}Try {remedy}.",
                named(ChangeOutcome::Undecided)
            )
        }
    }
}

/// `CPU time per request of head is 1.26 times (1.20 to 1.32) ...`: where that tells what the deciding figure does not.
fn by_cpu_time(change: &Change) -> Option<String> {
    let Estimate { value, low, high, .. } = change.cpu_time?;
    Some(format!(
        "CPU time per request of {}, which other programs disturb less, is {} times ({} to {}), beyond the threshold: use --metric cpu_us_per_request to decide by it. ",
        change.case,
        ratio(value),
        ratio(low?),
        ratio(high?)
    ))
}

/// A row for each case: its name, the metric, before, after, ratio, interval, replicates and outcome.
pub(crate) fn rows(view: &GateView<'_>) -> Vec<Vec<String>> {
    let row = |change: &Change| {
        vec![
            change.case.to_string(),
            title(change).to_owned(),
            value(change, &change.base),
            value(change, &change.head),
            ratio(change.ratio.value),
            interval(change).unwrap_or_else(|| "n/a".to_owned()),
            change.ratio.n.to_string(),
            word(change.outcome).to_owned(),
        ]
    };
    view.changes.iter().map(row).collect()
}

/// How the intervals came about, once each.
pub(crate) fn methods(view: &GateView<'_>) -> Vec<&'static str> {
    let any = |paired| view.changes.iter().any(|change| change.paired == paired);
    [
        (true, "Both versions were measured alternately in the same rounds, each trial on fresh servers."),
        (
            false,
            "The two studies were measured at different times: anything else that differed between them counts as the change. Directions are at 5 % over all cases (Holm); each interval is the one that decided.",
        ),
    ]
    .into_iter()
    .filter_map(|(paired, method)| any(paired).then_some(method))
    .collect()
}

fn word(outcome: ChangeOutcome) -> &'static str {
    match outcome {
        ChangeOutcome::Passed => "passed",
        ChangeOutcome::Failed => "failed",
        ChangeOutcome::Undecided => "undecided",
    }
}

fn title(change: &Change) -> &'static str {
    of(change).map_or(change.metric, |metric| metric.title)
}

fn of(change: &Change) -> Option<&'static Metric> {
    metric(change.metric)
}

fn value(change: &Change, estimate: &Estimate) -> String {
    of(change).map_or_else(|| estimate.value.to_string(), |metric| with_unit(metric.unit, estimate.value))
}

fn interval(change: &Change) -> Option<String> {
    Some(format!("{} to {}", ratio(change.ratio.low?), ratio(change.ratio.high?)))
}

fn xml(text: &str) -> String {
    let text: String = text.chars().filter(|character| !character.is_control()).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use stampede_analysis::Better;
    use stampede_core::CaseId;

    use super::*;

    fn change(case: &str, outcome: ChangeOutcome, ratio: f64) -> Change {
        let estimate = |value: f64| Estimate { value, low: Some(value * 0.98), high: Some(value * 1.02), n: 9 };
        Change {
            case: CaseId::new(case),
            metric: "throughput_rps",
            better: Better::Higher,
            base: estimate(1_012.0),
            head: estimate(1_012.0 * ratio),
            ratio: estimate(ratio),
            threshold: 0.05,
            floor: 0.0,
            paired: true,
            scatter: Some(0.0312),
            cpu_time: None,
            is_cut_short: false,
            outcome,
        }
    }

    fn view<'a>(changes: &'a [Change], strict: bool) -> GateView<'a> {
        GateView { base: "main", head: "my_<branch>", question: Some("markdown: 1 CPU"), changes, losses: &[], strict }
    }

    #[test]
    fn a_head_that_mostly_fails_does_not_pass() {
        let changes = [change("head", ChangeOutcome::Passed, 1.0)];
        let reason = "no answer within 10 s\nits log ends: <none>".to_owned();
        let losses = [Loss { case: CaseId::new("head"), failed: 9, invalid: 0, trials: 12, reason }];
        let told = "9 of 12 trials of head do not count: no answer within 10 s";
        let view = GateView { losses: &losses, ..view(&changes, false) };
        assert!(!view.passes());
        assert!(terminal(&view, 500).starts_with(&format!(
            "Not valid: {told}. From the others: Passed: my_<branch> is no more than 5 % worse than main.\n"
        )));
        assert!(junit(&view).contains("tests=\"2\" failures=\"0\" skipped=\"0\" errors=\"1\""));
        assert!(junit(&view).contains(&format!("name=\"head: its trials count\"><error message=\"{told}\"/>")));
        assert!(annotations(&view).ends_with(&format!("::error title=stampede gate::{told}\n")));
        assert!(markdown(&view).starts_with(&format!("### Performance: not valid\n\nNot valid: {told}.")));
        let failed = [change("head", ChangeOutcome::Failed, 0.5)];
        assert!(conclusion(&GateView { changes: &failed, ..view }).ends_with(&format!("of head. Besides, {told}.")));
    }

    #[test]
    fn one_that_fails_fails_all_and_undecided_passes_unless_strict() {
        use ChangeOutcome::{Failed, Passed, Undecided};
        for (outcomes, strict, outcome, passes) in [
            ([Passed, Passed], true, Passed, true),
            ([Passed, Undecided], false, Undecided, true),
            ([Passed, Undecided], true, Undecided, false),
            ([Undecided, Failed], false, Failed, false),
        ] {
            let changes = outcomes.map(|outcome| change("a", outcome, 1.0));
            let view = view(&changes, strict);
            assert_eq!((view.outcome(), view.passes()), (outcome, passes), "{outcomes:?} {strict}");
        }
    }

    #[test]
    fn a_terminal_is_told_the_figures_and_what_they_come_to() {
        let changes = [change("head", ChangeOutcome::Failed, 0.792)];
        assert_eq!(
            terminal(&view(&changes, false), 80),
            "Failed: my_<branch> is more than 5 % worse than main: requests per second of\n  head.\n\
             markdown: 1 CPU\n\
             head: requests per second 1,012 before, 802 after: 0.792 times (0.776 to 0.808,\n  9 rounds that vary \
             by 3.1 %)\n"
        );
    }

    #[test]
    fn more_work_that_throughput_does_not_tell_is_told() {
        let cpu_time = Some(Estimate { value: 1.26, low: Some(1.2), high: Some(1.32), n: 4 });
        let changes = [Change { cpu_time, is_cut_short: true, ..change("head", ChangeOutcome::Undecided, 0.92) }];
        assert_eq!(
            conclusion(&view(&changes, true)),
            "Undecided: the time was over after 9 rounds, which do not show whether my_<branch> is more than 5 % worse than main: \
             requests per second of head; it does not pass (--strict). CPU time per request of head, which other programs disturb less, is 1.260 times \
             (1.200 to 1.320), beyond the threshold: use --metric cpu_us_per_request to decide by it. Try a longer --max-time, a shorter \
             --duration or a larger --threshold."
        );
    }

    #[test]
    fn a_noise_floor_that_keeps_a_gate_from_failing_is_told() {
        let changes = [Change { floor: 0.12, ..change("head", ChangeOutcome::Undecided, 0.92) }];
        let view = view(&changes, false);
        assert_eq!(
            terminal(&view, 80),
            "Undecided: this machine's noise floor of 12 % hides whether my_<branch> is more\n  \
             than 5 % worse than main: requests per second of head; it passes. Try a larger\n  \
             --threshold, or a calibration on a quieter machine.\n\
             markdown: 1 CPU\n\
             head: requests per second 1,012 before, 931 after: 0.920 times (0.902 to 0.938,\n  \
             9 rounds that vary by 3.1 %), within this machine's noise floor of 12 %\n"
        );
        assert!(annotations(&view).contains("noise floor of 12 %25"));
    }

    #[test]
    fn a_comment_holds_nothing_that_a_name_could_do() {
        let changes = [change("head", ChangeOutcome::Undecided, 0.95)];
        let text = markdown(&view(&changes, false));
        assert!(text.starts_with("### Performance: undecided\n"), "{text}");
        for part in
            ["my\\_\\<branch\\>", "| head, requests per second | 1,012 | 961 | 0.950 | 0.931 to 0.969 | undecided |"]
        {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn machines_are_told_in_their_own_words() {
        let changes = [
            change("a&b", ChangeOutcome::Failed, 0.5),
            change("c", ChangeOutcome::Undecided, 0.95),
            change("d", ChangeOutcome::Passed, 1.0),
        ];
        let text = junit(&view(&changes, false));
        assert!(text.contains("tests=\"3\" failures=\"1\" skipped=\"1\""), "{text}");
        assert!(
            text.contains("name=\"a&amp;b: requests per second within 5 %\"><failure message=\"failed: "),
            "{text}"
        );
        assert!(junit(&view(&changes, true)).contains("failures=\"2\" skipped=\"0\""));
        let lines = annotations(&view(&changes, false));
        let levels: Vec<&str> = lines.lines().filter_map(|line| line.split_once(' ')).map(|(level, _)| level).collect();
        assert_eq!(levels, ["::error", "::warning", "::notice"]);
        let fails = [Change { threshold: 0.025, ..change("a", ChangeOutcome::Failed, 0.5) }];
        assert!(conclusion(&view(&fails, false)).contains("more than 2.5 % worse"));
    }
}
