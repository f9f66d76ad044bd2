//! Costs that are parabolas, and the lowest of many.

use std::ops::Range;

/// minimum + curvature * (x - vertex)^2, with the history that led to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quadratic {
    pub(crate) vertex: f64,
    /// Above 0.
    pub(crate) curvature: f64,
    pub(crate) minimum: f64,
    pub(crate) history: Option<usize>,
}

impl Quadratic {
    fn at(&self, x: f64) -> f64 {
        self.minimum + self.curvature * (x - self.vertex).powi(2)
    }

    /// Where it meets another, in ascending order.
    fn meets(&self, other: &Self) -> Vec<f64> {
        // self - other = a x^2 + 2 b x + c, with x counted from this vertex.
        let shift = other.vertex - self.vertex;
        let a = self.curvature - other.curvature;
        let b = other.curvature * shift;
        let c = self.minimum - other.minimum - other.curvature * shift * shift;
        let discriminant = b * b - a * c;
        if discriminant <= 0.0 {
            return Vec::new();
        }
        // The sum of two numbers of one sign, so that neither root is lost to rounding.
        let q = -(b + discriminant.sqrt().copysign(b));
        let mut roots = [q / a, c / q].map(|root| root + self.vertex).to_vec();
        roots.retain(|root| root.is_finite());
        roots.sort_by(f64::total_cmp);
        roots
    }
}

/// Those that are the lowest of all somewhere in a range, each once.
pub(crate) fn lower_envelope(mut quadratics: Vec<Quadratic>, range: &Range<f64>) -> Vec<Quadratic> {
    // With the lowest first, most of the others are nowhere below what is already there.
    quadratics.sort_by(|a, b| a.minimum.total_cmp(&b.minimum));
    // From each piece's beginning to the next one's, the quadratic of that index is lowest.
    let mut pieces = vec![(range.start, 0)];
    for (candidate, quadratic) in quadratics.iter().enumerate().skip(1) {
        let mut lowered: Vec<(f64, usize)> = Vec::with_capacity(pieces.len() + 2);
        for (place, &(from, lowest)) in pieces.iter().enumerate() {
            let to = pieces.get(place + 1).map_or(range.end, |&(next, _)| next);
            let roots = quadratic.meets(&quadratics[lowest]);
            let cuts = roots.into_iter().filter(|root| from < *root && *root < to);
            let mut begin = from;
            for end in cuts.chain([to]) {
                let inside = f64::midpoint(begin, end);
                let winner = if quadratic.at(inside) < quadratics[lowest].at(inside) { candidate } else { lowest };
                if lowered.last().is_none_or(|&(_, last)| last != winner) {
                    lowered.push((begin, winner));
                }
                begin = end;
            }
        }
        pieces = lowered;
    }
    let mut kept: Vec<usize> = pieces.into_iter().map(|(_, index)| index).collect();
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|index| quadratics[index]).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn quadratic(vertex: f64, curvature: f64, minimum: f64) -> Quadratic {
        Quadratic { vertex, curvature, minimum, history: None }
    }

    #[test]
    fn what_is_nowhere_lowest_is_dropped() {
        let wide = quadratic(0.0, 0.1, 1.0);
        let deep = quadratic(0.0, 1.0, 0.0);
        let above = quadratic(0.0, 1.0, 0.5);
        assert_eq!(lower_envelope(vec![above, wide, deep], &(-9.0..9.0)), [deep, wide]);
        assert_eq!(lower_envelope(vec![above, wide, deep], &(-1.0..1.0)), [deep]);
        assert_eq!(lower_envelope(vec![deep, deep], &(-9.0..9.0)), [deep]);
    }

    proptest! {
        #[test]
        fn the_envelope_is_as_low_as_all_were(
            all in prop::collection::vec((-10.0..10.0f64, 0.01..10.0f64, 0.0..10.0f64), 1..30),
            places in prop::collection::vec(-50.0..50.0f64, 50),
        ) {
            let all: Vec<_> = all.into_iter().map(|(v, c, m)| quadratic(v, c, m)).collect();
            let kept = lower_envelope(all.clone(), &(-50.0..50.0));
            let lowest = |set: &[Quadratic], x: f64| set.iter().map(|q| q.at(x)).fold(f64::INFINITY, f64::min);
            for x in places {
                prop_assert!((lowest(&all, x) - lowest(&kept, x)).abs() < 1e-9);
            }
        }
    }
}
