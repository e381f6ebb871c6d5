//! Selects the format of each tensor.
//!
//! The most sensitive weights get higher-precision formats: the output head, the value projections and the down
//! projections, in all layers or only the outer ones.
//!
//! **Source**: llama.cpp's `llama-quant.cpp`, which defines the meaning of the file types, without an importance matrix.
//! Where it then selects IQ2_S, which has no encoder here, the main format of the recipe is used.

use inferno_gguf::{Gguf, TensorInfo};
use inferno_tensor::DType;

use super::Recipe;

/// The properties of a model that the selection depends on.
pub(super) struct FormatSelection {
    recipe: Recipe,
    is_pure: bool,
    has_output_head: bool,
    num_layers: u64,
    num_experts: usize,
    /// Number of query heads per value head.
    heads_per_kv_head: usize,
}

/// The role of a tensor in the model.
#[derive(Debug, PartialEq, Eq)]
enum TensorRole {
    OutputHead,
    Embedding,
    Value { layer: u64 },
    Key,
    AttentionOutput,
    FusedQkv,
    FeedForwardDown { layer: u64 },
    Other,
}

impl FormatSelection {
    pub(super) fn new(gguf: &Gguf, recipe: Recipe, is_pure: bool) -> Self {
        let metadata = gguf.metadata();
        let architecture: &str =
            metadata.optional("general.architecture").ok().flatten().unwrap_or_default();
        let number = |key: &str| -> usize {
            metadata.optional(&format!("{architecture}.{key}")).ok().flatten().unwrap_or(0)
        };
        let num_heads = number("attention.head_count");
        let num_kv_heads = number("attention.head_count_kv");
        let block_count: Option<u64> =
            metadata.optional(&format!("{architecture}.block_count")).ok().flatten();
        Self {
            recipe,
            is_pure,
            has_output_head: gguf.tensor("output.weight").is_some(),
            num_layers: gguf
                .tensors()
                .iter()
                .filter_map(|info| layer(info.name()))
                .filter(|layer| block_count.is_none_or(|count| *layer < count))
                .max()
                .map_or(0, |last| last + 1),
            num_experts: number("expert_count"),
            heads_per_kv_head: num_heads.checked_div(num_kv_heads).unwrap_or(1).max(1),
        }
    }

    /// Returns the format for `info`; `None` if it is copied unchanged.
    ///
    /// The second value is the intended format, if the rows are not a multiple of its block length.
    pub(super) fn target(&self, info: &TensorInfo) -> (Option<DType>, Option<DType>) {
        if info.dims().len() < 2 {
            return (Some(DType::F32), None);
        }
        if !is_quantizable(info.name()) {
            return (None, None);
        }
        let wanted = self.wanted(info);
        let row_len = info.dims()[0];
        match fallback(wanted, row_len) {
            fitting if fitting == wanted => (Some(wanted), None),
            fitting => (Some(fitting), Some(wanted)),
        }
    }

    fn wanted(&self, info: &TensorInfo) -> DType {
        let base = self.recipe.base();
        if self.is_pure || base.is_float() {
            return base;
        }
        match self.role(info.name()) {
            TensorRole::OutputHead
                if base == DType::Q8_0 || !info.dims()[0].is_multiple_of(base.block_len()) =>
            {
                DType::Q8_0
            }
            TensorRole::OutputHead => DType::Q6K,
            TensorRole::Value { .. } | TensorRole::Key if self.num_experts == 8 => DType::Q8_0,
            TensorRole::Value { layer } => self.value(layer),
            TensorRole::AttentionOutput => self.attention_output(),
            TensorRole::FusedQkv => match self.recipe {
                Recipe::Q3KM | Recipe::Q3KL => DType::Q4K,
                Recipe::Q4KM => DType::Q5K,
                Recipe::Q5KM => DType::Q6K,
                _ => base,
            },
            TensorRole::FeedForwardDown { layer } => self.feed_forward_down(layer),
            TensorRole::Embedding => match self.recipe {
                Recipe::Tq1_0 | Recipe::Tq2_0 => DType::Q4K,
                Recipe::Iq3Xxs => DType::Iq3S,
                _ => base,
            },
            TensorRole::Key | TensorRole::Other => base,
        }
    }

    fn value(&self, layer: u64) -> DType {
        let is_shared = self.heads_per_kv_head >= 4;
        let chosen = match self.recipe {
            Recipe::Q2K if is_shared => DType::Q4K,
            Recipe::Q2K => DType::Q3K,
            Recipe::Q2KS if is_shared => DType::Q4K,
            Recipe::Q3KM if layer < 2 => DType::Q5K,
            Recipe::Q3KM => DType::Q4K,
            Recipe::Q3KL => DType::Q5K,
            Recipe::Q4KS if layer < 4 => DType::Q5K,
            Recipe::Q4KM | Recipe::Q5KM if self.is_sensitive(layer) => DType::Q6K,
            Recipe::Iq4Nl | Recipe::Iq4Xs if is_shared => DType::Q5K,
            Recipe::Iq3Xxs if is_shared => DType::Q4K,
            Recipe::Iq3Xxs => DType::Iq3S,
            Recipe::Iq3S if is_shared => DType::Q4K,
            recipe => recipe.base(),
        };
        // In the largest models eight heads share these weights, so higher precision costs little.
        let is_large = self.num_layers == 80 && self.heads_per_kv_head > 1;
        match chosen {
            DType::Q3K | DType::Q4K if is_large => DType::Q5K,
            chosen => chosen,
        }
    }

    fn attention_output(&self) -> DType {
        let coarse = matches!(
            self.recipe,
            Recipe::Q2K
                | Recipe::Q3KS
                | Recipe::Q3KM
                | Recipe::Q4KS
                | Recipe::Q4KM
                | Recipe::Iq4Nl
                | Recipe::Iq4Xs
                | Recipe::Iq3Xxs
                | Recipe::Iq3S
        );
        match self.recipe {
            _ if self.num_experts == 8 && coarse => DType::Q5K,
            recipe if self.num_experts == 8 => recipe.base(),
            Recipe::Q2K => DType::Q3K,
            Recipe::Q3KM => DType::Q4K,
            Recipe::Q3KL => DType::Q5K,
            Recipe::Iq3Xxs => DType::Iq3S,
            recipe => recipe.base(),
        }
    }

    fn feed_forward_down(&self, layer: u64) -> DType {
        let is_first_eighth = layer < self.num_layers / 8;
        match self.recipe {
            Recipe::Q2K => DType::Q3K,
            Recipe::Q2KS if is_first_eighth => DType::Q4K,
            Recipe::Q3KM if layer < self.num_layers / 16 => DType::Q5K,
            Recipe::Q3KM => DType::Q4K,
            Recipe::Q3KL => DType::Q5K,
            Recipe::Q4KS if is_first_eighth => DType::Q5K,
            Recipe::Q4KM | Recipe::Q5KM if self.is_sensitive(layer) => DType::Q6K,
            Recipe::Iq4Nl | Recipe::Iq4Xs if is_first_eighth => DType::Q5K,
            Recipe::Iq3Xxs if is_first_eighth => DType::Q4K,
            Recipe::Iq3Xxs => DType::Q3K,
            recipe => recipe.base(),
        }
    }

    /// Returns whether the layer is in the first or last eighth, or every third in between.
    fn is_sensitive(&self, layer: u64) -> bool {
        let eighth = self.num_layers / 8;
        layer < eighth || layer >= 7 * self.num_layers / 8 || (layer - eighth) % 3 == 2
    }

    fn role(&self, name: &str) -> TensorRole {
        // Tied embeddings get the format of the output head.
        let head = if self.has_output_head { "output.weight" } else { "token_embd.weight" };
        if name == head {
            return TensorRole::OutputHead;
        }
        if name == "token_embd.weight" {
            return TensorRole::Embedding;
        }
        let Some(layer) = layer(name) else {
            return TensorRole::Other;
        };
        match name {
            _ if name.contains("attn_v.weight") => TensorRole::Value { layer },
            _ if name.contains("attn_k.weight") => TensorRole::Key,
            _ if name.contains("attn_output.weight") => TensorRole::AttentionOutput,
            _ if name.contains("attn_qkv.weight") => TensorRole::FusedQkv,
            _ if name.contains("ffn_down") => TensorRole::FeedForwardDown { layer },
            _ => TensorRole::Other,
        }
    }
}

/// Returns the layer of a tensor named `blk.LAYER.…`.
///
/// Layers are at most `u32::MAX`, so arithmetic on them cannot overflow.
fn layer(name: &str) -> Option<u64> {
    let number = name.strip_prefix("blk.")?.split('.').next()?;
    number.parse::<u32>().ok().map(u64::from)
}

/// Parts of the names of tensors that are copied unchanged. Runtimes require the format of some of them, such as the
/// convolutions of recurrent layers; the others are small.
const COPIED: &[&str] = &[
    "_norm.weight",
    "ffn_gate_inp.weight",
    "ffn_gate_inp_shexp.weight",
    "position_embd.weight",
    "token_types.weight",
    "ssm_conv1d",
    "shortconv.conv.weight",
    "altup",
    "laurel",
    "per_layer_model_proj",
];

/// Returns whether a tensor of two or more dimensions is quantized: whether it is a weight matrix that is not
/// [`COPIED`].
fn is_quantizable(name: &str) -> bool {
    name.ends_with(".weight") && !COPIED.iter().any(|part| name.contains(part))
}

/// Returns the format for rows of `row_len` values: `wanted` if they are a multiple of its block length, otherwise a
/// format with small blocks and at least as many bits, otherwise F16. (For Q2_K and Q3_K, llama.cpp falls back to Q4_0,
/// which has the size of IQ4_NL and is less accurate.)
fn fallback(wanted: DType, row_len: usize) -> DType {
    let small_blocks = match wanted {
        DType::Q2K | DType::Q3K | DType::Iq3Xxs | DType::Iq3S | DType::Iq4Xs => DType::Iq4Nl,
        DType::Nvfp4 | DType::Tq1_0 | DType::Tq2_0 | DType::Q1_0 => DType::Q4_0,
        DType::Q4K => DType::Q5_0,
        DType::Q5K => DType::Q5_1,
        DType::Q6K => DType::Q8_0,
        other => other,
    };
    let fits = |dtype: &DType| row_len.is_multiple_of(dtype.block_len());
    [wanted, small_blocks].into_iter().find(fits).unwrap_or(DType::F16)
}

#[cfg(test)]
mod tests;
