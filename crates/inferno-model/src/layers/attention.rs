//! Grouped-query attention over the paged KV cache.

use inferno_backend::{AttentionParams, Backend, LinearInput, QkNorm};

use super::context::ForwardContext;
use crate::loader::{Loader, PartSpec};
use crate::workspace::Workspace;
use crate::{Config, ModelError};

/// Query, key and value are one stacked projection; the output projection adds to the residual
/// stream.
pub(super) struct SelfAttention<B: Backend> {
    params: AttentionParams,
    qkv_proj: B::Weight,
    qkv_bias: Option<B::Buffer>,
    qk_norm: Option<QkNormWeights<B>>,
    o_proj: B::Weight,
    o_bias: Option<B::Buffer>,
}

struct QkNormWeights<B: Backend> {
    q: B::Buffer,
    k: B::Buffer,
}

impl<B: Backend> SelfAttention<B> {
    pub(super) fn load(
        loader: &mut Loader<'_, B>,
        config: &Config,
        layer: usize,
    ) -> Result<Self, ModelError> {
        let qkv = config.qkv;
        let q_rows = qkv.num_heads * qkv.head_dim;
        let kv_rows = qkv.num_kv_heads * qkv.head_dim;
        let qkv_parts = |suffix: &str| {
            [("q", q_rows), ("k", kv_rows), ("v", kv_rows)]
                .map(|(name, rows)| PartSpec::new(layer, &format!("attn_{name}.{suffix}"), rows))
        };
        let output = |suffix: &str| {
            [PartSpec::new(layer, &format!("attn_output.{suffix}"), config.hidden_size)]
        };
        let qk_norm = match config.architecture.has_qk_norm {
            true => Some(QkNormWeights {
                q: loader.vector(&format!("blk.{layer}.attn_q_norm.weight"), qkv.head_dim)?,
                k: loader.vector(&format!("blk.{layer}.attn_k_norm.weight"), qkv.head_dim)?,
            }),
            false => None,
        };
        let requires_bias = config.architecture.requires_qkv_bias;
        Ok(Self {
            params: AttentionParams {
                layer,
                scale: 1.0 / (qkv.head_dim as f32).sqrt(),
                window: config.sliding_window,
            },
            qkv_proj: loader.matrix(&qkv_parts("weight"), config.hidden_size)?,
            qkv_bias: loader.stacked_bias(&qkv_parts("bias"), requires_bias)?,
            qk_norm,
            o_proj: loader.matrix(&output("weight"), q_rows)?,
            o_bias: loader.stacked_bias(&output("bias"), false)?,
        })
    }

    pub(super) fn forward(
        &self,
        context: &ForwardContext<'_, B>,
        input_norm: &B::Buffer,
        cache: &mut B::KvCache,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let ForwardContext { backend, config, rotary, rows } = *context;
        let layout = &config.qkv;
        let Workspace { batch, angles, x, qkv, attended, .. } = workspace;
        let normed = LinearInput::Normed { x, weight: input_norm, eps: config.rms_norm_eps };
        backend.linear(rows, normed, &self.qkv_proj, self.qkv_bias.as_ref(), qkv)?;
        let qk_norm = self.qk_norm.as_ref();
        let qk_norm =
            qk_norm.map(|norm| QkNorm { q: &norm.q, k: &norm.k, eps: config.rms_norm_eps });
        backend.rope(rows, layout, qk_norm, rotary.pairing, angles, qkv);
        backend.store_kv(batch, self.params.layer, layout, qkv, cache);
        backend.paged_attention(batch, &self.params, layout, qkv, cache, attended)?;
        Ok(backend.linear_add(rows, attended, &self.o_proj, self.o_bias.as_ref(), x)?)
    }
}
