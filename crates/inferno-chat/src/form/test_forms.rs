//! Forms for tests.

use std::sync::Arc;

use super::{ARGUMENTS, AnswerForm, ArgumentForm, CallForm, NAME};

fn form(calls: [&str; 4]) -> AnswerForm {
    let calls = Arc::new(CallForm::new(calls, ArgumentForm::Json));
    AnswerForm { calls, ..AnswerForm::default() }
}

/// `{"name": …, "parameters": …}`, separated by `; `: Llama 3.
pub(crate) fn llama() -> AnswerForm {
    let call = format!("{{\"name\": \"{NAME}\", \"parameters\": {ARGUMENTS}}}");
    form(["", &call, "; ", ""])
}

/// `[TOOL_CALLS] [{"name": …, "arguments": …}, …]`: Mistral.
pub(crate) fn mistral() -> AnswerForm {
    let call = format!("{{\"name\": \"{NAME}\", \"arguments\": {ARGUMENTS}}}");
    form(["[TOOL_CALLS][", &call, ", ", "]"])
}

/// `[TOOL_CALLS]name[ARGS]{…}`: Mistral, newer.
pub(crate) fn mistral_args() -> AnswerForm {
    form(["", &format!("[TOOL_CALLS]{NAME}[ARGS]{ARGUMENTS}"), "", ""])
}
