//! Unimplemented fields of Ollama's endpoints.

use super::NoOp::{Bool, Empty, Number};
use super::{FieldTable, anything, only};

const LOADED: &str = "the model stays loaded";

/// Fields of `/api/chat` and `/api/generate`. Further `options` are ignored: they are about how the model is loaded.
pub(crate) const ANSWER: FieldTable = &[
    anything("keep_alive", LOADED),
    anything("truncate", "prompts are never truncated"),
    anything("shift", "an answer ends when the context is full"),
    only("logprobs", &[Bool(false)], "use /v1/chat/completions"),
    anything("top_logprobs", "logprobs is not implemented"),
    only("options.mirostat", &[Number(0.0)], "this sampler is not implemented"),
];

/// Fields of `/api/generate`.
pub(crate) const GENERATE: FieldTable = &[
    only("template", &[Empty], "start the server with --chat-template"),
    only("context", &[Empty], "send the messages to /api/chat"),
    only("images", &[Empty], "this model reads text only"),
];

/// Fields of `/api/embed` and `/api/embeddings`.
pub(crate) const EMBED: FieldTable =
    &[anything("keep_alive", LOADED), anything("options", "nothing is sampled")];

/// Fields of `/api/show` and `/api/pull`.
pub(crate) const MODEL: FieldTable = &[
    anything("verbose", "all details are always returned"),
    anything("insecure", "nothing is downloaded"),
];
