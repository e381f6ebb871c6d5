//! Options that limit the length of the output and of the context.

use inferno_engine::StopParams;
use inferno_gguf::Gguf;
use inferno_model::ModelSpec;

use crate::Error;
use crate::cli::arguments::values::{OrDefault, or_default, positive, whole};
use crate::cli::terminal::note::print_note;
use crate::load::requested_context;

/// When to stop generating.
#[derive(clap::Args)]
pub(crate) struct StopArgs {
    /// Stop after N tokens [default: -1, when the context is full]
    #[arg(short = 'n', long, value_name = "N", value_parser = or_default(positive))]
    max_tokens: Option<OrDefault<usize>>,
    /// Stop before this text; can be repeated
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    stop: Vec<String>,
}

impl StopArgs {
    /// Returns the stop conditions.
    ///
    /// **Errors**: an empty stop string; too many of them.
    pub(crate) fn params(&self) -> Result<StopParams, Error> {
        let max_tokens = OrDefault::value_of(self.max_tokens);
        let params = StopParams { max_tokens, stop: self.stop.clone(), ..StopParams::default() };
        params.validate()?;
        Ok(params)
    }
}

/// The context length.
#[derive(Clone, clap::Args)]
pub(crate) struct ContextArgs {
    /// Context length: maximum number of tokens of prompt and output; 0 for the model's maximum
    /// [default: the model's maximum, at most 4096]
    #[arg(short, long, value_name = "N", value_parser = whole::<usize>)]
    context: Option<usize>,
    /// Reject a context length above the model's maximum instead of reducing it
    #[arg(long)]
    strict_context: bool,
}

impl ContextArgs {
    /// Returns the context length for a model, in tokens; `None` for the default. A length above the model's maximum is
    /// reduced with a warning, unless it must be exact.
    ///
    /// **Errors**: an unknown architecture or invalid metadata.
    pub(crate) fn length(&self, checkpoint: &Gguf) -> Result<Option<usize>, Error> {
        let Some(requested) = self.context else {
            return Ok(None);
        };
        let limit = ModelSpec::from_checkpoint(checkpoint)?.context_length;
        Ok(Some(match self.strict_context {
            true => requested,
            false => within_limit(requested, limit),
        }))
    }

    /// Returns the context length for a model that supports `limit` tokens, without a warning; `None` for the default.
    pub(crate) fn within(&self, limit: usize) -> Option<usize> {
        self.context.map(|requested| requested_context(requested, limit).min(limit))
    }
}

/// Returns a requested context length; 0 is the model's maximum, to which larger ones are reduced with a warning.
pub(crate) fn within_limit(requested: usize, limit: usize) -> usize {
    if requested > limit {
        print_note(&format!(
            "warning: the model supports a context of {limit} tokens; --context {requested} was reduced to it"
        ));
    }
    requested_context(requested, limit).min(limit)
}
