//! What is recorded: deployments whose true ratios are known, how they are measured, and beside what.

use std::path::Path;

use crate::compare::APP;
use crate::exchange::BODY;

/// Blocks of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Kind {
    /// Its name in the data.
    pub(crate) name: &'static str,
    pub(crate) what: What,
    /// As `--order` has it.
    pub(crate) order: &'static str,
    /// Whether the neighbour works beside it.
    pub(crate) is_busy: bool,
    /// Blocks of a study.
    pub(crate) blocks: u32,
    /// Studies that are wanted.
    pub(crate) pieces: u32,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum What {
    /// Deployments that do not differ.
    Identical,
    /// Servers of which each does a known share of work more, under a limit of so many CPUs.
    Work(f64),
    /// Every runtime that is installed.
    Runtimes,
}

/// Deployments in a block of identical ones.
pub(crate) const IDENTICAL: usize = 13;

/// The servers that do more work: names, and per cent.
pub(crate) const WORK: [(&str, u32); 6] = [("a", 0), ("b", 0), ("c", 2), ("d", 3), ("e", 5), ("f", 10)];

/// What the first does for a request, in thousands of steps: a few milliseconds. A hundredth of it comes on top for the request.
const STEPS: u32 = 3000;

const fn kind(name: &'static str, what: What, order: &'static str, is_busy: bool, blocks: u32, pieces: u32) -> Kind {
    Kind { name, what, order, is_busy, blocks, pieces }
}

pub(crate) const KINDS: [Kind; 12] = [
    kind("identical, quiet", What::Identical, "turns", false, 2, 30),
    kind("identical, busy", What::Identical, "turns", true, 2, 30),
    kind("work, 0.25 CPU, quiet", What::Work(0.25), "turns", false, 5, 7),
    kind("work, 0.25 CPU, busy", What::Work(0.25), "turns", true, 5, 7),
    kind("work, 0.5 CPU, quiet", What::Work(0.5), "turns", false, 5, 7),
    kind("work, 0.5 CPU, busy", What::Work(0.5), "turns", true, 5, 7),
    kind("work, 1 CPU, quiet", What::Work(1.0), "turns", false, 5, 7),
    kind("work, 1 CPU, busy", What::Work(1.0), "turns", true, 5, 7),
    kind("work, 1 CPU, quiet, windows", What::Work(1.0), "windows", false, 5, 7),
    kind("work, 1 CPU, busy, windows", What::Work(1.0), "windows", true, 5, 7),
    kind("runtimes, quiet", What::Runtimes, "turns", false, 4, 20),
    kind("runtimes, busy", What::Runtimes, "turns", true, 4, 20),
];

impl Kind {
    /// The plan of a study, with this program as the server that works.
    pub(crate) fn plan(&self, bench: &Path) -> String {
        let rounds = self.blocks;
        match self.what {
            What::Identical => {
                let case = |number: usize| format!("  - {{id: c{number}, runtime: nginx-fpm}}\n");
                let cases: String = (1..=IDENTICAL).map(case).collect();
                format!(
                    "workload: hello\ncases:\n{cases}limits: {{cpus: 1, memory: 128Mi}}\nload: closed:16\n\
                     study: {{rounds: {rounds}, duration: 2s, warm_up: 500ms}}\n"
                )
            }
            What::Work(cpus) => {
                let case = |(id, percent): (&str, u32)| {
                    format!("  - {{id: {id}, runtime: custom, set: {{WORK: {}}}}}\n", STEPS + STEPS * percent / 100)
                };
                let cases: String = WORK.into_iter().map(case).collect();
                format!(
                    "app:\n  dir: {APP}\n  kind: command\n  command:\n    run: [{bench:?}, burn]\n    \
                     tunables: {{WORK: {{min: 1, max: 1000000, default: '{STEPS}'}}}}\n  \
                     requests: [{{path: /, expect: {{status: 200, body: '{BODY}'}}}}]\n\
                     cases:\n{cases}limits: {{cpus: {cpus}, memory: 64Mi}}\nload: closed:4\n\
                     study: {{rounds: {rounds}, duration: 4s, warm_up: 500ms}}\n"
                )
            }
            What::Runtimes => format!(
                "workload: hello\nlimits: {{cpus: 1, memory: 256Mi}}\nload: closed:16\n\
                 study: {{rounds: {rounds}, duration: 2s, warm_up: 1s}}\n"
            ),
        }
    }

    /// What the machine is like meanwhile.
    pub(crate) fn machine(&self) -> &'static str {
        if self.is_busy { "busy" } else { "quiet" }
    }

    /// Flags beside the plan.
    pub(crate) fn flags(&self) -> &'static [&'static str] {
        if self.what == What::Runtimes { &["--runtimes", "all"] } else { &[] }
    }

    /// The true logarithm of the ratio of two cases' throughputs; `None` where nobody knows it.
    pub(crate) fn truth(&self, a: &str, b: &str) -> Option<f64> {
        match self.what {
            What::Identical => Some(0.0),
            What::Work(_) => {
                let work = |case: &str| {
                    let (_, percent) = WORK.into_iter().find(|(id, _)| *id == case)?;
                    Some((f64::from(percent) / 100.0).ln_1p())
                };
                Some(work(b)? - work(a)?)
            }
            What::Runtimes => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_work_is_less_throughput() {
        let kind = &KINDS[2];
        assert_eq!(kind.truth("a", "b"), Some(0.0));
        assert!((kind.truth("a", "f").unwrap() - 1.1_f64.ln()).abs() < 1e-12);
        assert_eq!(kind.truth("e", "c"), kind.truth("c", "e").map(|truth| -truth));
        assert_eq!(kind.truth("a", "z"), None);
        assert_eq!(KINDS[10].truth("go", "nginx-fpm"), None);
    }

    #[test]
    fn plans_name_every_case() {
        let count = |kind: &Kind| kind.plan(Path::new("/bench")).matches("  - {id: ").count();
        assert_eq!((count(&KINDS[0]), count(&KINDS[2]), count(&KINDS[10])), (IDENTICAL, WORK.len(), 0));
    }
}
