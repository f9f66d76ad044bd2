//! The document of a soak.

use stampede_stats::t_quantile_above;

use super::slope::{Slope, slope};
use super::{Piece, by_command};
use crate::circumstances::Circumstances;
use crate::document;
use crate::target::{Bound, Target};

/// What a study may gather in memory, of which an hour has 36 MB: each trial's results are kept for the report at its end.
const KIB_A_SECOND: f64 = 10.0;

/// A shorter run is still filling its caches.
const LONG_S: f64 = 60.0;

/// Writes it.
pub(super) fn document(pieces: &[Piece]) -> String {
    let (whole, killed): (Vec<&Piece>, Vec<&Piece>) = pieces.iter().partition(|piece| piece.killed_s.is_none());
    let hours = pieces.iter().map(|piece| piece.seconds).sum::<f64>() / 3600.0;
    let mut text = "# Soak: hours of studies, and kills at any instant\n\n\
        Made by `make bench-soak`, in pieces that go on where they were left (`crates/bench/data/soak.jsonl`).\n\
        Commands run on Stampede's own workloads, in turn.\n\
        Those that run to their end are watched for memory and descriptors; others are killed (SIGKILL) at an instant that is drawn evenly \
        from the time they take.\n\
        After each, control groups, processes and files of its runs are looked for until none is left, or for a minute; and its store is read.\n\n"
        .to_owned();
    text.push_str(&format!(
        "{} commands ran to their end and {} were killed, {hours:.1} hours together.\n",
        whole.len(),
        killed.len()
    ));
    text.push_str(&format!("{}\n\n", Circumstances::sentences(pieces.iter().map(|piece| &piece.under))));
    text.push_str(&format!("## Targets\n\n{}\n", document::targets(&targets(pieces, &whole, &killed, hours))));
    text.push_str(&format!("## To their end\n\n{}\n", document::words(&whole_rows(pieces))));
    text.push_str(
        "`growth` is how much resident memory grows in a second, by a line through the second half of each run: the mean over runs.\n\
        Processes, groups and files of the machine are those after a command, first and last.\n\n",
    );
    text.push_str(&format!("## Killed\n\n{}\n", document::words(&killed_rows(pieces))));
    text.push_str(
        "`told` are trials whose line was printed before the kill, `stored` those that the store had afterwards.\n\
        `resumed` are commands that `--resume` took up and brought to their end; one that was killed before its first trial begins again.\n",
    );
    text
}

fn targets(pieces: &[Piece], whole: &[&Piece], killed: &[&Piece], hours: f64) -> Vec<Target> {
    let count = |of: &[&Piece], is_so: fn(&Piece) -> bool| of.iter().filter(|piece| is_so(piece)).count() as f64;
    let all: Vec<&Piece> = pieces.iter().collect();
    let is_any = |value: f64, of: &[&Piece]| (!of.is_empty()).then_some(value);
    let over_pieces = |of: fn(&Piece) -> f64| {
        let points: Vec<(f64, f64)> = (0..).zip(pieces).map(|(number, piece)| (f64::from(number), of(piece))).collect();
        slope(&points).map(|slope| slope.at_most * 100.0)
    };
    let long: Vec<&Piece> = whole.iter().filter(|piece| piece.seconds >= LONG_S).copied().collect();
    let growth = growth_of(&long).map(|slope| slope.at_most);
    let at_most = |what: &str, most: f64, seen: Option<f64>, digits, unit: &str| {
        Target::value(what, Bound::AtMost(most), seen, digits, unit)
    };
    vec![
        Target::value("hours", Bound::AtLeast(10.0), Some(hours), 1, ""),
        Target::value("kills", Bound::AtLeast(200.0), Some(killed.len() as f64), 0, ""),
        at_most("commands that left something", 0.0, is_any(count(&all, |p| p.gone_s.is_none()), &all), 0, ""),
        at_most(
            "kills that lost a trial that was told",
            0.0,
            is_any(count(killed, |p| p.told > p.stored), killed),
            0,
            "",
        ),
        at_most(
            "killed commands that --resume refused",
            0.0,
            is_any(count(killed, |p| p.resumed == Some(false)), killed),
            0,
            "",
        ),
        at_most("memory of runs of a minute and more, growth in a second, upper end", KIB_A_SECOND, growth, 1, " KiB"),
        at_most("control groups, more in 100 commands, upper end", 0.5, over_pieces(|p| p.groups as f64), 2, ""),
        at_most("processes, more in 100 commands, upper end", 2.0, over_pieces(|p| p.processes as f64), 2, ""),
        at_most("open files, more in 100 commands, upper end", 50.0, over_pieces(|p| p.files as f64), 1, ""),
    ]
}

/// How memory grows in a second in the second half of runs, over runs: its mean, and the upper end of the mean's one-sided interval.
fn growth_of(pieces: &[&Piece]) -> Option<Slope> {
    let of_run = |piece: &&Piece| {
        let half: Vec<(f64, f64)> =
            piece.memory.iter().skip(piece.memory.len() / 2).map(|(at, kib)| (*at, *kib as f64)).collect();
        slope(&half).map(|slope| slope.mean)
    };
    let growths: Vec<f64> = pieces.iter().filter_map(of_run).collect();
    let n = growths.len() as f64;
    if growths.len() < 2 {
        return None;
    }
    let mean = growths.iter().sum::<f64>() / n;
    let deviation = (growths.iter().map(|growth| (growth - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    let t = t_quantile_above(0.05, n - 1.0)?;
    Some(Slope { mean, at_most: mean + t * deviation / n.sqrt() })
}

fn whole_rows(pieces: &[Piece]) -> Vec<Vec<String>> {
    let mut rows = vec![document::head(
        "command | runs | codes | mean s | peak MiB | growth KiB/s | descriptors | store KiB | processes | groups | files",
    )];
    for (name, of) in by_command(pieces, false) {
        let peak = of.iter().flat_map(|piece| &piece.memory).map(|(_, kib)| *kib).max().unwrap_or_default();
        let ends = |value: fn(&Piece) -> u64| match (of.first(), of.last()) {
            (Some(first), Some(last)) => format!("{} to {}", value(first), value(last)),
            _ => String::new(),
        };
        let mut codes: Vec<String> =
            of.iter().map(|piece| piece.code.map_or_else(|| "signal".to_owned(), |code| code.to_string())).collect();
        codes.sort();
        codes.dedup();
        rows.push(vec![
            name.to_owned(),
            of.len().to_string(),
            codes.join(", "),
            format!("{:.1}", of.iter().map(|piece| piece.seconds).sum::<f64>() / of.len() as f64),
            format!("{:.1}", peak as f64 / 1024.0),
            growth_of(&of).map_or_else(|| "-".to_owned(), |growth| format!("{:.1}", growth.mean)),
            of.iter().map(|piece| piece.descriptors).max().unwrap_or_default().to_string(),
            of.iter().map(|piece| piece.store_kib).max().unwrap_or_default().to_string(),
            ends(|piece| piece.processes as u64),
            ends(|piece| piece.groups as u64),
            ends(|piece| piece.files),
        ]);
    }
    rows
}

fn killed_rows(pieces: &[Piece]) -> Vec<Vec<String>> {
    let mut rows = vec![document::head("command | kills | told | stored | resumed | gone within s | left")];
    for (name, of) in by_command(pieces, true) {
        let sum = |value: fn(&Piece) -> usize| of.iter().map(|piece| value(piece)).sum::<usize>().to_string();
        let resumable = of.iter().filter(|piece| piece.resumed.is_some()).count();
        let resumed = of.iter().filter(|piece| piece.resumed == Some(true)).count();
        let slowest = of.iter().filter_map(|piece| piece.gone_s).fold(0.0, f64::max);
        let left: Vec<&str> = of.iter().flat_map(|piece| &piece.left).map(String::as_str).collect();
        rows.push(vec![
            name.to_owned(),
            of.len().to_string(),
            sum(|piece| piece.told),
            sum(|piece| piece.stored),
            format!("{resumed} of {resumable}"),
            format!("{slowest:.1}"),
            if left.is_empty() { "nothing".to_owned() } else { left.join("; ") },
        ]);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stayed_and_what_was_lost_is_a_target_missed() {
        let good = Piece {
            command: "compare".to_owned(),
            seconds: 10.0,
            gone_s: Some(0.4),
            code: Some(0),
            ..Piece::default()
        };
        let killed = Piece { killed_s: Some(3.0), code: None, told: 2, stored: 3, ..good.clone() };
        let lost = Piece { told: 3, stored: 2, ..killed.clone() };
        let stayed = Piece { gone_s: None, left: vec!["process 7".to_owned()], ..killed.clone() };
        let of = |pieces: &[Piece]| {
            let text = document(pieces);
            let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
            (line("commands that left"), line("kills that lost"))
        };
        let (left, lost_trials) = of(&[good.clone(), killed.clone()]);
        assert!(left.ends_with("met") && lost_trials.ends_with("met"), "{left}\n{lost_trials}");
        let (left, lost_trials) = of(&[good, lost, stayed]);
        assert!(left.ends_with("MISSED") && lost_trials.ends_with("MISSED"), "{left}\n{lost_trials}");
    }
}
