//! A load that generators drive.

use std::collections::BTreeMap;
use std::time::Duration;

use stampede_conduct::{Bench, Exit, Failure, Interrupts};
use stampede_core::Carrier;
use stampede_generators::CarriedStream;
use stampede_plan::HttpUrl;
use stampede_seam::{GeneratorRecord, LoadOrder, LoadOutcome, LoadResult, LoadSpec};
use stampede_vantage::Here;
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::JoinSet;

use crate::generators::{self, Demand};
use crate::live::Live;
use crate::pods::{self, PodGenerators};
use crate::timeseries::Timeseries;

/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// What drives a load, and how much of it is seen.
pub(crate) struct SharedDrive<'a> {
    /// The generators.
    pub(crate) carriers: &'a [Carrier],
    /// Those of the carriers that are pods, and the labels of pods whose nodes they avoid.
    pub(crate) pods: Option<(&'a PodGenerators, BTreeMap<String, String>)>,
    /// What names the service whose pods are its targets, where there is one.
    pub(crate) service: Option<&'a HttpUrl>,
    /// Who watches.
    pub(crate) bench: Bench<'a>,
    /// Where its seconds go.
    pub(crate) timeseries: Option<&'a mut Timeseries>,
}

/// A result, what is known of each generator, and whether a signal ended it.
pub(crate) type Driven = (LoadResult, Vec<GeneratorRecord>, bool);

/// Has generators drive the load to its end, or to the first signal. Pods are made before, and removed whatever comes.
///
/// # Errors
///
/// When it cannot begin, a generator is lost, or what is kept of it cannot be written.
pub(crate) async fn drive_shared(mut shared: SharedDrive<'_>, spec: LoadSpec) -> Result<Driven, Failure> {
    let mut interrupts = shared.bench.host.interrupts()?;
    let Some((generators, avoid)) = shared.pods.take() else {
        return drive_by(Vec::new(), None, shared, spec, &mut *interrupts).await;
    };
    let bench = shared.bench;
    let pods = tokio::select! {
        _ = interrupts.next() => {
            let message = "interrupted: what was made in the namespace ends within a minute".to_owned();
            return Err(Failure { exit: Exit::Interrupted, message });
        }
        started = generators.start(avoid, spec.duration + spec.drain, bench) => started?,
    };
    let driven = match pods::streams(&pods, bench).await {
        Ok(streams) => Box::pin(drive_by(streams, Some(generators), shared, spec, &mut *interrupts)).await,
        Err(problem) => Err(problem),
    };
    pods::end(pods, bench).await;
    driven
}

async fn drive_by(
    pods: Vec<CarriedStream>,
    in_cluster: Option<&PodGenerators>,
    shared: SharedDrive<'_>,
    spec: LoadSpec,
    interrupts: &mut dyn Interrupts,
) -> Result<Driven, Failure> {
    let SharedDrive { carriers, pods: _, service, bench, mut timeseries } = shared;
    let (tell, mut told) = unbounded_channel();
    let mut following = JoinSet::new();
    if let (Some(pods), Some(service)) = (in_cluster, service) {
        following.spawn(pods.follow(service, spec.targets.clone(), tell));
    }
    let mut live = Live::new(bench);
    let loads = match &spec.scenario {
        None => vec![&spec.load],
        Some(scenario) => scenario.crowds.iter().map(|crowd| &crowd.load).collect(),
    };
    let purpose = format!("load {}", spec.host);
    let demand = Demand { purpose: &purpose, loads, cpus: &spec.cpus, backend: spec.backend };
    let vantage = generators::vantage(Here::new(), carriers, pods, demand, (bench.host.notices(), bench.quiet)).await?;
    let order = LoadOrder { spec, link: None, begins: None, turns: Vec::new() };
    let mut load = vantage.load(order).map_err(Failure::missing)?;
    let interrupted = loop {
        tokio::select! {
            _ = interrupts.next() => {
                load.cut();
                break true;
            }
            () = tokio::time::sleep(LOOK) => {}
        }
        while let Ok(targets) = told.try_recv() {
            bench.note(&format!("pods of the service that are ready now: {}", targets.len()));
            load.set_targets(&targets);
        }
        let view = load.look();
        if let Some(timeseries) = &mut timeseries {
            timeseries.write(&view.slices)?;
        }
        live.show(|| view.progress);
        if view.is_finished {
            break false;
        }
    };
    live.end();
    let finished = load.finish().await;
    let LoadOutcome { result, generators, .. } =
        finished.map_err(|error| Failure { exit: Exit::Invalid, message: error.to_string() })?;
    if let Some(timeseries) = timeseries {
        timeseries.write(&result.slices)?;
    }
    Ok((result, generators, interrupted))
}
