//! At which share of the slowest candidate's throughput latency is measured, after the closed part of a comparison.

use stampede_core::{Load, LoadShare};

use crate::mistake::Gathered;

/// `--at`: a share in whole per cent.
pub(crate) fn read_at(typed: Option<&str>, mistakes: &mut Gathered) -> Option<LoadShare> {
    let read = |typed: &str| LoadShare::of_percent(typed.strip_suffix('%')?.trim().parse().ok()?).map(Some);
    let problem = format!("is not a share in whole per cent, from 1% to {}%", LoadShare::MOST);
    mistakes.value(("--at", typed), None, read, problem, "for example --at 70%")
}

/// Whether an open part can follow this load: what its clients are answered is a throughput that there can be a share of.
pub(crate) fn settle_at(at: LoadShare, load: &Load, is_scenario: bool, mistakes: &mut Gathered) -> bool {
    let problem = match load {
        Load::Closed { .. } if !is_scenario => return true,
        Load::Closed { .. } => "takes a share of a rate of requests, and a scenario has flows of several",
        Load::Open { .. } => "takes a share of what a closed load finds, and this load is open",
        Load::Ramped { .. } => "takes a share of what a closed load finds, and this load changes",
    };
    let fix = "leave it out, or use a closed load: --load closed:16";
    mistakes.add(format!("--at {}%", at.percent()), problem, fix);
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_what_a_closed_load_finds() {
        for (typed, load, is_scenario, expected, problem) in [
            (None, "open:50", false, None, None),
            (Some("70%"), "closed:16", false, Some(70), None),
            (Some("1 %"), "closed:16", false, Some(1), None),
            (Some("95%"), "closed:16", false, Some(95), None),
            (Some("96%"), "closed:16", false, None, Some("from 1% to 95%")),
            (Some("0%"), "closed:16", false, None, Some("from 1% to 95%")),
            (Some("-5%"), "closed:16", false, None, Some("from 1% to 95%")),
            (Some("72.5%"), "closed:16", false, None, Some("whole per cent")),
            (Some("70"), "closed:16", false, None, Some("whole per cent")),
            (Some("much"), "closed:16", false, None, Some("whole per cent")),
            (Some("70%"), "open:500", false, None, Some("this load is open")),
            (Some("70%"), "closed:1..8/10s", false, None, Some("this load changes")),
            (Some("70%"), "closed:16", true, None, Some("a scenario has flows")),
        ] {
            let mut mistakes = Gathered::default();
            let at = read_at(typed, &mut mistakes);
            let at = at.filter(|at| settle_at(*at, &load.parse().unwrap(), is_scenario, &mut mistakes));
            assert_eq!(at.map(LoadShare::percent), expected, "{typed:?} {load}");
            match (problem, mistakes.finish(Ok(()))) {
                (None, told) => told.unwrap(),
                (Some(problem), told) => assert!(told.unwrap_err().to_string().contains(problem), "{typed:?} {load}"),
            }
        }
    }
}
