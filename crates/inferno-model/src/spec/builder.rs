//! Builds the description of a model from the facts of its architecture, metadata and the tensors of the file.

mod attention;
mod feed_forward;
mod latent;
mod pooled;
mod recurrent;
mod selective_scan;
mod streams;

use inferno_backend::{AttentionWindow, Function};
use inferno_gguf::Gguf;

use super::layer::{BlockSpec, LayerEmbeddingSpec, LayerSpec, MixerSpec, NormSpec, SumNormSpec};
use super::pooled::PooledSpec;
use super::prediction_head::FusionSpec;
use super::rotary::RotaryFacts;
use super::tensors::{MatrixSpec, TensorFinder};
use super::{
    InputSpec, LayerEmbeddingsSpec, ModelSpec, OutputSpec, RotarySpec, TemperatureSpec,
    UnusedTensors,
};
use crate::arch::architecture::{
    EmbeddingScale, LogitScale, Parallel, RecurrentLayers, Softcap, Temperature,
};
use crate::keys::{ArchitectureKeys, LAYER_NORM_EPS, PerLayer, RMS_EPS};
use crate::tensor_names::{
    EMBEDDINGS, LAYER_EMBEDDINGS, OUTPUT_HEAD, POSITION_EMBEDDINGS, TOKEN_TYPES,
};
use crate::{Architecture, ModelError};
use feed_forward::ExpertLayers;

/// Epsilon if the file sets none: the value Llama 2 was trained with.
const DEFAULT_EPS: f32 = 1e-5;

/// The parts of a description that its other parts are built from.
pub(super) struct SpecBuilder<'a> {
    keys: &'a ArchitectureKeys<'a>,
    tensors: TensorFinder<'a>,
    facts: &'static Architecture,
    hidden_size: usize,
    eps: f32,
    residual_scale: f32,
    /// The factor on scores if it is not that of the heads' size.
    attention_scale: Option<f32>,
    is_parallel: bool,
    is_causal: bool,
    /// The sliding window, if the model has one.
    window: Option<AttentionWindow>,
    /// The file's own list of layers with the window.
    window_pattern: Option<Vec<bool>>,
    /// The embedding of the layers, and that of layers with a window if it is another one.
    rotaries: Vec<RotarySpec>,
    num_layers: usize,
    experts: Option<ExpertLayers>,
    /// Whether each layer is recurrent; empty if none is.
    recurrent_layers: Vec<bool>,
    /// The size of each layer's dense feed-forward block, 0 if it has none.
    feed_forward_sizes: Option<PerLayer>,
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
        Ok(Self { recurrent_layers: Vec::new(), ..builder })
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
        let (window, window_pattern) = attention::windows(keys, facts, num_layers)?;
        let rotaries = rotaries(keys, tensors, facts, hidden_size, window.is_some())?;
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
        let is_causal = keys.optional("attention.causal")?.unwrap_or(facts.is_causal);
        if !is_causal && facts.recurrent.is_some() {
            let expected = "true, since recurrent layers have a direction";
            return Err(keys.invalid("attention.causal", expected, is_causal));
        }
        // Converters write the one under the key of the other kind of norms if the configuration calls it `norm_eps`.
        let other_eps = match facts.eps_key {
            RMS_EPS => keys.positive_float(LAYER_NORM_EPS, Some(DEFAULT_EPS))?,
            _ => keys.positive_float(RMS_EPS, Some(DEFAULT_EPS))?,
        };
        let eps = keys.positive_float(facts.eps_key, Some(other_eps))?;
        Ok(Self {
            keys,
            tensors,
            facts,
            hidden_size,
            eps,
            residual_scale: multiplier("residual_scale")?.unwrap_or(1.0),
            attention_scale: multiplier("attention.scale")?,
            is_parallel,
            is_causal,
            window,
            window_pattern,
            rotaries,
            num_layers,
            experts: ExpertLayers::from_keys(keys, facts.experts)?,
            recurrent_layers: match facts.recurrent {
                Some(facts) => recurrent::recurrent_layers(keys, facts.layers, num_layers)?,
                None => Vec::new(),
            },
            feed_forward_sizes: keys.per_layer("feed_forward_length", num_layers)?,
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
            EmbeddingScale::Key => keys.optional_float("embedding_scale")?.unwrap_or(1.0),
        };
        let temperature = self.temperature()?;
        let functions = self.head_functions()?;
        let layer_embeddings = self.layer_embeddings(vocab_size)?;
        let layers = self.layers()?;
        let context_length = keys.positive("context_length")?;
        let positions = match facts.has_position_embeddings {
            true => Some(tensors.table(POSITION_EMBEDDINGS, context_length, hidden_size)?),
            false => None,
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
            first_layer: 0,
            temperature,
            output: Some(output),
            pooled,
            rotaries: self.rotaries,
        })
    }

    /// The prediction head of the model `whole` in block `layer`.
    pub(super) fn build_prediction_head(
        self,
        whole: ModelSpec,
        layer: usize,
    ) -> Result<ModelSpec, ModelError> {
        let (tensors, hidden_size) = (self.tensors.in_layer(layer), self.hidden_size);
        let vocab_size = whole.vocab_size;
        let (Some(input), Some(output)) = (whole.input, whole.output) else {
            unreachable!("a whole model has both");
        };
        let embeddings = match tensors.contains("nextn.embed_tokens.weight") {
            true => tensors.table("nextn.embed_tokens.weight", vocab_size, hidden_size)?,
            false => input.embeddings,
        };
        let shares_head = !tensors.contains("nextn.shared_head_head.weight");
        let head = match shares_head {
            true => output.head,
            false => Some(tensors.linear("nextn.shared_head_head", vocab_size, hidden_size)?),
        };
        let norm = match tensors.contains("nextn.shared_head_norm.weight") {
            true => Some(self.norm(tensors, "nextn.shared_head_norm", hidden_size)?),
            false => output.norm,
        };
        let fusion = FusionSpec {
            embedding_norm: self.norm(tensors, "nextn.enorm", hidden_size)?,
            hidden_norm: self.norm(tensors, "nextn.hnorm", hidden_size)?,
            projection: tensors.linear("nextn.eh_proj", hidden_size, 2 * hidden_size)?,
            shares_head,
        };
        Ok(ModelSpec {
            input: Some(InputSpec { embeddings, ..input }),
            fusion: Some(fusion),
            streams: None,
            layer_embeddings: None,
            layers: vec![self.layer(layer, &[])?],
            first_layer: layer,
            output: Some(OutputSpec { norm, head, ..output }),
            unused_tensors: UnusedTensors {
                // All others.
                of_other_stages: vec![String::new()],
                ..whole.unused_tensors
            },
            ..whole
        })
    }

    /// The layers of the decoder.
    fn layers(&self) -> Result<Vec<LayerSpec>, ModelError> {
        let mut layers = Vec::new();
        for index in 0..self.num_layers {
            layers.push(self.layer(index, &layers)?);
        }
        Ok(layers)
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
            of_other_stages: Vec::new(),
        })
    }

    fn temperature(&self) -> Result<Option<TemperatureSpec>, ModelError> {
        match self.facts.attention.temperature {
            Temperature::None => Ok(None),
            Temperature::ByKey => {
                let Some(scale) = self.keys.optional_float("attention.temperature_scale")? else {
                    return Ok(None);
                };
                let length = self.keys.positive("rope.scaling.original_context_length")?;
                Ok(Some(TemperatureSpec { scale, original_context_length: length, offset: 0 }))
            }
            Temperature::Unrotated { scale, context_length } => {
                let original_context_length = context_length;
                let spec = TemperatureSpec { scale, original_context_length, offset: 1 };
                Ok(self.window.map(|_| spec))
            }
        }
    }

    fn head_functions(&self) -> Result<Vec<Function>, ModelError> {
        let mut functions = Vec::new();
        let factor = match self.facts.logit_scale {
            LogitScale::None => None,
            LogitScale::Multiplies => self.keys.optional_float("logit_scale")?,
            LogitScale::Divides => {
                self.keys.optional_float("logit_scale")?.map(|scale| 1.0 / scale)
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

    fn layer_embedding(
        &self,
        tensors: TensorFinder<'_>,
        index: usize,
    ) -> Result<Option<LayerEmbeddingSpec>, ModelError> {
        let Some(width) = self.layer_embedding_size()? else { return Ok(None) };
        Ok(Some(LayerEmbeddingSpec {
            width,
            column: index * width,
            function: Function::GeluTanh,
            gate: tensors.linear("inp_gate", width, self.hidden_size)?,
            projection: tensors.linear("proj", self.hidden_size, width)?,
            post_norm: self.norm(tensors, "post_norm", self.hidden_size)?,
        }))
    }

    /// The layer after those of `before`.
    fn layer(&self, index: usize, before: &[LayerSpec]) -> Result<LayerSpec, ModelError> {
        let tensors = self.tensors.in_layer(index);
        let (names, residual_scale) = (&self.facts.norms, self.residual_scale);
        let size = self.feed_forward_sizes.as_ref().map(|sizes| sizes.get(index));
        let has_experts = self.layer_experts(tensors, index).is_some();
        let has_feed_forward = match self.facts.has_single_blocks {
            true => size != Some(0),
            false => self.facts.recurrent.is_none() || size != Some(0) || has_experts,
        };
        let has_mixers = !self.facts.has_single_blocks || !has_feed_forward;
        let [mixer_sum, feed_forward_sum] = match names.sums {
            Some(names) => names.map(Some),
            None => [None; 2],
        };
        let has_no_norm =
            index == 0 && names.first_is_optional && !tensors.contains("attn_norm.weight");
        let input_norm = if has_mixers && !has_no_norm { names.attention } else { &[] };
        let mixers = BlockSpec {
            norm: self.layer_norm(tensors, input_norm)?,
            block: if has_mixers { self.mixers(tensors, index, before)? } else { Vec::new() },
            post_norm: self.layer_norm(tensors, names.post_attention)?,
            residual_scale,
            sum_norm: self.sum_norm(tensors, mixer_sum, Some("attn_norm_2"))?,
        };
        let feed_forward = match has_feed_forward {
            true => Some(BlockSpec {
                norm: self.layer_norm(tensors, names.feed_forward)?,
                block: self.feed_forward(tensors, index)?,
                post_norm: self.layer_norm(tensors, names.post_feed_forward)?,
                residual_scale,
                sum_norm: self.sum_norm(tensors, feed_forward_sum, None)?,
            }),
            false => None,
        };
        Ok(LayerSpec {
            mixers,
            feed_forward,
            low_rank: self.low_rank(tensors)?,
            is_parallel: self.is_parallel,
            streams: self.layer_streams(tensors)?,
            embedding: self.layer_embedding(tensors, index)?,
            output_scale: tensors.optional_vector("layer_output_scale.weight", 1)?,
        })
    }

    /// The mixers of layer `index`.
    fn mixers(
        &self,
        tensors: TensorFinder<'_>,
        index: usize,
        before: &[LayerSpec],
    ) -> Result<Vec<MixerSpec>, ModelError> {
        let mut mixers = Vec::new();
        let is_recurrent = self.recurrent_layers.get(index) == Some(&true);
        let layers = self.facts.recurrent.map(|facts| facts.layers);
        if !is_recurrent || layers == Some(RecurrentLayers::NextToAttention) {
            let cache_layer = before.iter().filter_map(LayerSpec::attention).count();
            let attention = self.attention(tensors, index, cache_layer)?;
            mixers.push(MixerSpec::Attention(Box::new(attention)));
        }
        if let Some(facts) = self.facts.recurrent.filter(|_| is_recurrent) {
            let state_layer = before.iter().filter_map(LayerSpec::recurrent).count();
            let recurrent = self.recurrent(tensors, facts.kind, state_layer)?;
            mixers.push(MixerSpec::Recurrent(Box::new(recurrent)));
        }
        Ok(mixers)
    }

    /// The norm `name` of a sum, and that of a second one under the name `second` if the file has it.
    fn sum_norm(
        &self,
        tensors: TensorFinder<'_>,
        name: Option<&str>,
        second: Option<&str>,
    ) -> Result<Option<SumNormSpec>, ModelError> {
        let Some(name) = name else { return Ok(None) };
        let second = second.filter(|name| tensors.contains(&format!("{name}.weight")));
        Ok(Some(SumNormSpec {
            norm: self.norm(tensors, name, self.hidden_size)?,
            with_input: match second {
                Some(second) => Some(self.norm(tensors, second, self.hidden_size)?),
                None => None,
            },
        }))
    }

    /// The norm under the first of `names` that the file has; if it has none of them, the last is missing.
    fn layer_norm(
        &self,
        tensors: TensorFinder<'_>,
        names: &[&str],
    ) -> Result<Option<NormSpec>, ModelError> {
        let has_weight =
            |name: &&&str| tensors.contains(&format!("{name}.weight")) || tensors.contains(name);
        let name = names.iter().find(has_weight).or(names.last());
        name.map(|name| self.norm(tensors, name, self.hidden_size)).transpose()
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
            kind: self.facts.norm,
            eps: self.eps,
            weight: tensors.vector(&weight, 1, len)?,
            bias: tensors.optional_vector(&format!("{name}.bias"), len)?,
        })
    }
}

/// The rotary embedding of the layers, then that of layers with a window if it is another one.
fn rotaries(
    keys: &ArchitectureKeys<'_>,
    tensors: TensorFinder<'_>,
    facts: &Architecture,
    hidden_size: usize,
    has_window: bool,
) -> Result<Vec<RotarySpec>, ModelError> {
    let head_dim = match facts.recurrent.map(|facts| facts.layers) {
        // No layer has heads.
        Some(RecurrentLayers::All) => 32,
        _ => attention::head_dim(keys, hidden_size)?,
    };
    let rotary_facts = RotaryFacts {
        pairing: facts.attention.pairing,
        has_log_multiplier: facts.attention.temperature == Temperature::ByKey,
    };
    let mut rotaries = vec![RotarySpec::from_keys(keys, tensors, rotary_facts, head_dim)?];
    if let Some(rotary) = facts.attention.windowed_rotary.filter(|_| has_window) {
        let full = &rotaries[0];
        let default = rotary.default_base.unwrap_or(full.freq_base);
        let base = keys.positive_float("rope.freq_base_swa", Some(default))?;
        let dim = attention::windowed_rotary_dim(keys, full.rotary_dim)?;
        rotaries.push(full.unscaled(base, dim));
    }
    Ok(rotaries)
}
