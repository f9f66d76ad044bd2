//! `stampede.yaml` as it is written. Descriptions here are those that editors show.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};

use super::at::{At, Text};
use super::topology::TopologySection;
use crate::command::CommandEntry;
use crate::php_base::{ExtensionsEntry, IniEntry};
use crate::site::FallbackEntry;
use crate::workload::KindEntry;

/// A comparison of PHP runtimes: `stampede compare` with this file. Everything but the workload or the app has a default,
/// and a flag overrides what is said here.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanSections {
    /// What is served: a built-in workload, or a folder with a workload.yaml.
    #[schemars(extend("examples" = ["markdown"]))]
    pub(crate) workload: Option<At<Text>>,
    /// What is served, in place of a workload: an application of one's own.
    pub(crate) app: Option<At<AppSection>>,
    /// Which of the workload's apps are served, by name. The first that a runtime can serve where nothing is said.
    #[schemars(extend("examples" = ["[plain, symfony]"]))]
    pub(crate) apps: Option<At<Vec<At<Text>>>>,
    /// Which of the workload's exchanges make up the load, by name. Those that it says itself where nothing is said.
    #[schemars(extend("examples" = ["[update]"]))]
    pub(crate) exchanges: Option<At<Vec<At<Text>>>>,
    /// What is compared: names of runtimes. All that are installed and can serve it where nothing is said.
    #[schemars(extend("examples" = ["[nginx-fpm, frankenphp]"]))]
    pub(crate) runtimes: Option<At<Vec<At<Text>>>>,
    /// What is compared, with settings: each case is a runtime with its own. In place of runtimes.
    #[schemars(extend("examples" = ["[{runtime: nginx-fpm}]"]))]
    pub(crate) cases: Option<At<Vec<At<CaseSection>>>>,
    /// Builds of PHP, each a case for each runtime: series, or paths of command line programs. That of php on the search
    /// path where nothing is said.
    #[schemars(extend("examples" = ["['8.2', '8.4']"]))]
    pub(crate) php: Option<At<Vec<At<Text>>>>,
    /// What each whole deployment may use.
    #[schemars(extend("examples" = ["{cpus: 1, memory: 512Mi}"]))]
    pub(crate) limits: Option<LimitsSection>,
    /// What stands around each runtime: replicas, a balancer, services. Nothing where nothing is said.
    #[schemars(extend("examples" = ["{replicas: 2, balancer: nginx}"]))]
    pub(crate) topology: Option<At<TopologySection>>,
    /// What load is driven: closed:16, open:500, or keys.
    pub(crate) load: Option<At<LoadEntry>>,
    /// What answers must be for the service to be good enough; stampede capacity and stampede tune ask for it.
    #[schemars(extend("examples" = ["{p99: 100ms, errors: 0.1%}"]))]
    pub(crate) slo: Option<SloSection>,
    /// How it is measured.
    #[schemars(extend("examples" = ["{rounds: 3, duration: 8s}"]))]
    pub(crate) study: Option<StudySection>,
    /// Where deployments run: local, or docker, in containers of this machine's engine.
    #[schemars(extend("examples" = ["local", "docker"]))]
    pub(crate) platform: Option<At<Text>>,
    /// Of docker: the image of Debian or Ubuntu in which runtimes are installed. debian:bookworm where nothing is said.
    #[schemars(extend("examples" = ["debian:bookworm"]))]
    pub(crate) base_image: Option<At<Text>>,
}

/// An application of one's own.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AppSection {
    /// Its folder, from the plan file's. It is copied into each run and never served from there.
    #[schemars(extend("examples" = ["."]))]
    pub(crate) dir: At<Text>,
    /// What kind of application it is; found by looking at its folder where nothing is said.
    pub(crate) kind: Option<At<KindEntry>>,
    /// Of a front-controller or embedded-php: the script that answers every request. Of scripts: the one that answers /.
    #[schemars(extend("examples" = ["public/index.php"]))]
    pub(crate) index: Option<PathBuf>,
    /// The public folder (document root). By default the folder of index; of a psr-15-handler the folder public, if there is one.
    #[schemars(extend("examples" = ["public"]))]
    pub(crate) root: Option<PathBuf>,
    /// Whether the web server answers with the files of the public folder itself. True by default.
    #[serde(rename = "static")]
    pub(crate) files: Option<bool>,
    /// Who answers a path that is no file of the public folder: the front controller by default.
    pub(crate) fallback: Option<FallbackEntry>,
    /// What in the public folder is never sent, beside PHP sources and names that begin with a dot: a folder (application/), an
    /// ending (*.yml) or a file name (composer.json).
    #[schemars(extend("examples" = ["[application/, '*.yml']"]))]
    pub(crate) deny: Option<Vec<String>>,
    /// Of a psr-15-handler: the script that returns the handler.
    pub(crate) handler: Option<PathBuf>,
    /// Of symfony: its kernel's class. App\Kernel where nothing is said.
    #[schemars(extend("examples" = ["App\\Kernel"]))]
    pub(crate) kernel: Option<String>,
    /// Of symfony or laravel: the script that makes its classes known. vendor/autoload.php where nothing is said.
    #[schemars(extend("examples" = ["vendor/autoload.php"]))]
    pub(crate) autoload: Option<PathBuf>,
    /// Of a php-function: the script that defines it.
    pub(crate) script: Option<PathBuf>,
    /// Of a php-function or go-function: its name.
    pub(crate) function: Option<String>,
    /// Of embedded-php: the FrankenPHP binary.
    pub(crate) binary: Option<PathBuf>,
    /// Of embedded-php: the script that is FrankenPHP's worker.
    pub(crate) worker: Option<PathBuf>,
    /// Of a go-function: the package in the module.
    pub(crate) package: Option<PathBuf>,
    /// Of a command: how it is run.
    pub(crate) command: Option<CommandEntry>,
    /// PHP extensions that it needs beside those that your PHP has enabled for each server. minimal, or the word in the list:
    /// only those that are named.
    #[schemars(extend("examples" = ["[mbstring, intl]", "minimal", "[minimal, mbstring]"]))]
    pub(crate) extensions: Option<ExtensionsEntry>,
    /// Settings of php.ini that it needs, over those of your PHP. minimal, or minimal: true among them: none of your PHP's.
    #[serde(default)]
    #[schemars(extend("examples" = ["{memory_limit: 256M}", "minimal"]))]
    pub(crate) ini: IniEntry,
    /// Environment variables that it is given, and its commands in prepare too.
    #[serde(default)]
    #[schemars(extend("examples" = ["{APP_ENV: prod}"]))]
    pub(crate) env: BTreeMap<String, Text>,
    /// Commands that are run once a study in a copy of the folder, as the servers' user; all trials are copies of that.
    #[schemars(extend("examples" = ["[[php, bin/console, 'cache:warmup']]"]))]
    pub(crate) prepare: Option<Vec<Vec<Text>>>,
    /// Requests; GET / where nothing is said.
    #[serde(default)]
    #[schemars(extend("examples" = ["[{path: /}]"]))]
    pub(crate) requests: Vec<At<RequestSection>>,
}

/// A request and the answer that must come.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RequestSection {
    /// Its name; the method and the path where nothing is said.
    pub(crate) name: Option<Text>,
    /// GET where nothing is said, POST with a body.
    #[schemars(extend("examples" = ["POST"]))]
    pub(crate) method: Option<Text>,
    /// Path and query.
    #[schemars(extend("examples" = ["/"]))]
    pub(crate) path: Text,
    /// Headers beside Host and Content-Length.
    #[serde(default)]
    #[schemars(extend("examples" = ["{Accept: text/html}"]))]
    pub(crate) headers: BTreeMap<String, Text>,
    /// The body.
    pub(crate) body: Option<Text>,
    /// A file with the body.
    pub(crate) body_file: Option<PathBuf>,
    /// Whether it is part of the load, or only verified. True where nothing is said, but for what is sent once.
    pub(crate) load: Option<bool>,
    /// Whether it is sent once in each trial, since its answer rightly is another one the second time: it creates something.
    /// It is not part of the load, and not of the search for leaks between requests.
    #[serde(default)]
    pub(crate) once: bool,
    /// The answer that must come. Recorded from the application before each study where nothing is said.
    pub(crate) expect: Option<ExpectSection>,
}

/// The answer that must come.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectSection {
    /// Its status.
    #[schemars(extend("examples" = [200]))]
    pub(crate) status: u16,
    /// Its body. Any body where neither this nor body_file is given.
    pub(crate) body: Option<Text>,
    /// A file with its body.
    pub(crate) body_file: Option<PathBuf>,
    /// What in the body stands for a part that varies: a token, a date.
    #[schemars(extend("examples" = ["'⟨…⟩'"]))]
    pub(crate) mask: Option<String>,
}

/// A runtime with its settings.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaseSection {
    /// Its name in tables; the runtime's where nothing is said.
    #[schemars(extend("examples" = ["static"]))]
    pub(crate) id: Option<At<Text>>,
    /// The runtime, see stampede list runtimes.
    #[schemars(extend("examples" = ["nginx-fpm"]))]
    pub(crate) runtime: At<Text>,
    /// Tunables with values, see stampede show runtime NAME.
    #[serde(default)]
    #[schemars(extend("examples" = ["{pm: static}"]))]
    pub(crate) set: BTreeMap<String, At<Text>>,
}

/// What each whole deployment may use.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsSection {
    /// CPUs: 0.5, 2, 500m. 1 where nothing is said.
    #[schemars(extend("examples" = [0.5]))]
    pub(crate) cpus: Option<At<Text>>,
    /// Memory: 256Mi, 1Gi. 512Mi where nothing is said.
    #[schemars(extend("examples" = ["256Mi"]))]
    pub(crate) memory: Option<At<Text>>,
}

/// What answers must be: response times, counted from when a request was due, and the share of requests without a right
/// answer, each with what it must be below.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SloSection {
    /// Half of all response times are below this.
    #[schemars(extend("examples" = ["20ms"]))]
    pub(crate) p50: Option<At<Text>>,
    /// 90 of 100 are.
    #[schemars(extend("examples" = ["50ms"]))]
    pub(crate) p90: Option<At<Text>>,
    /// 95 of 100 are.
    #[schemars(extend("examples" = ["70ms"]))]
    pub(crate) p95: Option<At<Text>>,
    /// 99 of 100 are.
    #[schemars(extend("examples" = ["100ms"]))]
    pub(crate) p99: Option<At<Text>>,
    /// 999 of 1000 are.
    #[serde(rename = "p99.9")]
    #[schemars(extend("examples" = ["250ms"]))]
    pub(crate) p999: Option<At<Text>>,
    /// The share of requests without a right answer is below this.
    #[schemars(extend("examples" = ["0.1%"]))]
    pub(crate) errors: Option<At<Text>>,
}

impl SloSection {
    /// Each term by its name.
    pub(crate) fn terms(&self) -> [(&'static str, Option<&At<Text>>); 6] {
        let Self { p50, p90, p95, p99, p999, errors } = self;
        let all = [("p50", p50), ("p90", p90), ("p95", p95), ("p99", p99), ("p99.9", p999), ("errors", errors)];
        all.map(|(name, limit)| (name, limit.as_ref()))
    }
}

/// How it is measured.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StudySection {
    /// In each round every case is measured once. auto, where nothing is said, goes on until the verdicts are clear; a number
    /// is kept to, and fewer than 3 give no verdict.
    #[schemars(extend("examples" = ["auto", 3]))]
    pub(crate) rounds: Option<At<Text>>,
    /// The most time that rounds are found out in. 10m where nothing is said, or what three rounds need.
    #[schemars(extend("examples" = ["10m"]))]
    pub(crate) max_time: Option<At<Text>>,
    /// Below which share a difference does not matter. 3% where nothing is said.
    #[schemars(extend("examples" = ["3%"]))]
    pub(crate) precision: Option<At<Text>>,
    /// The measuring window of each trial. 8s where nothing is said.
    #[schemars(extend("examples" = ["8s"]))]
    pub(crate) duration: Option<At<Text>>,
    /// Load before the window. auto finds it out by a pilot of each case. Where nothing is said: auto for windows of 5s and
    /// more that come to verdicts, otherwise 1s.
    #[schemars(extend("examples" = ["auto", "1s"]))]
    pub(crate) warm_up: Option<At<Text>>,
    /// The same seed gives the same order of cases. One at random where nothing is said.
    #[schemars(extend("examples" = [1]))]
    pub(crate) seed: Option<At<Text>>,
    /// How long a runtime may take to its first answer. 30s where nothing is said.
    #[schemars(extend("examples" = ["30s"]))]
    pub(crate) ready_timeout: Option<At<Text>>,
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
    /// Of an open load, how requests are spread. Uniform where nothing is said.
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
