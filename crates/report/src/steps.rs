//! The kinds of request within a load: as JSON, and as a table of all trials of a case together.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use stampede_analysis::percentile;
use stampede_core::{CaseId, Censored, ErrorClass, Latencies, StepRecord};

use crate::StudyView;
use crate::json::{WireCounts, WireLatencies};
use crate::page::{Column, Table};
use crate::quantity::{count, number};

/// The heading over the table.
pub(crate) const KINDS: &str = "By kind of request, all trials together; response times";

/// Where the time buckets end, by which Gatling's reports sort answers.
/// <https://docs.gatling.io/reference/stats/reports/oss/#response-time-ranges>
const LOWER: Duration = Duration::from_millis(800);
const HIGHER: Duration = Duration::from_millis(1_200);

#[derive(Serialize, JsonSchema)]
pub(crate) struct WireStep<'a> {
    name: &'a str,
    requests: WireCounts,
    unsent: u64,
    censored: u64,
    service_us: WireLatencies,
    response_us: WireLatencies,
    response_up_to_800ms: u64,
    response_up_to_1200ms: u64,
    status: &'a BTreeMap<u16, u64>,
    #[schemars(with = "BTreeMap<String, u64>")]
    errors: &'a BTreeMap<ErrorClass, u64>,
}

impl<'a> WireStep<'a> {
    pub(crate) fn of(step: &'a StepRecord) -> Self {
        let StepRecord { name, requests, unsent, service, response, censored: Censored { count, .. }, status, errors } =
            step;
        Self {
            name,
            requests: WireCounts::of(requests),
            unsent: *unsent,
            censored: *count,
            service_us: WireLatencies::of(service),
            response_us: WireLatencies::of(response),
            response_up_to_800ms: response.up_to(LOWER),
            response_up_to_1200ms: response.up_to(HIGHER),
            status,
            errors,
        }
    }
}

/// What all trials of a case say of one kind of request.
pub(crate) struct Kind {
    pub(crate) name: String,
    ok: u64,
    /// Failed, unfinished and never sent.
    failed: u64,
    response: Latencies,
}

/// The kinds of request of a case.
pub(crate) struct Kinds {
    pub(crate) case: CaseId,
    pub(crate) kinds: Vec<Kind>,
}

/// A column of the table.
pub(crate) struct KindColumn {
    pub(crate) heading: [&'static str; 2],
    pub(crate) title: &'static str,
    /// Where there is no room, columns of the highest number go first.
    pub(crate) rank: u8,
    pub(crate) cell: fn(&Kind) -> String,
}

pub(crate) const KIND_COLUMNS: &[KindColumn] = &[
    KindColumn { heading: ["", "ok"], title: "ok", rank: 0, cell: |kind| count(kind.ok) },
    KindColumn { heading: ["", "failed"], title: "failed", rank: 0, cell: |kind| count(kind.failed) },
    KindColumn { heading: ["response", "p50 ms"], title: "p50 ms", rank: 0, cell: |kind| kind.quantile(0.50) },
    KindColumn { heading: ["", "p75"], title: "p75 ms", rank: 3, cell: |kind| kind.quantile(0.75) },
    KindColumn { heading: ["", "p95"], title: "p95 ms", rank: 2, cell: |kind| kind.quantile(0.95) },
    KindColumn { heading: ["", "p99"], title: "p99 ms", rank: 0, cell: |kind| kind.quantile(0.99) },
    KindColumn { heading: ["", "max"], title: "max ms", rank: 1, cell: |kind| kind.max() },
    KindColumn { heading: ["% to", "0.8 s"], title: "% up to 800 ms", rank: 1, cell: |kind| kind.share(None, LOWER) },
    KindColumn {
        heading: ["% to", "1.2 s"],
        title: "% from 800 to 1,200 ms",
        rank: 4,
        cell: |kind| kind.share(Some(LOWER), HIGHER),
    },
    KindColumn {
        heading: ["%", "over"],
        title: "% above 1,200 ms",
        rank: 1,
        cell: |kind| kind.share(Some(HIGHER), Duration::MAX),
    },
];

/// A line for each case and, below it, for each kind of request.
pub(crate) fn by_kind(heading: &str, cases: &[Kinds], name: impl Fn(&CaseId) -> String) -> Table {
    let lines = |of_case: &dyn Fn(&Kinds) -> String, of_kind: &dyn Fn(&Kind) -> String| {
        let of = |case: &Kinds| [of_case(case)].into_iter().chain(case.kinds.iter().map(of_kind)).collect::<Vec<_>>();
        cases.iter().flat_map(of).collect()
    };
    let names = lines(&|case| name(&case.case), &|kind| format!("  {}", kind.name));
    let figures = KIND_COLUMNS.iter().map(|column| column.of(lines(&|_| String::new(), &column.cell)));
    Table { columns: [Column::names(heading, names)].into_iter().chain(figures).collect() }
}

/// A line for each kind of request, with its case.
pub(crate) fn each_kind(cases: &[Kinds]) -> Table {
    let kinds = || cases.iter().flat_map(|case| case.kinds.iter().map(move |kind| (&case.case, kind)));
    let names = [
        Column::names("case", kinds().map(|(case, _)| case.to_string()).collect()),
        Column::names("request", kinds().map(|(_, kind)| kind.name.clone()).collect()),
    ];
    let figures = KIND_COLUMNS.iter().map(|column| column.of(kinds().map(|(_, kind)| (column.cell)(kind)).collect()));
    Table { columns: names.into_iter().chain(figures).collect() }
}

impl KindColumn {
    fn of(&self, cells: Vec<String>) -> Column {
        Column::figures(self.title, cells).headed(self.heading).ranked(self.rank)
    }
}

impl Kind {
    fn quantile(&self, q: f64) -> String {
        percentile(&self.response, q).map_or_else(|| "n/a".to_owned(), milliseconds)
    }

    fn max(&self) -> String {
        if self.response.count() == 0 { "n/a".to_owned() } else { milliseconds(self.response.max()) }
    }

    /// How many of a hundred answers took longer than one time and no longer than the other.
    fn share(&self, from: Option<Duration>, to: Duration) -> String {
        let all = self.response.count();
        if all == 0 {
            return "n/a".to_owned();
        }
        let below = from.map_or(0, |from| self.response.up_to(from));
        let up_to = if to == Duration::MAX { all } else { self.response.up_to(to) };
        number((up_to - below) as f64 * 100.0 / all as f64)
    }
}

pub(crate) fn milliseconds(time: Duration) -> String {
    number(time.as_secs_f64() * 1e3)
}

/// The kinds of request of each case that was loaded with several, all its trials together: also those that turned out invalid,
/// whose requests were sent all the same.
pub(crate) fn kinds(view: &StudyView<'_>) -> Vec<Kinds> {
    let of_case = |case: &CaseId| {
        let mut kinds: Vec<Kind> = Vec::new();
        let trials = view.trials.iter().filter(|trial| trial.case == *case);
        for step in trials.filter_map(|trial| trial.measurement.as_ref()).flat_map(|measured| &measured.steps) {
            let failed = step.requests.failed + step.requests.unfinished + step.unsent;
            match kinds.iter_mut().find(|kind| kind.name == step.name) {
                Some(kind) => {
                    kind.ok += step.requests.ok;
                    kind.failed += failed;
                    kind.response.merge(&step.response);
                }
                None => kinds.push(Kind {
                    name: step.name.clone(),
                    ok: step.requests.ok,
                    failed,
                    response: step.response.clone(),
                }),
            }
        }
        Kinds { case: case.clone(), kinds }
    };
    let cases = view.analysis.cases.iter().map(|summary| of_case(&summary.case));
    cases.filter(|kinds| !kinds.kinds.is_empty()).collect()
}
