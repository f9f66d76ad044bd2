//! Which of a workload's requests make up its load: `--exchanges update`.

use stampede_core::Workload;

use crate::catalogue::nearest;
use crate::listed::Listed;
use crate::mistake::Gathered;

/// Makes the exchanges that were named the load; without names, the workload says itself which do.
pub(crate) fn choose(asked: Option<&[Listed]>, workload: &mut Workload, mistakes: &mut Gathered) {
    let Some(asked) = asked else { return };
    if workload.play.is_some() {
        for Listed { place, .. } in asked {
            mistakes.add(place, format!("stands beside the scenario of {}", workload.id), "leave it out");
        }
        return;
    }
    let known: Vec<String> = workload.exchanges.iter().map(|exchange| exchange.name.clone()).collect();
    for Listed { value: name, place } in asked.iter().filter(|asked| !known.contains(&asked.value)) {
        let fix = match nearest(name, known.iter().map(String::as_str)) {
            Some(meant) => format!("did you mean {meant}?"),
            None => format!("use {}", known.join(", ")),
        };
        mistakes.add(place, format!("is no exchange of {}", workload.id), fix);
    }
    for exchange in &mut workload.exchanges {
        exchange.in_load = asked.iter().any(|asked| asked.value == exchange.name);
    }
}
