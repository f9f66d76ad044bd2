//! What is said of a cluster, and what is measured in one.

use stampede_core::{
    AppKind, BlockOrder, Bytes, Candidate, Carrier, Cpus, ImageSource, Limits, Service, ServiceKind, Topology, Volume,
};

use crate::block_order::OrderChoice;
use crate::flags::{ClusterFlags, PodFlags};
use crate::generators::{read_generators, read_generators_of_servers_here};
use crate::image::is_image;
use crate::machine_size::MachineSize;
use crate::mistake::Gathered;
use crate::platform::{ClusterChoice, KUBERNETES, PlatformChoice};

/// Less CPU time than the kernel can enforce, in thousandths of a processor.
const LEAST_MILLIS: u32 = 10;

/// More processors than a node has. How many there are is found out when a pod is placed.
const MOST_CPUS: u32 = 4096;

/// The size of what deployments run on, by the platform that was asked for: nodes are as large as they are.
pub(crate) fn size(platform: Option<&str>, machine: MachineSize) -> MachineSize {
    if platform == Some(KUBERNETES) {
        return MachineSize { cpus: MOST_CPUS, memory: Bytes::new(u64::MAX), ..machine };
    }
    machine
}

/// The platform with what flags say of its cluster, and who drives the load.
pub(crate) fn read(
    platform: PlatformChoice,
    flags: &PodFlags,
    generators: Option<&str>,
    mistakes: &mut Gathered,
) -> (PlatformChoice, Vec<Carrier>) {
    let PodFlags { cluster: ClusterFlags { kube_context, namespace }, generator_image, generator_cpus } = flags;
    let PlatformChoice::Kubernetes(_) = platform else {
        let given = [
            ("--kube-context", kube_context.is_some()),
            ("--namespace", namespace.is_some()),
            ("--generator-image", generator_image.is_some()),
            ("--generator-cpus", generator_cpus.is_some()),
        ];
        for (flag, _) in given.iter().filter(|(_, is_given)| *is_given) {
            mistakes.add(*flag, "belongs to a cluster", format!("add --platform {KUBERNETES}, or leave it out"));
        }
        return (platform, read_generators_of_servers_here(generators, mistakes));
    };
    let mut carriers = read_generators(generators, mistakes);
    if carriers.iter().any(|carrier| *carrier != Carrier::Kubernetes) {
        let place = format!("--generators {}", generators.unwrap_or_default());
        mistakes.add(place, "has generators that are no pods", "for example --generators kubernetes:2");
    }
    if carriers.is_empty() {
        carriers = vec![Carrier::Kubernetes];
    }
    let image = generator_image.clone().unwrap_or_else(|| {
        let fix = "add --generator-image REGISTRY/stampede:TAG";
        let problem = "needs an image with this version of Stampede, for generators";
        mistakes.add(format!("--platform {KUBERNETES}"), problem, fix);
        String::new()
    });
    let cpus = generator_cpus.unwrap_or(1.0);
    if !(0.01..=1000.0).contains(&cpus) {
        mistakes.add(format!("--generator-cpus {cpus}"), "is not a number of processors", "for example 0.5");
    }
    let cpus = Cpus::from_millis((cpus.clamp(0.01, 1000.0) * 1000.0).round() as u32);
    let (context, namespace) = (kube_context.clone(), namespace.clone());
    let choice = ClusterChoice { context, namespace, image, cpus, node: None, scales: false };
    (PlatformChoice::Kubernetes(choice), carriers)
}

/// Sees that a cluster can serve these, and measures them in this order. `--inside` looks into processes, which is not tried there.
pub(crate) fn check(
    platform: &PlatformChoice,
    candidates: &[Candidate],
    order: OrderChoice,
    inside: bool,
    mistakes: &mut Gathered,
) -> OrderChoice {
    if !matches!(platform, PlatformChoice::Kubernetes(_)) {
        return order;
    }
    let is_image = |candidate: &Candidate| matches!(candidate.app.kind, AppKind::Image(_));
    if !candidates.iter().any(is_image) {
        mistakes.add(format!("--platform {KUBERNETES}"), "serves images that exist", "give --image NAME");
    } else {
        for candidate in candidates {
            if let Some((problem, fix)) = problem(&candidate.app.kind) {
                mistakes.add(format!("case {}", candidate.id), problem, fix);
            }
        }
    }
    if inside {
        mistakes.add("--inside", "is for servers of this machine", "leave it out");
    }
    if order == OrderChoice::Always(BlockOrder::Turns) {
        let problem = "has all cases up together, and in a cluster they are measured one after the other";
        mistakes.add("--order turns", problem, "use --order windows");
    }
    OrderChoice::Always(BlockOrder::Windows)
}

/// What is around images that is not a case's own: in a cluster, services are images beside them.
pub(crate) fn around_images(platform: &PlatformChoice, topology: &Topology) -> Topology {
    let is_cluster = matches!(platform, PlatformChoice::Kubernetes(_));
    Topology { services: if is_cluster { Vec::new() } else { topology.services.clone() }, ..topology.clone() }
}

/// Gives the services of a cluster their images: as they are written, or their makers'.
pub(crate) fn give_images<'a>(
    topology: &mut Topology,
    written: impl Fn(ServiceKind) -> Option<(String, &'a str)>,
    in_cluster: bool,
    mistakes: &mut Gathered,
) {
    for Service { kind, share, image, .. } in &mut topology.services {
        let (name, place) = (kind.id(), format!("--services {}", kind.id()));
        match (written(*kind), kind.image()) {
            (Some((place, _)), _) if !in_cluster => {
                let problem = format!("is for {name} in a cluster: elsewhere it is a program");
                mistakes.add(place, problem, format!("add --platform {KUBERNETES}, or leave it out"));
            }
            _ if !in_cluster => {}
            (_, None) => {
                let variable = if *kind == ServiceKind::Redis { "REDIS_URL" } else { "DATABASE_URL" };
                let fix =
                    format!("leave it out, and give the address of one that is there: --set image.{variable}=...");
                mistakes.add(place, "is not started in a cluster", fix);
            }
            (Some((place, named)), _) if !is_image(named) => {
                mistakes.add(place, "is not the name of an image", "for example image: postgres:17");
            }
            (written, Some(makers)) => {
                *image = Some(written.map_or(makers, |(_, named)| named).to_owned());
                if share.is_none() {
                    let fix = format!("add --share {name}=0.5,512Mi, which is a part of --cpus and --memory");
                    mistakes.add(place, "has no share, and a pod of its own needs one", fix);
                }
            }
        }
    }
}

/// The smallest amount of memory that the kernel counts.
const PAGE: u64 = 4096;

/// Sees that each pod can have an equal part of what services leave of the limits, which the kernel then holds it to exactly.
pub(crate) fn check_replicas(
    platform: &PlatformChoice,
    topology: &Topology,
    Limits { cpus, memory }: &Limits,
    mistakes: &mut Gathered,
) {
    let replicas = topology.replicas.max(1);
    if !matches!(platform, PlatformChoice::Kubernetes(_)) || replicas == 1 {
        return;
    }
    let (taken_cpus, taken) = topology.shared_out();
    let without = if topology.services.is_empty() { "" } else { " without its services' shares" };
    let problem = format!("{without} cannot be shared out equally among {replicas} replicas");
    let problem = problem.trim_start();
    let (millis, left) = (cpus.millis().saturating_sub(taken_cpus.millis()), memory.get().saturating_sub(taken.get()));
    let each = millis / replicas;
    if each < LEAST_MILLIS || !millis.is_multiple_of(replicas) {
        let whole = Cpus::from_millis(each.max(LEAST_MILLIS) * replicas + taken_cpus.millis());
        mistakes.add(format!("--cpus {cpus}"), problem, format!("for example --cpus {whole}"));
    }
    let of_pages = PAGE * u64::from(replicas);
    if !left.is_multiple_of(of_pages) {
        let whole = ((left >> 20).next_multiple_of(u64::from(replicas)) << 20) + taken.get();
        mistakes.add(format!("--memory {memory}"), problem, format!("for example --memory {}", Bytes::new(whole)));
    }
}

/// Why a cluster cannot serve an application, and what to do.
fn problem(kind: &AppKind) -> Option<(&'static str, &'static str)> {
    let AppKind::Image(image) = kind else {
        return Some(("is no image, and a cluster serves images that exist", "give --image NAME in place of it"));
    };
    match &image.source {
        ImageSource::Named(_) | ImageSource::Kept { .. } => {}
        ImageSource::Dockerfile(_) => {
            return Some(("is built on this machine", "build and push it, and give --image NAME"));
        }
        ImageSource::Compose(_) => return Some(("is of several images", "give one with --image NAME")),
    }
    if image.front.is_some() || image.root.is_some() {
        return Some(("has a web server put before it", "name an image that has its own"));
    }
    let is_shown = |volume: &Volume| !matches!(volume, Volume::Empty { .. });
    image
        .volumes
        .iter()
        .any(is_shown)
        .then_some(("shows files of this machine", "put them into the image; empty volumes can stay"))
}

#[cfg(test)]
mod tests {
    use stampede_core::ImageApp;

    use super::*;

    fn told(read: impl FnOnce(&mut Gathered)) -> Vec<String> {
        let mut mistakes = Gathered::default();
        read(&mut mistakes);
        mistakes.finish(Ok(())).err().map(|told| told.0.iter().map(ToString::to_string).collect()).unwrap_or_default()
    }

    #[test]
    fn flags_of_a_cluster_belong_together() {
        let flags = |image: Option<&str>, cpus: Option<f64>| PodFlags {
            cluster: ClusterFlags::default(),
            generator_image: image.map(str::to_owned),
            generator_cpus: cpus,
        };
        let cluster = || PlatformChoice::Kubernetes(ClusterChoice::default());
        for (name, platform, flags, generators, expected) in [
            ("all", cluster(), flags(Some("r/s:1"), Some(0.5)), Some("kubernetes:2"), None),
            ("one generator by default", cluster(), flags(Some("r/s:1"), None), None, None),
            ("no image", cluster(), flags(None, None), None, Some("needs an image with this version of Stampede")),
            ("no processors", cluster(), flags(Some("r/s:1"), Some(0.0)), None, Some("is not a number of processors")),
            (
                "a local one",
                cluster(),
                flags(Some("r/s:1"), None),
                Some("local"),
                Some("has generators that are no pods"),
            ),
            ("servers here", PlatformChoice::Local, flags(Some("r/s:1"), None), None, Some("belongs to a cluster")),
            ("pods for servers here", PlatformChoice::Local, flags(None, None), Some("kubernetes"), Some("has pods")),
        ] {
            let told = told(|mistakes| drop(read(platform, &flags, generators, mistakes)));
            assert_eq!(told.len(), usize::from(expected.is_some()), "{name}: {told:?}");
            assert!(expected.is_none_or(|words| told[0].contains(words)), "{name}: {told:?}");
        }
        let (platform, carriers) =
            read(cluster(), &flags(Some("r/s:1"), Some(0.5)), Some("kubernetes:2"), &mut Gathered::default());
        assert_eq!(carriers.len(), 2);
        assert!(matches!(platform, PlatformChoice::Kubernetes(choice) if choice.cpus == Cpus::from_millis(500)));
    }

    #[test]
    fn each_pod_has_an_equal_part() {
        let limits = |millis, mib| Limits { cpus: Cpus::from_millis(millis), memory: Bytes::from_mib(mib) };
        let cluster = PlatformChoice::Kubernetes(ClusterChoice::default());
        for (name, replicas, limits, expected) in [
            ("one", 1, limits(333, 100), &[][..]),
            ("four", 4, limits(400, 256), &[]),
            ("pages that are no whole MiB", 32, limits(320, 100), &[]),
            (
                "thousandths",
                3,
                limits(1000, 300),
                &["--cpus 1 cannot be shared out equally among 3 replicas; for example --cpus 0.999"],
            ),
            (
                "both",
                3,
                limits(20, 256),
                &[
                    "--cpus 0.02 cannot be shared out equally among 3 replicas; for example --cpus 0.03",
                    "--memory 256Mi cannot be shared out equally among 3 replicas; for example --memory 258Mi",
                ],
            ),
        ] {
            let topology = Topology { replicas, ..Topology::default() };
            let told = told(|mistakes| check_replicas(&cluster, &topology, &limits, mistakes));
            assert_eq!(told, expected, "{name}");
        }
    }

    #[test]
    fn services_of_a_cluster_are_images_with_a_share() {
        let share = Some(Limits { cpus: Cpus::from_millis(100), memory: Bytes::from_mib(64) });
        let of = |kind, share| Topology {
            services: vec![Service { kind, settings: Default::default(), share, image: None }],
            ..Topology::default()
        };
        for (name, kind, share, written, in_cluster, expected) in [
            ("its makers'", ServiceKind::Postgres, share, None, true, Ok(Some("postgres:18"))),
            ("MariaDB", ServiceKind::Mariadb, share, None, true, Ok(Some("mariadb:11.8"))),
            ("written", ServiceKind::Postgres, share, Some("r/pg:1"), true, Ok(Some("r/pg:1"))),
            ("a program", ServiceKind::Redis, None, None, false, Ok(None)),
            (
                "no share",
                ServiceKind::Postgres,
                None,
                None,
                true,
                Err(
                    "--services postgres has no share, and a pod of its own needs one; add --share postgres=0.5,512Mi, which \
                     is a part of --cpus and --memory",
                ),
            ),
            (
                "Redis",
                ServiceKind::Redis,
                share,
                Some("redis:8"),
                true,
                Err(
                    "--services redis is not started in a cluster; leave it out, and give the address of one that is there: \
                     --set image.REDIS_URL=...",
                ),
            ),
            (
                "a pool",
                ServiceKind::Pgbouncer,
                share,
                None,
                true,
                Err(
                    "--services pgbouncer is not started in a cluster; leave it out, and give the address of one that is \
                     there: --set image.DATABASE_URL=...",
                ),
            ),
            (
                "an image elsewhere",
                ServiceKind::Postgres,
                None,
                Some("postgres:17"),
                false,
                Err(
                    "p:1:1 image is for postgres in a cluster: elsewhere it is a program; add --platform kubernetes, or \
                     leave it out",
                ),
            ),
            (
                "no name",
                ServiceKind::Postgres,
                share,
                Some("a b"),
                true,
                Err("p:1:1 image is not the name of an image; for example image: postgres:17"),
            ),
        ] {
            let mut topology = of(kind, share);
            let written = |_: ServiceKind| written.map(|image| ("p:1:1 image".to_owned(), image));
            let told = told(|mistakes| give_images(&mut topology, written, in_cluster, mistakes));
            match expected {
                Ok(image) => {
                    assert_eq!((topology.services[0].image.as_deref(), &told[..]), (image, &[][..]), "{name}");
                }
                Err(words) => assert_eq!(told, [words], "{name}"),
            }
        }
        let beside = of(ServiceKind::Postgres, share);
        let cluster = PlatformChoice::Kubernetes(ClusterChoice::default());
        assert!(around_images(&cluster, &beside).is_single());
        assert!(!around_images(&PlatformChoice::Local, &beside).is_single());
    }

    #[test]
    fn replicas_have_equal_parts_of_what_services_leave() {
        let cluster = PlatformChoice::Kubernetes(ClusterChoice::default());
        let limits = |millis, mib| Limits { cpus: Cpus::from_millis(millis), memory: Bytes::from_mib(mib) };
        let service = |millis, mib| Service {
            kind: ServiceKind::Postgres,
            settings: Default::default(),
            share: Some(limits(millis, mib)),
            image: None,
        };
        for (share, expected) in [
            (service(100, 128), &[][..]),
            (
                service(101, 129),
                &[
                    "--cpus 0.5 without its services' shares cannot be shared out equally among 2 replicas; for example --cpus 0.499",
                ][..],
            ),
        ] {
            let topology = Topology { replicas: 2, services: vec![share], ..Topology::default() };
            let told = told(|mistakes| check_replicas(&cluster, &topology, &limits(500, 256), mistakes));
            assert_eq!(told, expected);
        }
    }

    #[test]
    fn a_cluster_serves_images_that_exist() {
        let named = || ImageApp::of(ImageSource::Named("shop:1".to_owned()));
        let with = |volume: Volume| ImageApp { volumes: vec![volume], ..named() };
        for (name, image, expected) in [
            ("a name", named(), None),
            ("an empty volume", with(Volume::Empty { at: "/var".to_owned() }), None),
            (
                "a file of this machine",
                with(Volume::Shown { from: "/a".into(), at: "/b".to_owned() }),
                Some("shows files of this machine"),
            ),
            ("a Dockerfile", ImageApp::of(ImageSource::Dockerfile(".".into())), Some("is built on this machine")),
            ("a root", ImageApp { root: Some("/app".to_owned()), ..named() }, Some("has a web server put before it")),
        ] {
            assert_eq!(problem(&AppKind::Image(image)).map(|(problem, _)| problem), expected, "{name}");
        }
    }
}
