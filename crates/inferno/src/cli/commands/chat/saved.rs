//! Saved conversations: a JSON object with the messages in the OpenAI format and the name of the model.
//!
//! `inferno template` and `inferno generate --chat` accept the same files as `--input`. The chat page of `inferno serve` exports and
//! imports them.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use inferno_engine::PrivateFile;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::commands::CommandError;
use super::history::{ChatHistory, HistoryMessage};
use crate::cli::failure::Failure;
use crate::cli::input::read_file;
use crate::output_file::{ensure_creatable, replaceable};
use crate::{Error, InputError, OutputError};

const SAVED_BY: &str = "inferno chat";

/// The first bytes of a saved conversation, which identify it.
const START: &[u8] = b"{\n  \"saved_by\": \"inferno chat\",\n";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedConversation {
    saved_by: Option<String>,
    model: Option<String>,
    messages: Vec<HistoryMessage>,
}

/// A conversation from a file.
#[derive(Debug, PartialEq)]
pub(super) struct LoadedConversation {
    pub(super) history: ChatHistory,
    /// The last message, if it has no reply.
    pub(super) unanswered: Option<String>,
    /// The name of the model, if the file contains it.
    pub(super) model: Option<String>,
}

/// Saves a conversation atomically. On Unix, only the owner may read the file.
///
/// **Errors**: [`OutputError::NotAConversation`] if the file contains something else; a failed write.
pub(super) fn save(path: &Path, model: &str, conversation: &ChatHistory) -> Result<(), Error> {
    let target = replaceable(path, true)?;
    if target.exists() && !is_replaceable(&target) {
        return Err(Error::Output(OutputError::NotAConversation { path: path.to_owned() }));
    }
    ensure_creatable(&target)?;
    let failed = |error| Error::io(path, error);
    let saved = SavedConversation {
        saved_by: Some(SAVED_BY.to_owned()),
        model: Some(model.to_owned()),
        messages: conversation.messages().collect(),
    };
    let json = serde_json::to_string_pretty(&saved).map_err(|error| failed(error.into()))?;
    let mut file = PrivateFile::beside(&target).map_err(failed)?;
    writeln!(file, "{json}").map_err(failed)?;
    file.finish().map_err(failed)
}

/// Loads a conversation.
///
/// **Errors**: an unreadable file; [`CommandError::ToolMessage`]; [`InputError::InvalidJson`]; [`InputError::UnexpectedRole`].
pub(super) fn load(path: &Path) -> Result<LoadedConversation, Failure> {
    let text = read_file(path)?;
    if let Some(index) = tool_message(&text) {
        let input = path.display().to_string();
        return Err(Failure::Command(CommandError::ToolMessage { input, index }));
    }
    let saved = parse(&text).map_err(|source| {
        Error::Input(InputError::InvalidJson { input: path.display().to_string(), source })
    })?;
    let converted = ChatHistory::from_messages(saved.messages).map_err(|mistake| {
        Error::Input(InputError::UnexpectedRole {
            input: path.display().to_string(),
            index: mistake.index,
            expected: mistake.expected.name(),
            found: mistake.found.name(),
        })
    })?;
    let (history, unanswered) = converted;
    Ok(LoadedConversation { history, unanswered, model: saved.model })
}

/// Parses a conversation, or only its list of messages.
fn parse(text: &str) -> serde_json::Result<SavedConversation> {
    if text.trim_start().starts_with('[') {
        let messages = serde_json::from_str(text)?;
        return Ok(SavedConversation { saved_by: None, model: None, messages });
    }
    serde_json::from_str(text)
}

/// Returns the index of the first message with tool calls or the result of one.
fn tool_message(text: &str) -> Option<usize> {
    let file: Value = serde_json::from_str(text).ok()?;
    let is_of_tool =
        |message: &Value| message["role"] == "tool" || !message["tool_calls"].is_null();
    let messages = if file.is_array() { &file } else { &file["messages"] };
    messages.as_array()?.iter().position(is_of_tool)
}

/// Returns whether a file may be overwritten: it is empty, or a saved conversation.
fn is_replaceable(path: &Path) -> bool {
    let mut start = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(START.len() as u64).read_to_end(&mut start));
    read.is_ok() && (start.is_empty() || start == START)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::history::{Exchange, Reply};
    use super::*;

    fn conversation() -> ChatHistory {
        let mut conversation = ChatHistory::new(Some("Be brief.".to_owned()));
        let reply = Reply { reasoning: "Hm.".to_owned(), content: "Four \u{1F999}".to_owned() };
        conversation.push(Exchange { question: "2 + 2?".to_owned(), reply });
        conversation
    }

    fn loaded(path: &Path) -> LoadedConversation {
        load(path).ok().expect("a conversation")
    }

    #[test]
    fn a_saved_conversation_has_the_openai_format() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chat.json");
        save(&path, "Ember", &conversation()).unwrap();
        let json: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let expected = serde_json::json!({
            "saved_by": "inferno chat",
            "model": "Ember",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "2 + 2?"},
                {"role": "assistant", "content": "Four \u{1F999}", "reasoning_content": "Hm."},
            ],
        });
        assert_eq!(json, expected);
        assert_eq!(loaded(&path).model.as_deref(), Some("Ember"));
        fs::write(&path, json["messages"].to_string()).unwrap();
        let list = loaded(&path);
        assert_eq!((list.history, list.model), (conversation(), None));
        assert_eq!(loaded(&path).history, conversation());
    }

    #[test]
    fn saving_overwrites_only_saved_conversations() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chat.json");
        let notes = r#"{"messages": [{"role": "user", "content": "not ours"}]}"#;
        fs::write(&path, notes).unwrap();
        let rejected = save(&path, "Ember", &conversation());
        assert!(
            matches!(rejected, Err(Error::Output(OutputError::NotAConversation { .. }))),
            "{rejected:?}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), notes);

        fs::write(&path, "").unwrap();
        save(&path, "Ember", &ChatHistory::default()).unwrap();
        save(&path, "Ember", &conversation()).unwrap();
        assert_eq!(loaded(&path).history, conversation());

        let rejected = save(folder.path(), "Ember", &conversation());
        assert!(
            matches!(rejected, Err(Error::Output(OutputError::NotFile { .. }))),
            "{rejected:?}"
        );
    }

    #[test]
    fn an_invalid_file_is_rejected_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chat.json");
        for (text, reason) in [
            ("Hi", "expected value at line 1"),
            (r#"{"messages": [{"role": "bot", "content": "4"}]}"#, "unknown variant `bot`"),
            (
                r#"{"messages": [{"role": "user", "content": "Hi"}, {"role": "tool", "content": "4"}]}"#,
                "messages[1] has a tool call or the result of one",
            ),
            (
                r#"{"messages": [{"role": "assistant", "content": null, "tool_calls": []}]}"#,
                "use inferno generate --chat --input",
            ),
            (r#"{"messages": [{"role": "user", "content": ["Hi"]}]}"#, "expected a string"),
            (r#"{"messages": [], "tools": []}"#, "unknown field `tools`"),
            (
                r#"{"messages": [{"role": "assistant", "content": "Hi"}]}"#,
                "unexpected role assistant in messages[0], expected role user",
            ),
        ] {
            fs::write(&path, text).unwrap();
            let rejected = match load(&path) {
                Err(Failure::Error(error)) => error.to_string(),
                Err(Failure::Command(error)) => error.to_string(),
                _ => panic!("{text} is loaded"),
            };
            assert!(rejected.contains(reason), "{rejected}");
        }
    }
}
