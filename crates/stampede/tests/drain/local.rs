//! The platform `local` as a test's own, and what it finds on this machine.

use std::time::Duration;

use stampede_core::{Availability, Programs, Requirement};
use stampede_platforms::{LocalConfig, LocalPlatform, available_cpus};
use stampede_seam::Platform;
use stampede_vantage::Here;

use crate::stage::Stage;

pub(crate) fn platform(stage: &Stage) -> LocalPlatform {
    let config = LocalConfig {
        warden: vec![env!("CARGO_BIN_EXE_stampede").into(), "__warden".into()],
        state_dir: stage.state().to_owned(),
        cache_dir: stage.home().join("builds"),
        server_cpus: available_cpus(),
        listen: std::net::Ipv4Addr::LOCALHOST.into(),
        ready_timeout: Duration::from_secs(30),
        goes_first: false,
    };
    LocalPlatform::new(config, Here::new()).unwrap()
}

pub(crate) async fn find(platform: &LocalPlatform, needs: &[Requirement]) -> Programs {
    let mut programs = Programs::new();
    for need in needs {
        match platform.detect(need, None).await {
            Availability::Found(found) => drop(need.key().map(|key| programs.insert(key.to_owned(), found))),
            Availability::Missing { what, .. } => panic!("needs {what}"),
        }
    }
    programs
}
