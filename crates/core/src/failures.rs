//! What requests without the right answer say of a trial.

/// What wrong, broken and missing answers under load mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Failures {
    /// The load was another one than was asked for: the trial is invalid.
    #[default]
    Faults,
    /// They are what is looked for, counted like all else.
    Figures,
}
