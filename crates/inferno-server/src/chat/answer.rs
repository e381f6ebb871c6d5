//! A whole answer, in the order in which the model wrote it.

use inferno_chat::AnswerDelta;
use inferno_engine::SampledToken;

/// A whole answer. Its parts are those that a stream opens one after the other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    pub parts: Vec<FinishedPart>,
    pub tokens: Vec<SampledToken>,
}

/// A part of an answer, none of which is empty but the arguments of a call.
#[derive(Debug, Clone)]
pub(crate) enum FinishedPart {
    Reasoning(String),
    Content(String),
    Call(ToolCall),
}

/// A call of a tool.
#[derive(Debug, Clone)]
pub(crate) struct ToolCall {
    pub id: String,
    pub name: String,
    /// JSON, as the model generated it.
    pub arguments: String,
}

/// An answer for APIs that separate it by kind instead of by part.
pub(crate) struct AnswerByKind {
    pub reasoning: String,
    pub content: String,
    pub calls: Vec<ToolCall>,
    pub tokens: Vec<SampledToken>,
}

impl Answer {
    /// Adds what a stream would send.
    pub(super) fn take(&mut self, deltas: Vec<AnswerDelta>) {
        for delta in deltas {
            match (delta, self.parts.last_mut()) {
                (AnswerDelta::Reasoning(text), Some(FinishedPart::Reasoning(all)))
                | (AnswerDelta::Content(text), Some(FinishedPart::Content(all))) => {
                    all.push_str(&text);
                }
                (AnswerDelta::Reasoning(text), _) => self.parts.push(FinishedPart::Reasoning(text)),
                (AnswerDelta::Content(text), _) => self.parts.push(FinishedPart::Content(text)),
                (AnswerDelta::ToolCall { id, name, .. }, _) => {
                    let call = ToolCall { id, name, arguments: String::new() };
                    self.parts.push(FinishedPart::Call(call));
                }
                (AnswerDelta::Arguments { text, .. }, Some(FinishedPart::Call(call))) => {
                    call.arguments.push_str(&text);
                }
                // Arguments follow their call.
                (AnswerDelta::Arguments { .. }, _) => {}
            }
        }
    }

    /// Joins the parts of each kind.
    pub fn by_kind(self) -> AnswerByKind {
        let (mut reasoning, mut content, mut calls) = (String::new(), String::new(), Vec::new());
        for part in self.parts {
            match part {
                FinishedPart::Reasoning(text) => reasoning.push_str(&text),
                FinishedPart::Content(text) => content.push_str(&text),
                FinishedPart::Call(call) => calls.push(call),
            }
        }
        AnswerByKind { reasoning, content, calls, tokens: self.tokens }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_their_order() {
        let mut answer = Answer::default();
        let call = AnswerDelta::ToolCall { index: 0, id: "1".to_owned(), name: "f".to_owned() };
        let arguments = |text: &str| AnswerDelta::Arguments { index: 0, text: text.to_owned() };
        let content = |text: &str| AnswerDelta::Content(text.to_owned());
        answer.take(vec![AnswerDelta::Reasoning("Hm".to_owned()), content("a"), content("b")]);
        answer.take(vec![call, arguments("{"), arguments("}"), content("c")]);
        let texts = answer.parts.iter().map(|part| match part {
            FinishedPart::Reasoning(text) | FinishedPart::Content(text) => text.as_str(),
            FinishedPart::Call(call) => call.arguments.as_str(),
        });
        let parts: Vec<_> = texts.collect();
        assert_eq!(parts, ["Hm", "ab", "{}", "c"]);
        let AnswerByKind { reasoning, content, calls, .. } = answer.by_kind();
        assert_eq!((reasoning.as_str(), content.as_str(), calls.len()), ("Hm", "abc", 1));
    }
}
