//! Grouped-query attention over the paged KV cache.

use inferno_backend::{AttentionParams, Backend, QkNorm, QkvLayout, Rotation};

use super::context::ForwardContext;
use super::linear::Linear;
use super::norm::NormWeights;
use super::residual::Residual;
use crate::ModelError;
use crate::loader::Loader;
use crate::spec::layer::{AttentionSpec, QkNormSpec};
use crate::workspace::Workspace;

/// Query, key and value are one stacked projection.
pub(super) struct SelfAttention<B: Backend> {
    heads: QkvLayout,
    cache_layer: usize,
    scale: f32,
    softcap: Option<f32>,
    window: Option<usize>,
    rotary: Option<usize>,
    qk_norm: Option<QkNormWeights<B>>,
    qkv: Linear<B>,
    output: Linear<B>,
    sinks: Option<B::Buffer>,
    gate: Option<Linear<B>>,
}

struct QkNormWeights<B: Backend> {
    spec: QkNormSpec,
    q: B::Buffer,
    k: B::Buffer,
}

impl<B: Backend> QkNormWeights<B> {
    fn load(loader: &mut Loader<'_, B>, spec: &QkNormSpec) -> Result<Self, ModelError> {
        let (q, k) = (loader.vector(&spec.q)?, loader.vector(&spec.k)?);
        Ok(Self { spec: spec.clone(), q, k })
    }

    fn norm(&self) -> QkNorm<'_, B::Buffer> {
        let QkNormSpec { kind, eps, whole, after_rotation, .. } = self.spec;
        QkNorm { q: &self.q, k: &self.k, kind, eps, whole, after_rotation }
    }
}

impl<B: Backend> SelfAttention<B> {
    pub(super) fn load(
        loader: &mut Loader<'_, B>,
        spec: &AttentionSpec,
    ) -> Result<Self, ModelError> {
        let qk_norm = spec.qk_norm.as_ref();
        let &AttentionSpec { heads, cache_layer, scale, softcap, window, rotary, .. } = spec;
        Ok(Self {
            heads,
            cache_layer,
            scale,
            softcap,
            window,
            rotary,
            qk_norm: qk_norm.map(|norm| QkNormWeights::load(loader, norm)).transpose()?,
            qkv: Linear::load(loader, &spec.qkv)?,
            output: Linear::load(loader, &spec.output)?,
            sinks: loader.optional_vector(spec.sinks.as_ref())?,
            gate: spec.gate.as_ref().map(|gate| Linear::load(loader, gate)).transpose()?,
        })
    }

    /// Computes the output of the heads from the residual stream.
    pub(super) fn attend(
        &self,
        context: &ForwardContext<'_, B>,
        norm: Option<&NormWeights<B>>,
        cache: &mut B::KvCache,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let ForwardContext { backend, rotaries, rows } = *context;
        let Workspace { batch, angles, query_factors, x, qkv, attended, gates, .. } = workspace;
        let heads = &self.heads;
        let input = || context.normed(norm, x);
        backend.linear(rows, input(), &self.qkv.weight, self.qkv.bias(), qkv)?;
        let rotation = self.rotary.map(|rotary| Rotation {
            pairing: rotaries[rotary].pairing,
            angles: &angles[rotary],
            query_factors: query_factors.as_ref(),
        });
        let qk_norm = self.qk_norm.as_ref().map(QkNormWeights::norm);
        if qk_norm.is_some() || rotation.is_some() {
            backend.rope(rows, heads, qk_norm, rotation, qkv);
        }
        backend.store_kv(batch, self.cache_layer, heads, qkv, cache);
        let params = AttentionParams {
            layer: self.cache_layer,
            scale: self.scale,
            window: self.window,
            softcap: self.softcap,
            sinks: self.sinks.as_ref(),
        };
        backend.paged_attention(batch, &params, heads, qkv, cache, attended)?;
        if let (Some(gate), Some(gates)) = (&self.gate, gates) {
            backend.linear(rows, input(), &gate.weight, gate.bias(), gates)?;
            backend.gate(rows, gates, attended);
        }
        Ok(())
    }

    /// Adds the projected output of the heads to the residual stream.
    pub(super) fn project(
        &self,
        context: &ForwardContext<'_, B>,
        residual: &Residual<B>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let Workspace { x, attended, normed, branch, .. } = workspace;
        residual.add_product(context, attended, &self.output, x, (branch, normed))
    }
}
