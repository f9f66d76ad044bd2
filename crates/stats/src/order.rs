//! Statistics of order.

/// The middle one, or the mean of the two in the middle; `None` of no samples.
pub fn median(samples: &[f64]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    Some(if sorted.len() % 2 == 1 { upper } else { f64::midpoint(sorted[sorted.len() / 2 - 1], upper) })
}

/// The median distance from the median, times 1.4826, which makes it the standard deviation of normal samples (as R's
/// `mad` does); `None` of no samples.
pub fn median_absolute_deviation(samples: &[f64]) -> Option<f64> {
    let middle = median(samples)?;
    let distances: Vec<f64> = samples.iter().map(|sample| (sample - middle).abs()).collect();
    Some(1.482_602_218_505_602 * median(&distances)?)
}

/// The rank of each sample from 1, equal samples sharing the mean of theirs, and the sizes of the groups of equal ones.
pub(crate) fn ranks(samples: &[f64]) -> (Vec<f64>, Vec<usize>) {
    let mut order: Vec<usize> = (0..samples.len()).collect();
    order.sort_by(|a, b| samples[*a].total_cmp(&samples[*b]));
    let mut ranks = vec![0.0; samples.len()];
    let mut ties = Vec::new();
    let mut before = 0;
    for group in order.chunk_by(|a, b| samples[*a] == samples[*b]) {
        for &index in group {
            ranks[index] = before as f64 + (group.len() + 1) as f64 / 2.0;
        }
        before += group.len();
        ties.push(group.len());
    }
    (ranks, ties)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_ranks_of_few_samples() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0]), Some(2.0));
        assert_eq!(median(&[3.0, 1.0, 7.0]), Some(3.0));
        assert_eq!(median_absolute_deviation(&[1.0, 2.0, 4.0]), Some(1.482_602_218_505_602));
        assert_eq!(ranks(&[2.0, 1.0, 2.0, 5.0]), (vec![2.5, 1.0, 2.5, 4.0], vec![1, 2, 1]));
    }
}
