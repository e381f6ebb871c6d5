//! A last message that goes on: the conversation's text, up to where that message ends.

use inferno_chat::{ChatRequest, ChatTemplate};
use serde_json::Value;

use crate::errors::ApiError;
use crate::request::fresh_id;

/// Renders a conversation whose last message goes on; `field` is where its messages came by, for errors.
///
/// The template is given the message with a mark behind it, and the text is cut at the mark, since what a template writes
/// after a message may look like the end of the message. The mark keeps blanks at the end too, also where the template
/// trims contents: what is gone on from is what was sent.
///
/// **Errors**: what the template refuses; a message that calls tools; a template that leaves the message out, changes its
/// end or writes it twice.
pub(super) fn render(
    template: &ChatTemplate,
    mut request: ChatRequest,
    field: &str,
) -> Result<String, ApiError> {
    let refused = |why: &str| {
        ApiError::invalid(field, format!("the last message cannot be continued: {why}"))
    };
    let mark = fresh_id("continue");
    let last = request.messages.last_mut().ok_or_else(|| refused("there is none"))?;
    if last.get("tool_calls").is_some() {
        return Err(refused("it ends with calls of tools"));
    }
    match last.get_mut("content") {
        Some(Value::String(content)) => content.push_str(&mark),
        _ => return Err(refused("it has no text")),
    }
    let text = template.render(&request).map_err(|error| ApiError::of_template(field, &error))?;
    match text.split_once(&mark) {
        None => Err(refused("the chat template leaves it out, or changes its end")),
        Some((_, after)) if after.contains(&mark) => {
            Err(refused("the chat template writes it twice"))
        }
        Some((before, _)) => Ok(before.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const CHATML: &str = "{% for message in messages %}<|im_start|>{{ message.role }}\n\
                          {{ message.content }}<|im_end|>\n{% endfor %}";

    fn render_last(source: &str, last: Value) -> Result<String, ApiError> {
        let template = ChatTemplate::new(source).unwrap();
        let request = ChatRequest::new([json!({"role": "user", "content": "end | <"}), last]);
        render(&template, request, "messages")
    }

    fn answer(content: &str) -> Value {
        json!({"role": "assistant", "content": content})
    }

    #[test]
    fn the_text_ends_where_the_message_does() {
        let before = "<|im_start|>user\nend | <<|im_end|>\n<|im_start|>assistant\n";
        // Parts of what stands behind it and before it, blanks, nothing.
        for content in ["<", "|", "end", "<|im_end|>", "assistant", "So ", "So\n\n", " ", "", "é"]
        {
            let text = render_last(CHATML, answer(content)).unwrap();
            assert_eq!(text, format!("{before}{content}"));
        }
    }

    #[test]
    fn blanks_at_the_end_stay_where_the_template_trims() {
        let source = CHATML.replace("message.content", "message.content | trim");
        let text = render_last(&source, answer("\nSo ")).unwrap();
        assert!(text.ends_with("<|im_start|>assistant\nSo "), "{text:?}");
    }

    #[test]
    fn what_cannot_be_continued_is_refused() {
        let calls = json!([{"type": "function", "function": {"name": "f", "arguments": {}}}]);
        let calling = json!({"role": "assistant", "content": "So", "tool_calls": calls});
        let cases = [
            ("{{ messages[0].content }}", answer("So"), "leaves it out"),
            ("{{ messages[1].content[:5] }}", answer("So"), "changes its end"),
            ("{{ messages[1].content * 2 }}", answer("So"), "writes it twice"),
            (CHATML, calling, "calls of tools"),
            (CHATML, json!({"role": "assistant", "content": null}), "no text"),
        ];
        for (source, last, why) in cases {
            let error = render_last(source, last).unwrap_err();
            assert_eq!(error.status, 400);
            assert_eq!(error.param.as_deref(), Some("messages"));
            assert!(error.message.contains(why), "{}", error.message);
        }
    }
}
