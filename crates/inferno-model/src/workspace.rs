//! The buffers of a forward pass, allocated once.

use std::collections::BTreeSet;

use inferno_backend::{Backend, BackendError, ExpertParams};

use crate::ModelSpec;
use crate::spec::layer::{LayerSpec, ProjectionSpec};

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
    /// Of each rotary embedding.
    pub(crate) angles: Vec<B::Buffer>,
    pub(crate) query_factors: Option<B::Buffer>,
    pub(crate) qkv: BuffersByWidth<B>,
    /// Outputs of the heads.
    pub(crate) attended: BuffersByWidth<B>,
    /// Gates of the heads.
    pub(crate) gates: BuffersByWidth<B>,
    pub(crate) recurrent: Option<RecurrentBuffers<B>>,
    pub(crate) latent: Option<LatentBuffers<B>>,
    pub(crate) layer_embeddings: Option<LayerEmbeddingBuffers<B>>,
    /// Inputs of down projections.
    pub(crate) hidden: BuffersByWidth<B>,
    pub(crate) experts: Option<ExpertBuffers<B>>,
    pub(crate) logits: B::Buffer,
    /// Angles and factors before they are uploaded.
    pub(crate) host_angles: Vec<f32>,
    /// Staging memory for rows that the host cannot read on the device.
    pub(crate) host_rows: Vec<f32>,
}

/// Additional buffers of recurrent mixers.
pub(crate) struct RecurrentBuffers<B: Backend> {
    pub(crate) projected: B::Buffer,
    pub(crate) convolved: B::Buffer,
    /// The output of linear attention, if the mixers have it.
    pub(crate) attended: Option<B::Buffer>,
}

/// Additional buffers of a mixture of experts.
pub(crate) struct ExpertBuffers<B: Backend> {
    pub(crate) router_logits: B::Buffer,
    pub(crate) routing: B::Routing,
    /// Inputs of the experts' down projections.
    pub(crate) hidden: B::Buffer,
    pub(crate) out: B::Buffer,
    /// Gates of the shared expert.
    pub(crate) shared_gates: Option<B::Buffer>,
    /// The sum of a dense block and of experts next to it.
    pub(crate) sum: Option<B::Buffer>,
}

/// Additional buffers of latent attention.
pub(crate) struct LatentBuffers<B: Backend> {
    /// The heads, as experts that every token uses.
    pub(crate) routing: B::Routing,
    pub(crate) query_down: Option<B::Buffer>,
    pub(crate) query: B::Buffer,
    pub(crate) kv_down: B::Buffer,
    /// The latent vector before and after its norm.
    pub(crate) latent: B::Buffer,
    pub(crate) normed: B::Buffer,
    /// The plain part of queries, one row per head.
    pub(crate) plain: B::Buffer,
    /// Queries after the up-projection of keys, then latent outputs, one row per head.
    pub(crate) absorbed: B::Buffer,
    /// Outputs, one row per head.
    pub(crate) values: B::Buffer,
    /// Outputs, one row per token.
    pub(crate) out: B::Buffer,
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
    ) -> Result<Self, BackendError> {
        let shapes = BufferShapes::new(spec, limits);
        let alloc = |BufferShape { rows, cols }: BufferShape| backend.alloc(rows, cols);
        let experts = match shapes.experts {
            Some(experts) => Some(ExpertBuffers {
                router_logits: alloc(experts.router_logits)?,
                routing: backend.alloc_routing(limits.max_num_tokens, &experts.params)?,
                hidden: alloc(experts.hidden)?,
                out: alloc(experts.out)?,
                shared_gates: experts.shared_gates.map(alloc).transpose()?,
                sum: experts.sum.map(alloc).transpose()?,
            }),
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
        let recurrent = match shapes.recurrent {
            Some([projected, convolved, attended]) => Some(RecurrentBuffers {
                projected: alloc(projected)?,
                convolved: alloc(convolved)?,
                attended: if attended.cols > 0 { Some(alloc(attended)?) } else { None },
            }),
            None => None,
        };
        Ok(Self {
            limits,
            context_length: spec.context_length,
            batch: backend.alloc_batch(),
            x: alloc(shapes.x)?,
            normed: alloc(shapes.x)?,
            branch: shapes.branch.map(alloc).transpose()?,
            angles: shapes.angles.into_iter().map(alloc).collect::<Result<_, _>>()?,
            query_factors: shapes.query_factors.map(alloc).transpose()?,
            qkv: BuffersByWidth::new(backend, shapes.qkv)?,
            attended: BuffersByWidth::new(backend, shapes.attended)?,
            gates: BuffersByWidth::new(backend, shapes.gates)?,
            recurrent,
            latent,
            layer_embeddings,
            hidden: BuffersByWidth::new(backend, shapes.hidden)?,
            experts,
            logits: alloc(shapes.logits)?,
            host_angles: Vec::new(),
            host_rows: Vec::new(),
        })
    }

    /// Declares that no sequence exceeds `context_length` positions (default: that of the model). LongRoPE
    /// has other frequencies for contexts up to the original one.
    pub fn with_context_length(self, context_length: usize) -> Self {
        Self { context_length, ..self }
    }

    /// Number of floats in a workspace for `spec`, on the device and the host together.
    pub(crate) fn num_floats(spec: &ModelSpec, limits: BatchLimits) -> usize {
        let shapes = BufferShapes::new(spec, limits);
        let experts = shapes.experts.map(|experts| {
            let shared_gates = experts.shared_gates.unwrap_or_default();
            let sum = experts.sum.unwrap_or_default();
            [experts.router_logits, experts.hidden, experts.out, shared_gates, sum]
        });
        let layer_embeddings = shapes.layer_embeddings.map(|[all, own]| [all, all, own, own]);
        [shapes.x, shapes.x, shapes.logits, shapes.logits]
            .into_iter()
            .chain([shapes.branch, shapes.query_factors].into_iter().flatten())
            .chain([shapes.qkv, shapes.attended, shapes.gates, shapes.hidden].into_iter().flatten())
            .chain(shapes.latent.iter().flat_map(LatentBufferShapes::all))
            .chain(layer_embeddings.into_iter().flatten())
            // All angles on the device, those of one embedding on the host.
            .chain(shapes.angles.iter().max_by_key(|shape| shape.cols).copied())
            .chain(shapes.angles)
            .chain(experts.into_iter().flatten())
            .chain(shapes.recurrent.into_iter().flatten())
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
    angles: Vec<BufferShape>,
    query_factors: Option<BufferShape>,
    qkv: Vec<BufferShape>,
    attended: Vec<BufferShape>,
    gates: Vec<BufferShape>,
    /// Those of [`RecurrentBuffers`], in order.
    recurrent: Option<[BufferShape; 3]>,
    latent: Option<LatentBufferShapes>,
    /// Of all layers and of one.
    layer_embeddings: Option<[BufferShape; 2]>,
    hidden: Vec<BufferShape>,
    experts: Option<ExpertBufferShapes>,
    logits: BufferShape,
}

struct ExpertBufferShapes {
    params: ExpertParams,
    router_logits: BufferShape,
    hidden: BufferShape,
    out: BufferShape,
    shared_gates: Option<BufferShape>,
    sum: Option<BufferShape>,
}

impl BufferShapes {
    fn new(spec: &ModelSpec, limits: BatchLimits) -> Self {
        let tokens = |cols| BufferShape { rows: limits.max_num_tokens, cols };
        let any = |is: fn(&LayerSpec) -> bool| spec.layers.iter().any(is);
        // One buffer for each width that some layer needs.
        let by_width = |width: fn(&LayerSpec) -> Option<usize>| {
            let widths: BTreeSet<usize> = spec.layers.iter().filter_map(width).collect();
            widths.into_iter().map(tokens).collect()
        };
        let layer_embeddings = spec.layer_embeddings.as_ref();
        Self {
            x: tokens(spec.hidden_size),
            branch: any(LayerSpec::has_branch).then(|| tokens(spec.hidden_size)),
            angles: spec.rotaries.iter().map(|rotary| tokens(rotary.rotary_dim)).collect(),
            query_factors: spec.temperature.map(|_| tokens(1)),
            qkv: by_width(|layer| layer.attention().map(|attention| attention.heads.row_len())),
            attended: by_width(|layer| {
                layer.attention().map(|attention| attention.heads.out_len())
            }),
            gates: by_width(|layer| {
                let gated = layer.attention().filter(|attention| attention.gate.is_some());
                gated.map(|attention| attention.heads.out_len())
            }),
            // All recurrent layers of a model have the same shape.
            recurrent: spec.layers.iter().find_map(LayerSpec::recurrent).map(|recurrent| {
                let attended = recurrent.attention.as_ref();
                let attended = attended.map_or(0, |it| it.params.num_heads * it.params.value_dim);
                [recurrent.input_width(), recurrent.conv.channels, attended].map(tokens)
            }),
            latent: LatentBufferShapes::new(spec, limits),
            layer_embeddings: layer_embeddings
                .map(|embeddings| [tokens(embeddings.row_len()), tokens(embeddings.width)]),
            hidden: by_width(LayerSpec::mlp_width),
            experts: ExpertBufferShapes::new(spec, limits),
            logits: BufferShape { rows: limits.max_num_logit_rows, cols: spec.vocab_size },
        }
    }
}

impl ExpertBufferShapes {
    fn new(spec: &ModelSpec, limits: BatchLimits) -> Option<Self> {
        // All mixtures of a model have the same shape.
        let experts = spec.layers.iter().find_map(LayerSpec::experts)?;
        let tokens = |cols| BufferShape { rows: limits.max_num_tokens, cols };
        let slots = limits.max_num_tokens.saturating_mul(experts.params.num_experts_used);
        Some(Self {
            params: experts.params,
            router_logits: tokens(experts.params.num_experts),
            hidden: BufferShape { rows: slots, cols: experts.intermediate_size },
            out: BufferShape { rows: slots, cols: spec.hidden_size },
            shared_gates: spec.layers.iter().any(LayerSpec::has_shared_gate).then(|| tokens(1)),
            sum: experts.beside_dense.as_ref().map(|_| tokens(spec.hidden_size)),
        })
    }
}

/// The shapes of [`LatentBuffers`].
struct LatentBufferShapes {
    num_heads: usize,
    query_down: Option<BufferShape>,
    query: BufferShape,
    kv_down: BufferShape,
    latent: BufferShape,
    plain: BufferShape,
    absorbed: BufferShape,
    values: BufferShape,
    out: BufferShape,
}

impl LatentBufferShapes {
    fn new(spec: &ModelSpec, limits: BatchLimits) -> Option<Self> {
        // All layers of a model have the same shape.
        let (num_heads, latent) = spec.attentions().find_map(|attention| match &attention.qkv {
            ProjectionSpec::Latent(latent) => Some((attention.heads.num_heads, latent)),
            ProjectionSpec::Stacked(_) => None,
        })?;
        let tokens = |cols| BufferShape { rows: limits.max_num_tokens, cols };
        let slots = limits.max_num_tokens.saturating_mul(num_heads);
        let heads = |cols| BufferShape { rows: slots, cols };
        let query_down = latent.query_down.as_ref();
        Some(Self {
            num_heads,
            query_down: query_down.map(|_| tokens(latent.query.weight.cols)),
            query: tokens(num_heads * (latent.plain_dim + latent.rotary_dim)),
            kv_down: tokens(latent.latent_dim + latent.rotary_dim),
            latent: tokens(latent.latent_dim),
            plain: heads(latent.plain_dim),
            absorbed: heads(latent.latent_dim),
            values: heads(latent.value_dim),
            out: tokens(num_heads * latent.value_dim),
        })
    }

    fn alloc<B: Backend>(
        self,
        backend: &B,
        limits: BatchLimits,
    ) -> Result<LatentBuffers<B>, BackendError> {
        let alloc = |BufferShape { rows, cols }: BufferShape| backend.alloc(rows, cols);
        let params = ExpertParams::softmax(self.num_heads, self.num_heads, false);
        Ok(LatentBuffers {
            routing: backend.alloc_routing(limits.max_num_tokens, &params)?,
            query_down: self.query_down.map(alloc).transpose()?,
            query: alloc(self.query)?,
            kv_down: alloc(self.kv_down)?,
            latent: alloc(self.latent)?,
            normed: alloc(self.latent)?,
            plain: alloc(self.plain)?,
            absorbed: alloc(self.absorbed)?,
            values: alloc(self.values)?,
            out: alloc(self.out)?,
        })
    }

    /// The shape of every buffer.
    fn all(&self) -> impl Iterator<Item = BufferShape> {
        let per_head = [self.plain, self.absorbed, self.values];
        let per_token = [self.query, self.kv_down, self.latent, self.latent, self.out];
        per_head.into_iter().chain(per_token).chain(self.query_down)
    }
}
