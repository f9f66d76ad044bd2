//! What a page's script reads: the studies' JSON, the latency distributions behind its percentiles, and the trials as CSV.
//!
//! It is compressed, so that a page with all samples of a long study can still be sent by mail.

use std::io::Write;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use stampede_core::{Latencies, Outcome, Trial};

use crate::StudyView;
use crate::csv;
use crate::json::{WireStudy, rounded};

const SCHEMA: &str = "stampede/report/v1";
/// Points of a distribution for each halving of what lies above.
const TICKS: u32 = 4;
/// Beyond a point of a distribution lie at least so many requests, as for percentiles (METHODOLOGY.md).
const EXCEEDANCES: u64 = 50;

/// Everything that a page's script reads.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportDocument")]
pub(super) struct WireDocument<'a> {
    schema: &'static str,
    studies: Vec<WireReported<'a>>,
    /// The trials of all studies, a row each.
    csv: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportedStudy")]
struct WireReported<'a> {
    study: WireStudy<'a>,
    /// For each case that was measured, the best first.
    distributions: Vec<WireDistributions<'a>>,
}

/// All measured trials of a case together.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Distributions")]
struct WireDistributions<'a> {
    case: &'a str,
    response: WireCurve,
    service: WireCurve,
    /// Response times from here on are lower bounds: requests without an end are in them at their age.
    lower_bound_from_us: Option<f64>,
}

/// Latencies at rising shares of all requests, up to where fewer than 50 lie beyond.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Curve")]
struct WireCurve {
    count: u64,
    share: Vec<f64>,
    us: Vec<f64>,
}

impl<'a> WireDocument<'a> {
    pub(super) fn of(views: &[StudyView<'a>]) -> Self {
        Self { schema: SCHEMA, studies: views.iter().map(WireReported::of).collect(), csv: csv::render(views) }
    }

    /// As base64 of gzip of JSON: no character of it means anything in HTML.
    pub(super) fn packed(&self) -> String {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        #[expect(clippy::expect_used, reason = "wire structs are plain JSON, and a vector takes all bytes")]
        serde_json::to_writer(&mut encoder, self).expect("a vector takes all bytes");
        let _ = encoder.flush();
        BASE64_STANDARD.encode(encoder.finish().unwrap_or_default())
    }
}

impl<'a> WireReported<'a> {
    fn of(view: &StudyView<'a>) -> Self {
        let distributions = view.analysis.cases.iter().filter_map(|summary| {
            let measured = |trial: &&Trial| trial.case == summary.case && trial.outcome == Outcome::Measured;
            WireDistributions::of(summary.case.as_str(), view.trials.iter().filter(measured))
        });
        // The studies of an open part follow by themselves.
        let study = StudyView { open_part: None, ..*view };
        Self { study: WireStudy::of(&study), distributions: distributions.collect() }
    }
}

impl<'a> WireDistributions<'a> {
    fn of(case: &'a str, trials: impl Iterator<Item = &'a Trial>) -> Option<Self> {
        let (mut response, mut service) = (Latencies::new(), Latencies::new());
        let mut least = None;
        for measured in trials.filter_map(|trial| trial.measurement.as_ref()) {
            response.merge(&measured.response);
            service.merge(&measured.service);
            let censored = measured.sending.as_ref().and_then(|sending| sending.censored.least);
            least = [least, censored].into_iter().flatten().min();
        }
        (response.count() > 0).then(|| Self {
            case,
            response: WireCurve::of(&response),
            service: WireCurve::of(&service),
            lower_bound_from_us: least.map(|least| least.as_secs_f64() * 1e6),
        })
    }
}

impl WireCurve {
    fn of(latencies: &Latencies) -> Self {
        let count = latencies.count();
        let sure = latencies.percentiles(TICKS).into_iter().take_while(|(_, _, seen)| count - seen >= EXCEEDANCES);
        let points = sure.map(|(value, share, _)| (share, rounded(value.as_nanos() as f64 / 1e3)));
        let (share, us) = points.unzip();
        Self { count, share, us }
    }
}

/// The JSON Schema of what a page's script reads, from which the types of the script are made. It ends with a line break.
pub fn schema() -> String {
    let schema = SchemaSettings::draft07().for_serialize().into_generator().into_root_schema_for::<WireDocument<'_>>();
    #[expect(clippy::expect_used, reason = "a schema is JSON")]
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text.push('\n');
    text
}
