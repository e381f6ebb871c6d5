//! The conversation so far.
//!
//! Invariant: every user message has a reply. A message is added together with its reply.

use inferno_chat::AnswerDelta;
use serde::{Deserialize, Serialize};

/// A system prompt and the exchanges after it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ChatHistory {
    system: Option<String>,
    exchanges: Vec<Exchange>,
    /// Number of oldest exchanges that are left out of the prompt because they do not fit the context.
    num_left_out: usize,
}

/// A user message and its reply.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Exchange {
    pub(super) question: String,
    pub(super) reply: Reply,
}

/// The reply of the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Reply {
    /// Reasoning before the content; often empty.
    pub(super) reasoning: String,
    pub(super) content: String,
}

impl Reply {
    /// Appends more of the reply.
    pub(super) fn extend(&mut self, deltas: impl IntoIterator<Item = AnswerDelta>) {
        for delta in deltas {
            match delta {
                AnswerDelta::Reasoning(text) => self.reasoning.push_str(&text),
                AnswerDelta::Content(text) | AnswerDelta::Arguments { text, .. } => {
                    self.content.push_str(&text);
                }
                AnswerDelta::ToolCall { .. } => {}
            }
        }
    }
}

/// One message in the OpenAI format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HistoryMessage {
    pub(super) role: MessageRole,
    pub(super) content: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    reasoning_content: String,
}

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum MessageRole {
    System,
    User,
    Assistant,
}

/// A message with an unexpected role.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnexpectedRole {
    /// Index of the message.
    pub(super) index: usize,
    pub(super) expected: MessageRole,
    pub(super) found: MessageRole,
}

impl ChatHistory {
    /// Creates an empty conversation.
    pub(super) fn new(system: Option<String>) -> Self {
        Self { system, ..Self::default() }
    }

    /// Converts messages: an optional system message, then user and assistant alternately. Consecutive messages of the user
    /// are one with a blank line in between. Returns the last one separately if it has no reply.
    pub(super) fn from_messages(
        messages: Vec<HistoryMessage>,
    ) -> Result<(Self, Option<String>), UnexpectedRole> {
        let mut conversation = Self::default();
        let mut messages = messages.into_iter().enumerate().peekable();
        let is_of = |role| move |(_, message): &(usize, HistoryMessage)| message.role == role;
        let system = messages.next_if(is_of(MessageRole::System));
        conversation.system = system.map(|(_, message)| message.content);
        while let Some((index, question)) = messages.next() {
            question.expect(index, MessageRole::User)?;
            let mut question = question.content;
            while let Some((_, more)) = messages.next_if(is_of(MessageRole::User)) {
                question.push_str("\n\n");
                question.push_str(&more.content);
            }
            let Some((index, reply)) = messages.next() else {
                return Ok((conversation, Some(question)));
            };
            reply.expect(index, MessageRole::Assistant)?;
            let reply = Reply { reasoning: reply.reasoning_content, content: reply.content };
            conversation.push(Exchange { question, reply });
        }
        Ok((conversation, None))
    }

    /// Returns all messages, including those left out of the prompt.
    pub(super) fn messages(&self) -> impl Iterator<Item = HistoryMessage> {
        self.messages_without(0)
    }

    /// Returns the messages without the `num_left_out` oldest exchanges, followed by a new user message.
    pub(super) fn with_question(
        &self,
        num_left_out: usize,
        question: &str,
    ) -> impl Iterator<Item = HistoryMessage> {
        self.messages_without(num_left_out)
            .chain([HistoryMessage::new(MessageRole::User, question)])
    }

    fn messages_without(&self, num_left_out: usize) -> impl Iterator<Item = HistoryMessage> {
        let exchanges = self.exchanges.iter().skip(num_left_out);
        let system = self.system.iter().map(|text| HistoryMessage::new(MessageRole::System, text));
        system.chain(exchanges.flat_map(|Exchange { question, reply }| {
            let reply = HistoryMessage {
                reasoning_content: reply.reasoning.clone(),
                ..HistoryMessage::new(MessageRole::Assistant, &reply.content)
            };
            [HistoryMessage::new(MessageRole::User, question), reply]
        }))
    }

    pub(super) fn num_exchanges(&self) -> usize {
        self.exchanges.len()
    }

    /// Returns the number of oldest exchanges that are left out of the prompt.
    pub(super) fn num_left_out(&self) -> usize {
        self.num_left_out
    }

    /// Leaves the `num_exchanges` oldest exchanges out of the prompt.
    pub(super) fn leave_out(&mut self, num_exchanges: usize) {
        self.num_left_out = num_exchanges;
    }

    pub(super) fn push(&mut self, exchange: Exchange) {
        self.exchanges.push(exchange);
    }

    /// Removes and returns the last exchange.
    pub(super) fn pop(&mut self) -> Option<Exchange> {
        let last = self.exchanges.pop();
        self.num_left_out = self.num_left_out.min(self.exchanges.len());
        last
    }

    /// Removes all exchanges, but not the system prompt.
    pub(super) fn clear(&mut self) {
        self.exchanges.clear();
        self.num_left_out = 0;
    }

    /// Replaces the system prompt and returns the previous one.
    pub(super) fn set_system(&mut self, system: Option<String>) -> Option<String> {
        std::mem::replace(&mut self.system, system)
    }
}

impl HistoryMessage {
    fn new(role: MessageRole, content: impl Into<String>) -> Self {
        Self { role, content: content.into(), reasoning_content: String::new() }
    }

    fn expect(&self, index: usize, expected: MessageRole) -> Result<(), UnexpectedRole> {
        match self.role == expected {
            true => Ok(()),
            false => Err(UnexpectedRole { index, expected, found: self.role }),
        }
    }
}

impl MessageRole {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(name: &str) -> Exchange {
        let reply = Reply { reasoning: String::new(), content: format!("reply {name}") };
        Exchange { question: format!("question {name}"), reply }
    }

    fn contents(messages: impl Iterator<Item = HistoryMessage>) -> Vec<String> {
        messages.map(|message| message.content).collect()
    }

    fn two_exchanges() -> ChatHistory {
        let mut conversation = ChatHistory::new(Some("Be brief.".to_owned()));
        conversation.push(exchange("1"));
        conversation.push(exchange("2"));
        conversation
    }

    #[test]
    fn the_oldest_exchanges_are_left_out_but_not_the_system_prompt() {
        let conversation = two_exchanges();
        assert_eq!(
            contents(conversation.with_question(1, "question 3")),
            ["Be brief.", "question 2", "reply 2", "question 3"]
        );
        assert_eq!(
            contents(conversation.with_question(2, "question 3")),
            ["Be brief.", "question 3"]
        );
    }

    #[test]
    fn left_out_exchanges_remain_part_of_the_conversation() {
        let mut conversation = two_exchanges();
        conversation.leave_out(1);
        assert_eq!(conversation.messages().count(), 5);
        assert_eq!(conversation.pop(), Some(exchange("2")));
        assert_eq!(conversation.num_left_out(), 1);
        assert_eq!(conversation.pop(), Some(exchange("1")));
        assert_eq!(conversation.num_left_out(), 0);
        assert_eq!(conversation.pop(), None);
    }

    #[test]
    fn a_cleared_conversation_keeps_its_system_prompt() {
        let mut conversation = two_exchanges();
        conversation.leave_out(2);
        conversation.clear();
        assert_eq!(conversation, ChatHistory::new(Some("Be brief.".to_owned())));
    }

    #[test]
    fn a_conversation_survives_a_round_trip_through_messages() {
        let mut conversation = two_exchanges();
        let reply = Reply { reasoning: "Two and two.".to_owned(), content: "Four".to_owned() };
        conversation.push(Exchange { question: "2 + 2?".to_owned(), reply });
        let messages: Vec<HistoryMessage> = conversation.messages().collect();
        assert_eq!(ChatHistory::from_messages(messages), Ok((conversation, None)));
    }

    #[test]
    fn a_last_message_without_a_reply_is_the_next_question() {
        use MessageRole::{Assistant, User};
        let message = |role, content| HistoryMessage::new(role, content);
        let first = [message(User, "question 1"), message(Assistant, "reply 1")];
        let mut conversation = ChatHistory::default();
        conversation.push(exchange("1"));
        let messages = first.into_iter().chain(["one", "two"].map(|text| message(User, text)));
        let question = Some("one\n\ntwo".to_owned());
        assert_eq!(ChatHistory::from_messages(messages.collect()), Ok((conversation, question)));
    }

    #[test]
    fn messages_out_of_order_are_rejected_with_their_index() {
        use MessageRole::{Assistant, System, User};
        for (roles, index, expected, found) in [
            (&[Assistant][..], 0, User, Assistant),
            (&[User, System], 1, Assistant, System),
            (&[System, System], 1, User, System),
            (&[System, User, Assistant, System], 3, User, System),
        ] {
            let messages = roles.iter().map(|&role| HistoryMessage::new(role, "text")).collect();
            let rejected = ChatHistory::from_messages(messages);
            assert_eq!(rejected, Err(UnexpectedRole { index, expected, found }), "{roles:?}");
        }
    }
}
