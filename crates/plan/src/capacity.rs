//! The plan of a capacity: how many requests a second can a runtime take before an objective breaks?

use std::time::Duration;

use stampede_core::Rounds;

use crate::catalogue::Catalogue;
use crate::compare::{CompareFlags, ComparePlan, MachineSize};
use crate::mistake::{Gathered, Mistake, Mistakes};
use crate::rounds::read_max_time;

/// What a probe takes where nothing was said: shorter ones hold too few bursts of slow requests to tell a rate to 3 %
/// (docs/bench-capacity.md).
const DEFAULT_DURATION: &str = "45s";
/// The load before a probe's window: the queue of an open load comes to its length in it.
const DEFAULT_WARM_UP: &str = "2s";
const DEFAULT_MAX_TIME: Duration = Duration::from_secs(900);
/// Settings that follow from the load are those for as many connections as a probe may open.
const LOAD: &str = "open:poisson:1";

/// Reads flags and the plan file that they name: the comparison of one case with itself under several loads. Its own load means
/// nothing, its rounds are the time that the probes have, and it has an objective. `least` is how long the probes take at least
/// when a window and the warm-up before it are this long.
///
/// # Errors
///
/// All mistakes of the command line and of the files that it names.
pub fn read_capacity(
    runtime: &str,
    flags: &CompareFlags,
    least: fn(Duration, Duration) -> Duration,
    machine: MachineSize,
    catalogue: &dyn Catalogue,
) -> Result<ComparePlan, Mistakes> {
    let mut mistakes = Gathered::default();
    let max_time = read_max_time(flags.max_time.as_deref(), &mut mistakes);
    let or = |typed: &Option<String>, default: &str| Some(typed.clone().unwrap_or_else(|| default.to_owned()));
    let flags = CompareFlags {
        runtimes: Some(runtime.to_owned()),
        load: Some(LOAD.to_owned()),
        duration: or(&flags.duration, DEFAULT_DURATION),
        warm_up: or(&flags.warm_up, DEFAULT_WARM_UP),
        rounds: Some("1".to_owned()),
        max_time: None,
        no_yard_stick: true,
        ..flags.clone()
    };
    let place = format!("runtime {runtime}");
    let plan = ComparePlan::read(&flags, machine, catalogue);
    let mut plan = plan.map_err(|Mistakes(all)| Mistakes(all.into_iter().map(retold).collect()));
    if let Ok(plan) = &mut plan {
        if plan.slo.is_none() {
            mistakes.add(&place, "has no objective to meet", "add --slo 'p99<100ms,errors<0.1%'");
        }
        check(plan, &place, &mut mistakes);
        let needed = least(plan.duration, plan.warm_up);
        if let Some(asked) = max_time.filter(|asked| *asked < needed) {
            let written = |time: Duration| humantime::format_duration(time).to_string().replace(' ', "");
            let [asked, window, needed] =
                [asked, plan.duration, Duration::from_secs(needed.as_secs() + 1)].map(written);
            mistakes.add(
                format!("--max-time {asked}"),
                format!("is too short: a curve, two probes of {window} and a confirmation take {needed}"),
                format!("use at least --max-time {needed}, or a shorter --duration"),
            );
        }
        plan.rounds = Rounds::Auto { max_time: max_time.unwrap_or(DEFAULT_MAX_TIME.max(needed * 2)) };
    }
    mistakes.finish(plan)
}

/// What is wrong with a comparison as a case of its own.
pub(crate) fn check(plan: &ComparePlan, place: &str, mistakes: &mut Gathered) {
    match (plan.candidates.as_slice(), plan.unable.first()) {
        ([], Some((_, kinds))) => {
            let serves = format!("cannot serve {}: it serves apps of kind {}", plan.workload.id, kinds.join(" or "));
            mistakes.add(place, serves, "name another runtime; see stampede list runtimes");
        }
        ([_], _) | ([], None) => {}
        (many, _) => {
            let names: Vec<String> = many.iter().map(|candidate| candidate.id.to_string()).collect();
            mistakes.add(place, format!("is several cases: {}", names.join(", ")), "name one runtime, app and PHP");
        }
    }
    if plan.scenario.is_some() {
        let problem = format!("plays the scenario of {}, whose crowds have rates of their own", plan.workload.id);
        mistakes.add(place, problem, "name a workload without one, or its exchanges with --exchanges");
    }
}

/// A mistake of a comparison in the words of this command line.
pub(crate) fn retold(Mistake { place, problem, fix }: Mistake) -> Mistake {
    if place.starts_with("--load ") {
        let problem = "plays a scenario, whose crowds have loads of their own".to_owned();
        return Mistake { place: "the workload".to_owned(), problem, fix: "name one without a scenario".to_owned() };
    }
    let place = match place.strip_prefix("--runtimes ") {
        Some(name) => format!("runtime {name}"),
        None => place,
    };
    let fix = if problem == "is for a runtime that is not compared" {
        "leave it out, or name that runtime".to_owned()
    } else {
        fix
    };
    Mistake { place, problem: problem.replace("a runtime that is not compared", "another runtime"), fix }
}
