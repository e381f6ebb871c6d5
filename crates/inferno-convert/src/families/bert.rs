//! BERT and the encoders with its layers: DistilBERT, ELECTRA, ERNIE, MPNet, RoBERTa, XLM-RoBERTa, Jina Embeddings 2.

use inferno_gguf::StringArray;

use super::rotary_encoders;
use crate::ConvertError;
use crate::config::Config;
use crate::family::{Context, Family, GELU, Rule, TokenizerFacts, ViewError, map, rename, skip};
use crate::keys::Keys;
use crate::lazy::Lazy;
use crate::pooling;
use crate::transforms::rows;

/// Inputs and outputs, with the names that all of these encoders share.
pub(super) const EMBEDDINGS: &[Rule] = &[
    rename("embeddings.word_embeddings", "token_embd"),
    rename("embeddings.token_type_embeddings", "token_types"),
    rename("embeddings.LayerNorm", "token_embd_norm"),
    rename("emb_ln", "token_embd_norm"),
    rename("classifier.dense", "cls"),
    rename("classifier.out_proj", "cls.output"),
    // Predictions of masked tokens, of the next sentence, and embeddings that no classifier reads.
    skip("embeddings.position_ids"),
    skip("pooler.dense"),
    skip("cls.predictions.bias"),
    skip("cls.predictions.decoder"),
    skip("cls.predictions.transform.dense"),
    skip("cls.predictions.transform.LayerNorm"),
    skip("cls.predictions.transform.layer_norm"),
    skip("cls.seq_relationship"),
    skip("lm_head.bias"),
    skip("lm_head.decoder"),
    skip("lm_head.dense"),
    skip("lm_head.layer_norm"),
];

/// Layers as BERT names them.
const LAYERS: &[Rule] = &[
    rename("embeddings.position_embeddings", "position_embd"),
    rename("encoder.layer.{}.attention.self.query", "blk.{}.attn_q"),
    rename("encoder.layer.{}.attention.self.key", "blk.{}.attn_k"),
    rename("encoder.layer.{}.attention.self.value", "blk.{}.attn_v"),
    rename("encoder.layer.{}.attention.output.dense", "blk.{}.attn_output"),
    rename("encoder.layer.{}.attention.output.LayerNorm", "blk.{}.attn_output_norm"),
    rename("encoder.layer.{}.intermediate.dense", "blk.{}.ffn_up"),
    rename("encoder.layer.{}.output.dense", "blk.{}.ffn_down"),
    rename("encoder.layer.{}.output.LayerNorm", "blk.{}.layer_output_norm"),
];

pub(super) const BERT: Family = Family {
    classes: &[
        "BertModel",
        "BertForMaskedLM",
        "BertForPreTraining",
        "BertForSequenceClassification",
    ],
    activations: GELU,
    architecture: "bert",
    defaults: &[
        ("type_vocab_size", "2"),
        ("layer_norm_eps", "1e-12"),
        ("max_position_embeddings", "512"),
    ],
    keys: encoder,
    rename: |config, name| Ok(names(config, name)),
    rules: &[LAYERS, EMBEDDINGS],
    ..Family::DEFAULT
};

pub(super) const DISTILBERT: Family = Family {
    classes: &["DistilBertModel", "DistilBertForMaskedLM", "DistilBertForSequenceClassification"],
    keys: |context, keys| {
        encoder(context, keys)?;
        classifier_activation(context.config, keys, "relu");
        Ok(())
    },
    defaults: &[("layer_norm_eps", "1e-12"), ("max_position_embeddings", "512")],
    rules: &[
        &[
            rename("transformer.layer.{}.attention.q_lin", "blk.{}.attn_q"),
            rename("transformer.layer.{}.attention.k_lin", "blk.{}.attn_k"),
            rename("transformer.layer.{}.attention.v_lin", "blk.{}.attn_v"),
            rename("transformer.layer.{}.attention.out_lin", "blk.{}.attn_output"),
            rename("transformer.layer.{}.sa_layer_norm", "blk.{}.attn_output_norm"),
            rename("transformer.layer.{}.ffn.lin1", "blk.{}.ffn_up"),
            rename("transformer.layer.{}.ffn.lin2", "blk.{}.ffn_down"),
            rename("transformer.layer.{}.output_layer_norm", "blk.{}.layer_output_norm"),
            rename("pre_classifier", "cls"),
            skip("vocab_transform"),
            skip("vocab_layer_norm"),
            skip("vocab_projector"),
        ],
        LAYERS,
        EMBEDDINGS,
    ],
    ..BERT
};

/// The discriminators and generators whose embeddings have the width of the layers.
pub(super) const ELECTRA: Family = Family {
    classes: &[
        "ElectraModel",
        "ElectraForMaskedLM",
        "ElectraForPreTraining",
        "ElectraForSequenceClassification",
    ],
    keys: |context, keys| {
        encoder(context, keys)?;
        classifier_activation(context.config, keys, "gelu");
        Ok(())
    },
    rules: &[
        &[
            skip("discriminator_predictions.dense"),
            skip("discriminator_predictions.dense_prediction"),
            skip("generator_predictions.dense"),
            skip("generator_predictions.LayerNorm"),
            skip("generator_lm_head"),
        ],
        LAYERS,
        EMBEDDINGS,
    ],
    ..BERT
};

/// The models without embeddings of tasks.
pub(super) const ERNIE: Family = Family {
    classes: &["ErnieModel", "ErnieForMaskedLM", "ErnieForSequenceClassification"],
    expected: &[("use_task_id", "false")],
    ..BERT
};

pub(super) const MPNET: Family = Family {
    classes: &["MPNetModel", "MPNetForMaskedLM", "MPNetForSequenceClassification"],
    architecture: "mpnet",
    defaults: &[
        ("pad_token_id", "1"),
        ("type_vocab_size", "1"),
        ("layer_norm_eps", "1e-12"),
        ("max_position_embeddings", "512"),
    ],
    // The implementation of transformers has no other number.
    expected: &[("relative_attention_num_buckets", "32")],
    rules: &[
        &[
            map("embeddings.position_embeddings", "position_embd", used_positions),
            rename("encoder.relative_attention_bias", "attn_rel_b"),
            rename("encoder.layer.{}.attention.attn.q", "blk.{}.attn_q"),
            rename("encoder.layer.{}.attention.attn.k", "blk.{}.attn_k"),
            rename("encoder.layer.{}.attention.attn.v", "blk.{}.attn_v"),
            rename("encoder.layer.{}.attention.attn.o", "blk.{}.attn_output"),
            rename("encoder.layer.{}.attention.LayerNorm", "blk.{}.attn_output_norm"),
        ],
        LAYERS,
        EMBEDDINGS,
    ],
    tokenizer: TokenizerFacts::DEFAULT,
    ..ROBERTA
};

pub(super) const ROBERTA: Family = Family {
    classes: &["RobertaModel", "RobertaForMaskedLM", "RobertaForSequenceClassification"],
    defaults: &[
        ("pad_token_id", "1"),
        ("type_vocab_size", "2"),
        ("layer_norm_eps", "1e-12"),
        ("max_position_embeddings", "512"),
    ],
    prepare: shift_positions,
    rules: &[
        &[map("embeddings.position_embeddings", "position_embd", used_positions)],
        LAYERS,
        EMBEDDINGS,
    ],
    tokenizer: TokenizerFacts { pre_tokenizer: Some("roberta-bpe"), ..TokenizerFacts::DEFAULT },
    ..BERT
};

pub(super) const CAMEMBERT: Family = Family {
    classes: &["CamembertModel", "CamembertForMaskedLM", "CamembertForSequenceClassification"],
    ..ROBERTA
};

pub(super) const XLM_ROBERTA: Family = Family {
    classes: &["XLMRobertaModel", "XLMRobertaForMaskedLM", "XLMRobertaForSequenceClassification"],
    select: Some(|config, _| {
        let is_rotary = config.text("position_embedding_type")? == Some("rotary");
        match is_rotary || config.get("lora_adaptations").is_some() {
            true => Ok(&rotary_encoders::JINA_BERT_V3),
            false => Ok(&XLM_ROBERTA),
        }
    }),
    tokenizer: MULTILINGUAL,
    ..ROBERTA
};

pub(super) const MULTILINGUAL: TokenizerFacts =
    TokenizerFacts { unigram_pieces: Some(false), ..TokenizerFacts::DEFAULT };

pub(super) const JINA_BERT_V2: Family = Family {
    classes: &["JinaBertModel", "JinaBertForMaskedLM", "JinaBertForSequenceClassification"],
    architecture: "jina-bert-v2",
    rules: &[
        &[
            rename("encoder.layer.{}.attention.self.layer_norm_q", "blk.{}.attn_q_norm"),
            rename("encoder.layer.{}.attention.self.layer_norm_k", "blk.{}.attn_k_norm"),
            rename("encoder.layer.{}.layer_norm_1", "blk.{}.attn_norm_2"),
            rename("encoder.layer.{}.layer_norm_2", "blk.{}.layer_output_norm"),
            rename("encoder.layer.{}.mlp.layernorm", "blk.{}.layer_output_norm"),
            // Gates and values in one matrix.
            rename("encoder.layer.{}.mlp.gated_layers", "blk.{}.ffn_up"),
            rename("encoder.layer.{}.mlp.up_gated_layer", "blk.{}.ffn_up"),
            rename("encoder.layer.{}.mlp.gated_layers_v", "blk.{}.ffn_up"),
            rename("encoder.layer.{}.mlp.gated_layers_w", "blk.{}.ffn_gate"),
            rename("encoder.layer.{}.mlp.wo", "blk.{}.ffn_down"),
            rename("encoder.layer.{}.mlp.down_layer", "blk.{}.ffn_down"),
        ],
        LAYERS,
        EMBEDDINGS,
    ],
    tokenizer: TokenizerFacts { pre_tokenizer: Some("jina-v2-code"), ..TokenizerFacts::DEFAULT },
    ..BERT
};

/// A name for all tensors of adapters, which are not a part of the model.
pub(super) const ADAPTERS: &str = "adapters";

/// The name of a tensor without the prefixes and endings that depend on the class.
fn names(config: &Config, name: String) -> String {
    // Those of ERNIE are a decoder's by now.
    let prefixes = [
        "bert.",
        "roberta.",
        "distilbert.",
        "electra.",
        "mpnet.",
        "model.",
        "gte.",
        "new.",
        "nomic_bert.",
    ];
    let own = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(&name);
    // Weights to which adapters are added.
    let mut own = own.replace(".parametrizations.", ".");
    if own.ends_with(".lora_A") || own.ends_with(".lora_B") {
        return ADAPTERS.to_owned();
    }
    for (ending, replacement) in [(".original", ""), (".gamma", ".weight"), (".beta", ".bias")] {
        if let Some(stem) = own.strip_suffix(ending) {
            own = format!("{stem}{replacement}");
        }
    }
    // A classifier of one matrix reads the output of the pooler.
    let own_prefix = |prefix: &str| own.strip_prefix(prefix).filter(|end| !end.contains('.'));
    match (own_prefix("pooler.dense."), own_prefix("classifier.")) {
        (Some(ending), _) if is_classifier(config) => format!("classifier.dense.{ending}"),
        (_, Some(ending)) => format!("classifier.out_proj.{ending}"),
        _ => own,
    }
}

/// Sets what follows the first product of a classifier, if that is not a hyperbolic tangent.
fn classifier_activation(config: &Config, keys: &mut Keys, function: &str) {
    if is_classifier(config) {
        keys.set("classifier.activation", function);
    }
}

fn is_classifier(config: &Config) -> bool {
    config.architecture().is_ok_and(|class| class.ends_with("ForSequenceClassification"))
}

/// The metadata of encoders.
pub(super) fn encoder(context: &Context<'_>, keys: &mut Keys) -> Result<(), ConvertError> {
    let Context { config, .. } = context;
    keys.set("attention.causal", false);
    pooling::classifier(context, keys)?;
    let types = config.count_or(&["type_vocab_size"], 1)?;
    keys.set_global("tokenizer.ggml.token_type_count", types as u32);
    labels(context, keys)
}

/// The largest number of outputs whose names are not in the configuration.
const MAX_LABELS: usize = 1 << 16;

/// The names of the classifier's outputs, unless they are those that every configuration has.
pub(super) fn labels(context: &Context<'_>, keys: &mut Keys) -> Result<(), ConvertError> {
    let Context { config, .. } = context;
    let mut labels: Vec<(u64, String)> = match config.get("id2label") {
        Some(labels) => {
            let entries = labels.as_object().into_iter().flatten();
            entries
                .filter_map(|(id, label)| Some((id.parse().ok()?, label.as_str()?.to_owned())))
                .collect()
        }
        None => {
            let count = config.optional_count_up_to(MAX_LABELS, &["num_labels"])?.unwrap_or(0);
            (0..count as u64).map(|id| (id, format!("LABEL_{id}"))).collect()
        }
    };
    labels.sort();
    let is_default = labels.len() == 2 && labels[0].1 == "LABEL_0";
    if !labels.is_empty() && !is_default {
        let labels: StringArray = labels.iter().map(|(_, label)| label).collect();
        keys.set("classifier.output_labels", labels);
    }
    Ok(())
}

/// The position of the first token: positions up to that of padding are not used.
fn first_position(config: &Config) -> Result<usize, ConvertError> {
    Ok(config.optional_count(&["pad_token_id"])?.map_or(0, |id| id as usize + 1))
}

/// Subtracts the positions that are not used.
pub(super) fn shift_positions(config: &mut Config) -> Result<(), ConvertError> {
    let first = first_position(config)?;
    if let Some(positions) = config.optional_count(&["max_position_embeddings"])? {
        config.set("max_position_embeddings", (positions as usize).saturating_sub(first));
    }
    Ok(())
}

/// The embeddings of positions that are used.
fn used_positions(context: &Context<'_>, tensor: Lazy) -> Result<Lazy, ViewError> {
    let (first, len) = (first_position(context.config)?, tensor.shape[0]);
    rows(&tensor, first.min(len)..len)
}
