//! A model as data: what every layer computes and which tensors it needs.
//!
//! Loading, memory estimates and costs walk the same [`ModelSpec`], so a model is described once.

mod builder;
pub(crate) mod feed_forward;
pub(crate) mod layer;
pub(crate) mod pooled;
pub(crate) mod prediction_head;
pub(crate) mod recurrent;
mod rotary;
pub(crate) mod scales;
mod separate;
mod stage;
pub(crate) mod streams;
pub(crate) mod tensors;
mod transposed;
pub(crate) mod unused;

use std::collections::HashSet;

use inferno_backend::{AttentionWindow, Function, KvDType, KvLayer, KvLayout, StateLayout};
use inferno_gguf::{Gguf, Metadata};

use crate::keys::ArchitectureKeys;
use crate::{Architecture, ModelError, architecture};
use builder::SpecBuilder;
use layer::{AttentionSpec, LayerSpec, NormSpec};
use pooled::PooledSpec;
use prediction_head::FusionSpec;
use recurrent::RecurrentSpec;
pub(crate) use rotary::RotaryFactors;
pub use rotary::{RopeScaling, RotarySpec, YarnParams};
pub use scales::{TensorScales, weight_dtype};
use streams::StreamsSpec;
use tensors::{LinearSpec, MatrixPart, MatrixSpec, VectorSpec};
use unused::UnusedTensors;

/// A language model, or a [stage](Self::stage) of one: its sizes, its layers and their tensors.
#[derive(Debug, Clone)]
pub struct ModelSpec {
    /// The model's architecture.
    pub architecture: &'static Architecture,
    /// The model's own name, if the file has one.
    pub name: Option<String>,
    /// Context length of training, in tokens.
    pub context_length: usize,
    /// Whether tokens attend to those before them alone, so that text can be generated token by token. Models that attend in
    /// both directions compute a whole sequence in one pass.
    pub is_causal: bool,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Number of rows of the embedding table.
    pub vocab_size: usize,
    /// The rotary embeddings of the layers, without duplicates.
    pub rotaries: Vec<RotarySpec>,
    /// The embeddings; `None` for a stage that reads the residual stream of the one before it.
    pub(crate) input: Option<InputSpec>,
    /// How the embeddings are combined with hidden states, if the model is a prediction head.
    pub(crate) fusion: Option<FusionSpec>,
    /// The residual streams, if there are several.
    pub(crate) streams: Option<StreamsSpec>,
    /// Embeddings that each layer reads by itself.
    pub(crate) layer_embeddings: Option<LayerEmbeddingsSpec>,
    pub(crate) layers: Vec<LayerSpec>,
    /// How often the layers are computed.
    pub(crate) loops: LoopsSpec,
    /// The number of the first of `layers` in the file.
    pub(crate) first_layer: usize,
    /// Factors on queries that grow with their position.
    pub(crate) temperature: Option<TemperatureSpec>,
    /// The output head; `None` for a stage whose residual stream the one after it reads.
    pub(crate) output: Option<OutputSpec>,
    /// What follows the pooling of hidden states.
    pub(crate) pooled: PooledSpec,
    pub(crate) unused_tensors: UnusedTensors,
}

/// Layers that are computed several times, each time with keys and values of their own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoopsSpec {
    pub(crate) count: usize,
    /// Whether the final norm is between one time and the next.
    pub(crate) is_normed: bool,
}

/// The residual stream before the first layer.
#[derive(Debug, Clone)]
pub(crate) struct InputSpec {
    /// The embeddings of tokens.
    pub(crate) embeddings: MatrixPart,
    /// Factor on the embeddings.
    pub(crate) scale: f32,
    /// Embeddings of positions, one row each, which are added to those of tokens.
    pub(crate) positions: Option<MatrixPart>,
    /// Embeddings of token types, which are added as well.
    pub(crate) token_types: Option<MatrixPart>,
    /// The norm of the sum.
    pub(crate) norm: Option<NormSpec>,
}

/// From the residual stream after the last layer to hidden states and logits.
#[derive(Debug, Clone)]
pub(crate) struct OutputSpec {
    pub(crate) norm: Option<NormSpec>,
    /// `None` for models that compute no logits.
    pub(crate) head: Option<LinearSpec>,
    /// What is applied to the logits, in order.
    pub(crate) functions: Vec<Function>,
}

/// Embeddings of tokens that each layer adds a projection of: those of a table plus a projection of the
/// input of the first layer.
///
/// **Source**: Gemma Team, Gemma 3n model card, per-layer embeddings.
#[derive(Debug, Clone)]
pub(crate) struct LayerEmbeddingsSpec {
    /// Number of values per token and layer.
    pub(crate) width: usize,
    pub(crate) num_layers: usize,
    /// The table: a row holds the values of all layers.
    pub(crate) table: MatrixPart,
    pub(crate) projection: LinearSpec,
    /// The norm of the projection's values of one layer.
    pub(crate) norm: VectorSpec,
    pub(crate) eps: f32,
}

impl LayerEmbeddingsSpec {
    /// Number of values per token.
    pub(crate) fn row_len(&self) -> usize {
        self.width * self.num_layers
    }
}

/// Queries at position `p` are multiplied by `1 + scale * ln(1 + floor((p + offset) / original_context_length))`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TemperatureSpec {
    pub(crate) scale: f32,
    pub(crate) original_context_length: usize,
    pub(crate) offset: usize,
}

/// How a pass uses a matrix.
pub(crate) struct MatrixUse<'a> {
    pub(crate) matrix: &'a MatrixSpec,
    /// The bias of the products, one row per expert.
    pub(crate) bias: Option<&'a VectorSpec>,
    /// Whether it is the output head.
    pub(crate) is_head: bool,
    /// Number of its matrices that a token is multiplied by.
    pub(crate) num_experts_used: usize,
}

impl ModelSpec {
    /// Reads the description of a checkpoint from its header.
    ///
    /// **Errors**: [`ModelError::NotAModel`], [`ModelError::UnknownArchitecture`]; metadata keys that are missing, of
    /// another type, inconsistent or not supported; tensors that are missing, of the wrong shape or in an unsupported
    /// format; [`ModelError::NoWeights`].
    pub fn from_checkpoint(checkpoint: &Gguf) -> Result<Self, ModelError> {
        let metadata = checkpoint.metadata();
        let architecture = architecture_of(metadata)?;
        let keys = ArchitectureKeys::new(architecture.name, metadata);
        let spec = SpecBuilder::new(&keys, checkpoint, architecture).and_then(SpecBuilder::build);
        match spec {
            Err(_) if checkpoint.tensors().is_empty() => Err(ModelError::NoWeights),
            Err(error) => Err(error),
            Ok(spec) => keys.check_others().map(|()| spec),
        }
    }

    /// The format of the KV cache if none is requested: [`KvDType::I16`], or [`KvDType::F16`] for models with heads
    /// that it does not support.
    pub fn default_kv_dtype(&self) -> KvDType {
        let is_supported = |attention: &AttentionSpec| {
            attention.heads.kv_layer().position_bytes(KvDType::I16).is_ok()
        };
        if self.attentions().all(is_supported) { KvDType::I16 } else { KvDType::F16 }
    }

    /// A cache layout for `num_tokens` positions of this model.
    pub fn kv_layout(&self, num_tokens: usize, dtype: KvDType) -> KvLayout {
        let block_tokens = KvLayout::DEFAULT_BLOCK_TOKENS;
        let kv_layer = |attention: &AttentionSpec| KvLayer {
            is_windowed: attention.mask.window().is_some(),
            ..attention.heads.kv_layer()
        };
        let layers: Vec<_> = self.cached_attentions().map(kv_layer).collect();
        let layers = layers.repeat(self.loops.count);
        let num_blocks = num_tokens.div_ceil(block_tokens);
        KvLayout { layers, window: None, block_tokens, num_blocks, dtype }
    }

    /// Number of layers with attention.
    pub fn num_attention_layers(&self) -> usize {
        self.attentions().count()
    }

    /// Number of layers with a recurrent state. Layers may have attention as well.
    pub fn num_recurrent_layers(&self) -> usize {
        self.layers.iter().filter_map(LayerSpec::recurrent).count()
    }

    /// The attention of each layer.
    pub(crate) fn attentions(&self) -> impl Iterator<Item = &AttentionSpec> {
        self.layers.iter().filter_map(LayerSpec::attention)
    }

    /// The attention of each layer with keys and values of its own.
    pub(crate) fn cached_attentions(&self) -> impl Iterator<Item = &AttentionSpec> {
        self.attentions().filter(|attention| attention.heads.has_kv)
    }

    /// The layout of `num_slots` states of the recurrent layers; `None` if the model has none.
    pub fn state_layout(&self, num_slots: usize) -> Option<StateLayout> {
        let recurrent = || self.layers.iter().filter_map(LayerSpec::recurrent);
        let num_layers = recurrent().count();
        recurrent().next().map(|layer| layer.state_layout(num_layers, num_slots))
    }

    /// Multiplications and additions of one token with the recurrent state.
    pub(crate) fn state_ops(&self) -> u64 {
        let recurrent = self.layers.iter().filter_map(LayerSpec::recurrent);
        recurrent.map(RecurrentSpec::state_ops).fold(0, u64::saturating_add)
    }

    /// Every matrix that a pass multiplies by.
    pub(crate) fn matrices(&self) -> impl Iterator<Item = MatrixUse<'_>> {
        fn usage(linear: &LinearSpec, num_experts_used: usize) -> MatrixUse<'_> {
            let LinearSpec { weight, bias } = linear;
            MatrixUse { matrix: weight, bias: bias.as_ref(), is_head: false, num_experts_used }
        }
        let head = self.output.iter().filter_map(|output| output.head.as_ref());
        let head = head.map(|head| MatrixUse { is_head: true, ..usage(head, 1) });
        let layers = self.layers.iter().flat_map(|layer| {
            let linears = layer.linears().into_iter();
            linears.map(|linear| usage(linear, layer.num_experts_used(&linear.weight)))
        });
        let projection = self.layer_embeddings.iter().map(|embeddings| &embeddings.projection);
        let fusion = self.fusion.iter().map(|fusion| &fusion.projection);
        let others = projection.chain(self.streams.iter().flat_map(StreamsSpec::linears));
        let others = others.chain(fusion);
        head.chain(layers).chain(others.map(|linear| usage(linear, 1)))
    }

    /// Every table for lookups, and the number of values of its rows.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (&MatrixPart, usize)> {
        let input = self.input.iter();
        let whole = input.flat_map(|input| {
            let others = input.positions.iter().chain(&input.token_types);
            [&input.embeddings].into_iter().chain(others)
        });
        let of_layers = self.layer_embeddings.iter();
        let of_layers = of_layers.map(|embeddings| (&embeddings.table, embeddings.row_len()));
        whole.map(|table| (table, self.hidden_size)).chain(of_layers)
    }

    /// The names of all tensors that are used as matrices, for products or lookups, except those that cannot be stored
    /// as bytes with scales because the name of the scales is that of another tensor.
    pub fn convertible_tensors(&self) -> HashSet<&str> {
        let parts = self.matrices().flat_map(|usage| &usage.matrix.parts);
        let parts = parts.chain(self.tables().map(|(table, _)| table));
        parts.filter(|part| part.is_convertible).map(|part| part.name.as_str()).collect()
    }

    /// Every vector of parameters but the biases of products.
    pub(crate) fn vectors(&self) -> impl Iterator<Item = &VectorSpec> {
        let rotaries = self.rotaries.iter().flat_map(|rotary| rotary.factors.vectors());
        let layers = self.layers.iter().flat_map(LayerSpec::vectors);
        let embeddings = self.layer_embeddings.iter().map(|embeddings| &embeddings.norm);
        let input = self.input.iter().filter_map(|input| input.norm.as_ref());
        let output = self.output.iter().filter_map(|output| output.norm.as_ref());
        let fusion = self.fusion.iter();
        let fusion = fusion.flat_map(|fusion| [&fusion.embedding_norm, &fusion.hidden_norm]);
        let norms = input.chain(output).chain(fusion);
        let others = norms.flat_map(NormSpec::vectors).chain(embeddings);
        layers.chain(others).chain(rotaries)
    }

    /// The sliding window of each layer with causal attention; `None` for those that attend to everything.
    pub(crate) fn windows(&self) -> impl Iterator<Item = Option<usize>> {
        let windows = self.attentions().map(|attention| attention.mask.window());
        windows.map(|window| window.map(AttentionWindow::max_len))
    }

    /// Whether pooled hidden states have a classifier, as in rerankers.
    pub fn has_classifier(&self) -> bool {
        self.pooled.classifier.is_some()
    }

    /// Whether it computes logits, so that text can be generated.
    pub fn has_logits(&self) -> bool {
        self.output.as_ref().is_none_or(|output| output.head.is_some())
    }
}

/// The architecture of a file's model.
///
/// **Errors**: [`ModelError::NotAModel`], [`ModelError::UnknownArchitecture`]; a missing or invalid key.
fn architecture_of(metadata: &Metadata) -> Result<&'static Architecture, ModelError> {
    let kind = match metadata.optional("general.type").ok().flatten() {
        Some("adapter") => Some("an adapter (LoRA)"),
        Some("imatrix") => Some("an importance matrix"),
        Some("mmproj") => Some("a multimodal projector (mmproj)"),
        _ => None,
    };
    if let Some(kind) = kind {
        return Err(ModelError::NotAModel { kind });
    }
    match metadata.required("general.architecture")? {
        "clip" => Err(ModelError::NotAModel { kind: "a multimodal projector (mmproj)" }),
        name => architecture(name),
    }
}
