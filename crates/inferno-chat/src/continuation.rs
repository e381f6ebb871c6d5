//! Prompts that end inside the last message, which the model continues.

use serde_json::Value;

use crate::{ChatRequest, ChatTemplate, ChatTemplateError, unique_id};

impl ChatTemplate {
    /// Renders a conversation up to the end of its last message, which the model continues.
    ///
    /// The message is rendered with a marker at its end, and the text is cut at the marker: what templates write after a message
    /// may look like its end. The marker also preserves whitespace at the end of a message, even if the template trims it.
    ///
    /// **Errors**: as [`render_prompt`](Self::render_prompt); [`ChatTemplateError::Continuation`] for a message that calls tools, and for a
    /// template that leaves the message out, changes its end or writes it twice.
    pub fn render_continuation(
        &self,
        mut request: ChatRequest,
    ) -> Result<String, ChatTemplateError> {
        let marker = unique_id("continue");
        let rejected = |reason| Err(ChatTemplateError::Continuation { reason });
        let Some(last) = request.messages.last_mut() else {
            return rejected("the conversation has no messages");
        };
        if last.get("tool_calls").is_some() {
            return rejected("it ends with tool calls");
        }
        match last.get_mut("content") {
            Some(Value::String(content)) => content.push_str(&marker),
            _ => return rejected("it has no text"),
        }
        let text = self.render_prompt(&request)?;
        match text.split_once(&marker) {
            None => rejected("the chat template omits it or changes its end"),
            Some((_, after)) if after.contains(&marker) => {
                rejected("the chat template writes it twice")
            }
            Some((before, _)) => Ok(before.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const CHATML: &str = "{% for message in messages %}<|im_start|>{{ message.role }}\n\
                          {{ message.content }}<|im_end|>\n{% endfor %}";

    fn render_last(source: &str, last: Value) -> Result<String, ChatTemplateError> {
        let template = ChatTemplate::new(source).unwrap();
        let request = ChatRequest::new([json!({"role": "user", "content": "end | <"}), last]);
        template.render_continuation(request)
    }

    fn answer(content: &str) -> Value {
        json!({"role": "assistant", "content": content})
    }

    #[test]
    fn the_text_ends_where_the_message_does() {
        let before = "<|im_start|>user\nend | <<|im_end|>\n<|im_start|>assistant\n";
        // Parts of the text after and before it, whitespace, nothing.
        for content in ["<", "|", "end", "<|im_end|>", "assistant", "So ", "So\n\n", " ", "", "é"]
        {
            let text = render_last(CHATML, answer(content)).unwrap();
            assert_eq!(text, format!("{before}{content}"));
        }
    }

    #[test]
    fn whitespace_at_the_end_is_preserved_if_the_template_trims() {
        let source = CHATML.replace("message.content", "message.content | trim");
        let text = render_last(&source, answer("\nSo ")).unwrap();
        assert!(text.ends_with("<|im_start|>assistant\nSo "), "{text:?}");
    }

    #[test]
    fn messages_that_cannot_be_continued_are_rejected() {
        let calls = json!([{"type": "function", "function": {"name": "f", "arguments": {}}}]);
        let calling = json!({"role": "assistant", "content": "So", "tool_calls": calls});
        let cases = [
            ("{{ messages[0].content }}", answer("So"), "omits it"),
            ("{{ messages[1].content[:5] }}", answer("So"), "changes its end"),
            ("{{ messages[1].content * 2 }}", answer("So"), "writes it twice"),
            (CHATML, calling, "tool calls"),
            (CHATML, json!({"role": "assistant", "content": null}), "no text"),
        ];
        for (source, last, why) in cases {
            let error = render_last(source, last).unwrap_err();
            assert!(matches!(error, ChatTemplateError::Continuation { .. }), "{error}");
            assert!(error.to_string().contains(why), "{error}");
        }
    }
}
