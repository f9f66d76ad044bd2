//! Values that stand in a row: `--php 8.2,8.4`, or a list of the plan file.

/// One of them, and what mistakes call it.
pub(crate) struct Listed {
    pub(crate) value: String,
    pub(crate) place: String,
}

impl Listed {
    /// Those of a flag.
    pub(crate) fn typed(flag: &str, typed: &str) -> Vec<Self> {
        let one = |value: &str| Self { value: value.to_owned(), place: format!("{flag} {value}") };
        typed.split(',').map(str::trim).map(one).collect()
    }
}
