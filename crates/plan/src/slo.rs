//! What answers must be for a service to be good enough: `--slo`, or `slo` of the plan file.

use stampede_core::{ParseSloError, Slo, SloTerm};

use crate::document::Text;
use crate::mistake::Gathered;
use crate::plan_file::{PlanFile, SloSection};

const EXAMPLE: &str = "for example --slo 'p99<100ms,errors<0.1%'";

/// The objective that was typed or, where none was, that of the plan file.
pub(crate) fn read_slo(typed: Option<&str>, file: Option<&PlanFile>, mistakes: &mut Gathered) -> Option<Slo> {
    match (typed, file.and_then(|file| Some((file, file.sections.slo.as_ref()?)))) {
        (Some(typed), _) => read_typed(typed, mistakes),
        (None, Some((file, section))) => read_section(file, section, mistakes),
        (None, None) => None,
    }
}

fn read_typed(typed: &str, mistakes: &mut Gathered) -> Option<Slo> {
    let mut terms = Vec::new();
    for term in typed.split(',') {
        match term.parse() {
            Ok(term) => terms.push(term),
            Err(problem) => mistakes.add(format!("--slo {}", term.trim()), problem, EXAMPLE),
        }
    }
    let read = Slo::new(terms);
    if let Err(problem @ ParseSloError::Twice) = &read {
        mistakes.add(format!("--slo {typed}"), problem, "keep one of them");
    }
    read.ok()
}

fn read_section(file: &PlanFile, section: &SloSection, mistakes: &mut Gathered) -> Option<Slo> {
    let mut terms = Vec::new();
    for (name, limit) in section.terms() {
        let Some(Text(limit)) = limit else { continue };
        match SloTerm::read(name, limit) {
            Ok(term) => terms.push(term),
            Err(problem) => {
                let place = file.place("slo").key(name);
                mistakes.add(place, problem, "for example slo: {p99: 100ms, errors: 0.1%}");
            }
        }
    }
    Slo::new(terms).ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn told(mistakes: Gathered) -> Vec<String> {
        let read: Result<(), _> = mistakes.finish(Ok(()));
        read.err().map_or_else(Vec::new, |mistakes| mistakes.0.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn all_mistakes_of_an_objective_are_told() {
        for (typed, slo, mistakes) in [
            (None, None, &[][..]),
            (Some("p99<100ms, errors<0.1%"), Some("p99<100ms,errors<0.1%"), &[]),
            (
                Some("p99<fast,p98<1s,errors"),
                None,
                &[
                    "--slo p99<fast",
                    "--slo p98<1s does not begin with p50, p90, p95, p99, p99.9 or errors",
                    "--slo errors",
                ],
            ),
            (
                Some("p99<1s,p99<2s"),
                None,
                &["--slo p99<1s,p99<2s has two terms about the same thing; keep one of them"],
            ),
        ] {
            let mut gathered = Gathered::default();
            let read = read_slo(typed, None, &mut gathered);
            let said = told(gathered);
            assert_eq!(said.len(), mistakes.len(), "{typed:?}: {said:?}");
            assert!(said.iter().zip(mistakes).all(|(said, told)| said.starts_with(told)), "{typed:?}: {said:?}");
            if mistakes.is_empty() {
                assert_eq!(read.map(|slo| slo.to_string()).as_deref(), slo, "{typed:?}");
            }
        }
    }

    #[test]
    fn a_plan_file_has_its_terms_as_keys_and_a_flag_comes_first() {
        let file = |yaml: &str| PlanFile::parse(yaml, "p", Path::new(".")).unwrap();
        let plan = file("slo: {p99.9: 1s, errors: 0.1%, p50: 20ms}\n");
        for (typed, slo) in [(None, "p50<20ms,p99.9<1s,errors<0.1%"), (Some("p99<2s"), "p99<2s")] {
            let mut gathered = Gathered::default();
            assert_eq!(read_slo(typed, Some(&plan), &mut gathered).unwrap().to_string(), slo);
            assert!(gathered.is_empty());
        }
        let mut gathered = Gathered::default();
        read_slo(None, Some(&file("workload: a\nslo: {p99: 100, errors: 2}\n")), &mut gathered);
        assert_eq!(
            told(gathered),
            [
                "p:2:12 slo.p99 100 does not end with a time from 10us to 1h, such as 100ms; for example slo: {p99: 100ms, errors: 0.1%}",
                "p:2:25 slo.errors 2 does not end with a share above 0 and below 100%, such as 0.1%; for example slo: {p99: 100ms, errors: 0.1%}",
            ]
        );
    }
}
