//! The plan of an autoscaled service: one runtime, instance by instance.

use stampede_core::{Limits, Rounds};

use crate::capacity::check;
use crate::catalogue::Catalogue;
use crate::compare::{CompareFlags, ComparePlan, Given, GivenLoad, MachineSize};
use crate::mistake::{Gathered, Mistakes};

/// What a trial takes where nothing was said: long enough for some decisions of an autoscaler, which averages over a minute.
const DEFAULT_DURATION: &str = "30s";
/// Cold starts are part of what is asked.
const DEFAULT_WARM_UP: &str = "0s";
const DEFAULT_ROUNDS: &str = "1";

/// How many instances were asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstancesAsked {
    /// The fewest.
    pub least: u32,
    /// The most; where nothing was said, as many as memory and the processors hold that the load leaves, and the fewest at least.
    pub most: Option<u32>,
    /// How many processors all of them share, where that was said: then they may be allowed more CPU together than that.
    pub total_cpus: Option<u32>,
}

/// Reads flags and the plan file that they name: one case with the settings of an instance, which is given as many requests at
/// once as `given` says for its limits, and how many instances there may be. The plan's load is that of the whole service.
///
/// # Errors
///
/// All mistakes of the command line and of the files that it names.
pub fn read_scale(
    runtime: &str,
    mut flags: CompareFlags,
    given: &dyn Fn(&Limits) -> u32,
    instances: InstancesAsked,
    machine: MachineSize,
    catalogue: &dyn Catalogue,
) -> Result<(ComparePlan, u32), Mistakes> {
    let mut mistakes = Gathered::default();
    flags.duration.duration.get_or_insert_with(|| DEFAULT_DURATION.to_owned());
    flags.warm_up.warm_up.get_or_insert_with(|| DEFAULT_WARM_UP.to_owned());
    flags.rounds.rounds.get_or_insert_with(|| DEFAULT_ROUNDS.to_owned());
    flags.no_yard_stick = true;
    flags.sampling.no_sampling = true;
    let given = Given { runtime: Some(runtime), load: GivenLoad::OfInstances(given), ..Given::default() };
    let plan = ComparePlan::read_given(&flags, given, machine, catalogue)?;
    check(&plan, &format!("runtime {runtime}"), &mut mistakes);
    if let Rounds::Auto { .. } = plan.rounds {
        mistakes.add("--rounds auto", "does not go with cold starts, which take as long as they take", "give a number");
    }
    let most = most_instances(&plan.limits, instances, machine, &mut mistakes);
    mistakes.finish(Ok((plan, most)))
}

/// How many instances there may be, and what of it this machine does not have.
fn most_instances(
    Limits { cpus, memory }: &Limits,
    InstancesAsked { least, most, total_cpus }: InstancesAsked,
    machine: MachineSize,
    mistakes: &mut Gathered,
) -> u32 {
    let left = f64::from(total_cpus.unwrap_or(machine.cpus.saturating_sub(1).max(1)));
    let held = u32::try_from(machine.memory.get() / memory.get().max(1)).unwrap_or(u32::MAX);
    let most = most.unwrap_or(((left / cpus.cores()) as u32).min(held).max(least).max(1));
    let asked = format!("--max-instances {most}");
    let fix = "or ask stampede forecast, which simulates as many as there may be";
    match total_cpus {
        Some(total) if total == 0 || total > machine.cpus => {
            let problem = format!("is no number of this machine's {} processors", machine.cpus);
            mistakes.add(format!("--total-cpus {total}"), problem, "lower it to what is there");
        }
        Some(total) if cpus.cores() > f64::from(total) => {
            let problem = format!("is more for an instance than the {total} that all of them share");
            mistakes.add(format!("--cpus {cpus}"), problem, "lower it, or raise --total-cpus");
        }
        Some(_) => {}
        None if cpus.cores() * f64::from(most) > f64::from(machine.cpus) => {
            let problem = format!("of {cpus} CPU each is more than this machine's {} processors", machine.cpus);
            mistakes.add(&asked, problem, format!("lower it or --cpus, let them share by --total-cpus, {fix}"));
        }
        None => {}
    }
    if memory.get().saturating_mul(u64::from(most)) > machine.memory.get() {
        let problem = format!("of {memory} each is more than this machine's memory");
        mistakes.add(&asked, problem, format!("lower it or --memory, {fix}"));
    }
    most
}

#[cfg(test)]
mod tests {
    use stampede_core::{Bytes, Cpus};

    use super::*;

    #[test]
    fn instances_are_as_many_as_the_machine_holds_unless_something_else_is_said() {
        let machine = MachineSize { cpus: 4, memory: Bytes::from_mib(2048), connections: 1000 };
        let asked = |least, most, total_cpus| InstancesAsked { least, most, total_cpus };
        for (name, cpus, memory, asked, expected, told) in [
            ("three processors are left", 500, 64, asked(0, None, None), 6, ""),
            ("memory holds fewer", 500, 512, asked(0, None, None), 4, ""),
            ("the fewest are more", 1000, 64, asked(4, None, None), 4, ""),
            ("as asked", 1000, 64, asked(0, Some(2), None), 2, ""),
            ("more than there are", 1000, 64, asked(0, Some(5), None), 5, "--max-instances 5 of 1 CPU each is more"),
            ("more that share what there is", 1000, 64, asked(0, Some(5), Some(4)), 5, ""),
            ("as many as share it", 250, 64, asked(0, None, Some(2)), 8, ""),
            ("a cap above the machine's", 1000, 64, asked(0, None, Some(5)), 5, "--total-cpus 5 is no number"),
            ("a cap of nothing", 1000, 64, asked(0, None, Some(0)), 1, "--total-cpus 0 is no number"),
            ("an instance above the cap", 2000, 64, asked(0, None, Some(1)), 1, "--cpus 2 is more for an instance"),
            ("too much memory", 250, 1024, asked(0, Some(3), None), 3, "--max-instances 3 of 1Gi each is more"),
        ] {
            let mut mistakes = Gathered::default();
            let limits = Limits { cpus: Cpus::from_millis(cpus), memory: Bytes::from_mib(memory) };
            assert_eq!(most_instances(&limits, asked, machine, &mut mistakes), expected, "{name}");
            let problems = mistakes.finish(Ok(())).err().map_or_else(String::new, |mistakes| mistakes.to_string());
            assert!(problems.is_empty() == told.is_empty() && problems.contains(told), "{name}: {problems}");
        }
    }
}
