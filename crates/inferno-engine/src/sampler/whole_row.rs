//! Passes over a whole row of logits, before any token is left out.
//!
//! A row of a large vocabulary is more than half a megabyte, and each running sequence has one at each step. So a row is
//! taken in blocks, each by loops that the compiler vectorizes, and only the blocks that matter are looked at again.

use super::candidates::Candidates;
use super::random;
use super::softmax::{self, exp_of_negative};

/// Tokens per block of which the highest logit is recorded.
const MAX_BLOCK: usize = 64;
/// Tokens of a block whose weights are summed.
const SUM_BLOCK: usize = 512;

/// What is known of each block; the memory is used again for the next row.
#[derive(Debug, Default)]
pub(super) struct WholeRow {
    maxima: Vec<f32>,
    ordered: Vec<f32>,
    sums: Vec<f64>,
}

impl WholeRow {
    /// Fills `candidates` with at least the `count` tokens of the highest logits, and all that equal the last of them;
    /// with all tokens if `count` is 0. Tokens at negative infinity are excluded.
    pub(super) fn fill_best(&mut self, row: &[f32], count: usize, candidates: &mut Candidates) {
        candidates.clear();
        self.maxima.clear();
        self.maxima.extend(row.chunks(MAX_BLOCK).map(|block| softmax::max(block, |logit| logit)));
        let lowest = if count == 0 || count > self.maxima.len() {
            f32::MIN
        } else {
            // At least `count` blocks have a maximum this high, so the best `count` tokens do too.
            self.ordered.clone_from(&self.maxima);
            let (_, &mut lowest, _) =
                self.ordered.select_nth_unstable_by(count - 1, |a, b| b.total_cmp(a));
            lowest.max(f32::MIN)
        };
        for (index, (block, &max)) in row.chunks(MAX_BLOCK).zip(&self.maxima).enumerate() {
            if max >= lowest {
                candidates.extend((index * MAX_BLOCK) as u32, block, lowest);
            }
        }
    }

    /// Draws from all tokens, by their probabilities at this temperature and a `unit` from 0 up to 1; `None` if
    /// all are at negative infinity.
    pub(super) fn draw(&mut self, row: &[f32], temperature: f32, unit: f64) -> Option<u32> {
        let max = softmax::max(row, |logit| logit);
        if max == f32::NEG_INFINITY {
            return None;
        }
        // A product, since a division takes as long as all the rest.
        let inverse = temperature.recip().min(f32::MAX);
        let weight = |logit: f32| exp_of_negative((logit - max) * inverse);
        self.sums.clear();
        self.sums.extend(row.chunks(SUM_BLOCK).map(|block| sum(block, weight)));
        let mut left = unit * self.sums.iter().sum::<f64>();
        let mut drawn = 0;
        for (index, (block, &sum)) in row.chunks(SUM_BLOCK).zip(&self.sums).enumerate() {
            if sum == 0.0 {
                continue;
            }
            drawn = index * SUM_BLOCK;
            if left >= sum {
                // The last that weighs anything, in case that rounding leads past the end.
                let last = block.iter().rposition(|&logit| weight(logit) > 0.0);
                drawn += last.unwrap_or_default();
                left -= sum;
                continue;
            }
            drawn += random::pick(block.iter().map(|&logit| weight(logit)), left);
            break;
        }
        Some(drawn as u32)
    }
}

/// The sum of a block's weights, of which none is above 1: lane by lane in single precision, which twice as many fit in.
fn sum(block: &[f32], weight: impl Fn(f32) -> f32) -> f64 {
    let mut sums = [0f32; softmax::LANES];
    let (whole, rest) = block.as_chunks::<{ softmax::LANES }>();
    for chunk in whole {
        for (sum, &logit) in sums.iter_mut().zip(chunk) {
            *sum += weight(logit);
        }
    }
    for (sum, &logit) in sums.iter_mut().zip(rest) {
        *sum += weight(logit);
    }
    sums.into_iter().map(f64::from).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_best_are_among_those_that_are_kept(
            logits in prop::collection::vec((-40i32..40).prop_map(|x| x as f32 / 8.0), 1..900),
            count in 0usize..40,
            banned in prop::collection::vec(0usize..900, 0..20),
        ) {
            let mut row = logits;
            for token in banned {
                if let Some(logit) = row.get_mut(token) {
                    *logit = f32::NEG_INFINITY;
                }
            }
            let mut candidates = Candidates::default();
            WholeRow::default().fill_best(&row, count, &mut candidates);
            let kept: Vec<u32> = candidates.as_slice().iter().map(|entry| entry.id).collect();
            prop_assert!(kept.is_sorted());
            let mut sorted: Vec<_> =
                (0u32..).zip(row).filter(|&(_, logit)| logit != f32::NEG_INFINITY).collect();
            sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            let wanted = if count == 0 { sorted.len() } else { count.min(sorted.len()) };
            for (id, _) in &sorted[..wanted] {
                prop_assert!(kept.contains(id));
            }
        }

        #[test]
        fn a_draw_finds_the_token_at_its_share_of_the_sum(
            logits in prop::collection::vec((-40i32..40).prop_map(|x| x as f32 / 8.0), 1..3000),
            unit in 0.0f64..1.0,
            temperature in 0.2f32..2.0,
        ) {
            let drawn = WholeRow::default().draw(&logits, temperature, unit).unwrap() as usize;
            let weights: Vec<f64> =
                logits.iter().map(|&logit| (f64::from(logit) / f64::from(temperature)).exp()).collect();
            let total: f64 = weights.iter().sum();
            let before: f64 = weights[..drawn].iter().sum::<f64>() / total;
            let upto = before + weights[drawn] / total;
            prop_assert!((before - 1e-5..upto + 1e-5).contains(&unit), "{before} {unit} {upto}");
        }
    }

    #[test]
    fn what_cannot_come_is_never_drawn() {
        let mut row = vec![f32::NEG_INFINITY; 5000];
        assert_eq!(WholeRow::default().draw(&row, 1.0, 0.5), None);
        row[2500] = -3.0;
        for unit in [0.0, 0.3, 1.0 - f64::EPSILON] {
            assert_eq!(WholeRow::default().draw(&row, 1.0, unit), Some(2500));
        }
    }
}
