//! The parts of a topology in a trial: the limits that the kernel holds each to, and the settings that its service says it has.

use std::collections::BTreeMap;

use stampede_core::{EnforcedLimits, Part, PartRecord, ReadBack, Terms, Topology, same_setting};
use stampede_seam::{ASK_TIME, Running};

/// Reads back what each part is held to.
///
/// # Errors
///
/// When the kernel cannot be asked.
pub(crate) fn records(running: &dyn Running, terms: &Terms) -> Result<Vec<PartRecord>, String> {
    let record = |Part { name, share, units, .. }: &Part| {
        let enforced = running.enforced_on(name).map_err(|error| error.to_string())?;
        Ok(PartRecord {
            part: name.clone(),
            units: units.clone(),
            share: *share,
            enforced: Some(enforced),
            resources: None,
            requests: None,
            restarts: Vec::new(),
            settings: BTreeMap::new(),
        })
    };
    terms.parts.iter().map(record).collect()
}

/// Gives each replica the requests that were sent to it, where each is a target by itself.
pub(crate) fn share_out(records: &mut [PartRecord], by_target: &[u64]) {
    let mut replicas: Vec<_> = records.iter_mut().filter(|record| Topology::is_replica(&record.part)).collect();
    if by_target.len() > 1 && replicas.len() == by_target.len() {
        replicas.iter_mut().zip(by_target).for_each(|(record, requests)| record.requests = Some(*requests));
    }
}

/// Parts that are not held to what was asked.
pub(crate) fn unheld(records: &[PartRecord], terms: &Terms) -> Vec<String> {
    let fulfilled = |record: &PartRecord| {
        let asked = record.share.unwrap_or(terms.total);
        record.enforced.is_some_and(|enforced: EnforcedLimits| enforced.fulfil(&asked))
    };
    records.iter().filter(|record| !fulfilled(record)).map(|record| record.part.clone()).collect()
}

/// Asks each service which settings are in effect.
///
/// # Errors
///
/// When a service cannot be asked, or has another setting than was asked for.
pub(crate) async fn read_settings(
    running: &dyn Running,
    terms: &Terms,
    records: &mut [PartRecord],
) -> Result<(), String> {
    for (part, record) in terms.parts.iter().zip(records) {
        let Some(ReadBack { program, asked }) = &part.read_back else { continue };
        let told = running.ask(program, ASK_TIME).await;
        let told = told.map_err(|error| format!("cannot read the settings of {} back: {error}", part.name))?;
        record.settings = compare(asked, &told).map_err(|problem| format!("{}: {problem}", part.name))?;
    }
    Ok(())
}

/// The settings in effect, by name, when they are those that were asked for.
fn compare(asked: &BTreeMap<String, String>, told: &str) -> Result<BTreeMap<String, String>, String> {
    let mut settings = BTreeMap::new();
    let mut problems = Vec::new();
    for (name, value) in asked {
        let row = told.lines().map(|line| line.split('\t').collect::<Vec<_>>()).find(|row| row[0] == name);
        match row.as_deref() {
            Some([_, found, rest @ ..]) => {
                // Of more columns the third is no unit.
                let unit = if let [unit] = rest { unit } else { "" };
                if !same_setting(value, found, unit) {
                    problems.push(format!("{name} is {}, not {value} as asked for", amount(found, unit)));
                }
                settings.insert(name.clone(), amount(found, unit));
            }
            _ => problems.push(format!("{name} = {value} was asked for, and it has no such setting")),
        }
    }
    if problems.is_empty() { Ok(settings) } else { Err(problems.join("; ")) }
}

/// `8192kB`; `4096 x 8kB` for a setting that counts blocks.
fn amount(value: &str, unit: &str) -> String {
    let between = if unit.starts_with(|first: char| first.is_ascii_digit()) { " x " } else { "" };
    format!("{value}{between}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_that_are_targets_have_their_requests() {
        let record = |part: &str| PartRecord {
            part: part.to_owned(),
            units: Vec::new(),
            share: None,
            enforced: None,
            resources: None,
            requests: None,
            restarts: Vec::new(),
            settings: BTreeMap::new(),
        };
        for (by_target, expected) in [
            (&[7, 8][..], [None, Some(7), Some(8)]),
            // A balancer has them all; targets changed.
            (&[15], [None; 3]),
            (&[], [None; 3]),
            (&[5, 5, 5], [None; 3]),
        ] {
            let mut records = ["postgres", "replica-1", "replica-2"].map(record);
            share_out(&mut records, by_target);
            assert_eq!(records.map(|record| record.requests), expected, "{by_target:?}");
        }
    }

    #[test]
    fn settings_that_are_not_in_effect_are_named() {
        let asked: BTreeMap<String, String> =
            [("max_connections", "50"), ("shared_buffers", "64MB")].map(|(a, b)| (a.to_owned(), b.to_owned())).into();
        for (told, problem) in [
            ("max_connections\t50\t\nshared_buffers\t8192\t8kB\n", None),
            ("max_connections\t50\tdefault\tyes\nshared_buffers\t64MB\n", None),
            (
                "max_connections\t100\t\nshared_buffers\t8192\t8kB\n",
                Some("max_connections is 100, not 50 as asked for"),
            ),
            ("max_connections\t50\t\n", Some("shared_buffers = 64MB was asked for, and it has no such setting")),
        ] {
            assert_eq!(compare(&asked, told).err().as_deref(), problem, "{told}");
        }
    }
}
