//! Loading a model on one backend.

use std::ops::Range;
use std::sync::Arc;

use inferno_backend::Backend;
use inferno_engine::{Fingerprint, ModelRunner, Runner, StageModel};
use inferno_gguf::Gguf;
use inferno_model::{LoadProgress, Model, ModelSpec, PooledHead};

use crate::load::context_length;
use crate::{Error, LoadOptions};

/// Loads a whole model on one backend.
///
/// **Errors**: as [`Model::load`].
pub(super) fn runner_on<B: Backend>(
    backend: Arc<B>,
    checkpoint: &Gguf,
    options: &LoadOptions,
    on_progress: &mut dyn FnMut(LoadProgress),
) -> Result<Box<dyn Runner>, Error> {
    let spec = ModelSpec::from_checkpoint(checkpoint)?;
    let context_length = context_length(&spec, options)?;
    let runner_options = options.runner(context_length);
    let cache = spec.cache_layout(runner_options.cache_use(context_length));
    spec.check_support(&*backend, options.requantize, cache.kv.dtype)?;
    let model = Model::load(checkpoint, backend, options.requantize, on_progress)?;
    let fingerprint = Fingerprint::of_model(checkpoint, options.requantize);
    let head = prediction_head(&model, checkpoint, options, on_progress)?;
    let runner = ModelRunner::new(model, fingerprint, runner_options)?;
    let runner = runner.with_pooled_head(PooledHead::load(checkpoint, &spec)?);
    Ok(Box::new(runner.with_watch(checkpoint.watch()).with_prediction_head(head)))
}

/// Loads the prediction head of a model, if the options request it.
///
/// **Errors**: as [`Model::load_prediction_head`].
pub(super) fn prediction_head<B: Backend>(
    model: &Model<B>,
    checkpoint: &Gguf,
    options: &LoadOptions,
    on_progress: &mut dyn FnMut(LoadProgress),
) -> Result<Option<ModelRunner>, Error> {
    if !options.prediction_head {
        return Ok(None);
    }
    let requantize = options.requantize;
    let Some(head) = model.load_prediction_head(checkpoint, requantize, on_progress)? else {
        return Ok(None);
    };
    let limit = head.spec().context_length;
    let whole = context_length(head.spec(), options)?;
    let runner = options.of_draft(whole, limit).runner(whole);
    let fingerprint = Fingerprint::of_model(checkpoint, requantize);
    Ok(Some(ModelRunner::new(head, fingerprint, runner)?))
}

/// Loads the weights of some layers for a process that computes only those.
///
/// **Errors**: as [`Model::load_stage`]; layers that cannot be separated from the others.
pub(super) fn stage_on<B: Backend>(
    backend: Arc<B>,
    checkpoint: &Gguf,
    options: &LoadOptions,
    layers: Range<usize>,
    on_progress: &mut dyn FnMut(LoadProgress),
) -> Result<StageModel, Error> {
    let spec = ModelSpec::from_checkpoint(checkpoint)?;
    let stage = spec.stage(layers.clone())?;
    let requantize = options.requantize;
    let kv_dtype = options.kv_dtype.unwrap_or_else(|| spec.default_kv_dtype());
    stage.check_support(&*backend, requantize, kv_dtype)?;
    let model = Model::load_stage(stage, None, checkpoint, backend, requantize, on_progress)?;
    let fingerprint = Fingerprint::of_model(checkpoint, requantize);
    Ok(StageModel::new(model, spec, layers, fingerprint, checkpoint.watch()))
}
