//! Processors that others took.

use stampede_core::{Finding, Gauge, Measurement, SeriesSource, Severity};

use super::{finding, percent};
use crate::Analysis;
use crate::record::Record;

/// From this share of the machine's CPU time on, others were not just the kernel and this program at work for the trial.
const NOTABLE: f64 = 0.1;

/// The finding, and the names of its evidence that [`taken_by_others`] reads.
const ID: &str = "noisy-neighbour";
const OTHERS: &str = "others_share";
const STOLEN: &str = "stolen_share";

/// The name of the evidence that `deprives` reads.
const UNUSED: &str = "unused_quota_cpus";

/// Whether others can have kept a case from what it may use: the machine had less left than the case left of its limit.
pub(super) fn deprives(finding: &Finding) -> bool {
    let of = |name: &str| finding.evidence.get(name);
    of(UNUSED).zip(of(IDLE)).is_some_and(|(unused, idle)| idle < unused)
}

/// The name of the evidence of processors that had nothing to do.
const IDLE: &str = "idle_cpus";

/// Who had the machine's processors while a case was measured, in processors.
pub(super) struct Occupancy {
    /// Had nothing to do, or only what gives way to all else.
    pub(super) idle: f64,
    /// Programs beside the servers and the generator.
    others: f64,
    /// Guests of the same host.
    stolen: f64,
}

impl Occupancy {
    /// Over all windows together; none if no kernel reported it.
    pub(super) fn of(record: &Record<'_>) -> Option<Self> {
        let processors = f64::from(record.study.machine.cpus);
        let (mut span, mut idle, mut others, mut stolen) = (0.0, 0.0, 0.0, 0.0);
        for measured in record.measurements() {
            let Some((of_window, without_work, by_host)) = told(measured) else { continue };
            let Some(resources) = &measured.resources else { continue };
            let share =
                |time: std::time::Duration, of: std::time::Duration| time.as_secs_f64() / of.as_secs_f64().max(1e-9);
            let own = share(resources.cpu, resources.between) + share(measured.generator.cpu, measured.window);
            let sampler = measured.sampling.as_ref().map_or(0.0, |sampling| sampling.cpu.as_secs_f64());
            span += of_window;
            idle += without_work;
            stolen += by_host;
            others += (processors * of_window - without_work - by_host - own * of_window - sampler).max(0.0);
        }
        (span > 0.0).then(|| Self { idle: idle / span, others: others / span, stolen: stolen / span })
    }
}

/// Seconds between the first sample of the machine and the last, and the seconds of processors without work and of those that
/// were stolen between them.
fn told(measured: &Measurement) -> Option<(f64, f64, f64)> {
    let sampling = measured.sampling.as_ref()?;
    let machine = sampling.series.iter().find(|series| series.source == SeriesSource::Machine)?;
    let span = machine.at_us.last()?.checked_sub(*machine.at_us.first()?)?;
    let grown = |gauge| machine.growth(gauge).map(|us| us as f64 / 1e6);
    Some((span as f64 / 1e6, grown(Gauge::IdleUs)?, grown(Gauge::StolenUs)?)).filter(|(span, ..)| *span > 0.0)
}

/// Others had a good part of the machine.
pub(super) fn noisy(record: &Record<'_>) -> Option<Finding> {
    let Occupancy { idle, others, stolen } = Occupancy::of(record)?;
    let processors = f64::from(record.study.machine.cpus);
    let [others_share, stolen_share] = [others, stolen].map(|taken| taken / processors);
    if others_share + stolen_share < NOTABLE {
        return None;
    }
    let who = match (others_share >= NOTABLE / 2.0, stolen_share >= NOTABLE / 2.0) {
        (true, true) => format!(
            "Other programs used {} of this machine's CPU time, and other virtual machines of its host {}",
            percent(others_share),
            percent(stolen_share)
        ),
        (false, true) => {
            format!("Other virtual machines of its host used {} of this machine's CPU time", percent(stolen_share))
        }
        _ => format!("Other programs used {} of this machine's CPU time", percent(others_share)),
    };
    let unused = super::cpu_used(record).map(|used| (1.0 - used) * record.case.limits.cpus.cores());
    Some(finding(
        ID,
        Severity::Warning,
        format!("{who} during the measurement; {} was idle.", percent(idle / processors)),
        [(OTHERS, others_share), (STOLEN, stolen_share), ("idle_share", idle / processors), (IDLE, idle)]
            .into_iter()
            .chain(unused.map(|unused| (UNUSED, unused))),
        "End other programs, or measure on a dedicated machine; until then compare requests per CPU-second.",
    ))
}

/// The share of the machine's CPU time that other programs and other guests took, of the case that they took most from; nothing
/// where it was not notable.
pub fn taken_by_others(analysis: &Analysis) -> Option<f64> {
    let findings = analysis.cases.iter().flat_map(|case| &case.findings).filter(|finding| finding.id == ID);
    let shares = findings.filter_map(|finding| Some(finding.evidence.get(OTHERS)? + finding.evidence.get(STOLEN)?));
    shares.reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::{Sampling, Series, Trial};

    use super::*;
    use crate::rules::tests::found;

    /// A machine of two processors that had nothing to do and were stolen for so many milliseconds of a second; servers and
    /// generator used 0.4 of each second.
    fn changed(idle: u64, stolen: u64) -> impl Fn(&mut Trial) {
        move |trial| {
            let measured = trial.measurement.as_mut().unwrap();
            let mut machine = Series::new(SeriesSource::Machine);
            machine.push(Duration::ZERO, &[(Gauge::IdleUs, 7), (Gauge::StolenUs, 9)]);
            let after = [(Gauge::IdleUs, 7 + idle * 1_000), (Gauge::StolenUs, 9 + stolen * 1_000)];
            machine.push(Duration::from_secs(1), &after);
            measured.sampling = Some(Sampling { series: vec![machine], ..Sampling::default() });
            measured.window = Duration::from_secs(10);
            measured.generator.cpu = Duration::from_secs(1);
            let resources = measured.resources.as_mut().unwrap();
            (resources.cpu, resources.between) = (Duration::from_secs(3), Duration::from_secs(10));
        }
    }

    #[test]
    fn time_that_others_took_is_told_with_who_they_were() {
        for (idle, stolen, text) in [
            (1_600, 0, None),
            (1_450, 0, None),
            (
                1_200,
                0,
                Some("Other programs used 20 % of this machine's CPU time during the measurement; 60 % was idle."),
            ),
            (1_200, 400, Some("Other virtual machines of its host used 20 % of this machine's CPU time during")),
            (
                800,
                300,
                Some(
                    "Other programs used 25 % of this machine's CPU time, and other virtual machines of its host 15 % during",
                ),
            ),
        ] {
            let finding = found(noisy, changed(idle, stolen));
            assert_eq!(finding.is_some(), text.is_some(), "{idle}, {stolen}: {finding:?}");
            assert!(finding.is_none_or(|finding| finding.text.starts_with(text.unwrap())), "{idle}, {stolen}");
        }
    }

    #[test]
    fn without_a_kernel_that_tells_nothing_is_found() {
        assert_eq!(found(noisy, |_| ()), None);
    }
}
