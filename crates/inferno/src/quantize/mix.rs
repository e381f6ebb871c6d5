//! Which format each tensor of a file gets.
//!
//! Weights that hurt most when they are coarse get finer formats: the output head, the value projections, and the
//! second feed-forward matrices, all of them or those of the outer layers.
//!
//! **Source**: llama.cpp's `llama-quant.cpp`, whose choices the names of the file types stand for.

use inferno_gguf::{Gguf, TensorInfo};
use inferno_tensor::DType;

use super::Recipe;

/// What the choice depends on beside the tensor itself.
pub(super) struct Mix {
    recipe: Recipe,
    is_pure: bool,
    has_output_head: bool,
    num_layers: u64,
    num_experts: usize,
    /// Query heads that share one value head.
    heads_per_kv_head: usize,
}

/// The part that a tensor plays, as far as the choice asks for it.
#[derive(Debug, PartialEq, Eq)]
enum Role {
    OutputHead,
    Value { layer: u64 },
    Key,
    AttentionOutput,
    FusedQkv,
    FeedForwardDown { layer: u64 },
    Other,
}

impl Mix {
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

    /// The format that `info` is to be stored in; `None` where it is to stay as it is.
    ///
    /// The second value is the format that was wanted, where its blocks do not divide the rows.
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
            Role::OutputHead
                if base == DType::Q8_0 || !info.dims()[0].is_multiple_of(base.block_len()) =>
            {
                DType::Q8_0
            }
            Role::OutputHead => DType::Q6K,
            Role::Value { .. } | Role::Key if self.num_experts == 8 => DType::Q8_0,
            Role::Value { layer } => self.value(layer),
            Role::AttentionOutput => self.attention_output(),
            Role::FusedQkv => match self.recipe {
                Recipe::Q3KM | Recipe::Q3KL => DType::Q4K,
                Recipe::Q4KM => DType::Q5K,
                Recipe::Q5KM => DType::Q6K,
                _ => base,
            },
            Role::FeedForwardDown { layer } => self.feed_forward_down(layer),
            Role::Key | Role::Other => base,
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
            recipe => recipe.base(),
        };
        // In the largest models eight heads share these weights, so that a finer format costs next to nothing.
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
        );
        match self.recipe {
            _ if self.num_experts == 8 && coarse => DType::Q5K,
            recipe if self.num_experts == 8 => recipe.base(),
            Recipe::Q2K => DType::Q3K,
            Recipe::Q3KM => DType::Q4K,
            Recipe::Q3KL => DType::Q5K,
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
            recipe => recipe.base(),
        }
    }

    /// The first and last eighth of the layers, and every third between them.
    fn is_sensitive(&self, layer: u64) -> bool {
        let eighth = self.num_layers / 8;
        layer < eighth || layer >= 7 * self.num_layers / 8 || (layer - eighth) % 3 == 2
    }

    fn role(&self, name: &str) -> Role {
        // Where a file has one matrix for both ends of the model, it is stored as the output head needs it.
        let head = if self.has_output_head { "output.weight" } else { "token_embd.weight" };
        if name == head {
            return Role::OutputHead;
        }
        let Some(layer) = layer(name) else {
            return Role::Other;
        };
        match name {
            _ if name.contains("attn_v.weight") => Role::Value { layer },
            _ if name.contains("attn_k.weight") => Role::Key,
            _ if name.contains("attn_output.weight") => Role::AttentionOutput,
            _ if name.contains("attn_qkv.weight") => Role::FusedQkv,
            _ if name.contains("ffn_down") => Role::FeedForwardDown { layer },
            _ => Role::Other,
        }
    }
}

/// The layer of a tensor named `blk.LAYER.…`.
///
/// Numbers are at most `u32::MAX`, so that computing with them overflows nowhere.
fn layer(name: &str) -> Option<u64> {
    let number = name.strip_prefix("blk.")?.split('.').next()?;
    number.parse::<u32>().ok().map(u64::from)
}

/// Whether a tensor of two or more dimensions is a weight that products are computed with. Norms, biases, and the
/// small matrices that route tokens to experts are not.
fn is_quantizable(name: &str) -> bool {
    let kept = [
        "_norm.weight",
        "ffn_gate_inp.weight",
        "ffn_gate_inp_shexp.weight",
        "position_embd.weight",
        "token_types.weight",
    ];
    name.ends_with(".weight") && !kept.iter().any(|kept| name.ends_with(kept))
}

/// The format that rows of `row_len` values are stored in where `wanted` is asked for: itself, else one of small
/// blocks with at least as many bits, else F16. (llama.cpp takes Q4_0 where this takes IQ4_NL for Q2_K and Q3_K, which is
/// of the same size and less exact.)
fn fallback(wanted: DType, row_len: usize) -> DType {
    let small_blocks = match wanted {
        DType::Q2K | DType::Q3K | DType::Iq4Xs => DType::Iq4Nl,
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
