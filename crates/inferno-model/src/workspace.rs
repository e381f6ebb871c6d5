//! The buffers of a forward pass, allocated once.

mod experts;
mod head_gates;
mod latent;
mod recurrent;
mod streams;

use std::collections::BTreeSet;
use std::sync::Arc;

use inferno_backend::{Backend, BackendError};

use crate::forward::SubmittedPass;
use crate::layers::ExpertLayers;
use crate::spec::layer::LayerSpec;
use crate::{ModelError, ModelSpec};
use experts::ExpertBufferShapes;
pub(crate) use experts::{ExpertBuffers, RoutedBuffers, SeparateBuffers};
use head_gates::HeadGateBufferShapes;
pub(crate) use head_gates::HeadGateBuffers;
use latent::LatentBufferShapes;
pub(crate) use latent::LatentBuffers;
use recurrent::RecurrentBufferShapes;
pub(crate) use recurrent::{LowRankGateBuffers, RecurrentBuffers};
use streams::{LowRankBufferShapes, StreamBufferShapes};
pub(crate) use streams::{LowRankBuffers, StreamBuffers};

/// The largest batch that a workspace can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimits {
    /// Number of tokens in one batch, over all sequences.
    pub max_num_tokens: usize,
    /// Number of logit rows in one batch. Each occupies `vocab_size` floats on the device, and as
    /// many on the host if the host cannot read device memory.
    pub max_num_logit_rows: usize,
}

/// Buffers for batches up to [`BatchLimits`].
pub struct Workspace<B: Backend> {
    pub(crate) limits: BatchLimits,
    /// Maximum number of positions of a sequence.
    pub(crate) context_length: usize,
    pub(crate) batch: B::DeviceBatch,
    /// The residual stream.
    pub(crate) x: B::Buffer,
    /// Rows after a norm; after the last layer, the gathered `logit_rows`.
    pub(crate) normed: B::Buffer,
    /// The output of a block, if it is not added to the residual stream as it is.
    pub(crate) branch: Option<B::Buffer>,
    /// The inputs of a prediction head side by side.
    pub(crate) fused: Option<B::Buffer>,
    /// The hidden states of all tokens of a pass, if they are captured.
    pub(crate) hidden_rows: Option<B::Buffer>,
    /// Of each rotary embedding.
    pub(crate) angles: Vec<B::Buffer>,
    pub(crate) query_factors: Option<B::Buffer>,
    pub(crate) qkv: BuffersByWidth<B>,
    /// Outputs of the heads.
    pub(crate) attended: BuffersByWidth<B>,
    /// Gates of the heads, or of a dense block with a sparse gate; what norms within blocks read.
    pub(crate) gates: BuffersByWidth<B>,
    pub(crate) head_gates: Option<HeadGateBuffers<B>>,
    pub(crate) recurrent: Option<RecurrentBuffers<B>>,
    pub(crate) latent: Option<LatentBuffers<B>>,
    pub(crate) layer_embeddings: Option<LayerEmbeddingBuffers<B>>,
    pub(crate) streams: Option<StreamBuffers<B>>,
    pub(crate) low_rank: Option<LowRankBuffers<B>>,
    /// Inputs of down projections.
    pub(crate) hidden: BuffersByWidth<B>,
    pub(crate) experts: Option<ExpertBuffers<B>>,
    pub(crate) logits: B::Buffer,
    /// Allocated by the backend, if it selects candidates.
    pub(crate) candidates: Option<B::Buffer>,
    /// The pass whose rows have not been read.
    pub(crate) submitted: Option<SubmittedPass>,
    /// Angles and factors before they are uploaded.
    pub(crate) host_angles: Vec<f32>,
    /// Staging memory for rows that the host cannot read on the device.
    pub(crate) host_rows: Vec<f32>,
}

/// Additional buffers of layers with embeddings of their own.
pub(crate) struct LayerEmbeddingBuffers<B: Backend> {
    /// Values per token of all layers.
    pub(crate) row_len: usize,
    pub(crate) all: B::Buffer,
    /// The rows of the table.
    pub(crate) embedded: B::Buffer,
    pub(crate) gates: B::Buffer,
    /// The embeddings of one layer.
    pub(crate) own: B::Buffer,
}

/// One buffer for each width that some layer needs.
pub(crate) struct BuffersByWidth<B: Backend>(Vec<(usize, B::Buffer)>);

impl<B: Backend> BuffersByWidth<B> {
    fn new(backend: &B, shapes: Vec<BufferShape>) -> Result<Self, BackendError> {
        let buffers = shapes
            .into_iter()
            .map(|BufferShape { rows, cols }| Ok((cols, backend.alloc(rows, cols)?)));
        buffers.collect::<Result<_, _>>().map(Self)
    }

    /// The buffer of `width` columns.
    ///
    /// **Panics** if no layer of the model has that width.
    pub(crate) fn get(&mut self, width: usize) -> &mut B::Buffer {
        let buffer = self.0.iter_mut().find(|(cols, _)| *cols == width);
        &mut buffer.expect("the workspace was created for this model").1
    }
}

impl<B: Backend> Workspace<B> {
    pub(crate) fn new(
        backend: &B,
        spec: &ModelSpec,
        limits: BatchLimits,
        separate_experts: Option<&Arc<dyn ExpertLayers>>,
    ) -> Result<Self, ModelError> {
        let shapes = BufferShapes::new(spec, limits);
        let alloc = |BufferShape { rows, cols }: BufferShape| backend.alloc(rows, cols);
        let experts = match shapes.experts {
            Some(experts) => Some(experts.alloc(backend, limits, separate_experts)?),
            None => None,
        };
        let latent = match shapes.latent {
            Some(latent) => Some(latent.alloc(backend, limits)?),
            None => None,
        };
        let layer_embeddings = match shapes.layer_embeddings {
            Some([all, own]) => Some(LayerEmbeddingBuffers {
                row_len: all.cols,
                all: alloc(all)?,
                embedded: alloc(all)?,
                gates: alloc(own)?,
                own: alloc(own)?,
            }),
            None => None,
        };
        let recurrent = shapes.recurrent.map(|shapes| shapes.alloc(backend)).transpose()?;
        let head_gates = shapes.head_gates.map(|shapes| shapes.alloc(backend)).transpose()?;
        let streams = shapes.streams.map(|shapes| shapes.alloc(backend)).transpose()?;
        let low_rank = shapes.low_rank.map(|shapes| shapes.alloc(backend)).transpose()?;
        Ok(Self {
            limits,
            context_length: spec.context_length,
            batch: backend.alloc_batch(),
            x: alloc(shapes.x)?,
            normed: alloc(shapes.x)?,
            branch: shapes.branch.map(alloc).transpose()?,
            fused: shapes.fused.map(alloc).transpose()?,
            hidden_rows: None,
            angles: shapes.angles.into_iter().map(alloc).collect::<Result<_, _>>()?,
            query_factors: shapes.query_factors.map(alloc).transpose()?,
            qkv: BuffersByWidth::new(backend, shapes.qkv)?,
            attended: BuffersByWidth::new(backend, shapes.attended)?,
            gates: BuffersByWidth::new(backend, shapes.gates)?,
            head_gates,
            recurrent,
            latent,
            layer_embeddings,
            streams,
            low_rank,
            hidden: BuffersByWidth::new(backend, shapes.hidden)?,
            experts,
            logits: backend.alloc_logits(shapes.logits.rows, shapes.logits.cols)?,
            candidates: None,
            submitted: None,
            host_angles: Vec::new(),
            host_rows: Vec::new(),
        })
    }

    /// Declares that no sequence exceeds `context_length` positions (default: that of the model). LongRoPE
    /// has other frequencies for contexts up to the original one.
    pub fn with_context_length(self, context_length: usize) -> Self {
        Self { context_length, ..self }
    }

    /// Captures the hidden states of all tokens of each pass, which
    /// [`Model::hidden_rows`](crate::Model::hidden_rows) returns.
    ///
    /// **Errors**: out of memory.
    pub fn with_hidden_rows(self, backend: &B, hidden_size: usize) -> Result<Self, ModelError> {
        let rows = backend.alloc(self.limits.max_num_tokens, hidden_size)?;
        Ok(Self { hidden_rows: Some(rows), ..self })
    }

    /// Number of floats in a workspace for `spec`, on the device and the host together.
    pub(crate) fn num_floats(spec: &ModelSpec, limits: BatchLimits) -> usize {
        let shapes = BufferShapes::new(spec, limits);
        let layer_embeddings = shapes.layer_embeddings.map(|[all, own]| [all, all, own, own]);
        [shapes.x, shapes.x, shapes.logits, shapes.logits]
            .into_iter()
            .chain([shapes.branch, shapes.fused, shapes.query_factors].into_iter().flatten())
            .chain([shapes.qkv, shapes.attended, shapes.gates, shapes.hidden].into_iter().flatten())
            .chain(shapes.latent.iter().flat_map(LatentBufferShapes::all))
            .chain(layer_embeddings.into_iter().flatten())
            // All angles on the device, those of one embedding on the host.
            .chain(shapes.angles.iter().max_by_key(|shape| shape.cols).copied())
            .chain(shapes.angles)
            .chain(shapes.experts.iter().flat_map(ExpertBufferShapes::all))
            .chain(shapes.recurrent.iter().flat_map(RecurrentBufferShapes::all))
            .chain(shapes.head_gates.iter().flat_map(HeadGateBufferShapes::all))
            .chain(shapes.streams.iter().flat_map(StreamBufferShapes::all))
            .chain(shapes.low_rank.iter().flat_map(LowRankBufferShapes::all))
            .map(|BufferShape { rows, cols }| rows.saturating_mul(cols))
            .fold(0, usize::saturating_add)
    }
}

#[derive(Clone, Copy, Default)]
struct BufferShape {
    rows: usize,
    cols: usize,
}

/// The shape of every buffer.
struct BufferShapes {
    x: BufferShape,
    branch: Option<BufferShape>,
    fused: Option<BufferShape>,
    angles: Vec<BufferShape>,
    query_factors: Option<BufferShape>,
    qkv: Vec<BufferShape>,
    attended: Vec<BufferShape>,
    gates: Vec<BufferShape>,
    head_gates: Option<HeadGateBufferShapes>,
    recurrent: Option<RecurrentBufferShapes>,
    latent: Option<LatentBufferShapes>,
    /// Of all layers and of one.
    layer_embeddings: Option<[BufferShape; 2]>,
    streams: Option<StreamBufferShapes>,
    low_rank: Option<LowRankBufferShapes>,
    hidden: Vec<BufferShape>,
    experts: Option<ExpertBufferShapes>,
    logits: BufferShape,
}

impl BufferShapes {
    fn new(spec: &ModelSpec, limits: BatchLimits) -> Self {
        let tokens = |cols| BufferShape { rows: limits.max_num_tokens, cols };
        let any = |is: fn(&LayerSpec) -> bool| spec.layers.iter().any(is);
        // One buffer for each width that some layer needs.
        let by_widths = |widths: [fn(&LayerSpec) -> Option<usize>; 2]| {
            let widths = spec.layers.iter().flat_map(|layer| widths.map(|width| width(layer)));
            let widths: BTreeSet<usize> = widths.flatten().collect();
            widths.into_iter().map(tokens).collect()
        };
        let by_width = |width: fn(&LayerSpec) -> Option<usize>| by_widths([width, |_| None]);
        let layer_embeddings = spec.layer_embeddings.as_ref();
        Self {
            x: tokens(spec.hidden_size),
            branch: any(LayerSpec::has_branch).then(|| tokens(spec.hidden_size)),
            fused: spec.fusion.as_ref().map(|_| tokens(2 * spec.hidden_size)),
            angles: spec.rotaries.iter().map(|rotary| tokens(rotary.rotary_dim)).collect(),
            query_factors: spec.temperature.map(|_| tokens(1)),
            qkv: by_width(|layer| layer.attention().map(|attention| attention.heads.row_len())),
            attended: by_widths([
                |layer| layer.attention().map(|attention| attention.heads.out_len()),
                LayerSpec::linear_mixer_width,
            ]),
            gates: by_widths([LayerSpec::gated_heads_width, LayerSpec::gated_mlp_width]),
            head_gates: HeadGateBufferShapes::new(spec, limits),
            recurrent: RecurrentBufferShapes::new(spec, limits),
            latent: LatentBufferShapes::new(spec, limits),
            layer_embeddings: layer_embeddings
                .map(|embeddings| [tokens(embeddings.row_len()), tokens(embeddings.width)]),
            streams: StreamBufferShapes::new(spec, limits),
            low_rank: LowRankBufferShapes::new(spec, limits),
            hidden: by_width(LayerSpec::mlp_width),
            experts: ExpertBufferShapes::new(spec, limits),
            logits: match spec.has_logits() {
                true => BufferShape { rows: limits.max_num_logit_rows, cols: spec.vocab_size },
                false => BufferShape { rows: 1, cols: 1 },
            },
        }
    }
}
