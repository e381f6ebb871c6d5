//! The numbers that describe a model, read from a file's metadata and checked against each other.

use inferno_backend::{ExpertParams, QkvLayout};
use inferno_gguf::{FromMetadata, Metadata, StringArray};

use crate::model::EMBEDDINGS;
use crate::rope::{RopeScaling, YarnParams};
use crate::{Architecture, ModelError, architecture};

/// Epsilon where a file gives none: the value Llama 2 was trained with.
const DEFAULT_RMS_NORM_EPS: f32 = 1e-5;
/// Base of the rotary frequencies where a file gives none, from the RoFormer paper.
const DEFAULT_ROPE_FREQ_BASE: f32 = 10_000.0;

/// Hyperparameters of a decoder-only transformer.
#[derive(Debug, Clone)]
pub struct Config {
    /// What sets this architecture apart from the others.
    pub architecture: &'static Architecture,
    /// The model's own name, where the file gives one.
    pub name: Option<String>,
    /// Positions that the model was trained for.
    pub context_length: usize,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Decoder layers.
    pub num_layers: usize,
    /// Rows of the embedding table.
    pub vocab_size: usize,
    /// Heads of a layer's attention.
    pub qkv: QkvLayout,
    /// Added to the mean square before its root is taken.
    pub rms_norm_eps: f32,
    /// Positions that a query sees, itself included; `None` means all before it.
    pub sliding_window: Option<usize>,
    /// Rotary embedding.
    pub rope: RopeConfig,
    /// What follows attention in each layer.
    pub feed_forward: FeedForwardConfig,
}

/// Rotary position embedding.
#[derive(Debug, Clone, PartialEq)]
pub struct RopeConfig {
    /// Components of a head that are turned.
    pub rotary_dim: usize,
    /// Base of the geometric series of frequencies.
    pub freq_base: f32,
    /// How frequencies are stretched for contexts longer than those of training.
    pub scaling: RopeScaling,
}

/// Width and kind of the feed-forward blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FeedForwardConfig {
    /// One gated block.
    Dense {
        /// Width between the projections.
        intermediate_size: usize,
    },
    /// Several gated blocks, of which each token uses a few.
    Experts {
        /// Width of one expert.
        intermediate_size: usize,
        /// How tokens choose.
        params: ExpertParams,
    },
}

impl Config {
    /// Reads the configuration of the architecture that `metadata` names.
    ///
    /// `vocab_size` is the number of rows of the embedding table, if there is one: files differ in
    /// whether and where they state it, but the table always knows.
    ///
    /// **Errors**: [`ModelError::UnknownArchitecture`]; missing or mistyped keys; values that
    /// contradict each other; [`ModelError::MissingTensor`] for the table.
    pub fn from_metadata(
        metadata: &Metadata,
        vocab_size: Option<usize>,
    ) -> Result<Self, ModelError> {
        let architecture = architecture(&metadata.required::<String>("general.architecture")?)?;
        let keys = Keys {
            prefix: architecture.name,
            metadata,
        };

        let hidden_size = keys.positive("embedding_length")?;
        let vocab_size = vocab_size.ok_or_else(|| keys.no_embeddings(hidden_size))?;
        let num_heads = keys.positive("attention.head_count")?;
        let num_kv_heads = keys.positive_or("attention.head_count_kv", num_heads)?;
        if num_heads % num_kv_heads != 0 {
            return Err(keys.invalid(
                "attention.head_count_kv",
                format!("a divisor of attention.head_count ({num_heads})"),
                num_kv_heads,
            ));
        }
        if keys.optional::<usize>("attention.key_length")?.is_none() && hidden_size % num_heads != 0
        {
            return Err(keys.invalid(
                "attention.head_count",
                format!("a divisor of embedding_length ({hidden_size}), or a key_length"),
                num_heads,
            ));
        }
        let head_dim = keys.positive_or("attention.key_length", hidden_size / num_heads)?;
        let value_length = keys.positive_or("attention.value_length", head_dim)?;
        if value_length != head_dim {
            let expected = format!("attention.key_length ({head_dim})");
            return Err(keys.invalid("attention.value_length", expected, value_length));
        }

        Ok(Self {
            architecture,
            name: metadata.optional("general.name")?,
            context_length: keys.positive("context_length")?,
            hidden_size,
            num_layers: keys.positive("block_count")?,
            vocab_size,
            qkv: QkvLayout {
                num_heads,
                num_kv_heads,
                head_dim,
            },
            rms_norm_eps: keys
                .optional("attention.layer_norm_rms_epsilon")?
                .unwrap_or(DEFAULT_RMS_NORM_EPS),
            sliding_window: keys
                .optional("attention.sliding_window")?
                .filter(|&window| window > 0),
            rope: RopeConfig::from_keys(&keys, head_dim)?,
            feed_forward: FeedForwardConfig::from_keys(&keys)?,
        })
    }
}

impl RopeConfig {
    fn from_keys(keys: &Keys<'_>, head_dim: usize) -> Result<Self, ModelError> {
        let rotary_dim = keys.positive_or("rope.dimension_count", head_dim)?;
        if rotary_dim % 2 != 0 || rotary_dim > head_dim {
            let expected = format!("an even number up to the head width ({head_dim})");
            return Err(keys.invalid("rope.dimension_count", expected, rotary_dim));
        }
        let freq_base = keys
            .optional("rope.freq_base")?
            .unwrap_or(DEFAULT_ROPE_FREQ_BASE);
        if !(freq_base > 0.0 && f32::is_finite(freq_base)) {
            return Err(keys.invalid("rope.freq_base", "a positive number", freq_base));
        }
        Ok(Self {
            rotary_dim,
            freq_base,
            scaling: Self::scaling_from_keys(keys)?,
        })
    }

    fn scaling_from_keys(keys: &Keys<'_>) -> Result<RopeScaling, ModelError> {
        let factor = |key: &str| -> Result<f32, ModelError> {
            let factor = keys.optional(key)?.unwrap_or(1.0);
            match f32::is_finite(factor) && factor > 0.0 {
                true => Ok(factor),
                false => Err(keys.invalid(key, "a positive number", factor)),
            }
        };
        let kind = keys.optional::<String>("rope.scaling.type")?;
        match kind.as_deref() {
            // Files from before the typed keys state a linear factor alone.
            None => match factor("rope.scale_linear")? {
                1.0 => Ok(RopeScaling::None),
                factor => Ok(RopeScaling::Linear { factor }),
            },
            Some("none") => Ok(RopeScaling::None),
            Some("linear") => Ok(RopeScaling::Linear {
                factor: factor("rope.scaling.factor")?,
            }),
            Some("yarn") => Ok(RopeScaling::Yarn(YarnParams {
                factor: factor("rope.scaling.factor")?,
                original_context_length: keys.positive_or(
                    "rope.scaling.original_context_length",
                    keys.positive("context_length")?,
                )?,
                attention_factor: factor("rope.scaling.attn_factor")?,
                beta_fast: keys
                    .optional("rope.scaling.yarn_beta_fast")?
                    .unwrap_or(32.0),
                beta_slow: keys.optional("rope.scaling.yarn_beta_slow")?.unwrap_or(1.0),
            })),
            Some(other) => Err(keys.invalid(
                "rope.scaling.type",
                "none, linear or yarn",
                format!("`{other}`"),
            )),
        }
    }
}

impl FeedForwardConfig {
    fn from_keys(keys: &Keys<'_>) -> Result<Self, ModelError> {
        let num_experts = keys.optional("expert_count")?.unwrap_or(0);
        if num_experts == 0 {
            return Ok(Self::Dense {
                intermediate_size: keys.positive("feed_forward_length")?,
            });
        }
        let num_experts_used = keys.positive("expert_used_count")?;
        if num_experts_used > num_experts {
            let expected = format!("at most expert_count ({num_experts})");
            return Err(keys.invalid("expert_used_count", expected, num_experts_used));
        }
        let intermediate_size = match keys.optional("expert_feed_forward_length")? {
            Some(size) if size > 0 => size,
            _ => keys.positive("feed_forward_length")?,
        };
        let normalize = keys.optional("expert_weights_norm")?.unwrap_or(true);
        let params = ExpertParams {
            num_experts,
            num_experts_used,
            normalize,
        };
        Ok(Self::Experts {
            intermediate_size,
            params,
        })
    }
}

/// Metadata keys of one architecture, named without its prefix.
struct Keys<'a> {
    prefix: &'static str,
    metadata: &'a Metadata,
}

impl Keys<'_> {
    fn full(&self, key: &str) -> String {
        format!("{}.{key}", self.prefix)
    }

    fn optional<T: for<'m> FromMetadata<'m>>(&self, key: &str) -> Result<Option<T>, ModelError> {
        Ok(self.metadata.optional(&self.full(key))?)
    }

    fn positive(&self, key: &str) -> Result<usize, ModelError> {
        let value = self.metadata.required(&self.full(key))?;
        self.check_positive(key, value)
    }

    fn positive_or(&self, key: &str, default: usize) -> Result<usize, ModelError> {
        let value = self.optional(key)?.unwrap_or(default);
        self.check_positive(key, value)
    }

    /// Sizes are multiplied with each other; a bound on each keeps products within `usize`.
    fn check_positive(&self, key: &str, value: usize) -> Result<usize, ModelError> {
        const MAX: usize = 1 << 30;
        match value {
            1..=MAX => Ok(value),
            _ => Err(self.invalid(key, format!("a number from 1 to {MAX}"), value)),
        }
    }

    /// The table is expected to have a row for each token of the tokenizer, if that is there.
    fn no_embeddings(&self, hidden_size: usize) -> ModelError {
        let tokens = self
            .metadata
            .optional::<&StringArray>("tokenizer.ggml.tokens");
        let num_tokens = tokens.ok().flatten().map_or(0, StringArray::len);
        ModelError::MissingTensor {
            name: EMBEDDINGS.to_owned(),
            expected: vec![num_tokens, hidden_size],
        }
    }

    fn invalid(&self, key: &str, expected: impl Into<String>, found: impl ToString) -> ModelError {
        ModelError::InvalidConfig {
            key: self.full(key),
            expected: expected.into(),
            found: found.to_string(),
        }
    }
}
