//! The platform of a plan: this machine, or containers.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use rustix::process::geteuid;
use stampede_conduct::{Failure, needs};
use stampede_core::{App, shell_line};
use stampede_drive::Demand;
use stampede_load::Backend;
use stampede_plan::{ComparePlan, PlatformChoice, Software};
use stampede_platforms::docker::{DockerConfig, DockerPlatform, SoftwareSource};
use stampede_platforms::{LocalConfig, LocalPlatform, scope};
use stampede_seam::{Platform, Vantage};
use stampede_vantage::Here;

use crate::cluster_platform::in_cluster;
use crate::folders::{cache_folder, state_folder};
use crate::onlooker::Onlooker;

/// The command that this program is started with in a container, to look around; its argument is the questions.
pub const LOOK: &str = "__look";

/// The plan's platform, on these processors, with all that the runtimes of the plan and of those beside it need and that it can give
/// them.
pub(crate) async fn platform(
    plan: &ComparePlan,
    beside: &[&ComparePlan],
    server_cpus: Vec<u32>,
    onlooker: Onlooker<'_>,
) -> Result<Box<dyn Platform>, Failure> {
    match &plan.platform {
        PlatformChoice::Local => {
            let config = local_config(plan, server_cpus)?;
            let vantage = vantage(plan, onlooker).await?;
            // It cleans up after Stampedes that were killed, which may take a while.
            let platform = match tokio::task::spawn_blocking(|| LocalPlatform::new(config, vantage)).await {
                Ok(platform) => platform.map_err(Failure::missing)?,
                Err(panic) => std::panic::resume_unwind(panic.into_panic()),
            };
            onlooker.cleaned(platform.cleaned());
            Ok(Box::new(platform))
        }
        PlatformChoice::Docker { software } => {
            // Images that serve by themselves need no other.
            let all = [plan].into_iter().chain(beside.iter().copied());
            let is_needed = all.clone().any(|plan| plan.yard_stick)
                || all.flat_map(|plan| &plan.candidates).any(|candidate| !candidate.runtime.serves_images());
            let software = if is_needed { software_source(software) } else { SoftwareSource::Nowhere };
            Ok(Box::new(containers(software, plan, beside, server_cpus, onlooker).await?))
        }
        PlatformChoice::Kubernetes(choice) => Ok(Box::new(in_cluster(choice, plan, beside, onlooker).await?)),
    }
}

/// Where the runtimes of a plan in containers come from.
#[must_use]
pub fn software_source(software: &Software) -> SoftwareSource {
    match software {
        Software::Makers => SoftwareSource::Makers { kept: None },
        Software::Kept(record) => SoftwareSource::Makers { kept: Some(record.clone()) },
        Software::Upon(image) => SoftwareSource::Upon(image.clone()),
    }
}

/// The line that does as root what this command does, where that would let it limit what it starts.
pub(crate) fn again_as_root() -> Option<String> {
    let helps = !geteuid().is_root() && scope::root_can_limit(Path::new("/"));
    let program = env::current_exe().ok().filter(|_| helps)?;
    Some(as_root(&program.to_string_lossy(), env::args().skip(1)))
}

fn as_root(program: &str, args: impl Iterator<Item = String>) -> String {
    shell_line(["sudo".to_owned(), program.to_owned()].into_iter().chain(args))
}

/// Containers with all that the runtimes of a plan and of those beside it need.
///
/// # Errors
///
/// When the engine is not there, or cannot give them that.
pub async fn containers(
    software: SoftwareSource,
    plan: &ComparePlan,
    beside: &[&ComparePlan],
    server_cpus: Vec<u32>,
    onlooker: Onlooker<'_>,
) -> Result<DockerPlatform, Failure> {
    let all = || [plan].into_iter().chain(beside.iter().copied());
    let config = DockerConfig {
        state_dir: state_folder(),
        cache_dir: cache_folder()?,
        server_cpus,
        ready_timeout: plan.ready_timeout,
        software,
        offline: plan.offline,
        warden: warden()?,
        looker: (env::current_exe().map_err(Failure::missing)?, vec![LOOK.into()]),
        sources: all().flat_map(|plan| &plan.candidates).map(|candidate| candidate.app.source.clone()).collect(),
        composer: all().flat_map(|plan| &plan.candidates).any(|candidate| needs_composer(&candidate.app)),
        parts: !plan.topology.is_single(),
        tell: if onlooker.quiet { |_| {} } else { onlooker.tell },
    };
    let vantage = vantage(plan, onlooker).await?;
    let platform = DockerPlatform::new(config, vantage).await.map_err(Failure::missing)?;
    onlooker.cleaned(platform.cleaned());
    platform.provide(&all().flat_map(needs).collect::<Vec<_>>()).await.map_err(Failure::missing)?;
    Ok(platform)
}

/// Whether an application is prepared by Composer.
fn needs_composer(app: &App) -> bool {
    app.prepare.iter().any(|command| command.first().is_some_and(|program| program == "composer"))
}

/// The vantage of a plan, by its generators where it has some.
async fn vantage(plan: &ComparePlan, onlooker: Onlooker<'_>) -> Result<Arc<dyn Vantage>, Failure> {
    let purpose = format!("compare {}", plan.workload.id);
    // This process is on the processors of the load; the backend is found later, and epoll is what all machines have.
    let cpus = stampede_platforms::available_cpus();
    let demand = Demand { purpose: &purpose, loads: vec![&plan.load], cpus: &cpus, backend: Backend::Epoll };
    stampede_drive::vantage(Here::new(), &plan.generators, Vec::new(), demand, (onlooker.notices, onlooker.quiet)).await
}

/// What the platform of this machine's processes is told, for a plan that is served by these processors.
///
/// # Errors
///
/// When this program's file, or the user's cache, is not known.
pub fn local_config(plan: &ComparePlan, server_cpus: Vec<u32>) -> Result<LocalConfig, Failure> {
    Ok(LocalConfig {
        warden: warden()?,
        state_dir: state_folder(),
        cache_dir: cache_folder()?,
        server_cpus,
        listen: plan.listen,
        ready_timeout: plan.ready_timeout,
        goes_first: goes_first(),
    })
}

/// Whether what is measured goes before other programs of this machine. Not where `STAMPEDE_POLITE` is set.
pub(crate) fn goes_first() -> bool {
    env::var_os("STAMPEDE_POLITE").is_none()
}

/// How this program is started again as a warden.
fn warden() -> Result<Vec<OsString>, Failure> {
    let program = env::current_exe().map_err(Failure::missing)?;
    Ok(vec![program.into_os_string(), "__warden".into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_for_root_is_what_was_typed() {
        let args = ["compare", "my app", "--set", "a=it's", ""].map(str::to_owned);
        assert_eq!(
            as_root("/usr/bin/stampede", args.into_iter()),
            r"sudo /usr/bin/stampede compare 'my app' --set 'a=it'\''s' ''"
        );
    }
}
