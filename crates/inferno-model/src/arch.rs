//! The supported architectures, by family, listed in [`ARCHITECTURES`].
//!
//! Language models differ in facts, which are data here; the code is the shared decoder in `layers`.

pub(crate) mod architecture;
pub(crate) mod attention_facts;
mod bailing;
mod bitnet;
mod cohere;
mod deci;
mod deepseek;
mod distance_biases;
mod encoders;
mod ernie;
mod exaone;
mod gemma;
mod glm;
mod gpt_oss;
mod granite;
mod hunyuan;
mod kimi;
mod layer_norms;
mod lfm2;
mod llama;
mod mamba;
mod mellum;
mod minicpm3;
mod mixtures;
mod nanbeige;
mod olmo;
mod others;
mod phi;
mod plamo;
mod qwen;

use crate::ModelError;
pub use architecture::Architecture;

/// Every supported architecture.
pub const ARCHITECTURES: &[&Architecture] = &[
    &llama::LLAMA,
    &llama::LLAMA4,
    &llama::MISTRAL3,
    &llama::SMOLLM3,
    &llama::ARCEE,
    &llama::APERTUS,
    &deci::DECI,
    &qwen::QWEN,
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
    &lfm2::LFM2,
    &lfm2::LFM2_MOE,
    &gemma::GEMMA,
    &gemma::GEMMA2,
    &gemma::VAULT_GEMMA,
    &gemma::GEMMA3,
    &gemma::GEMMA3N,
    &gemma::GEMMA4,
    &deepseek::DEEPSEEK,
    &deepseek::DEEPSEEK2,
    &deepseek::MISTRAL4,
    &kimi::KIMI_LINEAR,
    &gpt_oss::GPT_OSS,
    &glm::CHATGLM,
    &glm::GLM4,
    &glm::GLM4_MOE,
    &phi::PHI2,
    &phi::PHI3,
    &phi::PHI_MOE,
    &granite::GRANITE,
    &granite::GRANITE_MOE,
    &granite::GRANITE_HYBRID,
    &granite::MINICPM,
    &mamba::MAMBA,
    &mamba::JAMBA,
    &mamba::MAMBA2,
    &mamba::NEMOTRON_H,
    &mamba::NEMOTRON_H_MOE,
    &mamba::FALCON_H1,
    &olmo::OLMO,
    &olmo::OLMO2,
    &olmo::OLMOE,
    &cohere::COMMAND_R,
    &cohere::COHERE2,
    &cohere::COHERE2_MOE,
    &exaone::EXAONE,
    &exaone::EXAONE4,
    &exaone::EXAONE_MOE,
    &ernie::ERNIE4_5,
    &ernie::ERNIE4_5_MOE,
    &ernie::PADDLE_OCR,
    &hunyuan::HUNYUAN_DENSE,
    &hunyuan::HUNYUAN_MOE,
    &hunyuan::HUNYUAN_VL,
    &hunyuan::HY_V3,
    &mixtures::SMALL_THINKER,
    &mixtures::ARCTIC,
    &mixtures::MIMO2,
    &mixtures::STEP35,
    &mixtures::DBRX,
    &mixtures::LAGUNA,
    &mellum::MELLUM,
    &bailing::BAILING_MOE,
    &bailing::BAILING_MOE2,
    &others::SEED_OSS,
    &others::DOTS1,
    &others::MINIMAX_M2,
    &others::AFMOE,
    &others::INTERN_LM2,
    &others::XVERSE,
    &others::PANGU_EMBEDDED,
    &others::MAINCODER,
    &others::OPEN_ELM,
    &distance_biases::BAICHUAN,
    &distance_biases::REFACT,
    &bitnet::BITNET,
    &minicpm3::MINICPM3,
    &plamo::PLAMO3,
    &nanbeige::NANBEIGE,
    &granite::GRANITE_SWA,
    &layer_norms::BLOOM,
    &layer_norms::MPT,
    &layer_norms::GPTJ,
    &layer_norms::JAIS,
    &layer_norms::GPT2,
    &layer_norms::STARCODER,
    &layer_norms::GPT_NEOX,
    &layer_norms::FALCON,
    &layer_norms::STARCODER2,
    &layer_norms::NEMOTRON,
    &layer_norms::STABLELM,
    &layer_norms::ORION,
    &layer_norms::CODE_SHELL,
    &layer_norms::JAIS2,
    &encoders::BERT,
    &encoders::MPNET,
    &encoders::NOMIC_BERT,
    &encoders::GTE,
    &encoders::NOMIC_BERT_MOE,
    &encoders::JINA_BERT_V2,
    &encoders::JINA_BERT_V3,
    &encoders::MODERN_BERT,
    &encoders::NEO_BERT,
    &encoders::EUROBERT,
    &encoders::LLAMA_EMBED,
    &encoders::GEMMA_EMBEDDING,
];

/// Returns the architecture with the given `general.architecture` name.
///
/// **Errors**: [`ModelError::UnknownArchitecture`], which lists the supported ones.
pub fn architecture(name: &str) -> Result<&'static Architecture, ModelError> {
    ARCHITECTURES.iter().copied().find(|known| known.name == name).ok_or_else(|| {
        ModelError::UnknownArchitecture {
            found: name.to_owned(),
            nearest: nearest(name),
            known: ARCHITECTURES.iter().map(|known| known.name).collect(),
        }
    })
}

/// The letters that an architecture's name begins with, such as `qwen` for `qwen3moe`.
fn family(name: &str) -> &str {
    name.split(|char: char| !char.is_ascii_alphabetic()).next().unwrap_or_default()
}

/// The supported name of the same family that shares the longest beginning with `name`.
fn nearest(name: &str) -> Option<&'static str> {
    let common = |known: &str| name.bytes().zip(known.bytes()).take_while(|(a, b)| a == b).count();
    let names = ARCHITECTURES.iter().map(|known| known.name);
    // Of equally similar ones, the shortest.
    names
        .filter(|known| !family(name).is_empty() && family(known) == family(name))
        .max_by_key(|known| (common(known), std::cmp::Reverse(known.len())))
}
