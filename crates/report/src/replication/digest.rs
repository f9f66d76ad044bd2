//! What there is to say, in the order in which it is said.

use std::collections::BTreeSet;
use std::time::Duration;

use stampede_analysis::{
    CheckedClaim, MIN_BLOCKS, NEAR, OurFigure, PossibleCause, Ratios, ReplicatedPair, ReplicatedRow, Replication,
    ReplicationVerdict, metric,
};
use stampede_core::{
    Bounds, CaseId, ClaimTest, Estimate, Failures, Outcome, PublishedColumn, PublishedFigure, PublishedRow,
    PublishedTable, PublishedUnit, Rounds, Study, Verdict, VerdictWord, shortened,
};

use super::{ReplicatedTable, ReplicationView, score};
use crate::page::{Block, Column, Medium, Table};
use crate::places;
use crate::quantity::{number, ratio, with_unit};

pub(super) fn blocks(view: &ReplicationView<'_>, medium: Medium) -> Vec<Block> {
    let publication = view.publication;
    let mut blocks = vec![
        Block::Heading { text: format!("{}: {}", publication.name, publication.title), level: 1 },
        Block::Paragraph(format!("Published: {}", publication.source)),
        Block::Paragraph(here(view)),
    ];
    if !publication.unlike.is_empty() {
        blocks.push(Block::Heading { text: "Unlike what was published".to_owned(), level: 2 });
        blocks.extend(publication.unlike.iter().map(|text| Block::Item(text.clone())));
    }
    for table in view.tables {
        self::table(table, view.scale, medium, &mut blocks);
    }
    claims(view, &mut blocks);
    blocks
}

/// Where it was measured, and how much of it.
fn here(view: &ReplicationView<'_>) -> String {
    let machine = view.tables.iter().find_map(|table| table.run.study).map(|study| &study.machine);
    let machine = machine.map_or_else(
        || "nothing could be run".to_owned(),
        |machine| format!("{} CPUs ({}), Linux {}", machine.cpus, machine.cpu_model, machine.kernel),
    );
    let scaled = |what: &str, factor: f64| {
        if factor == 1.0 {
            format!("{what} as published")
        } else {
            format!("published {what} multiplied with {factor}")
        }
    };
    let times = scaled("times", view.scale);
    let rates = scaled("rates", view.rate_scale);
    format!("Here: {machine}; {times}, {rates}. Ratios and their order are compared, absolute figures are not.")
}

fn table(of: &ReplicatedTable<'_>, scale: f64, medium: Medium, blocks: &mut Vec<Block>) {
    let ReplicatedTable { run, replication } = of;
    blocks.push(Block::Heading { text: run.table.title.clone(), level: 2 });
    if let Some(study) = run.study {
        blocks.push(Block::Paragraph(question(study)));
        blocks.push(Block::Paragraph(format!("With {}.", versions(study))));
        if run.table.failures == Failures::Figures {
            blocks.push(Block::Paragraph(FAILURES.to_owned()));
        }
        blocks.extend(patience(run.table, scale).map(Block::Paragraph));
    }
    let has_figures = |column: &usize| {
        let published = run.table.rows.iter().any(|row| row.figures[*column].is_some());
        published || replication.rows.iter().any(|row| row.figures[*column].is_some())
    };
    let columns: Vec<usize> = (0..run.table.columns.len()).filter(has_figures).collect();
    let on_terminal = on_terminal(replication, &columns);
    let (shown, left): (Vec<usize>, Vec<usize>) =
        columns.iter().partition(|column| medium != Medium::Terminal || on_terminal.contains(column));
    blocks.extend(shown.iter().map(|column| Block::Table(grid(of, *column))));
    if !left.is_empty() {
        let left: Vec<&str> = left.iter().map(|column| words(&run.table.columns[*column].metric)).collect();
        blocks.push(Block::Paragraph(format!("In --markdown and --json also: {}.", left.join(", "))));
    }
    if let Some(baseline) = &replication.baseline {
        let instead = if *baseline == run.table.baseline {
            String::new()
        } else {
            format!(", as {} has no such figure here", title(run.table, &run.table.baseline))
        };
        blocks.push(Block::Paragraph(format!("Ratios are to {}{instead}. {MARKS}", title(run.table, baseline))));
    }
    pairs(of, medium, blocks);
    let mut problems: Vec<(String, Vec<&str>)> = Vec::new();
    for (row, published) in replication.rows.iter().zip(&run.table.rows) {
        let Some(problem) = row.problem.as_deref().map(problem_in_one_line) else { continue };
        match problems.iter_mut().find(|(known, _)| *known == problem) {
            Some((_, titles)) => titles.push(&published.title),
            None => problems.push((problem, vec![&published.title])),
        }
    }
    blocks.extend(
        problems
            .into_iter()
            .map(|(problem, titles)| Block::Item(format!("without valid figures: {} ({problem})", titles.join("; ")))),
    );
    for PublishedRow { title, unlike, .. } in &run.table.rows {
        blocks.extend(unlike.iter().map(|unlike| Block::Item(format!("unlike what was published, {title}: {unlike}"))));
    }
    if medium != Medium::Html {
        score::blocks(of, blocks);
    }
}

/// The columns that a terminal shows: the first and, where a row that was measured has no figure in it, the next that says
/// something of such rows.
fn on_terminal(replication: &Replication, columns: &[usize]) -> Vec<usize> {
    let Some((first, others)) = columns.split_first() else { return Vec::new() };
    let without: Vec<&ReplicatedRow> = replication.rows.iter().filter(|row| row.figures[*first].is_none()).collect();
    let next = others.iter().find(|column| without.iter().any(|row| row.figures[**column].is_some()));
    [first].into_iter().chain(next).copied().collect()
}

/// How long a client waits, where that is not the end of the load.
fn patience(table: &PublishedTable, scale: f64) -> Option<String> {
    let time = |time: Duration| format!("{} s", number(time.as_secs_f64()));
    let (here, whole) = (table.client_timeout(scale)?, table.timeout?);
    let whole = if here == whole { String::new() } else { format!(" ({} where times are as published)", time(whole)) };
    Some(format!(
        "A client gives up after {}{whole}. That is our choice: what the published client did is not known.",
        time(here)
    ))
}

const FAILURES: &str = "Requests without the right answer are part of this table: trials with many of them count, and have no figures that depend on unknown response times.";

const MARKS: &str =
    "Before our figures, ? means undecided and = equivalent; ! marks figures of trials that do not count.";

fn question(study: &Study) -> String {
    let of_cases = |text: &dyn Fn(&stampede_core::Case) -> String| {
        let texts: Vec<String> = study.cases.iter().map(text).collect();
        let mut seen = BTreeSet::new();
        texts.into_iter().filter(|text| seen.insert(text.clone())).collect::<Vec<_>>().join(" / ")
    };
    let limits = of_cases(&|case| format!("{} CPU and {}", case.limits.cpus, case.limits.memory));
    let load = of_cases(&stampede_core::Case::whole_load);
    let rounds = match study.rounds {
        Rounds::Fixed(rounds) => format!("{rounds} rounds"),
        Rounds::Auto { .. } => "rounds".to_owned(),
    };
    format!(
        "{} under {limits} in all, load {load}, {rounds} of {} s; stored as {} (stampede show {})",
        study.workload,
        study.duration.as_secs_f64(),
        study.id,
        study.id
    )
}

/// What served the rows, each program once.
fn versions(study: &Study) -> String {
    let mut seen = BTreeSet::new();
    let programs = study.cases.iter().flat_map(|case| case.runtime_version.split(", "));
    programs.filter(|program| seen.insert(*program)).collect::<Vec<_>>().join(", ")
}

/// The rows with one published figure, ours beside it, and the ratios of both.
fn grid(of: &ReplicatedTable<'_>, column: usize) -> Table {
    let ReplicatedTable { run, replication } = of;
    let PublishedColumn { metric: key, unit } = &run.table.columns[column];
    let mut columns: [Vec<String>; 5] = Default::default();
    for (row, published) in replication.rows.iter().zip(&run.table.rows) {
        let Ratios { published: published_ratio, ours } = row.ratios[column];
        let absent = || "-".to_owned();
        let our_ratio = match &row.verdict {
            Some(verdict) if column == 0 => Some(marked(verdict)),
            _ => ours.map(ratio),
        };
        let cells = [
            published.title.clone(),
            published.figures[column].map_or_else(absent, as_published),
            our_cell(row, column, *unit).unwrap_or_else(absent),
            published_ratio.map_or_else(absent, ratio),
            our_ratio.unwrap_or_else(absent),
        ];
        columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
    }
    let [names, published, ours, published_ratio, our_ratio] = columns;
    let title = format!("{}, {unit}", words(key));
    Table {
        columns: vec![
            Column::names(&title, names).headed([&title, ""]),
            Column::figures("published", published),
            Column::figures("ours", ours),
            Column::figures("ratio published", published_ratio).headed(["ratio", "published"]),
            Column::figures("ratio ours", our_ratio).headed(["ratio", "ours"]),
        ],
    }
}

fn words(key: &str) -> &str {
    metric(key).map_or(key, |metric| metric.title)
}

fn as_published(figure: PublishedFigure) -> String {
    let PublishedFigure { low, high } = figure;
    if low == high { number(low) } else { format!("{}-{}", number(low), number(high)) }
}

/// Our figure in the published unit.
fn our_cell(row: &ReplicatedRow, column: usize, unit: PublishedUnit) -> Option<String> {
    let OurFigure { estimate, counts } = row.figures[column]?;
    Some(format!("{}{}", if counts { "" } else { "!" }, number(estimate.value / unit.factor())))
}

fn marked(verdict: &Verdict) -> String {
    let mark = match verdict.verdict {
        VerdictWord::Faster | VerdictWord::Slower => "",
        VerdictWord::Equivalent => "=",
        VerdictWord::Undecided => "?",
    };
    format!("{mark}{}", ratio(verdict.ratio.value))
}

/// What became of the published differences, figure by figure. A terminal has no room for each but those of the first.
fn pairs(of: &ReplicatedTable<'_>, medium: Medium, blocks: &mut Vec<Block>) {
    let mut found = Found::default();
    for (column, PublishedColumn { metric: key, .. }) in of.run.table.columns.iter().enumerate() {
        let pairs = of.replication.pairs.iter().filter(|pair| pair.column == column);
        let pairs: Vec<&ReplicatedPair> = pairs.collect();
        if pairs.is_empty() {
            continue;
        }
        let percent = (NEAR - 1.0) * 100.0;
        blocks.push(Block::Paragraph(format!(
            "Pairs that differ by more than {percent:.0} % in the published {}: {}.",
            words(key),
            counted(pairs.iter().map(|pair| pair.standing))
        )));
        if column == 0 || medium != Medium::Terminal {
            told_apart(of, &pairs, &mut found, blocks);
        }
    }
    blocks.extend(found.items());
}

/// The pairs that were not confirmed.
fn told_apart<'a>(
    of: &ReplicatedTable<'_>,
    pairs: &[&'a ReplicatedPair],
    found: &mut Found<'a>,
    blocks: &mut Vec<Block>,
) {
    let of_standing = |standing| pairs.iter().copied().filter(move |pair| pair.standing == standing);
    for pair in of_standing(ReplicationVerdict::Refuted) {
        let because =
            found.explanation(of.run.table, pair.verdict.as_ref().map(|verdict| &verdict.ratio), &pair.because);
        blocks.push(Block::Item(format!("refuted: {}; {because}", compared(of.run.table, pair))));
    }
    // Of rows without figures that count it is said why; their pairs say no more.
    let mut undecided: Vec<(String, Vec<String>)> = Vec::new();
    for pair in of_standing(ReplicationVerdict::Undecided) {
        let Some(verdict) = &pair.verdict else { continue };
        let because = found.explanation(of.run.table, Some(&verdict.ratio), &pair.because);
        let text = compared(of.run.table, pair);
        match undecided.iter_mut().find(|(known, _)| *known == because) {
            Some((_, texts)) => texts.push(text),
            None => undecided.push((because, vec![text])),
        }
    }
    blocks.extend(
        undecided
            .into_iter()
            .map(|(because, pairs)| Block::Item(format!("undecided, {because}: {}", pairs.join("; ")))),
    );
}

/// What was found beside pairs and claims that were not confirmed: each text once, with all that it was found in, under the number
/// by which they name it.
#[derive(Default)]
struct Found<'a>(Vec<(&'a str, Vec<String>)>);

impl<'a> Found<'a> {
    fn explanation(
        &mut self,
        table: &PublishedTable,
        found: Option<&Estimate>,
        because: &'a [PossibleCause],
    ) -> String {
        match found {
            Some(Estimate { low: Some(_), .. }) => {}
            // With enough blocks, only one ratio in all of them leaves nothing to make an interval of.
            Some(Estimate { n, .. }) if *n as usize >= MIN_BLOCKS => {
                return "as all rounds have the same ratio, which gives no interval".to_owned();
            }
            _ => return "in too few rounds for an interval".to_owned(),
        }
        if because.is_empty() {
            return "unexplained".to_owned();
        }
        let mut numbers: Vec<usize> = because.iter().map(|cause| self.number(table, cause)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let numbers: Vec<String> = numbers.iter().map(|number| format!("[{number}]")).collect();
        format!("found beside it: {}", numbers.join(" "))
    }

    fn number(&mut self, table: &PublishedTable, PossibleCause { of, text }: &'a PossibleCause) -> usize {
        let place = self.0.iter().position(|(known, _)| known == text).unwrap_or_else(|| {
            self.0.push((text, Vec::new()));
            self.0.len() - 1
        });
        let (of, found_in) = (title(table, &CaseId::new(of)), &mut self.0[place].1);
        if !found_in.contains(&of) {
            found_in.push(of);
        }
        place + 1
    }

    fn items(self) -> impl Iterator<Item = Block> {
        let items = self.0.into_iter().zip(1..);
        items.map(|((text, of), number)| Block::Item(format!("[{number}] {}: {text}", of.join("; "))))
    }
}

const STANDINGS: [(ReplicationVerdict, &str); 4] = [
    (ReplicationVerdict::Confirmed, "confirmed"),
    (ReplicationVerdict::Refuted, "refuted"),
    (ReplicationVerdict::Undecided, "undecided"),
    (ReplicationVerdict::Untested, "not tested"),
];

/// `2 confirmed, 1 refuted`.
fn counted(standings: impl Iterator<Item = ReplicationVerdict> + Clone) -> String {
    let counted = STANDINGS.iter().filter_map(|(standing, word)| {
        let count = standings.clone().filter(|other| other == standing).count();
        (count > 0).then(|| format!("{count} {word}"))
    });
    counted.collect::<Vec<_>>().join(", ")
}

pub(super) fn word(standing: ReplicationVerdict) -> &'static str {
    STANDINGS.iter().find(|(known, _)| *known == standing).map_or("", |(_, word)| word)
}

/// What it comes to: how many of the published differences, and of what its author said, were seen here too.
pub(crate) fn lead(view: &ReplicationView<'_>) -> String {
    let pairs = view.tables.iter().flat_map(|table| &table.replication.pairs).map(|pair| pair.standing);
    let claims = view.claims.iter().map(|claim| claim.standing);
    let told = [("Published differences", counted(pairs)), ("what its author said", counted(claims))];
    let told = told.into_iter().filter(|(_, counted)| !counted.is_empty());
    let told: Vec<String> = told.map(|(what, counted)| format!("{what}: {counted}")).collect();
    if told.is_empty() {
        "No published figure can be compared here.".to_owned()
    } else {
        format!("{}.", told.join("; "))
    }
}

/// `nginx + PHP-FPM over Apache: published 1.34 times, here 1.10 times (0.90 to 1.30, 5 blocks)`.
fn compared(table: &PublishedTable, pair: &ReplicatedPair) -> String {
    let here = pair.verdict.as_ref().map(|verdict| format!(", here {}", times(&verdict.ratio))).unwrap_or_default();
    let (a, b) = (title(table, &pair.a), title(table, &pair.b));
    format!("{a} over {b}: published {} times{here}", ratio(pair.published))
}

/// `1.02 times (0.980 to 1.06, 5 blocks)`.
fn times(estimate: &Estimate) -> String {
    format!("{} times{}", ratio(estimate.value), interval(estimate, ratio))
}

fn interval(estimate: &Estimate, text: impl Fn(f64) -> String) -> String {
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => format!(" ({} to {}, {} rounds)", text(low), text(high), estimate.n),
        _ => format!(" in {} of the rounds", estimate.n),
    }
}

/// No more characters than this are told of a line of a log; the whole log is in the study itself.
const LOG_LINE: usize = 200;

/// Why a row has no figures.
fn problem_in_one_line(reason: &str) -> String {
    let reason = places::without_runs(reason);
    let problem = Outcome::problem(&reason);
    let line = Outcome::log_line(&reason).map(|line| shortened(line, LOG_LINE));
    line.map_or_else(|| problem.to_owned(), |line| format!("{problem}: {line}"))
}

pub(super) fn title(table: &PublishedTable, case: &CaseId) -> String {
    let row = table.rows.iter().find(|row| row.case == *case);
    row.map_or_else(|| case.to_string(), |row| row.title.clone())
}

fn claims(view: &ReplicationView<'_>, blocks: &mut Vec<Block>) {
    if view.claims.is_empty() {
        return;
    }
    let counted = counted(view.claims.iter().map(|claim| claim.standing));
    blocks.push(Block::Heading { text: format!("What its author said: {counted}"), level: 2 });
    let mut found = Found::default();
    for claim in view.claims {
        let because = match (claim.standing, &claim.found, table_of(view, claim)) {
            (ReplicationVerdict::Refuted | ReplicationVerdict::Undecided, Some(ours), Some(table)) => {
                format!("; {}", found.explanation(table, Some(ours), &claim.because))
            }
            _ => String::new(),
        };
        let evidence = evidence(view, claim);
        blocks.push(Block::Item(format!("{}: {}{evidence}{because}", word(claim.standing), claim.claim.says)));
    }
    blocks.extend(found.items());
    blocks.push(Block::Paragraph(
        "Each statement is decided by its own 95 % interval; pairs of a table are judged together.".to_owned(),
    ));
}

fn table_of<'a>(view: &ReplicationView<'a>, claim: &CheckedClaim<'_>) -> Option<&'a PublishedTable> {
    claim.claim.test.table().and_then(|id| view.publication.tables.iter().find(|table| table.id == *id))
}

/// What was found, and what was looked for.
fn evidence(view: &ReplicationView<'_>, claim: &CheckedClaim<'_>) -> String {
    let Some(found) = &claim.found else {
        return claim
            .problem
            .as_ref()
            .map(|problem| format!(" ({})", problem_in_one_line(problem)))
            .unwrap_or_default();
    };
    let metric = claim.metric.map_or("", |metric| metric.title);
    let table = table_of(view, claim);
    let title = |case: &CaseId| table.map_or_else(|| case.to_string(), |table| self::title(table, case));
    match &claim.claim.test {
        ClaimTest::Ratio { of, to, against, within, .. } => {
            let (of, to) = (title(of), title(to));
            let shown = bounds(within, &ratio);
            match against {
                None => format!(" ({metric} of {of}: {} that of {to}; shown by {shown})", times(found)),
                Some((below_of, below_to)) => format!(
                    " ({metric} of {of} over that of {to}: {} that of {} over that of {}; shown by {shown})",
                    times(found),
                    title(below_of),
                    title(below_to)
                ),
            }
        }
        ClaimTest::Figure { of, within, .. } => {
            let text = |value: f64| claim.metric.map_or_else(|| number(value), |metric| with_unit(metric.unit, value));
            format!(
                " ({metric} of {}: {}{}; shown by {})",
                title(of),
                text(found.value),
                interval(found, text),
                bounds(within, &text)
            )
        }
        ClaimTest::Untested { .. } => String::new(),
    }
}

fn bounds(within: &Bounds, text: &dyn Fn(f64) -> String) -> String {
    match (within.from, within.to) {
        (Some(from), Some(to)) => format!("{} to {}", text(from), text(to)),
        (Some(from), None) => format!("{} and more", text(from)),
        (None, Some(to)) => format!("{} and less", text(to)),
        (None, None) => "anything".to_owned(),
    }
}
