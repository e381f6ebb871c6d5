//! The flag for speculative decoding.

use crate::cli::arguments::values::number_in;
use crate::{BatchLimits, LoadOptions};

/// The largest number of drafts: each takes a row of logits, on the device and on the host.
const MAX_NUM_DRAFTS: usize = 64;

/// How far to guess ahead.
#[derive(clap::Args)]
pub(crate) struct SpeculateArgs {
    /// Guess up to N tokens ahead from what was written before, and check them in one pass: the same text, sooner where it
    /// repeats or quotes; 0 never guesses.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number_in(0..=MAX_NUM_DRAFTS))]
    pub(crate) speculate: usize,
}

impl SpeculateArgs {
    /// Batches that have room for the drafts.
    pub(crate) fn limits(&self) -> BatchLimits {
        BatchLimits { max_num_logit_rows: 1 + self.speculate, ..LoadOptions::default().limits }
    }
}
