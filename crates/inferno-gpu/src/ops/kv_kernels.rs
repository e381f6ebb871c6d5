//! What the kernels that read or write the KV cache have in common.

use inferno_backend::{KvDType, KvValues, QkvLayout};

use crate::kernel::{Kernel, Snippet, Variant, snippet};
use crate::memory::allocation::Binding;
use crate::memory::kv_cache::{GpuKvCache, MAX_PARTS};

snippet!(KV_LAYOUT, "kv_layout");
snippet!(CACHE_READ, "cache_read");
snippet!(CACHE_READ_PARTS, "cache_read_parts");
snippet!(CACHE_WRITE, "cache_write");
snippet!(CACHE_WRITE_PARTS, "cache_write_parts");
snippet!(F32_LAYOUT, "kv_f32_layout");
snippet!(F16_LAYOUT, "kv_f16_layout");
snippet!(I16_LAYOUT, "kv_i16_layout");
snippet!(Q8_0_LAYOUT, "kv_q8_0_layout");

/// The layout of rows in a format.
fn format_layout(dtype: KvDType) -> &'static Snippet {
    match dtype {
        KvDType::F32 => &F32_LAYOUT,
        KvDType::F16 => &F16_LAYOUT,
        KvDType::I16 => &I16_LAYOUT,
        KvDType::Q8_0 => &Q8_0_LAYOUT,
    }
}

/// A kernel for layers in one buffer, and the same for layers in several.
pub(super) type CacheKernels = [&'static Kernel; 2];

/// A layer of the cache as kernels see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct KernelLayer {
    pub(super) dtype: KvDType,
    pub(super) block_tokens: usize,
    pub(super) num_kv_heads: usize,
    pub(super) key_dim: usize,
    pub(super) values: KvValues,
    pub(super) has_windows: bool,
    pub(super) is_in_parts: bool,
}

impl KernelLayer {
    /// **Panics** if the layer has other heads than `layout`.
    pub(super) fn new(cache: &GpuKvCache, layer: usize, layout: &QkvLayout) -> Self {
        assert!(cache.layer(layer).fits(layout), "heads of the cached layer");
        Self {
            dtype: cache.dtype(),
            block_tokens: cache.block_tokens(),
            num_kv_heads: layout.num_kv_heads,
            key_dim: layout.head_dim,
            values: layout.values,
            has_windows: cache.places(layer).is_some(),
            is_in_parts: cache.parts(layer).len() > 1,
        }
    }

    /// The kernel for this layer.
    pub(super) fn variant(&self, kernels: CacheKernels) -> Variant {
        let constants = [
            ("KEY_DIM", self.key_dim),
            ("STORED_VALUE_DIM", self.values.separate_dim()),
            ("KV_HEADS", self.num_kv_heads),
            ("BLOCK_TOKENS", self.block_tokens),
            ("HAS_WINDOWS", usize::from(self.has_windows)),
        ];
        let kernel = Variant::from(kernels[usize::from(self.is_in_parts)]);
        let kernel = kernel.with_snippet(format_layout(self.dtype));
        constants.into_iter().fold(kernel, |kernel, (name, value)| kernel.with(name, value as u32))
    }
}

/// The buffers of a layer. The first takes the place of those that it does not have.
pub(super) fn part_bindings(cache: &GpuKvCache, layer: usize) -> [Binding<'_>; MAX_PARTS] {
    let parts = cache.parts(layer);
    std::array::from_fn(|part| parts.get(part).unwrap_or(&parts[0]).into())
}

/// Layers of all formats, with windows and without, in one buffer and in several.
#[cfg(test)]
pub(super) fn layers() -> Vec<KernelLayer> {
    let shapes = [
        (2, 128, KvValues::Separate { dim: 128 }),
        (1, 576, KvValues::InKeys { start: 64 }),
        (3, 64, KvValues::Separate { dim: 32 }),
    ];
    let layers = KvDType::ALL.into_iter().flat_map(|dtype| {
        shapes.into_iter().flat_map(move |(num_kv_heads, key_dim, values)| {
            [false, true].map(|is_in_parts| KernelLayer {
                dtype,
                block_tokens: 16,
                num_kv_heads,
                key_dim,
                values,
                has_windows: !is_in_parts,
                is_in_parts,
            })
        })
    });
    layers.collect()
}
