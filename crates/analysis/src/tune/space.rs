//! The settings that a search may choose among.

use stampede_core::{Load, Role, Tunable, TunableKind, Tuning};

/// What a setting must be for to be searched. What is left out changes what is served, what happens when something fails, or what
/// is written beside answers, and is not to be chosen by speed.
const SEARCHED: [Role; 9] = [
    Role::PoolSize,
    Role::PoolMode,
    Role::Processors,
    Role::FrontWorkers,
    Role::FrontRequests,
    Role::Transport,
    Role::Buffers,
    Role::Tasks,
    Role::Concurrency,
];

/// Sizes are tried from an eighth of the default to eight times it.
const OCTAVES: u32 = 3;

/// A setting with the values that are tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Knob {
    /// The setting.
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// Its values, sizes in their order and each about twice the one before.
    pub levels: Vec<String>,
    /// Whether a value has neighbours.
    pub ordered: bool,
}

/// A value of each knob, by its place among the knob's levels.
pub type Point = Vec<usize>;

/// A point that was tried, and how good it is: comparable within a search, larger is better.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// The point.
    pub point: Point,
    /// Its score; none where it did not work.
    pub score: Option<f64>,
}

/// All knobs of a runtime under some load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// The knobs, those that matter most first.
    pub knobs: Vec<Knob>,
    /// The values that are the runtime's defaults.
    pub default: Point,
}

impl Space {
    /// The space around a runtime's defaults without the settings that were given.
    pub fn of(tunables: &[Tunable], default: &Tuning, given: &Tuning, load: &Load) -> Self {
        let mut knobs: Vec<(Knob, usize)> = tunables
            .iter()
            .filter(|tunable| SEARCHED.contains(&tunable.role) && given.get(tunable.name).is_none())
            .filter_map(|tunable| knob(tunable, default.get(tunable.name)?, load))
            .collect();
        let rank = |knob: &Knob| SEARCHED.iter().position(|role| *role == knob.role);
        knobs.sort_by_key(|(knob, _)| rank(knob));
        let (knobs, default) = knobs.into_iter().unzip();
        Self { knobs, default }
    }

    /// How many points there are.
    pub fn size(&self) -> usize {
        self.knobs.iter().map(|knob| knob.levels.len()).fold(1, usize::saturating_mul)
    }

    /// The workers of a replica at a point, where their number is searched.
    pub fn workers(&self, point: &Point) -> Option<u64> {
        let mut levels = self.knobs.iter().zip(point).filter(|(knob, _)| knob.role == Role::PoolSize);
        levels.find_map(|(knob, level)| knob.levels.get(*level)?.parse().ok())
    }

    /// The settings of a point that are not the defaults.
    pub fn settings(&self, point: &Point) -> Tuning {
        let mut tuning = Tuning::new();
        for ((knob, level), default) in self.knobs.iter().zip(point).zip(&self.default) {
            if let Some(value) = knob.levels.get(*level).filter(|_| level != default) {
                tuning.give(&knob.name, value);
            }
        }
        tuning
    }

    /// The name of a point: `pm.max_children=8,pm=dynamic`, or `default`.
    pub fn name(&self, point: &Point) -> String {
        let settings = self.settings(point);
        let named: Vec<String> =
            self.knobs.iter().filter_map(|knob| Some(format!("{}={}", knob.name, settings.get(&knob.name)?))).collect();
        if named.is_empty() { "default".to_owned() } else { named.join(",") }
    }
}

fn knob(tunable: &Tunable, default: &str, load: &Load) -> Option<(Knob, usize)> {
    let (levels, ordered): (Vec<String>, bool) = match tunable.kind {
        TunableKind::Choice(words) => (words.iter().map(|word| (*word).to_owned()).collect(), false),
        TunableKind::Count { min, max } => {
            let value: u64 = default.parse().ok()?;
            let most = match (tunable.role, load) {
                // More workers than requests at once have nothing to do.
                (Role::PoolSize, Load::Closed { connections }) => max.min(value.max(u64::from(*connections))),
                _ => max,
            };
            (octaves(value, min, most).iter().map(u64::to_string).collect(), true)
        }
    };
    let place = levels.iter().position(|level| level == default)?;
    let knob = Knob { name: tunable.name.to_owned(), role: tunable.role, levels, ordered };
    (knob.levels.len() > 1).then_some((knob, place))
}

/// A size, its halves and its doubles; nothing of one that stands for no number.
fn octaves(value: u64, min: u64, max: u64) -> Vec<u64> {
    if value == 0 {
        return Vec::new();
    }
    let down = (1..=OCTAVES).rev().map(|octave| value >> octave);
    let up = (0..=OCTAVES).map(|octave| value.saturating_mul(1 << octave).min(max));
    let mut sizes: Vec<u64> = down.chain(up).filter(|size| (min.max(1)..=max).contains(size)).collect();
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: TunableKind = TunableKind::Count { min: 1, max: 10_000 };

    fn tunable(name: &'static str, role: Role, kind: TunableKind) -> Tunable {
        Tunable { name, role, kind, summary: "", manual: "" }
    }

    fn space(given: &[(&str, &str)]) -> Space {
        let tunables = [
            tunable("listen", Role::Transport, TunableKind::Choice(&["unix", "tcp"])),
            tunable("backlog", Role::Backlog, COUNT),
            tunable("children", Role::PoolSize, COUNT),
            tunable("workers", Role::FrontWorkers, COUNT),
            tunable("tasks", Role::Tasks, TunableKind::Count { min: 0, max: 10 }),
        ];
        let default = Tuning::new()
            .with_default("listen", "unix", "")
            .with_default("backlog", 511, "")
            .with_default("children", 4, "")
            .with_default("workers", 1, "")
            .with_default("tasks", 0, "");
        let mut asked = Tuning::new();
        given.iter().for_each(|(name, value)| asked.give(name, value));
        Space::of(&tunables, &default, &asked, &Load::Closed { connections: 20 })
    }

    #[test]
    fn sizes_are_octaves_around_the_default_and_what_was_given_stays() {
        let all = space(&[]);
        let knobs: Vec<(&str, Vec<&str>)> = all
            .knobs
            .iter()
            .map(|knob| (knob.name.as_str(), knob.levels.iter().map(String::as_str).collect()))
            .collect();
        assert_eq!(
            knobs,
            [
                ("children", vec!["1", "2", "4", "8", "16", "20"]),
                ("workers", vec!["1", "2", "4", "8"]),
                ("listen", vec!["unix", "tcp"])
            ]
        );
        assert_eq!((all.default.clone(), all.size()), (vec![2, 0, 0], 48));
        assert_eq!(all.name(&all.default), "default");
        assert_eq!(all.name(&vec![4, 0, 1]), "children=16,listen=tcp");
        assert_eq!((all.workers(&vec![4, 0, 1]), space(&[("children", "3")]).workers(&vec![0, 0])), (Some(16), None));
        assert_eq!(space(&[("children", "3")]).knobs[0].name, "workers");
    }
}
