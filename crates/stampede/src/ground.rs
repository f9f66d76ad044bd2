//! What a study is measured on: a platform, under the lock on the machine.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;

use stampede_core::{Availability, Composer as _, CpuLayout, Requirement, Severity, with_causes};
use stampede_harness::{Conditions, Copies, Missing, PrepareCasesError, Prepared};
use stampede_plan::{ComparePlan, PlatformChoice, RuntimeChoice};
use stampede_platforms::docker::{DockerConfig, DockerPlatform};
use stampede_platforms::{LocalConfig, LocalPlatform};
use stampede_report::terminal::paragraph;
use stampede_runtimes::Topologies;
use stampede_seam::Platform;

use stampede_vantage::Here;

use crate::exit::{Exit, Failure};
use crate::host::{Host, Lock};
use crate::{clean, folders, looker, looking, revisions, screen};

/// What every case of a plan is served under.
pub(crate) fn conditions(plan: &ComparePlan, pinning: CpuLayout) -> Result<Conditions, Failure> {
    let topology = plan.topology.clone();
    let certificate = topology.has_tls().then(stampede_platforms::self_made).transpose().map_err(Failure::missing)?;
    Ok(Conditions {
        limits: plan.limits,
        load: plan.load.clone(),
        beside: plan.beside.clone(),
        pinning,
        topology,
        certificate,
        services: plan.services.clone(),
        audits: plan.workload.audits.clone(),
    })
}

/// A platform that nobody else measures on.
pub(crate) struct Ground<'a> {
    host: &'a dyn Host,
    // Fields are dropped in this order: the platform first.
    pub(crate) platform: Box<dyn Platform>,
    pub(crate) _lock: Lock,
}

impl<'a> Ground<'a> {
    /// What it is part of.
    pub(crate) fn host(&self) -> &dyn Host {
        self.host
    }

    /// Waits for the lock, cleans up after Stampedes that were killed, and says what stands in the way of the limits. What is `beside`
    /// a plan has other runtimes or settings, and all else as the plan. Others who wait for the lock are told the `command`.
    pub(crate) async fn take(
        host: &'a dyn Host,
        command: &str,
        plan: &ComparePlan,
        beside: &[&ComparePlan],
        pinning: &CpuLayout,
        no_wait: bool,
        quiet: bool,
    ) -> Result<Self, Failure> {
        let lock = host.lock(&purpose(command, plan), no_wait).await?;
        let platform = host.platform(plan, beside, pinning.server.clone(), quiet).await?;
        for finding in platform.preflight(&plan.limits).await {
            if finding.severity > Severity::Info {
                screen::warning(&format!("{}; {}", finding.text, finding.advice));
            }
        }
        Ok(Self { host, platform, _lock: lock })
    }

    /// Prepares the plan's cases, and says what a look at an application found.
    pub(crate) async fn prepare(
        &self,
        plan: &ComparePlan,
        conditions: &Conditions,
        copies: &mut Copies,
        quiet: bool,
    ) -> Result<Vec<Prepared>, Failure> {
        let commands: BTreeSet<_> = plan.candidates.iter().flat_map(|candidate| &candidate.app.prepare).collect();
        for command in commands.iter().filter(|_| !quiet) {
            screen::note(&format!("preparing the application: {}", command.join(" ")));
        }
        let prepared = stampede_harness::prepare(&*self.platform, &Topologies, &plan.candidates, conditions, copies);
        let prepared = prepared.await;
        let (mut prepared, missing) = prepared.map_err(|error| match error {
            // The application is at fault itself.
            PrepareCasesError::App(_) => Failure { exit: Exit::TrialFailed, message: with_causes(&error) },
            PrepareCasesError::Render(_) => Failure::missing(error),
        })?;
        revisions::add(self.host, &mut prepared, &plan.candidates).await;
        if !quiet {
            looking::tell(plan, &prepared, &missing);
        }
        account_for_missing(plan, &prepared, &missing)?;
        Ok(prepared)
    }
}

/// The plan's platform, on these processors, with all that the runtimes of the plan and of those beside it need and that it can give
/// them.
pub(crate) async fn platform(
    plan: &ComparePlan,
    beside: &[&ComparePlan],
    server_cpus: Vec<u32>,
    quiet: bool,
) -> Result<Box<dyn Platform>, Failure> {
    match &plan.platform {
        PlatformChoice::Local => {
            let config = config(plan, server_cpus)?;
            // It cleans up after Stampedes that were killed, which may take a while.
            let platform = match tokio::task::spawn_blocking(|| LocalPlatform::new(config, Here::new())).await {
                Ok(platform) => platform.map_err(Failure::missing)?,
                Err(panic) => std::panic::resume_unwind(panic.into_panic()),
            };
            clean::tell(platform.cleaned());
            Ok(Box::new(platform))
        }
        PlatformChoice::Docker { base_image } => {
            Ok(Box::new(containers(base_image, plan, beside, server_cpus, quiet).await?))
        }
    }
}

/// Containers of this image, with all that the runtimes of a plan and of those beside it need.
pub(crate) async fn containers(
    base_image: &str,
    plan: &ComparePlan,
    beside: &[&ComparePlan],
    server_cpus: Vec<u32>,
    quiet: bool,
) -> Result<DockerPlatform, Failure> {
    let all = || [plan].into_iter().chain(beside.iter().copied());
    let config = DockerConfig {
        state_dir: folders::state(),
        cache_dir: folders::cache()?,
        server_cpus,
        ready_timeout: plan.ready_timeout,
        base_image: base_image.to_owned(),
        looker: (env::current_exe().map_err(Failure::missing)?, vec![looker::COMMAND.into()]),
        sources: all().flat_map(|plan| &plan.candidates).map(|candidate| candidate.app.source.clone()).collect(),
        parts: !plan.topology.is_single(),
        tell: if quiet { |_| {} } else { screen::note },
    };
    let platform = DockerPlatform::new(config, Here::new()).await.map_err(Failure::missing)?;
    clean::tell(platform.cleaned());
    platform.provide(&all().flat_map(needs).collect::<Vec<_>>()).await.map_err(Failure::missing)?;
    Ok(platform)
}

/// Whether a plan's platform has all that the plan's candidates need, or was given it now.
pub(crate) async fn has_all(
    host: &dyn Host,
    command: &str,
    plan: &ComparePlan,
    no_wait: bool,
    quiet: bool,
) -> Result<bool, Failure> {
    let _lock = host.lock(&purpose(command, plan), no_wait).await?;
    let platform = host.platform(plan, &[], host.cpus(), quiet).await?;
    for need in needs(plan) {
        if matches!(platform.detect(&need).await, Availability::Missing { .. }) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn needs(plan: &ComparePlan) -> Vec<Requirement> {
    let around = Topologies.requires(&plan.topology);
    around.into_iter().chain(plan.candidates.iter().flat_map(|candidate| candidate.needs(&candidate.app))).collect()
}

/// What the platform is told, for a plan that is served by these processors.
pub(crate) fn config(plan: &ComparePlan, server_cpus: Vec<u32>) -> Result<LocalConfig, Failure> {
    Ok(LocalConfig {
        warden: warden()?,
        state_dir: folders::state(),
        cache_dir: folders::cache()?,
        server_cpus,
        ready_timeout: plan.ready_timeout,
    })
}

/// How this program is started again as a warden.
fn warden() -> Result<Vec<OsString>, Failure> {
    let program = env::current_exe().map_err(Failure::missing)?;
    Ok(vec![program.into_os_string(), "__warden".into()])
}

/// What others who wait are told.
fn purpose(command: &str, plan: &ComparePlan) -> String {
    format!("{command} {}", plan.workload.id)
}

/// A missing runtime that was named ends the command; one that was not is left out and said so.
fn account_for_missing(plan: &ComparePlan, prepared: &[Prepared], missing: &[Missing]) -> Result<(), Failure> {
    let line = |Missing { case, what, install }: &Missing| format!("{case} needs {what}: {install}");
    let lines = missing.iter().map(line).collect::<Vec<_>>().join("\n");
    if prepared.is_empty() && missing.is_empty() {
        return Err(Failure::usage("no runtime can serve this workload; see stampede list runtimes"));
    }
    if prepared.is_empty() || (plan.choice == RuntimeChoice::Named && !missing.is_empty()) {
        return Err(Failure::missing(lines));
    }
    // A look at an application says so of each runtime.
    if plan.look.is_none() && plan.choice != RuntimeChoice::Named {
        let unable = plan.unable.iter().map(|(runtime, kinds)| format!("{runtime}, which serves {}", kinds.join(", ")));
        for line in lines.lines().map(str::to_owned).chain(unable) {
            screen::note(&paragraph(&format!("left out: {line}"), 4, screen::width()));
        }
    }
    Ok(())
}
