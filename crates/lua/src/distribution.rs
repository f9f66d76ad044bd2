//! Values and how often each came, as `done` sees latencies and rates.

use mlua::{Error, Lua, MetaMethod, UserData, UserDataFields, UserDataMethods, Value};

/// Values in rising order, each with its count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution(Vec<(u64, u64)>);

impl Distribution {
    /// Of values in any order.
    pub fn new(values: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut sorted: Vec<(u64, u64)> = values.into_iter().filter(|(_, count)| *count > 0).collect();
        sorted.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::with_capacity(sorted.len());
        for (value, count) in sorted {
            match merged.last_mut() {
                Some((last, sum)) if *last == value => *sum += count,
                _ => merged.push((value, count)),
            }
        }
        Self(merged)
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// The mean; 0 of none.
    pub fn mean(&self) -> f64 {
        let sum: f64 = self.0.iter().map(|(value, count)| *value as f64 * *count as f64).sum();
        sum / self.count().max(1) as f64
    }

    /// The standard deviation of a sample; 0 of fewer than two.
    pub fn stdev(&self) -> f64 {
        let (mean, count) = (self.mean(), self.count());
        let square = |value: u64| (value as f64 - mean) * (value as f64 - mean);
        let sum: f64 = self.0.iter().map(|(value, count)| square(*value) * *count as f64).sum();
        (sum / count.saturating_sub(1).max(1) as f64).sqrt()
    }

    /// The smallest; 0 of none.
    pub fn min(&self) -> u64 {
        self.0.first().map_or(0, |(value, _)| *value)
    }

    /// The largest; 0 of none.
    pub fn max(&self) -> u64 {
        self.0.last().map_or(0, |(value, _)| *value)
    }

    /// The share, from 0 to 1, within one standard deviation of the mean; `None` of none.
    pub fn within_stdev(&self) -> Option<f64> {
        let (mean, stdev) = (self.mean(), self.stdev());
        let is_within = |value: u64| (mean - stdev..=mean + stdev).contains(&(value as f64));
        let within: u64 = self.0.iter().filter(|(value, _)| is_within(*value)).map(|(_, count)| count).sum();
        (self.count() > 0).then(|| within as f64 / self.count() as f64)
    }

    /// The value of a percentile, by wrk's rule: that of the rank `p / 100 * n + 0.5`, rounded; 0 beyond the last.
    fn percentile(&self, percent: f64) -> u64 {
        let rank = (percent / 100.0 * self.count() as f64 + 0.5).round();
        let mut total = 0;
        let reached = self.0.iter().find(|(_, count)| {
            total += count;
            total as f64 >= rank
        });
        reached.map_or(0, |(value, _)| *value)
    }
}

impl UserData for Distribution {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("min", |_, this| Ok(this.min() as f64));
        fields.add_field_method_get("max", |_, this| Ok(this.max() as f64));
        fields.add_field_method_get("mean", |_, this| Ok(this.mean()));
        fields.add_field_method_get("stdev", |_, this| Ok(this.stdev()));
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("percentile", |_, this, percent: f64| Ok(this.percentile(percent) as f64));
        methods.add_meta_method(MetaMethod::Len, |_, this, ()| Ok(this.0.len() as f64));
        methods.add_meta_method(MetaMethod::Call, |_, this, index: f64| {
            let index = (index - 1.0).max(0.0) as usize;
            let (value, count) = this.0.get(index).copied().unwrap_or_default();
            Ok((value as f64, count as f64))
        });
        methods.add_meta_method(MetaMethod::Index, |_: &Lua, _, key: Value| match key {
            Value::String(_) => Ok(Value::Nil),
            other => Err(Error::runtime(format!("a distribution has no field that is a {}", other.type_name()))),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Distribution {
        Distribution::new([(30, 1), (10, 2), (20, 3), (10, 4), (5, 0)])
    }

    #[test]
    fn figures_are_those_of_the_list() {
        let sample = sample();
        // R: x <- c(rep(10, 6), rep(20, 3), 30); mean(x); sd(x)
        assert!((sample.mean() - 15.0).abs() < 1e-9 && (sample.stdev() - 7.071068).abs() < 1e-6);
        assert_eq!((sample.min(), sample.max(), sample.within_stdev()), (10, 30, Some(0.9)));
        for (percent, expected) in [(0.0, 10), (50.0, 10), (60.0, 20), (89.0, 20), (95.0, 30), (100.0, 0)] {
            assert_eq!(sample.percentile(percent), expected, "{percent}");
        }
        let none = Distribution::default();
        assert_eq!((none.min(), none.max(), none.percentile(50.0), none.within_stdev()), (0, 0, 0, None));
    }

    #[test]
    fn scripts_read_it_as_wrks() {
        let lua = Lua::new();
        lua.globals().set("x", sample()).unwrap();
        lua.load(
            "assert(#x == 3 and x.min == 10 and x.max == 30 and x.mean == 15)
             assert(x.stdev > 7.07 and x.stdev < 7.08 and x.other == nil)
             assert(x:percentile(50) == 10)
             local value, count = x(2)
             assert(value == 20 and count == 3)
             value, count = x(9)
             assert(value == 0 and count == 0)",
        )
        .exec()
        .unwrap();
    }
}
