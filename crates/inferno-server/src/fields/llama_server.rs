//! Unimplemented fields of llama-server's endpoints, and those of its samplers, which clients also send to OpenAI's.

use super::NoOp::{Bool, Empty, Number};
use super::{FieldTable, anything, hint, only};

const CACHED: &str = "prompts are always cached, and evicted by recency";
const CONTEXT: &str = "an answer ends when the context is full";
const SAMPLER: &str = "this sampler is not implemented";

/// Fields of samplers, slots and the prompt cache, on every generating endpoint of OpenAI and llama-server.
pub(crate) const SAMPLERS: FieldTable = &[
    only("mirostat", &[Number(0.0), Bool(false)], SAMPLER),
    anything("mirostat_tau", "it only applies to mirostat"),
    anything("mirostat_eta", "it only applies to mirostat"),
    only("tfs_z", &[Number(1.0)], SAMPLER),
    only("xtc_probability", &[Number(0.0)], SAMPLER),
    anything("xtc_threshold", "it only applies with xtc_probability"),
    only("dynatemp_range", &[Number(0.0)], SAMPLER),
    anything("dynatemp_exponent", "it only applies with dynatemp_range"),
    only("top_n_sigma", &[Number(-1.0), Number(0.0)], SAMPLER),
    only("min_keep", &[Number(0.0), Number(1.0)], SAMPLER),
    hint("samplers", "the order of samplers is fixed"),
    only("lora", &[Empty], "adapters are not supported"),
    anything("cache_prompt", CACHED),
    anything("n_cache_reuse", CACHED),
    anything("id_slot", "sequences are scheduled by the server"),
    anything("n_keep", CONTEXT),
];

/// Fields of `/completion` and `/infill` in addition to [`SAMPLERS`].
pub(crate) const COMPLETION: FieldTable = &[
    only("post_sampling_probs", &[Bool(false)], "log-probabilities are those before sampling"),
    only("n_indent", &[Number(0.0)], "use a grammar"),
    only("t_max_predict_ms", &[Number(0.0), Number(-1.0)], "use n_predict"),
    anything("n_discard", CONTEXT),
    anything("backend_sampling", "there is one sampler"),
];

/// Fields of `/embedding`.
pub(crate) const EMBEDDING: FieldTable = &[];
