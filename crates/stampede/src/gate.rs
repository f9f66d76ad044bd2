//! `stampede gate`: did a change make it slower?

pub(crate) mod args;

use std::path::{Path, PathBuf};

use stampede_analysis::{Analysis, Change, analyse};
use stampede_conduct::{
    Bench, Exit, Failure, Gated, Host, decided_by, gate, gate_exit, gate_losses, gate_question, gate_stored,
    read_metric,
};
use stampede_machine::{SideFiles, TypedSide};
use stampede_plan::{GateFlags, read_threshold};
use stampede_report::gate::{GateView, annotations, junit, markdown, terminal};
use stampede_report::{StudyView, csv, html};
use stampede_store::StoredStudy;

use self::args::GateArgs;
use crate::destination::{Outputs, put};
use crate::flags::{BenchArgs, ResumeArgs, StoreArgs};
use crate::notices::ONLOOKER;
use crate::{Outcome, doctor, screen, show};
use stampede_catalogue::BuiltIn;

pub(crate) fn run(args: GateArgs, host: &dyn Host) -> Outcome {
    let output = Output::new([args.junit, args.markdown, args.html, args.csv], args.github)?;
    let GateArgs { base, head, strict, measuring, resume, store, bench, .. } = args;
    let threshold = read_threshold(args.threshold.as_deref()).map_err(Failure::usage);
    let (threshold, metric) = Failure::both(threshold, read_metric(args.metric.metric))?;
    let judged = match (TypedSide::read(&base), TypedSide::read(&head)) {
        (TypedSide::Study(before), TypedSide::Study(after)) => {
            stored([&before, &after], metric.as_deref(), threshold, (&measuring, &resume, bench), &store)?
        }
        (before, after) => {
            measured([&before, &after], (metric, threshold), (&measuring, resume), &store, bench.on(host))?
        }
    };
    let (question, changes, studies) = match judged {
        Judged::Done { question, changes, studies } => (question, changes, studies),
        Judged::Interrupted => return Ok(Exit::Interrupted),
    };
    let losses = gate_losses(&studies, &changes);
    let question = question.as_deref();
    let [base, head] = [&base, &head].map(|typed| TypedSide::short(typed));
    let view = GateView { base, head, question, changes: &changes, losses: &losses, strict };
    output.write(&view, &studies)?;
    Ok(gate_exit(view.outcome(), view.passes(), &losses))
}

/// What came of a gate.
enum Judged {
    Done { question: Option<String>, changes: Vec<Change>, studies: Vec<StoredStudy> },
    Interrupted,
}

/// Two stored studies.
fn stored(
    names: [&str; 2],
    key: Option<&str>,
    threshold: f64,
    (measuring, resume, bench): (&GateFlags, &ResumeArgs, BenchArgs),
    store: &StoreArgs,
) -> Result<Judged, Failure> {
    let of_run = resume.resume.is_some().then_some("--resume").or(bench.wait.no_wait.then_some("--no-wait"));
    if let Some(flag) = measuring.first_given().or(of_run) {
        let problem = "is for measuring, and stored studies are measured already";
        return Err(Failure::usage(format!("{flag} {problem}\n  leave it out")));
    }
    let [before, after] = [show::load(store, names[0])?, show::load(store, names[1])?];
    let changes = gate_stored([&before, &after], key, threshold)?;
    Ok(Judged::Done { question: None, changes, studies: vec![before, after] })
}

/// Two sides that are measured now.
fn measured(
    sides: [&TypedSide; 2],
    (metric, threshold): (Option<String>, f64),
    (measuring, resume): (&GateFlags, ResumeArgs),
    store: &StoreArgs,
    bench: Bench<'_>,
) -> Result<Judged, Failure> {
    let [base, head] = sides;
    let path = store.file()?;
    doctor::introduce(&path, bench.quiet);
    // Their folders live until the study is over.
    let (base, head) = (base.check_out(ONLOOKER)?, head.check_out(ONLOOKER)?);
    let size = bench.host.size();
    let decides = decided_by(metric.as_deref());
    let read = |side: &SideFiles| measuring.read(side.side(), decides, size, &BuiltIn).map_err(Failure::usage);
    let (before, after) = Failure::both(read(&base), read(&head))?;
    match gate(bench, &path, [before, after], metric, threshold, resume.resume)? {
        Gated::Interrupted(kept) => {
            screen::warning(&format!("interrupted; {kept} trials are kept: the same command with --resume continues"));
            Ok(Judged::Interrupted)
        }
        Gated::Done(done) => {
            let (change, stored) = *done;
            let question = Some(gate_question(&stored.study));
            Ok(Judged::Done { question, changes: vec![change], studies: vec![stored] })
        }
    }
}

/// Where it is said.
struct Output {
    files: Outputs,
    github: bool,
}

impl Output {
    fn new([junit, markdown, html, csv]: [Option<PathBuf>; 4], github: bool) -> Result<Self, Failure> {
        let files = Outputs::new([("--junit", junit), ("--markdown", markdown), ("--html", html), ("--csv", csv)])?;
        if let Some(flag) = files.on_stdout().filter(|_| github) {
            return Err(Failure::usage(format!("{flag} - and --github both go to stdout; give {flag} a file")));
        }
        Ok(Self { files, github })
    }

    fn write(&self, view: &GateView<'_>, studies: &[StoredStudy]) -> Result<(), Failure> {
        let analyses: Vec<Analysis> = studies.iter().map(|stored| analyse(&stored.study, &stored.trials)).collect();
        let views: Vec<StudyView<'_>> =
            studies.iter().zip(&analyses).map(|(stored, analysis)| StudyView::of(stored, analysis)).collect();
        let render = |flag: &str| match flag {
            "--junit" => junit(view),
            "--markdown" => markdown(view),
            "--html" => html::gate(view, &views),
            _ => csv::render(&views),
        };
        self.files.put(&render, &|width, _| terminal(view, width))?;
        if self.github { put(Path::new("-"), &annotations(view)) } else { Ok(()) }
    }
}
