//! What each case was run with, as a table of all cases, in which what differs is marked.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use stampede_core::{Autoloader, Case, CaseId, EnforcedLimits, Limit, Origin, PhpReadBack, PhpSetup, Revision, Trial};

use crate::{StudyView, places, trust};

/// Rows under a heading.
#[derive(Serialize)]
pub(super) struct Group {
    /// Which text of the page stands over it.
    heading: &'static str,
    rows: Vec<Row>,
    /// Whether there are so many that they are folded.
    folded: bool,
}

#[derive(Serialize)]
struct Row {
    name: String,
    cells: Vec<Cell>,
    /// Whether it is not the same in all cases that have it, or not all have it.
    differs: bool,
}

#[derive(Clone, Default, PartialEq, Serialize)]
struct Cell {
    text: Option<String>,
    reason: Option<String>,
}

/// With more rows than this a group is folded.
const MOST_OPEN: usize = 30;

pub(super) fn groups(view: &StudyView<'_>) -> Vec<Group> {
    let columns: Vec<Column<'_>> =
        view.analysis.cases.iter().filter_map(|summary| Column::of(view, &summary.case)).collect();
    of(&columns)
}

/// What differs between a case of one study and one of another.
pub(super) fn between(a: (&StudyView<'_>, &CaseId), b: (&StudyView<'_>, &CaseId)) -> Vec<Group> {
    let columns: Vec<Column<'_>> = [a, b].into_iter().filter_map(|(view, case)| Column::of(view, case)).collect();
    let mut groups = of(&columns);
    groups.iter_mut().for_each(|group| group.rows.retain(|row| row.differs));
    groups.retain(|group| !group.rows.is_empty());
    groups
}

fn of(columns: &[Column<'_>]) -> Vec<Group> {
    let groups = [
        ("conditions", rows(columns, conditions)),
        ("settings", rows(columns, |column| tuning(column.case))),
        ("php", rows(columns, |column| column.php.map(php).unwrap_or_default())),
        ("php_settings", rows(columns, |column| column.php.map(php_settings).unwrap_or_default())),
    ];
    let groups = groups.into_iter().filter(|(_, rows)| !rows.is_empty());
    groups.map(|(heading, rows)| Group { heading, folded: rows.len() > MOST_OPEN, rows }).collect()
}

/// A case with what its trials read back.
struct Column<'a> {
    view: &'a StudyView<'a>,
    case: &'a Case,
    enforced: Option<&'a EnforcedLimits>,
    php: Option<&'a PhpReadBack>,
}

impl<'a> Column<'a> {
    fn of(view: &'a StudyView<'a>, id: &CaseId) -> Option<Self> {
        let case = view.study.cases.iter().find(|case| case.id == *id)?;
        let trials: Vec<&Trial> = view.trials.iter().filter(|trial| trial.case == *id).collect();
        Some(Self {
            view,
            case,
            enforced: trials.iter().find_map(|trial| trial.enforced.as_ref()),
            php: trials.iter().find_map(|trial| trial.php.as_ref()),
        })
    }
}

type Entries = Vec<(String, Cell)>;

fn plain(name: &str, text: impl Into<String>) -> (String, Cell) {
    (name.to_owned(), Cell { text: Some(text.into()), reason: None })
}

fn conditions(column: &Column<'_>) -> Entries {
    let Case {
        runtime,
        role,
        runtime_version,
        app,
        site,
        revision,
        autoloader,
        php,
        limits,
        topology,
        platform,
        base_image,
        pinning,
        load: _,
        beside: _,
        id,
        tuning: _,
    } = column.case;
    let study = column.view.study;
    let cores = |cores: &[u32]| match cores {
        [] => "as the cluster gives them".to_owned(),
        cores => cores.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
    };
    let warm_up = study.groundwork.warm_ups.get(id).map(|warm_up| trust::pilot(&warm_up.pilot));
    let mut entries = vec![
        plain("runtime", runtime.as_str()),
        plain("role", role.name()),
        plain("version", runtime_version),
        plain("application", app),
        plain("limits requested", format!("{} CPU, {}", limits.cpus, limits.memory)),
        plain("limits in force", column.enforced.map_or_else(|| "not read back".to_owned(), in_force)),
        plain("load", column.case.whole_load()),
        plain("window", format!("{} s", study.duration.as_secs_f64())),
        (
            "warm-up".to_owned(),
            Cell { text: Some(format!("{} s", study.warm_up_of(id).as_secs_f64())), reason: warm_up },
        ),
        plain("platform", platform),
        plain("topology", topology.to_string()),
        plain("server's CPUs", cores(&pinning.server)),
        plain("generator's CPUs", cores(&pinning.generator)),
    ];
    entries.extend(site.as_ref().map(|site| plain("public folder", site.to_string())));
    entries.extend(base_image.as_ref().map(|image| plain("base image", image)));
    entries.extend(revision.as_ref().map(|Revision { commit, is_dirty }| {
        let mark = if *is_dirty { "-dirty" } else { "" };
        let reason = is_dirty.then(|| "some of its files differ from that commit".to_owned());
        ("revision".to_owned(), Cell { text: Some(format!("{commit}{mark}")), reason })
    }));
    entries.extend(autoloader.as_ref().map(|autoloader| plain("Composer's autoloader", autoloader.to_string())));
    entries.extend(php.as_ref().map(|build| plain("PHP build", build.to_string())));
    let setup = php.as_ref().and_then(|build| build.setup.as_deref()).filter(|setup| !setup.source.is_empty());
    if let Some(PhpSetup { source, modules: _, left_out, settings, not_taken: _ }) = setup {
        entries.push(plain("PHP configured as in", places::value(source)));
        let left_out = left_out.iter().map(|(name, why)| format!("{name} ({why})")).collect::<Vec<_>>().join(", ");
        entries.push(plain("extensions not loaded", left_out));
        let settings = settings.iter().map(|(name, value)| format!("{name} = {}", places::value(value)));
        entries.push(plain("settings from php.ini", settings.collect::<Vec<_>>().join(", ")));
    }
    entries
}

fn in_force(enforced: &EnforcedLimits) -> String {
    let EnforcedLimits { cpus, period, memory } = enforced;
    let cpus = match cpus {
        Limit::AtMost(cpus) => format!("{cpus} CPU in periods of {} ms", period.as_secs_f64() * 1e3),
        Limit::Unlimited => "unlimited CPU".to_owned(),
    };
    match memory {
        Limit::AtMost(memory) => format!("{cpus}, {memory}"),
        Limit::Unlimited => format!("{cpus}, unlimited memory"),
    }
}

fn tuning(case: &Case) -> Entries {
    let settings = case.tuning.iter().map(|(name, setting)| {
        let reason = match &setting.origin {
            Origin::Default { reason } => reason.clone(),
            Origin::Given => "given".to_owned(),
        };
        (name.to_owned(), Cell { text: Some(setting.value.clone()), reason: Some(reason) })
    });
    settings.collect()
}

fn php(read_back: &PhpReadBack) -> Entries {
    let PhpReadBack {
        version,
        thread_safe,
        debug,
        sapi,
        extensions,
        settings: _,
        opcache,
        jit,
        cache: _,
        environment: _,
        autoloader,
    } = read_back;
    let yes = |yes: bool| if yes { "yes" } else { "no" };
    let extensions: Vec<&str> = extensions.keys().map(String::as_str).collect();
    let mut entries = vec![
        plain("version", version),
        plain("thread safe", yes(*thread_safe)),
        plain("debug build", yes(*debug)),
        plain("server interface", sapi),
        plain("OPcache active", yes(*opcache)),
        plain("JIT works", yes(*jit)),
        plain("extensions", extensions.join(", ")),
    ];
    if let Some(Autoloader { developers, class_map }) = autoloader {
        entries.push(plain("class map of the autoloader", yes(*class_map)));
        entries.push(plain("packages for development", developers.to_string()));
    }
    entries
}

fn php_settings(read_back: &PhpReadBack) -> Entries {
    read_back.settings.iter().map(|(name, value)| plain(name, places::value(value))).collect()
}

/// All rows that some case has, in the order of the first case that has them. They differ by their values, not by the reasons.
fn rows(columns: &[Column<'_>], entries: impl Fn(&Column<'_>) -> Entries) -> Vec<Row> {
    let by_case: Vec<Entries> = columns.iter().map(entries).collect();
    let mut seen = BTreeSet::new();
    let names: Vec<&String> =
        by_case.iter().flatten().map(|(name, _)| name).filter(|name| seen.insert(name.as_str())).collect();
    let maps: Vec<BTreeMap<&String, &Cell>> =
        by_case.iter().map(|entries| entries.iter().map(|(name, cell)| (name, cell)).collect()).collect();
    let row = |name: &String| {
        let cells: Vec<Cell> =
            maps.iter().map(|cells| cells.get(name).map_or_else(Cell::default, |cell| (*cell).clone())).collect();
        let differs = cells.iter().any(|cell| cell.text != cells[0].text);
        Row { name: name.clone(), cells, differs }
    };
    names.into_iter().map(row).collect()
}
