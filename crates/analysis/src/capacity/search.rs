//! Which rate to probe next, and what the probes say in the end.

use super::fit::{Counted, Root, root};

/// So many probes at a rate are run at most.
pub const MOST_PROBES: usize = 7;

/// The first probe, as a share of what closed loads were served at most: most objectives break beyond.
const FIRST: f64 = 0.85;

/// What is searched for is known well enough to be confirmed when its standard error is this share of it.
const KNOWN: f64 = 0.01;

/// A long probe is below the rate that was found by this share, so that it is likely to meet the objective.
const MARGIN: f64 = 0.005;

/// Where nothing meets the objective, each probe has this part of the rate of the one before.
const DOWN: f64 = 0.3;

/// After so many such probes, nothing does, if the last was at this part of what closed loads were served or less.
const MOST_DOWN: usize = 3;

/// A probe within this share of what was found says what there is to say about it.
const NEAR: f64 = 0.1;

/// No probe is further beyond what closed loads were served, by this factor, than the one before.
const BEYOND: f64 = 1.3;

/// Where fewer requests than this may be beyond a term, not one that is says nothing yet: with a chance of 1 in 20 none is seen
/// of 3 that are expected (Hanley and Lippman-Hand, "If nothing goes wrong, is everything all right?", JAMA 249, 1983).
const TELLING: f64 = 3.0;

/// What is known of the capacity weighs as much as so many independent requests.
const FEW: f64 = 4.0;

/// How a probe ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeEnd {
    /// Its window was measured to its end.
    Complete,
    /// The window was cut short: whatever had come after, the objective would have been broken.
    Hopeless,
    /// The server answered fewer requests than were due.
    Overloaded,
    /// The server failed.
    Failed,
    /// The generator could not send what was due when it was.
    Generator,
}

/// What a probe showed about a term of the objective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Term {
    /// Requests that were beyond what it asks for.
    pub(crate) beyond: f64,
    /// How many might have been, of those that were counted.
    pub(crate) allowed: f64,
    /// The variance of `beyond`, as a multiple of its mean.
    pub(crate) burst: f64,
}

/// What a probe at a rate showed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Probe {
    /// Requests a second that were due.
    pub(crate) rate: f64,
    /// Whether it was run for longer, to confirm.
    pub(crate) long: bool,
    /// How it ended.
    pub(crate) end: ProbeEnd,
    /// What was counted, by terms of the objective.
    pub(crate) terms: Vec<Term>,
    /// Whether a term is broken beyond doubt.
    pub(crate) broken: bool,
}

impl Probe {
    /// Whether all terms held as they were counted.
    pub(crate) fn meets(&self) -> bool {
        self.end == ProbeEnd::Complete && self.terms.iter().all(|term| term.beyond < term.allowed)
    }

    /// Whether it meets the objective, and would probably not if the objective were broken.
    fn confirms(&self) -> bool {
        self.long && self.meets() && self.terms.iter().all(|term| term.allowed >= TELLING)
    }

    /// Whether nothing was counted at its rate, so that no term says how far beyond the objective it is.
    fn is_wall(&self) -> bool {
        matches!(self.end, ProbeEnd::Failed | ProbeEnd::Generator)
    }

    fn breaks(&self) -> bool {
        self.broken || self.end != ProbeEnd::Complete
    }

    /// The term that is broken by most.
    fn worst(&self) -> Option<usize> {
        let share = |term: &Term| term.beyond / term.allowed;
        let broken = self.terms.iter().enumerate().filter(|(_, term)| term.beyond > term.allowed);
        broken.max_by(|(_, a), (_, b)| share(a).total_cmp(&share(b))).map(|(place, _)| place)
    }
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// Probe a rate, for longer where that is to confirm it.
    Probe {
        /// Requests a second.
        rate: f64,
        /// Whether for longer.
        long: bool,
    },
    /// Nothing more.
    Done(CapacityFound),
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub enum CapacityFound {
    /// The highest rate that meets the objective.
    Rate {
        /// Requests a second.
        rate: f64,
        /// The ends of an interval that holds the true rate in 95 of 100 searches.
        low: f64,
        /// See `low`.
        high: f64,
        /// Whether a longer probe met it with as many requests as that takes.
        confirmed: bool,
        /// The place of the term that breaks first; absent where the server's speed ends first, or nothing broke.
        breaks: Option<usize>,
    },
    /// No rate that was probed meets it.
    Nothing {
        /// The lowest rate that was probed.
        least: f64,
        /// The term that was furthest from being met there.
        breaks: Option<usize>,
    },
    /// It is met as far as the generator reaches.
    BeyondGenerator {
        /// The highest rate at which it was met; nothing where the first was too high already.
        met: Option<f64>,
        /// The lowest rate that the generator could not offer.
        limit: f64,
    },
}

/// What follows from the probes so far, when closed loads were served at this rate at most, there is time left for so many more
/// of them, and of each term the share of requests that it allows to be beyond is known where all are at the capacity.
pub(crate) fn next(saturation: f64, allowed: &[Option<f64>], probes: &[Probe], left: usize) -> Next {
    let left = left.min(MOST_PROBES.saturating_sub(probes.len()));
    // A generator that was late at a rate and not at a higher one was disturbed: that probe is run again.
    let sent = probes.iter().filter(|probe| probe.end != ProbeEnd::Generator).map(|probe| probe.rate);
    let sent = sent.max_by(f64::total_cmp).unwrap_or(0.0);
    let counting = |probe: &&Probe| probe.end != ProbeEnd::Generator || probe.rate > sent;
    let disturbed = probes.iter().filter(|probe| !counting(probe)).map(|probe| probe.rate).min_by(f64::total_cmp);
    let probes: &[Probe] = &probes.iter().filter(counting).cloned().collect::<Vec<_>>();
    let bounds = Bounds::of(probes);
    // What lies behind a wall is not reached, whatever the line says that leads through it.
    let crossing = crossing(saturation, allowed, probes)
        .filter(|(root, _)| bounds.wall.is_none_or(|wall| root.rate < wall) || bounds.low.is_none());
    let done = || {
        Next::Done(match (conclude(probes, bounds, crossing), disturbed) {
            // Below, where the server may meet it, the generator was disturbed each time.
            (CapacityFound::Nothing { least, .. }, Some(limit)) if limit < least => {
                CapacityFound::BeyondGenerator { met: None, limit }
            }
            (found, _) => found,
        })
    };
    let probe = |rate: f64, long| Next::Probe { rate, long };
    let Some(last) = probes.last() else {
        return if left == 0 { done() } else { probe(FIRST * saturation, false) };
    };
    if left == 0 {
        return done();
    }
    let found = crossing.map(|(root, _)| root);
    let below = |root: Root| root.rate.min(bounds.high.unwrap_or(f64::INFINITY)) * (1.0 - MARGIN);
    if last.long && last.meets() {
        let higher = found.filter(|root| below(*root) - root.error > last.rate * (1.0 + 2.0 * KNOWN));
        return higher.map_or_else(done, |root| probe(below(root), true));
    }
    match (bounds, found) {
        (Bounds { low: None, high: Some(high), .. }, _)
            if probes.len() >= MOST_DOWN && high <= DOWN * saturation && probes.iter().all(Probe::breaks) =>
        {
            done()
        }
        (Bounds { low: None, high: Some(high), .. }, found) => {
            // A root far below is a guess, and so is one just below that was wrong again and again: the server may have become slower.
            let near = if probes.len() < MOST_DOWN { 0.97 } else { DOWN.sqrt() };
            let rate = found.map_or(0.0, |root| root.rate).clamp(DOWN * high, near * high);
            probe(rate, left == 1)
        }
        (Bounds { low, high, .. }, Some(root)) => {
            let near = probes.iter().filter(|probe| (probe.rate / root.rate - 1.0).abs() < NEAR).count();
            let long = left <= 2 || (near >= 2 && root.error < KNOWN * root.rate);
            let low = low.unwrap_or(0.0);
            let (rate, most) = match high {
                _ if long => (below(root), high.unwrap_or(f64::INFINITY)),
                Some(high) => (root.rate, f64::midpoint(high, root.rate.min(high))),
                None => (root.rate, BEYOND * saturation.max(low)),
            };
            probe(rate.clamp(low, most.max(low)), long)
        }
        (Bounds { low: Some(low), high: None, .. }, None) => {
            probe((BEYOND * low).max(1.1 * saturation).min(2.0 * low), false)
        }
        (Bounds { low: Some(low), high: Some(high), .. }, None) if high / low < 1.0 + 2.0 * KNOWN || left == 1 => {
            probe(low, true)
        }
        (Bounds { low: Some(low), high: Some(high), .. }, None) => probe((low * high).sqrt(), false),
        (Bounds { low: None, high: None, .. }, None) => probe(DOWN.sqrt() * last.rate, left == 1),
    }
}

/// The highest rate that met the objective, the lowest that broke it beyond doubt, and that one again where it is a wall.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    low: Option<f64>,
    high: Option<f64>,
    wall: Option<f64>,
}

impl Bounds {
    fn of(probes: &[Probe]) -> Self {
        let rates = |test: fn(&Probe) -> bool| probes.iter().filter(move |probe| test(probe)).map(|probe| probe.rate);
        let high = rates(Probe::breaks).min_by(f64::total_cmp);
        let low = rates(Probe::meets).filter(|rate| high.is_none_or(|high| *rate < high)).max_by(f64::total_cmp);
        let wall = rates(Probe::is_wall).min_by(f64::total_cmp).filter(|wall| high == Some(*wall));
        Self { low, high, wall }
    }
}

/// Where the first term meets what it allows, and which that is.
fn crossing(saturation: f64, allowed: &[Option<f64>], probes: &[Probe]) -> Option<(Root, usize)> {
    let of_term = |(place, allowed): (usize, &Option<f64>)| {
        let seen = probes.iter().filter(|probe| !probe.is_wall());
        let mut counted: Vec<Counted> = seen
            .filter_map(|probe| {
                let Term { beyond, allowed, burst } = *probe.terms.get(place)?;
                Some(Counted { rate: probe.rate, beyond, allowed, burst })
            })
            .collect();
        // At the capacity all requests are beyond. That weighs no more than a few of them.
        let few = |allowed: &f64| Counted { rate: saturation, beyond: FEW, allowed: FEW * allowed, burst: 1.0 };
        counted.extend(allowed.as_ref().map(few));
        Some((root(&counted)?, place))
    };
    let roots = allowed.iter().enumerate().filter_map(of_term).filter(|(root, _)| root.rate > 0.0);
    roots.min_by(|(a, _), (b, _)| a.rate.total_cmp(&b.rate))
}

fn conclude(probes: &[Probe], bounds: Bounds, crossing: Option<(Root, usize)>) -> CapacityFound {
    let by_rate = |a: &&Probe, b: &&Probe| a.rate.total_cmp(&b.rate);
    let limit = probes.iter().filter(|probe| probe.breaks()).min_by(by_rate);
    if let Some(limit) = limit.filter(|limit| limit.end == ProbeEnd::Generator) {
        return CapacityFound::BeyondGenerator { met: bounds.low, limit: limit.rate };
    }
    // A rate that was met once and not again, or broken below, is not known well, but it is not "none".
    let met = probes.iter().filter(|probe| probe.meets()).map(|probe| probe.rate).max_by(f64::total_cmp);
    if let (None, None, Some(met), Some(limit)) = (bounds.low, crossing, met, limit) {
        let (rate, high) = (met.min(limit.rate), met.max(limit.rate));
        return CapacityFound::Rate { rate, low: 0.0, high, confirmed: false, breaks: limit.worst() };
    }
    let Some(low) = bounds.low.or(crossing.filter(|_| met.is_some()).map(|(root, _)| root.rate)) else {
        let least = probes.iter().min_by(by_rate);
        return CapacityFound::Nothing {
            least: least.map_or(0.0, |probe| probe.rate),
            breaks: least.and_then(Probe::worst),
        };
    };
    let confirmed = probes.iter().any(Probe::confirms);
    match crossing {
        Some((root, place)) => {
            let half = root.half();
            let high = bounds.wall.map_or(root.rate + half, |wall| wall.min(root.rate + half));
            let low = (root.rate - half).max(0.0);
            // Where no request was beyond a term, the line leads to the capacity itself.
            let breaks = Some(place)
                .filter(|_| probes.iter().any(|probe| probe.terms.get(place).is_some_and(|term| term.beyond > 0.0)));
            CapacityFound::Rate { rate: root.rate, low, high, confirmed, breaks }
        }
        None => {
            let breaks = limit.and_then(Probe::worst);
            CapacityFound::Rate { rate: low, low, high: bounds.high.unwrap_or(f64::INFINITY), confirmed, breaks }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A probe of 1,000 requests, of which 10 may be beyond the only term.
    fn probe(rate: f64, beyond: f64) -> Probe {
        Probe {
            rate,
            long: false,
            end: ProbeEnd::Complete,
            terms: vec![Term { beyond, allowed: 10.0, burst: 1.0 }],
            broken: beyond > 20.0,
        }
    }

    fn ended(rate: f64, end: ProbeEnd) -> Probe {
        Probe { end, terms: Vec::new(), ..probe(rate, 0.0) }
    }

    /// Runs a search on a server that answers by itself.
    fn search(answer: impl Fn(f64, bool) -> Probe) -> (Vec<Probe>, CapacityFound) {
        let mut probes = Vec::new();
        loop {
            match next(1_000.0, &[Some(0.01)], &probes, MOST_PROBES) {
                Next::Probe { rate, long } => probes.push(Probe { long, ..answer(rate, long) }),
                Next::Done(found) => return (probes, found),
            }
            assert!(probes.len() <= MOST_PROBES);
        }
    }

    /// What is beyond grows by a tenth for each 1 % of the rate, and is what may be at 600/s.
    fn smooth(rate: f64) -> f64 {
        10.0 * ((rate - 600.0) / 60.0).exp()
    }

    #[test]
    fn a_server_that_became_slower_than_closed_loads_were_served_has_a_rate_all_the_same() {
        // Little is beyond what is allowed, wherever it is too much: the root is always just below.
        let (probes, found) = search(|rate, _| probe(rate, if rate > 450.0 { 25.0 } else { 0.0 }));
        assert!(probes.iter().take(MOST_DOWN).all(|probe| probe.rate > 450.0), "{probes:?}");
        let CapacityFound::Rate { rate, .. } = found else { panic!("{found:?} {probes:?}") };
        assert!((rate / 450.0 - 1.0).abs() < 0.05, "{rate} {probes:?}");
    }

    #[test]
    fn a_rate_is_found_confirmed_and_the_term_told() {
        let (probes, found) = search(|rate, _| probe(rate, smooth(rate).min(1_000.0).floor()));
        let CapacityFound::Rate { rate, low, high, confirmed, breaks } = found else { panic!("{found:?}") };
        assert!((rate / 600.0 - 1.0).abs() < 0.03 && low < 600.0 && high > 600.0, "{rate} {low} {high}");
        assert!(confirmed && breaks == Some(0) && probes.last().unwrap().long, "{probes:?}");
    }

    #[test]
    fn what_nothing_everything_or_the_generator_meets_is_told() {
        let (probes, found) = search(|rate, _| probe(rate, 500.0));
        assert_eq!(probes.len(), MOST_DOWN);
        assert!(matches!(found, CapacityFound::Nothing { least, breaks: Some(0) } if least < 500.0), "{found:?}");

        let (_, found) = search(|rate, _| probe(rate, 0.0));
        assert!(matches!(found, CapacityFound::Rate { high, breaks: None, .. } if high.is_infinite()), "{found:?}");

        let late = |rate: f64| if rate > 500.0 { ended(rate, ProbeEnd::Generator) } else { probe(rate, 0.0) };
        let (_, found) = search(|rate, _| late(rate));
        assert!(matches!(found, CapacityFound::BeyondGenerator { limit, .. } if limit > 500.0), "{found:?}");

        let (_, found) = search(|rate, _| ended(rate, ProbeEnd::Failed));
        assert!(matches!(found, CapacityFound::Nothing { breaks: None, .. }), "{found:?}");
    }

    #[test]
    fn a_server_that_dies_is_approached_and_not_killed_again_and_again() {
        let dies = |rate: f64, long: bool| {
            let many = if long { 4.0 } else { 1.0 };
            if rate > 600.0 {
                return ended(rate, ProbeEnd::Failed);
            }
            Probe { terms: vec![Term { beyond: 0.0, allowed: 10.0 * many, burst: 1.0 }], ..probe(rate, 0.0) }
        };
        let (probes, found) = search(dies);
        let rates: Vec<f64> = probes.iter().map(|probe| probe.rate).collect();
        let CapacityFound::Rate { rate, high, confirmed, .. } = found else { panic!("{found:?}") };
        assert!(rate > 500.0 && rate <= 600.0 && high > 600.0 && high < 700.0 && confirmed, "{rates:?} {found:?}");
        let deaths: Vec<f64> = rates.iter().copied().filter(|rate| *rate > 600.0).collect();
        assert!(deaths.is_sorted_by(|a, b| a > b), "{rates:?}");

        let late = |rate: f64| if rate > 720.0 { ended(rate, ProbeEnd::Generator) } else { probe(rate, 0.0) };
        let (probes, found) = search(|rate, _| late(rate));
        assert!(
            matches!(found, CapacityFound::BeyondGenerator { met: Some(met), .. } if met > 600.0),
            "{probes:?} {found:?}"
        );
    }

    #[test]
    fn a_confirmation_takes_requests_enough() {
        let few = |rate: f64, long| Probe {
            long,
            terms: vec![Term { beyond: 0.0, allowed: 0.9, burst: 1.0 }],
            ..probe(rate, 0.0)
        };
        assert!(few(500.0, true).meets() && !few(500.0, true).confirms());
        assert!(probe(500.0, 2.0).meets() && !probe(500.0, 2.0).confirms(), "it was no longer than others");
        assert!(Probe { long: true, ..probe(500.0, 2.0) }.confirms());
    }

    #[test]
    fn a_generator_that_was_disturbed_is_no_limit() {
        let probes = [probe(850.0, 700.0), ended(300.0, ProbeEnd::Generator)];
        let Next::Probe { rate, long: false } = next(1_000.0, &[Some(0.01)], &probes, MOST_PROBES) else {
            panic!("{probes:?}")
        };
        assert!((250.0..850.0).contains(&rate), "{rate}");
        // Disturbed each time, it says nothing of the server there.
        let done = next(1_000.0, &[Some(0.01)], &probes, 0);
        assert!(matches!(done, Next::Done(CapacityFound::BeyondGenerator { met: None, limit: 300.0 })), "{done:?}");
    }

    #[test]
    fn a_rate_that_is_met_once_and_not_again_is_told_with_its_doubt() {
        let probes = [probe(850.0, 300.0), probe(600.0, 5.0), Probe { long: true, ..probe(597.0, 25.0) }];
        let Next::Done(found) = next(1_000.0, &[Some(0.01)], &probes, 0) else { panic!("{probes:?}") };
        let CapacityFound::Rate { rate, low, high, confirmed: false, .. } = found else { panic!("{found:?}") };
        assert!(low < rate && rate < 600.0 && high > rate, "{rate} {low} {high}");
        let next = next(1_000.0, &[Some(0.01)], &probes, 2);
        assert!(matches!(next, Next::Probe { rate, .. } if rate < 597.0), "{next:?}");
    }

    #[test]
    fn a_machine_that_slows_down_in_a_search_is_not_told_as_no_rate() {
        // The higher the rate, the fewer were beyond: no line leads anywhere.
        let overloaded = |rate, beyond| Probe { end: ProbeEnd::Overloaded, ..probe(rate, beyond) };
        let later = [overloaded(990.0, 100.0), overloaded(960.0, 150.0), overloaded(920.0, 200.0)];
        let again = Probe { long: true, ..overloaded(850.0, 300.0) };
        let probes = [&[probe(850.0, 2.0)], &later[..], &[again]].concat();
        let done = next(1_000.0, &[None], &probes, 0);
        let Next::Done(CapacityFound::Rate { rate, low, high, confirmed, breaks }) = done else { panic!("{done:?}") };
        assert_eq!((rate, low, high, confirmed, breaks), (850.0, 0.0, 850.0, false, Some(0)));
    }

    #[test]
    fn without_time_it_says_what_is_known() {
        let known = [probe(500.0, 2.0), probe(700.0, 60.0)];
        let done = next(1_000.0, &[Some(0.01)], &known, 0);
        assert!(
            matches!(done, Next::Done(CapacityFound::Rate { rate, confirmed: false, .. }) if rate > 500.0 && rate < 700.0)
        );
    }
}
