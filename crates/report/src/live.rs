//! A study while it is measured, as a few lines of a terminal that are drawn over: where it is, the course of the load, and the
//! time left.

use std::time::Duration;

use crate::quantity::{count, number};

/// Heights of a sparkline, the least first.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// A sparkline that is narrower shows nothing.
const LEAST_SPARKLINE: usize = 8;
/// What a figure is called has so many columns.
const NAME: usize = 11;

/// What there is to be drawn.
#[derive(Clone, Copy, Debug)]
pub struct LiveView<'a> {
    /// What is measured: `[ 7/24] round 3/6  nginx-fpm`.
    pub place: &'a str,
    /// What is done with it: `warm up`.
    pub phase: &'a str,
    /// Time until the window closes, while load is driven.
    pub window_left: Option<Duration>,
    /// Time until the study is over, and whether it may be over before.
    pub left: Option<(Duration, bool)>,
    /// The load so far, the newest last.
    pub course: &'a [LiveMoment],
    /// How many processors the deployment may use, where that is known.
    pub allowed: Option<f64>,
    /// Requests that failed so far.
    pub failed: u64,
    /// Whether it was asked to end with the present round.
    pub is_stopping: bool,
}

/// What a load came to between two looks at it.
#[derive(Clone, Copy, Debug)]
pub struct LiveMoment {
    /// Right answers a second.
    pub rate: f64,
    /// The time that 99 of 100 requests took at most, roughly.
    pub p99: Option<Duration>,
    /// How many processors the deployment used.
    pub cpus: Option<f64>,
    /// Connections that waited to be accepted.
    pub queue: Option<u64>,
}

/// The lines, none of which has more columns than `width`.
pub fn frame(view: &LiveView<'_>, width: usize) -> Vec<String> {
    let LiveView { place, phase, window_left, left, course, allowed, failed, is_stopping } = *view;
    let window = window_left.map(|left| format!(", {}", time(left))).unwrap_or_default();
    let head = format!("{} {phase}{window}", place.trim_end());
    let left = left.map(|(left, at_most)| format!("{}{} left", if at_most { "at most " } else { "" }, time(left)));
    let mut lines = match left {
        Some(left) if head.chars().count() + 2 + left.chars().count() <= width => {
            let blank = width - head.chars().count() - left.chars().count();
            vec![format!("{head}{}{left}", " ".repeat(blank))]
        }
        Some(left) => vec![head, left],
        None => vec![head],
    };
    if let Some(now) = course.last() {
        lines.extend(figures(now, course, allowed, width));
    }
    if failed > 0 {
        lines.push(format!("{:<NAME$}{} requests", "failed", count(failed)));
    }
    if is_stopping {
        lines.push("Ctrl-C: ends with this round; again: at once".to_owned());
    }
    lines.iter().map(|line| cut(line, width)).collect()
}

/// A row for each figure that there is: what it is, and its course.
fn figures(now: &LiveMoment, course: &[LiveMoment], allowed: Option<f64>, width: usize) -> Vec<String> {
    type Reader = fn(&LiveMoment) -> Option<f64>;
    let of_allowed = allowed.map(|allowed| format!(" of {allowed:.2}")).unwrap_or_default();
    let rows: [(&str, Option<String>, Reader, Option<f64>); 4] = [
        ("throughput", Some(format!("{} req/s", number(now.rate))), |moment| Some(moment.rate), None),
        (
            "p99",
            now.p99.map(|p99| format!("~{} ms", roughly(p99.as_secs_f64() * 1e3))),
            |moment| moment.p99.map(|p99| p99.as_secs_f64()),
            None,
        ),
        ("CPU", now.cpus.map(|cpus| format!("{cpus:.2}{of_allowed}")), |moment| moment.cpus, allowed),
        ("queue", now.queue.map(count), |moment| moment.queue.map(|queue| queue as f64), None),
    ];
    // A figure that is missing for a moment keeps its row.
    let rows = rows.into_iter().filter_map(|(name, text, reader, most)| {
        let values: Vec<Option<f64>> = course.iter().map(reader).collect();
        let is_known = values.iter().any(Option::is_some);
        is_known.then(|| (name, text.unwrap_or_else(|| "n/a".to_owned()), values, most))
    });
    let rows: Vec<_> = rows.collect();
    let of_values = rows.iter().map(|(_, text, ..)| text.chars().count()).max().unwrap_or_default();
    let room = width.saturating_sub(NAME + of_values + 2);
    let row = |(name, text, values, most): &(&str, String, Vec<Option<f64>>, Option<f64>)| {
        let course = if room < LEAST_SPARKLINE { String::new() } else { sparkline(values, *most, room) };
        format!("{name:<NAME$}{text:>of_values$}  {course}").trim_end().to_owned()
    };
    rows.iter().map(row).collect()
}

/// The newest values as heights from nothing to `most`, or to the largest of them; a blank where there is none.
fn sparkline(values: &[Option<f64>], most: Option<f64>, width: usize) -> String {
    let shown = &values[values.len().saturating_sub(width)..];
    let largest = shown.iter().flatten().copied().fold(most.unwrap_or_default(), f64::max);
    let bar = |value: f64| {
        let height = if largest > 0.0 { value / largest * (BARS.len() - 1) as f64 } else { 0.0 };
        BARS[(height.round().max(0.0) as usize).min(BARS.len() - 1)]
    };
    shown.iter().map(|value| value.map_or(' ', bar)).collect()
}

/// Two digits: more would be noise.
fn roughly(value: f64) -> String {
    let text = number(format!("{value:.1e}").parse().unwrap_or(value));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn cut(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    line.chars().take(width.saturating_sub(1)).chain((width > 0).then_some('…')).collect()
}

/// `40 s`, `4m05s`, `2h10m`.
fn time(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3_600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(rate: f64, ms: u64, cpus: f64, queue: u64) -> LiveMoment {
        LiveMoment { rate, p99: Some(Duration::from_millis(ms)), cpus: Some(cpus), queue: Some(queue) }
    }

    fn drawn(view: &LiveView<'_>, width: usize) -> String {
        let lines = frame(view, width);
        for line in &lines {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        lines.join("\n")
    }

    #[test]
    fn a_study_that_is_measured_is_drawn_at_any_width() {
        let course: Vec<LiveMoment> = (0..100_u32)
            .map(|i| moment(f64::from(i % 10) * 150.0, 3 + u64::from(i), f64::from(i % 5) / 8.0, u64::from(i % 3)))
            .collect();
        let view = LiveView {
            place: "[ 7/24] round 3/6  nginx-fpm      ",
            phase: "measure",
            window_left: Some(Duration::from_millis(3_400)),
            left: Some((Duration::from_secs(250), true)),
            course: &course,
            allowed: Some(0.5),
            failed: 12,
            is_stopping: true,
        };
        assert_eq!(
            drawn(&view, 80),
            "\
[ 7/24] round 3/6  nginx-fpm measure, 3 s                     at most 4m10s left
throughput  1,350 req/s  ▅▆▆▇█▁▂▃▃▄▅▆▆▇█▁▂▃▃▄▅▆▆▇█▁▂▃▃▄▅▆▆▇█▁▂▃▃▄▅▆▆▇█▁▂▃▃▄▅▆▆▇█
p99             ~100 ms  ▄▄▄▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▇▇▇▇▇▇▇▇▇▇▇▇▇▇████████
CPU        0.50 of 0.50  ▁▃▅▆█▁▃▅▆█▁▃▅▆█▁▃▅▆█▁▃▅▆█▁▃▅▆█▁▃▅▆█▁▃▅▆█▁▃▅▆█▁▃▅▆█▁▃▅▆█
queue                 0  ▁▅█▁▅█▁▅█▁▅█▁▅█▁▅█▁▅█▁▅█▁▅█▁▅█▁▅█▁▅█▁▅█▁▅█▁▅█▁▅█▁▅█▁▅█▁
failed     12 requests
Ctrl-C: ends with this round; again: at once"
        );
        assert_eq!(drawn(&view, 40).lines().count(), 8);
        for width in 0..40 {
            drawn(&view, width);
        }
    }

    #[test]
    fn what_is_not_known_has_no_row() {
        let bare = LiveView {
            place: "pilot go",
            phase: "launch",
            window_left: None,
            left: None,
            course: &[],
            allowed: None,
            failed: 0,
            is_stopping: false,
        };
        assert_eq!(drawn(&bare, 80), "pilot go launch");
        let course = [LiveMoment { rate: 0.0, p99: None, cpus: None, queue: None }];
        assert_eq!(drawn(&LiveView { course: &course, ..bare }, 80), "pilot go launch\nthroughput 0 req/s  ▁");
    }

    #[test]
    fn heights_go_from_nothing_to_the_most() {
        let values = [Some(0.0), Some(5.0), None, Some(10.0)];
        for (name, most, width, expected) in [
            ("all", None, 80, "▁▅ █"),
            ("the newest", None, 2, " █"),
            ("under a limit", Some(20.0), 80, "▁▃ ▅"),
            ("above it", Some(5.0), 80, "▁▅ █"),
        ] {
            assert_eq!(sparkline(&values, most, width), expected, "{name}");
        }
        assert_eq!(sparkline(&[Some(0.0)], None, 8), "▁");
    }

    #[test]
    fn times_and_rough_figures_are_short() {
        for (seconds, expected) in [(0, "0 s"), (59, "59 s"), (60, "1m00s"), (3_725, "1h02m")] {
            assert_eq!(time(Duration::from_secs(seconds)), expected);
        }
        for (value, expected) in [(0.0123, "0.012"), (1.26, "1.3"), (12.3, "12"), (123.4, "120"), (1_234.0, "1,200")] {
            assert_eq!(roughly(value), expected);
        }
    }
}
