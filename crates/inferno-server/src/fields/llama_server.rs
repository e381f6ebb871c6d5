//! Unimplemented fields of llama-server's endpoints.

use super::NoOp::{Bool, Empty, Number};
use super::{FieldTable, anything, only};

const SAMPLER: &str = "this sampler is not implemented";

/// Fields of `/completion` and `/infill`.
pub(crate) const COMPLETION: FieldTable = &[
    only("mirostat", &[Number(0.0)], SAMPLER),
    anything("mirostat_tau", "mirostat is not implemented"),
    anything("mirostat_eta", "mirostat is not implemented"),
    only("dynatemp_range", &[Number(0.0)], SAMPLER),
    anything("dynatemp_exponent", "dynamic temperature is not implemented"),
    only("dry_multiplier", &[Number(0.0)], SAMPLER),
    anything("dry_base", "DRY is not implemented"),
    anything("dry_allowed_length", "DRY is not implemented"),
    anything("dry_penalty_last_n", "DRY is not implemented"),
    anything("dry_sequence_breakers", "DRY is not implemented"),
    only("xtc_probability", &[Number(0.0)], SAMPLER),
    anything("xtc_threshold", "XTC is not implemented"),
    only("top_n_sigma", &[Number(0.0), Number(-1.0)], SAMPLER),
    anything("samplers", "the order of samplers is fixed"),
    anything("min_keep", "samplers always keep one token"),
    only("post_sampling_probs", &[Bool(false)], "log-probabilities are those before sampling"),
    only("n_indent", &[Number(0.0)], "use a grammar"),
    only("t_max_predict_ms", &[Number(0.0), Number(-1.0)], "use n_predict"),
    only("lora", &[Empty], "adapters are not supported"),
    anything("cache_prompt", "prompts are always cached"),
    anything("n_cache_reuse", "prompts are always cached"),
    anything("id_slot", "sequences are scheduled by the server"),
    anything("n_keep", "an answer ends when the context is full"),
    anything("n_discard", "an answer ends when the context is full"),
    anything("return_progress", "a stream begins with the first token"),
    anything("backend_sampling", "there is one sampler"),
];

/// Fields of `/embedding`.
pub(crate) const EMBEDDING: FieldTable =
    &[anything("embd_normalize", "embeddings always have an L2 norm of 1")];
