//! The option for speculative decoding.

use crate::cli::arguments::values::number_in;
use crate::{BatchLimits, LoadOptions};

/// The largest number of draft tokens. Each needs a row of logits on the device and on the host.
const MAX_NUM_DRAFTS: usize = 64;

/// Speculative decoding.
#[derive(clap::Args)]
pub(crate) struct SpeculateArgs {
    /// Draft up to N tokens from earlier text and verify them in one pass (speculative decoding). Faster for repetitive
    /// text; the output is unchanged. Models with recurrent layers do not use it. 0 disables it
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number_in(0..=MAX_NUM_DRAFTS))]
    pub(crate) speculate: usize,
}

impl SpeculateArgs {
    /// Returns batch limits that have room for the drafts.
    pub(crate) fn limits(&self) -> BatchLimits {
        BatchLimits { max_num_logit_rows: 1 + self.speculate, ..LoadOptions::default().limits }
    }
}
