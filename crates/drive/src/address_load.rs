//! A load on an address with all that its command line says.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use stampede_conduct::{Bench, Exit, Failure};
use stampede_core::{Carrier, Endpoint, Exchange, Load, Request};
use stampede_load::{LoadExchange, RedirectRules, TlsClient, TlsIdentity, TlsSpec, Trust, speaks_fastcgi};
use stampede_plan::LoadPlan;
use stampede_report::load::SampleCount;
use stampede_seam::{Backend, GeneratorRecord, LoadResult, LoadSpec};

use crate::address::{redirect_rules, resolved, targets};
use crate::end::exit_of;
use crate::here::{drive, lay_out};
use crate::pods::PodRequest;
use crate::samples::{SampleSink, Sampled};
use crate::shared::{SharedDrive, drive_shared};
use crate::timeseries::Timeseries;

/// Longest wait for answers that are still out when the window closes.
const DRAIN: Duration = Duration::from_secs(5);

/// How the address is reached.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// A unix socket in place of the URL's host and port.
    pub unix: Option<PathBuf>,
    /// Addresses of the URL's host, each as `HOST:PORT:ADDRESS`.
    pub resolve: Vec<String>,
    /// Places in place of the URL's, each as `HOST:PORT`.
    pub connect: Vec<String>,
    /// The address of this machine that connections come from.
    pub source: Option<IpAddr>,
    /// Whether it may be neither this machine nor in a private network.
    pub allow_remote: bool,
    /// Whether redirects are followed.
    pub follow_redirects: bool,
    /// Whether connections are kept for the next request.
    pub keep_alive: bool,
    /// Whose certificates are trusted, and what is shown to a server.
    pub tls: TlsFiles,
}

/// What TLS takes, by its files.
#[derive(Clone, Debug, Default)]
pub struct TlsFiles {
    /// Whether any certificate is taken.
    pub insecure: bool,
    /// The certificates that are trusted instead of this machine's.
    pub cacert: Option<PathBuf>,
    /// What is shown to a server that asks for a certificate.
    pub cert: Option<PathBuf>,
    /// The key of that, where it lies elsewhere.
    pub key: Option<PathBuf>,
    /// The name of the server, in place of the URL's host.
    pub server_name: Option<String>,
}

/// What is kept of a load while it runs.
#[derive(Default)]
pub struct Kept {
    /// Its seconds.
    pub timeseries: Option<Timeseries>,
    /// Its requests.
    pub samples: Option<SampleSink>,
}

/// A load that is over.
pub struct AddressLoad {
    /// What was asked for: one load, or that of each user class.
    pub loads: Vec<Load>,
    /// What came of it.
    pub result: LoadResult,
    /// What is known of each generator, where others than this process drove it.
    pub generators: Vec<GeneratorRecord>,
    /// What became of its requests where they were kept.
    pub sampled: Option<Sampled>,
    interrupted: bool,
    targets: Vec<Endpoint>,
}

impl AddressLoad {
    /// How many requests were kept, and how many were not.
    #[must_use]
    pub fn samples(&self) -> Option<SampleCount> {
        self.sampled.as_ref().map(|sampled| sampled.count)
    }

    /// What spoils the part of a generator.
    pub fn faults(&self) -> impl Iterator<Item = &String> {
        self.generators.iter().flat_map(|generator| &generator.faults)
    }

    /// The place that speaks FastCGI, where no right answer came.
    #[must_use]
    pub fn fastcgi(&self) -> Option<&Endpoint> {
        if self.result.total.requests.ok > 0 {
            return None;
        }
        self.targets.iter().find(|target| speaks_fastcgi(target))
    }

    /// How it ends.
    #[must_use]
    pub fn exit(&self) -> Exit {
        let exit = exit_of(&self.result, self.interrupted);
        if exit == Exit::Done && self.faults().next().is_some() { Exit::Invalid } else { exit }
    }
}

impl TlsFiles {
    /// Reads the files, for a load that is encrypted or is not.
    ///
    /// # Errors
    ///
    /// When one cannot be read, or is given for a load that is not encrypted.
    pub fn read(&self, encrypted: bool) -> Result<(Trust, TlsClient), Failure> {
        let Self { insecure, cacert, cert, key, server_name } = self;
        let trust = read_trust(*insecure, cacert.as_deref())?;
        let client = TlsClient { identity: read_identity(cert.as_deref(), key.as_deref())?, ..TlsClient::default() };
        for (flag, given) in [("--cert", cert.is_some()), ("--server-name", server_name.is_some())] {
            if given && !encrypted {
                return Err(Failure::usage(format!("{flag} belongs to TLS; give an https:// URL, or leave it out")));
            }
        }
        Ok((trust, client))
    }
}

/// Whose certificates are trusted.
fn read_trust(insecure: bool, cacert: Option<&Path>) -> Result<Trust, Failure> {
    match cacert {
        _ if insecure => Ok(Trust::Anyone),
        None => Ok(Trust::System),
        Some(path) => fs::read(path)
            .map(Trust::Pem)
            .map_err(|error| Failure::usage(format!("--cacert {} cannot be read: {error}", path.display()))),
    }
}

/// What the client shows of itself.
fn read_identity(cert: Option<&Path>, key: Option<&Path>) -> Result<Option<TlsIdentity>, Failure> {
    let Some(cert) = cert else { return Ok(None) };
    let read = |flag: &str, path: &Path| {
        fs::read(path).map_err(|error| Failure::usage(format!("{flag} {} cannot be read: {error}", path.display())))
    };
    let chain = read("--cert", cert)?;
    let key = key.map_or_else(|| Ok(chain.clone()), |path| read("--key", path))?;
    Ok(Some(TlsIdentity { chain, key }))
}

/// The bytes of a body as it was typed, or of the file after `@`, and what stood in the way.
pub fn read_body(typed: Option<&str>) -> (Vec<u8>, Result<(), Failure>) {
    match typed.map(|typed| (typed, typed.strip_prefix('@'))) {
        None => (Vec::new(), Ok(())),
        Some((typed, None)) => (typed.as_bytes().to_vec(), Ok(())),
        Some((typed, Some(path))) => match fs::read(path) {
            Ok(bytes) => (bytes, Ok(())),
            Err(error) => (Vec::new(), Err(Failure::usage(format!("--body {typed} cannot be read: {error}")))),
        },
    }
}

/// The requests of a log with the headers and the check of the one that flags describe, each as often as it was in there; that one
/// where there are none.
fn mix(logged: Vec<Exchange>, flagged: LoadExchange) -> Vec<LoadExchange> {
    if logged.is_empty() {
        return vec![flagged];
    }
    let of = |Exchange { request, weight, .. }: Exchange| LoadExchange {
        request: Request { headers: flagged.request.headers.clone(), ..request },
        weight: NonZeroU32::new(weight).unwrap_or(NonZeroU32::MIN),
        ..flagged.clone()
    };
    logged.into_iter().map(of).collect()
}

/// Drives the load of a plan to its end, or to the first signal. A backend that is not named is found out.
///
/// # Errors
///
/// When its address cannot be had, it cannot begin, a generator is lost, or what is kept of it cannot be written.
pub fn drive_address(
    bench: Bench<'_>,
    plan: LoadPlan,
    reach: Reach,
    (trust, client): (Trust, TlsClient),
    (pods, backend): (PodRequest, Option<Backend>),
    kept: Kept,
) -> Result<AddressLoad, Failure> {
    let Reach { unix, resolve, connect, source, allow_remote, follow_redirects, keep_alive, tls } = reach;
    let Kept { mut timeseries, samples } = kept;
    let LoadPlan {
        url,
        host,
        protocol,
        request,
        logged,
        check,
        load,
        think,
        scenario,
        duration,
        requests,
        timeout,
        threads,
        seed,
        generators: carriers,
    } = plan;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let pods = runtime.block_on(pods.generators(&carriers, threads))?;
    let is_named = unix.is_none() && resolve.is_empty() && connect.is_empty();
    let service = match pods.as_ref().filter(|_| is_named) {
        Some(pods) => runtime.block_on(pods.service(&url))?,
        None => None,
    };
    let targets = match (unix, &service) {
        (Some(path), _) => vec![Endpoint::Unix(path)],
        (None, Some(service)) => {
            let places: Vec<String> = service.targets.iter().map(SocketAddr::to_string).collect();
            bench.note(&format!("pods of {} ({}): {}", url.host, places.len(), places.join(", ")));
            targets(&url, &places, allow_remote)?
        }
        (None, None) => targets(&url, &resolved(&url, &resolve, connect)?, allow_remote)?,
    };
    let follow = follow_redirects.then(|| RedirectRules {
        resends_bodies: true,
        trust: trust.clone(),
        ..redirect_rules(&url, allow_remote)
    });
    let loads = match &scenario {
        None => vec![load.clone()],
        Some(scenario) => scenario.crowds.iter().map(|crowd| crowd.load.clone()).collect(),
    };
    // Each generator of this machine has as many threads.
    let is_here = |carrier: &&Carrier| matches!(carrier, Carrier::Local | Carrier::Exec(_));
    let here = carriers.iter().filter(is_here).count();
    let cpus = lay_out(&bench.host.cpus(), threads * here.max(1));
    let server_name = tls.server_name.unwrap_or_else(|| url.host.clone());
    let spec = LoadSpec {
        targets: targets.clone(),
        protocol,
        tls: url.encrypted.then_some(TlsSpec { server_name, trust, client }),
        host,
        exchanges: mix(logged, LoadExchange::new(request, check)),
        load,
        think,
        scenario,
        warm_up: Duration::ZERO,
        duration,
        requests,
        drain: DRAIN.min(timeout),
        timeout: Some(timeout),
        keep_alive,
        seed,
        shard: None,
        source,
        slices: timeseries.is_some(),
        backend: runtime.block_on(bench.host.backend(backend, &cpus, bench.quiet)),
        cpus: cpus.generator,
    };
    let driven = runtime.block_on(async {
        if carriers.is_empty() {
            let (result, interrupted, sampled) = drive(spec, bench, timeseries.as_mut(), samples, follow).await?;
            return Ok((result, Vec::new(), interrupted, sampled));
        }
        let is_service = service.is_some();
        let avoid = service.map(|service| service.selector).unwrap_or_default();
        let shared = SharedDrive {
            carriers: &carriers,
            pods: pods.as_ref().map(|pods| (pods, avoid)),
            service: is_service.then_some(&url),
            bench,
            timeseries: timeseries.as_mut(),
        };
        let (result, generators, interrupted) = Box::pin(drive_shared(shared, spec)).await?;
        Ok((result, generators, interrupted, None))
    });
    let (result, generators, interrupted, sampled) = driven?;
    Ok(AddressLoad { loads, result, generators, sampled, interrupted, targets })
}
