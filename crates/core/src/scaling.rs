//! What an autoscaled service did in a trial: each of its instances, its queue, what it is billed for.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Latencies, Limit};

/// What an autoscaled service was given, beside the limits of each instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScaledService {
    /// Which autoscaler, by the name that the command line has for it.
    pub policy: String,
    /// The most requests that an instance was given at once, by the platform's rules.
    pub concurrency: u32,
    /// The fewest instances.
    pub min_instances: u32,
    /// The most.
    pub max_instances: u32,
    /// How many requests could wait for an instance.
    pub queue_length: Limit<u32>,
    /// For how long one could wait.
    pub queue_wait: Duration,
    /// How long one could take until its answer began.
    pub request_timeout: Duration,
    /// How long an instance took from its order until it counted as ready, alone and before any load: the queue's limit follows from it.
    pub start: Duration,
    /// By which row of the table of prices it is billed.
    pub price: String,
    /// How many processors all instances share, where that was said.
    #[serde(default)]
    pub total_cpus: Option<u32>,
}

/// One instance. Times are counted from when the platform came up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceLife {
    /// When it was asked for.
    pub ordered: Duration,
    /// How long its folder, control group and processes took to be there and to listen.
    pub process: Option<Duration>,
    /// How much of that was over when its first program was started: its folder and control group, or its container, were there.
    #[serde(default)]
    pub set_up: Option<Duration>,
    /// How long it took from its order until a machine was found for it, where a cluster has several.
    #[serde(default)]
    pub placed: Option<Duration>,
    /// How long it took from then until it counted as ready.
    pub ready: Option<Duration>,
    /// How long the first request took that it was given.
    pub first_request: Option<Duration>,
    /// When it was given up or lost; `None` when it lived to the end.
    pub ended: Option<Duration>,
    /// Why it was lost, where it ended by itself or never came up.
    pub lost: Option<String>,
    /// Thousandths of a CPU that it used in the mean while it was ready in the window, where a cluster measures that.
    #[serde(default)]
    pub cpu_millis: Option<u32>,
}

/// What a cluster's autoscaler wanted. Times are counted from when the platform came up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScaleDecision {
    /// From when on.
    pub at: Duration,
    /// How many instances.
    pub wanted: u32,
    /// The share of their CPU that instances used then, as the autoscaler has it, where it knew.
    pub used: Option<f64>,
}

impl InstanceLife {
    /// From its order until it counted as ready.
    pub fn start(&self) -> Option<Duration> {
        Some(self.process? + self.ready?)
    }
}

/// What is billed of all instances, in seconds of instances and not yet multiplied with their size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InstanceUsage {
    /// In which an instance worked or started, each span rounded up.
    pub busy_seconds: f64,
    /// In which an instance of the fewest was kept idle.
    pub kept_idle_seconds: f64,
    /// In which an instance lived, each life rounded up.
    pub lived_seconds: f64,
    /// Requests that an instance was given.
    pub requests: f64,
}

/// What the gateway in front of the instances used in the window, and saw. It runs where the generator does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayUse {
    /// CPU time of its thread.
    pub cpu: Duration,
    /// Requests that came to it.
    pub requests: u64,
    /// Requests that were with an instance when it broke off, or that it did not take.
    #[serde(default)]
    pub broken: u64,
    /// How long requests were in the queue and with an instance; absent in records of before this was kept.
    #[serde(default)]
    pub passage: Option<Passage>,
}

/// How long requests took from when they came to the gateway until their answers had come from the instance whole, or they were
/// turned away: queue and instance, without what the gateway itself takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// How many.
    pub count: u64,
    /// Their mean.
    pub mean: Duration,
    /// The median.
    pub p50: Duration,
    /// 95 of 100 took no longer.
    pub p95: Duration,
    /// 99 of 100 took no longer.
    pub p99: Duration,
}

impl Passage {
    /// Of these times; nothing where there is none.
    pub fn of(times: &Latencies) -> Option<Self> {
        let [p50, p95, p99] = [0.5, 0.95, 0.99].map(|q| times.quantile(q));
        let mean = Duration::from_nanos(times.mean_ns() as u64);
        (times.count() > 0).then_some(Self { count: times.count(), mean, p50, p95, p99 })
    }
}

/// What an autoscaled service did. Counts are those of requests that came in the window.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaleRecord {
    /// What it was given.
    pub service: ScaledService,
    /// When the window opened, from when the platform came up.
    pub opens: Duration,
    /// When it closed.
    pub closes: Duration,
    /// All instances in the order in which they were asked for.
    pub lives: Vec<InstanceLife>,
    /// How long requests waited for an instance that did not find one at once.
    pub waits: Latencies,
    /// The most requests that waited at once.
    pub most_waiting: u32,
    /// Requests that were turned away, as the clients saw it.
    pub rejected: u64,
    /// What is billed.
    pub usage: InstanceUsage,
    /// What the gateway used.
    pub gateway: GatewayUse,
    /// What a cluster's own autoscaler wanted from when on. With one that is acted out there are none, and where there are some there
    /// is no gateway, and nobody knows who waits.
    pub decisions: Vec<ScaleDecision>,
}

/// How many instances were there in a window, those that started included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InstanceCount {
    /// The fewest.
    pub min: u32,
    /// On average over the time.
    pub mean: f64,
    /// The most.
    pub max: u32,
}

impl ScaleRecord {
    /// Whether a cluster's own autoscaler scaled it, through the cluster's own service.
    pub fn is_of_cluster(&self) -> bool {
        !self.decisions.is_empty()
    }

    /// The most instances that a cluster's autoscaler wanted in the window.
    pub fn most_wanted(&self) -> Option<u32> {
        let before = self.decisions.iter().rev().find(|decision| decision.at <= self.opens);
        let within = self.decisions.iter().filter(|decision| (self.opens..self.closes).contains(&decision.at));
        before.into_iter().chain(within).map(|decision| decision.wanted).max()
    }

    /// How many instances were there in the window, those that started included: from when on, since it opened, and how many.
    pub fn course(&self) -> Vec<(Duration, u32)> {
        let Self { opens, closes, lives, .. } = self;
        let mut changes: Vec<(Duration, i64)> = Vec::new();
        for life in lives {
            let ended = life.ended.unwrap_or(*closes);
            changes.push((life.ordered.clamp(*opens, *closes), 1));
            changes.push((ended.clamp(*opens, *closes), -1));
        }
        changes.sort();
        let mut course = vec![(Duration::ZERO, 0)];
        let mut count = 0_i64;
        for (at, by) in changes.into_iter().filter(|(at, _)| at < closes) {
            count += by;
            let since = at.saturating_sub(*opens);
            // What ends when another begins leaves no gap and no double count.
            if course.last().is_some_and(|(last, _)| *last == since) {
                course.pop();
            }
            course.push((since, u32::try_from(count).unwrap_or_default()));
        }
        course
    }

    /// How many instances were there in the window.
    pub fn instance_count(&self) -> InstanceCount {
        let course = self.course();
        let length = self.closes.saturating_sub(self.opens);
        let until = course.iter().skip(1).map(|(since, _)| *since).chain([length]);
        let lasted = course.iter().zip(until).map(|((since, _), until)| until.saturating_sub(*since).as_secs_f64());
        let sum: f64 = course.iter().zip(lasted).map(|((_, count), seconds)| f64::from(*count) * seconds).sum();
        let counts = || course.iter().map(|(_, count)| *count);
        InstanceCount {
            min: counts().min().unwrap_or_default(),
            mean: sum / length.as_secs_f64().max(f64::MIN_POSITIVE),
            max: counts().max().unwrap_or_default(),
        }
    }

    /// The instances that were asked for in the window.
    pub fn cold_starts(&self) -> impl Iterator<Item = &InstanceLife> {
        self.lives.iter().filter(|life| (self.opens..self.closes).contains(&life.ordered))
    }

    /// The instances that were lost in the window; of one that a cluster started again in its place it is not known when.
    pub fn lost(&self) -> impl Iterator<Item = &InstanceLife> {
        let ended = |life: &&InstanceLife| life.ended.is_none_or(|ended| (self.opens..self.closes).contains(&ended));
        self.lives.iter().filter(|life| life.lost.is_some()).filter(ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(lives: &[(u64, Option<u64>)]) -> ScaleRecord {
        let life = |(ordered, ended): &(u64, Option<u64>)| InstanceLife {
            ordered: Duration::from_secs(*ordered),
            ended: ended.map(Duration::from_secs),
            ..InstanceLife::default()
        };
        ScaleRecord {
            service: ScaledService {
                policy: "cloud-run".to_owned(),
                concurrency: 1,
                min_instances: 0,
                max_instances: 9,
                queue_length: Limit::Unlimited,
                queue_wait: Duration::from_secs(10),
                request_timeout: Duration::from_secs(300),
                start: Duration::from_secs(1),
                price: "cloud-run-requests".to_owned(),
                total_cpus: None,
            },
            opens: Duration::from_secs(10),
            closes: Duration::from_secs(20),
            lives: lives.iter().map(life).collect(),
            waits: Latencies::new(),
            most_waiting: 0,
            rejected: 0,
            usage: InstanceUsage::default(),
            gateway: GatewayUse::default(),
            decisions: Vec::new(),
        }
    }

    #[test]
    fn instances_are_counted_over_the_window_alone() {
        for (name, lives, min, mean, max, cold) in [
            ("none", &[][..], 0, 0.0, 0, 0),
            ("one all along", &[(0, None)], 1, 1.0, 1, 0),
            ("one from the middle", &[(15, None)], 0, 0.5, 1, 1),
            ("one that went before", &[(0, Some(5)), (12, Some(14))], 0, 0.2, 1, 1),
            ("one takes another's place", &[(0, Some(15)), (15, None)], 1, 1.0, 1, 1),
            ("two, of which one goes", &[(0, None), (10, Some(16))], 1, 1.6, 2, 1),
            ("one after the window", &[(0, None), (21, None)], 1, 1.0, 1, 0),
        ] {
            let record = record(lives);
            let count = record.instance_count();
            assert_eq!((count.min, count.max), (min, max), "{name}");
            assert!((count.mean - mean).abs() < 1e-9, "{name}: {}", count.mean);
            assert_eq!(record.cold_starts().count(), cold, "{name}");
            let course = record.course();
            assert!(course[0].0.is_zero() && course.is_sorted_by_key(|(since, _)| *since), "{name}: {course:?}");
        }
    }
}
