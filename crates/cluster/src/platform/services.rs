//! The services beside an image: a pod each, which is made for one launch, so that each trial begins with the same data.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use stampede_core::{AddressId, BuildStep, Deployment, Endpoint, MeterSource, Places, Program, Ready, Terms, Unit};
use stampede_kubernetes::{FoundPod, Server, ServerOrder};
use stampede_seam::{ContainerLook, LaunchError};
use tokio::time::{Instant, sleep};

use super::{ClusterPlatform, agent, check, enforced, explained, failed, or_ended, places};
use crate::ground::server_order;
use crate::pod_agent::PodAgent;
use crate::running::{ServingPod, run};

/// Where each listens: it is alone in its pod.
const PORT: u16 = 5000;

/// How long one question to a service that starts may take, and between two of them.
const ANSWER: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(300);

/// How long it may take to fill one.
const FILL: Duration = Duration::from_secs(600);

/// One that answers, and holds what it begins with.
pub(super) struct Beside {
    pub(super) server: Server,
    pub(super) pod: ServingPod,
    /// Where its container's counters are, from inside.
    pub(super) meter: MeterSource,
}

/// Whether a unit is a service beside an image: it says by a program of its own when it is ready.
pub(super) fn is_service(unit: &Unit) -> bool {
    matches!(unit.ready, Ready::Program(_))
}

/// By what services are found.
pub(super) fn endpoints(services: &[Beside]) -> BTreeMap<AddressId, Endpoint> {
    services.iter().map(|Beside { pod, .. }| (AddressId::new(pod.unit.as_str()), pod.target.clone())).collect()
}

impl ClusterPlatform {
    /// Starts those of a deployment, in their order.
    pub(super) async fn services(&self, deployment: &Deployment, terms: &Terms) -> Result<Vec<Beside>, LaunchError> {
        let mut services = Vec::new();
        for unit in deployment.units.iter().filter(|unit| is_service(unit)) {
            services.push(self.service(unit, terms).await?);
        }
        Ok(services)
    }

    async fn service(&self, unit: &Unit, terms: &Terms) -> Result<Beside, LaunchError> {
        let part = terms.part_of(&unit.id);
        let limits = part.and_then(|part| part.share).unwrap_or(terms.total);
        let mut own = Places::new();
        own.insert(format!("{}.port", unit.id), PORT.to_string());
        let resolve = |text: &String| own.resolve(text).map_err(|error| LaunchError::Prepare(error.to_string()));
        let Program { path: image, args, env } = &unit.program;
        let order = ServerOrder {
            image: image.clone(),
            args: args.iter().map(resolve).collect::<Result<_, _>>()?,
            env: env
                .iter()
                .map(|(name, value)| Ok((name.clone(), resolve(value)?)))
                .collect::<Result<_, LaunchError>>()?,
            grace: unit.stop.grace,
            ..server_order(limits, Some(self.ground.node.as_str()))
        };
        let server = self.start(&order, &unit.id).await?;
        let found = match server.pods().first() {
            Some(pod) => self.filled(&server, pod, unit).await,
            None => Err("it has no pod".to_owned()),
        };
        let (server, (look, agent, target)) = or_ended(server, found).await.map_err(failed(&unit.id))?;
        let pod = ServingPod {
            part: part.map(|part| part.name.clone()),
            unit: unit.id.clone(),
            agent,
            target,
            enforced: enforced(&look, limits),
        };
        Ok(Beside { server, pod, meter: look.meter })
    }

    /// Waits until one answers, and fills it.
    async fn filled(
        &self,
        server: &Server,
        pod: &FoundPod,
        unit: &Unit,
    ) -> Result<(ContainerLook, PodAgent, Endpoint), String> {
        check(pod, &unit.program.path, &self.id_of(&unit.program.path))?;
        let target = Endpoint::Tcp(SocketAddr::new(pod.address, PORT));
        let places = places(&[(AddressId::new(unit.id.as_str()), target.clone())].into());
        let filled = async {
            let look = self.look(server, pod, Some(PORT)).await?;
            look.port.clone()?;
            if let Ready::Program(question) = &unit.ready {
                self.answers(server, pod, question, &places).await?;
            }
            if let Some(BuildStep { program, files, .. }) = &unit.build {
                for file in files {
                    let filled = run(server, pod, (program, &file.text), &places, FILL).await;
                    filled.map_err(|problem| format!("fill it with {}: {problem}", file.path.display()))?;
                }
            }
            Ok((look, agent(server, pod).await?, target))
        };
        match filled.await {
            Ok(filled) => Ok(filled),
            Err(problem) => Err(explained(server, pod, problem).await),
        }
    }

    /// Waits until a service answers this question.
    async fn answers(
        &self,
        server: &Server,
        pod: &FoundPod,
        question: &Program,
        places: &Places,
    ) -> Result<(), String> {
        let begun = Instant::now();
        loop {
            match run(server, pod, (question, ""), places, ANSWER).await {
                Ok(_) => return Ok(()),
                Err(problem) if begun.elapsed() >= self.ready_timeout => {
                    let waited = self.ready_timeout.as_secs();
                    return Err(format!("it does not answer after {waited} s (--ready-timeout): {problem}"));
                }
                Err(_) => sleep(PAUSE).await,
            }
        }
    }
}
