//! The option for speculative decoding.

use crate::cli::arguments::values::number_in;
use crate::{BatchLimits, LoadOptions};

/// The largest number of draft tokens. Each needs a row of logits on the device and on the host.
const MAX_NUM_DRAFTS: usize = 64;

/// Speculative decoding.
#[derive(clap::Args)]
pub(crate) struct SpeculateArgs {
    /// Draft up to N tokens from earlier text and verify them in one pass (speculative decoding). Faster for repetitive
    /// text; the output is unchanged. 0 disables it
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number_in(0..=MAX_NUM_DRAFTS))]
    speculate: usize,
}

impl SpeculateArgs {
    /// Returns the number of tokens to draft.
    pub(crate) fn num_drafts(&self) -> usize {
        self.speculate
    }

    /// Returns whether tokens are drafted.
    pub(crate) fn is_enabled(&self) -> bool {
        self.speculate > 0
    }

    /// Returns batch limits for one sequence with its drafts.
    pub(crate) fn limits(&self) -> BatchLimits {
        BatchLimits { max_num_logit_rows: self.num_rows(), ..LoadOptions::default().limits }
    }

    /// Returns the number of rows of logits that a sequence needs.
    pub(crate) fn num_rows(&self) -> usize {
        1 + self.speculate
    }
}
