//! Figures as people read them.

use std::time::Duration;

use stampede_analysis::MetricUnit;

/// A value in the unit that tables show, without the unit: milliseconds, MiB, per cent.
pub(crate) fn in_tables(unit: MetricUnit, value: f64) -> String {
    number(scale(unit) * value)
}

/// The unit that tables show, where a title does not say it.
pub(crate) fn unit_in_tables(unit: MetricUnit) -> Option<&'static str> {
    match unit {
        MetricUnit::PerSecond | MetricUnit::PerCpuSecond | MetricUnit::Count => None,
        MetricUnit::Microseconds => Some("ms"),
        MetricUnit::CpuMicroseconds => Some("us"),
        MetricUnit::Bytes => Some("MiB"),
        MetricUnit::Share => Some("%"),
    }
}

/// A value with the unit that tables show, in a sentence.
pub(crate) fn with_unit(unit: MetricUnit, value: f64) -> String {
    let name = unit_in_tables(unit).map_or_else(String::new, |name| format!(" {name}"));
    in_tables(unit, value) + &name
}

/// What a value as stored is multiplied with for the unit that tables show.
pub(crate) fn scale(unit: MetricUnit) -> f64 {
    match unit {
        MetricUnit::PerSecond | MetricUnit::PerCpuSecond | MetricUnit::CpuMicroseconds | MetricUnit::Count => 1.0,
        MetricUnit::Microseconds => 1e-3,
        MetricUnit::Bytes => 1.0 / f64::from(1 << 20),
        MetricUnit::Share => 100.0,
    }
}

/// A number with three significant digits, or all those before the point: `12,345`, `123`, `12.3`, `0.0123`, `0`.
pub(crate) fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // Rounded to three digits first, so that 9.996 becomes 10.0 and not 10.00.
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    let magnitude = rounded.abs().log10().floor();
    let decimals = (2.0 - magnitude).clamp(0.0, 6.0) as usize;
    let text = format!("{value:.decimals$}");
    match text.split_once('.') {
        Some((whole, fraction)) => format!("{}.{fraction}", grouped(whole)),
        None => grouped(&text),
    }
}

/// A ratio: near 1 and below it with three digits behind the point, since a hundredth matters there.
pub(crate) fn ratio(ratio: f64) -> String {
    if (0.01..2.0).contains(&ratio) { format!("{ratio:.3}") } else { number(ratio) }
}

/// A ratio with the ends of its interval, all with as many digits as the interval makes sense of: `1.9`, `1.8`, `2.0`. An end that is
/// not 1 is not printed as 1.
pub(crate) fn ratio_between(value: f64, low: f64, high: f64) -> [String; 3] {
    const MOST: usize = 4;
    let least = usize::from(value < 10.0);
    let shows = |decimals: &usize| {
        let step = 10_f64.powi(-(*decimals as i32));
        let is_one = |end: f64| (end - 1.0).abs() < step / 2.0;
        step <= (high - low) / 2.0 && !is_one(low) && !is_one(high)
    };
    let decimals = (least..MOST).find(shows).unwrap_or(MOST - 1);
    [value, low, high].map(|value| grouped(&format!("{value:.decimals$}")))
}

/// A number with as many digits behind the point as `beside` has: what a half width is printed with.
pub(crate) fn number_beside(value: f64, beside: f64) -> String {
    let decimals = number(beside).split_once('.').map_or(0, |(_, fraction)| fraction.len());
    grouped(&format!("{value:.decimals$}"))
}

/// A share as a sentence has it: `3 %`, `4.2 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 10.0 && percent.fract().abs() > 0.05 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// A share with all its digits, as a bound is typed: `12.5 %`.
pub(crate) fn exact_percent(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}

/// A time as people say it: `40 seconds`, `4 minutes`, `3 hours`.
pub(crate) fn approximately(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (value, unit) = match seconds {
        ..100.0 => (seconds, "second"),
        ..6_000.0 => (seconds / 60.0, "minute"),
        _ => (seconds / 3_600.0, "hour"),
    };
    let value = value.round().max(1.0);
    format!("{value} {unit}{}", if value == 1.0 { "" } else { "s" })
}

/// A count with a comma between thousands.
pub(crate) fn count(count: u64) -> String {
    grouped(&count.to_string())
}

/// Puts a comma between the thousands of a whole number, with an optional sign and fraction.
fn grouped(number: &str) -> String {
    let (whole, fraction) = number.split_once('.').map_or((number, None), |(whole, fraction)| (whole, Some(fraction)));
    let digits = whole.trim_start_matches('-');
    let mut text = whole[..whole.len() - digits.len()].to_owned();
    for (i, digit) in digits.char_indices() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if let Some(fraction) = fraction {
        text.push('.');
        text.push_str(fraction);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits_or_all_before_the_point() {
        for (value, text) in [
            (0.0, "0"),
            (0.012_34, "0.0123"),
            (0.999_9, "1.00"),
            (5.2138, "5.21"),
            (9.996, "10.0"),
            (12.345, "12.3"),
            (123.45, "123"),
            (999.9, "1,000"),
            (1_234.5, "1,234"),
            (1_234_567.0, "1,234,567"),
            (-1_234.0, "-1,234"),
        ] {
            assert_eq!(number(value), text, "{value}");
        }
    }

    #[test]
    fn ratios_near_one_keep_their_thousandths() {
        for (value, text) in [
            (0.001_234, "0.00123"),
            (0.0846, "0.085"),
            (0.999_6, "1.000"),
            (1.0123, "1.012"),
            (5.2138, "5.21"),
            (1_234.5, "1,234"),
        ] {
            assert_eq!(ratio(value), text);
        }
    }

    #[test]
    fn ratios_have_the_digits_of_their_interval() {
        for (values, texts) in [
            ([1.903, 1.81, 2.04], ["1.9", "1.8", "2.0"]),
            ([5.2, 5.081, 5.333], ["5.2", "5.1", "5.3"]),
            ([1.011, 1.0089, 1.0131], ["1.011", "1.009", "1.013"]),
            ([1.21, 1.02, 1.43], ["1.21", "1.02", "1.43"]),
            ([16.2, 14.1, 18.6], ["16", "14", "19"]),
            ([0.587, 0.51, 0.676], ["0.59", "0.51", "0.68"]),
        ] {
            let [value, low, high] = values;
            assert_eq!(ratio_between(value, low, high), texts, "{values:?}");
        }
    }

    #[test]
    fn a_half_width_has_the_digits_of_its_value() {
        for (value, beside, text) in
            [(80.4, 5_213.0, "80"), (0.4, 12.34, "0.4"), (2.345_6, 5.2, "2.35"), (12_345.6, 50_000.0, "12,346")]
        {
            assert_eq!(number_beside(value, beside), text);
        }
    }

    #[test]
    fn units_are_those_that_tables_show() {
        for (unit, value, text) in [
            (MetricUnit::PerSecond, 5_213.4, "5,213"),
            (MetricUnit::Microseconds, 52_130.0, "52.1"),
            (MetricUnit::Bytes, 44_040_192.0, "42.0"),
            (MetricUnit::Share, 0.0123, "1.23"),
        ] {
            assert_eq!(in_tables(unit, value), text);
        }
    }

    #[test]
    fn shares_are_told_in_per_cent_without_empty_digits() {
        for (share, text) in [(0.03, "3 %"), (0.95, "95 %"), (0.0415, "4.2 %"), (0.1, "10 %"), (1.5, "150 %")] {
            assert_eq!(percent(share), text);
        }
    }
}
