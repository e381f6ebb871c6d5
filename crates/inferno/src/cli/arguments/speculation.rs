//! The option for speculative decoding.

use crate::cli::arguments::values::number_in;
use crate::cli::terminal::note::print_note;
use crate::{BatchLimits, Error, LoadOptions, Model};

/// The largest number of draft tokens. Each needs a row of logits on the device and on the host.
const MAX_NUM_DRAFTS: usize = 64;

/// Speculative decoding.
#[derive(clap::Args)]
pub(crate) struct SpeculateArgs {
    /// Draft up to N tokens from earlier text and verify them in one pass (speculative decoding). Faster for repetitive
    /// text; the output is unchanged. Models with recurrent layers do not use it. 0 disables it
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number_in(0..=MAX_NUM_DRAFTS))]
    speculate: usize,
}

impl SpeculateArgs {
    /// Returns the number of tokens to draft for `model`: none, with a note, if it has recurrent layers.
    ///
    /// **Errors**: an unknown architecture, invalid metadata, missing tensors.
    pub(crate) fn num_drafts(&self, model: &Model) -> Result<usize, Error> {
        if self.speculate > 0 && model.spec()?.has_state() {
            print_note(
                "note: --speculate has no effect: rejected drafts cannot be removed from the state of this model's \
                 recurrent layers",
            );
            return Ok(0);
        }
        Ok(self.speculate)
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
