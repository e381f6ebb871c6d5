//! Forms for tests.

use std::sync::Arc;

use super::{ARGUMENTS, AnswerForm, ArgumentForm, CallForm, Delimiters, NAME, ParameterForm};

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

/// `<tool_call>\n<function=name>\n<parameter=key>\nvalue\n</parameter>\n</function>\n</tool_call>`: Qwen3-Coder.
pub(crate) fn elements() -> AnswerForm {
    let parameters = ParameterForm {
        open: ">\n".to_owned(),
        before_key: "<parameter=".to_owned(),
        before_value: ">\n".to_owned(),
        before_other: ">\n".to_owned(),
        after_value: "\n</parameter>\n".to_owned(),
        separator: String::new(),
        close: "</function>".to_owned(),
        literals: None,
        enclosure: None,
    };
    let call = format!("<tool_call>\n<function={NAME}{ARGUMENTS}\n</tool_call>");
    let calls =
        CallForm::new(["", &call, "\n", ""], ArgumentForm::Parameters(Box::new(parameters)));
    AnswerForm { calls: Arc::new(calls), ..AnswerForm::default() }
}

/// `<|python_start|>content<|python_end|>{"name": …, "parameters": …}`, with or without the tags: Llama 4.
pub(crate) fn llama_4() -> AnswerForm {
    let call = format!("{{\"name\": \"{NAME}\", \"parameters\": {ARGUMENTS}}}");
    let form = form(["<|python_end|>", &call, "", ""]);
    let calls = CallForm { optional_open: true, ..CallForm::clone(&form.calls) };
    let content = Delimiters::new("<|python_start|>", "");
    AnswerForm { calls: Arc::new(calls), content, ..form }
}
