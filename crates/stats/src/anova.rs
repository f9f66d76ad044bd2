//! Differences in a table of treatments and blocks.

use crate::student::t_quantile_above;

/// Fisher's least significant difference of two means of a table whose rows are treatments and whose columns are blocks, without
/// interaction: the difference that equal treatments exceed, in one direction, with the probability `level`. It takes the
/// spread that is left when treatments and blocks are taken out, which all rows have in common. `None` with fewer than two
/// rows or columns, or rows of unequal length.
pub fn least_significant_difference(rows: &[&[f64]], level: f64) -> Option<f64> {
    let (treatments, blocks) = (rows.len(), rows.first()?.len());
    if treatments < 2 || blocks < 2 || rows.iter().any(|row| row.len() != blocks) {
        return None;
    }
    let freedom = ((treatments - 1) * (blocks - 1)) as f64;
    let mean = |values: &mut dyn Iterator<Item = f64>, count: usize| values.sum::<f64>() / count as f64;
    let of_rows: Vec<f64> = rows.iter().map(|row| mean(&mut row.iter().copied(), blocks)).collect();
    let of_blocks: Vec<f64> =
        (0..blocks).map(|block| mean(&mut rows.iter().map(|row| row[block]), treatments)).collect();
    let all = mean(&mut of_rows.iter().copied(), treatments);
    let rest: f64 = rows
        .iter()
        .zip(&of_rows)
        .flat_map(|(row, of_row)| {
            row.iter().zip(&of_blocks).map(move |(value, of_block)| value - of_row - of_block + all)
        })
        .map(|residual| residual * residual)
        .sum();
    Some(t_quantile_above(level, freedom)? * (2.0 * rest / freedom / blocks as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference: R 4.2.2, `x <- c(10, 12, 11, 13, 9, 11.5)`, `summary(aov(x ~ a + b))` with three rows and two columns: the mean
    /// square of residuals is 0.04166667 on 2 degrees of freedom; `qt(0.95, 2) * sqrt(2 * 0.04166667 / 2)`.
    #[test]
    fn the_difference_is_that_of_the_analysis_of_variance() {
        let rows: [&[f64]; 3] = [&[10.0, 12.0], &[11.0, 13.0], &[9.0, 11.5]];
        let least = least_significant_difference(&rows, 0.05).unwrap();
        assert!((least / 0.596_039_6 - 1.0).abs() < 1e-6, "{least}");
    }

    #[test]
    fn a_table_needs_two_rows_and_two_columns() {
        for rows in [&[&[1.0, 2.0][..]][..], &[&[1.0], &[2.0]], &[&[1.0, 2.0], &[2.0]], &[]] {
            assert_eq!(least_significant_difference(rows, 0.05), None, "{rows:?}");
        }
    }
}
