//! `stampede.yaml` as it is written. Descriptions here are those that editors show.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use stampede_core::CaseRole;

use super::topology::TopologySection;
use crate::document::Text;
use crate::image::ImageEntry;
use crate::workload::AppSection;

/// A comparison of PHP runtimes: `stampede compare` with this file. Everything but the workload or the app has a default,
/// and flags override it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanSections {
    /// What is served: a built-in workload, or a folder with a workload.yaml.
    #[schemars(extend("examples" = ["markdown"]))]
    pub(crate) workload: Option<Text>,
    /// What is served, in place of a workload: your own application.
    pub(crate) app: Option<AppSection>,
    /// Which of the workload's apps are served, by name. By default each runtime serves the first that it can.
    #[schemars(extend("examples" = ["[plain, symfony]"]))]
    pub(crate) apps: Option<Vec<Text>>,
    /// Which requests make up the load, by name. By default those that the workload itself marks.
    #[schemars(extend("examples" = ["[update]"]))]
    pub(crate) exchanges: Option<Vec<Text>>,
    /// What is compared: names of runtimes. By default all that are installed and can serve it.
    #[schemars(extend("examples" = ["[nginx-fpm, frankenphp]"]))]
    pub(crate) runtimes: Option<Vec<Text>>,
    /// What is compared, with settings: each case is a runtime with its own. In place of runtimes.
    #[schemars(extend("examples" = ["[{runtime: nginx-fpm}]"]))]
    pub(crate) cases: Option<Vec<CaseSection>>,
    /// Builds of PHP, each a case for each runtime: series, or paths of command line programs. By default that of php on the
    /// search path.
    #[schemars(extend("examples" = ["['8.2', '8.4']"]))]
    pub(crate) php: Option<Vec<Text>>,
    /// What each whole deployment may use.
    #[schemars(extend("examples" = ["{cpus: 1, memory: 512Mi}"]))]
    pub(crate) limits: Option<LimitsSection>,
    /// What stands around each runtime: replicas, a balancer, services. Nothing by default.
    #[schemars(extend("examples" = ["{replicas: 2, balancer: nginx}"]))]
    pub(crate) topology: Option<TopologySection>,
    /// What load is driven: closed:16, open:500, or keys.
    pub(crate) load: Option<LoadEntry>,
    /// What answers must be for the service to be good enough; stampede capacity, stampede tune and stampede size ask for it.
    #[schemars(extend("examples" = ["{p99: 100ms, errors: 0.1%}"]))]
    pub(crate) slo: Option<SloSection>,
    /// How it is measured.
    #[schemars(extend("examples" = ["{rounds: 3, duration: 8s}"]))]
    pub(crate) study: Option<StudySection>,
    /// Where deployments run: local, or docker, in containers of this machine's engine.
    #[schemars(extend("examples" = ["local", "docker"]))]
    pub(crate) platform: Option<Text>,
    /// Of docker: an image of Debian or Ubuntu in which packages of the runtimes are installed; or makers, the image of each
    /// runtime's makers, which is the default.
    #[schemars(extend("examples" = ["debian:bookworm", "makers"]))]
    pub(crate) base_image: Option<Text>,
}

/// A runtime with its settings.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaseSection {
    /// Its name in tables. The runtime's by default.
    #[schemars(extend("examples" = ["static"]))]
    pub(crate) id: Option<Text>,
    /// The runtime, see stampede list runtimes.
    #[schemars(extend("examples" = ["nginx-fpm"]))]
    pub(crate) runtime: Text,
    /// What it is compared for: a candidate can be recommended, a reference shows what is possible, and what is not for production
    /// is never recommended. By default the runtime's own.
    pub(crate) role: Option<RoleEntry>,
    /// Of the runtime image: which image, and how it is run.
    #[schemars(extend("examples" = ["{name: 'my/app:fpm'}"]))]
    pub(crate) image: Option<ImageEntry>,
    /// Tunables with values, see stampede show runtime NAME. Of the runtime image: environment variables.
    #[serde(default)]
    #[schemars(extend("examples" = ["{pm: static}"]))]
    pub(crate) set: BTreeMap<String, Text>,
}

/// What a case is compared for.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RoleEntry {
    Candidate,
    Reference,
    NotForProduction,
}

impl RoleEntry {
    pub(crate) fn role(self) -> CaseRole {
        match self {
            Self::Candidate => CaseRole::Candidate,
            Self::Reference => CaseRole::Reference,
            Self::NotForProduction => CaseRole::NotForProduction,
        }
    }
}

/// What each whole deployment may use.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsSection {
    /// CPUs: 0.5, 2, 500m. 1 by default.
    #[schemars(extend("examples" = [0.5]))]
    pub(crate) cpus: Option<Text>,
    /// Memory: 256Mi, 1Gi. 512Mi by default.
    #[schemars(extend("examples" = ["256Mi"]))]
    pub(crate) memory: Option<Text>,
}

/// What answers must be: response times, counted from when a request was due, and the share of requests without a right
/// answer, each with what it must be below.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SloSection {
    /// Half of all response times are below this.
    #[schemars(extend("examples" = ["20ms"]))]
    pub(crate) p50: Option<Text>,
    /// 90 of 100 are.
    #[schemars(extend("examples" = ["50ms"]))]
    pub(crate) p90: Option<Text>,
    /// 95 of 100 are.
    #[schemars(extend("examples" = ["70ms"]))]
    pub(crate) p95: Option<Text>,
    /// 99 of 100 are.
    #[schemars(extend("examples" = ["100ms"]))]
    pub(crate) p99: Option<Text>,
    /// 999 of 1000 are.
    #[serde(rename = "p99.9")]
    #[schemars(extend("examples" = ["250ms"]))]
    pub(crate) p999: Option<Text>,
    /// The share of requests without a right answer is below this.
    #[schemars(extend("examples" = ["0.1%"]))]
    pub(crate) errors: Option<Text>,
}

impl SloSection {
    /// Each term by its name.
    pub(crate) fn terms(&self) -> [(&'static str, Option<&Text>); 6] {
        let Self { p50, p90, p95, p99, p999, errors } = self;
        let all = [("p50", p50), ("p90", p90), ("p95", p95), ("p99", p99), ("p99.9", p999), ("errors", errors)];
        all.map(|(name, limit)| (name, limit.as_ref()))
    }
}

/// How it is measured.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StudySection {
    /// In each round every case is measured once. auto, the default, continues until the verdicts are clear. A number is kept
    /// to, and fewer than 3 give no verdict.
    #[schemars(extend("examples" = ["auto", 3]))]
    pub(crate) rounds: Option<Text>,
    /// Time limit for rounds: auto. By default 10m, or longer if three rounds need it.
    #[schemars(extend("examples" = ["10m"]))]
    pub(crate) max_time: Option<Text>,
    /// How the cases of a round are measured: windows, one after the other; turns, all up together and measured in turns of
    /// about 0.4 s; auto, the default of compare and gate, turns where these are reliable.
    #[schemars(extend("examples" = ["turns", "windows"]))]
    pub(crate) order: Option<Text>,
    /// Then latency is measured under an open load: at this share of what the slowest candidate answers, 1% to 95%.
    #[schemars(extend("examples" = ["70%"]))]
    pub(crate) at: Option<Text>,
    /// The smallest difference worth reporting. 3% by default.
    #[schemars(extend("examples" = ["3%"]))]
    pub(crate) precision: Option<Text>,
    /// The measuring window of each trial. By default 8s, or less where pilots of a comparison choose it.
    #[schemars(extend("examples" = ["8s"]))]
    pub(crate) duration: Option<Text>,
    /// Load before the window. auto finds out how much by a pilot of each case. By default auto for windows of 5s
    /// and more that come to verdicts, otherwise 1s.
    #[schemars(extend("examples" = ["auto", "1s"]))]
    pub(crate) warm_up: Option<Text>,
    /// The same seed gives the same order of cases. By default a random one.
    #[schemars(extend("examples" = [1]))]
    pub(crate) seed: Option<Text>,
    /// How long a runtime may take to its first answer. 30s by default.
    #[schemars(extend("examples" = ["30s"]))]
    pub(crate) ready_timeout: Option<Text>,
}

/// A load in keys, which say no more than the short text could.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoadSection {
    /// closed: a fixed number of connections, each with one request in flight; open: requests are due at a rate.
    #[schemars(extend("examples" = ["closed"]))]
    pub(crate) model: ModelEntry,
    /// Of an open load, requests a second: 500, or 50..100/60s.
    #[schemars(extend("examples" = [500]))]
    pub(crate) rate: Option<Text>,
    /// Of an open load, how requests are spread. uniform by default.
    #[schemars(extend("examples" = ["uniform"]))]
    pub(crate) arrivals: Option<ArrivalsEntry>,
    /// Connections; of an open load the most that are open at once.
    #[schemars(extend("examples" = [16]))]
    pub(crate) connections: Option<Text>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ModelEntry {
    Closed,
    Open,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ArrivalsEntry {
    Uniform,
    Poisson,
}

/// A load as a flag would have it, or in keys.
#[derive(Clone, Debug)]
pub(crate) enum LoadEntry {
    Short(String),
    Keys(LoadSection),
}

impl<'de> Deserialize<'de> for LoadEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Loads;

        impl<'de> Visitor<'de> for Loads {
            type Value = LoadEntry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a load such as closed:16, or its keys")
            }

            fn visit_str<E>(self, text: &str) -> Result<LoadEntry, E> {
                Ok(LoadEntry::Short(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LoadEntry, A::Error> {
                LoadSection::deserialize(MapAccessDeserializer::new(map)).map(LoadEntry::Keys)
            }
        }

        deserializer.deserialize_any(Loads)
    }
}

impl JsonSchema for LoadEntry {
    fn schema_name() -> Cow<'static, str> {
        "Load".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let keys = generator.subschema_for::<LoadSection>();
        json_schema!({"anyOf": [{"type": "string", "examples": ["closed:16"]}, keys]})
    }
}

impl LoadSection {
    /// The load as a flag would have it.
    ///
    /// # Errors
    ///
    /// The key that is missing or too much, what is wrong and what to do.
    pub(crate) fn short(&self) -> Result<String, (&'static str, &'static str, &'static str)> {
        let Self { model, rate, arrivals, connections } = self;
        match (model, rate, arrivals, connections) {
            (ModelEntry::Closed, None, None, Some(Text(connections))) => Ok(format!("closed:{connections}")),
            (ModelEntry::Closed, None, None, None) => {
                Err(("connections", "is missing from a closed load", "add connections: 16"))
            }
            (ModelEntry::Closed, Some(_), _, _) => {
                Err(("rate", "belongs to an open load", "leave it out, or write model: open"))
            }
            (ModelEntry::Closed, None, Some(_), _) => {
                Err(("arrivals", "belongs to an open load", "leave it out, or write model: open"))
            }
            (ModelEntry::Open, None, _, _) => Err(("rate", "is missing from an open load", "add rate: 500")),
            (ModelEntry::Open, Some(Text(rate)), arrivals, connections) => {
                let arrivals = match arrivals {
                    Some(ArrivalsEntry::Poisson) => "poisson:",
                    Some(ArrivalsEntry::Uniform) | None => "",
                };
                let connections = connections.as_ref().map(|Text(most)| format!("@{most}")).unwrap_or_default();
                Ok(format!("open:{arrivals}{rate}{connections}"))
            }
        }
    }
}
