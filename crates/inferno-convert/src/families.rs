//! The families of models, one file for those that are related.

mod bert;
mod cohere;
mod deepseek;
mod encoders;
mod ernie;
mod exaone;
mod gemma;
mod glm;
mod gpt_oss;
mod granite;
mod hunyuan;
mod layer_norms;
mod layer_patterns;
mod lfm2;
mod llama;
mod mamba;
mod nemotron;
mod normal_distribution;
mod olmo;
mod others;
mod phi;
mod prediction;
mod qwen;
mod reranker;
mod text_models;
mod tied_head;

use std::path::Path;

use crate::ConvertError;
use crate::config::Config;
use crate::family::Family;

/// Every family that can be chosen by the name of a class.
const FAMILIES: &[&Family] = &[
    &llama::LLAMA,
    &llama::MIXTRAL,
    &text_models::LLAVA,
    &llama::LLAMA4,
    &llama::MISTRAL3,
    &llama::SMOLLM3,
    &llama::ARCEE,
    &llama::APERTUS,
    &qwen::QWEN2,
    &qwen::QWEN2_VL,
    &qwen::QWEN2_MOE,
    &qwen::QWEN3,
    &qwen::QWEN3_MOE,
    &qwen::QWEN3_VL,
    &qwen::QWEN3_VL_MOE,
    &qwen::QWEN3_NEXT,
    &qwen::QWEN35,
    &qwen::QWEN35_MOE,
    &reranker::QWEN3_CLASSIFIER,
    &lfm2::LFM2,
    &lfm2::LFM2_MOE,
    &gemma::GEMMA,
    &gemma::GEMMA2,
    &gemma::GEMMA3,
    &gemma::GEMMA3N,
    &gemma::GEMMA4,
    &deepseek::DEEPSEEK2,
    &deepseek::DEEPSEEK3,
    &gpt_oss::GPT_OSS,
    &glm::GLM4,
    &glm::GLM_OCR,
    &glm::GLM4_MOE,
    &glm::GLM4_MOE_LITE,
    &phi::PHI2,
    &phi::PHI3,
    &granite::GRANITE,
    &granite::GRANITE_MOE,
    &granite::GRANITE_HYBRID,
    &granite::BAMBA,
    &mamba::MAMBA,
    &mamba::MAMBA2,
    &mamba::JAMBA,
    &mamba::FALCON_H1,
    &nemotron::NEMOTRON,
    &nemotron::NEMOTRON_H,
    &olmo::OLMO2,
    &olmo::OLMO3,
    &olmo::OLMOE,
    &cohere::COMMAND_R,
    &cohere::COHERE2,
    &exaone::EXAONE4,
    &exaone::EXAONE_MOE,
    &ernie::ERNIE4_5,
    &ernie::ERNIE4_5_MOE,
    &hunyuan::HUNYUAN_DENSE,
    &hunyuan::HUNYUAN_MOE,
    &others::SEED_OSS,
    &others::DOTS1,
    &others::MINIMAX_M2,
    &others::AFMOE,
    &layer_norms::GPT2,
    &layer_norms::STARCODER,
    &layer_norms::GPT_NEOX,
    &layer_norms::FALCON,
    &layer_norms::STARCODER2,
    &layer_norms::STABLELM,
    &bert::BERT,
    &bert::DISTILBERT,
    &bert::ROBERTA,
    &bert::CAMEMBERT,
    &bert::XLM_ROBERTA,
    &bert::JINA_BERT_V2,
    &bert::JINA_BERT_V3,
    &bert::NOMIC_BERT,
    &encoders::MODERN_BERT,
    &encoders::NEO_BERT,
    &encoders::EUROBERT,
    &gemma::GEMMA_EMBEDDING,
];

/// The names of all classes that can be converted, sorted.
pub(crate) fn known_classes() -> Vec<&'static str> {
    let mut names: Vec<_> =
        FAMILIES.iter().flat_map(|family| family.classes.iter().copied()).collect();
    names.sort_unstable();
    names
}

/// The family of the model in `folder`. The class of `config` becomes the one that is known: that of the decoder whose base the
/// model is, or of its text model.
///
/// **Errors**: [`ConvertError::UnknownArchitecture`].
pub(crate) fn family(config: &mut Config, folder: &Path) -> Result<&'static Family, ConvertError> {
    let class = config.architecture()?.to_owned();
    let family = named(&class).or_else(|| family_of_part(config, &class));
    let family = family.ok_or(ConvertError::UnknownArchitecture { found: class })?;
    match family.select {
        Some(select) => select(config, folder),
        None => Ok(family),
    }
}

/// The family of the decoder whose base a model of an unknown `class` is, or of its text model.
fn family_of_part(config: &mut Config, class: &str) -> Option<&'static Family> {
    // The families of text models by their type have the defaults of its class.
    let by_type = config.text_type().and_then(text_models::of_type);
    let by_class = match decoder_of(class) {
        Some((family, decoder)) => {
            config.set_base_of(&decoder);
            Some(family)
        }
        None => {
            let text = config.text_architecture().map(str::to_owned);
            let own = |text: String| Some((named(&text)?, text));
            let found = text.and_then(|text| own(text.clone()).or_else(|| decoder_of(&text)));
            found.map(|(family, known)| {
                config.set("architectures", vec![known]);
                family
            })
        }
    };
    by_type.or(by_class)
}

/// The family of a class.
fn named(class: &str) -> Option<&'static Family> {
    FAMILIES.iter().copied().find(|family| family.classes.contains(&class))
}

/// The decoder that has a head in addition to a base class.
fn decoder_of(base: &str) -> Option<(&'static Family, String)> {
    let decoder = format!("{}ForCausalLM", base.strip_suffix("Model")?);
    Some((named(&decoder)?, decoder))
}
