//! Unimplemented fields of Anthropic's endpoints.

use super::NoOp::{Empty, Text};
use super::{FieldTable, anything, hint, only, rejected};

/// Fields of `/v1/messages` and `/v1/messages/count_tokens`.
pub(crate) const CONVERSATION: FieldTable = &[
    only("speed", &[Text("standard")], "only \"standard\" is available"),
    only("mcp_servers", &[Empty], "tools are called by the client"),
    anything("cache_control", "prompts are always cached"),
    hint("context_management", "conversations are never truncated"),
    hint("thinking.display", "reasoning is returned in full"),
    hint("output_config.task_budget", "use max_tokens"),
    rejected("output_format", "use output_config.format"),
];

/// Fields of `/v1/messages` in addition to [`CONVERSATION`].
pub(crate) const MESSAGES: FieldTable = &[
    rejected("container", "code execution is not available"),
    anything("diagnostics", "see the server log"),
    anything("inference_geo", "requests are always processed by this server"),
    anything("service_tier", "all requests are processed alike"),
    anything("metadata", "an identifier of the end user, which is not used"),
];
