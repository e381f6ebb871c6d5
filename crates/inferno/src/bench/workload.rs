//! The workload of a benchmark, and the context and KV cache it needs.

use inferno_backend::KvLayout;

use crate::bench::BenchError;
use crate::{BatchLimits, Error, LoadOptions};

/// The workload of a benchmark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Length of the prompt, in tokens; 0 skips prefill.
    pub prompt_tokens: usize,
    /// Number of tokens to generate, one forward pass each; 0 skips decode.
    pub decode_tokens: usize,
    /// Number of tokens in the KV cache before decode starts.
    pub depth: usize,
    /// Numbers of sequences for batched decode, each measured separately.
    pub batch_sizes: Vec<usize>,
    /// Number of runs per measurement.
    pub repetitions: usize,
    /// Maximum number of prompt tokens per forward pass; `None` for the default of a session.
    pub pass_tokens: Option<usize>,
    /// Maximum number of tokens drafted from earlier text per step, when text is generated; 0 for none.
    pub lookup_drafts: usize,
    /// Whether to record the operations of the measured passes, which then take slightly longer, and to measure
    /// products on their own.
    pub profile: bool,
}

impl Default for Workload {
    fn default() -> Self {
        Self {
            prompt_tokens: 512,
            decode_tokens: 64,
            depth: 0,
            batch_sizes: Vec::new(),
            repetitions: 3,
            pass_tokens: None,
            lookup_drafts: 0,
            profile: false,
        }
    }
}

impl Workload {
    /// Returns the name of the prefill measurement.
    pub(super) fn prefill_name(&self) -> String {
        format!("prefill {}", self.prompt_tokens)
    }

    /// Returns the name of the measurement with one sequence.
    pub(super) fn decode_name(&self) -> String {
        let depth = match self.depth {
            0 => String::new(),
            depth => format!(" at depth {depth}"),
        };
        format!("decode {}{depth}", self.decode_tokens)
    }

    /// Returns the name of a measurement with several sequences.
    pub(super) fn batch_name(&self, num_sequences: usize) -> String {
        self.decode_name().replacen("decode", &format!("decode {num_sequences} x"), 1)
    }

    /// Returns the maximum number of prompt tokens per forward pass.
    pub(super) fn pass_tokens(&self) -> usize {
        self.pass_tokens.unwrap_or(LoadOptions::default().limits.max_num_tokens)
    }

    /// Returns the total number of runs.
    pub(super) fn num_runs(&self) -> usize {
        let phases = [self.prompt_tokens > 0, self.decode_tokens > 0];
        let num_phases = phases.into_iter().filter(|&is_wanted| is_wanted).count();
        self.repetitions * (num_phases + self.batch_sizes.len())
    }

    /// Returns `options` with a context, a KV cache and batches large enough for this workload, for a model with a
    /// context of `limit` tokens.
    ///
    /// **Errors**: [`BenchError::EmptyWorkload`], [`BenchError::WorkloadTooLong`].
    pub(super) fn load_options(
        &self,
        limit: usize,
        options: LoadOptions,
    ) -> Result<LoadOptions, Error> {
        if self.num_runs() == 0 || (self.decode_tokens == 0 && !self.batch_sizes.is_empty()) {
            return Err(Error::Bench(BenchError::EmptyWorkload));
        }
        let decode_end = match self.decode_tokens {
            0 => 0,
            decode_tokens => self.depth.saturating_add(decode_tokens),
        };
        let context_length = self.prompt_tokens.max(decode_end);
        if context_length > limit {
            let &Self { prompt_tokens, decode_tokens, depth, .. } = self;
            return Err(Error::Bench(BenchError::WorkloadTooLong {
                prompt_tokens,
                decode_tokens,
                depth,
                limit,
            }));
        }
        let most_sequences = self.batch_sizes.iter().copied().max().unwrap_or(1);
        // Sequences do not share blocks.
        let block_tokens = KvLayout::DEFAULT_BLOCK_TOKENS;
        let sequence_tokens = decode_end.next_multiple_of(block_tokens);
        let cache_tokens = sequence_tokens.saturating_mul(most_sequences).max(context_length);
        let limits = BatchLimits {
            max_num_tokens: self.pass_tokens().min(context_length).max(most_sequences),
            max_num_logit_rows: most_sequences,
        };
        let (context_length, cache_tokens) = (Some(context_length), Some(cache_tokens));
        let max_num_sequences = Some(most_sequences);
        let prefix_cache = false;
        Ok(LoadOptions {
            context_length,
            cache_tokens,
            limits,
            max_num_sequences,
            prefix_cache,
            ..options
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(workload: Workload) -> Result<LoadOptions, Error> {
        workload.load_options(1024, LoadOptions::default())
    }

    #[test]
    fn every_sequence_has_its_own_blocks() {
        let options = fitted(Workload {
            decode_tokens: 17,
            depth: 16,
            batch_sizes: vec![4, 16],
            ..Workload::default()
        });
        let options = options.expect("it fits");
        assert_eq!(options.context_length, Some(512));
        // 33 positions are 3 blocks of 16.
        assert_eq!(options.cache_tokens, Some(16 * 48));
        assert_eq!(options.limits.max_num_logit_rows, 16);
        assert_eq!(options.limits.max_num_tokens, 256);
    }

    #[test]
    fn prompt_and_decode_may_fill_the_context_exactly() {
        let workload = |prompt_tokens, decode_tokens, depth| Workload {
            prompt_tokens,
            decode_tokens,
            depth,
            ..Workload::default()
        };
        for fits in [workload(1024, 64, 0), workload(0, 64, 960), workload(1, 0, 5000)] {
            assert!(fitted(fits.clone()).is_ok(), "{fits:?}");
        }
        for too_long in [workload(1025, 0, 0), workload(0, 64, 961), workload(0, usize::MAX, 1)] {
            assert!(
                matches!(
                    fitted(too_long.clone()),
                    Err(Error::Bench(BenchError::WorkloadTooLong { limit: 1024, .. }))
                ),
                "{too_long:?}"
            );
        }
    }

    #[test]
    fn an_empty_workload_is_rejected() {
        let nothing = Workload { prompt_tokens: 0, decode_tokens: 0, ..Workload::default() };
        assert!(matches!(fitted(nothing), Err(Error::Bench(BenchError::EmptyWorkload))));
        let no_steps = Workload { decode_tokens: 0, batch_sizes: vec![2], ..Workload::default() };
        assert!(matches!(fitted(no_steps), Err(Error::Bench(BenchError::EmptyWorkload))));
    }
}
