//! A comparison with an open part: when its closed part is over, latency is measured at a share of the throughput that it found.
//!
//! The open part is two studies of its own, since a closed and an open load never share a table. In the first all cases have one rate,
//! which is fixed before it begins and the same in all blocks; it comes to verdicts. In the second each case has a rate of its own.

use std::path::Path;
use std::time::Duration;

use stampede_analysis::{OpenRates, analyse, measured_for, open_load};
use stampede_core::{
    Arrivals, BlockOrder, CaseId, LeftOut, LoadShare, OpenStudy, Rounds, StoredStudy, Study, StudyId, StudyKind, Trial,
};
use stampede_harness::Copies;
use stampede_plan::{ComparePlan, OrderChoice, RuntimeChoice};
use stampede_store::Store;

use crate::exit::Failure;
use crate::host::{Bench, Ended};
use crate::metric_choice::requests_for;
use crate::record::StudyRecord;
use crate::sequence::Sequence;
use crate::site::Site;
use crate::study::{Ready, StudyRequest, conduct_ready, recorded};

/// Rounds of the cases at their own rates: they give an interval and no verdict.
const OWN_ROUNDS: u32 = 3;
/// A round of verdicts takes so many.
const LEAST_ROUNDS: u32 = 3;
/// No window is made longer than this for the sake of a percentile.
const LONGEST: Duration = Duration::from_secs(60);
/// The longest load before a window, as where a pilot finds no steady state.
const LONGEST_WARM_UP: Duration = Duration::from_secs(10);
/// What a trial takes beside its load where that is not known.
const BESIDE_LOAD: Duration = Duration::from_secs(5);

/// The percentiles that may decide, the highest first, and the share of requests beyond each.
const PERCENTILES: [(&str, &str, f64); 4] = [
    ("response_p99_us", "p99", 0.01),
    ("response_p95_us", "p95", 0.05),
    ("response_p90_us", "p90", 0.10),
    ("response_p50_us", "p50", 0.50),
];

/// Measures a comparison and its open part, and keeps both in the store at this path: how that ended, and what was kept of the
/// comparison itself, which is not finished before its open part is.
///
/// # Errors
///
/// When it could not begin.
pub fn compare_with_open_part(
    bench: Bench<'_>,
    store: &Path,
    request: &StudyRequest<'_>,
    share: LoadShare,
) -> Result<(Result<Ended, Failure>, StudyRecord), Failure> {
    recorded(bench, store, request, async |site, record| {
        let plan = closed_part(request.plan);
        let closed = StudyRequest { plan: &plan, ..request.clone() };
        let mut copies = Copies::default();
        let ready = Ready::of(&closed, site, &mut copies).await?;
        conduct_ready(&ready, &closed, site, record).await?;
        let Some(study) = record.study().cloned() else { return Ok(()) };
        let plan = ComparePlan { unable: Vec::new(), ..plan.with_answers(ready.workload) };
        let sequence = Sequence {
            bench,
            id: study.id.to_string(),
            metric: PERCENTILES[0].0.to_owned(),
            failures: request.failures,
            store: store.to_owned(),
            copies,
            is_told: true,
        };
        let total = match request.plan.rounds {
            Rounds::Auto { max_time } => Some(max_time),
            Rounds::Fixed(_) => None,
        };
        OpenPartRun { share, study, plan, total, sequence }.measure(site, record.trials()).await
    })
}

/// The closed part has half of the time.
fn closed_part(plan: &ComparePlan) -> ComparePlan {
    let rounds = match plan.rounds {
        Rounds::Auto { max_time } => Rounds::Auto { max_time: max_time / 2 },
        rounds @ Rounds::Fixed(_) => rounds,
    };
    ComparePlan { rounds, ..plan.clone() }
}

/// How the trials of an open part are measured.
#[derive(Clone, Debug, PartialEq)]
struct Trials {
    window: Duration,
    warm_up: Duration,
    /// Key and name of the percentile that decides; none where there are too few requests for each.
    percentile: Option<(&'static str, &'static str)>,
    rounds: Rounds,
    own_rounds: u32,
}

/// What bounds the trials of an open part.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// How many cases have the shared rate, and how many their own.
    cases: [u32; 2],
    /// Windows are no shorter.
    window: Duration,
    warm_up: Duration,
    /// What a trial takes beside its load.
    beside: Duration,
    /// The rounds of the closed part.
    rounds: Rounds,
    /// How long the open part may take, where rounds are found out.
    time: Option<Duration>,
}

impl Trials {
    /// Of cases at this rate.
    fn plan(rate: f64, bounds: Bounds) -> Self {
        let Bounds { cases: [shared, own], window: asked, warm_up, beside, rounds, time } = bounds;
        let least = LEAST_ROUNDS * shared + OWN_ROUNDS * own;
        let affordable = time.map_or(LONGEST, |time| (time / least.max(1)).saturating_sub(warm_up + beside));
        let longest = affordable.min(LONGEST).max(asked);
        let fits = PERCENTILES.into_iter().find(|(_, _, share)| window_for(*share, rate) <= longest);
        let window = fits.map_or(asked, |(_, _, share)| window_for(share, rate).max(asked));
        let (rounds, own_rounds) = match rounds {
            Rounds::Fixed(rounds) => (Rounds::Fixed(rounds), rounds.min(OWN_ROUNDS)),
            Rounds::Auto { max_time } => {
                let each = warm_up + window + beside;
                let left = time.unwrap_or(max_time).saturating_sub(each * own * OWN_ROUNDS);
                let max_time = left.max(each * shared * LEAST_ROUNDS);
                (Rounds::Auto { max_time: Duration::from_secs(max_time.as_secs()) }, OWN_ROUNDS)
            }
        };
        Self { window, warm_up, percentile: fits.map(|(key, name, _)| (key, name)), rounds, own_rounds }
    }

    /// As those that were begun before: they go on alike.
    fn resumed(self, Study { duration, warm_up, rounds, metric, .. }: &Study) -> Self {
        let percentile = PERCENTILES.into_iter().find(|(key, ..)| metric.as_deref() == Some(key));
        let percentile = percentile.map(|(key, name, _)| (key, name));
        Self { window: *duration, warm_up: *warm_up, rounds: *rounds, percentile, ..self }
    }
}

/// The whole seconds in which enough requests of this rate are due for this share of them to be enough.
fn window_for(share: f64, rate: f64) -> Duration {
    Duration::from_secs((requests_for(share, Arrivals::Poisson) / rate).ceil() as u64)
}

/// An open part while it is measured.
struct OpenPartRun<'a> {
    share: LoadShare,
    /// The closed part.
    study: Study,
    /// The plan of that, with all answers.
    plan: ComparePlan,
    /// How long both parts may take, where their rounds are found out.
    total: Option<Duration>,
    sequence: Sequence<'a>,
}

impl OpenPartRun<'_> {
    async fn measure(mut self, site: &Site<'_>, trials: &[Trial]) -> Result<(), Failure> {
        if site.stop.obey() {
            return Ok(());
        }
        let Some(rates) = OpenRates::of(&self.study, trials, self.share) else {
            self.sequence
                .note("no case was measured without a failure, so that there is no rate to measure latency at");
            return Ok(());
        };
        let connections = self.plan.load.connections();
        let load = |rate: f64| {
            open_load(rate, connections)
                .map_err(|error| Failure::usage(format!("an open load of {rate} requests a second {error}")))
        };
        let mut planned = self.trials(&rates, trials);
        let shared_id = OpenStudy::Shared.id(&self.study.id, self.share);
        if let Some(earlier) = self.earlier(&shared_id)? {
            planned = planned.resumed(&earlier.study);
            self.plan.slo = earlier.study.slo;
        }
        self.tell(&rates, &planned);
        self.sequence.metric = planned.percentile.map_or("response_mean_us", |(key, _)| key).to_owned();
        let shared =
            ComparePlan { load: load(rates.rate)?, rounds: planned.rounds, ..self.open_plan(&rates.shared, &planned) };
        let id = shared_id.as_str().to_owned();
        if self.sequence.study(site, id, StudyKind::Compare, &[shared]).await?.is_none() || rates.own.is_empty() {
            return Ok(());
        }
        self.sequence.note(&format!("each case at {} of its own throughput:", self.share));
        let own: Vec<ComparePlan> = rates
            .own
            .iter()
            .map(|(case, rate)| {
                let rounds = Rounds::Fixed(planned.own_rounds);
                Ok(ComparePlan { load: load(*rate)?, rounds, ..self.open_plan(std::slice::from_ref(case), &planned) })
            })
            .collect::<Result<_, Failure>>()?;
        let id = OpenStudy::Own.id(&self.study.id, self.share).as_str().to_owned();
        self.sequence.study(site, id, StudyKind::OwnRates, &own).await?;
        Ok(())
    }

    /// How the trials are measured, from how long those of the closed part took.
    fn trials(&self, rates: &OpenRates, trials: &[Trial]) -> Trials {
        let Self { study, plan, total, .. } = self;
        let analysis = analyse(study, trials);
        let loads: Duration = study.cases.iter().map(|case| study.warm_up_of(&case.id) + study.duration).sum();
        let beside =
            analysis.block_time.map_or(BESIDE_LOAD, |block| block.saturating_sub(loads) / study.cases.len() as u32);
        // What warms a case up are requests: as many as in the closed part, which are fewer a second now.
        let warm_up = |case: &CaseId| {
            let throughput = analysis.case(case)?.summary.get("throughput_rps")?.value;
            Some(study.warm_up_of(case).mul_f64((throughput / rates.rate).max(1.0)).min(LONGEST_WARM_UP))
        };
        let warm_up = match study.groundwork.warm_ups.is_empty() {
            true => plan.warm_up,
            false => rates.shared.iter().filter_map(warm_up).max().unwrap_or(plan.warm_up),
        };
        let bounds = Bounds {
            cases: [rates.shared.len() as u32, rates.own.len() as u32],
            window: plan.duration,
            warm_up,
            beside,
            rounds: plan.rounds,
            time: total.map(|total| total.saturating_sub(measured_for(study, trials))),
        };
        Trials::plan(rates.rate, bounds)
    }

    /// The plan of these cases under an open load.
    fn open_plan(&self, cases: &[CaseId], trials: &Trials) -> ComparePlan {
        let is_meant = |id: &CaseId| cases.contains(id);
        ComparePlan {
            candidates: self.plan.candidates.iter().filter(|candidate| is_meant(&candidate.id)).cloned().collect(),
            choice: RuntimeChoice::Named,
            order: OrderChoice::Always(BlockOrder::Windows),
            duration: trials.window,
            warm_up: trials.warm_up,
            pilots: false,
            seed: Some(self.study.seed),
            at: None,
            ..self.plan.clone()
        }
    }

    /// A study of this part that was begun before.
    fn earlier(&self, id: &StudyId) -> Result<Option<StoredStudy>, Failure> {
        let store = Store::open(&self.sequence.store).map_err(Failure::missing)?;
        match store.standing(id).map_err(Failure::missing)? {
            Some(_) => store.load(id.as_str()).map(Some).map_err(Failure::missing),
            None => Ok(None),
        }
    }

    /// Says what is measured, and why in such windows.
    fn tell(&self, rates: &OpenRates, Trials { window, percentile, .. }: &Trials) {
        let OpenRates { slowest, rate, left_out, .. } = rates;
        for LeftOut { case, reason, .. } in left_out {
            self.sequence.bench.warning(&format!("{case} is not measured at the rate of the others: it {reason}"));
        }
        let requests = window.as_secs_f64() * rate;
        let why = match percentile {
            Some((_, name @ "p99")) => format!("enough requests for a {name}"),
            Some((_, name)) => format!("too few requests for a p99, so that {name} decides{}", longer(*rate)),
            None => format!("too few requests for any percentile{}", longer(*rate)),
        };
        self.sequence.note(&format!(
            "response times at {} of the throughput of the slowest, {slowest}: {rate} requests a second for all, measured for \
             {window:?} each with about {requests:.0} requests, {why}",
            self.share
        ));
    }
}

/// Which windows a p99 takes.
fn longer(rate: f64) -> String {
    format!(" (--duration {}s would be enough)", window_for(0.01, rate).as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn windows_are_as_long_as_a_percentile_takes_and_the_time_has_room_for() {
        let auto = |seconds| Rounds::Auto { max_time: SECOND * seconds };
        for (name, rate, rounds, time, expected) in [
            ("a p99 in 27 s", 200.0, Rounds::Fixed(5), None, (27, Some("p99"), Rounds::Fixed(5), 3)),
            ("no window is shorter", 5000.0, Rounds::Fixed(2), None, (8, Some("p99"), Rounds::Fixed(2), 2)),
            ("none is longer than a minute", 50.0, Rounds::Fixed(3), None, (23, Some("p95"), Rounds::Fixed(3), 3)),
            ("no percentile at all", 1.0, Rounds::Fixed(3), None, (8, None, Rounds::Fixed(3), 3)),
            // 9 trials of 29 s; those at their own rates take 87 s.
            ("time enough", 200.0, auto(300), Some(270), (27, Some("p99"), auto(270 - 87), 3)),
            ("time for a p95", 200.0, auto(300), Some(260), (8, Some("p95"), auto(260 - 30), 3)),
            // The least rounds are measured all the same.
            ("time for nothing", 200.0, auto(300), Some(10), (8, Some("p95"), auto(60), 3)),
        ] {
            let bounds = Bounds {
                cases: [2, 1],
                window: SECOND * 8,
                warm_up: SECOND,
                beside: SECOND,
                rounds,
                time: time.map(|time| SECOND * time),
            };
            let Trials { window, warm_up: _, percentile, rounds, own_rounds } = Trials::plan(rate, bounds);
            let told = (window.as_secs(), percentile.map(|(_, name)| name), rounds, own_rounds);
            assert_eq!(told, expected, "{name}");
        }
    }
}
