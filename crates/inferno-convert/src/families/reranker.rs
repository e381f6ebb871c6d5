//! Rerankers made of Qwen 3: decoders that judge a pair of texts by the word "yes" or "no", and classifiers.

use std::path::Path;

use inferno_gguf::StringArray;
use serde_json::Value;

use super::{bert, qwen};
use crate::config::Config;
use crate::family::{Context, Family, ViewError, map, split};
use crate::keys::Keys;
use crate::lazy::Lazy;
use crate::transforms::{rows, same};
use crate::{ConvertError, json, tokenizer};

/// Qwen3-Reranker, which has the class of other decoders and is recognized by its name.
pub(super) const QWEN3: Family = Family {
    architecture: "qwen3",
    keys: judge,
    rename: answering,
    rules: &[&[
        map(ANSWERING_HEAD, "cls.output", answer_rows),
        split(ANSWERING_EMBEDDINGS, &[("token_embd", same), ("cls.output", answer_rows)]),
    ]],
    ..Family::DEFAULT
};

pub(super) const QWEN3_VL: Family = Family {
    architecture: "qwen3vl",
    defaults: qwen::QWEN3_VL_DEFAULTS,
    keys: |context, keys| {
        judge(context, keys)?;
        qwen::deepstack(context, keys)
    },
    ..QWEN3
};

/// A classifier with one output, such as the conversions of Qwen3-Reranker for sentence-transformers.
pub(super) const QWEN3_CLASSIFIER: Family = Family {
    classes: &["Qwen3ForSequenceClassification"],
    architecture: "qwen3",
    keys: |context, keys| {
        if is_reranker(context.config, context.folder) {
            template(keys);
        }
        classifier(context, keys)
    },
    ..Family::DEFAULT
};

/// The metadata of decoders with a score instead of logits.
pub(crate) fn classifier(context: &Context<'_>, keys: &mut Keys) -> Result<(), ConvertError> {
    keys.set("pooling_type", RANK);
    bert::labels(context, keys)
}

/// The value of `pooling_type` for models with a classifier.
const RANK: u32 = 4;

/// The answers whose logits are compared, the one for relevant documents first.
const ANSWERS: [&str; 2] = ["yes", "no"];

/// What Qwen3-Reranker reads, with the instruction that its authors recommend for searches.
const TEMPLATE: &str = "<|im_start|>system\n\
    Judge whether the Document meets the requirements based on the Query and the Instruct provided. \
    Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n\
    <|im_start|>user\n\
    <Instruct>: Given a web search query, retrieve relevant passages that answer the query\n\
    <Query>: {query}\n\
    <Document>: {document}<|im_end|>\n\
    <|im_start|>assistant\n<think>\n\n</think>\n\n";

/// Names for the tensor whose rows are the weights of answers: the output head, or embeddings that are used as one.
const ANSWERING_HEAD: &str = "answering_head";
const ANSWERING_EMBEDDINGS: &str = "answering_embeddings";

/// Whether a folder has Qwen3-Reranker or a model derived from it: by the title of its README, its own name, or the name
/// in `config.json`, as in llama.cpp's converter.
pub(super) fn is_reranker(config: &Config, folder: &Path) -> bool {
    const NAMES: [&str; 2] = ["qwen3-reranker", "qwen3-vl-reranker"];
    let whole = folder.canonicalize();
    let own_name = whole.as_deref().unwrap_or(folder).file_name().and_then(|name| name.to_str());
    let in_config = ["_name_or_path", "model_type"];
    let in_config = in_config.into_iter().filter_map(|key| config.get(key).and_then(Value::as_str));
    let mut hints = own_name.into_iter().chain(in_config).map(str::to_lowercase);
    if hints.any(|hint| NAMES.iter().any(|name| hint.contains(name))) {
        return true;
    }
    let readme = json::read_text(&folder.join("README.md")).ok().flatten();
    let readme = readme.unwrap_or_default().to_lowercase();
    NAMES.iter().any(|name| readme.contains(&format!("# {name}")))
}

/// The metadata of a decoder that answers.
fn judge(context: &Context<'_>, keys: &mut Keys) -> Result<(), ConvertError> {
    let head = "lm_head.weight";
    if !is_tied(context.config)? && context.sources.find(head).is_none() {
        return Err(ConvertError::MissingTensor { name: head.to_owned() });
    }
    keys.set("pooling_type", RANK);
    keys.set("classifier.output_labels", ANSWERS.iter().collect::<StringArray>());
    template(keys);
    Ok(())
}

fn template(keys: &mut Keys) {
    const NAME: &str = "rerank";
    keys.set_global(&format!("tokenizer.chat_template.{NAME}"), TEMPLATE);
    keys.set_global("tokenizer.chat_templates", [NAME].into_iter().collect::<StringArray>());
}

fn is_tied(config: &Config) -> Result<bool, ConvertError> {
    config.is_set("tie_word_embeddings")
}

/// The name of a tensor, another one for that with the rows of the answers.
fn answering(config: &Config, name: String) -> Result<String, ConvertError> {
    Ok(match (name.as_str(), is_tied(config)?) {
        ("lm_head.weight", false) => format!("{ANSWERING_HEAD}.weight"),
        ("model.embed_tokens.weight", true) => format!("{ANSWERING_EMBEDDINGS}.weight"),
        _ => name,
    })
}

/// The rows of [`ANSWERS`].
fn answer_rows(context: &Context<'_>, tensor: Lazy) -> Result<Lazy, ViewError> {
    let ids = tokenizer::token_ids(context.folder, &ANSWERS)?;
    let answers = ids.into_iter().map(|id| rows(&tensor, id..id.saturating_add(1)));
    Ok(Lazy::concat(answers.collect::<Result<_, _>>()?)?)
}
