//! Grouped-query attention over the paged KV cache.

use inferno_backend::{
    AttentionMask, AttentionParams, Backend, Function, Pass, QkNorm, QkvLayout, RopePairing,
    Rotation,
};

use super::context::ForwardContext;
use super::distance_bias::DistanceBias;
use super::head_gate::HeadGate;
use super::latent::LatentProjection;
use super::linear::Linear;
use super::norm::{NormWeights, input_rows};
use super::part_norms::PartNorms;
use super::residual::Residual;
use crate::ModelError;
use crate::loader::Loader;
use crate::spec::layer::{AttentionSpec, ProjectionSpec, QkNormSpec};
use crate::workspace::Workspace;

/// Query, key and value are one stacked projection.
pub(super) struct SelfAttention<B: Backend> {
    heads: QkvLayout,
    cache_layer: usize,
    scale: f32,
    softcap: Option<f32>,
    mask: AttentionMask,
    distance_bias: Option<DistanceBias<B>>,
    rotary: Option<usize>,
    has_temperature: bool,
    qk_norm: Option<QkNormWeights<B>>,
    bound: Option<f32>,
    part_norms: Option<PartNorms<B>>,
    qkv: Projection<B>,
    output_norm: Option<NormWeights<B>>,
    output: Linear<B>,
    sinks: Option<B::Buffer>,
    gate: Option<HeadGate<B>>,
}

/// How queries, keys and values are computed.
enum Projection<B: Backend> {
    Stacked(Linear<B>),
    Latent(LatentProjection<B>),
}

struct QkNormWeights<B: Backend> {
    spec: QkNormSpec,
    q: B::Buffer,
    k: Option<B::Buffer>,
    /// Ones, if values are normalized without a weight.
    v: Option<B::Buffer>,
}

impl<B: Backend> Projection<B> {
    fn load(loader: &mut Loader<'_, B>, spec: &ProjectionSpec) -> Result<Self, ModelError> {
        match spec {
            ProjectionSpec::Stacked(qkv) => Linear::load(loader, qkv).map(Self::Stacked),
            ProjectionSpec::Latent(latent) => {
                LatentProjection::load(loader, latent).map(Self::Latent)
            }
        }
    }
}

impl<B: Backend> QkNormWeights<B> {
    fn load(
        loader: &mut Loader<'_, B>,
        spec: &QkNormSpec,
        heads: &QkvLayout,
    ) -> Result<Self, ModelError> {
        let (q, k) = match &spec.weights {
            Some((q, k)) => (loader.vector(q)?, loader.optional_vector(k.as_ref())?),
            None => (loader.ones(heads.head_dim)?, Some(loader.ones(heads.head_dim)?)),
        };
        let v = match spec.normalizes_values {
            true => Some(loader.ones(heads.value_dim())?),
            false => None,
        };
        Ok(Self { spec: spec.clone(), q, k, v })
    }

    fn norm(&self) -> QkNorm<'_, B::Buffer> {
        let QkNormSpec { kind, eps, whole, after_rotation, .. } = self.spec;
        let (k, v) = (self.k.as_ref(), self.v.as_ref());
        QkNorm { q: &self.q, k, v, kind, eps, whole, after_rotation }
    }
}

impl<B: Backend> SelfAttention<B> {
    pub(super) fn load(
        loader: &mut Loader<'_, B>,
        spec: &AttentionSpec,
    ) -> Result<Self, ModelError> {
        let qk_norm = spec.qk_norm.as_ref();
        let &AttentionSpec {
            heads,
            cache_layer,
            scale,
            softcap,
            mask,
            rotary,
            has_temperature,
            bound,
            ..
        } = spec;
        let distance_bias = spec.distance_bias.as_ref();
        Ok(Self {
            heads,
            cache_layer,
            scale,
            softcap,
            mask,
            distance_bias: distance_bias
                .map(|bias| DistanceBias::load(loader, bias))
                .transpose()?,
            rotary,
            has_temperature,
            qk_norm: qk_norm.map(|norm| QkNormWeights::load(loader, norm, &heads)).transpose()?,
            bound,
            part_norms: spec
                .part_norms
                .as_ref()
                .map(|it| PartNorms::load(loader, it))
                .transpose()?,
            qkv: Projection::load(loader, &spec.qkv)?,
            output_norm: NormWeights::load_optional(loader, spec.output_norm.as_ref())?,
            output: Linear::load(loader, &spec.output)?,
            sinks: loader.optional_vector(spec.sinks.as_ref())?,
            gate: spec.gate.as_ref().map(|gate| HeadGate::load(loader, gate)).transpose()?,
        })
    }

    /// Computes the output of the heads from the residual stream.
    pub(super) fn attend(
        &self,
        context: &mut ForwardContext<'_, B>,
        norm: Option<&NormWeights<B>>,
        cache: &mut B::KvCache,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let (rows, rotaries) = (context.rows, context.rotaries);
        let cache_layer = context.first_cache_layer + self.cache_layer;
        let Workspace {
            batch,
            angles,
            query_factors,
            x,
            normed,
            qkv,
            attended,
            gates,
            head_gates,
            latent,
            ..
        } = workspace;
        let heads = &self.heads;
        let qkv = qkv.get(heads.row_len());
        let input = || input_rows(norm, x);
        match &self.qkv {
            Projection::Stacked(linear) => {
                linear.multiply(context, input(), qkv)?;
            }
            Projection::Latent(projection) => {
                let buffers = latent.as_mut().expect("the workspace was created for this model");
                projection.project(context, heads, input, buffers, qkv)?;
            }
        }
        if let Some(limit) = self.bound {
            context.pass.apply(rows, Function::Clamp { limit }, qkv);
        }
        if let Some(norms) = &self.part_norms {
            norms.apply(context, heads, qkv, [attended.get(heads.out_len()), normed]);
        }
        let query_factors = query_factors.as_ref().filter(|_| self.has_temperature);
        let is_changed = self.rotary.is_some() || query_factors.is_some();
        let rotation = is_changed.then(|| Rotation {
            pairing: self.rotary.map_or(RopePairing::Halves, |rotary| rotaries[rotary].pairing),
            angles: self.rotary.map(|rotary| &angles[rotary]),
            query_factors,
        });
        let qk_norm = self.qk_norm.as_ref().map(QkNormWeights::norm);
        let pass = &mut context.pass;
        match (qk_norm.is_some() || rotation.is_some(), heads.has_kv) {
            (true, true) => {
                let (rope, target) = ((qk_norm, rotation), (cache_layer, &mut *cache));
                pass.rope_and_store_kv(rows, batch, heads, rope, qkv, target);
            }
            (true, false) => pass.rope(rows, heads, qk_norm, rotation, qkv),
            (false, true) => pass.store_kv(batch, cache_layer, heads, qkv, cache),
            (false, false) => {}
        }
        let params = AttentionParams {
            layer: cache_layer,
            scale: self.scale,
            mask: self.mask,
            softcap: self.softcap,
            distance_bias: self.distance_bias.as_ref().map(DistanceBias::bias),
            sinks: self.sinks.as_ref(),
        };
        let attended = attended.get(heads.out_len());
        context.pass.paged_attention(batch, &params, heads, qkv, cache, attended)?;
        if let Some(gate) = &self.gate {
            gate.apply(context, heads, input(), (gates, head_gates.as_mut()), attended)?;
        }
        if let Some(norm) = &self.output_norm {
            norm.apply(context, attended, gates.get(heads.out_len()));
        }
        if let (Projection::Latent(projection), Some(buffers)) = (&self.qkv, latent) {
            projection.expand_values(context, heads, attended, buffers)?;
        }
        Ok(())
    }

    /// Adds the projected output of the heads to the residual stream.
    pub(super) fn project(
        &self,
        context: &mut ForwardContext<'_, B>,
        residual: &Residual<B>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let Workspace { x, attended, latent, normed, branch, .. } = workspace;
        let attended = match latent {
            Some(latent) => &latent.out,
            None => attended.get(self.heads.out_len()),
        };
        residual.add_product(context, attended, &self.output, x, (branch, normed))
    }
}
