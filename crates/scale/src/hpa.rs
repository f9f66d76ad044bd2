//! Kubernetes' HorizontalPodAutoscaler on CPU, as its pages and its source describe it.
//!
//! Of its source, `pkg/controller/podautoscaler` of kubernetes/kubernetes 1.34: `replica_calculator.go` for how many pods,
//! `horizontal.go` for how fast. What is left out: metrics that are missing, and pods that restart.

use std::collections::VecDeque;
use std::time::Duration;

use crate::Time;

/// What can be set of it. Pages are those of kubernetes.io/docs, read in 2026-11.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HpaParameters {
    /// The share of their CPU that pods should use: 80 % by default (`spec.metrics` of autoscaling/v2).
    pub cpu_target: f64,
    /// How often it decides, and over what CPU is averaged here: 15 s (`--horizontal-pod-autoscaler-sync-period`, and
    /// `--metric-resolution` of metrics-server).
    pub tick: Duration,
    /// By which share the use may be off the target without a change: 10 % (`--horizontal-pod-autoscaler-tolerance`).
    pub tolerance: f64,
    /// With each decision pods may become so many times as many: 2 (`scaleUpLimitFactor` of `horizontal.go`, where no `behavior` is set).
    pub up_factor: u32,
    /// Or so many in all, whichever is more: 4 (`scaleUpLimitMinimum`, same place).
    pub up_least: u32,
    /// For how long the most that was wanted is kept: 300 s ("Horizontal Pod Autoscaling", "Stabilization window").
    pub stabilization: Duration,
}

impl Default for HpaParameters {
    fn default() -> Self {
        Self {
            cpu_target: 0.8,
            tick: Duration::from_secs(15),
            tolerance: 0.1,
            up_factor: 2,
            up_least: 4,
            stabilization: Duration::from_secs(300),
        }
    }
}

/// The autoscaler's state.
#[derive(Clone, Debug)]
pub struct Hpa {
    parameters: HpaParameters,
    cpus: f64,
    /// When CPU was last read, and what all pods had used by then, in seconds.
    before: (Time, f64),
    /// What was wanted, and when, within the time for which that is kept.
    wanted: VecDeque<(Time, u32)>,
}

impl Hpa {
    /// For pods with so much CPU.
    pub fn new(parameters: HpaParameters, cpus: f64) -> Self {
        Self { parameters, cpus, before: (Time::START, 0.0), wanted: VecDeque::new() }
    }

    /// What can be set of it.
    pub fn parameters(&self) -> &HpaParameters {
        &self.parameters
    }

    /// How many pods it wants now, before the bounds of the service. Of `alive` pods `ready` serve; `cpu` is the CPU-seconds that all have
    /// used since the platform came up.
    pub fn decide(&mut self, now: Time, ready: u32, alive: u32, cpu: f64) -> u32 {
        let p = self.parameters;
        let (since, used) = std::mem::replace(&mut self.before, (now, cpu));
        let seconds = now.since(since).as_secs_f64();
        let busy = if seconds > 0.0 { (cpu - used) / seconds } else { 0.0 };
        let asked = self.asked(busy, ready, alive);
        while self.wanted.front().is_some_and(|(at, _)| now.since(*at) >= p.stabilization) {
            self.wanted.pop_front();
        }
        self.wanted.push_back((now, asked));
        let kept = self.wanted.iter().map(|(_, wanted)| *wanted).max().unwrap_or(asked);
        let most = alive.saturating_mul(p.up_factor).max(p.up_least);
        if asked > alive { asked.min(most) } else { kept.min(alive) }
    }

    /// What the use alone asks for, in CPUs that are busy. Pods that do not serve yet are idle when more are asked for, and are
    /// left out when fewer are.
    fn asked(&self, busy: f64, ready: u32, alive: u32) -> u32 {
        let HpaParameters { cpu_target, tolerance, .. } = self.parameters;
        let use_of = |pods: u32| busy / (f64::from(pods) * self.cpus * cpu_target);
        if ready == 0 {
            return alive;
        }
        let own = use_of(ready);
        let (counted, all) = if own > 1.0 { (alive, use_of(alive)) } else { (ready, own) };
        let is_near = |ratio: f64| (ratio - 1.0).abs() <= tolerance;
        if is_near(own) || is_near(all) || (own > 1.0) != (all > 1.0) {
            return alive;
        }
        // A hair's breadth of rounding asks for no pod.
        (all * f64::from(counted) - 1e-9).ceil().max(0.0) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn what_is_used_asks_for_pods() {
        // Name, pods that serve, pods, CPU-seconds used in 15 s, wanted. Pods of 0.5 CPU, 60 %: by hand from the page's formula
        // desiredReplicas = ceil(currentReplicas * (currentMetricValue / desiredMetricValue)).
        for (name, ready, alive, cpu, wanted) in [
            ("all of one", 1, 1, 7.5, 2),
            ("at the target", 2, 2, 9.0, 2),
            ("within the tolerance", 2, 2, 9.8, 2),
            ("just beyond it", 2, 2, 10.0, 3),
            ("all of three", 3, 3, 22.5, 5),
            ("one that starts is idle", 1, 2, 7.5, 2),
            ("two start, and one is not enough", 4, 6, 30.0, 7),
            ("nobody serves", 0, 1, 0.0, 1),
            ("four at the most, of few", 1, 1, 60.0, 4),
            ("twice as many at the most, of many", 6, 6, 600.0, 12),
        ] {
            let parameters = HpaParameters { cpu_target: 0.6, ..HpaParameters::default() };
            let mut hpa = Hpa::new(parameters, 0.5);
            assert_eq!(hpa.decide(at(15), ready, alive, cpu), wanted, "{name}");
        }
    }

    #[test]
    fn single_decisions_are_those_of_kubernetes() {
        // `replica_calculator_test.go` of kubernetes/kubernetes 1.34, by the names there: target, use of the pods that are ready in
        // thousandths of a CPU, pods, wanted.
        for (name, target, ready, alive, wanted) in [
            ("ScaleUp", 0.3, &[300, 500, 700][..], 3, 5),
            ("ScaleUpUnreadyLessScale", 0.3, &[500, 700], 3, 4),
            ("ScaleUpUnreadyNoScale", 0.3, &[400], 3, 3),
            ("ScaleDown", 0.5, &[100, 300, 500, 250, 250], 5, 3),
            ("Tolerance", 1.0, &[1010, 1030, 1020], 3, 3),
        ] {
            let hpa = Hpa::new(HpaParameters { cpu_target: target, ..HpaParameters::default() }, 1.0);
            let busy = f64::from(ready.iter().sum::<u32>()) / 1e3;
            assert_eq!(hpa.asked(busy, ready.len() as u32, alive), wanted, "{name}");
        }
    }

    #[test]
    fn pods_are_kept_for_five_minutes() {
        let mut hpa = Hpa::new(HpaParameters::default(), 1.0);
        let (mut alive, mut cpu, mut course) = (4, 0.0, Vec::new());
        // All of four, then a tenth of one.
        for tick in 1..=30 {
            cpu += if tick <= 4 { 15.0 * 3.2 } else { 1.5 };
            alive = hpa.decide(at(tick * 15), alive, alive, cpu);
            course.push(alive);
        }
        let gone = course.iter().position(|alive| *alive < 4).unwrap();
        assert_eq!((gone, course[gone]), (23, 1), "{course:?}");
    }
}
