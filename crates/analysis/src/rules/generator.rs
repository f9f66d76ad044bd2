//! Whether the load generator was the limit.

use stampede_core::{Finding, Severity};

use super::{finding, percent};
use crate::metric::ratio;
use crate::record::Record;

/// The finding of a load generator that was itself the limit.
pub(crate) const GENERATOR_BUSY: &str = "generator-busy";

/// Above this share of its cores' time the generator may send late.
const BUSY: f64 = 0.9;

/// The generator had hardly any CPU time left in some trial.
pub(super) fn busy(record: &Record<'_>) -> Option<Finding> {
    let shares = record.measurements().filter_map(|measured| {
        let available = f64::from(measured.generator.threads) * measured.window.as_secs_f64();
        ratio(measured.generator.cpu.as_secs_f64(), available)
    });
    let share = shares.max_by(f64::total_cmp)?;
    (share > BUSY).then(|| {
        finding(
            GENERATOR_BUSY,
            Severity::Warning,
            format!(
                "The load generator used {} of its cores' time: it may have been the limit, not the server.",
                percent(share)
            ),
            [("generator_cpu_share", share)],
            "Lower --cpus so that a core is left for the generator, or measure on a machine with more cores.",
        )
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::rules::tests::found;

    #[test]
    fn a_generator_without_time_left_is_found() {
        let busy = |threads, millis| {
            found(busy, move |trial| {
                let generator = &mut trial.measurement.as_mut().unwrap().generator;
                generator.threads = threads;
                generator.cpu = Duration::from_millis(millis);
            })
        };
        assert_eq!(busy(2, 8_900), None);
        assert_eq!(busy(0, 0), None);
        assert!((busy(1, 4_800).unwrap().evidence["generator_cpu_share"] - 0.96).abs() < 1e-12);
    }
}
