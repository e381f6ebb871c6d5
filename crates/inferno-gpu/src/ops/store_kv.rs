//! Writing keys and values to the KV cache.

use bytemuck::{Pod, Zeroable};
use inferno_backend::{KvDType, NormKind, QkNorm, QkvLayout, Rope, RopePairing, Rotation};

use super::kv_kernels::{
    CACHE_WRITE, CACHE_WRITE_PARTS, CacheKernels, KV_LAYOUT, KernelLayer, part_bindings,
};
use crate::kernel::{Variant, kernel, snippet, snippets};
use crate::memory::batch::GpuBatch;
use crate::memory::buffer::GpuBuffer;
use crate::memory::kv_cache::GpuKvCache;
use crate::pass::{GpuPass, fold};

kernel!(
    STORE_KV,
    "store_kv",
    [snippets::FLAT_INDEX, snippets::WORKGROUP_SUM, HALF_BITS, DIVIDE, KV_LAYOUT, CACHE_WRITE],
    [Read, ReadWrite, Read, Read, Read, Read, ReadWrite]
);
kernel!(
    STORE_KV_IN_PARTS,
    "store_kv",
    [
        snippets::FLAT_INDEX,
        snippets::WORKGROUP_SUM,
        HALF_BITS,
        DIVIDE,
        KV_LAYOUT,
        CACHE_WRITE_PARTS
    ],
    [Read, ReadWrite, Read, Read, Read, Read, ReadWrite, ReadWrite, ReadWrite, ReadWrite]
);

snippet!(HALF_BITS, "half_bits");
snippet!(DIVIDE, "divide");
snippet!(F32, "kv_store_f32");
snippet!(F16, "kv_store_f16");
snippet!(I16, "kv_store_i16");
snippet!(Q8_0, "kv_store_q8_0");

/// Threads of a workgroup, which computes one head of one row.
const LANES: u32 = 64;

const KERNELS: CacheKernels = [&STORE_KV, &STORE_KV_IN_PARTS];

fn variant(layer: &KernelLayer) -> Variant {
    let format = match layer.dtype {
        KvDType::F32 => &F32,
        KvDType::F16 => &F16,
        KvDType::I16 => &I16,
        KvDType::Q8_0 => &Q8_0,
    };
    layer.variant(KERNELS).with_snippet(format).with("LANES", LANES)
}

#[cfg(test)]
pub(crate) fn variants() -> Vec<Variant> {
    super::kv_kernels::layers().iter().map(variant).collect()
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Arguments {
    slots: u32,
    num_rows: u32,
    row_len: u32,
    num_heads: u32,
    first_head: u32,
    part_blocks: u32,
    norm_kind: u32,
    is_norm_last: u32,
    eps: f32,
    query_weights: u32,
    key_weights: u32,
    num_pairs: u32,
    is_interleaved: u32,
}

/// Whether [`store_kv`] can normalize and rotate heads in the same dispatch: it computes each head by itself, and only
/// those of queries and keys.
pub(crate) fn is_fusible((norm, rotation): &Rope<'_, GpuBuffer>) -> bool {
    let is_per_head = |norm: &QkNorm<'_, GpuBuffer>| !norm.whole && norm.v.is_none();
    let is_rotation_alone = |rotation: &Rotation<'_, GpuBuffer>| rotation.query_factors.is_none();
    norm.as_ref().is_none_or(is_per_head) && rotation.as_ref().is_none_or(is_rotation_alone)
}

/// Writes keys and values to `layer`, see [`Pass::store_kv`](inferno_backend::Pass::store_kv). With `rope`, queries and
/// keys are normalized and rotated before; only those of the queries are written back to `qkv`.
pub(crate) fn store_kv(
    pass: &mut GpuPass<'_>,
    batch: &GpuBatch,
    layer: usize,
    layout: &QkvLayout,
    rope: Option<Rope<'_, GpuBuffer>>,
    qkv: &GpuBuffer,
    cache: &GpuKvCache,
) {
    assert_eq!(qkv.cols(), layout.row_len(), "rows of queries, keys and values");
    let kernel_layer = KernelLayer::new(cache, layer, layout);
    let num_rows = batch.batch.num_tokens();
    let first_head = if rope.is_some() { 0 } else { layout.num_heads };
    let num_value_heads = layout.num_kv_heads * usize::from(layout.values.separate_dim() > 0);
    let num_heads = layout.num_heads + layout.num_kv_heads + num_value_heads - first_head;
    let (norm, rotation) = rope.unwrap_or_default();
    let angles = rotation.as_ref().and_then(|rotation| rotation.angles);
    let query_norm = norm.as_ref().map(|norm| norm.q);
    let key_norm = norm.as_ref().and_then(|norm| norm.k);
    let weights = |weight: Option<&GpuBuffer>| weight.map_or(0, |weight| weight.cols() as u32);
    let arguments = Arguments {
        slots: batch.arrays.slots,
        num_rows: num_rows as u32,
        row_len: qkv.cols() as u32,
        num_heads: layout.num_heads as u32,
        first_head: first_head as u32,
        part_blocks: cache.part_blocks(layer) as u32,
        norm_kind: norm.as_ref().map_or(0, |norm| match norm.kind {
            NormKind::Rms => 1,
            NormKind::Layer => 2,
        }),
        is_norm_last: u32::from(norm.as_ref().is_some_and(|norm| norm.after_rotation)),
        eps: norm.as_ref().map_or(0.0, |norm| norm.eps),
        query_weights: weights(query_norm),
        key_weights: weights(key_norm),
        num_pairs: angles.map_or(0, |angles| angles.cols() as u32 / 2),
        is_interleaved: rotation
            .as_ref()
            .map_or(0, |rotation| u32::from(rotation.pairing == RopePairing::Interleaved)),
    };
    let head = [
        batch.binding(pass),
        qkv.into(),
        cache.places(layer).unwrap_or(pass.placeholder()),
        pass.optional(angles),
        pass.optional(query_norm),
        pass.optional(key_norm),
    ];
    let variant = variant(&kernel_layer);
    let bindings: Vec<_> = head.into_iter().chain(part_bindings(cache, layer)).collect();
    let bindings = &bindings[..variant.kernel.access.len()];
    pass.dispatch(variant, bindings, &arguments, fold(num_rows * num_heads));
}
