//! What ab writes beside its report: `-g`, `-e`, and the report as a table of HTML (`-w`).

use std::fmt::Write as _;

use stampede_core::Load;
use stampede_seam::{LoadResult, RequestSample};

use crate::figures::{Moments, answered, at_rank, whole};
use crate::spells::Spells;

/// Each request that was answered, the quickest first, as gnuplot reads it (`-g`). The load began at `began`, in seconds from 1970, and
/// `local` writes such a time for people.
pub(crate) fn gnuplot(samples: &[RequestSample], began: i64, local: &dyn Fn(i64) -> String) -> String {
    let mut requests: Vec<_> = samples.iter().filter_map(Spells::of).collect();
    requests.sort_by_key(Spells::total);
    let mut text = "starttime\tseconds\tctime\tdtime\tttime\twait\n".to_owned();
    for request in &requests {
        let seconds = began + i64::try_from(request.begun / 1_000_000_000).unwrap_or_default();
        let total = request.total();
        let parts = [request.connect, total - request.connect, total, request.write + request.wait];
        let [connect, process, total, wait] = parts.map(millis);
        let _ = writeln!(text, "{}\t{seconds}\t{connect}\t{process}\t{total}\t{wait}", local(seconds));
    }
    text
}

/// Whole milliseconds, as ab rounds them.
fn millis(ns: u64) -> u64 {
    (ns + 500_000) / 1_000_000
}

/// The time within which each percent of the requests was served (`-e`).
pub(crate) fn percentages(load: &Load, result: &LoadResult) -> String {
    let whole = whole(load, result);
    let count = whole.count();
    let mut text = "Percentage served,Time in ms\n".to_owned();
    if answered(result) > 0 {
        for percent in 0..=100 {
            // ab takes the request of this place, rounded, from 0.
            let rank = ((count * percent + 50) / 100 + 1).min(count);
            let _ = writeln!(text, "{percent},{:.3}", at_rank(whole, rank).as_secs_f64() * 1e3);
        }
    }
    text
}

/// Attributes for tags of a table (`-x`, `-y`, `-z`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub(crate) table: String,
    pub(crate) row: String,
    pub(crate) cell: String,
}

/// A row of the report.
pub(crate) type Row = (&'static str, String);

/// The report as a table.
pub(crate) fn table(attributes: &Attributes, rows: &[Row], load: &Load, result: &LoadResult) -> String {
    let Attributes { table, row, cell } = attributes;
    let mut text = format!("<p>\n This is Stampede, in the layout of ApacheBench 2.3<br>\n</p>\n\n\n<table {table}>\n");
    for (name, value) in rows {
        let label = if name.is_empty() {
            format!("<td colspan=2 {cell}>&nbsp;</td>")
        } else {
            format!("<th colspan=2 {cell}>{name}:</th>")
        };
        let _ = writeln!(text, "<tr {row}>{label}<td colspan=2 {cell}>{}</td></tr>", escaped(value));
    }
    if answered(result) > 0 {
        let count = answered(result);
        let _ = writeln!(text, "<tr {row}><th {cell} colspan=4>Connection Times (ms)</th></tr>");
        let heads = ["&nbsp;", "min", "avg", "max"].map(|head| format!("<th {cell}>{head}</th>"));
        let _ = writeln!(text, "<tr {row}>{}</tr>", heads.join(" "));
        for (name, latencies) in [
            ("Connect:", &result.total.connect),
            ("Processing:", &result.total.service),
            ("Total:", whole(load, result)),
        ] {
            let Moments { min, mean, max, .. } = Moments::of(latencies, count);
            let figures = [min, mean, max].map(|ns| format!("<td {cell}>{:>5.0}</td>", ns / 1e6));
            let _ = writeln!(text, "<tr {row}><th {cell}>{name}</th>{}</tr>", figures.concat());
        }
    }
    text + "</table>\n"
}

/// A text that came from elsewhere.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use stampede_seam::SampleEnd;

    use super::*;
    use crate::sample::{good, none};

    #[test]
    fn requests_are_sorted_and_rounded_as_ab_does() {
        let sample = |begun_ms: u64, connect_ms: u64, wait_us: u64, total_us: u64| RequestSample {
            due_ns: begun_ms * 1_000_000,
            sent_ns: Some((begun_ms + connect_ms) * 1_000_000),
            connect_ns: connect_ms * 1_000_000,
            written_ns: 1000,
            first_byte_ns: Some(wait_us * 1000),
            total_ns: total_us * 1000,
            bytes: 5,
            step: 0,
            status: Some(200),
            end: SampleEnd::Ok,
        };
        let lost = RequestSample { status: None, end: SampleEnd::Unfinished, ..sample(0, 0, 0, 1) };
        let samples = [sample(2500, 3, 1499, 9500), lost, sample(100, 0, 1500, 2499)];
        let local = |seconds: i64| format!("at {seconds}");
        assert_eq!(
            gnuplot(&samples, 1000, &local),
            "starttime\tseconds\tctime\tdtime\tttime\twait\n\
             at 1000\t1000\t0\t2\t2\t2\n\
             at 1002\t1002\t3\t7\t10\t1\n"
        );
    }

    #[test]
    fn each_percent_has_a_line() {
        let load = Load::Closed { connections: 100 };
        let text = percentages(&load, &good());
        let lines: Vec<_> = text.lines().collect();
        assert_eq!((lines.len(), lines[0]), (102, "Percentage served,Time in ms"));
        assert!(lines[1].starts_with("0,10.0") && lines[51].starts_with("50,20.0"), "{text}");
        assert!(lines[101].starts_with("100,30.0"), "{text}");
        assert_eq!(percentages(&load, &none()).lines().count(), 1);
    }

    #[test]
    fn a_table_has_its_attributes_and_no_other_tags() {
        let attributes = Attributes { table: "border=1".into(), row: "R".into(), cell: "C".into() };
        let rows = [("Server Software", "<b>".to_owned()), ("", "1.00 kb/s sent".to_owned())];
        insta::assert_snapshot!("ab_table", table(&attributes, &rows, &Load::Closed { connections: 1 }, &good()));
    }
}
