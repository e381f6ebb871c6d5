//! Conversations for templates that accept one system message at the start and alternating roles only.

use serde_json::{Value, json};

/// Merges the leading system messages into one, and consecutive user messages; later system messages become user messages.
///
/// Clients such as coding agents send several of each, which some templates reject.
pub(super) fn merged(messages: &[Value]) -> Vec<Value> {
    let mut merged: Vec<Value> = Vec::with_capacity(messages.len());
    for message in messages {
        let is_first = merged.iter().all(|earlier| earlier["role"] == "system");
        let role = match message["role"].as_str() {
            Some("system") if !is_first => "user",
            Some(role) => role,
            None => "",
        };
        let last = merged.last_mut().filter(|last| last["role"] == role);
        match (last, message["content"].as_str()) {
            (Some(last), Some(text)) if matches!(role, "system" | "user") => {
                let before = last["content"].as_str().unwrap_or_default();
                last["content"] = json!(format!("{before}\n\n{text}"));
            }
            _ => {
                let mut message = message.clone();
                message["role"] = json!(role);
                merged.push(message);
            }
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_alternate_after_one_system_message() {
        let message = |role: &str, content: &str| json!({"role": role, "content": content});
        let calls = json!({"role": "assistant", "content": "", "tool_calls": [{}]});
        let result = json!({"role": "tool", "content": "7", "tool_call_id": "a"});
        let messages = [
            message("system", "A"),
            message("system", "B"),
            message("user", "C"),
            message("system", "D"),
            message("user", "E"),
            calls.clone(),
            result.clone(),
            result.clone(),
            message("system", "F"),
        ];
        let expected = [
            message("system", "A\n\nB"),
            message("user", "C\n\nD\n\nE"),
            calls,
            result.clone(),
            result,
            message("user", "F"),
        ];
        assert_eq!(merged(&messages), expected);
        assert_eq!(merged(&expected), expected);
    }
}
