//! Which settings to try next.
//!
//! A space-filling start, a Latin hypercube over the levels of each knob (McKay, Beckman and Conover 1979), finds the region;
//! then come the neighbours of the best point so far, one knob away, and where none is left, those two knobs away. Among them, what is
//! suspected comes first, then what is expected to gain most by all that was tried. Settings of servers act nearly independently of
//! each other and have one best size each, which is where coordinate steps are frugal; docs/bench-tune.md has what they find beside a
//! random search.

use stampede_core::Role;
use stampede_stats::SplitMix64;

use super::space::{Point, Space, Tried};
use super::surrogate::Surrogate;

/// How much of the budget the start takes.
const START: f64 = 0.3;

/// How many neighbours race beside the best point.
const BATCH: usize = 4;

/// How many levels of a size a neighbour is away at most.
const REACH: usize = 2;

/// No more draws than this for a point of the start that was not tried and is allowed.
const DRAWS: usize = 200;

/// A search through a space: what is next follows from what came of all before, so that one that was interrupted goes on as if
/// it had not been.
#[derive(Clone, Debug)]
pub struct Search<'a> {
    space: &'a Space,
    seed: u64,
    budget: usize,
    suspected: Option<Role>,
}

impl<'a> Search<'a> {
    /// A search that tries at most so many points, the default among them.
    pub fn new(space: &'a Space, seed: u64, budget: usize) -> Self {
        Self { space, seed, budget, suspected: None }
    }

    /// The same with settings of this role tried before others: what the records of the start suggest.
    #[must_use]
    pub fn suspecting(self, suspected: Option<Role>) -> Self {
        Self { suspected, ..self }
    }

    /// The points to race next, the best so far first, or the default; none when the search is over. `allowed` tells settings
    /// that contradict each other.
    pub fn next(&self, tried: &[Tried], allowed: &dyn Fn(&Point) -> bool) -> Vec<Point> {
        if tried.is_empty() {
            return self.start(allowed);
        }
        let room = self.budget.saturating_sub(tried.len()).min(BATCH);
        let (Some(best), Some(surrogate)) = (best(tried), Surrogate::of(self.space, tried)) else { return Vec::new() };
        let beside = |away| {
            let mut points = self.away(&best.point, away);
            points.retain(|point| tried.iter().all(|tried| tried.point != *point));
            let mut rated: Vec<(bool, f64, Point)> = points
                .into_iter()
                .map(|point| (!self.is_suspected(&best.point, &point), surrogate.improvement(&point), point))
                .collect();
            rated.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
            rated.into_iter().map(|(_, _, point)| point).filter(allowed).take(room).collect::<Vec<Point>>()
        };
        let mut next = beside(1);
        if next.is_empty() {
            next = beside(2);
        }
        if !next.is_empty() {
            next.insert(0, best.point.clone());
        }
        next
    }

    fn start(&self, allowed: &dyn Fn(&Point) -> bool) -> Vec<Point> {
        let mut points = vec![self.space.default.clone()];
        let count = ((self.budget as f64 * START).round() as usize).clamp(2, self.space.size().max(2)) - 1;
        let mut random = SplitMix64::new(self.seed);
        let columns: Vec<Vec<usize>> = self
            .space
            .knobs
            .iter()
            .map(|knob| {
                // One level of each of `count` equal shares of the knob, in random order.
                let levels = knob.levels.len();
                let mut column: Vec<usize> = (0..count)
                    .map(|share| ((share as f64 + uniform(&mut random)) / count as f64 * levels as f64) as usize)
                    .collect();
                for place in (1..column.len()).rev() {
                    column.swap(place, random.index(place + 1));
                }
                column
            })
            .collect();
        for row in 0..count {
            let mut point: Point = columns.iter().map(|column| column[row]).collect();
            for _ in 0..DRAWS {
                if !points.contains(&point) && allowed(&point) {
                    points.push(point);
                    break;
                }
                point = self.space.knobs.iter().map(|knob| random.index(knob.levels.len())).collect();
            }
        }
        points
    }

    /// All points that differ from one in so many knobs, within reach.
    fn away(&self, point: &Point, knobs: usize) -> Vec<Point> {
        let mut points = vec![(0, point.clone())];
        for (place, knob) in self.space.knobs.iter().enumerate() {
            let level = point[place];
            let near = |to: &usize| !knob.ordered || to.abs_diff(level) <= REACH;
            let others: Vec<usize> = (0..knob.levels.len()).filter(|to| *to != level && near(to)).collect();
            let moved: Vec<(usize, Point)> = points
                .iter()
                .filter(|(moved, _)| *moved < knobs)
                .flat_map(|(moved, from)| {
                    others.iter().map(move |to| {
                        let mut other = from.clone();
                        other[place] = *to;
                        (moved + 1, other)
                    })
                })
                .collect();
            points.extend(moved);
        }
        points.into_iter().filter(|(moved, _)| *moved == knobs).map(|(_, point)| point).collect()
    }

    /// Whether a point differs in a setting of the suspected role.
    fn is_suspected(&self, from: &Point, to: &Point) -> bool {
        let differs = |place: usize| from[place] != to[place];
        let mut knobs = self.space.knobs.iter().enumerate();
        knobs.any(|(place, knob)| Some(knob.role) == self.suspected && differs(place))
    }
}

/// The best of what worked.
pub fn best(tried: &[Tried]) -> Option<&Tried> {
    let scored = tried.iter().filter(|tried| tried.score.is_some());
    scored.max_by(|a, b| a.score.unwrap_or(f64::NEG_INFINITY).total_cmp(&b.score.unwrap_or(f64::NEG_INFINITY)))
}

fn uniform(random: &mut SplitMix64) -> f64 {
    random.index(1 << 30) as f64 / f64::from(1 << 30)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::space::Knob;

    fn space() -> Space {
        let knob = |name: &str, levels: usize, ordered| Knob {
            name: name.to_owned(),
            role: if name == "c" { Role::FrontWorkers } else { Role::PoolSize },
            levels: (0..levels).map(|level| level.to_string()).collect(),
            ordered,
        };
        Space { knobs: vec![knob("a", 7, true), knob("b", 3, false), knob("c", 5, true)], default: vec![3, 0, 2] }
    }

    /// A response with one best point.
    fn good(point: &Point) -> f64 {
        let [a, b, c] = [point[0] as f64, point[1] as f64, point[2] as f64];
        -(a - 5.0).powi(2) * 0.1 - if b == 1.0 { 0.0 } else { 0.2 } - (c - 1.0).powi(2) * 0.05
    }

    fn run(budget: usize, allowed: &dyn Fn(&Point) -> bool) -> Vec<Tried> {
        let space = space();
        let search = Search::new(&space, 7, budget);
        let mut tried: Vec<Tried> = Vec::new();
        for _ in 0..100 {
            let next = search.next(&tried, allowed);
            if next.is_empty() {
                return tried;
            }
            for point in next {
                if tried.iter().all(|tried| tried.point != point) {
                    tried.push(Tried { score: Some(good(&point)), point });
                }
            }
        }
        panic!("the search does not end");
    }

    #[test]
    fn the_best_point_is_found_within_the_budget_and_the_default_is_tried_first() {
        let tried = run(24, &|_| true);
        assert_eq!((tried[0].point.clone(), tried.len()), (vec![3, 0, 2], 24));
        assert_eq!(best(&tried).unwrap().point, [5, 1, 1]);
    }

    #[test]
    fn where_no_neighbour_is_left_two_knobs_change_at_once() {
        let space = space();
        let best = vec![5, 1, 1];
        let search = Search::new(&space, 7, 30);
        let mut points = search.away(&best, 1);
        assert_eq!(points.len(), 3 + 2 + 3, "one up and two down, two other words, one down and two up");
        points.push(best.clone());
        let tried: Vec<Tried> = points.into_iter().map(|point| Tried { score: Some(good(&point)), point }).collect();
        let next = search.next(&tried, &|_| true);
        let changed = |point: &Point| point.iter().zip(&best).filter(|(a, b)| a != b).count();
        assert_eq!((next[0].clone(), next.len()), (best.clone(), 1 + BATCH));
        assert!(next[1..].iter().all(|point| changed(point) == 2), "{next:?}");
    }

    #[test]
    fn what_contradicts_itself_is_never_tried() {
        let tried = run(24, &|point| point[1] != 1);
        assert!(tried.iter().all(|tried| tried.point[1] != 1));
        assert_eq!(best(&tried).unwrap().point, [5, 0, 1]);
    }

    #[test]
    fn a_search_goes_on_from_what_was_tried() {
        let whole = run(20, &|_| true);
        let space = space();
        let search = Search::new(&space, 7, 20);
        let start = search.next(&[], &|_| true);
        assert_eq!(whole.iter().take(start.len()).map(|tried| tried.point.clone()).collect::<Vec<_>>(), start);
        assert_eq!(search.next(&whole, &|_| true), Vec::<Point>::new());
        let tried: Vec<Tried> =
            start.iter().map(|point| Tried { score: Some(good(point)), point: point.clone() }).collect();
        let best = best(&tried).unwrap().point.clone();
        let next = search.suspecting(Some(Role::FrontWorkers)).next(&tried, &|_| true);
        assert!(next[1][2] != best[2], "what is suspected is tried first: {next:?} beside {best:?}");
        let search = Search::new(&space, 7, 20);
        let failed: Vec<Tried> = start.into_iter().map(|point| Tried { point, score: None }).collect();
        assert!(search.next(&failed, &|_| true).is_empty(), "nothing works");
    }
}
