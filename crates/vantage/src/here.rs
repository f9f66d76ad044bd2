//! The vantage of this process.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use stampede_core::{Answer, Counters, Endpoint, Fut, MeterSource, Sampling, with_causes};
use stampede_load::RunningLoad;
use stampede_observe::{HoldUps, Meter, Sampler};
use stampede_seam::{
    Call, LoadError, LoadHandle, LoadOrder, LoadOutcome, LoadStatus, Moment, NoAnswer, Reading, SampleTargets,
    SamplerHandle, SamplingError, TlsSpec, Trust, Vantage,
};
use stampede_wire::Security;
use stampede_wire::client::{self, Cause, SendError};
use tokio::net::{TcpStream, UnixStream};

use crate::inside_watch::InsideWatch;
use crate::latency_relay::LatencyRelay;

/// Sees deployments from this process. Needs the tokio runtime that it is called on; what would block it has threads of its own.
#[derive(Debug)]
pub struct Here {
    /// The beginning of its clock.
    began: Instant,
    /// The last certificates that were trusted: reading them takes longer than a request.
    trusted: Mutex<Option<(TlsSpec, Security)>>,
}

impl Here {
    /// A vantage whose clock begins now.
    pub fn new() -> Arc<Self> {
        Arc::new(Self { began: Instant::now(), trusted: Mutex::default() })
    }

    fn moment(&self, instant: Instant) -> Moment {
        Moment::new(instant.saturating_duration_since(self.began))
    }

    fn instant(&self, moment: Moment) -> Instant {
        self.began + moment.since_start()
    }

    fn security(&self, spec: &TlsSpec) -> Result<Security, String> {
        let mut trusted = self.trusted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, security)) = trusted.as_ref().filter(|(known, _)| known == spec) {
            return Ok(security.clone());
        }
        let Trust::Pem(pem) = &spec.trust else {
            return Err("trusts nothing but certificates that are given to it".to_owned());
        };
        let security = Security::new(&spec.server_name, pem).map_err(|error| with_causes(&error))?;
        *trusted = Some((spec.clone(), security.clone()));
        Ok(security)
    }
}

impl Vantage for Here {
    fn now(&self) -> Moment {
        self.moment(Instant::now())
    }

    fn timestamp(&self) -> Timestamp {
        Timestamp::now()
    }

    fn sleep_until(&self, until: Moment) -> Fut<'_, ()> {
        Box::pin(tokio::time::sleep_until(self.instant(until).into()))
    }

    fn connect<'a>(&'a self, endpoint: &'a Endpoint, timeout: Duration) -> Fut<'a, Result<(), NoAnswer>> {
        Box::pin(async move {
            let opened = async {
                match endpoint {
                    Endpoint::Tcp(address) => TcpStream::connect(address).await.map(drop),
                    Endpoint::Unix(path) => UnixStream::connect(path).await.map(drop),
                }
            };
            // The kernel would try for minutes where nobody refuses: a queue that is full, a filtered port.
            match tokio::time::timeout(timeout, opened).await {
                Ok(Ok(())) => Ok(()),
                Ok(Err(error)) => Err(NoAnswer { problem: error.to_string(), waited: false }),
                Err(_) => Err(NoAnswer { problem: format!("not connected within {timeout:?}"), waited: false }),
            }
        })
    }

    fn exchange<'a>(&'a self, call: &'a Call) -> Fut<'a, Result<Answer, NoAnswer>> {
        Box::pin(async move {
            let Call { endpoint, tls, host, request, timeout } = call.clone();
            let security = tls.map(|tls| self.security(&tls)).transpose();
            let security = security.map_err(|problem| NoAnswer { problem, waited: false })?;
            let host = host.unwrap_or_else(|| endpoint.to_string());
            let sent = move || client::send_secured(&endpoint, security.as_ref(), &request, &host, timeout);
            match tokio::task::spawn_blocking(sent).await {
                Ok(answer) => answer.map_err(|error| NoAnswer {
                    problem: with_causes(&error),
                    waited: matches!(error, SendError::Wait(Cause::TimedOut(_))),
                }),
                Err(panic) => std::panic::resume_unwind(panic.into_panic()),
            }
        })
    }

    fn counters(&self, groups: &[&[MeterSource]]) -> Reading {
        let groups = groups.iter().map(|sources| read(sources)).collect();
        // What reading took is part of the time that passed until then.
        Reading { at: self.now(), groups }
    }

    fn load(&self, order: LoadOrder) -> Result<Box<dyn LoadHandle>, LoadError> {
        let LoadOrder { mut spec, link, begins, turns } = order;
        let relay = match (link, spec.targets.as_slice()) {
            (None, _) => None,
            (Some(link), [Endpoint::Tcp(server)]) => {
                let relay = LatencyRelay::open(*server, link);
                let relay = relay.map_err(|error| LoadError(format!("open the link to the client: {error}")))?;
                spec.targets = vec![Endpoint::Tcp(relay.address())];
                Some(relay)
            }
            (Some(_), targets) => {
                let target = targets.first().map_or_else(|| "no target".to_owned(), ToString::to_string);
                return Err(LoadError(format!("has a front that no client is away from: {target}")));
            }
        };
        let begins = begins.map(|begins| self.instant(begins));
        let is_shard = spec.shard.is_some();
        let load = stampede_load::start_at(spec, begins, &turns).map_err(|error| LoadError(with_causes(&error)))?;
        let window = self.moment(load.opens_at())..self.moment(load.closes_at());
        let watch = is_shard.then(|| HoldUps::watch(load.opens_at()..load.closes_at())).transpose();
        let watch = watch.map_err(|error| LoadError(format!("watch this process: {error}")))?;
        Ok(Box::new(LoadHere { load, relay, window, watch }))
    }

    fn sample(&self, targets: SampleTargets, window: Range<Moment>) -> Result<Box<dyn SamplerHandle>, SamplingError> {
        let failed = |error: std::io::Error| SamplingError(error.to_string());
        let window = self.instant(window.start)..self.instant(window.end);
        let inside = InsideWatch::start(&targets, window.clone()).map_err(failed)?;
        let sampler = Sampler::start(targets, window.start, window.end).map_err(failed)?;
        Ok(Box::new(SamplerHere { sampler, inside }))
    }
}

fn read(sources: &[MeterSource]) -> Result<Option<Counters>, String> {
    Meter::new(sources.to_vec()).map(|meter| meter.read()).transpose().map_err(|error| with_causes(&error))
}

struct LoadHere {
    load: RunningLoad,
    relay: Option<LatencyRelay>,
    window: Range<Moment>,
    /// What holds it up, where it is a part of a load.
    watch: Option<HoldUps>,
}

impl LoadHandle for LoadHere {
    fn window(&self) -> Range<Moment> {
        self.window.clone()
    }

    fn look(&mut self) -> LoadStatus {
        LoadStatus {
            // Before the rest: what is finished then has nothing more to tell.
            is_finished: self.load.is_finished(),
            progress: self.load.progress(),
            latencies: self.load.rough_latencies(),
            slices: self.load.slices(),
        }
    }

    fn set_targets(&mut self, targets: &[Endpoint]) {
        // It goes on as before where they cannot be had.
        let _ = self.load.set_targets(targets);
    }

    fn cut(&mut self) {
        self.load.abort();
    }

    fn finish(self: Box<Self>) -> Fut<'static, Result<LoadOutcome, LoadError>> {
        Box::pin(async move {
            let Self { load, relay, window: _, watch } = *self;
            let result = load.finish();
            let link = relay.map(LatencyRelay::close).transpose();
            let link = link.map_err(|error| LoadError(format!("lost the link to the client: {error}")))?;
            Ok(LoadOutcome { result, link, held_up: watch.map(HoldUps::finish), generators: Vec::new() })
        })
    }
}

struct SamplerHere {
    sampler: Sampler,
    /// What samples the stacks of PHP, where they are.
    inside: Option<InsideWatch>,
}

impl SamplerHandle for SamplerHere {
    fn queue(&self) -> Option<u64> {
        self.sampler.queue()
    }

    fn cut(self: Box<Self>) -> Fut<'static, Sampling> {
        Box::pin(async move {
            let Self { sampler, inside } = *self;
            let inside = inside.map(InsideWatch::cut).map(Box::new);
            Sampling { inside, ..sampler.cut() }
        })
    }

    fn finish(self: Box<Self>) -> Fut<'static, Sampling> {
        Box::pin(async move {
            let Self { sampler, inside } = *self;
            let inside = inside.map(InsideWatch::finish).map(Box::new);
            Sampling { inside, ..sampler.finish() }
        })
    }
}
