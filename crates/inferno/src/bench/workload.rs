//! What is to be measured, and what it takes.

use inferno_backend::KvLayout;

use crate::{BatchLimits, Error, LoadOptions};

/// What is to be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Tokens of the prompt; 0 leaves prefill out.
    pub prompt_tokens: usize,
    /// Tokens that are written, one forward pass each; 0 leaves decode out.
    pub decode_tokens: usize,
    /// Positions that are in the cache before the first token is written.
    pub depth: usize,
    /// Numbers of sequences that write side by side, each to be measured.
    pub batch_sizes: Vec<usize>,
    /// How often each is measured.
    pub repetitions: usize,
    /// Tokens of a prompt in one forward pass; `None` takes as many as a session does.
    pub pass_tokens: Option<usize>,
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
        }
    }
}

impl Workload {
    /// Tokens of a prompt in one forward pass.
    pub(super) fn pass_tokens(&self) -> usize {
        self.pass_tokens.unwrap_or(LoadOptions::default().limits.max_num_tokens)
    }

    /// Runs in all.
    pub(super) fn num_runs(&self) -> usize {
        let phases = [self.prompt_tokens > 0, self.decode_tokens > 0];
        let num_phases = phases.into_iter().filter(|&is_wanted| is_wanted).count();
        self.repetitions * (num_phases + self.batch_sizes.len())
    }

    /// `options` with a context, a cache and batches that this fits into, for a model that takes `limit` positions.
    ///
    /// **Errors**: [`Error::EmptyWorkload`], [`Error::WorkloadTooLong`].
    pub(super) fn load_options(
        &self,
        limit: usize,
        options: LoadOptions,
    ) -> Result<LoadOptions, Error> {
        if self.num_runs() == 0 || (self.decode_tokens == 0 && !self.batch_sizes.is_empty()) {
            return Err(Error::EmptyWorkload);
        }
        let decode_end = match self.decode_tokens {
            0 => 0,
            decode_tokens => self.depth.saturating_add(decode_tokens),
        };
        let context_length = self.prompt_tokens.max(decode_end);
        if context_length > limit {
            let &Self { prompt_tokens, decode_tokens, depth, .. } = self;
            return Err(Error::WorkloadTooLong { prompt_tokens, decode_tokens, depth, limit });
        }
        let most_sequences = self.batch_sizes.iter().copied().max().unwrap_or(1);
        // Sequences share no block.
        let block_tokens = KvLayout::DEFAULT_BLOCK_TOKENS;
        let sequence_tokens = decode_end.next_multiple_of(block_tokens);
        let cache_tokens = sequence_tokens.saturating_mul(most_sequences).max(context_length);
        let limits = BatchLimits {
            max_num_tokens: self.pass_tokens().min(context_length).max(most_sequences),
            max_num_logit_rows: most_sequences,
        };
        let (context_length, cache_tokens) = (Some(context_length), Some(cache_tokens));
        Ok(LoadOptions { context_length, cache_tokens, limits, ..options })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(workload: Workload) -> Result<LoadOptions, Error> {
        workload.load_options(1024, LoadOptions::default())
    }

    #[test]
    fn every_sequence_has_whole_blocks_of_its_own() {
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
    fn prompt_and_decode_fill_the_context_to_the_last_position_and_no_further() {
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
                matches!(fitted(too_long.clone()), Err(Error::WorkloadTooLong { limit: 1024, .. })),
                "{too_long:?}"
            );
        }
    }

    #[test]
    fn a_workload_without_work_is_refused() {
        let nothing = Workload { prompt_tokens: 0, decode_tokens: 0, ..Workload::default() };
        assert!(matches!(fitted(nothing), Err(Error::EmptyWorkload)));
        let no_steps = Workload { decode_tokens: 0, batch_sizes: vec![2], ..Workload::default() };
        assert!(matches!(fitted(no_steps), Err(Error::EmptyWorkload)));
    }
}
