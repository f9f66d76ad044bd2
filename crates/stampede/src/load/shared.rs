//! A load that generators drive.

use std::collections::BTreeMap;
use std::time::Duration;

use stampede_core::Carrier;
use stampede_generators::CarriedStream;
use stampede_load::{LoadResult, LoadSpec};
use stampede_seam::{GeneratorRecord, LoadOrder, LoadOutcome};

use crate::exit::{Exit, Failure};
use crate::generators::{self, Demand};
use crate::kubernetes::{self, PodGenerators};
use crate::load::live::Live;
use crate::load::timeseries::Timeseries;
use crate::signals::Signals;

/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// What drives a load, and how much of it is seen.
pub(super) struct SharedDrive<'a> {
    pub(super) carriers: &'a [Carrier],
    /// Those of the carriers that are pods, and the labels of pods whose nodes they avoid.
    pub(super) pods: Option<(&'a PodGenerators, BTreeMap<String, String>)>,
    pub(super) quiet: bool,
    pub(super) live: Live,
    pub(super) timeseries: Option<&'a mut Timeseries>,
}

/// A result, what is known of each generator, and whether a signal ended it.
type Driven = (LoadResult, Vec<GeneratorRecord>, bool);

/// Has generators drive the load to its end, or to the first signal. Pods are made before, and removed whatever comes.
pub(super) async fn drive(mut shared: SharedDrive<'_>, spec: LoadSpec) -> Result<Driven, Failure> {
    let mut signals = Signals::new()?;
    let Some((generators, avoid)) = shared.pods.take() else {
        return drive_by(Vec::new(), shared, spec, &mut signals).await;
    };
    let quiet = shared.quiet;
    let pods = tokio::select! {
        () = signals.any() => {
            let message = "interrupted: what was made in the namespace ends within a minute".to_owned();
            return Err(Failure { exit: Exit::Interrupted, message });
        }
        started = generators.start(avoid, spec.duration + spec.drain, quiet) => started?,
    };
    let driven = match kubernetes::streams(&pods, quiet).await {
        Ok(streams) => Box::pin(drive_by(streams, shared, spec, &mut signals)).await,
        Err(problem) => Err(problem),
    };
    kubernetes::end(pods).await;
    driven
}

async fn drive_by(
    pods: Vec<CarriedStream>,
    shared: SharedDrive<'_>,
    spec: LoadSpec,
    signals: &mut Signals,
) -> Result<Driven, Failure> {
    let SharedDrive { carriers, pods: _, quiet, mut live, mut timeseries } = shared;
    let loads = match &spec.scenario {
        None => vec![&spec.load],
        Some(scenario) => scenario.crowds.iter().map(|crowd| &crowd.load).collect(),
    };
    let purpose = format!("load {}", spec.host);
    let demand = Demand { purpose: &purpose, loads, cpus: &spec.cpus, backend: spec.backend };
    let vantage = generators::vantage(carriers, pods, demand, quiet).await?;
    let order = LoadOrder { spec, link: None, begins: None, turns: Vec::new() };
    let mut load = vantage.load(order).map_err(Failure::missing)?;
    let interrupted = loop {
        tokio::select! {
            () = signals.any() => {
                load.cut();
                break true;
            }
            () = tokio::time::sleep(LOOK) => {}
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
