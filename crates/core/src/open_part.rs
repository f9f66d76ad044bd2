//! The open part of a comparison: the same cases under an open load, at a share of the throughput that the closed part found.
//!
//! Its studies have the name of the comparison and a dot before their own: `20260301-120000-0a1b.at70`.

use std::fmt;

use crate::{StoredStudy, StudyId};

/// A share of a throughput, in whole per cent from 1 to [`LoadShare::MOST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadShare(u8);

impl LoadShare {
    /// At more than this, what differs from day to day overloads a server, and there is no response time to tell.
    pub const MOST: u8 = 95;

    /// So many per cent, if that is from 1 to [`LoadShare::MOST`].
    pub fn of_percent(percent: u8) -> Option<Self> {
        (1..=Self::MOST).contains(&percent).then_some(Self(percent))
    }

    /// In per cent.
    pub fn percent(self) -> u8 {
        self.0
    }

    /// As a share: 0.7.
    pub fn share(self) -> f64 {
        f64::from(self.0) / 100.0
    }
}

impl fmt::Display for LoadShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.0)
    }
}

/// A study of an open part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenStudy {
    /// All cases at the rate that the slowest candidate takes.
    Shared,
    /// Each case at the rate that it takes itself.
    Own,
}

impl OpenStudy {
    const ALL: [(&'static str, Self); 2] = [(".at", Self::Shared), (".own", Self::Own)];

    /// Its name in the open part of a comparison.
    pub fn id(self, comparison: &StudyId, share: LoadShare) -> StudyId {
        let infix = Self::ALL.iter().find(|(_, study)| *study == self).map_or("", |(infix, _)| *infix);
        StudyId::new(format!("{comparison}{infix}{}", share.percent()))
    }

    /// Of which comparison the study of this name is a part, and which; nothing where it is none.
    pub fn read(id: &StudyId) -> Option<(StudyId, LoadShare, Self)> {
        Self::ALL.iter().find_map(|(infix, study)| {
            let (comparison, percent) = id.as_str().rsplit_once(infix)?;
            let share = LoadShare::of_percent(percent.parse().ok()?)?;
            Some((StudyId::new(comparison), share, *study))
        })
    }
}

/// The open part of a comparison as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenPart {
    /// The share of the throughput.
    pub share: LoadShare,
    /// All cases at one rate.
    pub shared: StoredStudy,
    /// Each at its own, where that differs; absent before it was begun.
    pub own: Option<StoredStudy>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_of_an_open_part_is_known_by_its_name() {
        let comparison = StudyId::new("20260301-120000-0a1b");
        let share = LoadShare::of_percent(70).unwrap();
        for (study, name) in
            [(OpenStudy::Shared, "20260301-120000-0a1b.at70"), (OpenStudy::Own, "20260301-120000-0a1b.own70")]
        {
            let id = study.id(&comparison, share);
            assert_eq!(id.as_str(), name);
            assert_eq!(OpenStudy::read(&id), Some((comparison.clone(), share, study)));
        }
        for name in ["20260301-120000-0a1b", "a.race01", "a.at", "a.at0", "a.at96", "a.own7x"] {
            assert_eq!(OpenStudy::read(&StudyId::new(name)), None, "{name}");
        }
    }
}
