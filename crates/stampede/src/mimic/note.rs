//! The paragraph below a tool's layout: what that tool would not have told.

use std::time::Duration;

use stampede_core::Load;
use stampede_load::LoadResult;
use stampede_report::tally::{counted, words};

use super::figures::{answered, lost, with_status};
use super::flags::wrapped;

const COLUMNS: usize = 80;
const MOST_LINES: usize = 5;
/// A percentile that fewer requests exceed says more about them than about the server.
const EXCEEDANCES: u64 = 50;

/// As many remarks as fit, the weightiest first; empty or with a line break at its end.
pub(super) fn render(tool: &str, percentiles: &[u64], load: &Load, own: Vec<String>, result: &LoadResult) -> String {
    let weighty = [
        result.saturation.as_ref().map(|saturation| format!("{saturation}: this says too much about the generator.")),
        wrong(result),
        without_end(result),
    ];
    let light = [few(percentiles, result), connecting(load, result), omission(load, result)];
    let remarks = weighty.into_iter().flatten().chain(own).chain(light.into_iter().flatten());
    let mut lines = Vec::new();
    let mut text = format!("What {tool} does not tell:");
    for remark in remarks {
        let longer = format!("{text} {remark}");
        let broken = wrapped(&longer, COLUMNS);
        if broken.len() <= MOST_LINES {
            (text, lines) = (longer, broken);
        }
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

fn wrong(result: &LoadResult) -> Option<String> {
    let wrong = with_status(result, 400..=999);
    let most = result.total.status.range(400..).max_by_key(|(_, count)| **count)?;
    let (status, count) = most;
    let all = answered(result);
    Some(format!("{wrong} of {all} answers were errors ({count} x {status}); the rate and the times above count them."))
}

/// Requests that stand in no time. In a load that ends with its time some are always under way: they are worth a word
/// when they are many.
fn without_end(result: &LoadResult) -> Option<String> {
    let causes: Vec<_> = lost(result).map(|(class, count)| (words(class), count)).collect();
    let failed: u64 = causes.iter().map(|(_, count)| count).sum();
    let unfinished = result.total.requests.unfinished + result.total.unsent;
    let mut said = Vec::new();
    if failed > 0 {
        said.push(format!("{failed} requests failed ({})", counted(causes.into_iter())));
    }
    if unfinished * 100 > result.total.requests.sent {
        said.push(format!("{unfinished} requests had no answer at the end"));
    }
    let least = result
        .total
        .censored
        .least
        .map_or_else(String::new, |least| format!(" Each waited at least {}.", seconds(least)));
    (!said.is_empty()).then(|| format!("{}: no time above holds them.{least}", said.join(", ")))
}

/// Percentiles of the layout that rest on few requests.
fn few(percentiles: &[u64], result: &LoadResult) -> Option<String> {
    let count = result.total.service.count();
    let first = percentiles.iter().find(|percent| count * (100 - **percent) < EXCEEDANCES * 100)?;
    let last = percentiles.last()?;
    let needed = EXCEEDANCES * 100 / (100 - last);
    (count > 0)
        .then(|| format!("Fewer than {EXCEEDANCES} requests lie beyond p{first}; p{last} needs {needed} in all."))
}

/// Connections beyond those that the load began with.
fn connecting(load: &Load, result: &LoadResult) -> Option<String> {
    let (opened, sent) = (result.total.connect.count(), result.total.requests.sent);
    let took = seconds(Duration::from_nanos(result.total.connect.mean_ns() as u64));
    let expected = u64::from(load.connections());
    (opened > expected).then(|| format!("{sent} requests took {opened} connections, opened in {took} each."))
}

/// Coordinated omission (Gil Tene, "How NOT to Measure Latency").
fn omission(load: &Load, result: &LoadResult) -> Option<String> {
    (matches!(load, Load::Closed { .. }) && answered(result) > 0).then(|| {
        "A client that waits sends less to a server that stalls, and no figure shows it: see stampede load --load \
         open:RATE."
            .to_owned()
    })
}

fn seconds(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 1.0 { format!("{:.3} ms", seconds * 1e3) } else { format!("{seconds:.2} s") }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use stampede_load::Saturation;

    use super::super::sample::{bad, good, none};
    use super::*;

    const CLOSED: Load = Load::Closed { connections: 100 };

    #[test]
    fn a_good_result_has_little_to_tell() {
        assert_snapshot!(render("hey", &[50, 99], &CLOSED, Vec::new(), &good()), @r"
        What hey does not tell: A client that waits sends less to a server that stalls,
        and no figure shows it: see stampede load --load open:RATE.
        ");
        let open = "open:5".parse().unwrap();
        assert_eq!(render("hey", &[50, 99], &open, Vec::new(), &good()), "");
    }

    #[test]
    fn a_bad_one_has_its_weightiest_remarks() {
        assert_snapshot!(render("wrk", &[50, 90, 99], &CLOSED, vec!["Its own.".to_owned()], &bad()), @r"
        What wrk does not tell: 330 of 20000 answers were errors (320 x 502); the rate
        and the times above count them. 10 requests failed (7 x refused, 3 x timed out),
        300 requests had no answer at the end: no time above holds them. Each waited at
        least 2.00 s. Its own. A client that waits sends less to a server that stalls,
        and no figure shows it: see stampede load --load open:RATE.
        ");
        assert_snapshot!(render("ab", &[50], &CLOSED, Vec::new(), &none()), @r"
        What ab does not tell: 4 requests failed (4 x refused): no time above holds
        them.
        ");
    }

    #[test]
    fn never_more_than_five_lines_of_80_columns() {
        let mut result = bad();
        let ms = Duration::from_millis(1);
        result.saturation = Some(Saturation::Late { percentile: 99, lateness: 20 * ms, response: 30 * ms });
        (0..200).for_each(|_| result.total.connect.record_ns(1_000_000));
        let own = vec!["A remark that is neither short nor of any use. ".repeat(3); 3];
        let text = render("hey", &[50, 99], &CLOSED, own, &result);
        assert!(text.starts_with("What hey does not tell: the generator began requests late"), "{text}");
        assert!(text.lines().count() <= 5 && text.lines().all(|line| line.len() <= 80), "{text}");
    }

    #[test]
    fn few_requests_and_many_connections_are_told() {
        let mut result = good();
        result.total.service = result.total.connect.clone();
        result.total.connect = result.total.response.clone();
        assert_snapshot!(render("ab", &[50, 66, 99], &CLOSED, Vec::new(), &result), @r"
        What ab does not tell: Fewer than 50 requests lie beyond p66; p99 needs 5000 in
        all. 20000 requests took 20000 connections, opened in 20.010 ms each. A client
        that waits sends less to a server that stalls, and no figure shows it: see
        stampede load --load open:RATE.
        ");
    }
}
