//! How many requests a second a deployment can take: one case under loads that are chosen one after another.

use std::path::Path;
use std::time::Duration;

use stampede_core::{Case, Rounds, Study};
use stampede_harness::{Copies, Prepared};

use crate::exit::Failure;
use crate::host::{Bench, Ended};
use crate::record::{Sinks, StudyRecord};
use crate::resumption;
use crate::site::Site;
use crate::study::{Ready, StudyRequest, recorded};

/// Searches the capacity of a request's only case and keeps what was measured: how that ended, and what was kept of it.
///
/// # Errors
///
/// When it could not begin.
pub fn capacity(
    bench: Bench<'_>,
    store: &Path,
    request: &StudyRequest<'_>,
) -> Result<(Result<Ended, Failure>, StudyRecord), Failure> {
    recorded(bench, store, request, async |site, record| search(request, site, record).await)
}

async fn search(request: &StudyRequest<'_>, site: &Site<'_>, record: &mut StudyRecord) -> Result<(), Failure> {
    let plan = request.plan;
    let ready = Ready::of(request, site, &mut Copies::default()).await?;
    let Some(probed) = ready.prepared.first() else { return Err(Failure::missing("there is nothing to run")) };
    let mut study = ready.study(request, site)?;
    // Cases join it as their loads are chosen.
    study.cases = Vec::new();
    if let Some(earlier) = record.earlier() {
        // They are one under the loads that were chosen.
        let under = |then: &Case| Case { id: then.id.clone(), load: then.load.clone(), ..probed.case.clone() };
        study.cases = earlier.study.cases.iter().map(under).collect();
        resumption::check(earlier, &study, plan, false, site.backend)?;
        if earlier.finished_at.is_some() {
            return Ok(());
        }
        let started_at = study.started_at;
        study = earlier.study.clone();
        study.resumed_at.push(started_at);
    }
    introduce(site.bench(), &study, probed);
    let trials = record.trials().to_vec();
    let context = ready.context(request, site);
    let mut sinks = Sinks::new(record, site, Duration::ZERO);
    let ended = stampede_harness::capacity(&*site.ground.platform, &study, probed, &context, trials, &mut sinks).await;
    ended.map_err(Failure::missing)
}

/// Says which settings are probed and why, and what will be done.
fn introduce(bench: Bench<'_>, study: &Study, probed: &Prepared) {
    bench.settings(&Study { cases: vec![probed.case.clone()], ..study.clone() });
    let (slo, most) = (study.slo.as_ref().map(ToString::to_string), stampede_analysis::MOST_PROBES);
    let time = match study.rounds {
        Rounds::Auto { max_time } => format!(" within {}", humantime::format_duration(max_time)),
        Rounds::Fixed(_) => String::new(),
    };
    bench.note(&format!(
        "{}: closed loads, then at most {most} probes of {:?}, the last of {:?},{time}, for {}; seed {}",
        study.workload,
        study.duration,
        study.duration * stampede_analysis::CONFIRMATION,
        slo.unwrap_or_default(),
        study.seed
    ));
}
