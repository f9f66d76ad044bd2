//! A search for a size.

use stampede_analysis::analyse;
use stampede_conduct::{Exit, Failure, ServiceSizing, Sizing, service_size_exit, size_exit};
use stampede_report::size::SizeView;
use stampede_report::size::service::ServiceSizeView;
use stampede_report::{ReportAnswer, StudyView};

use crate::WriteAnswer;

/// What a search for a size came to.
///
/// # Errors
///
/// When a report cannot be written.
pub fn size(sizing: &Sizing<'_>, write: WriteAnswer<'_>) -> Result<Exit, Failure> {
    let (plan, found, runtimes, recycling) = (sizing.plan(), sizing.found(), sizing.runtimes(), sizing.recycling());
    let analyses: Vec<_> = sizing.studies().iter().map(|stored| analyse(&stored.study, &stored.trials)).collect();
    let studies: Vec<StudyView<'_>> =
        sizing.studies().iter().zip(&analyses).map(|(stored, analysis)| StudyView::of(stored, analysis)).collect();
    write(&ReportAnswer::Size(&SizeView {
        id: sizing.id(),
        workload: plan.plan.workload.id.as_str(),
        load: &plan.load,
        rate: plan.rate,
        headroom: plan.headroom,
        slo: plan.plan.slo.as_ref(),
        runtimes: &runtimes,
        left_out: sizing.left_out(),
        recycling: &recycling,
        grid: sizing.grid(),
        readings: sizing.readings(),
        found: &found,
        tariff: &plan.tariff,
        is_out_of_time: sizing.is_out_of_time(),
        files: sizing.exported().map(|(study, case)| (study.id.as_str(), case.id.as_str())),
        studies: &studies,
    }))?;
    Ok(size_exit(&found, sizing.readings()))
}

/// What a search for an autoscaled service came to.
///
/// # Errors
///
/// When a report cannot be written.
pub fn service_size(sizing: &ServiceSizing<'_>, write: WriteAnswer<'_>) -> Result<Exit, Failure> {
    let (plan, found, runtimes) = (sizing.plan(), sizing.found(), sizing.runtimes());
    let analyses: Vec<_> = sizing.studies().iter().map(|stored| analyse(&stored.study, &stored.trials)).collect();
    let studies: Vec<StudyView<'_>> =
        sizing.studies().iter().zip(&analyses).map(|(stored, analysis)| StudyView::of(stored, analysis)).collect();
    write(&ReportAnswer::ServiceSize(&ServiceSizeView {
        id: sizing.id(),
        workload: plan.plan.workload.id.as_str(),
        load: &plan.load,
        headroom: plan.headroom,
        slo: plan.plan.slo.as_ref(),
        policy: plan.policies.first().map_or("", |(_, policy)| policy.name()),
        runtimes: &runtimes,
        unknown: sizing.unknown(),
        cells: sizing.cells(),
        simulated: sizing.simulated(),
        readings: sizing.readings(),
        found: &found,
        price: plan.price,
        is_out_of_time: sizing.is_out_of_time(),
        studies: &studies,
    }))?;
    Ok(service_size_exit(&found, sizing.cells(), sizing.readings()))
}
