//! What is wrong with a plan. All mistakes are found before any is reported.

use std::fmt;

use thiserror::Error;

/// One mistake: where, what and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The flag or file and its value, as typed: `--cpus 64`.
    pub place: String,
    /// What is wrong, as a sentence without its subject: `is more than this machine has`.
    pub problem: String,
    /// What to do.
    pub fix: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, problem, fix } = self;
        write!(f, "{place} {problem}; {fix}")
    }
}

/// All mistakes of one plan; never empty.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Mistakes(pub Vec<Mistake>);

impl Mistakes {
    /// A single mistake.
    pub(crate) fn one(place: impl Into<String>, problem: impl fmt::Display, fix: impl Into<String>) -> Self {
        Self(vec![Mistake { place: place.into(), problem: problem.to_string(), fix: fix.into() }])
    }
}

/// Gathers mistakes while a plan is read.
#[derive(Debug, Default)]
pub(crate) struct Gathered(Vec<Mistake>);

impl Gathered {
    /// Adds a mistake.
    pub(crate) fn add(&mut self, place: impl Into<String>, problem: impl fmt::Display, fix: impl Into<String>) {
        self.0.extend(Mistakes::one(place, problem, fix).0);
    }

    /// What `read` makes of the value of a flag. Where nothing was typed it is the default, and where nothing can be made of it too,
    /// with this mistake.
    pub(crate) fn value<T>(
        &mut self,
        (flag, typed): (&str, Option<&str>),
        default: T,
        read: impl FnOnce(&str) -> Option<T>,
        problem: impl fmt::Display,
        fix: impl Into<String>,
    ) -> T {
        let Some(typed) = typed else { return default };
        read(typed).unwrap_or_else(|| {
            self.add(format!("{flag} {typed}"), problem, fix);
            default
        })
    }

    /// Whether nothing is wrong so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds those of a part.
    pub(crate) fn extend(&mut self, Mistakes(mistakes): Mistakes) {
        self.0.extend(mistakes);
    }

    /// Tells each so far in another way.
    pub(crate) fn retell(&mut self, retell: impl FnMut(Mistake) -> Mistake) {
        self.0 = std::mem::take(&mut self.0).into_iter().map(retell).collect();
    }

    /// The mistakes of a value that a plan file gave and that was read as the value of a flag: told with the file's `place`,
    /// and with its key where they name the flag.
    pub(crate) fn retold(self, flag: &str, key: &str, place: &str) -> Mistakes {
        let key = key.rsplit('.').next().unwrap_or(key);
        let retell = |Mistake { place: _, problem, fix }| Mistake {
            place: place.to_owned(),
            problem,
            fix: fix.replace(&format!("{flag} "), &format!("{key}: ")),
        };
        Mistakes(self.0.into_iter().map(retell).collect())
    }

    /// The same, each no more than once.
    pub(crate) fn each_once(self) -> Self {
        let mut once: Vec<Mistake> = Vec::new();
        for mistake in self.0 {
            if !once.contains(&mistake) {
                once.push(mistake);
            }
        }
        Self(once)
    }

    /// What was read, unless it or anything before it was mistaken.
    pub(crate) fn finish<T>(mut self, read: Result<T, Mistakes>) -> Result<T, Mistakes> {
        match read {
            Ok(read) if self.0.is_empty() => Ok(read),
            Ok(_) => Err(Mistakes(self.0)),
            Err(Mistakes(mistakes)) => {
                self.0.splice(0..0, mistakes);
                Err(Mistakes(self.0))
            }
        }
    }
}
