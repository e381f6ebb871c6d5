//! The families of models, one file for those that are related.

mod bert;
mod bitnet;
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
mod internlm;
mod kimi;
mod layer_norms;
mod layer_patterns;
mod lfm2;
mod llama;
mod long_rope;
mod mamba;
mod mellum;
mod minicpm;
mod minicpm3;
mod mixtures;
mod nemotron;
mod normal_distribution;
mod olmo;
mod others;
mod phi;
mod prediction;
mod qwen;
mod reranker;
mod rotary_encoders;
mod text_models;
mod tied_head;
mod vault_gemma;

use std::path::Path;

use crate::ConvertError;
use crate::config::{Config, Head};
use crate::family::Family;
pub(crate) use reranker::classifier;

/// Every family that can be chosen by the name of a class.
const FAMILIES: &[&Family] = &[
    &llama::LLAMA,
    &llama::MIXTRAL,
    &text_models::LLAVA,
    &llama::LLAMA4,
    &llama::MISTRAL3,
    &llama::MINISTRAL,
    &llama::CWM,
    &llama::HELIUM,
    &llama::SMOLLM3,
    &llama::ARCEE,
    &llama::APERTUS,
    &qwen::QWEN2,
    &qwen::QWEN2_VL,
    &qwen::QWEN2_5_OMNI,
    &qwen::QWEN2_MOE,
    &qwen::QWEN3,
    &qwen::QWEN3_MOE,
    &qwen::QWEN3_VL,
    &qwen::QWEN3_VL_MOE,
    &qwen::QWEN3_OMNI_MOE,
    &qwen::QWEN3_NEXT,
    &qwen::QWEN35,
    &qwen::QWEN35_MOE,
    &reranker::QWEN3_CLASSIFIER,
    &lfm2::LFM2,
    &lfm2::LFM2_MOE,
    &gemma::GEMMA,
    &gemma::GEMMA2,
    &vault_gemma::VAULT_GEMMA,
    &gemma::GEMMA3,
    &gemma::GEMMA3N,
    &gemma::GEMMA4,
    &deepseek::DEEPSEEK2,
    &deepseek::DEEPSEEK3,
    &kimi::KIMI_LINEAR,
    &gpt_oss::GPT_OSS,
    &glm::CHATGLM,
    &glm::GLM4,
    &glm::GLM_OCR,
    &glm::GLM4_MOE,
    &glm::GLM4_MOE_LITE,
    &glm::SOLAR_OPEN,
    &phi::PHI2,
    &phi::PHI3,
    &phi::PHI_MOE,
    &granite::GRANITE,
    &granite::GRANITE_MOE,
    &granite::GRANITE_HYBRID,
    &granite::BAMBA,
    &minicpm::MINICPM,
    &internlm::INTERN_LM2,
    &mamba::MAMBA,
    &mamba::MAMBA2,
    &mamba::JAMBA,
    &mamba::FALCON_H1,
    &nemotron::NEMOTRON,
    &nemotron::NEMOTRON_H,
    &olmo::OLMO,
    &olmo::OLMO2,
    &olmo::OLMO3,
    &olmo::FLEX_OLMO,
    &olmo::OLMOE,
    &cohere::COMMAND_R,
    &cohere::COHERE2,
    &exaone::EXAONE,
    &cohere::COHERE2_MOE,
    &exaone::EXAONE4,
    &exaone::EXAONE_MOE,
    &ernie::ERNIE4_5,
    &ernie::ERNIE4_5_MOE,
    &hunyuan::HUNYUAN_DENSE,
    &hunyuan::HUNYUAN_MOE,
    &hunyuan::HY_V3,
    &mellum::MELLUM,
    &mixtures::MIMO2,
    &mixtures::DBRX,
    &mixtures::LAGUNA,
    &others::SEED_OSS,
    &others::DOTS1,
    &others::MINIMAX_M2,
    &others::AFMOE,
    &bitnet::BITNET,
    &minicpm3::MINICPM3,
    &granite::GRANITE_SWA,
    &layer_norms::GPTJ,
    &layer_norms::BLOOM,
    &layer_norms::MPT,
    &layer_norms::GPT2,
    &layer_norms::STARCODER,
    &layer_norms::GPT_NEOX,
    &layer_norms::FALCON,
    &layer_norms::STARCODER2,
    &layer_norms::STABLELM,
    &layer_norms::JAIS2,
    &bert::BERT,
    &bert::DISTILBERT,
    &bert::ELECTRA,
    &bert::ERNIE,
    &bert::MPNET,
    &rotary_encoders::GTE,
    &bert::ROBERTA,
    &bert::CAMEMBERT,
    &bert::XLM_ROBERTA,
    &bert::JINA_BERT_V2,
    &rotary_encoders::JINA_BERT_V3,
    &rotary_encoders::NOMIC_BERT,
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
    let by_class = match decoder_with_head(class) {
        Some((family, decoder, head)) => {
            config.set_decoder(&decoder, head);
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

/// The decoder of which a class has the base alone, or the base with a score.
fn decoder_with_head(class: &str) -> Option<(&'static Family, String, Head)> {
    if let Some((family, decoder)) = decoder_of(class) {
        return Some((family, decoder, Head::Nothing));
    }
    let start = class.strip_suffix("ForSequenceClassification")?;
    // Some classes of text models have a name of their own.
    let start = start.strip_suffix("Text").unwrap_or(start);
    let decoder = format!("{start}ForCausalLM");
    Some((named(&decoder)?, decoder, Head::Score))
}

/// The decoder that has a head in addition to a base class.
fn decoder_of(base: &str) -> Option<(&'static Family, String)> {
    let decoder = format!("{}ForCausalLM", base.strip_suffix("Model")?);
    Some((named(&decoder)?, decoder))
}
