//! Forms of calls that are known by name: the usual one, and those of models whose templates do not write calls.

use super::{ARGUMENTS, ArgumentForm, CallForm, INDEX, LiteralForm, NAME, ParameterForm};

type Maker = fn() -> CallForm;

/// Forms of models whose templates do not write calls, each with a text in the template that identifies it.
const FORMS: &[(&str, Maker)] = &[
    ("<|tool_list_start|>", CallForm::lfm2),
    ("List of tools: [", CallForm::lfm2),
    ("<|tool_call|>", CallForm::granite),
    ("<|/tool|>", CallForm::phi),
    ("<|tool_calls_section_begin|>", CallForm::kimi),
];

impl CallForm {
    /// The form of a template that does not write calls.
    pub(super) fn known(source: &str) -> Self {
        let known = FORMS.iter().find(|(text, _)| source.contains(text));
        known.map_or_else(Self::hermes, |(_, form)| form())
    }

    /// `<tool_call>\n{"name": …, "arguments": …}\n</tool_call>`: Hermes, Qwen, and templates that support no tools.
    pub(crate) fn hermes() -> Self {
        let call = format!("<tool_call>\n{}\n</tool_call>", object());
        Self::new(["", &call, "\n", ""], ArgumentForm::Json)
    }

    /// `<|tool_call_start|>[name(key="value"), …]<|tool_call_end|>`: LFM2.
    pub(crate) fn lfm2() -> Self {
        let parameters = ParameterForm {
            open: "(".to_owned(),
            before_key: String::new(),
            before_value: "=".to_owned(),
            before_other: "=".to_owned(),
            after_value: String::new(),
            separator: ", ".to_owned(),
            close: ")".to_owned(),
            literals: Some(LiteralForm {
                quote: "\"".to_owned(),
                is_python: true,
                quotes_keys: true,
            }),
            enclosure: None,
        };
        let call = format!("{NAME}{ARGUMENTS}");
        let texts = ["<|tool_call_start|>[", &call, ", ", "]<|tool_call_end|>"];
        Self::new(texts, ArgumentForm::Parameters(Box::new(parameters)))
    }

    /// `<|tool_call|>[{"name": …, "arguments": …}, …]`: Granite 3.
    fn granite() -> Self {
        Self::new(["<|tool_call|>[", &object(), ", ", "]"], ArgumentForm::Json)
    }

    /// `<|tool_call|>[{"name": …, "arguments": …}, …]<|/tool_call|>`: Phi-4-mini.
    fn phi() -> Self {
        Self::new(["<|tool_call|>[", &object(), ", ", "]<|/tool_call|>"], ArgumentForm::Json)
    }

    /// `<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{…}<|tool_call_end|>` in a section: Kimi K2.
    fn kimi() -> Self {
        let call = format!(
            "<|tool_call_begin|>functions.{NAME}:{INDEX}<|tool_call_argument_begin|>{ARGUMENTS}<|tool_call_end|>"
        );
        let texts = ["<|tool_calls_section_begin|>", &call, "", "<|tool_calls_section_end|>"];
        Self::new(texts, ArgumentForm::Json)
    }
}

/// `{"name": …, "arguments": …}`.
fn object() -> String {
    format!("{{\"name\": \"{NAME}\", \"arguments\": {ARGUMENTS}}}")
}
