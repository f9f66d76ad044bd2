//! `stampede gate`: did a change make it slower?

mod plan;
mod side;

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use stampede_analysis::{Change, ChangeError, between_studies, metric, of_gate};
use stampede_core::StudyKind;
use stampede_plan::{CompareFlags, ComparePlan, MachineSize, SubjectFlag, TopologyFlags, read_threshold};
use stampede_report::gate::{GateView, annotations, junit, markdown, terminal};
use stampede_store::{Store, StoreError, StoredStudy};

use self::side::{CheckedOut, Side};
use crate::args::{GateArgs, MeasuringArgs, StoreArgs};
use crate::backend::BackendChoice;
use crate::catalogue::BuiltIn;
use crate::compare::{Ended, Order, carry_out, exit_of};
use crate::exit::{Exit, Failure};
use crate::show::{is_stdout, put, writable};
use crate::{Outcome, figure, folders, ground, screen};

pub(crate) fn run(args: GateArgs) -> Outcome {
    let GateArgs { base, head, threshold, metric, strict, junit, markdown, github, measuring, store, quiet } = args;
    let output = Output::new(junit, markdown, github)?;
    let threshold = read_threshold(threshold.as_deref()).map_err(Failure::usage);
    let (threshold, metric) = Failure::both(threshold, figure::read(metric))?;
    let judged = match (Side::read(&base), Side::read(&head)) {
        (Side::Study(before), Side::Study(after)) => {
            let changes = stored([&before, &after], metric.as_deref(), threshold, &measuring, &store)?;
            Judged::Done { question: None, changes }
        }
        (before, after) => measured([&before, &after], metric, threshold, measuring, &store, quiet)?,
    };
    let (question, changes) = match judged {
        Judged::Done { question, changes } => (question, changes),
        Judged::Interrupted => return Ok(Exit::Interrupted),
    };
    let view = GateView { base: &base, head: &head, question: question.as_deref(), changes: &changes, strict };
    output.write(&view)?;
    Ok(if view.passes() { Exit::Done } else { Exit::GateFailed })
}

/// What came of a gate.
enum Judged {
    Done { question: Option<String>, changes: Vec<Change> },
    Interrupted,
}

/// Two stored studies.
fn stored(
    names: [&str; 2],
    key: Option<&str>,
    threshold: f64,
    measuring: &MeasuringArgs,
    store: &StoreArgs,
) -> Result<Vec<Change>, Failure> {
    if let Some(flag) = given(measuring) {
        let problem = "says how to measure, and stored studies are measured already";
        return Err(Failure::usage(format!("{flag} {problem}\n  leave it out")));
    }
    let store = Store::open_existing(&folders::store(store)?).map_err(Failure::missing)?;
    let load = |name: &str| {
        store.load(name).map_err(|error| match error {
            StoreError::Unknown { .. } | StoreError::Ambiguous { .. } => Failure::usage(error),
            _ => Failure::missing(error),
        })
    };
    let [before, after]: [StoredStudy; 2] = [load(names[0])?, load(names[1])?];
    let sides = [&before, &after].map(|stored| (&stored.study, &stored.trials[..]));
    between_studies(key.and_then(metric), sides[0], sides[1], threshold).map_err(|error| match error {
        ChangeError::NothingInCommon | ChangeError::Conditions { .. } => Failure::usage(error),
        _ => Failure { exit: Exit::Invalid, ..Failure::missing(error) },
    })
}

/// A flag that was given and counts for measuring alone.
fn given(measuring: &MeasuringArgs) -> Option<&'static str> {
    let MeasuringArgs { runtime, set, cpus, memory, load, duration, warm_up, rounds, max_time, seed, no_wait } =
        measuring;
    let is_given = |flag: &Option<String>| flag.is_some();
    [
        (is_given(runtime), "--runtime"),
        (!set.is_empty(), "--set"),
        (is_given(cpus), "--cpus"),
        (is_given(memory), "--memory"),
        (is_given(load), "--load"),
        (is_given(duration), "--duration"),
        (is_given(warm_up), "--warm-up"),
        (is_given(rounds), "--rounds"),
        (is_given(max_time), "--max-time"),
        (is_given(seed), "--seed"),
        (*no_wait, "--no-wait"),
    ]
    .into_iter()
    .find_map(|(is_given, flag)| is_given.then_some(flag))
}

/// Two sides that are measured now.
fn measured(
    sides: [&Side; 2],
    metric: Option<String>,
    threshold: f64,
    measuring: MeasuringArgs,
    store: &StoreArgs,
    quiet: bool,
) -> Result<Judged, Failure> {
    let [base, head] = sides;
    // Their folders live until the study is over.
    let (base, head) = (base.check_out()?, head.check_out()?);
    let machine = stampede_platforms::machine();
    let size = ground::size(&machine);
    let no_wait = measuring.no_wait;
    let (before, after) = Failure::both(read(&base, &measuring, size), read(&head, &measuring, size))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let plan = ComparePlan { precision: threshold, ..runtime.block_on(plan::merge(before, after))? };
    drop(runtime);
    let backend = BackendChoice::default();
    let order = Order {
        plan: &plan,
        beside: &[],
        id: None,
        kind: StudyKind::Gate,
        metric,
        resume: None,
        backend,
        no_wait,
        quiet,
    };
    let (ended, mut record, _) = carry_out(&order, machine, store)?;
    let Some(study) = record.study().cloned() else {
        return ended.map(|_| Judged::Interrupted);
    };
    if ended? == Ended::Interrupted {
        screen::warning(&format!("interrupted; {} finished trials are kept", record.trials().len()));
        return Ok(Judged::Interrupted);
    }
    record.store().finish_study(&study.id, Timestamp::now()).map_err(Failure::missing)?;
    let change = of_gate(&study, record.trials()).map_err(|error| {
        let exit = match exit_of(Some(&study), record.trials()) {
            Exit::TrialFailed => Exit::TrialFailed,
            _ => Exit::Invalid,
        };
        Failure { exit, ..Failure::missing(error) }
    })?;
    Ok(Judged::Done { question: Some(question(&plan)), changes: vec![change] })
}

fn read(side: &CheckedOut, measuring: &MeasuringArgs, machine: MachineSize) -> Result<ComparePlan, Failure> {
    let MeasuringArgs { runtime, set, cpus, memory, load, duration, warm_up, rounds, max_time, seed, no_wait: _ } =
        measuring.clone();
    let flags = CompareFlags {
        subject: SubjectFlag::Named(side.folder.display().to_string()),
        runtimes: runtime,
        cpus,
        memory,
        load,
        duration,
        warm_up,
        rounds,
        max_time,
        seed,
        set,
        topology: TopologyFlags::default(),
        ..CompareFlags::default()
    };
    ComparePlan::read(&flags, machine, &BuiltIn).map_err(Failure::usage)
}

/// `shop on nginx-fpm: 1 CPU and 512 MiB, load closed:16`.
fn question(plan: &ComparePlan) -> String {
    let runtime = plan.candidates.first().map_or_else(String::new, |side| format!(" on {}", side.runtime.id()));
    format!("{}{runtime}: {} CPU and {}, load {}", plan.workload.id, plan.limits.cpus, plan.limits.memory, plan.load)
}

/// Where it is said.
struct Output {
    junit: Option<PathBuf>,
    markdown: Option<PathBuf>,
    github: bool,
}

impl Output {
    /// Sees that every file can be written before anything is measured.
    fn new(junit: Option<PathBuf>, markdown: Option<PathBuf>, github: bool) -> Result<Self, Failure> {
        let output = Self { junit, markdown, github };
        if output.files().filter(|(_, path)| is_stdout(path)).count() > 1 {
            return Err(Failure::usage("--junit - and --markdown - both go to stdout; give one of them a file"));
        }
        for (flag, path) in output.files().filter(|(_, path)| !is_stdout(path)) {
            writable(path)
                .map_err(|error| Failure::usage(format!("{flag} {} cannot be written: {error}", path.display())))?;
        }
        Ok(output)
    }

    fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let files = [("--junit", &self.junit), ("--markdown", &self.markdown)];
        files.into_iter().filter_map(|(flag, path)| Some((flag, path.as_deref()?)))
    }

    fn write(&self, view: &GateView<'_>) -> Result<(), Failure> {
        for (path, render) in [
            (&self.junit, junit as fn(&GateView<'_>) -> String),
            (&self.markdown, markdown as fn(&GateView<'_>) -> String),
        ] {
            if let Some(path) = path {
                put(path, &render(view))?;
            }
        }
        if !self.files().any(|(_, path)| is_stdout(path)) {
            put(Path::new("-"), &terminal(view))?;
        }
        if self.github {
            put(Path::new("-"), &annotations(view))?;
        }
        Ok(())
    }
}
