//! What is kept of a study: its trials' figures and its verdicts, a line a study.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stampede_core::VerdictWord;

/// A study that was recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Piece {
    /// A name of [`super::kind::KINDS`].
    pub(crate) kind: String,
    pub(crate) began: String,
    /// From its first launch to its last trial.
    pub(crate) seconds: f64,
    /// What else went on, in words.
    pub(crate) remark: String,
    pub(crate) cases: Vec<String>,
    pub(crate) trials: Vec<Figures>,
    pub(crate) pairs: Vec<Pair>,
}

/// A trial that counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figures {
    pub(crate) block: u32,
    /// Its place in [`Piece::cases`].
    pub(crate) case: usize,
    pub(crate) throughput_rps: f64,
    pub(crate) cpu_us_per_request: Option<f64>,
    /// Absent where too few requests were slower.
    pub(crate) response_p99_us: Option<f64>,
}

/// What the study made of two cases' throughputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pair {
    pub(crate) a: String,
    pub(crate) b: String,
    pub(crate) ratio: f64,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    pub(crate) verdict: VerdictWord,
}

impl Piece {
    /// What is kept of a study; `None` where it is not as `stampede compare` writes it.
    pub(crate) fn of(kind: &str, remark: &str, study: &Value) -> Option<Self> {
        let at = |key: &str| study[key].as_str()?.parse::<Timestamp>().ok();
        let (began, ended) = (at("started_at")?, at("finished_at")?);
        let (mut cases, mut trials) = (Vec::new(), Vec::new());
        for case in study["cases"].as_array()? {
            for trial in case["trials"].as_array()?.iter().filter(|trial| trial["outcome"] == "measured") {
                trials.push(Figures {
                    block: trial["block"].as_u64()? as u32,
                    case: cases.len(),
                    throughput_rps: trial["throughput_rps"].as_f64()?,
                    cpu_us_per_request: trial["cpu_us_per_request"].as_f64(),
                    response_p99_us: trial["response_us"]["p99"].as_f64(),
                });
            }
            cases.push(case["id"].as_str()?.to_owned());
        }
        let pair = |verdict: &Value| {
            let of = |key: &str| verdict["ratio"][key].as_f64();
            Some(Pair {
                a: verdict["a"].as_str()?.to_owned(),
                b: verdict["b"].as_str()?.to_owned(),
                ratio: of("value")?,
                low: of("low"),
                high: of("high"),
                verdict: serde_json::from_value(verdict["verdict"].clone()).ok()?,
            })
        };
        let of_throughput = |verdict: &&Value| verdict["metric"] == "throughput_rps";
        let verdicts = study["verdicts"].as_array()?.iter().filter(of_throughput);
        Some(Self {
            kind: kind.to_owned(),
            began: began.to_string(),
            seconds: ended.duration_since(began).as_secs_f64(),
            remark: remark.to_owned(),
            cases,
            trials,
            pairs: verdicts.map(pair).collect::<Option<_>>()?,
        })
    }
}
