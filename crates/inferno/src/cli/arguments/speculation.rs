//! The options for speculative decoding.

use clap::ArgGroup;
use inferno_engine::DraftOptions;

use crate::cli::arguments::model::{model_source, open};
use crate::cli::arguments::values::number_in;
use crate::cli::terminal::note::print_note;
use crate::{BatchLimits, Error, LoadOptions, Model, ModelSource};

/// The largest number of draft tokens. Each needs a row of logits on the device and on the host.
const MAX_NUM_DRAFTS: usize = 64;

/// Speculative decoding.
#[derive(Clone, clap::Args)]
#[command(group(ArgGroup::new("drafting").args(["draft_model", "draft_head"])))]
pub(crate) struct SpeculateArgs {
    /// Draft up to N tokens from earlier text and verify them in one pass (speculative decoding). Faster for repetitive
    /// text; the output is unchanged. 0 disables it
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number_in(0..=MAX_NUM_DRAFTS))]
    speculate: usize,
    /// Draft tokens with this smaller model, which needs the same vocabulary, and verify them in one pass (speculative
    /// decoding); the output is unchanged. With --speculate, only when earlier text yields no draft
    #[arg(long, value_name = "MODEL", value_parser = model_source())]
    draft_model: Option<ModelSource>,
    /// Draft tokens with the prediction head in the model file (multi-token prediction, MTP, nextn) instead of a draft model
    #[arg(long, conflicts_with = "draft_model")]
    draft_head: bool,
    /// Maximum number of tokens drafted per step by the draft model or the prediction head; fewer are drafted if that is
    /// faster
    #[arg(long, value_name = "N", default_value_t = DraftOptions::default().max_num_drafts)]
    #[arg(value_parser = number_in(1..=MAX_NUM_DRAFTS), requires = "drafting")]
    draft_max: usize,
    /// Number of tokens that the draft model drafts in each step even if fewer would be faster
    #[arg(long, value_name = "N", default_value_t = DraftOptions::default().min_num_drafts)]
    #[arg(value_parser = number_in(0..=MAX_NUM_DRAFTS), requires = "drafting")]
    draft_min: usize,
    /// End a draft at tokens to which the draft model assigns a probability below P
    #[arg(long, value_name = "P", default_value_t = DraftOptions::default().min_probability)]
    #[arg(value_parser = probability, requires = "drafting")]
    draft_p_min: f32,
}

impl SpeculateArgs {
    /// Returns the number of tokens to draft from earlier text.
    pub(crate) fn num_drafts(&self) -> usize {
        self.speculate
    }

    /// Returns whether tokens are drafted.
    pub(crate) fn is_enabled(&self) -> bool {
        self.speculate > 0 || self.has_draft_model()
    }

    /// Returns the options that request drafts.
    pub(crate) fn given(&self) -> impl Iterator<Item = &'static str> {
        let options = [
            ("--speculate", self.speculate > 0),
            ("--draft-model", self.draft_model.is_some()),
            ("--draft-head", self.draft_head),
        ];
        options.into_iter().filter_map(|(option, is_given)| is_given.then_some(option))
    }

    fn has_draft_model(&self) -> bool {
        self.draft_model.is_some() || self.draft_head
    }

    /// Returns batch limits for one sequence with its drafts.
    pub(crate) fn limits(&self) -> BatchLimits {
        BatchLimits { max_num_logit_rows: self.num_rows(), ..LoadOptions::default().limits }
    }

    /// Returns the number of rows of logits that a sequence needs.
    pub(crate) fn num_rows(&self) -> usize {
        let num_drafted = if self.has_draft_model() { self.draft_max } else { 0 };
        1 + self.speculate.max(num_drafted)
    }

    /// Adds the draft model or the prediction head to `model`, if one was requested.
    ///
    /// **Errors**: those of [`open`], [`Model::with_draft_model`] and [`Model::with_prediction_head`].
    pub(crate) fn with_draft_model(&self, model: Model) -> Result<Model, Error> {
        if self.has_draft_model() && self.draft_min > self.draft_max {
            print_note(&format!(
                "warning: --draft-min {} has no effect above --draft-max {}",
                self.draft_min, self.draft_max
            ));
        }
        let options = DraftOptions {
            max_num_drafts: self.draft_max,
            min_num_drafts: self.draft_min,
            min_probability: self.draft_p_min,
        };
        match &self.draft_model {
            Some(source) => model.with_draft_model(open(Some(source), "")?, options),
            None if self.draft_head => model.with_prediction_head(options),
            None => Ok(model),
        }
    }
}

/// Parses a probability.
fn probability(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(number) if (0.0..=1.0).contains(&number) => Ok(number),
        _ => Err("expected a number from 0 to 1".to_owned()),
    }
}
