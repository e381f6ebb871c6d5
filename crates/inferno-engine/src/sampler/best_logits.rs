//! Sampling from the largest logits of a row, if they decide the result: the token is the one that the whole row would
//! give, and the same random numbers are drawn. Log-probabilities differ only by the rounding of the device's sum.

use std::ops::RangeInclusive;

use inferno_backend::{CandidateRow, EXP_SUM_ERROR, MAX_CANDIDATES};

use super::{SampledToken, Sampler, TokenLogprobs, exp_of_negative, min_p, top_p};
use crate::{EngineError, Row};

impl Sampler {
    /// Returns the number of candidates that [`sample_row`](Self::sample_row) needs of a row if `num_banned` tokens are
    /// banned, or, for top-p and min-p, that are enough in most cases; `None` if it needs whole rows.
    pub(crate) fn num_candidates(&self, num_banned: usize) -> Option<usize> {
        let params = &self.params;
        let needed = if params.changes_logits() {
            return None;
        } else if params.is_greedy() {
            num_banned.saturating_add(1)
        } else if params.top_k != 0 {
            params.top_k.saturating_add(num_banned)
        } else if params.truncates() && params.typical_p >= 1.0 {
            MAX_CANDIDATES
        } else {
            return None;
        };
        let count = needed.max(params.logprobs.unwrap_or(0));
        (count <= MAX_CANDIDATES.min(self.vocab_size)).then_some(count)
    }

    /// Samples as [`sample`](Self::sample) does. The whole row is read only if it is needed.
    ///
    /// **Errors**: as [`sample`](Self::sample), a device that fails.
    pub fn sample_row(
        &mut self,
        row: Row<'_>,
        banned: &[u32],
    ) -> Result<SampledToken, EngineError> {
        if let Row::Candidates { best, .. } = row
            && let Some(token) = self.sample_best(best, banned)
        {
            return Ok(token);
        }
        self.sample(&row.values()?, banned)
    }

    /// Samples from candidates; `None`, with nothing drawn, if they do not decide the result.
    fn sample_best(&mut self, best: CandidateRow<'_>, banned: &[u32]) -> Option<SampledToken> {
        let needed = self.num_candidates(banned.len())?;
        if !best.is_finite() || best.logits().len() < needed {
            return None;
        }
        let mut allowed = best.iter().filter(|(id, _)| !banned.contains(id));
        let id = if self.params.is_greedy() {
            allowed.next()?.0
        } else {
            self.candidates.fill(allowed);
            match self.params.top_k {
                0 => self.truncate_best(best, banned)?,
                _ => self.truncate_candidates(),
            }
            self.draw()
        };
        let logprobs = self.params.logprobs.map(|count| TokenLogprobs::of_best(id, count, best));
        Some(SampledToken { id, logprobs })
    }

    /// Stages 6 and 7, of candidates that are not banned in order of descending logits; `None` if tokens that are not among
    /// them may remain.
    fn truncate_best(&mut self, best: CandidateRow<'_>, banned: &[u32]) -> Option<()> {
        let Self { params, candidates, .. } = self;
        if candidates.is_empty() {
            return None;
        }
        let is_decided = match params.top_p < 1.0 {
            true => {
                let exp_sum = allowed_exp_sum(best, banned, candidates.max_logit());
                top_p::apply_to_best(params.top_p, exp_sum, candidates)
            }
            false => min_p::is_decided(params.min_p, candidates),
        };
        min_p::apply(params.min_p, candidates);
        if params.top_p >= 1.0 {
            candidates.sort_by_id();
        }
        is_decided.then_some(())
    }
}

/// The bounds of the sum of `exp(logit - max)` over the tokens of a row that are not banned, as the host would compute it.
fn allowed_exp_sum(best: CandidateRow<'_>, banned: &[u32], max: f32) -> RangeInclusive<f64> {
    /// The sum that the host would compute has an error, too, and so have exponentials that are subtracted.
    const ERROR: f64 = 2.0 * EXP_SUM_ERROR;
    let (Some(&largest), Some(&smallest)) = (best.logits().first(), best.logits().last()) else {
        return 0.0..=f64::INFINITY;
    };
    let exp = |logit: f32| f64::from(exp_of_negative(logit - largest));
    let (mut num_missing, mut sum) = (banned.len(), best.exp_sum());
    // Subtractions leave the absolute error of the sum as it is.
    let error = ERROR * sum;
    for (_, logit) in best.iter().filter(|(id, _)| banned.contains(id)) {
        num_missing -= 1;
        sum -= exp(logit);
    }
    // The logits of other banned tokens are at most the smallest one of the candidates.
    let missing = num_missing as f64 * exp(smallest);
    let scale = libm::exp(f64::from(largest) - f64::from(max));
    (sum - error - missing) * scale..=(sum + error) * scale
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::ops::Range;

    use inferno_backend::{BackendError, CandidateRows, CandidateShape};
    use inferno_model::{LogitSource, StageOutput};
    use proptest::prelude::*;

    use super::*;
    use crate::{DryParams, Rows, SamplingParams};

    /// A row on a device that counts how often it is read.
    struct Device<'a> {
        logits: &'a [f32],
        num_reads: &'a Cell<usize>,
    }

    impl LogitSource for Device<'_> {
        fn read_logits(&self, rows: Range<usize>) -> Result<Vec<f32>, BackendError> {
            assert_eq!(rows, 0..1);
            self.num_reads.set(self.num_reads.get() + 1);
            Ok(self.logits.to_vec())
        }
    }

    /// Samples from candidates, if these are requested. Returns the number of times that the whole row was read.
    fn sample(
        sampler: &mut Sampler,
        logits: &[f32],
        banned: &[u32],
    ) -> (Result<SampledToken, EngineError>, usize) {
        let Some(count) = sampler.num_candidates(banned.len()) else {
            return (sampler.sample(logits, banned), 1);
        };
        let shape = CandidateShape { count, vocab_size: logits.len() };
        let mut words = vec![0.0; shape.row_len()];
        shape.select(logits, &mut words);
        let num_reads = Cell::new(0);
        let output = StageOutput::Candidates {
            rows: CandidateRows::new(shape, &words),
            logits: Box::new(Device { logits, num_reads: &num_reads }),
        };
        let rows = Rows::new(output, logits.len());
        let token = sampler.sample_row(rows.row(0, logits.len()), banned);
        drop(rows);
        (token, num_reads.get())
    }

    fn sampler(params: SamplingParams, logits: &[f32]) -> Sampler {
        Sampler::new(SamplingParams { seed: Some(7), ..params }, logits.len()).expect("valid")
    }

    /// Logits with ties and zeros of both signs; larger `scale`s make the first ones more probable.
    fn logits(len: usize, scale: f32) -> Vec<f32> {
        let hash = |i: usize| (i.wrapping_mul(0x9e37_79b9) >> 7) % 81;
        (0..len)
            .map(|i| (hash(i) as f32 - 40.0) / 8.0 * scale * if i == 3 { -0.0 } else { 1.0 })
            .collect()
    }

    proptest! {
        #[test]
        fn candidates_and_whole_rows_give_the_same_tokens(
            (len, scale) in (1usize..1500, prop_oneof![Just(0.01f32), 0.5f32..4.0]),
            temperature in prop_oneof![Just(0.0f32), 0.3f32..2.0],
            top_k in prop_oneof![Just(0usize), 1usize..300],
            top_p in prop_oneof![Just(1.0f32), 0.1f32..1.0],
            min_p in prop_oneof![Just(0.0f32), 0.001f32..0.5],
            typical_p in prop_oneof![4 => Just(1.0f32), 1 => 0.1f32..1.0],
            num_logprobs in prop::option::of(0usize..20),
            banned in prop::collection::vec(0u32..400, 0..40),
        ) {
            let logits = logits(len, scale);
            let params = SamplingParams {
                temperature, top_k, top_p, min_p, typical_p, logprobs: num_logprobs, ..Default::default()
            };
            let (mut whole, mut best) = (sampler(params.clone(), &logits), sampler(params, &logits));
            for _ in 0..4 {
                let (found, _) = sample(&mut best, &logits, &banned);
                let (expected, found) = match (whole.sample(&logits, &banned), found) {
                    (Ok(expected), Ok(found)) => (expected, found),
                    (Err(expected), Err(found)) => {
                        prop_assert_eq!(expected.to_string(), found.to_string());
                        continue;
                    }
                    other => panic!("{other:?}"),
                };
                prop_assert_eq!(found.id, expected.id);
                let (Some(found), Some(expected)) = (found.logprobs, expected.logprobs) else { continue };
                prop_assert_eq!(found.rank, expected.rank);
                let ids = |of: &TokenLogprobs| of.top.iter().map(|&(id, _)| id).collect::<Vec<_>>();
                prop_assert_eq!(ids(&found), ids(&expected));
                prop_assert!((found.logprob - expected.logprob).abs() < 2e-5);
                for (found, expected) in found.top.iter().zip(&expected.top) {
                    prop_assert!((found.1 - expected.1).abs() < 2e-5);
                }
            }
        }
    }

    #[test]
    fn whole_rows_are_read_only_if_candidates_do_not_decide() {
        let neutral = SamplingParams::default;
        let peaked = logits(1000, 4.0);
        let enabled_dry = || DryParams { multiplier: 0.8, ..DryParams::default() };
        // Of 1000 equal tokens, 256 do not reach any probability above 0.256.
        let flat = vec![0.25; 1000];
        let mut ids: Vec<u32> = (0..1000).collect();
        ids.sort_by(|&a, &b| peaked[b as usize].total_cmp(&peaked[a as usize]));
        let best_and_worst = [ids[0], ids[999]];
        for (params, expected) in [
            (SamplingParams::greedy(), [0, 0]),
            (SamplingParams { top_k: 40, top_p: 0.9, min_p: 0.1, ..neutral() }, [0, 0]),
            (SamplingParams { top_k: 40, logprobs: Some(20), ..neutral() }, [0, 0]),
            (SamplingParams { top_p: 0.9, ..neutral() }, [0, 1]),
            (SamplingParams { min_p: 0.1, ..neutral() }, [0, 1]),
            (SamplingParams { top_p: 0.9, min_p: 0.1, ..neutral() }, [0, 1]),
            (neutral(), [1, 1]),
            (SamplingParams { top_k: 257, ..neutral() }, [1, 1]),
            (SamplingParams { presence_penalty: 0.1, ..SamplingParams::greedy() }, [1, 1]),
            (SamplingParams { dry: enabled_dry(), ..SamplingParams::greedy() }, [1, 1]),
        ] {
            // Of the banned tokens of the first row, one is among the candidates and one is not.
            for banned in [&[][..], &best_and_worst] {
                let num_reads = [&peaked, &flat].map(|logits| {
                    let mut sampler = sampler(params.clone(), logits);
                    let (token, num_reads) = sample(&mut sampler, logits, banned);
                    assert!(!banned.contains(&token.expect("finite logits").id));
                    num_reads
                });
                assert_eq!(num_reads, expected, "{params} {banned:?}");
            }
        }
    }

    #[test]
    fn a_sum_close_to_the_limit_of_top_p_does_not_decide() {
        // Four equal tokens reach exactly half of eight.
        let logits = |num_equal| -> Vec<f32> {
            (0..300).map(|i| if i < num_equal { 0.0 } else { -200.0 }).collect()
        };
        let mut larger = logits(8);
        larger[299] = 3.0;
        let params = |top_p| SamplingParams { top_p, ..Default::default() };
        for (logits, banned) in [
            (logits(8), &[][..]),
            // Among the candidates, not among them, and the largest one.
            (logits(10), &[0, 9]),
            (logits(8), &[298]),
            (larger, &[299]),
        ] {
            for (top_p, expected) in [(0.5, 1), (0.500_001, 1), (0.501, 0), (0.499, 0)] {
                let mut sampler = sampler(params(top_p), &logits);
                let (token, num_reads) = sample(&mut sampler, &logits, banned);
                token.expect("finite logits");
                assert_eq!(num_reads, expected, "{top_p} {banned:?}");
            }
        }
    }

    #[test]
    fn banned_tokens_that_are_no_candidates_count_as_if_they_had_the_smallest_of_their_logits() {
        // 257 of 300 equal tokens are not banned. The candidates alone do not rule out that it is all of them.
        let logits = vec![0.0; 300];
        let banned: Vec<u32> = (257..300).collect();
        for (top_p, expected) in [(0.5, 1), (0.0001, 0)] {
            let params = SamplingParams { top_p, ..Default::default() };
            let (token, num_reads) = sample(&mut sampler(params, &logits), &logits, &banned);
            token.expect("finite logits");
            assert_eq!(num_reads, expected, "{top_p}");
        }
    }

    #[test]
    fn a_row_whose_candidates_are_all_banned_is_read() {
        let logits = logits(300, 1.0);
        let shape = CandidateShape { count: MAX_CANDIDATES, vocab_size: 300 };
        let mut words = vec![0.0; shape.row_len()];
        shape.select(&logits, &mut words);
        let candidates = CandidateRows::new(shape, &words).row(0);
        let banned: Vec<u32> = candidates.iter().map(|(id, _)| id).collect();
        for (top_p, min_p) in [(0.9, 0.0), (1.0, 0.1)] {
            let params = SamplingParams { top_p, min_p, ..Default::default() };
            let (token, num_reads) = sample(&mut sampler(params, &logits), &logits, &banned);
            assert!(!banned.contains(&token.expect("other tokens").id));
            assert_eq!(num_reads, 1);
        }
    }

    #[test]
    fn a_logit_that_is_not_finite_is_an_error() {
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let logits = [0.5, 1.0, value, 0.9];
            let mut sampler = sampler(SamplingParams::greedy(), &logits);
            let error = sample(&mut sampler, &logits, &[]).0.expect_err("it is not finite");
            assert!(matches!(error, EngineError::NonFiniteLogit { token: 2, .. }), "{error}");
        }
    }
}
