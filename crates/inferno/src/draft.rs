//! Speculative decoding with a draft model.

use std::sync::Arc;

use inferno_engine::{DraftModel, DraftOptions, Runner};
use inferno_gguf::Gguf;
use inferno_model::{LoadProgress, ModelSpec};
use inferno_tokenizer::Tokenizer;

use crate::device::DraftFile;
use crate::{Error, LoadEstimate, LoadOptions, Model};

/// What drafts tokens for a model.
#[derive(Clone)]
pub(crate) struct Drafting {
    source: DraftSource,
    options: DraftOptions,
}

#[derive(Clone)]
enum DraftSource {
    /// A smaller model.
    Model(Arc<Gguf>),
    /// The prediction head in the file of the model.
    Head,
}

impl Model {
    /// Lets a smaller model with the same vocabulary draft tokens, which this model verifies (speculative decoding). It is
    /// loaded with this model, on the same device; of `draft`, only the file is used. Outputs are the same with any draft model.
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
    pub fn with_draft_model(
        self,
        draft: impl Into<Self>,
        options: DraftOptions,
    ) -> Result<Self, Error> {
        let draft: Self = draft.into();
        let draft = draft.shared_checkpoint();
        let tokenizer = Tokenizer::from_metadata(draft.metadata())?;
        if let Some(difference) = self.tokenizer()?.first_difference(&tokenizer) {
            return Err(Error::DraftVocabulary { difference });
        }
        let source = DraftSource::Model(draft);
        Ok(self.with_drafting(Drafting { source, options }))
    }

    /// Lets the prediction head in the model's file (multi-token prediction, "nextn") draft tokens, as
    /// [`with_draft_model`](Self::with_draft_model) does a smaller model. If there are several, the first is used.
    ///
    /// **Errors**: [`Error::NoPredictionHead`]; a head with invalid metadata or missing tensors.
    pub fn with_prediction_head(self, options: DraftOptions) -> Result<Self, Error> {
        if ModelSpec::prediction_head(self.checkpoint())?.is_none() {
            return Err(Error::NoPredictionHead);
        }
        let load = LoadOptions { prediction_head: true, ..*self.options() };
        let source = DraftSource::Head;
        Ok(self.with_options(load).with_drafting(Drafting { source, options }))
    }

    /// Loads what drafts tokens, if anything does. A prediction head was loaded with `runner`.
    ///
    /// **Errors**: as [`runner`](Self::runner).
    pub(crate) fn load_draft(
        &self,
        runner: &mut dyn Runner,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Option<DraftModel>, Error> {
        let Some(Drafting { options, .. }) = self.drafting() else { return Ok(None) };
        let runner = match self.draft_file()? {
            Some(draft) => self.device()?.draft_runner(draft, on_progress)?,
            None => runner.take_prediction_head().ok_or(Error::NoPredictionHead)?,
        };
        Ok(Some(DraftModel { runner, options: *options }))
    }

    /// Estimates the memory of a draft model next to this one, of which `model` is the estimate. That of a prediction head is
    /// part of the model's.
    ///
    /// **Errors**: as [`estimate`](Self::estimate).
    pub(crate) fn estimate_draft(
        &self,
        model: &LoadEstimate,
    ) -> Result<Option<LoadEstimate>, Error> {
        match self.draft_file()? {
            Some(draft) => self.device()?.estimate_draft(draft, model).map(Some),
            None => Ok(None),
        }
    }

    /// The draft model, unless the prediction head drafts, and how it is loaded.
    ///
    /// **Errors**: an unknown architecture, invalid metadata.
    pub(crate) fn draft_file(&self) -> Result<Option<DraftFile<'_>>, Error> {
        let Some(Drafting { source: DraftSource::Model(checkpoint), .. }) = self.drafting() else {
            return Ok(None);
        };
        let limit = ModelSpec::from_checkpoint(checkpoint)?.context_length;
        let options = self.options().of_draft(self.context_length()?, limit);
        Ok(Some(DraftFile {
            checkpoint,
            options: LoadOptions { prediction_head: false, ..options },
        }))
    }
}
