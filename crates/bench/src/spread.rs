//! What several rounds gave: the middle, and how far apart they were.

/// Median, least and most of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Spread {
    /// `None` without values.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let upper = *values.get(middle)?;
        let median = if values.len() % 2 == 1 { upper } else { (upper + values.get(middle - 1)?) / 2.0 };
        Some(Self { median, least: *values.first()?, most: *values.last()? })
    }

    /// `7.16 (7.10-7.30)`
    pub(crate) fn show(&self, digits: usize) -> String {
        let Self { median, least, most } = self;
        format!("{median:.digits$} ({least:.digits$}-{most:.digits$})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_values() {
        for (values, median, shown) in [
            (&[3.0, 1.0, 2.0][..], 2.0, "2.00 (1.00-3.00)"),
            (&[4.0, 1.0, 2.0, 3.0], 2.5, "2.50 (1.00-4.00)"),
            (&[7.0], 7.0, "7.00 (7.00-7.00)"),
        ] {
            let spread = Spread::of(values.iter().copied()).unwrap();
            assert_eq!((spread.median, spread.show(2).as_str()), (median, shown), "{values:?}");
        }
        assert_eq!(Spread::of([]), None);
    }
}
