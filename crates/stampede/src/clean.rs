//! `stampede clean`: finishes the job of Stampedes that were killed, and removes images that were built.

pub(crate) mod args;

use stampede_machine::state_folder;
use stampede_platforms::docker::RemovedImages;
use stampede_platforms::{CleanReport, docker};

use crate::clean::args::CleanArgs;
use crate::exit::{Exit, Failure};
use crate::kubernetes::args::{CleanClusterArgs, CleanedPlatform};
use crate::notices::ONLOOKER;
use crate::{Outcome, kubernetes, screen};

pub(crate) fn run(args: &CleanArgs) -> Outcome {
    let CleanArgs { images, cluster: CleanClusterArgs { platform, cluster } } = args;
    if let Some(CleanedPlatform::Kubernetes) = platform {
        return kubernetes::clean(cluster);
    }
    if cluster.kube_context.is_some() || cluster.namespace.is_some() {
        return Err(Failure::usage("--kube-context and --namespace belong to a cluster; give --platform kubernetes"));
    }
    let report = stampede_platforms::clean(&state_folder());
    ONLOOKER.cleaned(&report);
    let images = if *images { docker::remove_images().map_err(Failure::missing)? } else { RemovedImages::default() };
    let RemovedImages { removed, upon } = images;
    for image in &removed {
        screen::note(&format!("removed the image {image}"));
    }
    if !upon.is_empty() {
        let upon = upon.into_iter().collect::<Vec<_>>().join(" ");
        screen::note(&format!("the images that they were built on are kept; to remove those too: docker rmi {upon}"));
    }
    let CleanReport { done, problems, alive } = &report;
    if *alive > 0 {
        screen::note(&format!("kept: {alive} of a Stampede that is still running"));
    }
    if done.is_empty() && problems.is_empty() && removed.is_empty() {
        screen::note("nothing to clean");
    }
    if problems.is_empty() { Ok(Exit::Done) } else { Err(Failure::missing("not everything could be cleaned")) }
}
