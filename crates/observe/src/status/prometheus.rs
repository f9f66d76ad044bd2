//! Prometheus' text format: a line a series, `name{labels} value`, and comments.
//! <https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format>

use stampede_core::{Gauge, PrometheusMetric};

pub(super) fn decode(text: &str, metrics: &[PrometheusMetric]) -> Vec<(Gauge, u64)> {
    metrics.iter().filter_map(|metric| Some((metric.gauge, sum(text, &metric.name)?))).collect()
}

/// The sum over all series of a metric.
fn sum(text: &str, name: &str) -> Option<u64> {
    let values = text.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let value = match rest.strip_prefix('{') {
            // A label's value may hold any character, a closing brace too; what follows the last one is the value.
            Some(labels) => labels.rsplit_once('}')?.1,
            None => rest.strip_prefix([' ', '\t'])?,
        };
        value.split_whitespace().next()?.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0)
    });
    values.map(|value| value.round() as u64).reduce(|sum, value| sum + value)
}
