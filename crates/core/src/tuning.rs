//! A runtime's settings.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// What a tunable is for, across runtimes. Rules name a role, never a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// How many requests can be worked on at once.
    PoolSize,
    /// How the pool grows and shrinks.
    PoolMode,
    /// How many workers wait ready.
    PoolSpare,
    /// How many connections the kernel queues.
    Backlog,
    /// After how many requests a worker is replaced.
    Recycle,
    /// How many processes or threads accept connections in front.
    FrontWorkers,
    /// How many requests the server in front passes on at once: its threads wait most of the time.
    FrontRequests,
    /// How long idle connections are kept.
    KeepAlive,
    /// How many processors the runtime believes it has.
    Processors,
    /// Which of its modes the runtime works in.
    Mode,
    /// How many requests wait for a worker, and for how long.
    Queue,
    /// Whether a worker works on another request while one waits.
    Concurrency,
    /// How many workers take what requests leave to others.
    Tasks,
    /// What the runtime's own memory management aims at.
    Memory,
    /// How the parts of a deployment reach each other.
    Transport,
    /// How much of an answer is held in memory before it is sent.
    Buffers,
    /// How large a request may be before it is refused.
    RequestSize,
    /// Whether each request is logged.
    AccessLog,
}

/// The values that a tunable takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunableKind {
    /// A whole number within bounds, both included.
    Count {
        /// The smallest value.
        min: u64,
        /// The largest value.
        max: u64,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
}

impl TunableKind {
    /// Checks one value as text.
    ///
    /// # Errors
    ///
    /// What is wrong, as the end of a sentence that begins with the value.
    pub fn check(&self, value: &str) -> Result<(), String> {
        match *self {
            Self::Count { min, max } => match value.parse::<u64>() {
                Ok(count) if (min..=max).contains(&count) => Ok(()),
                _ => Err(format!("is not a whole number from {min} to {max}")),
            },
            Self::Choice(words) if words.contains(&value) => Ok(()),
            Self::Choice(words) => Err(format!("is not one of {}", words.join(", "))),
        }
    }
}

/// A setting that a runtime has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunable {
    /// The name that the runtime's own manual uses.
    pub name: &'static str,
    /// What it is for.
    pub role: Role,
    /// What values it takes.
    pub kind: TunableKind,
    /// One line: what it does.
    pub summary: &'static str,
    /// Where the manual explains it.
    pub manual: &'static str,
}

impl Tunable {
    /// A setting whose value is a whole number from `min` to `max`. What it does and its manual follow.
    pub const fn count(name: &'static str, role: Role, min: u64, max: u64) -> Self {
        Self { name, role, kind: TunableKind::Count { min, max }, summary: "", manual: "" }
    }

    /// A setting whose value is one of these words. What it does and its manual follow.
    pub const fn choice(name: &'static str, role: Role, words: &'static [&'static str]) -> Self {
        Self { name, role, kind: TunableKind::Choice(words), summary: "", manual: "" }
    }

    /// The same with a line of what it does.
    #[must_use]
    pub const fn does(self, summary: &'static str) -> Self {
        Self { summary, ..self }
    }

    /// The same with where the manual explains it.
    #[must_use]
    pub const fn manual(self, manual: &'static str) -> Self {
        Self { manual, ..self }
    }

    /// Checks one value as text.
    ///
    /// # Errors
    ///
    /// What is wrong, as the end of a sentence that begins with the value.
    pub fn check(&self, value: &str) -> Result<(), String> {
        self.kind.check(value)
    }
}

/// Where a setting's value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Chosen by the runtime's defaults, for this reason.
    Default {
        /// One sentence.
        reason: String,
    },
    /// Asked for.
    Given,
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The value as the runtime's configuration writes it.
    pub value: String,
    /// Where it comes from.
    pub origin: Origin,
    /// What it is for; unknown in records of before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
}

/// A runtime's settings by tunable name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tuning(BTreeMap<String, Setting>);

impl Tuning {
    /// No settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a default with its reason.
    #[must_use]
    pub fn with_default(mut self, name: &str, value: impl fmt::Display, reason: impl Into<String>) -> Self {
        let origin = Origin::Default { reason: reason.into() };
        let setting = Setting { value: value.to_string(), origin, role: None };
        self.0.insert(name.to_owned(), setting);
        self
    }

    /// Sets what was asked for.
    pub fn give(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), Setting { value: value.to_owned(), origin: Origin::Given, role: None });
    }

    /// Gives a setting that is there another value, and keeps what it is for.
    pub fn change(&mut self, name: &str, value: &str) {
        if let Some(setting) = self.0.get_mut(name) {
            (setting.value, setting.origin) = (value.to_owned(), Origin::Given);
        }
    }

    /// The same with the settings of another put over them.
    #[must_use]
    pub fn overlaid_with(mut self, given: &Self) -> Self {
        self.0.extend(given.0.clone());
        self
    }

    /// The same with each setting told what it is for.
    #[must_use]
    pub fn with_roles(mut self, tunables: &[Tunable]) -> Self {
        for tunable in tunables {
            if let Some(setting) = self.0.get_mut(tunable.name) {
                setting.role = Some(tunable.role);
            }
        }
        self
    }

    /// Names and values of the settings that are for something.
    pub fn of_role(&self, role: Role) -> impl Iterator<Item = (&str, &str)> {
        let settings = self.0.iter().filter(move |(_, setting)| setting.role == Some(role));
        settings.map(|(name, setting)| (name.as_str(), setting.value.as_str()))
    }

    /// Those that somebody asked for, without the defaults.
    pub fn asked(&self) -> Self {
        let mut asked = Self::new();
        let given = self.0.iter().filter(|(_, setting)| setting.origin == Origin::Given);
        given.for_each(|(name, setting)| asked.give(name, &setting.value));
        asked
    }

    /// The value of a setting.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|setting| setting.value.as_str())
    }

    /// The value of a setting that is a whole number.
    pub fn count(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    /// All settings in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Setting)> {
        self.0.iter().map(|(name, setting)| (name.as_str(), setting))
    }
}

/// Why a tuning cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TuningProblem {
    /// The setting.
    pub tunable: String,
    /// What is wrong, as a sentence.
    pub problem: String,
    /// What to do.
    pub fix: String,
}

impl TuningProblem {
    /// Of a setting: what is wrong, and what to do.
    pub fn new(tunable: &str, problem: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { tunable: tunable.to_owned(), problem: problem.into(), fix: fix.into() }
    }
}
