//! What the runs come to: right first answers, false alarms, and the confusion matrix.

use std::collections::{BTreeMap, BTreeSet};

use super::{Cell, FAULTS, RUNTIMES, Ran, SEVERITIES, TRIES};
use crate::circumstances::Circumstances;
use crate::document::{self, Section};
use crate::steal::TOO_MUCH;
use crate::target::{Bound, Target};

/// Less than this share of the rate or the speed is no fault to speak of.
const LEAST: f64 = 0.1;

/// What a run without a fault may hang on: the limit that was asked for.
const LIMIT: &str = "cpu-throttled";

const NONE: &str = "no answer";

/// A run of a fault with what it cost.
struct Provoked<'a> {
    fault: usize,
    held_out: bool,
    ran: &'a Ran,
    cost: Option<f64>,
}

impl Provoked<'_> {
    fn counts(&self) -> bool {
        self.cost.is_some_and(|cost| cost >= LEAST)
    }

    fn answer(&self) -> &str {
        self.ran.answer.as_deref().unwrap_or(NONE)
    }

    fn is_right(&self) -> bool {
        FAULTS[self.fault].right.contains(&self.answer())
    }
}

pub(super) fn document(cells: &[Cell], ran: &BTreeMap<usize, Ran>) -> String {
    let provoked: Vec<Provoked<'_>> = ran
        .iter()
        .filter(|(number, one)| **number < FAULTS.len() * RUNTIMES * SEVERITIES && one.severity > 0)
        .map(|(number, one)| Provoked {
            fault: number / (RUNTIMES * SEVERITIES),
            held_out: number / SEVERITIES % RUNTIMES == RUNTIMES - 1,
            ran: one,
            cost: ran.get(&(number - one.severity)).and_then(|healthy| one.cost(healthy)),
        })
        .collect();
    let healthy: Vec<&Ran> = ran.values().filter(|one| one.severity == 0).collect();
    let mut text = head(cells, ran);
    text.push_str(&format!("## Targets\n\n{}\n", document::targets(&targets(&provoked, &healthy))));
    let mut matrix = Section::new("Confusion matrix");
    confusion(&mut matrix, &provoked, &healthy);
    let mut faults = Section::new("Faults");
    let mut rows = vec![document::head("fault | right answers | runtimes; the third is held out")];
    rows.extend(
        FAULTS.iter().map(|fault| vec![fault.name.to_owned(), fault.right.join(", "), fault.runtimes.join(", ")]),
    );
    faults.text.push_str(&document::words(&rows));
    faults.text.push('\n');
    faults.list(&FAULTS.iter().map(|fault| format!("`{}`: {}.", fault.name, fault.what)).collect::<Vec<_>>());
    let mut each = Section::new("What was not right");
    wrong(&mut each, &provoked, &healthy);
    for section in [matrix, each, faults] {
        text.push_str(&format!("## {}\n\n{}", section.title, section.text));
    }
    text.trim_end().to_owned() + "\n"
}

fn head(cells: &[Cell], ran: &BTreeMap<usize, Ran>) -> String {
    let mut section = Section::default();
    section.paragraph(
        "How often the bottleneck that `stampede compare` names first is the right one: faults that are provoked for real \
         through the program, each on three runtimes in three severities and held against a run of the same without the \
         fault, and runs without any. One trial of 2 s each. A fault counts where it cost a tenth of the rate or more (under \
         an open load: of the speed of the mean answer). In a run without a fault any answer is a false alarm but the CPU limit \
         that was asked for. The third runtime of each fault is one (or has limits) by which no rule was mended, and is scored \
         apart; [earlier rounds](findings/README.md) found more that was wrong.",
    );
    let began: BTreeSet<&str> = ran.values().map(|one| one.began.as_str()).filter(|began| !began.is_empty()).collect();
    let from = began.first().copied().unwrap_or("never");
    let to = began.last().copied().unwrap_or("never");
    section.paragraph(&format!(
        "Made by `make bench-findings`, which goes on where it was left: {} of {} runs are measured, the first began \
         {from} and the last {to} UTC. {}",
        ran.len(),
        cells.len(),
        Circumstances::sentences(ran.values().map(|one| &one.under)),
    ));
    let stolen = ran.values().filter(|one| one.stolen_share > TOO_MUCH).count();
    section.paragraph(&format!(
        "A run during which other guests of the host took more than {:.0} % of the processors is made again, {TRIES} times at most. \
         With {stolen} of the runs that count they did.",
        TOO_MUCH * 100.0,
    ));
    format!("# Findings of real faults\n\n{}", section.text)
}

fn targets(provoked: &[Provoked<'_>], healthy: &[&Ran]) -> Vec<Target> {
    let share = |held_out: bool| {
        let counted: Vec<_> = provoked.iter().filter(|one| one.counts() && one.held_out == held_out).collect();
        let right = counted.iter().filter(|one| one.is_right()).count();
        let seen = (!counted.is_empty()).then(|| 100.0 * right as f64 / counted.len() as f64);
        let what = if held_out { "held-out runtimes" } else { "runtimes that rules were written with" };
        let what = format!("right first answers, {} runs on {what}", counted.len());
        Target::value(what, Bound::AtLeast(90.0), seen, 1, " %")
    };
    let measured: Vec<_> = healthy.iter().filter(|one| one.outcome == "measured").collect();
    let alarms = measured.iter().filter(|one| is_alarm(one)).count();
    let seen = (!measured.is_empty()).then(|| 100.0 * alarms as f64 / measured.len() as f64);
    let what = format!("false alarms, {} runs without a fault", measured.len());
    let alarms = Target::value(what, Bound::AtMost(5.0), seen, 1, " %");
    let dear = provoked.iter().filter(|one| one.counts()).count();
    let what = format!("faults that cost a tenth or more, {} runs", provoked.len());
    let seen = (!provoked.is_empty()).then(|| 100.0 * dear as f64 / provoked.len() as f64);
    vec![share(false), share(true), alarms, Target::value(what, Bound::AtLeast(100.0), seen, 1, " %")]
}

fn is_alarm(one: &Ran) -> bool {
    one.answer.as_deref().is_some_and(|answer| answer != LIMIT)
}

/// A row for each fault, a column for each answer that was given.
fn confusion(section: &mut Section, provoked: &[Provoked<'_>], healthy: &[&Ran]) {
    let counted: Vec<&Provoked<'_>> = provoked.iter().filter(|one| one.counts()).collect();
    let without = |one: &Ran| one.answer.clone().unwrap_or_else(|| NONE.to_owned());
    let mut answers: BTreeSet<String> = counted.iter().map(|one| one.answer().to_owned()).collect();
    answers.extend(healthy.iter().map(|one| without(one)));
    let letters: BTreeMap<&String, char> = answers.iter().zip('a'..='z').collect();
    section.paragraph("Runs whose fault cost a tenth or more, by the fault (rows) and the first answer (columns).");
    let legend: Vec<String> = letters.iter().map(|(answer, letter)| format!("{letter}: {answer}")).collect();
    section.paragraph(&format!("{}.", legend.join(", ")));
    let mut rows = vec![[vec!["fault".to_owned()], letters.values().map(char::to_string).collect()].concat()];
    let cells = |count: &dyn Fn(&str) -> usize| -> Vec<String> {
        let shown = |count: usize| if count == 0 { ".".to_owned() } else { count.to_string() };
        answers.iter().map(|answer| shown(count(answer))).collect()
    };
    for (place, fault) in FAULTS.iter().enumerate() {
        let count = |answer: &str| counted.iter().filter(|one| one.fault == place && one.answer() == answer).count();
        rows.push([vec![fault.name.to_owned()], cells(&count)].concat());
    }
    let none = |answer: &str| healthy.iter().filter(|one| without(one) == answer).count();
    rows.push([vec!["none".to_owned()], cells(&none)].concat());
    section.table(&rows);
}

/// Each run that does not count or has another answer than the right one.
fn wrong(section: &mut Section, provoked: &[Provoked<'_>], healthy: &[&Ran]) {
    let why = |one: &Ran| match &one.reason {
        Some(reason) => format!(" ({}: {reason})", one.outcome),
        None => String::new(),
    };
    let mut lines = Vec::new();
    for one in provoked.iter().filter(|one| !one.counts() || !one.is_right()) {
        let Ran { subject, runtime, severity, findings, .. } = one.ran;
        let cost = match one.cost {
            Some(cost) => format!("cost {:.0} %", cost * 100.0),
            None => "has nothing to be held against".to_owned(),
        };
        let verdict = match one.is_right() {
            true => format!("{}, rightly, and too little to count", one.answer()),
            false => format!("{}; found: {}", one.answer(), findings.join(", ")),
        };
        lines.push(format!("`{subject}` {severity} on {runtime}: {cost}; {verdict}{}", why(one.ran)));
    }
    for one in healthy.iter().filter(|one| is_alarm(one) || one.outcome != "measured") {
        let Ran { subject, runtime, answer, .. } = one;
        let answer = answer.as_deref().unwrap_or(NONE);
        lines.push(format!("without a fault, of `{subject}` on {runtime}: {answer}{}", why(one)));
    }
    section.list(&lines);
    if lines.is_empty() {
        section.paragraph("Nothing.");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_counts_what_is_right_and_what_is_alarmed() {
        let cells = Cell::all();
        let ran = |cell: usize, answer: Option<&str>, rate: f64| {
            let of = &cells[cell];
            let one = Ran {
                cell,
                subject: of.subject().to_owned(),
                runtime: of.runtime().to_owned(),
                severity: of.severity(),
                outcome: "measured".to_owned(),
                answer: answer.map(str::to_owned),
                rate: Some(rate),
                ..Ran::default()
            };
            (cell, one)
        };
        let pool = Some("pool-full");
        let runs = BTreeMap::from([
            ran(0, Some("cpu-throttled"), 100.0),
            ran(1, pool, 95.0),
            ran(2, Some("slow-upstream"), 50.0),
            ran(3, pool, 20.0),
            ran(8, pool, 100.0),
            ran(9, pool, 50.0),
        ]);
        let text = document(&cells, &runs);
        let row = |part: &str| text.lines().find(|line| line.contains(part)).unwrap_or_default();
        assert!(row("2 runs on runtimes that rules").contains("50.0 %"), "{text}");
        assert!(row("1 runs on held-out").contains("100.0 %"), "{text}");
        assert!(row("false alarms, 2 runs").contains("50.0 %"), "{text}");
        assert!(row("`pool` 1 on nginx-fpm: cost 5 %; pool-full, rightly").contains("too little"), "{text}");
        assert!(row("`pool` 2 on nginx-fpm: cost 50 %; slow-upstream;").starts_with("- "), "{text}");
    }
}
