//! Builds the description of a model from the facts of its architecture, metadata and the tensors of the file.

mod activations;
mod attention;
mod feed_forward;
mod kimi_delta_net;
mod latent;
mod layers;
mod pooled;
mod prediction_head;
mod recurrent;
mod rotaries;
mod selective_scan;
mod streams;
mod windows;

use inferno_backend::{Function, NormKind};
use inferno_gguf::Gguf;

use super::layer::{LayerSpec, NormSpec};
use super::pooled::PooledSpec;
use super::tensors::{MatrixSpec, Presence, TensorFinder};
use super::unused::{OtherTensors, UnusedTensors};
use super::{
    InputSpec, LayerEmbeddingsSpec, LoopsSpec, ModelSpec, OutputSpec, RotarySpec, TemperatureSpec,
};
use crate::arch::architecture::{EmbeddingScale, LogitScale, Parallel, Softcap};
use crate::arch::attention_facts::Temperature;
use crate::keys::{ArchitectureKeys, LAYER_NORM_EPS, PerLayer, RMS_EPS};
use crate::tensor_names::{
    EMBEDDINGS, LAYER_EMBEDDINGS, OUTPUT_HEAD, POSITION_EMBEDDINGS, TOKEN_TYPES,
};
use crate::{Architecture, ModelError};
use activations::LayerActivations;
use feed_forward::ExpertLayers;
use recurrent::RecurrentPlaces;
use windows::LayerWindows;

/// The largest number of times that layers can be computed.
const MAX_LOOPS: usize = 64;

/// The parts of a description that its other parts are built from.
pub(super) struct SpecBuilder<'a> {
    keys: &'a ArchitectureKeys<'a>,
    tensors: TensorFinder<'a>,
    facts: &'static Architecture,
    hidden_size: usize,
    norm: NormKind,
    eps: f32,
    residual_scale: f32,
    /// The factor on scores if it is not that of the heads' size.
    attention_scale: Option<f32>,
    is_parallel: bool,
    is_causal: bool,
    /// The layers with a sliding window, if there are any.
    windows: Option<LayerWindows>,
    /// Which layers have rotary embedding, if the file lists them.
    rotated_layers: Option<Vec<bool>>,
    /// The embedding of the layers, and that of layers with a window if it is another one.
    rotaries: Vec<RotarySpec>,
    num_layers: usize,
    num_heads: Option<PerLayer<usize>>,
    num_kv_heads: Option<PerLayer<usize>>,
    experts: Option<ExpertLayers>,
    recurrent_layers: RecurrentPlaces,
    /// The size of each layer's dense feed-forward block, 0 if it has none.
    feed_forward_sizes: Option<PerLayer<usize>>,
    activations: LayerActivations,
}

impl<'a> SpecBuilder<'a> {
    pub(super) fn new(
        keys: &'a ArchitectureKeys<'a>,
        checkpoint: &'a Gguf,
        facts: &'static Architecture,
    ) -> Result<Self, ModelError> {
        Self::with_layers(keys, checkpoint, facts, |num_blocks, num_heads| num_blocks - num_heads)
    }

    /// Counts the blocks of prediction heads among the layers. These have attention.
    pub(super) fn for_prediction_head(
        keys: &'a ArchitectureKeys<'a>,
        checkpoint: &'a Gguf,
        facts: &'static Architecture,
    ) -> Result<Self, ModelError> {
        let builder = Self::with_layers(keys, checkpoint, facts, |num_blocks, _| num_blocks)?;
        Ok(Self { recurrent_layers: RecurrentPlaces::None, ..builder })
    }

    /// `num_layers` computes the number of layers from that of blocks and that of prediction heads among them.
    fn with_layers(
        keys: &'a ArchitectureKeys<'a>,
        checkpoint: &'a Gguf,
        facts: &'static Architecture,
        num_layers: fn(usize, usize) -> usize,
    ) -> Result<Self, ModelError> {
        let tensors = TensorFinder::new(checkpoint);
        let hidden_size = keys.positive("embedding_length")?;
        let num_blocks = keys.positive("block_count")?;
        let num_predictors = keys.optional::<usize>("nextn_predict_layers")?.unwrap_or(0);
        if num_predictors >= num_blocks {
            let expected = format!("less than block_count ({num_blocks})");
            return Err(keys.invalid("nextn_predict_layers", expected, num_predictors));
        }
        let num_layers = num_layers(num_blocks, num_predictors);
        let list_lens = num_layers..=num_blocks;
        let num_heads = keys.per_layer("attention.head_count", &list_lens)?;
        let num_kv_heads = keys.per_layer("attention.head_count_kv", &list_lens)?;
        // The default window depends on the layers of the model, also for its prediction head.
        let num_model_layers = num_blocks - num_predictors;
        let windows =
            LayerWindows::from_keys(keys, &facts.attention, num_model_layers, &list_lens)?;
        let heads = (hidden_size, num_heads.as_ref());
        let rotaries = rotaries::rotaries(keys, tensors, facts, heads, windows.is_some())?;
        let is_parallel = match facts.parallel {
            Parallel::Never => false,
            Parallel::Always => true,
            Parallel::ByKey => keys.optional("use_parallel_residual")?.unwrap_or(true),
            Parallel::WithoutSecondNorm => !tensors.contains("blk.0.ffn_norm.weight"),
        };
        let multiplier = |key| match facts.has_multipliers {
            true => keys.optional_float(key),
            false => Ok(None),
        };
        let default_residual_scale =
            facts.default_factors.map(|factors| factors.depth / (num_model_layers as f32).sqrt());
        let is_causal = keys.optional("attention.causal")?.unwrap_or(facts.is_causal);
        if !is_causal && facts.recurrent.is_some() {
            let expected = "true, since recurrent layers have a direction";
            return Err(keys.invalid("attention.causal", expected, is_causal));
        }
        let model_size = (num_blocks, tensors.rows_of(EMBEDDINGS).unwrap_or(0));
        let (norm, eps) = norm(keys, facts)?;
        Ok(Self {
            keys,
            tensors,
            facts,
            hidden_size,
            norm,
            eps,
            residual_scale: multiplier("residual_scale")?.or(default_residual_scale).unwrap_or(1.0),
            attention_scale: multiplier("attention.scale")?,
            is_parallel,
            is_causal,
            windows,
            rotated_layers: rotaries::rotated_layers(keys, &facts.attention, &list_lens)?,
            rotaries,
            num_layers,
            experts: ExpertLayers::from_keys(keys, facts.experts, model_size)?,
            recurrent_layers: match facts.recurrent {
                Some(recurrent) => RecurrentPlaces::from_keys(
                    keys,
                    recurrent.layers,
                    num_kv_heads.as_ref(),
                    &list_lens,
                )?,
                None => RecurrentPlaces::None,
            },
            num_heads,
            num_kv_heads,
            feed_forward_sizes: keys.per_layer("feed_forward_length", &list_lens)?,
            activations: LayerActivations::from_keys(keys, facts, &list_lens)?,
        })
    }

    pub(super) fn build(self) -> Result<ModelSpec, ModelError> {
        let Self { keys, tensors, facts, hidden_size, .. } = self;
        // Files differ in whether and under which key they store the size of the vocabulary, so the embedding
        // table decides. Its whole shape is checked when it is looked up.
        let vocab_size =
            tensors.get(EMBEDDINGS).map(|table| table.dims().get(1).copied().unwrap_or(1));
        let vocab_size = vocab_size.ok_or_else(|| keys.no_embeddings(hidden_size))?;
        let embeddings = tensors.table(EMBEDDINGS, vocab_size, hidden_size)?;
        let pooled = self.pooled()?;
        let head = match tensors.contains(OUTPUT_HEAD) {
            _ if !self.is_causal || pooled.classifier.is_some() => None,
            true => Some(tensors.linear("output", vocab_size, hidden_size)?),
            false => Some(super::LinearSpec {
                weight: MatrixSpec {
                    parts: vec![embeddings.clone()],
                    num_experts: 1,
                    cols: hidden_size,
                },
                bias: None,
            }),
        };
        let norm = facts.output_norm.map(|name| self.norm(tensors, name, hidden_size));
        let norm = norm.transpose()?;
        let scale = match facts.embedding_scale {
            EmbeddingScale::One => 1.0,
            EmbeddingScale::Root => (hidden_size as f32).sqrt(),
            EmbeddingScale::Key => {
                let default = facts.default_factors.map_or(1.0, |factors| factors.embedding);
                keys.optional_float("embedding_scale")?.unwrap_or(default)
            }
        };
        let temperature = self.temperature()?;
        let functions = self.head_functions()?;
        let layer_embeddings = self.layer_embeddings(vocab_size)?;
        let layers = self.layers()?;
        let context_length = keys.positive("context_length")?;
        let positions = match facts.position_embeddings {
            Some(presence)
                if presence == Presence::Required || tensors.contains(POSITION_EMBEDDINGS) =>
            {
                Some(tensors.table(POSITION_EMBEDDINGS, context_length, hidden_size)?)
            }
            _ => None,
        };
        let token_types = match tensors.rows_of(TOKEN_TYPES) {
            Some(rows) if facts.has_embedding_norm => {
                Some(tensors.table(TOKEN_TYPES, rows, hidden_size)?)
            }
            _ => None,
        };
        let input_norm = match facts.has_embedding_norm {
            true => Some(self.norm(tensors, "token_embd_norm", hidden_size)?),
            false => None,
        };
        let input = InputSpec { embeddings, scale, positions, token_types, norm: input_norm };
        let output = OutputSpec { norm, head, functions };
        Ok(ModelSpec {
            architecture: facts,
            is_causal: self.is_causal,
            name: keys.name()?,
            context_length,
            hidden_size,
            vocab_size,
            input: Some(input),
            fusion: None,
            streams: self.streams()?,
            layer_embeddings,
            unused_tensors: self.unused_tensors(&layers, &pooled, output.head.is_some())?,
            layers,
            loops: self.loops()?,
            first_layer: 0,
            temperature,
            output: Some(output),
            pooled,
            rotaries: self.rotaries,
        })
    }

    /// The tensors that `layers` do not need.
    fn unused_tensors(
        &self,
        layers: &[LayerSpec],
        pooled: &PooledSpec,
        has_head: bool,
    ) -> Result<UnusedTensors, ModelError> {
        let mut beyond_hidden_states = pooled.tensor_names();
        if !has_head {
            beyond_hidden_states.extend(["output.weight", "output.bias"].map(str::to_owned));
        }
        let has_kv = |layer: &LayerSpec| layer.attention().is_none_or(|it| it.heads.has_kv);
        let without_kv = (0..).zip(layers).filter(|(_, layer)| !has_kv(layer));
        Ok(UnusedTensors {
            predictors: self.num_layers..self.keys.positive("block_count")?,
            layers_without_kv: without_kv.map(|(index, _)| index).collect(),
            beyond_hidden_states,
            others: OtherTensors::None,
        })
    }

    /// How often the layers are computed.
    fn loops(&self) -> Result<LoopsSpec, ModelError> {
        const COUNT: &str = "num_loops";
        if !self.facts.has_loops {
            return Ok(LoopsSpec { count: 1, is_normed: false });
        }
        // llama.cpp saves models without loops with 0.
        let count = self.keys.optional(COUNT)?.unwrap_or(1_usize).max(1);
        if count > MAX_LOOPS {
            return Err(self.keys.invalid(COUNT, format!("at most {MAX_LOOPS}"), count));
        }
        let skips_norm = self.keys.optional("skip_loop_final_norm")?.unwrap_or(false);
        Ok(LoopsSpec { count, is_normed: !skips_norm })
    }

    fn temperature(&self) -> Result<Option<TemperatureSpec>, ModelError> {
        const SCALE: &str = "attention.temperature_scale";
        const LENGTH: &str = "attention.temperature_length";
        match self.facts.attention.temperature {
            Temperature::None => Ok(None),
            Temperature::ByKey { has_length } => {
                let Some(scale) = self.keys.optional_float(SCALE)? else { return Ok(None) };
                // llama.cpp saves models without this length with 0.
                let is_set =
                    has_length && !matches!(self.keys.optional(LENGTH)?, None | Some(0_usize));
                let key = if is_set { LENGTH } else { "rope.scaling.original_context_length" };
                let original_context_length = self.keys.positive(key)?;
                Ok(Some(TemperatureSpec { scale, original_context_length, offset: 0 }))
            }
            Temperature::Unrotated { scale, context_length } => {
                // llama.cpp saves models with this fact as well.
                self.keys.mark_read(SCALE);
                let original_context_length = context_length;
                let spec = TemperatureSpec { scale, original_context_length, offset: 1 };
                Ok(self.windows.as_ref().map(|_| spec))
            }
        }
    }

    fn head_functions(&self) -> Result<Vec<Function>, ModelError> {
        let mut functions = Vec::new();
        let factor = match self.facts.logit_scale {
            LogitScale::None => None,
            LogitScale::Multiplies => self.keys.optional_float("logit_scale")?,
            LogitScale::Divides => {
                let default = self.facts.default_factors;
                let default = default.map(|factors| self.hidden_size as f32 / factors.base_width);
                let scale = self.keys.optional_float("logit_scale")?.or(default);
                scale.map(|scale| 1.0 / scale)
            }
        };
        functions.extend(factor.map(|factor| Function::Scale { factor }));
        let cap = self.softcap("final_logit_softcapping", self.facts.logit_softcap)?;
        functions.extend(cap.map(|cap| Function::SoftCap { cap }));
        Ok(functions)
    }

    fn softcap(&self, key: &str, softcap: Softcap) -> Result<Option<f32>, ModelError> {
        match softcap {
            Softcap::Never => Ok(None),
            Softcap::Default(default) => self.keys.positive_float(key, Some(default)).map(Some),
            Softcap::ByKey => self.keys.optional_float(key),
        }
    }

    /// The number of values that each layer has as embeddings of its own.
    fn layer_embedding_size(&self) -> Result<Option<usize>, ModelError> {
        const KEY: &str = "embedding_length_per_layer_input";
        if !self.facts.has_layer_embeddings || self.keys.optional::<usize>(KEY)? == Some(0) {
            return Ok(None);
        }
        self.keys.optional::<usize>(KEY)?.map(|_| self.keys.positive(KEY)).transpose()
    }

    fn layer_embeddings(
        &self,
        vocab_size: usize,
    ) -> Result<Option<LayerEmbeddingsSpec>, ModelError> {
        let Some(width) = self.layer_embedding_size()? else { return Ok(None) };
        let (tensors, num_layers) = (self.tensors, self.num_layers);
        let row_len = width * num_layers;
        Ok(Some(LayerEmbeddingsSpec {
            width,
            num_layers,
            table: tensors.table(LAYER_EMBEDDINGS, vocab_size, row_len)?,
            projection: tensors.linear("per_layer_model_proj", row_len, self.hidden_size)?,
            norm: tensors.vector("per_layer_proj_norm.weight", 1, width)?,
            eps: self.eps,
        }))
    }

    /// The norm `name` within a block, if the architecture has such norms.
    fn inner_norm(
        &self,
        tensors: TensorFinder<'_>,
        name: &str,
        len: usize,
    ) -> Result<Option<NormSpec>, ModelError> {
        match self.facts.has_inner_norms {
            true => self.norm(tensors, name, len).map(Some),
            false => Ok(None),
        }
    }

    /// The norm `name` of rows of `len` values.
    fn norm(
        &self,
        tensors: TensorFinder<'_>,
        name: &str,
        len: usize,
    ) -> Result<NormSpec, ModelError> {
        // Falcon-H1's files lack the suffix of one norm.
        let weight = match tensors.contains(name) {
            true => name.to_owned(),
            false => format!("{name}.weight"),
        };
        Ok(NormSpec {
            kind: self.norm,
            eps: self.eps,
            len,
            weight: match self.facts.has_norm_weights {
                true => Some(tensors.vector(&weight, 1, len)?),
                false => None,
            },
            bias: tensors.optional_vector(&format!("{name}.bias"), len)?,
        })
    }
}

/// The kind of the norms, and their epsilon. Converters write it under the key of the other kind of norms if the
/// configuration calls it `norm_eps`.
fn norm(keys: &ArchitectureKeys<'_>, facts: &Architecture) -> Result<(NormKind, f32), ModelError> {
    if facts.has_norm_by_key
        && let Some(eps) = keys.optional_float(RMS_EPS)?
    {
        return Ok((NormKind::Rms, eps));
    }
    let other = if facts.eps_key == RMS_EPS { LAYER_NORM_EPS } else { RMS_EPS };
    let has_other = !keys.contains(facts.eps_key) && keys.contains(other);
    let key = if has_other { other } else { facts.eps_key };
    Ok((facts.norm, keys.positive_float(key, None)?))
}
