//! What a plan of a comparison says in a few words, before anything is measured.

use stampede_core::{Candidate, CaseId, Requirement, Rounds};

use crate::compare::ComparePlan;

/// Packages of PHP that a runtime takes and the application does not have.
fn lacking(candidate: &Candidate) -> Vec<&'static str> {
    let lacks = candidate.runtime.requires(&candidate.app).into_iter().filter_map(|requirement| match requirement {
        Requirement::PhpPackage { package, app, .. } if !app.join("vendor").join(package).is_dir() => Some(package),
        _ => None,
    });
    lacks.collect()
}

impl ComparePlan {
    /// What would be measured, as far as it is known before anything is started, and without the cases that lack something, which is
    /// said; with a line break at its end.
    #[must_use]
    pub fn outline(&self, lacking: &[(CaseId, String)]) -> String {
        let ComparePlan { workload, candidates, limits, load, warm_up, duration, rounds, at, .. } = self;
        let lacks = |id: &CaseId| lacking.iter().any(|(lacks, _)| lacks == id);
        let here = candidates.iter().filter(|candidate| !lacks(&candidate.id));
        let ids: Vec<&str> = here.map(|candidate| candidate.id.as_str()).collect();
        let skipped: String = lacking.iter().map(|(id, what)| format!("skipped: {id} {what}\n")).collect();
        let open = at.map_or_else(String::new, |share| {
            format!(
                "then response times at {share} of the slowest one's throughput, and at {share} of each one's own\n"
            )
        });
        let time = humantime::format_duration;
        let windows = if self.window_by_pilots {
            format!("each trial measured for up to {} (short pilot runs choose)", time(*duration))
        } else {
            format!("each trial measured for {}", time(*duration))
        };
        let rounds = match rounds {
            Rounds::Fixed(rounds) => {
                let load = (*warm_up + *duration) * *rounds * ids.len() as u32;
                format!(
                    "{rounds} rounds of {} trials: {} of load, to which the starts of the servers are added",
                    ids.len(),
                    time(load)
                )
            }
            Rounds::Auto { max_time } => format!("rounds until the result is clear, for {} at most", time(*max_time)),
        };
        format!(
            "{}: {}\n{skipped}{} CPU and {} each, load {load}\n{windows}, {rounds}\n{open}",
            workload.id,
            if ids.is_empty() { "no case can run here".to_owned() } else { ids.join(", ") },
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
        let here = self.candidates.iter().filter(|candidate| installed.contains(&candidate.runtime.id().to_string()));
        let (here, without): (Vec<_>, Vec<_>) =
            here.map(|it| (it.runtime.id(), lacking(it))).partition(|(_, lacks)| lacks.is_empty());
        let here: Vec<String> = here.into_iter().map(|(id, _)| id.to_string()).collect();
        let without = without.into_iter().map(|(id, lacks)| format!("{id} (composer require {})", lacks.join(" ")));
        let without = without.collect::<Vec<_>>().join(", ");
        let without = if without.is_empty() { without } else { format!(" With one more package: {without}.") };
        let runtimes = match here[..] {
            [] => format!(
                "No runtime that can serve it is installed. These can: {} (stampede list runtimes shows how to install them).",
                can.join(", ")
            ),
            _ => format!("Installed runtimes that can serve it: {}.{without}", here.join(", ")),
        };
        [format!("This folder is {article} {}{packages}.", look.title), runtimes]
    }
}
