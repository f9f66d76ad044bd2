//! A value that never travels without its uncertainty.

use serde::{Deserialize, Serialize};

/// A value, its confidence interval, and the number of replicates (trials, never requests) behind both.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The point estimate.
    pub value: f64,
    /// Lower end of the interval; absent when `n` is too small for one.
    pub low: Option<f64>,
    /// Upper end of the interval; absent when `n` is too small for one.
    pub high: Option<f64>,
    /// How many replicates.
    pub n: u32,
}
