//! What became of an autoscaled service's instances, and of requests that found none.

use std::time::Duration;

use stampede_core::{Finding, InstanceLife, Limit, Outcome, Role, ScaleRecord, ScaledService, Severity, Trial};
use stampede_stats::median;

use super::{finding, percent};
use crate::metric::ratio;
use crate::record::Record;

/// Below this share, requests that were turned away or waited for a start are not worth a word: they are not in the p99.
const NOTABLE: f64 = 0.01;

/// Requests that waited for this part of a start or longer have it in their response time.
const OF_A_START: f64 = 0.5;

/// Pods are compared that were ready for this part of the window at least: the cluster measures them every 10 or 15 s.
const READY_FOR: f64 = 0.3;

/// A pod that uses less than this part of what another one uses is worth a word.
const UNEVEN: f64 = 0.5;

/// A trial with what its instances did.
fn scaled<'a>(record: &Record<'a>) -> impl Iterator<Item = (&'a Trial, &'a ScaleRecord)> {
    record.trials.iter().filter_map(|trial| Some((*trial, trial.scale.as_ref()?)))
}

pub(super) fn service<'a>(record: &Record<'a>) -> Option<&'a ScaledService> {
    scaled(record).next().map(|(_, scaled)| &scaled.service)
}

/// Requests that were begun in a trial's window.
fn sent(trial: &Trial) -> u64 {
    trial.measurement.as_ref().map_or(0, |measured| measured.requests.sent)
}

/// Requests were rejected since no instance was free.
pub(super) fn turned_away(record: &Record<'_>) -> Option<Finding> {
    let service = service(record)?;
    let (mut rejected, mut all, mut reached, mut full) = (0, 0, true, false);
    for (trial, scaled) in scaled(record) {
        rejected += scaled.rejected;
        all += sent(trial);
        if scaled.rejected > 0 {
            reached &= scaled.instance_count().max >= service.max_instances;
            // Who waited as long as one may was turned away for that; where nobody did, the queue was full.
            let waited = scaled.waits.max().as_secs_f64() >= 0.99 * scaled.service.queue_wait.as_secs_f64();
            full |= !waited && matches!(scaled.service.queue_length, Limit::AtMost(_));
        }
    }
    let share = ratio(rejected as f64, all as f64).filter(|_| rejected > 0)?;
    let most = service.max_instances;
    let why = match (full, reached) {
        (true, _) => "the queue was full".to_owned(),
        (false, true) => format!(
            "all {most} instances, the most allowed, were busy with {} requests each, and none was free within {:.1?}",
            service.concurrency, service.queue_wait
        ),
        (false, false) => format!("no instance was ready within {:.1?}", service.queue_wait),
    };
    let advice = if reached {
        "Raise --max-instances; or --concurrency, if an instance has CPU and workers left for more at once."
    } else {
        "Keep instances ready (--min-instances), or let requests wait longer (--queue-limit); with more CPU a start is shorter."
    };
    Some(finding(
        "turned-away",
        if share < NOTABLE { Severity::Info } else { Severity::Warning },
        format!("{rejected} requests ({}) were rejected: {why}.", percent(share)),
        [
            ("rejected", rejected as f64),
            ("rejected_share", share),
            ("max_instances", f64::from(most)),
            ("queue_limit_s", service.queue_wait.as_secs_f64()),
        ],
        advice.to_owned(),
    ))
}

/// Instances that had served ended by themselves.
pub(super) fn lost(record: &Record<'_>) -> Option<Finding> {
    let of_all = || scaled(record).flat_map(|(_, scaled)| scaled.lost()).filter(|life| life.ready.is_some());
    let last = of_all().last()?.lost.as_deref().unwrap_or_default();
    let count = of_all().count();
    let broken: u64 = scaled(record).map(|(_, scaled)| scaled.gateway.broken).sum();
    let with_them = match broken {
        // Nobody counts them before a cluster's pods.
        _ if scaled(record).any(|(_, scaled)| scaled.is_of_cluster()) => String::new(),
        0 => ", no request was with them".to_owned(),
        1 => ", 1 request with them".to_owned(),
        many => format!(", {many} requests with them"),
    };
    Some(finding(
        "instances-lost",
        Severity::Error,
        format!(
            "{} ended by themselves after they had served{with_them}; the last {}.",
            instances(count),
            Outcome::problem(last).trim_end_matches('.')
        ),
        [("lost", count as f64), ("broken_requests", broken as f64)],
        "Read why in the last lines of its log. If memory was the reason, raise --memory or lower --concurrency.",
    ))
}

/// Instances never came up.
pub(super) fn never_ready(record: &Record<'_>) -> Option<Finding> {
    let of_all = || {
        let lives = scaled(record).flat_map(|(_, scaled)| &scaled.lives);
        lives.filter(|life| life.lost.is_some() && life.ready.is_none())
    };
    let last = of_all().last()?.lost.as_deref().unwrap_or_default();
    let count = of_all().count();
    Some(finding(
        "instances-never-ready",
        Severity::Error,
        format!("{} never came up; the last {}.", instances(count), Outcome::problem(last).trim_end_matches('.')),
        [("never_ready", count as f64)],
        "Give a start more time (--ready-timeout), or more --cpus and --memory; if it crashes, its log says why.",
    ))
}

/// A cluster's service gives some pods much and others little.
pub(super) fn unevenly_loaded(record: &Record<'_>) -> Option<Finding> {
    let mut most_uneven: Option<(f64, f64, usize)> = None;
    for (_, scaled) in scaled(record).filter(|(_, scaled)| scaled.is_of_cluster()) {
        let ScaleRecord { opens, closes, .. } = scaled;
        let late = *closes - closes.saturating_sub(*opens).mul_f64(READY_FOR);
        let there = scaled.lives.iter().filter(|life| life.ended.is_none_or(|ended| ended >= *closes));
        let early = there.filter(|life| life.start().is_some_and(|start| life.ordered + start <= late));
        let used: Vec<f64> = early.filter_map(|life| life.cpu_millis).map(|millis| f64::from(millis) / 1e3).collect();
        let (least, most) =
            used.iter().fold((f64::MAX, 0.0_f64), |(least, most), cpus| (least.min(*cpus), most.max(*cpus)));
        let is_worse =
            most_uneven.is_none_or(|(least_before, most_before, _)| least / most < least_before / most_before);
        if used.len() > 1 && least < UNEVEN * most && is_worse {
            most_uneven = Some((least, most, used.len()));
        }
    }
    let (least, most, count) = most_uneven?;
    Some(finding(
        "pods-unevenly-loaded",
        Severity::Warning,
        format!(
            "Of {count} pods the busiest used {most:.2} CPU and the idlest {least:.2}: a service gives pods connections and not requests, \
             and a connection that is open stays with its pod."
        ),
        [("busiest_cpus", most), ("idlest_cpus", least), ("pods", count as f64)],
        "Let clients open new connections now and then, or have requests balanced: by an ingress, a mesh, or a client with a \
         headless service.",
    ))
}

/// What an instance is given at once is more than its workers take.
pub(super) fn too_few_workers(record: &Record<'_>) -> Option<Finding> {
    let given = service(record)?.concurrency;
    let pools = record.case.tuning.of_role(Role::PoolSize);
    let (name, workers) = pools
        .filter_map(|(name, value)| Some((name, value.parse::<u32>().ok()?)))
        // The process that keeps them may serve too, as that of PHP's own server does.
        .find(|(_, workers)| *workers + 1 < given)?;
    let runtime = &record.case.runtime;
    Some(finding(
        "pool-below-concurrency",
        Severity::Warning,
        format!(
            "An instance is given {given} requests at once, and its {name} is {workers}: {} of them wait inside it, where no other instance can take them.",
            given - workers
        ),
        [("workers", f64::from(workers)), ("concurrency", f64::from(given))],
        format!("Lower --concurrency to {workers}, or raise {runtime}.{name} (--set), and --memory to match."),
    ))
}

/// Cold starts are in the latencies that 1 of 100 requests has.
pub(super) fn cold_starts(record: &Record<'_>) -> Option<Finding> {
    let (mut slow, mut all, mut starting, mut window) = (0, 0, Duration::ZERO, Duration::ZERO);
    let mut times = Vec::new();
    for (trial, scaled) in scaled(record) {
        let of_trial: Vec<f64> =
            scaled.cold_starts().filter_map(InstanceLife::start).map(|start| start.as_secs_f64()).collect();
        all += sent(trial);
        window += scaled.closes.saturating_sub(scaled.opens);
        starting += time_of_starts(scaled);
        let Some(start) = median(&of_trial) else { continue };
        slow += scaled.waits.count() - scaled.waits.up_to(Duration::from_secs_f64(start * OF_A_START));
        times.extend(of_trial);
    }
    let share = ratio(slow as f64, all as f64).filter(|share| *share >= NOTABLE)?;
    let starting = ratio(starting.as_secs_f64(), window.as_secs_f64())?;
    let start = median(&times)?;
    // Who waits while nothing starts waits for instances that are busy.
    if share > 2.0 * starting {
        return None;
    }
    Some(finding(
        "cold-starts",
        Severity::Warning,
        format!(
            "{} of the requests waited {:.0} ms or longer for an instance that was starting: a cold start, of {:.0} ms \
             here, is in the p99. {} were started.",
            percent(share),
            start * OF_A_START * 1e3,
            start * 1e3,
            instances(times.len())
        ),
        [
            ("waited_share", share),
            ("starting_share", starting),
            ("cold_starts", times.len() as f64),
            ("start_p50_ms", start * 1e3),
        ],
        "Keep instances ready (--min-instances); --warm-up keeps the first starts out of the window.",
    ))
}

/// For how much of the window some instance was starting.
fn time_of_starts(scaled: &ScaleRecord) -> Duration {
    let inside = |time: Duration| time.clamp(scaled.opens, scaled.closes);
    let mut spans: Vec<(Duration, Duration)> = scaled
        .cold_starts()
        .filter_map(|life| Some((inside(life.ordered), inside(life.ordered + life.start()?))))
        .collect();
    spans.sort();
    let (mut covered, mut until) = (Duration::ZERO, Duration::ZERO);
    for (from, to) in spans {
        covered += to.saturating_sub(from.max(until));
        until = until.max(to);
    }
    covered
}

fn instances(count: usize) -> String {
    if count == 1 { "1 instance".to_owned() } else { format!("{count} instances") }
}

#[cfg(test)]
mod tests {
    use stampede_core::{ScaleDecision, Tunable, TunableKind};

    use super::*;
    use crate::samples;

    /// What a rule finds in two trials of two instances with 3 requests at once each, that were changed in this way.
    fn found(rule: fn(&Record<'_>) -> Option<Finding>, change: impl Fn(&mut ScaleRecord)) -> Option<Finding> {
        let study = samples::study(&["a"]);
        let mut trials: Vec<_> = (1..=2).map(|block| samples::scaled("a", block, 200.0, 3, 2)).collect();
        trials.iter_mut().filter_map(|trial| trial.scale.as_mut()).for_each(change);
        rule(&Record::new(&study, &study.cases[0], &trials))
    }

    fn waited(scaled: &mut ScaleRecord, requests: u64, each: Duration) {
        (0..requests).for_each(|_| scaled.waits.record_ns(each.as_nanos() as u64));
    }

    #[test]
    fn nothing_is_found_where_every_request_found_an_instance() {
        for rule in [turned_away, lost, never_ready, unevenly_loaded, too_few_workers, cold_starts] {
            assert_eq!(found(rule, |_| ()), None);
        }
    }

    #[test]
    fn requests_that_were_turned_away_are_told_with_the_reason() {
        let (second, ten) = (Duration::from_secs(1), Duration::from_secs(10));
        for (name, wait, length, instances, told, advised) in [
            (
                "all at work",
                ten,
                Limit::Unlimited,
                2,
                "all 2 instances, the most allowed, were busy with 3 requests",
                "Raise --max",
            ),
            ("none ready", ten, Limit::Unlimited, 3, "no instance was ready within 10.0s", "--min-instances"),
            ("a full queue", second, Limit::AtMost(7), 2, "the queue was full", "Raise --max"),
        ] {
            let finding = found(turned_away, |scaled| {
                scaled.rejected = 100;
                (scaled.service.queue_length, scaled.service.max_instances) = (length, instances);
                waited(scaled, 1, wait);
            });
            let finding = finding.unwrap();
            // 200 requests of 2,000.
            assert!(finding.text.starts_with("200 requests (10 %) were rejected: "), "{name}: {}", finding.text);
            assert!(finding.text.contains(told) && finding.advice.contains(advised), "{name}: {finding:?}");
            assert_eq!(finding.severity, Severity::Warning, "{name}");
        }
        assert_eq!(found(turned_away, |scaled| scaled.rejected = 1).unwrap().severity, Severity::Info);
    }

    #[test]
    fn instances_that_end_by_themselves_are_told_from_those_that_never_came_up() {
        let lose = |scaled: &mut ScaleRecord, came_up: bool| {
            let life = &mut scaled.lives[1];
            life.lost = Some("had php-fpm end with status 255; its log ends:\nfatal".to_owned());
            life.ended = Some(Duration::from_secs(12));
            life.ready = life.ready.filter(|_| came_up);
            scaled.gateway.broken = 3;
        };
        let finding = found(lost, |scaled| lose(scaled, true)).unwrap();
        let told = "2 instances ended by themselves after they had served, 6 requests with them; the last had php-fpm end with \
                    status 255.";
        assert_eq!(finding.text, told);
        assert_eq!(found(never_ready, |scaled| lose(scaled, true)), None);
        assert_eq!(found(lost, |scaled| lose(scaled, false)), None);
        let finding = found(never_ready, |scaled| lose(scaled, false)).unwrap();
        assert_eq!(finding.text, "2 instances never came up; the last had php-fpm end with status 255.");
    }

    #[test]
    fn pods_that_a_service_gives_little_are_told() {
        let decision = ScaleDecision { at: Duration::ZERO, wanted: 2, used: Some(0.5) };
        let of = |millis: [Option<u32>; 2], ordered: u64, in_cluster: bool| {
            found(unevenly_loaded, |scaled| {
                for (life, millis) in scaled.lives.iter_mut().zip(millis) {
                    life.cpu_millis = millis;
                }
                scaled.lives[1].ordered = Duration::from_secs(ordered);
                scaled.decisions = if in_cluster { vec![decision] } else { Vec::new() };
            })
        };
        let finding = of([Some(380), Some(20)], 8, true).unwrap();
        assert!(finding.text.starts_with("Of 2 pods the busiest used 0.38 CPU and the idlest 0.02: "), "{finding:?}");
        for (name, millis, ordered, in_cluster) in [
            ("even", [Some(380), Some(200)], 8, true),
            ("too new", [Some(380), Some(20)], 13, true),
            ("not measured", [Some(380), None], 8, true),
            ("behind a gateway", [Some(380), Some(20)], 8, false),
        ] {
            assert_eq!(of(millis, ordered, in_cluster), None, "{name}");
        }
    }

    #[test]
    fn a_pool_that_is_smaller_than_what_an_instance_is_given_is_found() {
        let of = |workers: &str| {
            let mut study = samples::study(&["a"]);
            study.cases[0].tuning.give("MaxRequestWorkers", workers);
            let kind = TunableKind::Count { min: 1, max: 1000 };
            let tunable = Tunable { name: "MaxRequestWorkers", role: Role::PoolSize, kind, summary: "", manual: "" };
            study.cases[0].tuning = study.cases[0].tuning.clone().with_roles(&[tunable]);
            let trials = [samples::scaled("a", 1, 200.0, 80, 1)];
            too_few_workers(&Record::new(&study, &study.cases[0], &trials))
        };
        let finding = of("60").unwrap();
        assert!(
            finding.text.contains("80 requests at once, and its MaxRequestWorkers is 60: 20 of them"),
            "{finding:?}"
        );
        assert_eq!(of("80"), None);
        assert_eq!(of("79"), None);
    }

    #[test]
    fn waits_for_starts_are_told_from_waits_for_instances_that_are_busy() {
        // A start takes 1 s; 1,000 requests come in the 5 s of a window.
        let begin = |scaled: &mut ScaleRecord| scaled.lives[0].ordered = Duration::from_secs(11);
        let ms = Duration::from_millis;
        for (name, starts, requests, each, expected) in [
            ("some wait for a start", true, 50, ms(900), true),
            ("as many as come while it starts", true, 200, ms(600), true),
            ("fewer than one of 100", true, 5, ms(900), false),
            ("all for a moment", true, 1000, ms(100), false),
            ("nearly all, all the time", true, 900, ms(900), false),
            ("nothing starts", false, 50, ms(900), false),
        ] {
            let finding = found(cold_starts, |scaled| {
                if starts {
                    begin(scaled);
                }
                waited(scaled, requests, each);
            });
            assert_eq!(finding.is_some(), expected, "{name}: {finding:?}");
            if let Some(finding) = finding {
                assert!(
                    finding.text.contains("500 ms or longer") && finding.text.contains("1000 ms here"),
                    "{finding:?}"
                );
                assert_eq!((finding.evidence["cold_starts"], finding.evidence["starting_share"]), (2.0, 0.2), "{name}");
            }
        }
    }
}
