//! Conversations in files: a JSON object with the messages in OpenAI's form and the model's name.
//!
//! `inferno template` and `inferno generate --chat` take the same files as their `--input`.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use inferno_engine::PrivateFile;
use serde::{Deserialize, Serialize};

use super::conversation::{Conversation, Message, Role};
use crate::Error;
use crate::cli::input::read_file;
use crate::output_file::replaceable;

const SAVED_BY: &str = "inferno chat";

/// How our files begin, by which we know them.
const START: &[u8] = b"{\n  \"saved_by\": \"inferno chat\",\n";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedConversation {
    saved_by: Option<String>,
    model: Option<String>,
    messages: Vec<Message>,
}

/// Writes a conversation, whole or not at all. On Unix only its owner may read the file.
///
/// **Errors**: [`Error::ConversationNotReplaced`] where something else is there already; a file that cannot be written.
pub(super) fn save(path: &Path, model: &str, conversation: &Conversation) -> Result<(), Error> {
    let target = replaceable(path, true)?;
    if target.exists() && !is_ours(&target) {
        return Err(Error::ConversationNotReplaced { path: path.to_owned() });
    }
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

/// Reads a conversation, and the name of the model that it was held with, where the file says.
///
/// **Errors**: a file that cannot be read; [`Error::InvalidJson`]; [`Error::MessageOutOfTurn`].
pub(super) fn load(path: &Path) -> Result<(Conversation, Option<String>), Error> {
    let text = read_file(path)?;
    let saved: SavedConversation = serde_json::from_str(&text)
        .map_err(|source| Error::InvalidJson { input: path.display().to_string(), source })?;
    let conversation =
        Conversation::from_messages(saved.messages).map_err(|mistake| Error::MessageOutOfTurn {
            input: path.display().to_string(),
            index: mistake.index,
            expected: mistake.expected.name(),
            found: mistake.found.map(Role::name),
        })?;
    Ok((conversation, saved.model))
}

/// Whether a file holds nothing to lose: it is empty, or a conversation that was saved here.
fn is_ours(path: &Path) -> bool {
    let mut start = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(START.len() as u64).read_to_end(&mut start));
    read.is_ok() && (start.is_empty() || start == START)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::conversation::{Answer, Exchange};
    use super::*;

    fn conversation() -> Conversation {
        let mut conversation = Conversation::new(Some("Be brief.".to_owned()));
        let answer = Answer { reasoning: "Hm.".to_owned(), content: "Four \u{1F999}".to_owned() };
        conversation.push(Exchange { question: "2 + 2?".to_owned(), answer });
        conversation
    }

    #[test]
    fn a_saved_conversation_is_in_openai_s_form() {
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
        assert_eq!(load(&path).unwrap(), (conversation(), Some("Ember".to_owned())));
    }

    #[test]
    fn a_conversation_replaces_a_conversation_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chat.json");
        let notes = r#"{"messages": [{"role": "user", "content": "not ours"}]}"#;
        fs::write(&path, notes).unwrap();
        let refused = save(&path, "Ember", &conversation());
        assert!(matches!(refused, Err(Error::ConversationNotReplaced { .. })), "{refused:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), notes);

        fs::write(&path, "").unwrap();
        save(&path, "Ember", &Conversation::default()).unwrap();
        save(&path, "Ember", &conversation()).unwrap();
        assert_eq!(load(&path).unwrap().0, conversation());

        let refused = save(folder.path(), "Ember", &conversation());
        assert!(matches!(refused, Err(Error::OutputNotFile { .. })), "{refused:?}");
    }

    #[test]
    fn a_file_that_is_no_conversation_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chat.json");
        for (text, reason) in [
            ("Hi", "expected value at line 1"),
            (r#"{"messages": [{"role": "tool", "content": "4"}]}"#, "unknown variant `tool`"),
            (r#"{"messages": [{"role": "user", "content": ["Hi"]}]}"#, "expected a string"),
            (r#"{"messages": [], "tools": []}"#, "unknown field `tools`"),
            (
                r#"{"messages": [{"role": "assistant", "content": "Hi"}]}"#,
                "is of the assistant, expected one of the user",
            ),
            (r#"{"messages": [{"role": "user", "content": "Hi"}]}"#, "is missing, expected one of"),
        ] {
            fs::write(&path, text).unwrap();
            let refused = load(&path).unwrap_err().to_string();
            assert!(refused.contains(reason), "{refused}");
        }
    }
}
