//! The supported architectures, by family, listed in [`ARCHITECTURES`].
//!
//! Language models differ in facts, which are data here; the code is the shared decoder in `layers`.

pub(crate) mod architecture;
pub(crate) mod attention_facts;
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
mod lfm2;
mod llama;
mod mamba;
mod olmo;
mod others;
mod phi;
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
    &gemma::GEMMA3,
    &gemma::GEMMA3N,
    &gemma::GEMMA4,
    &deepseek::DEEPSEEK2,
    &deepseek::MISTRAL4,
    &gpt_oss::GPT_OSS,
    &glm::GLM4,
    &glm::GLM4_MOE,
    &phi::PHI2,
    &phi::PHI3,
    &granite::GRANITE,
    &granite::GRANITE_MOE,
    &granite::GRANITE_HYBRID,
    &mamba::MAMBA,
    &mamba::JAMBA,
    &mamba::MAMBA2,
    &mamba::NEMOTRON_H,
    &mamba::NEMOTRON_H_MOE,
    &mamba::FALCON_H1,
    &olmo::OLMO2,
    &olmo::OLMOE,
    &cohere::COMMAND_R,
    &cohere::COHERE2,
    &exaone::EXAONE,
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
    &layer_norms::NEMOTRON,
    &layer_norms::STABLELM,
    &encoders::BERT,
    &encoders::NOMIC_BERT,
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
