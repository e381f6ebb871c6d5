//! Estimates of a model, or of a part of it, on one backend.

use inferno_backend::Backend;
use inferno_gguf::Gguf;
use inferno_model::{Footprint, ModelSpec, TokenCost};

use crate::load::context_length;
use crate::{Error, LoadEstimate, LoadOptions};

/// A model to estimate.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) checkpoint: &'a Gguf,
    pub(super) spec: &'a ModelSpec,
    pub(super) options: &'a LoadOptions,
}

impl Part<'_> {
    /// Estimates the whole model on one device.
    pub(super) fn estimate<B: Backend>(self, backend: &B) -> Result<LoadEstimate, Error> {
        let Self { spec, options, .. } = self;
        let context_length = context_length(spec, options)?;
        let cache_use = options.runner(context_length).cache_use(context_length);
        let cache = spec.cache_layout(cache_use);
        let footprint = self.footprint(backend, spec)?;
        let token_cost = TokenCost::estimate(spec, backend, options.requantize, cache.kv.dtype)?;
        Ok(LoadEstimate {
            footprint,
            token_cost,
            context_length,
            cache_tokens: cache_use.num_tokens,
            max_num_sequences: cache_use.max_num_sequences,
            max_num_drafting: cache_use.max_num_drafting,
            cache,
            choice: options.backend,
            backend: backend.describe(),
            isa: None,
            num_threads: 1,
            gpu: None,
            draft: None,
        })
    }

    /// Estimates the memory of its prediction head, if the options request it.
    ///
    /// **Errors**: a head that the backend does not support.
    fn prediction_head_footprint<B: Backend>(
        self,
        backend: &B,
    ) -> Result<Option<Footprint>, Error> {
        let Self { checkpoint, spec, options } = self;
        if !options.prediction_head {
            return Ok(None);
        }
        let Some(head) = ModelSpec::prediction_head(checkpoint)? else { return Ok(None) };
        let whole = context_length(spec, options)?;
        let options = options.of_draft(whole, head.context_length);
        let kv_dtype = options.kv_dtype.unwrap_or_else(|| spec.default_kv_dtype());
        head.check_support(backend, options.requantize, kv_dtype)?;
        let part = Part { checkpoint, spec: &head, options: &options };
        let footprint = part.stage_footprint(backend, &head)?;
        // The hidden states of the model and of the head.
        let row_bytes = spec.hidden_size.saturating_mul(size_of::<f32>());
        let hidden_bytes = row_bytes.saturating_mul(2 * options.limits.max_num_tokens);
        Ok(Some(Footprint {
            workspace_bytes: footprint.workspace_bytes.saturating_add(hidden_bytes),
            // The table is that of the model.
            mapped_bytes: 0,
            ..footprint
        }))
    }

    /// Estimates the memory of a stage of it, and of its prediction head, which is next to the output.
    ///
    /// **Errors**: as [`prediction_head_footprint`](Self::prediction_head_footprint).
    pub(super) fn footprint<B: Backend>(
        self,
        backend: &B,
        stage: &ModelSpec,
    ) -> Result<Footprint, Error> {
        let footprint = self.stage_footprint(backend, stage)?;
        let head = match stage.has_output() {
            true => self.prediction_head_footprint(backend)?,
            false => None,
        };
        Ok(head.map_or(footprint, |head| footprint.plus(head)))
    }

    fn stage_footprint<B: Backend>(
        self,
        backend: &B,
        stage: &ModelSpec,
    ) -> Result<Footprint, Error> {
        let Self { checkpoint, spec, options } = self;
        let context_length = context_length(spec, options)?;
        let cache = spec.cache_layout(options.runner(context_length).cache_use(context_length));
        let (requantize, limits) = (options.requantize, options.limits);
        let cache = stage.stage_cache(&cache);
        Ok(Footprint::estimate(checkpoint, stage, backend, requantize, &cache, limits)?)
    }
}
