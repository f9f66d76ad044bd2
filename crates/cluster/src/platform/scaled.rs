//! A service of pods that the cluster's own autoscaler starts and stops.

use std::sync::Arc;

use stampede_core::{Deployment, Endpoint, Fut, Terms, Unit};
use stampede_kubernetes::{DesiredPods, PodCourse, ScaledOrder, ScaledServer, ServerOrder};
use stampede_seam::{
    Autoscaled, AutoscalerLog, AutoscalerOrder, LaunchError, Moment, SeenDecision, SeenInstance, StopError, Vantage,
};
use tokio::time::Instant;

use super::services::{Beside, endpoints, is_service};
use super::{ClusterPlatform, FoundContainer, failed, places};

/// A service that the cluster scales, with what its pods need beside them.
struct ClusterScaled {
    vantage: Arc<dyn Vantage>,
    front: Endpoint,
    server: ScaledServer,
    services: Vec<Beside>,
}

impl ClusterPlatform {
    /// Starts a service of an image that has been looked at before.
    pub(super) async fn scaled(
        &self,
        deployment: &Deployment,
        terms: &Terms,
        order: &AutoscalerOrder,
    ) -> Result<Box<dyn Autoscaled>, LaunchError> {
        let nothing = |what: &str| LaunchError::Prepare(format!("{what}: a cluster scales images alone"));
        let container = deployment.container.as_ref().ok_or_else(|| nothing("it is no image"))?;
        let units: Vec<&Unit> = deployment.units.iter().filter(|unit| !is_service(unit)).collect();
        let unit = *units.first().ok_or_else(|| nothing("there is no unit"))?;
        let eyes = self.seen().await?;
        let limits = terms.part_of(&unit.id).and_then(|part| part.share).unwrap_or(terms.total);
        let known = self.known(container, &unit.program);
        let FoundContainer { port, env } = known.ok_or_else(|| nothing("nobody has looked at its image"))?;
        let services = self.services(deployment, terms).await?;
        let one = self.order(container, unit, limits, &places(&endpoints(&services)))?;
        // Pods go where the scheduler has them.
        let mut server = ServerOrder { replicas: order.least, node: None, ..one };
        server.env.extend(env);
        let cpu_percent = (order.cpu_target * 100.0).round() as u32;
        let ready_path = order.ready_path.clone();
        let order = ScaledOrder { server, most: order.most, cpu_percent, port, ready_path };
        let server = ScaledServer::start(&self.ground.run, &order, &self.tell).await;
        let server = server.map_err(|error| failed(&unit.id)(error.to_string()))?;
        let front = Endpoint::Tcp(server.address());
        Ok(Box::new(ClusterScaled { vantage: Arc::new(eyes), front, server, services }))
    }
}

impl ClusterScaled {
    fn instance(&self, pod: &PodCourse, now: (Instant, Moment)) -> SeenInstance {
        let moment = |at: Instant| told(at, now);
        SeenInstance {
            ordered: moment(pod.made),
            placed: pod.placed.map(moment),
            started: pod.started.map(moment),
            ready: pod.ready.map(moment),
            ended: pod.ended.map(moment),
            lost: pod.lost.as_ref().map(|why| format!("had pod {} end: {why}", pod.name)),
            uses: pod.uses.iter().map(|one| (moment(one.at), one.cpus)).collect(),
        }
    }
}

/// When that was by the clock of a vantage, which says so of an instant.
fn told(at: Instant, (instant, moment): (Instant, Moment)) -> Moment {
    Moment::new(moment.since_start().saturating_sub(instant.saturating_duration_since(at)))
}

impl Autoscaled for ClusterScaled {
    fn vantage(&self) -> &Arc<dyn Vantage> {
        &self.vantage
    }

    fn front(&self) -> &Endpoint {
        &self.front
    }

    fn log(&self) -> AutoscalerLog {
        let seen = self.server.seen();
        let now = (Instant::now(), self.vantage.now());
        let decision = |one: &DesiredPods| SeenDecision {
            at: told(one.at, now),
            wanted: one.wanted,
            used: one.percent.map(|percent| f64::from(percent) / 100.0),
        };
        AutoscalerLog {
            instances: seen.pods.iter().map(|pod| self.instance(pod, now)).collect(),
            decisions: seen.decisions.iter().map(decision).collect(),
            undecided: seen.undecided,
        }
    }

    fn stop(self: Box<Self>) -> Fut<'static, Result<(), StopError>> {
        Box::pin(async move {
            let Self { vantage, server, services, .. } = *self;
            drop(vantage);
            server.end().await.map_err(|error| StopError(error.to_string()))?;
            for Beside { server, pod, .. } in services {
                drop(pod);
                server.end().await.map_err(|error| StopError(error.to_string()))?;
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn instants_are_told_by_the_clock_of_a_vantage() {
        let (instant, moment) = (Instant::now(), Moment::new(Duration::from_secs(7)));
        for (ago, expected) in [(0, 7), (3, 4), (9, 0)] {
            let at = instant.checked_sub(Duration::from_secs(ago));
            let Some(at) = at else { continue };
            assert_eq!(told(at, (instant, moment)), Moment::new(Duration::from_secs(expected)));
        }
    }
}
