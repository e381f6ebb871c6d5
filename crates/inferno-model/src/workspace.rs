//! The buffers of a forward pass, allocated once.

use inferno_backend::{Backend, BackendError, ExpertParams};

use crate::ModelSpec;
use crate::spec::layer::LayerSpec;

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
    pub(crate) qkv: B::Buffer,
    pub(crate) attended: B::Buffer,
    /// Gates of the heads.
    pub(crate) gates: Option<B::Buffer>,
    pub(crate) recurrent: Option<RecurrentBuffers<B>>,
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
}

/// One buffer for each width that some layer needs.
pub(crate) struct BuffersByWidth<B: Backend>(Vec<(usize, B::Buffer)>);

impl<B: Backend> BuffersByWidth<B> {
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
        let hidden = shapes.hidden.into_iter().map(|shape| Ok((shape.cols, alloc(shape)?)));
        Ok(Self {
            limits,
            context_length: spec.context_length,
            batch: backend.alloc_batch(),
            x: alloc(shapes.x)?,
            normed: alloc(shapes.x)?,
            branch: shapes.branch.map(alloc).transpose()?,
            angles: shapes.angles.into_iter().map(alloc).collect::<Result<_, _>>()?,
            query_factors: shapes.query_factors.map(alloc).transpose()?,
            qkv: alloc(shapes.qkv)?,
            attended: alloc(shapes.attended)?,
            gates: shapes.gates.map(alloc).transpose()?,
            recurrent,
            hidden: BuffersByWidth(hidden.collect::<Result<_, BackendError>>()?),
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
            [experts.router_logits, experts.hidden, experts.out, shared_gates]
        });
        let optional = [shapes.branch, shapes.query_factors, shapes.gates];
        [shapes.x, shapes.x, shapes.qkv, shapes.attended]
            .into_iter()
            .chain([shapes.logits, shapes.logits])
            .chain(optional.into_iter().flatten())
            .chain(shapes.hidden)
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
    qkv: BufferShape,
    attended: BufferShape,
    gates: Option<BufferShape>,
    /// Those of [`RecurrentBuffers`], in order.
    recurrent: Option<[BufferShape; 3]>,
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
}

impl BufferShapes {
    fn new(spec: &ModelSpec, limits: BatchLimits) -> Self {
        let tokens = |cols| BufferShape { rows: limits.max_num_tokens, cols };
        let heads = spec.heads.num_heads * spec.heads.head_dim;
        let any = |is: fn(&LayerSpec) -> bool| spec.layers.iter().any(is);
        let mut widths: Vec<usize> = spec.layers.iter().filter_map(LayerSpec::mlp_width).collect();
        widths.sort_unstable();
        widths.dedup();
        Self {
            x: tokens(spec.hidden_size),
            branch: any(LayerSpec::has_branch).then(|| tokens(spec.hidden_size)),
            angles: spec.rotaries.iter().map(|rotary| tokens(rotary.rotary_dim)).collect(),
            query_factors: spec.temperature.map(|_| tokens(1)),
            qkv: tokens(spec.heads.row_len()),
            attended: tokens(heads),
            gates: any(LayerSpec::has_attention_gate).then(|| tokens(heads)),
            // All recurrent layers of a model have the same shape.
            recurrent: spec.layers.iter().find_map(LayerSpec::recurrent).map(|recurrent| {
                let attended = recurrent.attention.as_ref();
                let attended = attended.map_or(0, |it| it.params.num_heads * it.params.value_dim);
                [recurrent.input_width(), recurrent.conv.channels, attended].map(tokens)
            }),
            hidden: widths.into_iter().map(tokens).collect(),
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
        })
    }
}
