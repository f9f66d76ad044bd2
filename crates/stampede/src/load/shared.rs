//! A load that generators drive.

use std::time::Duration;

use stampede_core::Carrier;
use stampede_load::{LoadResult, LoadSpec};
use stampede_seam::{GeneratorRecord, LoadOrder, LoadOutcome};

use crate::exit::{Exit, Failure};
use crate::generators::{self, Demand};
use crate::load::live::Live;
use crate::load::timeseries::Timeseries;
use crate::signals::Signals;

/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Has generators drive the load to its end, or to the first signal; the last value says which.
pub(super) async fn drive(
    carriers: &[Carrier],
    spec: LoadSpec,
    quiet: bool,
    mut live: Live,
    mut timeseries: Option<&mut Timeseries>,
) -> Result<(LoadResult, Vec<GeneratorRecord>, bool), Failure> {
    let loads = match &spec.scenario {
        None => vec![&spec.load],
        Some(scenario) => scenario.crowds.iter().map(|crowd| &crowd.load).collect(),
    };
    let purpose = format!("load {}", spec.host);
    let demand = Demand { purpose: &purpose, loads, cpus: &spec.cpus, backend: spec.backend };
    let vantage = generators::vantage(carriers, demand, quiet).await?;
    let mut signals = Signals::new()?;
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
