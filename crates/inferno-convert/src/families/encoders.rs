//! Encoders whose layers are not those of BERT: ModernBERT, NeoBERT, EuroBERT.

use super::bert::{encoder, labels};
use crate::ConvertError;
use crate::config::{Config, invalid};
use crate::family::{Context, Family, TokenizerFacts, rename, skip};
use crate::pooling;

pub(super) const MODERN_BERT: Family = Family {
    classes: &["ModernBertModel", "ModernBertForMaskedLM", "ModernBertForSequenceClassification"],
    activations: &[],
    architecture: "modern-bert",
    select: Some(|config, _| match config.is_null("local_rope_theta") {
        true => Ok(&MODERN_BERT_WITH_ONE_BASE),
        false => Ok(&MODERN_BERT),
    }),
    defaults: &[
        ("norm_eps", "1e-5"),
        ("global_rope_theta", "160000.0"),
        ("local_rope_theta", "10000.0"),
        ("local_attention", "128"),
        ("hidden_activation", "\"gelu\""),
        ("classifier_pooling", "\"cls\""),
        ("max_position_embeddings", "8192"),
    ],
    keys: |context, keys| {
        let Context { config, .. } = context;
        keys.set("attention.causal", false);
        // Only the head of classifiers has this activation.
        if config.architecture()?.ends_with("ForSequenceClassification") {
            config.expect_text("classifier_activation", &["gelu"])?;
        }
        pooling::classifier(context, keys)?;
        labels(context, keys)?;
        keys.count("attention.sliding_window", config.count(&["local_attention"])?);
        if let Some(interval) = interval(config)? {
            keys.count("attention.sliding_window_pattern", interval);
        }
        keys.unscaled();
        keys.count("vocab_size", config.count(&["vocab_size"])?);
        if let Some(activation) = config.text("hidden_activation")? {
            keys.set("hidden_activation", activation);
        }
        Ok(())
    },
    rename: |config, name| {
        let own = name.strip_prefix("model.").unwrap_or(&name);
        let is_classifier = config.architecture()?.ends_with("ForSequenceClassification");
        Ok(match own.strip_prefix("head.") {
            // The head before the prediction of masked tokens.
            Some(rest) if !is_classifier => format!("unused.{rest}"),
            _ => own.to_owned(),
        })
    },
    rules: &[&[
        rename("embeddings.tok_embeddings", "token_embd"),
        rename("embeddings.norm", "token_embd_norm"),
        rename("layers.{}.attn_norm", "blk.{}.attn_norm"),
        rename("layers.{}.attn.Wqkv", "blk.{}.attn_qkv"),
        rename("layers.{}.attn.Wo", "blk.{}.attn_output"),
        rename("layers.{}.mlp_norm", "blk.{}.ffn_norm"),
        rename("layers.{}.mlp.Wi", "blk.{}.ffn_up"),
        rename("layers.{}.mlp.Wo", "blk.{}.ffn_down"),
        rename("final_norm", "output_norm"),
        rename("head.dense", "cls"),
        rename("head.norm", "cls.norm"),
        rename("classifier", "cls.output"),
        skip("unused.dense"),
        skip("unused.norm"),
        skip("decoder"),
    ]],
    tokenizer: TokenizerFacts {
        added: &[("bos", true), ("eos", true), ("sep", true)],
        ..TokenizerFacts::DEFAULT
    },
    ..Family::DEFAULT
};

/// ModernBERT with `null` as the rotary base of layers with a window, which have that of the others.
const MODERN_BERT_WITH_ONE_BASE: Family = Family {
    classes: &[],
    select: None,
    keys: |context, keys| {
        (MODERN_BERT.keys)(context, keys)?;
        keys.float("rope.freq_base_swa", context.config.rope().float("rope_theta")?);
        Ok(())
    },
    ..MODERN_BERT
};

/// Every how many layers attention is not limited to a window, if that is stated or follows from the kinds of layers.
fn interval(config: &Config) -> Result<Option<usize>, ConvertError> {
    if let Some(interval) = config.optional_count(&["global_attn_every_n_layers"])? {
        return Ok(Some(interval as usize));
    }
    let Some(full) = config.layers_of_type(&["full_attention"])? else { return Ok(None) };
    let second = full.iter().skip(1).position(|&is_full| is_full);
    let interval = second.map_or(full.len(), |position| position + 1).max(1);
    let expected = (0..full.len()).map(|layer| layer % interval == 0);
    match expected.eq(full.iter().copied()) {
        // What runtimes assume without the key.
        true if interval == 3 => Ok(None),
        true => Ok(Some(interval)),
        false => Err(invalid("layer_types", "full attention at equal intervals", "another order")),
    }
}

pub(super) const NEO_BERT: Family = Family {
    classes: &["NeoBERT", "NeoBERTLMHead", "NeoBERTForSequenceClassification"],
    activations: &[],
    architecture: "neo-bert",
    keys: |context, keys| {
        let Context { config, .. } = context;
        encoder(context, keys)?;
        let size = config.count(&["intermediate_size"])?;
        keys.count("feed_forward_length", 2 * size / 3);
        keys.float("rope.freq_base", 10_000.0);
        keys.unscaled();
        let epsilon = config.optional_float(&["norm_eps"])?.unwrap_or(1e-6);
        keys.float("attention.layer_norm_rms_epsilon", epsilon);
        // The first token.
        keys.set("pooling_type", 2_u32);
        Ok(())
    },
    rename: |_, name| Ok(name.strip_prefix("model.").unwrap_or(&name).to_owned()),
    rules: &[&[
        rename("encoder", "token_embd"),
        rename("transformer_encoder.{}.attention_norm", "blk.{}.attn_norm"),
        rename("transformer_encoder.{}.qkv", "blk.{}.attn_qkv"),
        rename("transformer_encoder.{}.wo", "blk.{}.attn_output"),
        rename("transformer_encoder.{}.ffn_norm", "blk.{}.ffn_norm"),
        rename("transformer_encoder.{}.ffn.w12", "blk.{}.ffn_up"),
        rename("transformer_encoder.{}.ffn.w3", "blk.{}.ffn_down"),
        rename("layer_norm", "enc.output_norm"),
        rename("dense", "cls"),
        rename("classifier", "cls.output"),
        skip("decoder"),
    ]],
    ..Family::DEFAULT
};

pub(super) const EUROBERT: Family = Family {
    classes: &["EuroBertModel", "EuroBertForMaskedLM", "JinaEmbeddingsV5Model"],
    architecture: "eurobert",
    defaults: &[("rope_theta", "250000.0"), ("rms_norm_eps", "1e-5")],
    keys: |_, keys| {
        keys.set("attention.causal", false);
        keys.unscaled();
        Ok(())
    },
    // The head that predicts masked tokens.
    rules: &[&[skip("lm_head")]],
    tokenizer: TokenizerFacts { added: &[("bos", false)], ..TokenizerFacts::DEFAULT },
    ..Family::DEFAULT
};
