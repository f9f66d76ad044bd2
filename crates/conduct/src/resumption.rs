//! `--resume`: which interrupted study is meant, and whether what was typed now is still that study.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::time::Duration;

use stampede_core::{
    Carrier, Case, CaseId, CpuLayout, Denied, Load, LoadShare, PhpBuild, PhpModule, PhpSetup, Revision, Sending, Site,
    Slo, Study, StudyId, StudyKind, Topology, Trial,
};
use stampede_plan::{ComparePlan, OrderChoice};
use stampede_store::{Store, StoredStudy, StudyRow};

use crate::exit::Failure;
use crate::record::StudyRecord;

/// The study of this name, or the newest of this kind that was not finished. One that another Stampede is measuring now looks
/// like one that was interrupted: only with the lock on measuring is it known that there is none.
pub(crate) fn find(store: &Store, name: Option<&str>, kind: StudyKind) -> Result<StoredStudy, Failure> {
    let rows = store.studies().map_err(Failure::missing)?;
    let name = match name {
        Some(name) => name.to_owned(),
        None => {
            // The parts of a search for settings are its own to resume.
            let is_part = |id: &StudyId| id.as_str().contains('.');
            let is_meant = |row: &&StudyRow| {
                row.kind == kind && row.finished_at.is_none() && row.imported_at.is_none() && !is_part(&row.id)
            };
            let unfinished = rows.iter().find(is_meant);
            let row = unfinished.ok_or_else(|| {
                let kind = match kind {
                    StudyKind::Compare => "comparison",
                    StudyKind::Calibrate => "calibration",
                    StudyKind::Gate => "gate",
                    StudyKind::Capacity => "search for a capacity",
                    StudyKind::Why => "search for a cause",
                    StudyKind::Tune => "search for settings",
                    StudyKind::Scale => "autoscaled service",
                    StudyKind::OwnRates => "measurement at own rates",
                };
                Failure::usage(format!("--resume finds no interrupted {kind}; leave it out to start one"))
            })?;
            row.id.as_str().to_owned()
        }
    };
    let stored = store.load(&name).map_err(Failure::unknown_or_missing)?;
    match stored.finished_at {
        Some(finished_at) => Err(Failure::usage(format!(
            "study {} was finished {finished_at:.0}; leave out --resume to start a new one",
            stored.study.id
        ))),
        None if rows.iter().any(|row| row.id == stored.study.id && row.imported_at.is_some()) => {
            Err(Failure::usage(format!(
                "study {} was measured elsewhere and imported; leave out --resume to start a new one",
                stored.study.id
            )))
        }
        None => Ok(stored),
    }
}

/// Sees that the study that would begin now is the stored one, so that its trials can stand beside the new ones.
///
/// `plan` is what was asked for, and whether pilots would choose the length of windows; `backend` is how load would be driven.
pub(crate) fn check(
    stored: &StoredStudy,
    now: &Study,
    plan: &ComparePlan,
    window_by_pilots: bool,
    backend: impl Display,
) -> Result<(), Failure> {
    let asked = Asked { seed: plan.seed, pilots: plan.pilots, order: plan.order, window_by_pilots };
    let mut differences = differences(&stored.study, now, asked);
    let sending = |trial: &Trial| trial.measurement.as_ref()?.sending.clone();
    if let Some(Sending { backend: then, .. }) = stored.trials.iter().find_map(sending) {
        differ(&mut differences, "backend", &then, &backend.to_string());
    }
    if differences.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = differences.iter().map(|difference| format!("\n  {difference}")).collect();
    Err(Failure::usage(format!(
        "cannot resume study {}: its settings differ:{}\n  repeat its command line, or leave out --resume",
        stored.study.id,
        lines.concat()
    )))
}

/// What was asked for, as far as a study that has not begun does not show it.
struct Asked {
    seed: Option<u64>,
    pilots: bool,
    order: OrderChoice,
    window_by_pilots: bool,
}

/// What is not as it was, each as a line.
fn differences(then: &Study, now: &Study, asked: Asked) -> Vec<String> {
    let Study {
        id: _,
        kind,
        workload,
        seed,
        rounds,
        precision,
        // A study goes on as it began.
        errors: _,
        metric,
        slo,
        warm_up,
        duration,
        order,
        started_at: _,
        stampede_version,
        machine,
        cases,
        groundwork,
        resumed_at: _,
        time_over_at: _,
        // It goes on in windows, where turns did not hold.
        windows_from: _,
        chosen: requests,
    } = then;
    let mut found = Vec::new();
    differ(&mut found, "question", &format!("{kind:?}").to_lowercase(), &format!("{:?}", now.kind).to_lowercase());
    differ(&mut found, "workload", workload, &now.workload);
    differ(&mut found, "requests and database", requests, &now.chosen);
    differ(&mut found, "seed", seed, &asked.seed.unwrap_or(*seed));
    differ(&mut found, "rounds", &format!("{rounds:?}"), &format!("{:?}", now.rounds));
    differ(&mut found, "precision", precision, &now.precision);
    let chosen = |metric: &Option<String>| metric.clone().unwrap_or_else(|| "that of the load".to_owned());
    differ(&mut found, "metric", &chosen(metric), &chosen(&now.metric));
    let terms = |slo: &Option<Slo>| slo.as_ref().map_or_else(|| "none".to_owned(), Slo::to_string);
    differ(&mut found, "SLO", &terms(slo), &terms(&now.slo));
    let had_pilots = !groundwork.warm_ups.is_empty();
    let of_warm_up = |pilots, length| if pilots { "by pilots".to_owned() } else { format!("{length:?}") };
    differ(&mut found, "warm-up", &of_warm_up(had_pilots, *warm_up), &of_warm_up(asked.pilots, now.warm_up));
    let of_window =
        |by_pilots, length: Duration| if by_pilots { "by pilots".to_owned() } else { format!("{length:?}") };
    let then_window = of_window(groundwork.window_why.is_some(), *duration);
    differ(&mut found, "duration", &then_window, &of_window(asked.window_by_pilots, now.duration));
    // It goes on in the order that it was begun in, where that was left open.
    let then_asked = if groundwork.order_why.is_some() { OrderChoice::Auto } else { OrderChoice::Always(*order) };
    differ(&mut found, "order", &then_asked, &asked.order);
    let driven_by = |study: &Study| match &study.groundwork.generators[..] {
        [] => "none".to_owned(),
        generators => generators.iter().map(Carrier::to_string).collect::<Vec<_>>().join(","),
    };
    differ(&mut found, "generators", &driven_by(then), &driven_by(now));
    differ(&mut found, "version of Stampede", stampede_version, &now.stampede_version);
    differ(&mut found, "machine: processors", &machine.cpus, &now.machine.cpus);
    differ(&mut found, "machine: processor", &machine.cpu_model, &now.machine.cpu_model);
    differ(&mut found, "machine: kernel", &machine.kernel, &now.machine.kernel);
    differ(
        &mut found,
        "machine: control groups",
        &format!("{:?}", machine.cgroup).to_lowercase(),
        &format!("{:?}", now.machine.cgroup).to_lowercase(),
    );
    let names = |cases: &[Case]| cases.iter().map(|case| case.id.to_string()).collect::<Vec<_>>().join(", ");
    differ(&mut found, "cases", &names(cases), &names(&now.cases));
    let known: BTreeSet<&CaseId> = cases.iter().map(|case| &case.id).collect();
    for case in now.cases.iter().filter(|case| known.contains(&case.id)) {
        let before = cases.iter().find(|before| before.id == case.id);
        found.extend(before.into_iter().flat_map(|before| of_case(before, case)));
    }
    found
}

fn of_case(then: &Case, now: &Case) -> Vec<String> {
    let Case {
        id,
        runtime,
        role,
        runtime_version,
        app,
        site,
        revision,
        autoloader,
        php,
        tuning,
        limits,
        topology,
        platform,
        base_image,
        pinning,
        load,
        beside,
    } = then;
    let mut found = Vec::new();
    let build = |php: &Option<PhpBuild>| php.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
    differ(&mut found, "runtime", runtime, &now.runtime);
    differ(&mut found, "role", role, &now.role);
    differ(&mut found, "programs", runtime_version, &now.runtime_version);
    differ(&mut found, "app", app, &now.app);
    // Studies of before this was kept do not tell.
    if let Some(site) = site {
        differ(
            &mut found,
            "public folder",
            &site.to_string(),
            &now.site.as_ref().map(Site::to_string).unwrap_or_default(),
        );
        differ(&mut found, "what is never sent", &never_sent(Some(site)), &never_sent(now.site.as_ref()));
    }
    let state = |revision: &Option<Revision>| revision.as_ref().map_or_else(|| "none".to_owned(), Revision::to_string);
    differ(&mut found, "revision of the application", &state(revision), &state(&now.revision));
    // Studies of before this was kept do not tell.
    if let Some(autoloader) = autoloader {
        let now = now.autoloader.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
        differ(&mut found, "Composer's autoloader", &autoloader.to_string(), &now);
    }
    differ(&mut found, "PHP", &build(php), &build(&now.php));
    found.extend(of_setup(php.as_ref(), now.php.as_ref()));
    let settings: BTreeSet<&str> = tuning.iter().chain(now.tuning.iter()).map(|(name, _)| name).collect();
    for name in settings {
        differ(&mut found, name, tuning.get(name).unwrap_or("unset"), now.tuning.get(name).unwrap_or("unset"));
    }
    differ(&mut found, "CPUs", &limits.cpus, &now.limits.cpus);
    differ(&mut found, "memory", &limits.memory, &now.limits.memory);
    let around = |topology: &Topology| if topology.is_default() { "none".to_owned() } else { topology.to_string() };
    differ(&mut found, "topology", &around(topology), &around(&now.topology));
    differ(&mut found, "platform", platform, &now.platform);
    // Studies of before this was kept do not tell.
    if let Some(image) = base_image {
        differ(&mut found, "base image", image.as_str(), now.base_image.as_deref().unwrap_or("none"));
    }
    let cores = |CpuLayout { server, generator }: &CpuLayout| format!("{server:?} and {generator:?}");
    differ(&mut found, "cores of server and generator", &cores(pinning), &cores(&now.pinning));
    let loads = |load: &Load, beside: &[Load]| {
        std::iter::once(load).chain(beside).map(Load::to_string).collect::<Vec<_>>().join(" and ")
    };
    differ(&mut found, "load", &loads(load, beside), &loads(&now.load, &now.beside));
    found.into_iter().map(|line| format!("{id}: {line}")).collect()
}

fn never_sent(site: Option<&Site>) -> String {
    let names: Vec<String> = site.iter().flat_map(|site| &site.denied).map(Denied::to_string).collect();
    if names.is_empty() { "nothing more".to_owned() } else { names.join(", ") }
}

/// What is loaded and set otherwise than by the application's and its server's words alone.
fn of_setup(then: Option<&PhpBuild>, now: Option<&PhpBuild>) -> Vec<String> {
    let setup = |build: Option<&PhpBuild>| build.and_then(|build| build.setup.as_deref().cloned()).unwrap_or_default();
    let PhpSetup { source: _, modules, left_out: _, settings, not_taken: _ } = setup(then);
    let now = setup(now);
    let mut found = Vec::new();
    let names = |modules: &[PhpModule]| modules.iter().map(|module| module.name.clone()).collect::<BTreeSet<_>>();
    let (modules, modules_now) = (names(&modules), names(&now.modules));
    let listed = |names: BTreeSet<&String>| {
        let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
        if names.is_empty() { "no others".to_owned() } else { names.join(", ") }
    };
    let (gone, new) = (modules.difference(&modules_now).collect(), modules_now.difference(&modules).collect());
    differ(&mut found, "PHP extensions", &listed(gone), &listed(new));
    for name in settings.keys().chain(now.settings.keys()).collect::<BTreeSet<_>>() {
        let of =
            |settings: &BTreeMap<String, String>| settings.get(name).cloned().unwrap_or_else(|| "unset".to_owned());
        differ(&mut found, name, &of(&settings), &of(&now.settings));
    }
    found
}

fn differ<T: Display + PartialEq + ?Sized>(found: &mut Vec<String>, what: &str, then: &T, now: &T) {
    if then != now {
        found.push(format!("{what}: {then} then, {now} now"));
    }
}

/// Sees that what is resumed has no open part that is asked for no longer, or at another share.
pub(crate) fn check_open_part(record: &mut StudyRecord, at: Option<LoadShare>) -> Result<(), Failure> {
    let Some(id) = record.earlier().map(|earlier| earlier.study.id.clone()) else { return Ok(()) };
    match record.store().open_part(&id).map_err(Failure::missing)? {
        Some(part) if at != Some(part.share) => Err(Failure::usage(format!(
            "cannot resume study {id}: it measures response times at {}, and this command does not\n  add --at {}%, or leave out --resume",
            part.share,
            part.share.percent()
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use jiff::Timestamp;
    use stampede_core::{
        Autoloader, Bytes, CaseRole, CgroupSupport, Cpus, ErrorModel, Groundwork, Limits, Machine, Rounds, RuntimeId,
        StudyId, Tuning, WorkloadId,
    };

    use super::*;

    const ASKED: Asked = Asked {
        seed: None,
        pilots: false,
        order: OrderChoice::Always(stampede_core::BlockOrder::Windows),
        window_by_pilots: false,
    };

    pub(crate) fn study() -> Study {
        let case = |id: &str| Case {
            id: CaseId::new(id),
            runtime: RuntimeId::new(id),
            role: CaseRole::Candidate,
            runtime_version: "1.0".to_owned(),
            app: "plain".to_owned(),
            site: Some(Site { root: Some("public".into()), files: true, ..Site::default() }),
            revision: None,
            autoloader: Some(Autoloader { developers: 0, class_map: true }),
            php: None,
            tuning: Tuning::new().with_default("workers", 4, "some reason"),
            limits: Limits { cpus: Cpus::from_millis(500), memory: Bytes::from_mib(256) },
            topology: Topology::default(),
            platform: "local".to_owned(),
            base_image: None,
            pinning: CpuLayout { server: vec![1], generator: vec![0] },
            load: Load::Closed { connections: 16 },
            beside: Vec::new(),
        };
        Study {
            id: StudyId::new("s"),
            kind: StudyKind::Compare,
            workload: WorkloadId::new("hello"),
            seed: 7,
            rounds: Rounds::Fixed(3),
            precision: 0.03,
            errors: ErrorModel::AllCases,
            metric: None,
            slo: None,
            warm_up: Duration::from_secs(1),
            duration: Duration::from_secs(8),
            started_at: Timestamp::UNIX_EPOCH,
            stampede_version: "0.1.0".to_owned(),
            machine: Machine {
                cpus: 2,
                cpu_model: "A".to_owned(),
                kernel: "6.1".to_owned(),
                cgroup: CgroupSupport::V2,
            },
            cases: vec![case("a"), case("b")],
            groundwork: Groundwork::default(),
            order: stampede_core::BlockOrder::default(),
            resumed_at: Vec::new(),
            time_over_at: None,
            windows_from: None,
            chosen: Default::default(),
        }
    }

    #[test]
    fn another_set_of_extensions_or_settings_is_told() {
        let build = |modules: &[&str], limit: &str| PhpBuild {
            version: "8.2.29".to_owned(),
            thread_safe: false,
            debug: false,
            libc: String::new(),
            configure: String::new(),
            extension_dir: Default::default(),
            built_in: Vec::new(),
            loadable: Vec::new(),
            setup: Some(Box::new(PhpSetup {
                modules: modules.iter().map(|name| PhpModule::named(name)).collect(),
                settings: [("memory_limit".to_owned(), limit.to_owned())].into(),
                ..PhpSetup::default()
            })),
        };
        let then = build(&["intl", "redis"], "128M");
        assert!(of_setup(Some(&then), Some(&build(&["redis", "intl"], "128M"))).is_empty());
        let told = of_setup(Some(&then), Some(&build(&["intl", "apcu"], "1G")));
        assert_eq!(told, ["PHP extensions: redis then, apcu now", "memory_limit: 128M then, 1G now"]);
        let minimal = PhpBuild { setup: None, ..then.clone() };
        assert!(of_setup(Some(&minimal), Some(&minimal)).is_empty());
        assert_eq!(of_setup(Some(&then), Some(&minimal))[0], "PHP extensions: intl, redis then, no others now");
    }

    #[test]
    fn whatever_would_make_it_another_study_is_told() {
        type Change = fn(&mut Study);
        let changes: [(&str, Change, &[&str]); 9] = [
            ("nothing", |_| (), &[]),
            ("what differs each time", |study| (study.id, study.seed) = (StudyId::new("t"), 9), &[]),
            (
                "the version",
                |study| study.stampede_version = "0.2.0".to_owned(),
                &["version of Stampede: 0.1.0 then, 0.2.0 now"],
            ),
            ("the machine", |study| study.machine.kernel = "6.2".to_owned(), &["machine: kernel: 6.1 then, 6.2 now"]),
            ("a case less", |study| drop(study.cases.pop()), &["cases: a, b then, a now"]),
            (
                "a case's limits and settings",
                |study| {
                    study.cases[1].limits.cpus = Cpus::from_millis(1000);
                    study.cases[1].tuning.give("workers", "8");
                },
                &["b: workers: 4 then, 8 now", "b: CPUs: 0.5 then, 1 now"],
            ),
            (
                "what its application is served with",
                |study| {
                    study.cases[0].site.as_mut().unwrap().denied.push(Denied::Ending("yml".to_owned()));
                    study.cases[0].autoloader.as_mut().unwrap().developers = 2;
                },
                &[
                    "a: what is never sent: nothing more then, *.yml now",
                    "a: Composer's autoloader: a class map, no packages for development then, a class map, 2 packages \
                     for development now",
                ],
            ),
            ("its length", |study| study.duration = Duration::from_secs(9), &["duration: 8s then, 9s now"]),
            ("its question", |study| study.kind = StudyKind::Calibrate, &["question: compare then, calibrate now"]),
        ];
        for (name, change, expected) in changes {
            let mut now = study();
            change(&mut now);
            assert_eq!(differences(&study(), &now, ASKED), expected, "{name}");
        }
        assert_eq!(
            differences(
                &study(),
                &study(),
                Asked { seed: Some(8), pilots: true, order: OrderChoice::Auto, window_by_pilots: true }
            ),
            [
                "seed: 7 then, 8 now",
                "warm-up: 1s then, by pilots now",
                "duration: 8s then, by pilots now",
                "order: windows then, auto now"
            ]
        );
    }
}
