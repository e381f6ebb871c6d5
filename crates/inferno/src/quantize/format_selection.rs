//! Selects the format of each tensor.
//!
//! The most sensitive weights get higher-precision formats: the output head, the value projections and the down
//! projections, in all layers or only the outer ones.
//!
//! **Source**: llama.cpp's `llama-quant.cpp`, which defines the meaning of the file types. Where it selects IQ2_S for IQ3_XXS
//! without an importance matrix, which it then rejects, the main format of the recipe is used.

use inferno_gguf::{Gguf, TensorInfo};
use inferno_tensor::DType;

use super::{QuantizeOptions, Recipe};

/// The properties of a model that the selection depends on.
pub(super) struct FormatSelection {
    recipe: Recipe,
    is_pure: bool,
    has_importance: bool,
    is_falcon: bool,
    has_output_head: bool,
    num_layers: u64,
    num_experts: usize,
    /// Number of query heads per value head.
    heads_per_kv_head: usize,
    /// Value projections, also as parts of other tensors.
    values: TensorOrder,
    feed_forward_downs: TensorOrder,
    feed_forward_gates: TensorOrder,
    feed_forward_ups: TensorOrder,
}

/// The role of a tensor in the model.
#[derive(Debug, PartialEq, Eq)]
enum TensorRole {
    OutputHead,
    Embedding,
    /// A value projection, alone or together with others, and its position among them.
    Value {
        position: u64,
    },
    Key,
    Query,
    AttentionOutput,
    /// A down projection.
    FeedForwardDown {
        position: u64,
        /// Its layer in a mixture of experts, otherwise its position.
        layer: u64,
    },
    /// A gate or up projection.
    FeedForwardUp {
        /// Its layer in a mixture of experts, otherwise its position among those of its kind.
        layer: u64,
    },
    Other,
}

impl FormatSelection {
    pub(super) fn new(gguf: &Gguf, options: &QuantizeOptions<'_>) -> Self {
        let QuantizeOptions { recipe, is_pure, importance, .. } = *options;
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
            has_importance: importance.is_some(),
            is_falcon: architecture == "falcon",
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
            values: TensorOrder::new(gguf, has_values),
            feed_forward_downs: TensorOrder::new(gguf, |name| name.contains(DOWN)),
            feed_forward_gates: TensorOrder::new(gguf, |name| name.contains(GATE)),
            feed_forward_ups: TensorOrder::new(gguf, |name| name.contains(UP)),
        }
    }

    /// Returns the format for `info`; `None` if it is copied unchanged.
    ///
    /// The second value is the intended format, if the rows are not a multiple of its block length.
    pub(super) fn target(&self, info: &TensorInfo) -> (Option<DType>, Option<DType>) {
        if info.dims().len() < 2 {
            return (Some(DType::F32), None);
        }
        if !is_quantizable(info) {
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
        let role = self.role(info.name());
        let is_whole = info.dims()[0].is_multiple_of(base.block_len());
        match (role, self.recipe) {
            (TensorRole::OutputHead, _) if base == DType::Q8_0 || self.is_falcon || !is_whole => {
                DType::Q8_0
            }
            (TensorRole::OutputHead, Recipe::Iq3Xxs) => DType::Q5K,
            (TensorRole::OutputHead, _) if self.is_below_three_bits() => DType::Q5K,
            (TensorRole::OutputHead, _) => DType::Q6K,
            (TensorRole::Embedding, _) => self.embedding(),
            (role, _) if self.is_below_three_bits() => self.below_three_bits(role),
            (TensorRole::Value { .. } | TensorRole::Key, _) if self.num_experts == 8 => DType::Q8_0,
            (TensorRole::Value { position }, _) => self.value(position),
            (TensorRole::Key | TensorRole::Query, Recipe::Iq3Xs) => DType::Iq3Xxs,
            (TensorRole::Key | TensorRole::Query, Recipe::Iq3Xxs) if self.has_importance => {
                DType::Iq2S
            }
            (TensorRole::AttentionOutput, _) => self.attention_output(),
            (TensorRole::FeedForwardDown { layer, .. }, _) => self.feed_forward_down(layer),
            (TensorRole::FeedForwardUp { layer }, Recipe::Iq3Xs) if !self.is_outer(layer) => {
                DType::Iq3Xxs
            }
            _ => base,
        }
    }

    /// Whether the recipe is one of IQ1 or IQ2.
    fn is_below_three_bits(&self) -> bool {
        use Recipe::{Iq1M, Iq1S, Iq2M, Iq2S, Iq2Xs, Iq2Xxs};
        matches!(self.recipe, Iq1S | Iq1M | Iq2Xxs | Iq2Xs | Iq2S | Iq2M)
    }

    /// The format of weights that an IQ1 or IQ2 recipe stores with more bits.
    fn finer(&self) -> DType {
        match self.recipe {
            Recipe::Iq2S | Recipe::Iq2M => DType::Iq3S,
            _ => DType::Q2K,
        }
    }

    fn embedding(&self) -> DType {
        match self.recipe {
            Recipe::Tq1_0 | Recipe::Tq2_0 => DType::Q4K,
            // Runtimes that multiply products by the scale of an NVFP4 matrix read none for lookups.
            Recipe::Nvfp4 => DType::Q4K,
            Recipe::Iq3Xxs => DType::Iq3S,
            _ if self.is_below_three_bits() => self.finer(),
            recipe => recipe.base(),
        }
    }

    /// The format of a tensor in an IQ1 or IQ2 recipe.
    fn below_three_bits(&self, role: TensorRole) -> DType {
        match role {
            TensorRole::Value { .. } if self.heads_per_kv_head >= 4 || self.num_experts >= 4 => {
                DType::Q4K
            }
            TensorRole::Value { .. } => self.finer(),
            TensorRole::Key if self.num_experts == 8 => DType::Q4K,
            TensorRole::FeedForwardDown { position, .. } if position < self.num_layers / 8 => {
                self.finer()
            }
            TensorRole::AttentionOutput if self.num_experts == 8 => DType::Q5K,
            TensorRole::AttentionOutput => match self.recipe {
                Recipe::Iq1S | Recipe::Iq1M => DType::Iq2Xxs,
                Recipe::Iq2S | Recipe::Iq2M => DType::Iq3S,
                recipe => recipe.base(),
            },
            _ => self.recipe.base(),
        }
    }

    fn value(&self, position: u64) -> DType {
        let is_shared = self.heads_per_kv_head >= 4;
        let num_values = self.values.0.len() as u64;
        let chosen = match self.recipe {
            Recipe::Q2K if is_shared => DType::Q4K,
            Recipe::Q2K => DType::Q3K,
            Recipe::Q2KS if is_shared => DType::Q4K,
            Recipe::Q3KM if position < 2 => DType::Q5K,
            Recipe::Q3KM => DType::Q4K,
            Recipe::Q3KL => DType::Q5K,
            Recipe::Q4KS if position < 4 => DType::Q5K,
            Recipe::Q4KM | Recipe::Q5KM if is_sensitive(position, num_values) => DType::Q6K,
            Recipe::Iq4Nl | Recipe::Iq4Xs if is_shared => DType::Q5K,
            Recipe::Iq3Xxs | Recipe::Iq3Xs | Recipe::Iq3S if is_shared => DType::Q4K,
            Recipe::Iq3Xxs if !self.has_importance => DType::Iq3S,
            Recipe::Iq3M => DType::Q4K,
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
                | Recipe::Iq3Xs
                | Recipe::Iq3S
                | Recipe::Iq3M
        );
        match self.recipe {
            Recipe::Q3KL if self.is_falcon => DType::Q4K,
            recipe if self.is_falcon => recipe.base(),
            _ if self.num_experts == 8 && coarse => DType::Q5K,
            recipe if self.num_experts == 8 => recipe.base(),
            Recipe::Q2K => DType::Q3K,
            Recipe::Q3KM | Recipe::Iq3M => DType::Q4K,
            Recipe::Q3KL => DType::Q5K,
            Recipe::Iq3Xxs => DType::Iq3S,
            recipe => recipe.base(),
        }
    }

    fn feed_forward_down(&self, layer: u64) -> DType {
        let is_first_sixteenth = layer < self.num_layers / 16;
        let is_first_eighth = layer < self.num_layers / 8;
        let is_sensitive = is_sensitive(layer, self.num_layers);
        match self.recipe {
            Recipe::Q2K => DType::Q3K,
            Recipe::Q2KS if is_first_eighth => DType::Q4K,
            Recipe::Q3KM if is_first_sixteenth => DType::Q5K,
            Recipe::Q3KM if self.is_falcon && !is_sensitive => DType::Q3K,
            Recipe::Q3KM => DType::Q4K,
            Recipe::Q3KL if self.is_falcon => DType::Q4K,
            Recipe::Q3KL => DType::Q5K,
            Recipe::Q4KS if is_first_eighth && !self.is_falcon => DType::Q5K,
            Recipe::Q4KM if self.is_falcon && is_first_sixteenth => DType::Q6K,
            Recipe::Q4KM if self.is_falcon && is_sensitive => DType::Q5K,
            Recipe::Q4KM if self.is_falcon => DType::Q4K,
            Recipe::Q4KM | Recipe::Q5KM if is_sensitive => DType::Q6K,
            Recipe::Q4_0 if is_first_eighth && self.has_importance => DType::Q4_1,
            Recipe::Q5_0 if is_first_eighth && self.has_importance => DType::Q5_1,
            Recipe::Iq4Nl | Recipe::Iq4Xs if is_first_eighth && !self.has_importance => DType::Q5K,
            Recipe::Iq3Xxs if self.has_importance => DType::Iq3Xxs,
            Recipe::Iq3Xxs if is_first_eighth => DType::Q4K,
            Recipe::Iq3Xxs => DType::Q3K,
            Recipe::Iq3M if is_first_eighth || self.num_experts == 8 && is_sensitive => DType::Q4K,
            recipe => recipe.base(),
        }
    }

    /// Returns whether the layer is in the first or last eighth.
    fn is_outer(&self, layer: u64) -> bool {
        layer < self.num_layers / 8 || layer >= 7 * self.num_layers / 8
    }

    fn role(&self, name: &str) -> TensorRole {
        // Tied embeddings get the format of the output head.
        if name == "output.weight" || !self.has_output_head && EMBEDDINGS.contains(&name) {
            return TensorRole::OutputHead;
        }
        if EMBEDDINGS.contains(&name) {
            return TensorRole::Embedding;
        }
        let Some(layer) = layer(name) else {
            return TensorRole::Other;
        };
        let position = |order: &TensorOrder| order.position(layer, name);
        let layer_or_position =
            |order: &TensorOrder| if self.num_experts > 1 { layer } else { position(order) };
        match name {
            _ if has_values(name) => TensorRole::Value { position: position(&self.values) },
            _ if name.contains("attn_k.weight") => TensorRole::Key,
            _ if name.contains("attn_q.weight") => TensorRole::Query,
            _ if name.contains("attn_output.weight") => TensorRole::AttentionOutput,
            _ if name.contains(UP) => {
                TensorRole::FeedForwardUp { layer: layer_or_position(&self.feed_forward_ups) }
            }
            _ if name.contains(GATE) => {
                TensorRole::FeedForwardUp { layer: layer_or_position(&self.feed_forward_gates) }
            }
            _ if name.contains(DOWN) => TensorRole::FeedForwardDown {
                position: position(&self.feed_forward_downs),
                layer: layer_or_position(&self.feed_forward_downs),
            },
            _ => TensorRole::Other,
        }
    }
}

/// Tensors that are looked up by token.
const EMBEDDINGS: [&str; 2] = ["token_embd.weight", "per_layer_token_embd.weight"];

/// Parts of the names of feed-forward matrices, also those of experts and shared experts.
const DOWN: &str = "ffn_down";
const GATE: &str = "ffn_gate";
const UP: &str = "ffn_up";

/// The quantizable tensors with one role, by layer and name. In a dense model, layers without such a tensor do not count.
struct TensorOrder(Vec<(u64, String)>);

impl TensorOrder {
    fn new(gguf: &Gguf, has_role: impl Fn(&str) -> bool) -> Self {
        let tensors = gguf.tensors().iter().filter(|info| is_quantizable(info));
        let names = tensors.map(TensorInfo::name).filter(|name| has_role(name));
        let mut tensors: Vec<_> =
            names.filter_map(|name| Some((layer(name)?, name.to_owned()))).collect();
        tensors.sort_unstable();
        Self(tensors)
    }

    /// Returns the number of tensors before this one.
    fn position(&self, layer: u64, name: &str) -> u64 {
        self.0.partition_point(|(other, known)| (*other, known.as_str()) < (layer, name)) as u64
    }
}

/// Returns whether a tensor of a layer contains the value projection.
fn has_values(name: &str) -> bool {
    ["attn_v.weight", "attn_qkv.weight", "attn_kv_b.weight"].iter().any(|part| name.contains(part))
}

/// Returns whether a position, such as that of a layer among all, is in the first or last eighth, or every third in between.
fn is_sensitive(position: u64, count: u64) -> bool {
    let eighth = count / 8;
    position < eighth || position >= 7 * count / 8 || (position - eighth) % 3 == 2
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
    "attn_rel_b.weight",
    "ssm_conv1d",
    "shortconv.conv.weight",
    "altup",
    "laurel",
    "per_layer_model_proj",
];

/// Returns whether a tensor is quantized: whether it is a weight matrix that is not [`COPIED`].
pub(crate) fn is_quantizable(info: &TensorInfo) -> bool {
    let name = info.name();
    info.dims().len() > 1
        && name.ends_with(".weight")
        && !COPIED.iter().any(|part| name.contains(part))
}

/// Returns the format for rows of `row_len` values: `wanted` if they are a multiple of its block length, otherwise a
/// format with small blocks and at least as many bits, otherwise F16. (For Q2_K and Q3_K, llama.cpp falls back to Q4_0,
/// which has the size of IQ4_NL and is less accurate.)
fn fallback(wanted: DType, row_len: usize) -> DType {
    let small_blocks = match wanted {
        DType::Q2K | DType::Q3K | DType::Iq4Xs => DType::Iq4Nl,
        DType::Iq1S | DType::Iq1M | DType::Iq2Xxs | DType::Iq2Xs | DType::Iq2S => DType::Iq4Nl,
        DType::Iq3Xxs | DType::Iq3S => DType::Iq4Nl,
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
