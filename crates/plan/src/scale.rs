//! The plan of an autoscaled service: one runtime, instance by instance.

use stampede_core::{Limits, Load, Rounds};

use crate::capacity::{check, retold};
use crate::catalogue::Catalogue;
use crate::compare::{CompareFlags, ComparePlan, MachineSize};
use crate::mistake::{Gathered, Mistakes};
use crate::platform::PlatformChoice;

/// What a trial takes where nothing was said: long enough for some decisions of an autoscaler, which averages over a minute.
const DEFAULT_DURATION: &str = "30s";
/// Cold starts are part of what is asked.
const DEFAULT_WARM_UP: &str = "0s";

/// Reads flags and the plan file that they name: one case with the settings of an instance, which is given as many requests at
/// once as `given` says for its limits, and how many instances there may be. The plan's load is that of the whole service.
/// Where the most instances are not said, they are as many as memory and the processors hold that the
/// load leaves, and the fewest at least.
///
/// # Errors
///
/// All mistakes of the command line and of the files that it names.
pub fn read_scale(
    runtime: &str,
    flags: &CompareFlags,
    given: &dyn Fn(&Limits) -> u32,
    (least, most): (u32, Option<u32>),
    machine: MachineSize,
    catalogue: &dyn Catalogue,
) -> Result<(ComparePlan, u32), Mistakes> {
    let mut mistakes = Gathered::default();
    let or = |typed: &Option<String>, default: &str| Some(typed.clone().unwrap_or_else(|| default.to_owned()));
    let flags = CompareFlags {
        runtimes: Some(runtime.to_owned()),
        duration: or(&flags.duration, DEFAULT_DURATION),
        warm_up: or(&flags.warm_up, DEFAULT_WARM_UP),
        rounds: or(&flags.rounds, "1"),
        no_yard_stick: true,
        no_sampling: true,
        ..flags.clone()
    };
    let read = |flags: &CompareFlags| {
        let plan = ComparePlan::read(flags, machine, catalogue);
        plan.map_err(|Mistakes(all)| Mistakes(all.into_iter().map(retold).collect()))
    };
    let of_service = read(&flags)?;
    // What follows from the load follows from an instance's share of it.
    let connections = given(&of_service.limits).max(1);
    let own = CompareFlags { load: Some(Load::Closed { connections }.to_string()), ..flags };
    let mut plan = read(&own)?;
    plan.load = of_service.load;
    check(&plan, &format!("runtime {runtime}"), &mut mistakes);
    if let Rounds::Auto { .. } = plan.rounds {
        mistakes.add("--rounds auto", "asks for verdicts, and there is one case", "give a number");
    }
    if plan.platform != PlatformChoice::Local {
        mistakes.add("platform docker", "runs no instances that come and go", "leave it out of the plan");
    }
    let Limits { cpus, memory } = plan.limits;
    let left = f64::from(machine.cpus.saturating_sub(1).max(1));
    let held = u32::try_from(machine.memory.get() / memory.get().max(1)).unwrap_or(u32::MAX);
    let instances = most.unwrap_or(((left / cpus.cores()) as u32).min(held).max(least).max(1));
    let asked = format!("--max-instances {instances}");
    let fix = "or ask stampede forecast, which simulates as many as there may be";
    if cpus.cores() * f64::from(instances) > f64::from(machine.cpus) {
        let problem = format!("of {cpus} CPU each is more than this machine's {} processors", machine.cpus);
        mistakes.add(&asked, problem, format!("lower it or --cpus, {fix}"));
    }
    if memory.get().saturating_mul(u64::from(instances)) > machine.memory.get() {
        let problem = format!("of {memory} each is more than this machine's memory");
        mistakes.add(&asked, problem, format!("lower it or --memory, {fix}"));
    }
    mistakes.finish(Ok((plan, instances)))
}
