//! `stampede inside`: where the time of running PHP processes goes, or went in a case of a study.

pub(crate) mod args;
mod case;

use std::collections::BTreeMap;
use std::time::Duration;
use std::{fs, io};

use stampede_core::{InsideEffort, InsideRecord};
use stampede_inside::{SampledProcess, StackSampler, files, folded, recorded};
use stampede_machine::{Signals, raise_open_files};
use stampede_report::{ProcessesView, SampledPhp};
use stampede_vantage::{ProcessSamples, sample_processes};

use crate::exit::{Exit, Failure};
use crate::inside::args::InsideArgs;
use crate::{Outcome, destination, screen};

pub(crate) fn run(args: &InsideArgs) -> Outcome {
    let InsideArgs { subjects, duration, rate, study: _, store: _, folded, save: _ } = args;
    destination::check(&[("--folded", folded.as_deref())])?;
    let pids: Result<Vec<u32>, _> = subjects.iter().map(|subject| subject.parse()).collect();
    let Ok(pids) = pids else { return case::show(args) };
    raise_open_files();
    let mut sampler = StackSampler::attach(&pids).map_err(|error| Failure::missing(error.to_string()))?;
    if stampede_priority::go_first().is_err() {
        screen::warning("not allowed to raise its own priority: on a busy machine samples are taken late; run as root");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let sampled = runtime.block_on(async {
        let mut signals = Signals::new()?;
        Ok(sample_processes(&mut sampler, *duration, *rate, signals.any()).await)
    })?;
    for problem in sampler.problems() {
        screen::warning(&format!("{problem}; left out"));
    }
    let ProcessSamples { profile, native, processes, lasted, cpu } = sampled;
    if profile.is_empty() {
        return Err(Failure::missing("no sample could be taken"));
    }
    let mut record = recorded(&profile, Some(&sampler), &[]);
    record.effort = InsideEffort { cpu, ..record.effort };
    record.native = native;
    record.sampled = vec![Duration::ZERO..lasted];
    save(args, &record, "processes")?;
    if !folded.as_deref().is_some_and(destination::is_stdout) {
        let view = ProcessesView { php: &by_version(&processes), record: &record, rate: *rate, lasted };
        screen::print(&view.terminal(screen::width(), screen::colour_on(&io::stdout())))?;
    }
    Ok(Exit::Done)
}

fn by_version(processes: &[SampledProcess]) -> Vec<SampledPhp> {
    let mut versions: BTreeMap<_, SampledPhp> = BTreeMap::new();
    for SampledProcess { version, threads, .. } in processes {
        let none = || SampledPhp { version: version.to_string(), processes: 0, threads: 0 };
        let of_version = versions.entry(version).or_insert_with(none);
        of_version.processes += 1;
        of_version.threads += threads;
    }
    versions.into_values().collect()
}

/// Writes stacks where they were asked for.
fn save(args: &InsideArgs, record: &InsideRecord, name: &str) -> Result<(), Failure> {
    if let Some(path) = &args.folded {
        destination::put_bytes(path, folded(record).as_bytes())?;
    }
    if let Some(folder) = &args.save {
        let problem = |error: &dyn std::fmt::Display| {
            Failure::missing(format!("cannot write into {}: {error}", folder.display()))
        };
        fs::create_dir_all(folder).map_err(|error| problem(&error))?;
        for (end, bytes) in files(record, name).map_err(|error| problem(&error))? {
            destination::put_bytes(&folder.join(format!("{name}.{end}")), &bytes)?;
        }
    }
    Ok(())
}
