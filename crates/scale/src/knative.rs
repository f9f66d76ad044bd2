//! The Knative Pod Autoscaler: how many instances it wants.
//!
//! Written from its documentation (knative.dev/docs/serving/autoscaling) and held against vectors of its own tests
//! (knative/serving, `pkg/autoscaler/scaling/autoscaler_test.go`, revision 98e5ef90). Every request passes the queue in front of
//! all instances, as it does with Knative's activator in the path; what happens without it, a random choice among
//! instances, is not acted out.

use std::collections::VecDeque;
use std::time::Duration;

use crate::Time;

/// What can be set of it. The defaults are those of knative/serving's `config/core/configmaps/autoscaler.yaml`, whose keys are
/// named here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnativeParameters {
    /// How often it decides: 2 s, `tickInterval` in `pkg/autoscaler/scaling/multiscaler.go`.
    pub tick: Duration,
    /// Over what concurrency is averaged: `stable-window`, 60 s.
    pub stable_window: Duration,
    /// The same for bursts: `panic-window-percentage`, 10 % of the stable window.
    pub panic_window: Duration,
    /// The share of the hard limit that an instance should have: `container-concurrency-target-percentage`, 70 %.
    pub target_utilisation: f64,
    /// It panics when so many times as many instances are wanted as are ready: `panic-threshold-percentage`, 200 %.
    pub panic_threshold: f64,
    /// At most so many times as many instances after a decision: `max-scale-up-rate`, 1000.
    pub max_scale_up_rate: f64,
    /// At least this fraction's inverse of them: `max-scale-down-rate`, 2.
    pub max_scale_down_rate: f64,
    /// The burst, in requests, for which room is kept: `target-burst-capacity`, 211.
    pub target_burst_capacity: BurstCapacity,
    /// How long fewer must be wanted before there are fewer: `scale-down-delay`, 0 s.
    pub scale_down_delay: Duration,
    /// Whether the last instance goes too: `enable-scale-to-zero`, true.
    pub scale_to_zero: bool,
    /// How long an instance stays after it is no more wanted, at most, until requests pass the activator:
    /// `scale-to-zero-grace-period`, 30 s.
    pub grace: Duration,
    /// How long the last one stays at least: `scale-to-zero-pod-retention-period`, 0 s.
    pub retention: Duration,
    /// The most requests that wait: `breakerQueueDepth` in `pkg/activator/net/throttler.go`, 10,000.
    pub queue_length: u32,
    /// Above this limit of concurrent requests they go to instances by turns, up to it to the first that has room:
    /// `pkg/activator/net/throttler.go`, 3.
    pub first_available_up_to: u32,
}

/// A burst for which room is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BurstCapacity {
    /// Of any size: requests always pass the activator.
    Unlimited,
    /// Of so many requests.
    Requests(f64),
}

impl Default for KnativeParameters {
    fn default() -> Self {
        Self {
            tick: Duration::from_secs(2),
            stable_window: Duration::from_secs(60),
            panic_window: Duration::from_secs(6),
            target_utilisation: 0.7,
            panic_threshold: 2.0,
            max_scale_up_rate: 1000.0,
            max_scale_down_rate: 2.0,
            target_burst_capacity: BurstCapacity::Requests(211.0),
            scale_down_delay: Duration::ZERO,
            scale_to_zero: true,
            grace: Duration::from_secs(30),
            retention: Duration::ZERO,
            queue_length: 10_000,
            first_available_up_to: 3,
        }
    }
}

/// What it decides from: requests under way and waiting, averaged over both windows, and how many instances are ready.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observed {
    /// Over the stable window.
    pub stable: f64,
    /// Over the panic window.
    pub panic: f64,
    /// Instances that are ready.
    pub ready: u32,
}

/// What it decides, before the bounds of the service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnativeDecision {
    /// How many instances it wants.
    pub desired: u32,
    /// By how many requests what is there exceeds what is kept for a burst; `None` for a burst of any size. Below zero
    /// requests pass the activator.
    pub excess_burst_capacity: Option<f64>,
}

/// The autoscaler's state.
#[derive(Clone, Debug)]
pub struct Knative {
    parameters: KnativeParameters,
    target: f64,
    total: f64,
    panic_since: Option<Time>,
    panic_most: u32,
    /// Decisions within the delay of scaling down.
    recent: VecDeque<(Time, u32)>,
    active_since: Time,
    inactive_since: Option<Time>,
    activator_since: Option<Time>,
}

impl Knative {
    /// For instances that take at most `concurrency` requests at once. With more than one instance ready it begins in panic.
    pub fn new(parameters: KnativeParameters, concurrency: u32, ready: u32) -> Self {
        let total = f64::from(concurrency);
        // The least target that Knative accepts: `TargetMin` in `pkg/apis/autoscaling`.
        Self::with_target(parameters, (total * parameters.target_utilisation).max(0.01), total, ready)
    }

    /// For instances that should have `target` requests and can have `total`.
    fn with_target(parameters: KnativeParameters, target: f64, total: f64, ready: u32) -> Self {
        Self {
            parameters,
            target,
            total,
            panic_since: (ready > 1).then_some(Time::START),
            panic_most: ready,
            recent: VecDeque::new(),
            active_since: Time::START,
            inactive_since: None,
            activator_since: None,
        }
    }

    /// What can be set of it.
    pub fn parameters(&self) -> &KnativeParameters {
        &self.parameters
    }

    /// How many instances it wants now.
    pub fn decide(&mut self, now: Time, observed: Observed) -> KnativeDecision {
        let Observed { stable, panic, ready } = observed;
        let p = self.parameters;
        let at_hand = f64::from(ready.max(1));
        let (least, most) = ((at_hand / p.max_scale_down_rate).floor(), (p.max_scale_up_rate * at_hand).ceil());
        let wanted = |average: f64| (average / self.target).ceil();
        // A bound from below that exceeds the one from above cannot be: both rates are above 1.
        let bounded = |wanted: f64| wanted.max(least).min(most) as u32;
        let (by_stable, by_panic) = (bounded(wanted(stable)), bounded(wanted(panic)));

        if wanted(panic) / at_hand >= p.panic_threshold {
            self.panic_since = Some(now);
        } else if self.panic_since.is_some_and(|since| since.after(p.stable_window) < now) {
            self.panic_since = None;
            self.panic_most = 0;
        }
        let desired = match self.panic_since {
            None => by_stable,
            Some(_) => {
                self.panic_most = self.panic_most.max(by_stable).max(by_panic);
                self.panic_most
            }
        };
        let excess_burst_capacity = match p.target_burst_capacity {
            BurstCapacity::Unlimited => None,
            BurstCapacity::Requests(0.0) => Some(0.0),
            BurstCapacity::Requests(burst) => Some((f64::from(ready) * self.total - burst - panic).floor()),
        };
        KnativeDecision { desired: self.delayed(now, desired), excess_burst_capacity }
    }

    /// The most that was wanted within the delay.
    fn delayed(&mut self, now: Time, desired: u32) -> u32 {
        if self.parameters.scale_down_delay.is_zero() {
            return desired;
        }
        self.recent.retain(|(at, earlier)| now.since(*at) < self.parameters.scale_down_delay && *earlier > desired);
        self.recent.push_back((now, desired));
        self.recent.iter().map(|(_, wanted)| *wanted).max().unwrap_or(desired)
    }

    /// How many instances there shall be: the decision within the service's bounds, the last one kept until it may go.
    pub fn scale(&mut self, now: Time, observed: Observed, min: u32, max: u32) -> u32 {
        let KnativeDecision { desired, excess_burst_capacity } = self.decide(now, observed);
        match excess_burst_capacity {
            Some(excess) if excess >= 0.0 && observed.ready > 0 => self.activator_since = None,
            _ => {
                self.activator_since.get_or_insert(now);
            }
        }
        let bounded = desired.clamp(min.min(max), max);
        if bounded > 0 {
            if self.inactive_since.take().is_some() {
                self.active_since = now;
            }
            return bounded;
        }
        self.last_instance(now, observed.ready)
    }

    /// Nothing is wanted: whether the last instance may go.
    fn last_instance(&mut self, now: Time, ready: u32) -> u32 {
        let p = self.parameters;
        let Some(inactive_since) = self.inactive_since else {
            if p.scale_to_zero && now.since(self.active_since) >= p.stable_window {
                self.inactive_since = Some(now);
            }
            return ready.min(1);
        };
        let inactive = now.since(inactive_since);
        let by_activator = self.activator_since.is_some_and(|since| now.since(since) >= p.grace);
        let may_go = inactive >= p.grace.max(p.retention) || (inactive >= p.retention && by_activator);
        if may_go { 0 } else { ready.min(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Time {
        Time::from_nanos((seconds * 1e9) as u64)
    }

    /// As Knative's own tests set it: rates of 10, and a target of 75 % of what an instance can have.
    fn autoscaler(target: f64, burst: f64, ready: u32) -> Knative {
        let parameters = KnativeParameters {
            max_scale_up_rate: 10.0,
            max_scale_down_rate: 10.0,
            target_burst_capacity: if burst < 0.0 { BurstCapacity::Unlimited } else { BurstCapacity::Requests(burst) },
            ..KnativeParameters::default()
        };
        let mut knative = Knative::with_target(parameters, target, target / 0.75, ready);
        // Those tests make the autoscaler while one instance is ready, and set their number afterwards.
        (knative.panic_since, knative.panic_most) = (None, 1);
        knative
    }

    fn excess(target: f64, burst: f64, panic: f64, ready: u32) -> Option<f64> {
        Some((target / 0.75 * f64::from(ready) - burst - panic).floor())
    }

    /// Inputs and outcomes of `TestAutoscalerScale` and of the tests of one step beside it (knative/serving,
    /// `pkg/autoscaler/scaling/autoscaler_test.go`, revision 98e5ef90).
    #[test]
    fn single_decisions_are_those_of_knative() {
        // Name, target, burst, stable, panic, ready, wanted.
        for (name, target, burst, stable, panic, ready, wanted) in [
            ("no load", 10.0, 100.0, 0.0, 0.0, 1, 0),
            ("within one instance", 181.0, 98.0, 21.0, 26.0, 1, 1),
            ("five times the target", 10.0, 100.0, 50.0, 50.0, 1, 5),
            ("five are there already", 10.0, 100.0, 50.0, 50.0, 5, 5),
            ("stable alone", 10.0, 101.0, 50.0, 10.0, 1, 5),
            ("panic doubles", 10.0, 84.0, 50.0, 100.0, 1, 10),
            ("ten times as many at most", 10.0, 61.0, 1000.0, 1001.0, 1, 10),
            ("from ten to a hundred", 10.0, 61.0, 1000.0, 1001.0, 10, 100),
            ("a tenth at least", 10.0, 61.0, 1.0, 1.0, 100, 10),
            ("nobody ready counts as one", 10.0, 81.0, 1000.0, 888.0, 0, 10),
        ] {
            let decision = autoscaler(target, burst, 1).decide(at(100.0), Observed { stable, panic, ready });
            assert_eq!(decision.desired, wanted, "{name}");
            assert_eq!(decision.excess_burst_capacity, excess(target, burst, panic, ready), "{name}");
        }
        let observed = Observed { stable: 21.0, panic: 26.0, ready: 1 };
        assert_eq!(autoscaler(181.0, -1.0, 1).decide(at(1.0), observed).excess_burst_capacity, None);
        let observed = Observed { stable: 50.0, panic: 49.0, ready: 1 };
        assert_eq!(autoscaler(10.0, 0.0, 1).decide(at(1.0), observed).excess_burst_capacity, Some(0.0));
    }

    /// `AutoscalerStableModeIncreaseWithSmallScaleUpRate` and `...DecreaseWithSmallScaleDownRate` of the same table.
    #[test]
    fn small_rates_still_move_by_one() {
        let mut up = autoscaler(1.0, 1982.0, 1);
        up.parameters.max_scale_up_rate = 1.1;
        assert_eq!(up.decide(at(1.0), Observed { stable: 3.0, panic: 3.1, ready: 2 }).desired, 3);
        let mut down = autoscaler(10.0, 1982.0, 1);
        down.parameters.max_scale_down_rate = 1.1;
        assert_eq!(down.decide(at(1.0), Observed { stable: 1.0, panic: 1.0, ready: 100 }).desired, 90);
    }

    /// `AutoscalerPanicStableLargerThanPanic` and `...LessThanPanic`: five seconds into a panic with five instances.
    #[test]
    fn a_panic_takes_the_larger_window() {
        for (stable, panic, wanted) in [(50.0, 30.0, 50), (20.0, 30.0, 30)] {
            let mut knative = autoscaler(1.0, 100.0, 5);
            (knative.panic_since, knative.panic_most) = (Some(at(95.0)), 5);
            assert_eq!(knative.decide(at(100.0), Observed { stable, panic, ready: 5 }).desired, wanted);
        }
    }

    /// Sequences of the same file: seconds, stable, panic, ready, wanted, whether it panics afterwards.
    #[test]
    fn sequences_are_those_of_knative() {
        type Step = (f64, f64, f64, u32, u32, bool);
        let sequences: [(&str, f64, &[Step]); 4] = [
            (
                "TestAutoscalerUnpanicAfterSlowIncrease",
                1.0,
                &[
                    (100.0, 11.0, 25.0, 10, 25, true),
                    (130.0, 30.0, 41.0, 40, 41, true),
                    (162.0, 50.0, 56.0, 55, 50, false),
                ],
            ),
            (
                "TestAutoscalerExtendPanicWindow",
                1.0,
                &[
                    (100.0, 11.0, 25.0, 10, 25, true),
                    (130.0, 30.0, 80.0, 40, 80, true),
                    (190.0, 1.0, 1.0, 80, 80, true),
                ],
            ),
            (
                "TestAutoscalerPanicThenUnPanicScaleDown",
                10.0,
                &[
                    (100.0, 100.0, 100.0, 1, 10, true),
                    (100.0, 100.0, 1000.0, 10, 100, true),
                    (130.0, 1.0, 1.0, 10, 100, true),
                    (161.0, 1.0, 1.0, 10, 1, false),
                ],
            ),
            (
                "TestAutoscalerPanicModeExponentialTrackAndStabilize",
                1.0,
                &[
                    (100.0, 6.0, 6.0, 1, 6, true),
                    (100.0, 36.0, 36.0, 6, 36, true),
                    (101.0, 216.0, 216.0, 36, 216, true),
                    (101.0, 1296.0, 1296.0, 216, 1296, true),
                    (102.0, 1296.0, 1296.0, 1296, 1296, true),
                ],
            ),
        ];
        for (name, target, steps) in sequences {
            let mut knative = autoscaler(target, 98.0, 1);
            for (seconds, stable, panic, ready, wanted, panics) in steps.iter().copied() {
                let decision = knative.decide(at(seconds), Observed { stable, panic, ready });
                assert_eq!(
                    (decision.desired, knative.panic_since.is_some()),
                    (wanted, panics),
                    "{name} at {seconds} s"
                );
            }
        }
    }

    /// `TestAutoscalerScaleDownDelay`, its two parts one after the other, and `TestStartInPanicMode`.
    #[test]
    fn fewer_are_delayed_and_a_restart_panics() {
        let parameters = KnativeParameters {
            max_scale_up_rate: 10.0,
            max_scale_down_rate: 10.0,
            panic_threshold: 100.0,
            scale_down_delay: Duration::from_secs(300),
            ..KnativeParameters::default()
        };
        let mut knative = Knative::with_target(parameters, 10.0, 10.0, 0);
        for (seconds, load, wanted) in [
            (2.0, 40.0, 4),
            (300.0, 0.0, 4),
            (302.0, 0.0, 0),
            (540.0, 40.0, 4),
            (600.0, 30.0, 4),
            (660.0, 0.0, 4),
            (840.0, 0.0, 3),
            (900.0, 0.0, 0),
        ] {
            let observed = Observed { stable: load, panic: load, ready: 0 };
            assert_eq!(knative.decide(at(seconds), observed).desired, wanted, "{seconds} s");
        }
        for (ready, panics) in [(0, false), (1, false), (2, true)] {
            let knative = Knative::new(KnativeParameters::default(), 100, ready);
            assert_eq!((knative.panic_since.is_some(), knative.panic_most), (panics, ready));
        }
    }

    /// knative.dev/docs/serving/autoscaling/scale-to-zero: not before a stable window, and after the grace period at the latest.
    #[test]
    fn the_last_instance_stays_for_its_grace() {
        let last = |retention: u64, burst: f64| {
            let parameters = KnativeParameters {
                retention: Duration::from_secs(retention),
                target_burst_capacity: BurstCapacity::Requests(burst),
                ..KnativeParameters::default()
            };
            let mut knative = Knative::new(parameters, 10, 1);
            let mut gone = None;
            for tick in (2..400).step_by(2) {
                let load = if tick <= 100 { 1.0 } else { 0.0 };
                let observed = Observed { stable: load, panic: load, ready: 1 };
                if knative.scale(at(f64::from(tick)), observed, 0, 10) == 0 {
                    gone = gone.or(Some(tick));
                }
            }
            gone
        };
        // With room for no burst the activator was always in the path: it goes at the first look after it was found inactive.
        assert_eq!(last(0, 211.0), Some(104));
        // Without, it stays for the grace period of 30 s, or for the retention where that is longer.
        assert_eq!(last(0, 0.0), Some(132));
        assert_eq!(last(90, 211.0), Some(192));
        let mut kept = Knative::new(KnativeParameters::default(), 10, 1);
        let idle = Observed { stable: 0.0, panic: 0.0, ready: 1 };
        assert!((1..200).all(|tick| kept.scale(at(f64::from(tick)), idle, 1, 10) == 1));
    }
}
