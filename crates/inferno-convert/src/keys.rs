//! The metadata of an architecture.

use inferno_gguf::{Metadata, MetadataValue};

use crate::ConvertError;
use crate::config::{Config, Head, invalid};
use crate::family::{Constant, Context, Fact, Family, Kind, count, float};
use crate::rope::{ContextExtension, YarnAmplitude};
use crate::{families, pooling};

/// Metadata under construction; keys are named without their architecture.
pub(crate) struct Keys {
    pub(crate) family: &'static Family,
    metadata: Metadata,
    /// Whether the frequencies of rotary embeddings have Llama 3's divisors.
    pub(crate) has_llama3_scaling: bool,
    /// YaRN's factor on cosines and sines, if positions are scaled so.
    pub(crate) yarn_amplitude: Option<YarnAmplitude>,
    /// How the scaling of positions extends the context.
    pub(crate) context_extension: Option<ContextExtension>,
}

impl Keys {
    /// Writes the common and the family's metadata, and returns the tensors that belong to them.
    pub(crate) fn write(
        context: &Context<'_>,
        family: &'static Family,
    ) -> Result<(Metadata, Vec<Constant>), ConvertError> {
        let mut keys = Self {
            family,
            metadata: Metadata::new(),
            has_llama3_scaling: false,
            yarn_amplitude: None,
            context_extension: None,
        };
        let layers = context.config.num_layers()? + (family.prediction_layers)(context)?;
        keys.set("block_count", layers as u32);
        if family.has_common_keys {
            keys.common(context.config)?;
        }
        for fact in family.facts {
            keys.fact(context.config, fact)?;
        }
        if !family.activations.is_empty() {
            for key in ["hidden_act", "hidden_activation", "activation_function", "activation"] {
                context.config.expect_text(key, family.activations)?;
            }
        }
        for (key, value) in family.expected {
            context.config.expect(key, value)?;
        }
        // Models that attend in both directions although those of their class do not.
        if context.config.optional_flag(&["is_causal"])? == Some(false) {
            keys.set("attention.causal", false);
        }
        pooling::embeddings(context, &mut keys)?;
        (family.keys)(context, &mut keys)?;
        if context.config.head() == Head::Score {
            families::classifier(context, &mut keys)?;
        }
        let mut constants = keys.finish_rotary(context.config)?;
        constants.extend((family.constants)(context)?);
        Ok((keys.metadata, constants))
    }

    fn full(&self, key: &str) -> String {
        format!("{}.{key}", self.family.architecture)
    }

    pub(crate) fn contains(&self, key: &str) -> bool {
        self.metadata.contains(&self.full(key))
    }

    /// The value of a key, if it is a count.
    pub(crate) fn optional_count(&self, key: &str) -> Option<usize> {
        self.metadata.optional(&self.full(key)).ok().flatten()
    }

    /// Sets a key.
    pub(crate) fn set(&mut self, key: &str, value: impl Into<MetadataValue>) {
        self.metadata.insert(self.full(key), value);
    }

    /// Sets a key that belongs to no architecture.
    pub(crate) fn set_global(&mut self, key: &str, value: impl Into<MetadataValue>) {
        self.metadata.insert(key, value);
    }

    /// Removes a key.
    pub(crate) fn remove(&mut self, key: &str) {
        self.metadata.remove(&self.full(key));
    }

    /// Sets a key to a count.
    pub(crate) fn count(&mut self, key: &str, value: usize) {
        self.set(key, u32::try_from(value).unwrap_or(u32::MAX));
    }

    /// Sets a key to a number.
    pub(crate) fn float(&mut self, key: &str, value: f64) {
        self.set(key, value as f32);
    }

    /// Sets a key to a count for each layer.
    pub(crate) fn counts(&mut self, key: &str, values: impl IntoIterator<Item = usize>) {
        let values: Vec<i32> =
            values.into_iter().map(|value| i32::try_from(value).unwrap_or(i32::MAX)).collect();
        self.set(key, values);
    }

    fn fact(&mut self, config: &Config, fact: &Fact) -> Result<(), ConvertError> {
        let Fact { key, kind, from, is_required } = *fact;
        let value: Option<MetadataValue> = match kind {
            Kind::Count if is_required => Some((config.count(from)? as u32).into()),
            Kind::Count => config.optional_count(from)?.map(MetadataValue::from),
            Kind::Float if is_required => Some((config.float(from)? as f32).into()),
            Kind::Float => config.optional_float(from)?.map(|value| (value as f32).into()),
            Kind::Flag => config.optional_flag(from)?.map(MetadataValue::from),
        };
        if let Some(value) = value {
            self.set(key, value);
        }
        Ok(())
    }

    /// The metadata that most architectures share.
    fn common(&mut self, config: &Config) -> Result<(), ConvertError> {
        for fact in COMMON {
            self.fact(config, fact)?;
        }
        self.numbers_of_layers(config)?;
        self.rotary(config)?;
        if let Some(head_dim) = config.optional_count(&["head_dim"])? {
            self.set("attention.key_length", head_dim);
            self.set("attention.value_length", head_dim);
        }
        let scores = [
            "score_function",
            "scoring_func",
            "score_func",
            "moe_router_activation",
            "moe_router_activation_func",
            "expert_selection_fn",
        ];
        if let Some(key) = scores.into_iter().find(|key| config.get(key).is_some()) {
            let function = match config.text(key)? {
                Some("softmax") => 1_u32,
                Some("sigmoid") => 2,
                other => return Err(invalid(key, "softmax or sigmoid", other.unwrap_or_default())),
            };
            self.set("expert_gating_func", function);
        }
        Ok(())
    }

    /// States that the weights of chosen experts are not normalized, if the configuration does, for architectures of which
    /// llama.cpp's files have no key.
    pub(crate) fn unnormalized_experts(&mut self, config: &Config) -> Result<(), ConvertError> {
        if config.optional_flag(&["norm_topk_prob"])? == Some(false) {
            self.set("expert_weights_norm", false);
        }
        Ok(())
    }

    /// The sliding window of all layers, if the file has one.
    pub(crate) fn sliding_window(&mut self, config: &Config) -> Result<(), ConvertError> {
        if let Some(window) = config.optional_count(&["sliding_window"])? {
            self.set("attention.sliding_window", window);
        }
        Ok(())
    }

    /// Numbers that are one for all layers, or one for each.
    fn numbers_of_layers(&mut self, config: &Config) -> Result<(), ConvertError> {
        let numbers: [(&str, &[&str]); 3] = [
            (
                "feed_forward_length",
                &[
                    "prefix_dense_intermediate_size",
                    "dense_intermediate_size",
                    "intermediate_size",
                    "n_inner",
                    "hidden_dim",
                ],
            ),
            ("attention.head_count", &["num_attention_heads", "n_head", "n_heads"]),
            ("attention.head_count_kv", &["num_key_value_heads", "n_kv_heads"]),
        ];
        for (key, from) in numbers {
            match from.iter().find(|from| config.get(from).is_some_and(serde_json::Value::is_array))
            {
                Some(from) => {
                    let counts = config.floats(from)?.unwrap_or_default();
                    self.counts(key, counts.into_iter().map(|count| count as usize));
                }
                None => {
                    if let Some(count) = config.optional_count(from)? {
                        self.set(key, count);
                    }
                }
            }
        }
        Ok(())
    }
}

const COMMON: &[Fact] = &[
    count(
        "context_length",
        &[
            "max_position_embeddings",
            "n_ctx",
            "n_positions",
            "max_length",
            "max_sequence_length",
            "model_max_length",
        ],
    ),
    count("embedding_length", &["hidden_size", "n_embd", "dim"]),
    float("attention.layer_norm_rms_epsilon", &["rms_norm_eps", "norm_eps"]),
    float(
        "attention.layer_norm_epsilon",
        &["layer_norm_eps", "layer_norm_epsilon", "norm_epsilon"],
    ),
    count("expert_count", &["num_local_experts", "num_experts", "n_routed_experts"]),
    count("expert_used_count", &["num_experts_per_tok", "num_experts_per_token", "top_k_experts"]),
    count("expert_group_count", &["n_group"]),
    count("expert_group_used_count", &["topk_group"]),
];
