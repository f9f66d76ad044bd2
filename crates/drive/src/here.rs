//! A load that this process drives.

use std::panic::resume_unwind;
use std::time::Duration;

use stampede_conduct::{Bench, Failure};
use stampede_core::CpuLayout;
use stampede_load::{RedirectRules, RunningLoad};
use stampede_seam::{LoadResult, LoadSpec};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

use crate::live::Live;
use crate::samples::{SampleSink, Sampled};
use crate::timeseries::Timeseries;

/// How often it is seen whether a second is to be told. Where neither that nor progress is asked for, nothing wakes this thread but
/// the end: its processor may be the generator's.
const SECONDS: Duration = Duration::from_millis(200);

/// Processors for so many threads: the last ones, since servers that are pinned, and much of the kernel's work, are on the
/// first.
pub(crate) fn lay_out(available: &[u32], threads: usize) -> CpuLayout {
    let (others, last) = available.split_at(available.len().saturating_sub(threads));
    let server = if others.is_empty() { last } else { others };
    CpuLayout { server: server.to_vec(), generator: last.iter().rev().copied().collect() }
}

/// Drives the load to its end, or to the first signal; the second value says which. The third one is what became of its requests
/// where they have a sink. Redirects are followed where there are rules for that.
///
/// # Errors
///
/// When it cannot begin, or what is kept of it cannot be written.
pub(crate) async fn drive(
    spec: LoadSpec,
    bench: Bench<'_>,
    mut timeseries: Option<&mut Timeseries>,
    sink: Option<SampleSink>,
    follow: Option<RedirectRules>,
) -> Result<(LoadResult, bool, Option<Sampled>), Failure> {
    let mut interrupts = bench.host.interrupts()?;
    let (load, reader) = match (follow, &sink) {
        (Some(rules), sink) => stampede_load::start_following(spec, rules, sink.is_some()).map_err(Failure::missing)?,
        (None, None) => (stampede_load::start(spec).map_err(Failure::missing)?, None),
        (None, Some(_)) => {
            let (load, reader) = stampede_load::start_sampled(spec).map_err(Failure::missing)?;
            (load, Some(reader))
        }
    };
    let sampling = match sink.zip(reader) {
        Some((sink, reader)) => Some(sink.follow(reader, load.step_names())?),
        None => None,
    };
    let interrupted = tokio::select! {
        _ = interrupts.next() => {
            load.abort();
            true
        }
        watched = watch(&load, Live::new(bench), timeseries.as_deref_mut()) => {
            watched?;
            false
        }
    };
    let result = load.finish();
    if let Some(timeseries) = timeseries {
        timeseries.write(&result.slices)?;
    }
    let sampled = sampling.map(|sampling| sampling.join().unwrap_or_else(|panic| resume_unwind(panic)));
    Ok((result, interrupted, sampled))
}

async fn watch(load: &RunningLoad, mut live: Live<'_>, mut timeseries: Option<&mut Timeseries>) -> Result<(), Failure> {
    let end = load.end().and_then(|end| Receiver::from_owned_fd(end.into()));
    let mut end = end.map_err(Failure::missing)?;
    loop {
        let tick = if timeseries.is_some() { Some(SECONDS) } else { live.pause() };
        tokio::select! {
            _ = end.read_u8() => break,
            () = tokio::time::sleep(tick.unwrap_or_default()), if tick.is_some() => {}
        }
        if let Some(timeseries) = &mut timeseries {
            timeseries.write(&load.slices())?;
        }
        live.show(|| load.progress());
    }
    live.end();
    Ok(())
}
