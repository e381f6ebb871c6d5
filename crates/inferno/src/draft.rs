//! Speculative decoding with a draft model.

use std::sync::Arc;

use inferno_engine::{DraftModel, DraftOptions};
use inferno_gguf::Gguf;
use inferno_model::{BatchLimits, LoadProgress, ModelSpec};
use inferno_tokenizer::Tokenizer;

use crate::{Error, LoadEstimate, LoadOptions, Model};

/// What drafts tokens for a model.
#[derive(Clone)]
pub(crate) struct Drafting {
    checkpoint: Arc<Gguf>,
    options: DraftOptions,
}

impl Model {
    /// Lets a smaller model with the same vocabulary draft tokens, which this model verifies (speculative decoding). It is
    /// loaded with this model, on the same device. Outputs are the same with any draft model.
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/qwen3.gguf");
    /// use inferno::{DraftOptions, Gguf, GenerationParams, LoadOptions, Model, SamplingParams, StopParams};
    ///
    /// let limits = inferno::BatchLimits { max_num_logit_rows: 9, ..LoadOptions::default().limits };
    /// let options = LoadOptions { limits, speculation: true, ..LoadOptions::default() };
    /// let model = Model::open(path)?.with_options(options);
    /// let mut session = model.with_draft_model(Gguf::open(path)?, DraftOptions::default())?.session()?;
    /// let params = GenerationParams {
    ///     sampling: SamplingParams::greedy(),
    ///     stop: StopParams { max_tokens: Some(8), ..Default::default() },
    ///     ..Default::default()
    /// };
    /// session.generate("Once upon a time", &params)?.complete()?;
    /// assert_eq!(session.metrics().generated_tokens, 8);
    /// # Ok::<(), inferno::Error>(())
    /// ```
    ///
    /// **Errors**: [`Error::DraftVocabulary`]; a file whose tokenizer is missing or unknown.
    pub fn with_draft_model(self, draft: Gguf, options: DraftOptions) -> Result<Self, Error> {
        let tokenizer = Tokenizer::from_metadata(draft.metadata())?;
        if let Some(difference) = self.tokenizer()?.first_difference(&tokenizer) {
            return Err(Error::DraftVocabulary { difference });
        }
        Ok(self.with_drafting(Drafting { checkpoint: Arc::new(draft), options }))
    }

    /// Loads what drafts tokens, if anything does.
    ///
    /// **Errors**: as [`runner`](Self::runner).
    pub(crate) fn load_draft(
        &self,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Option<DraftModel>, Error> {
        let Some(Drafting { checkpoint, options }) = self.drafting() else { return Ok(None) };
        let load = self.draft_load_options(checkpoint)?;
        let runner = self.device()?.runner(checkpoint, &load, on_progress)?;
        Ok(Some(DraftModel { runner, options: *options }))
    }

    /// Estimates the memory of what drafts tokens.
    ///
    /// **Errors**: as [`estimate`](Self::estimate).
    pub(crate) fn estimate_draft(&self) -> Result<Option<LoadEstimate>, Error> {
        let Some(Drafting { checkpoint, .. }) = self.drafting() else { return Ok(None) };
        let load = self.draft_load_options(checkpoint)?;
        self.device()?.estimate(checkpoint, &load).map(Some)
    }

    /// The options of a draft model: its cache holds the sequences that may have drafts at the same time.
    fn draft_load_options(&self, checkpoint: &Gguf) -> Result<LoadOptions, Error> {
        let spec = ModelSpec::from_checkpoint(checkpoint)?;
        let options = LoadOptions { speculation: true, ..*self.options() };
        let whole = self.context_length()?;
        let context_length = whole.min(spec.context_length);
        let num_drafting = options.runner(whole).cache_use(whole).max_num_drafting;
        let all_tokens = options.cache_tokens.unwrap_or(whole);
        Ok(LoadOptions {
            gpu_layers: None,
            cpu_experts: None,
            context_length: Some(context_length),
            cache_tokens: Some(all_tokens.min(num_drafting.saturating_mul(context_length))),
            kv_dtype: None,
            limits: BatchLimits { max_num_logit_rows: num_drafting, ..options.limits },
            max_num_sequences: Some(num_drafting),
            prefix_cache: false,
            ..options
        })
    }
}
