//! `stampede inside`: where the time of running PHP processes goes, or went in a case of a study.

pub(crate) mod args;
mod case;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use std::{fs, io};

use rustix::time::{ClockId, clock_gettime};
use stampede_core::{InsideEffort, InsideRecord};
use stampede_inside::{
    JitteredInstants, SampledProcess, StackProfile, StackSampler, folded, pprof, recorded, speedscope,
};
use stampede_machine::{Signals, raise_open_files};
use stampede_report::{ProcessesView, SampledPhp};

use crate::exit::{Exit, Failure};
use crate::inside::args::InsideArgs;
use crate::{Outcome, destination, screen};

/// Timers of the asynchronous runtime end at whole milliseconds
/// (<https://docs.rs/tokio/latest/tokio/time/fn.sleep.html>), and so does the scheduler's tick, with which what runs begins: instants
/// that are in step with both meet some functions more often than others.
const COARSE: Duration = Duration::from_millis(2);
/// A program with this seed has the same instants again, which do no harm: they are in step with nothing.
const SEED: u64 = 1;

struct Sampled {
    profile: StackProfile,
    processes: Vec<SampledProcess>,
    lasted: Duration,
    cpu: Duration,
}

pub(crate) fn run(args: &InsideArgs) -> Outcome {
    let InsideArgs { subjects, duration, rate, study: _, store: _, folded, save: _ } = args;
    destination::check(&[("--folded", folded.as_deref())])?;
    let pids: Result<Vec<u32>, _> = subjects.iter().map(|subject| subject.parse()).collect();
    let Ok(pids) = pids else { return case::show(args) };
    raise_open_files();
    let mut sampler = StackSampler::attach(&pids).map_err(|error| Failure::missing(error.to_string()))?;
    if stampede_priority::go_first().is_err() {
        screen::warning("not allowed to run before other processes: on a busy machine samples come late; run as root");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let sampled = runtime.block_on(sample(&mut sampler, *duration, *rate))?;
    for problem in sampler.problems() {
        screen::warning(&format!("{problem}; left out"));
    }
    let Sampled { profile, processes, lasted, cpu } = sampled;
    if profile.is_empty() {
        return Err(Failure::missing("no sample could be taken"));
    }
    let mut record = recorded(&profile, Some(&sampler), &[]);
    record.effort = InsideEffort { cpu, ..record.effort };
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
        let speedscope = speedscope(record, name).map_err(|error| problem(&error))?;
        let files = [
            ("folded.txt", folded(record).into_bytes()),
            ("speedscope.json", speedscope.into_bytes()),
            ("pprof.pb", pprof(record)),
        ];
        for (end, bytes) in files {
            destination::put_bytes(&folder.join(format!("{name}.{end}")), &bytes)?;
        }
    }
    Ok(())
}

/// Takes samples until the time is over, a signal comes, or no process is left.
async fn sample(sampler: &mut StackSampler, duration: Duration, rate: u32) -> Result<Sampled, Failure> {
    let mut signals = Signals::new()?;
    let mut profile = StackProfile::default();
    let mut processes = sampler.processes();
    let (from, ran_before) = (Instant::now(), ran());
    for instant in JitteredInstants::new(SEED, rate).take_while(|instant| *instant < duration) {
        tokio::select! {
            () = tokio::time::sleep_until((from + instant).checked_sub(COARSE).unwrap_or(from).into()) => {}
            () = signals.any() => break,
        }
        std::thread::sleep(instant.saturating_sub(from.elapsed()));
        let now = from.elapsed();
        if sampler.is_due(now) {
            sampler.renew(now);
            if sampler.processes().is_empty() {
                break;
            }
            processes = sampler.processes();
        }
        sampler.sample(now).iter().for_each(|sample| profile.add(sample));
    }
    let lasted = from.elapsed();
    profile.weigh(sampler.time_spent());
    Ok(Sampled { profile, processes, lasted, cpu: ran() - ran_before })
}

/// Time that this program ran.
fn ran() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
