//! One large instance against many small ones: what a case is found to be beside the others of its study.

use stampede_core::{Estimate, Finding, Severity, Verdict, VerdictWord};

use super::{finding, fleet, percent};
use crate::metric::{PER_VCPU_SECOND, ratio};
use crate::record::Record;
use crate::verdict::against;

/// What answers fewer than this share of the other's requests for the same CPU has collapsed: as the published claim is held to
/// (`studies/gcp-markdown.yaml`).
const COLLAPSED: f64 = 0.8;

/// From this part of a difference on, a factor of it is what it comes from.
const MOST_OF_IT: f64 = 0.7;

/// For each case, what is found of it beside that with the fewest requests at once on the same runtime and application. `found` is
/// what each case's own trials say, in the order of the records.
pub(crate) fn beside_others(
    records: &[Record<'_>],
    verdicts: &[Verdict],
    found: &[&[Finding]],
) -> Vec<Option<Finding>> {
    let of = |place: usize| {
        let record = &records[place];
        let at_once = |record: &Record<'_>| fleet::service(record).map(|service| service.concurrency);
        let own = at_once(record)?;
        let small = (0..records.len())
            .filter(|other| is_same(record, &records[*other]))
            .filter_map(|other| Some((at_once(&records[other])?, other)))
            .min()
            .filter(|(at_once, _)| *at_once < own);
        let (fewest, other) = small?;
        let Verdict { ratio, verdict: word, .. } =
            against(verdicts, PER_VCPU_SECOND, &record.case.id, &records[other].case.id)?;
        let rivals = Rivals { large: record, small: &records[other], at_once: (own, fewest), ratio, word };
        rivals.finding(found[place], found[other])
    };
    (0..records.len()).map(of).collect()
}

fn is_same(a: &Record<'_>, b: &Record<'_>) -> bool {
    a.case.runtime == b.case.runtime && a.case.app == b.case.app && a.case.id != b.case.id
}

/// A case and the one that it is compared with.
struct Rivals<'a, 'b> {
    large: &'b Record<'a>,
    small: &'b Record<'a>,
    /// Requests that an instance of each is given at once.
    at_once: (u32, u32),
    /// Of answers for a vCPU-second, the large one's over the small one's.
    ratio: Estimate,
    word: VerdictWord,
}

/// What the trials of a case that count come to.
struct Figures {
    /// Right answers for a second of a vCPU that its instances had.
    per_vcpu: f64,
    /// CPU-seconds that were used for a right answer.
    cost: f64,
    /// The share of the CPU that was used.
    used: f64,
}

impl Figures {
    fn of(record: &Record<'_>) -> Option<Self> {
        let cores = record.case.limits.cpus.cores();
        let (mut answers, mut had, mut used, mut between) = (0.0, 0.0, 0.0, 0.0);
        for trial in record.measured() {
            let (measured, scaled) = (trial.measurement.as_ref()?, trial.scale.as_ref()?);
            let resources = measured.resources?;
            let all = cores * scaled.instance_count().mean;
            answers += measured.requests.ok as f64;
            had += all * measured.window.as_secs_f64();
            used += resources.cpu.as_secs_f64();
            between += all * resources.between.as_secs_f64();
        }
        let (per_vcpu, used) = (ratio(answers, had)?, ratio(used, between)?);
        Some(Self { per_vcpu, cost: ratio(used, per_vcpu)?, used })
    }
}

impl Rivals<'_, '_> {
    fn finding(&self, own: &[Finding], others: &[Finding]) -> Option<Finding> {
        let Self { large, small, at_once, ratio, word } = self;
        let Estimate { value, low, high, n } = *ratio;
        let (low, high) = (low?, high?);
        let (of_large, of_small) = (Figures::of(large)?, Figures::of(small)?);
        let (severity, judged) = match word {
            VerdictWord::Slower if high < COLLAPSED => (Severity::Warning, "it collapses"),
            VerdictWord::Slower => (Severity::Info, "it does less; a collapse is not shown"),
            VerdictWord::Faster | VerdictWord::Equivalent => (Severity::Info, "it does not collapse"),
            VerdictWord::Undecided if low > COLLAPSED => {
                (Severity::Info, "it does not collapse; which of the two answers more is undecided")
            }
            VerdictWord::Undecided => (Severity::Info, "whether it collapses is undecided"),
        };
        let why = if *word == VerdictWord::Undecided { String::new() } else { cause(&of_large, &of_small) };
        let only: Vec<&str> = own.iter().map(|finding| finding.id.as_str()).collect();
        let only: Vec<&str> = only.into_iter().filter(|id| !others.iter().any(|other| other.id == *id)).collect();
        let beside = match (*word, only.is_empty()) {
            (VerdictWord::Slower, false) => format!(" Findings of this one alone: {}.", only.join(", ")),
            _ => String::new(),
        };
        let other = &small.case.id;
        Some(finding(
            "large-instance",
            severity,
            format!(
                "With {} requests at once an instance answers {:.1} per vCPU-second, {value:.2} times ({low:.2} to {high:.2}, {n} rounds) the {:.1} of {other} with {}: {judged}.{why}{beside}",
                at_once.0, of_large.per_vcpu, of_small.per_vcpu, at_once.1
            ),
            [
                ("per_vcpu_second", of_large.per_vcpu),
                ("per_vcpu_second_of_other", of_small.per_vcpu),
                ("ratio", value),
                ("ratio_low", low),
                ("ratio_high", high),
                ("cpu_ms_per_answer", of_large.cost * 1e3),
                ("cpu_ms_per_answer_of_other", of_small.cost * 1e3),
                ("cpu_used_share", of_large.used),
                ("cpu_used_share_of_other", of_small.used),
            ],
            match word {
                VerdictWord::Slower => {
                    "Lower --concurrency and raise --max-instances; the bill says what each answer costs."
                }
                VerdictWord::Faster => "Fewer, larger instances do more with the same CPU here.",
                VerdictWord::Equivalent => "Choose by cold starts and by the bill.",
                VerdictWord::Undecided => "Ask for more --rounds.",
            }
            .to_owned(),
        ))
    }
}

/// Answers for a vCPU-second are the share of the CPU that was used, over what an answer costs: which of the two the difference
/// comes from.
fn cause(large: &Figures, small: &Figures) -> String {
    let (cost, used) = ((small.cost / large.cost).ln(), (large.used / small.used).ln());
    let figures = format!(
        "{:.2} ms of CPU per answer against {:.2} ms, and {} of the CPU used against {}",
        large.cost * 1e3,
        small.cost * 1e3,
        percent(large.used),
        percent(small.used)
    );
    let whole = cost + used;
    let of_it = |part: f64| part / whole;
    let from = if whole == 0.0 || !whole.is_finite() {
        return format!(" {figures}.");
    } else if of_it(cost) >= MOST_OF_IT {
        "what an answer costs"
    } else if of_it(used) >= MOST_OF_IT {
        "how much of its CPU is used"
    } else {
        "both what an answer costs and how much of its CPU is used"
    };
    format!(" The difference is in {from}: {figures}.")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::{Role, RuntimeId, Study, StudyKind, Trial, Tunable, TunableKind};

    use super::*;
    use crate::analysis::analyse;
    use crate::samples;

    /// A large instance, which answers so many requests a second and uses so much of its 0.5 CPU, against two of 0.5 CPU
    /// that answer 200 each and use 80 % of it.
    fn of_large(rates: [f64; 3], used: f64) -> Vec<Finding> {
        let mut study = Study {
            kind: StudyKind::Scale,
            metric: Some(PER_VCPU_SECOND.to_owned()),
            ..samples::study(&["large", "small"])
        };
        study.cases.iter_mut().for_each(|case| case.runtime = RuntimeId::new("apache-mod-php"));
        let kind = TunableKind::Count { min: 1, max: 1000 };
        let tunable = Tunable { name: "MaxRequestWorkers", role: Role::PoolSize, kind, summary: "", manual: "" };
        study.cases[0].tuning.give("MaxRequestWorkers", "60");
        study.cases[0].tuning = study.cases[0].tuning.clone().with_roles(&[tunable]);
        let with_cpu = |mut trial: Trial, cpu: f64| {
            let resources = trial.measurement.as_mut().and_then(|measured| measured.resources.as_mut()).unwrap();
            resources.cpu = Duration::from_secs_f64(cpu);
            trial
        };
        let trials: Vec<Trial> = (1..)
            .zip(rates)
            .flat_map(|(block, rate)| {
                let noise = 1.0 + f64::from(block) / 500.0;
                [
                    with_cpu(samples::scaled("large", block, rate, 80, 1), used * 2.5),
                    with_cpu(samples::scaled("small", block, 400.0 * noise, 1, 2), 0.8 * 5.0),
                ]
            })
            .collect();
        let analysis = analyse(&study, &trials);
        assert!(analysis.case(&study.cases[1].id).unwrap().findings.iter().all(|found| found.id != "large-instance"));
        analysis.case(&study.cases[0].id).unwrap().findings.clone()
    }

    fn text(findings: &[Finding]) -> (Severity, &str) {
        let finding = findings.iter().find(|finding| finding.id == "large-instance").unwrap();
        (finding.severity, &finding.text)
    }

    #[test]
    fn a_collapse_is_told_with_the_factor_that_it_comes_from() {
        // The small ones answer 400 a second with 1 CPU.
        let findings = of_large([80.0, 81.0, 79.0], 1.0);
        let (severity, text) = text(&findings);
        assert_eq!(severity, Severity::Warning);
        for part in [
            "With 80 requests at once an instance answers 160.0 per vCPU-second, 0.40 times (0.3",
            "3 rounds) the 401.6 of small with 1: it collapses.",
            "in what an answer costs: 6.25 ms of CPU per answer against 1.99 ms, and 100 % of the CPU used against 80 %.",
            "Findings of this one alone: pool-below-concurrency.",
        ] {
            assert!(text.contains(part), "{part:?} is not in {text}");
        }
    }

    #[test]
    fn what_is_no_collapse_is_told_as_well() {
        for (name, rates, used, severity, part) in [
            ("idle", [80.0, 81.0, 79.0], 0.32, Severity::Warning, "in how much of its CPU is used"),
            ("both", [80.0, 81.0, 79.0], 0.5, Severity::Warning, "in both what an answer costs and how much"),
            ("a little less", [180.0, 182.0, 179.0], 0.8, Severity::Info, "it does less; a collapse is not shown"),
            ("more", [300.0, 301.0, 299.0], 0.8, Severity::Info, "it does not collapse. The difference is in what"),
            (
                "neither",
                [195.0, 215.0, 203.0],
                0.8,
                Severity::Info,
                "it does not collapse; which of the two answers more",
            ),
            ("who knows", [80.0, 300.0, 200.0], 0.8, Severity::Info, "whether it collapses is undecided."),
        ] {
            let findings = of_large(rates, used);
            let (found, text) = text(&findings);
            assert!(found == severity && text.contains(part), "{name}: {found:?} {text}");
        }
    }
}
