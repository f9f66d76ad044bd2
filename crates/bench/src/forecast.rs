//! `stampede forecast` as these benchmarks ask it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::compare::Compare;
use crate::failure::Failure;

/// What a service would do, or did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figures {
    pub(crate) throughput: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    /// Of all requests that came.
    pub(crate) rejected_share: f64,
    pub(crate) instances: f64,
}

/// A service by these flags, from what these studies measured.
pub(crate) fn forecast(stampede: &Compare, studies: &[String], flags: &[&str]) -> Result<Figures, Failure> {
    let Some((first, others)) = studies.split_first() else { return Err(Failure::lacks("a study")) };
    let mut arguments = vec!["forecast", first];
    arguments.extend(flags);
    arguments.extend(others.iter().flat_map(|other| ["--also", other]));
    let told = stampede.call(&arguments, Value::is_object)?;
    let figure =
        |path: &str, what| told["points"][0].pointer(path).and_then(Value::as_f64).ok_or_else(|| Failure::lacks(what));
    Ok(Figures {
        throughput: figure("/throughput/value", "a forecast throughput")?,
        p50_ms: figure("/response_p50_ms/value", "a forecast p50")?,
        p99_ms: figure("/response_p99_ms/value", "a forecast p99")?,
        rejected_share: figure("/rejected/value", "a forecast share of rejections")?,
        instances: figure("/instances/mean/value", "forecast instances")?,
    })
}

/// The name of a study, by which forecasts are made from it.
pub(crate) fn name(study: &Value) -> Result<String, Failure> {
    study["id"].as_str().map(str::to_owned).ok_or_else(|| Failure::lacks("the study's id"))
}
