//! What is sampled in several pods at once, as if they were one.

use futures_util::future::join_all;
use stampede_core::{Fut, Sampling, Series, SeriesSource};
use stampede_seam::SamplerHandle;

/// Samplers of the pods of one deployment, on one node.
pub(crate) struct PodSamplers(pub(crate) Vec<Box<dyn SamplerHandle>>);

impl SamplerHandle for PodSamplers {
    fn queue(&self) -> Option<u64> {
        self.0.iter().map(|sampler| sampler.queue()).sum()
    }

    fn cut(self: Box<Self>) -> Fut<'static, Sampling> {
        Box::pin(async move { added(join_all(self.0.into_iter().map(SamplerHandle::cut)).await) })
    }

    fn finish(self: Box<Self>) -> Fut<'static, Sampling> {
        Box::pin(async move { added(join_all(self.0.into_iter().map(SamplerHandle::finish)).await) })
    }
}

/// What was sampled in pods: what their containers used is added up, sample by sample, and the node, which they share, is as the first
/// of them saw it. Processes are left out: each container counts its own from 1.
fn added(pods: Vec<Sampling>) -> Sampling {
    let mut pods = pods.into_iter();
    let mut all = pods.next().unwrap_or_default();
    all.series.retain(|series| matches!(series.source, SeriesSource::Group | SeriesSource::Machine));
    for Sampling { series, cpu, .. } in pods {
        all.cpu += cpu;
        let is_group = |series: &&Series| series.source == SeriesSource::Group;
        let own = series.iter().find(is_group);
        if let (Some(sum), Some(own)) = (all.series.iter_mut().find(|series| is_group(&&**series)), own) {
            add(sum, own);
        }
    }
    all
}

/// Adds the samples of another pod to those of the same number. What one of both lacks is absent.
fn add(sum: &mut Series, other: &Series) {
    let rows = sum.len().min(other.len());
    sum.at_us.truncate(rows);
    sum.columns.retain(|gauge, values| {
        let Some(others) = other.columns.get(gauge) else { return false };
        values.truncate(rows);
        for (value, other) in values.iter_mut().zip(others) {
            *value = value.zip(*other).map(|(value, other)| value + other);
        }
        true
    });
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::Gauge;

    use super::*;

    fn sampling(source: SeriesSource, cpu: &[Option<u64>]) -> Sampling {
        let mut series = Series::new(source);
        for (number, value) in (0..).zip(cpu) {
            let figures: Vec<_> = value.iter().map(|value| (Gauge::CpuUs, *value)).collect();
            series.push(Duration::from_millis(100 * number), &figures);
        }
        Sampling { series: vec![series], cpu: Duration::from_millis(3), ..Sampling::default() }
    }

    #[test]
    fn what_containers_used_is_added_up_and_their_node_is_seen_once() {
        let of = |values: &[Option<u64>]| sampling(SeriesSource::Group, values);
        let all = added(vec![
            of(&[Some(1), Some(5), None, Some(7)]),
            of(&[Some(10), Some(50), Some(60)]),
            of(&[Some(100), None, Some(300), Some(400)]),
        ]);
        assert_eq!(all.series[0].columns[&Gauge::CpuUs], [Some(111), None, None]);
        assert_eq!((all.series[0].at_us.len(), all.cpu), (3, Duration::from_millis(9)));
        let node = |values: &[Option<u64>]| sampling(SeriesSource::Machine, values);
        assert_eq!(added(vec![node(&[Some(4)]), node(&[Some(5)])]).series, node(&[Some(4)]).series);
        assert_eq!(added(Vec::new()), Sampling::default());
    }
}
