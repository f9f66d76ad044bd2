//! What is installed on this machine, and what is missing.

use std::path::PathBuf;

use stampede_catalogue::BuiltIn;
use stampede_core::{
    App, AppKind, Availability, Balance, Balancer, BalancerKind, Candidate, CaseId, Composer as _, Requirement,
    Runtime, ServiceKind, Topology,
};
use stampede_plan::Catalogue as _;
use stampede_platforms::DetectedNeeds;
use stampede_runtimes::{Topologies, service_requires, service_title};

/// Something that studies use and that has to be installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installable {
    /// Its name in plans.
    pub name: String,
    /// What it is.
    pub title: String,
    /// The version that was found, where nothing is missing.
    pub version: Option<String>,
    /// What is missing and how to get it, a sentence each.
    pub missing: Vec<String>,
}

/// All runtimes.
pub async fn runtimes() -> Vec<Installable> {
    let mut all = Vec::new();
    for runtime in BuiltIn.runtimes() {
        let DetectedNeeds { programs, missing, .. } = look(*runtime).await;
        let version = missing.is_empty().then(|| runtime.version(&programs));
        all.push(Installable { name: runtime.id().to_string(), title: runtime.title().to_owned(), version, missing });
    }
    all
}

/// The names of the runtimes that are installed. One that needs nothing is not among them.
pub async fn installed_runtimes() -> Vec<String> {
    let mut installed = Vec::new();
    for runtime in BuiltIn.runtimes() {
        let DetectedNeeds { programs, missing, .. } = look(*runtime).await;
        if missing.is_empty() && !programs.is_empty() {
            installed.push(runtime.id().to_string());
        }
    }
    installed
}

/// Which of these cases cannot run here: what each lacks and how to get it, a sentence. Packages of PHP do not count, since commands
/// under `prepare` may bring them.
pub async fn lacking(candidates: &[Candidate]) -> Vec<(CaseId, String)> {
    let mut lacking = Vec::new();
    for candidate in candidates {
        let missing = without_packages(candidate.needs(&candidate.app)).await.missing;
        if !missing.is_empty() {
            lacking.push((candidate.id.clone(), missing.join("; ")));
        }
    }
    lacking
}

/// What a runtime needs whatever it serves.
async fn look(runtime: &dyn Runtime) -> DetectedNeeds {
    let kinds = [
        AppKind::FrontController { index: PathBuf::from("index.php") },
        AppKind::Psr15Handler { handler: PathBuf::from("handler.php") },
        AppKind::PhpFunction { script: PathBuf::from("function.php"), function: "hello".to_owned() },
        AppKind::GoProgram,
        AppKind::GoFunction { module: "hello".to_owned(), package: "hello".to_owned(), function: "Hello".to_owned() },
    ];
    // Of several kinds one is enough.
    let Some(kind) = kinds.into_iter().find(|kind| runtime.serves(kind)) else { return DetectedNeeds::default() };
    // Packages belong to an application, and there is none here.
    without_packages(runtime.requires(&App::new("", kind))).await
}

async fn without_packages(mut needs: Vec<Requirement>) -> DetectedNeeds {
    needs.retain(|need| !matches!(need, Requirement::PhpPackage { .. }));
    DetectedNeeds::here(&needs).await
}

/// All balancers and services.
pub async fn services() -> Vec<Installable> {
    let balancers = BalancerKind::ALL.into_iter().map(|kind| {
        let balancer = Balancer { kind, balance: Balance::RoundRobin, upstream_keepalive: 0, tls: false, share: None };
        let topology = Topology { balancer: Some(balancer), ..Topology::default() };
        (kind.id(), "balancer in front of replicas", Topologies.requires(&topology))
    });
    let services = ServiceKind::ALL.into_iter().map(|kind| (kind.id(), service_title(kind), service_requires(kind)));
    let mut all = Vec::new();
    for (name, title, needs) in balancers.chain(services) {
        let mut version = None;
        let mut missing = Vec::new();
        for need in needs {
            match stampede_platforms::detect(&need).await {
                Availability::Found(found) => version = version.or(Some(found.version)),
                Availability::Missing { what, install } => missing.push(format!("needs {what}: {install}")),
            }
        }
        let version = version.filter(|_| missing.is_empty());
        all.push(Installable { name: name.to_owned(), title: title.to_owned(), version, missing });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whatever_can_be_installed_has_a_version_or_what_is_missing() {
        let all = [runtimes().await, services().await].concat();
        assert!(all.len() > 15, "{all:?}");
        for Installable { name, title, version, missing } in &all {
            assert!(!title.is_empty() && version.is_some() == missing.is_empty(), "{name}: {version:?} {missing:?}");
        }
        let installed = installed_runtimes().await;
        assert!(installed.iter().all(|name| all.iter().any(|one| one.name == *name && one.version.is_some())));
    }
}
