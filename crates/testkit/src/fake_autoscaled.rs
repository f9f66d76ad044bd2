//! A service that an autoscaler keeps and that is made up: it wants the fewest instances, and after a while the most.

use std::sync::Arc;
use std::time::Duration;

use stampede_core::{Endpoint, Fut};
use stampede_seam::{
    Autoscaled, AutoscalerLog, AutoscalerOrder, Moment, Running, SeenDecision, SeenInstance, StopError, Vantage,
};

/// When the fewest are no longer enough, from when they were ready.
const MORE: Duration = Duration::from_secs(5);

/// What the parts of a start take.
const PLACED: Duration = Duration::from_millis(200);
const STARTED: Duration = Duration::from_millis(1200);
const READY: Duration = Duration::from_millis(1500);

/// One deployment stands for all instances.
pub(crate) struct FakeAutoscaled {
    running: Box<dyn Running>,
    order: AutoscalerOrder,
    /// When the fewest were ready.
    began: Moment,
}

impl FakeAutoscaled {
    pub(crate) fn new(running: Box<dyn Running>, order: AutoscalerOrder) -> Self {
        let began = running.vantage().now();
        Self { running, order, began }
    }
}

impl Autoscaled for FakeAutoscaled {
    fn vantage(&self) -> &Arc<dyn Vantage> {
        self.running.vantage()
    }

    fn front(&self) -> &Endpoint {
        self.running.front()
    }

    fn log(&self) -> AutoscalerLog {
        let AutoscalerOrder { least, most, cpu_target, .. } = self.order;
        let now = self.vantage().now();
        let seen = |moment: Moment| Some(moment).filter(|moment| *moment <= now);
        let instance = |number: u32| {
            let ordered = if number < least { self.began } else { self.began + MORE };
            let until = now.since_start().as_secs();
            SeenInstance {
                ordered,
                placed: seen(ordered + PLACED),
                started: seen(ordered + STARTED),
                ready: seen(ordered + READY),
                uses: (0..until).map(|second| (Moment::new(Duration::from_secs(second)), 0.2)).collect(),
                ..SeenInstance::default()
            }
        };
        let decisions = [(self.began, least, cpu_target), (self.began + MORE, most, 2.0 * cpu_target)];
        AutoscalerLog {
            instances: (0..most).map(instance).filter(|instance| instance.ordered <= now).collect(),
            decisions: decisions
                .into_iter()
                .filter(|(at, ..)| *at <= now)
                .map(|(at, wanted, used)| SeenDecision { at, wanted, used: Some(used) })
                .collect(),
            undecided: None,
        }
    }

    fn stop(self: Box<Self>) -> Fut<'static, Result<(), StopError>> {
        Box::pin(async move { self.running.stop().await.map(drop) })
    }
}
