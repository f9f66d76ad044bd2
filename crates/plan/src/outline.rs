//! What a plan of a comparison says in a few words, before anything is measured.

use stampede_core::Rounds;

use crate::compare::ComparePlan;

impl ComparePlan {
    /// What would be measured, as far as it is known before anything is started; with a line break at its end.
    #[must_use]
    pub fn outline(&self) -> String {
        let ComparePlan { workload, candidates, limits, load, warm_up, duration, rounds, .. } = self;
        let ids: Vec<&str> = candidates.iter().map(|candidate| candidate.id.as_str()).collect();
        let time = humantime::format_duration;
        let windows = if self.window_by_pilots {
            format!("windows of {} at most, as pilots choose", time(*duration))
        } else {
            format!("windows of {}", time(*duration))
        };
        let rounds = match rounds {
            Rounds::Fixed(rounds) => {
                let load = (*warm_up + *duration) * *rounds * ids.len() as u32;
                format!("{rounds} rounds of {} trials: {} of load", ids.len(), time(load))
            }
            Rounds::Auto { max_time } => format!("rounds until the verdicts are clear: {} at most", time(*max_time)),
        };
        format!(
            "{}: {}\n{} CPU and {} each, load {load}\n{windows}, {rounds}\n",
            workload.id,
            ids.join(", "),
            limits.cpus,
            limits.memory
        )
    }

    /// What its application is, and which of these installed runtimes can serve it: a sentence or two each.
    #[must_use]
    pub fn introduction(&self, installed: &[String]) -> [String; 2] {
        let Some(look) = &self.look else { return Default::default() };
        let article = if look.title.starts_with(['A', 'E', 'I', 'O']) { "an" } else { "a" };
        let packages =
            if look.packages.is_empty() { String::new() } else { format!(" with {}", look.packages.join(", ")) };
        let can: Vec<String> = self.candidates.iter().map(|candidate| candidate.runtime.id().to_string()).collect();
        let here: Vec<&str> = can.iter().filter(|id| installed.contains(id)).map(String::as_str).collect();
        let runtimes = match here[..] {
            [] => format!(
                "Nothing that can serve it is installed; it takes one of {} (stampede list runtimes has how to get them).",
                can.join(", ")
            ),
            _ => format!("Installed and able to serve it: {}.", here.join(", ")),
        };
        [format!("This folder is {article} {}{packages}.", look.title), runtimes]
    }
}
