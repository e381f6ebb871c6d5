//! Statistics of rows, and sums of their parts.

use super::Matrix;
use super::arithmetic::dot;

/// Row `row` of `matrix`, or its only one.
pub(super) fn row_or_only(matrix: &Matrix, row: usize) -> &[f32] {
    match matrix.shape().dims()[0] {
        1 => &matrix[[0]],
        _ => &matrix[[row]],
    }
}

pub(super) fn add_combinations(
    rows: usize,
    width: usize,
    factors: &Matrix,
    x: &Matrix,
    out: &mut Matrix,
) {
    for row in 0..rows {
        let (x, factors) = (&x[[row]], row_or_only(factors, row));
        let factors = factors.chunks_exact(x.len() / width);
        for (out, factors) in out[[row]].chunks_exact_mut(width).zip(factors) {
            for (column, out) in out.iter_mut().enumerate() {
                let terms = x.chunks_exact(width).zip(factors);
                let terms = terms.map(|(x, &factor)| f64::from(factor) * f64::from(x[column]));
                *out = (f64::from(*out) + terms.sum::<f64>()) as f32;
            }
        }
    }
}

pub(super) fn match_magnitude(rows: usize, x: &Matrix, minimum: f32, out: &mut Matrix) {
    for row in 0..rows {
        let (x, out) = (&x[[row]], &mut out[[row]]);
        let target = mean_square(x);
        for out in out.chunks_exact_mut(x.len()) {
            let factor = (target / mean_square(out).max(minimum.into())).sqrt() as f32;
            out.iter_mut().for_each(|out| *out *= factor);
        }
    }
}

pub(super) fn sparsify(rows: usize, num_deviations: f32, x: &mut Matrix) {
    for row in 0..rows {
        let x = &mut x[[row]];
        let count = x.len() as f64;
        let mean = x.iter().map(|&x| f64::from(x)).sum::<f64>() / count;
        let variance = x.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / count;
        let cutoff = (mean + f64::from(num_deviations) * variance.sqrt()) as f32;
        x.iter_mut().for_each(|x| *x = (*x - cutoff).max(0.0));
    }
}

fn mean_square(x: &[f32]) -> f64 {
    dot(x, x) / x.len() as f64
}
