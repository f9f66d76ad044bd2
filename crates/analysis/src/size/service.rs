//! Autoscaled services: which of those that are forecast to hold an objective is confirmed next, and what came of it.
//!
//! Forecasts propose, and fresh blocks of real instances decide, as of sizes that run all the time. What blocks show of a service
//! corrects the forecasts of the others of its runtime.

use std::time::Duration;

use stampede_core::{Bytes, Cpus};

use super::confirmation::{Confirmation, FIRST_BLOCKS, SizeSides, SizeVerdict, first_reach};
use super::grid::SizeReading;
use super::outcome::SizeChoice;

/// Services that are refuted before the search ends where one was confirmed, and where none was.
const MOST_REFUTED: usize = 2;
const MOST_REFUTED_OF_NONE: usize = 4;

/// A service that is forecast to be so many times beyond the objective is not measured.
const PLAUSIBLE: f64 = 1.3;

/// One that costs less by no more than this share is not measured to save that.
const LEAST_SAVING: f64 = 0.005;

/// A service that could be chosen, and what is forecast of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceCell {
    /// Which of the runtimes.
    pub runtime: usize,
    /// CPU of an instance.
    pub cpus: Cpus,
    /// Memory of an instance.
    pub memory: Bytes,
    /// How many requests an instance works on at once; of a runtime without such a setting, 0.
    pub workers: u32,
    /// How many requests an instance is given at once, at most.
    pub concurrency: u32,
    /// The fewest instances.
    pub min_instances: u32,
    /// The most instances: as many as were needed in the forecast.
    pub max_instances: u32,
    /// The share of its concurrency that an instance is to have, where the autoscaler lets its owner say so.
    pub target: Option<f64>,
    /// Of a month at the load, in whichever currency, as forecast.
    pub price: f64,
    /// Instances on average at the load, as forecast.
    pub instances: f64,
    /// How many times its limit the worst response time is where it has least room, as forecast.
    pub times: f64,
    /// How long each of its trials is measured.
    pub window: Duration,
    /// Whether this machine holds all its instances at once.
    pub fits: bool,
}

/// How long trials of a service are measured: the shortest of these windows, which are in ascending order, in which the first look is
/// expected to show that it holds, or the longest. `times` is how many times its limit its response time is forecast to be, and
/// `scatter` the standard deviation of the logarithm of that between simulations that are `simulated` long; that of windows falls with
/// the root of their length.
///
/// How many instances an autoscaler has goes up and down over minutes. A service that is far from its limit is shown by short windows;
/// one that is near it, by long ones sooner than by many short ones, each with its start (ADR 47).
#[must_use]
pub fn service_window(windows: &[Duration], times: f64, scatter: f64, simulated: Duration) -> Duration {
    let is_enough = |window: &&Duration| {
        let scatter = scatter * simulated.div_duration_f64(**window).sqrt();
        first_reach() * scatter < -times.ln()
    };
    windows.iter().find(is_enough).or(windows.last()).copied().unwrap_or(simulated)
}

impl ServiceCell {
    /// `nginx-fpm, 0.5 CPU, 192Mi, 6 workers for 8 requests at once, 0 to 3 instances, target 70 %`, of a runtime with this name.
    #[must_use]
    pub fn named(&self, runtime: &str) -> String {
        let Self { cpus, memory, workers, concurrency, min_instances, max_instances, target, .. } = self;
        let of_each = |count: u32, one: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
        let given = format!("{} at once", of_each(*concurrency, "request"));
        let pool = if *workers == 0 { given } else { format!("{} for {given}", of_each(*workers, "worker")) };
        let instances = match (*min_instances, *max_instances) {
            (least, most) if least == most => of_each(most, "instance"),
            (least, most) => format!("{least} to {}", of_each(most, "instance")),
        };
        let target = target.map_or_else(String::new, |target| format!(", target {:.0} %", target * 100.0));
        format!("{runtime}, {cpus} CPU, {memory}, {pool}, {instances}{target}")
    }
}

/// What a service must hold beside its load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServiceQuestion {
    /// Whether it must hold more than the load.
    pub headroom: bool,
    /// The share of requests that may have no right answer, if the objective has that term.
    pub errors: Option<f64>,
}

impl ServiceQuestion {
    /// All loads that a service must hold.
    fn sides(self) -> SizeSides {
        SizeSides { load: true, headroom: self.headroom, gone: false }
    }
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceStep {
    /// Blocks of a service, each at the load and at the load with its headroom.
    Confirm {
        /// Which.
        cell: usize,
        /// How many more.
        blocks: u32,
        /// Of which loads.
        sides: SizeSides,
    },
    /// The search is over.
    Done,
}

/// What became of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceFate {
    /// Fresh blocks show that it holds.
    Confirmed,
    /// They do not.
    Refuted,
    /// There are too few blocks.
    Open,
    /// It was not measured.
    Forecast,
    /// It was not measured, as its instances have no room on this machine.
    TooLarge,
}

/// What a search came to.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceFound {
    /// The cheapest that is shown to hold.
    pub choice: Option<SizeChoice>,
    /// What each service came to, in their order.
    pub fates: Vec<ServiceFate>,
    /// What blocks say of each service that has some, in the order in which they were begun.
    pub confirmations: Vec<(usize, Confirmation)>,
    /// Services of which no cheaper one is forecast to have shorter response times, the cheapest first.
    pub frontier: Vec<usize>,
    /// By runtime, how many times as long as forecast response times were; 1 where nothing was measured.
    pub corrections: Vec<f64>,
}

/// What comes next after these trials. `cells` are the cheapest first, and `room` is for how many trials of one of them there is time.
#[must_use]
pub fn service_step(
    question: ServiceQuestion,
    cells: &[ServiceCell],
    readings: &[SizeReading],
    room: impl Fn(&ServiceCell) -> u32,
) -> ServiceStep {
    let confirm = |cell: usize, blocks: u32, sides: SizeSides| match sides.trials(blocks) {
        trials if cells.get(cell).is_some_and(|cell| trials > room(cell)) => ServiceStep::Done,
        _ => ServiceStep::Confirm { cell, blocks, sides },
    };
    let found = service_found(question, cells, readings);
    let with = |verdict| found.confirmations.iter().filter(move |(_, confirmation)| confirmation.verdict == verdict);
    if let Some((cell, open)) = with(SizeVerdict::Open).next() {
        return confirm(*cell, open.missing, open.sides);
    }
    let chosen = found.choice.as_ref().and_then(|choice| cells.get(choice.cell)).map(|cell| cell.price);
    let most = if chosen.is_some() { MOST_REFUTED } else { MOST_REFUTED_OF_NONE };
    if with(SizeVerdict::Refuted).count() >= most {
        return ServiceStep::Done;
    }
    let bound = chosen.map_or(f64::INFINITY, |price| price * (1.0 - LEAST_SAVING));
    let times = |cell: &ServiceCell| cell.times * found.corrections.get(cell.runtime).copied().unwrap_or(1.0);
    let is_open = |(place, cell): &(usize, &ServiceCell)| {
        found.fates.get(*place) == Some(&ServiceFate::Forecast) && cell.price < bound
    };
    let open: Vec<(usize, &ServiceCell)> = cells.iter().enumerate().filter(is_open).collect();
    let cheapest = open.iter().find(|(_, cell)| times(cell) < 1.0);
    // Where nothing is expected to hold, the nearest shows how far the forecast is off.
    let nearest = || {
        let nearest = open.iter().min_by(|(_, a), (_, b)| times(a).total_cmp(&times(b)));
        nearest.filter(|(_, cell)| chosen.is_none() && times(cell) < PLAUSIBLE)
    };
    match cheapest.or_else(nearest) {
        Some((cell, _)) => confirm(*cell, FIRST_BLOCKS, question.sides()),
        None => ServiceStep::Done,
    }
}

/// What these trials came to. `cells` are the cheapest first.
#[must_use]
pub fn service_found(question: ServiceQuestion, cells: &[ServiceCell], readings: &[SizeReading]) -> ServiceFound {
    let mut places: Vec<usize> = Vec::new();
    for reading in readings.iter().filter(|reading| reading.role.is_block()) {
        if !places.contains(&reading.cell) {
            places.push(reading.cell);
        }
    }
    let of = |place: usize| {
        let ours: Vec<&SizeReading> = readings.iter().filter(|reading| reading.cell == place).collect();
        (place, Confirmation::of(&ours, question.errors, question.sides()))
    };
    let confirmations: Vec<(usize, Confirmation)> = places.into_iter().map(of).collect();
    let known = |place: usize| confirmations.iter().find(|(cell, _)| *cell == place).map(|(_, known)| known);
    let fate = |(place, cell): (usize, &ServiceCell)| match known(place).map(|known| known.verdict) {
        Some(SizeVerdict::Confirmed) => ServiceFate::Confirmed,
        Some(SizeVerdict::Refuted) => ServiceFate::Refuted,
        Some(SizeVerdict::Open) => ServiceFate::Open,
        None if cell.fits => ServiceFate::Forecast,
        None => ServiceFate::TooLarge,
    };
    let confirmed = confirmations.iter().filter(|(_, confirmation)| confirmation.verdict == SizeVerdict::Confirmed);
    // Places are in the order of prices.
    let choice = confirmed.min_by_key(|(cell, _)| *cell);
    let choice = choice.map(|(cell, confirmation)| SizeChoice { cell: *cell, confirmation: confirmation.clone() });
    let mut frontier = Vec::new();
    let mut shortest = f64::INFINITY;
    for (place, cell) in cells.iter().enumerate() {
        if cell.times < shortest {
            shortest = cell.times;
            frontier.push(place);
        }
    }
    let runtimes = cells.iter().map(|cell| cell.runtime + 1).max().unwrap_or(0);
    let correction = |runtime: usize| {
        let ours = confirmations.iter().filter_map(|(place, confirmation)| {
            let cell = cells.get(*place).filter(|cell| cell.runtime == runtime)?;
            Some((confirmation.worst()?.value / cell.times).ln()).filter(|log| log.is_finite())
        });
        let logs: Vec<f64> = ours.collect();
        (logs.iter().sum::<f64>() / (logs.len() as f64).max(1.0)).exp()
    };
    ServiceFound {
        choice,
        fates: cells.iter().enumerate().map(fate).collect(),
        frontier,
        corrections: (0..runtimes).map(correction).collect(),
        confirmations,
    }
}

#[cfg(test)]
mod tests {
    use super::super::grid::{SizeFigures, SizeOutcome, SizeRole};
    use super::*;

    const QUESTION: ServiceQuestion = ServiceQuestion { headroom: true, errors: Some(0.01) };

    /// Services that cost 1, 2, 3 and so on, of which each is forecast to come so near its objective.
    fn cells(times: &[f64]) -> Vec<ServiceCell> {
        let cell = |(place, times): (usize, &f64)| ServiceCell {
            runtime: 0,
            cpus: Cpus::from_millis(250 * (place as u32 + 1)),
            memory: Bytes::from_mib(128),
            workers: 4,
            concurrency: 8,
            min_instances: 0,
            max_instances: 2,
            target: None,
            price: (place + 1) as f64,
            instances: 1.0,
            times: *times,
            window: Duration::from_secs(10),
            fits: true,
        };
        times.iter().enumerate().map(cell).collect()
    }

    fn reading(cell: usize, role: SizeRole, times: f64) -> SizeReading {
        let figures = SizeFigures {
            times,
            over: times,
            failed: 0,
            requests: 2_000,
            work: None,
            median: Duration::from_millis(5),
            mean: None,
            memory_peak: None,
            throttled: 0.0,
            growth: None,
            workers: None,
        };
        SizeReading { cell, role, outcome: SizeOutcome::Served(figures) }
    }

    /// A search in which a service answers so many times as slowly as it is forecast to: which were measured, and what was found.
    fn searched(cells: &[ServiceCell], truth: impl Fn(&ServiceCell) -> f64) -> (Vec<usize>, ServiceFound) {
        let (mut readings, mut measured) = (Vec::new(), Vec::new());
        while let ServiceStep::Confirm { cell, blocks, sides } = service_step(QUESTION, cells, &readings, |_| u32::MAX)
        {
            if measured.last() != Some(&cell) {
                measured.push(cell);
            }
            for block in 0..blocks {
                // Blocks differ a little.
                let times = truth(&cells[cell]) * (1.0 + 0.01 * f64::from(block % 3));
                let times = |role| if role == SizeRole::Load { 0.8 * times } else { times };
                readings.extend(sides.roles().map(|role| reading(cell, role, times(role))));
            }
            assert!(readings.len() < 400);
        }
        (measured, service_found(QUESTION, cells, &readings))
    }

    fn chosen(found: &ServiceFound) -> Option<usize> {
        found.choice.as_ref().map(|choice| choice.cell)
    }

    #[test]
    fn the_cheapest_that_is_forecast_to_hold_is_confirmed_and_what_is_cheaper_is_left_alone() {
        let cells = cells(&[2.0, 1.2, 0.7, 0.5, 0.3]);
        let (measured, found) = searched(&cells, |cell| cell.times);
        assert_eq!((measured, chosen(&found)), (vec![2], Some(2)));
        assert_eq!(found.frontier, [0, 1, 2, 3, 4]);
        assert_eq!((found.fates[2], found.fates[1]), (ServiceFate::Confirmed, ServiceFate::Forecast));
    }

    #[test]
    fn a_forecast_that_is_off_is_corrected_by_what_was_measured() {
        let cells = cells(&[2.0, 1.2, 0.7, 0.5, 0.3]);
        // Twice as slow as forecast: 0.7 is refuted, 0.5 would be 1.0, and 0.3 holds with 0.6.
        let (measured, found) = searched(&cells, |cell| 2.0 * cell.times);
        assert_eq!((measured, chosen(&found)), (vec![2, 4], Some(4)));
        assert!((found.corrections[0] - 2.0).abs() < 0.05, "{found:?}");
        // Half as slow: after the first that holds, what is cheaper is tried and holds too; 2.0 would be 1.0.
        let (measured, found) = searched(&cells, |cell| 0.5 * cell.times);
        assert_eq!((measured, chosen(&found)), (vec![2, 1], Some(1)));
    }

    #[test]
    fn where_the_forecast_names_none_the_nearest_is_measured_if_it_may_hold() {
        let (measured, found) = searched(&cells(&[2.0, 1.6]), |cell| cell.times);
        assert_eq!((measured, chosen(&found)), (Vec::new(), None));
        let (measured, found) = searched(&cells(&[2.0, 1.1]), |cell| 0.7 * cell.times);
        assert_eq!((measured, chosen(&found)), (vec![1], Some(1)));
        // One that never comes true ends after as many as may be refuted.
        let (measured, found) = searched(&cells(&[0.9, 0.8, 0.7, 0.6, 0.5, 0.4]), |_| 1.5);
        assert!(measured.len() <= MOST_REFUTED_OF_NONE && chosen(&found).is_none(), "{measured:?}");
    }

    #[test]
    fn what_this_machine_cannot_hold_is_forecast_alone_and_time_ends_it() {
        let mut cells = cells(&[0.5, 0.6]);
        cells[0].fits = false;
        let (measured, found) = searched(&cells, |cell| cell.times);
        assert_eq!((measured, chosen(&found), found.fates[0]), (vec![1], Some(1), ServiceFate::TooLarge));
        let step = |room| service_step(QUESTION, &cells, &[], |_| room);
        assert_eq!(step(7), ServiceStep::Done);
        assert!(matches!(step(8), ServiceStep::Confirm { blocks: 4, .. }));
    }

    #[test]
    fn windows_are_as_long_as_a_look_at_four_blocks_takes() {
        let windows = [10, 20, 40].map(Duration::from_secs);
        let of = |times, scatter| service_window(&windows, times, scatter, Duration::from_secs(40)).as_secs();
        // A t of 22.2 with 3 degrees of freedom has 0.01 % beyond it, and a mean of four blocks half of their deviation.
        let reach = 22.2 / 2.0;
        let scatter = |share: f64| share * -0.5_f64.ln() / reach;
        assert_eq!((of(0.5, scatter(0.49)), of(0.5, scatter(0.51)), of(0.5, scatter(0.7))), (10, 20, 20));
        assert_eq!((of(0.5, scatter(0.72)), of(0.5, scatter(2.0)), of(1.2, 0.0)), (40, 40, 40));
        assert_eq!(of(0.99, 0.0), 10);
    }

    #[test]
    fn a_service_is_named_by_all_that_it_is_made_with() {
        let mut cell = cells(&[0.5])[0].clone();
        assert_eq!(cell.named("a"), "a, 0.25 CPU, 128Mi, 4 workers for 8 requests at once, 0 to 2 instances");
        (cell.workers, cell.concurrency, cell.min_instances) = (0, 1, 2);
        cell.target = Some(0.7);
        assert_eq!(cell.named("a"), "a, 0.25 CPU, 128Mi, 1 request at once, 2 instances, target 70 %");
    }
}
