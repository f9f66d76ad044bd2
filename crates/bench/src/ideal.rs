//! The ideal sender: it does nothing but look at the clock until the next due time. How late it is itself is what a machine
//! that is shared, or virtual, takes from any sender.

use std::hint;
use std::time::{Duration, Instant};

/// How late due times were seen, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lateness {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
}

/// Looks out for `rate` due times a second.
pub(crate) fn run(rate: u32, duration: Duration) -> Lateness {
    let count = u64::from(rate) * duration.as_secs();
    let mut late = Vec::with_capacity(usize::try_from(count).unwrap_or_default());
    let begin = Instant::now();
    for number in 0..count {
        let due = begin + Duration::from_nanos(number * 1_000_000_000 / u64::from(rate));
        late.push(loop {
            match Instant::now().checked_duration_since(due) {
                Some(late) => break late,
                None => hint::spin_loop(),
            }
        });
    }
    late.sort_unstable();
    let quantile = |q: f64| {
        let rank = (q * late.len() as f64).ceil() as usize;
        late.get(rank.saturating_sub(1)).map_or(0.0, |late| late.as_nanos() as f64 / 1e3)
    };
    Lateness { p50: quantile(0.50), p99: quantile(0.99), p999: quantile(0.999) }
}

impl Lateness {
    /// A line that [`Lateness::read`] reads.
    pub(crate) fn line(&self) -> String {
        format!("p50 {} p99 {} p999 {}\n", self.p50, self.p99, self.p999)
    }

    pub(crate) fn read(output: &str) -> Option<Self> {
        match output.split_whitespace().collect::<Vec<_>>().as_slice() {
            ["p50", p50, "p99", p99, "p999", p999] => {
                Some(Self { p50: p50.parse().ok()?, p99: p99.parse().ok()?, p999: p999.parse().ok()? })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_done_in_time_and_its_line_is_read() {
        let begin = Instant::now();
        let lateness = run(20_000, Duration::from_secs(1));
        assert!(begin.elapsed() >= Duration::from_micros(999_950));
        assert!(0.0 <= lateness.p50 && lateness.p50 <= lateness.p99 && lateness.p99 <= lateness.p999);
        assert_eq!(Lateness::read(&lateness.line()), Some(lateness));
        assert_eq!(Lateness::read("p50 1"), None);
    }
}
