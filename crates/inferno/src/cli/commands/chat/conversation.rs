//! What was said so far.
//!
//! Invariant: every question has its answer. A question that is being asked is not part of the conversation yet.

use serde::{Deserialize, Serialize};

/// A system message, and exchanges after it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Conversation {
    system: Option<String>,
    exchanges: Vec<Exchange>,
    /// How many of the oldest exchanges the model no longer sees, as they do not fit its context.
    num_left_out: usize,
}

/// A question and its answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Exchange {
    pub(super) question: String,
    pub(super) answer: Answer,
}

/// What the model said.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Answer {
    /// What it said to itself first; often nothing.
    pub(super) reasoning: String,
    pub(super) content: String,
}

/// One message in OpenAI's form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Message {
    pub(super) role: Role,
    pub(super) content: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    reasoning_content: String,
}

/// Whose message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    System,
    User,
    Assistant,
}

/// A message that stands where it cannot.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OutOfTurn {
    /// Its place in the list.
    pub(super) index: usize,
    pub(super) expected: Role,
    /// `None` where the list ends there.
    pub(super) found: Option<Role>,
}

impl Conversation {
    /// Nothing is said yet.
    pub(super) fn new(system: Option<String>) -> Self {
        Self { system, ..Self::default() }
    }

    /// Reads messages: one of the system at most, first, then user and assistant in turn.
    pub(super) fn from_messages(messages: Vec<Message>) -> Result<Self, OutOfTurn> {
        let mut conversation = Self::default();
        let mut messages = messages.into_iter().enumerate().peekable();
        let is_system = |(_, message): &(usize, Message)| message.role == Role::System;
        conversation.system = messages.next_if(is_system).map(|(_, message)| message.content);
        while let Some((index, question)) = messages.next() {
            question.expect(index, Role::User)?;
            let Some((answer_index, answer)) = messages.next() else {
                return Err(OutOfTurn { index: index + 1, expected: Role::Assistant, found: None });
            };
            answer.expect(answer_index, Role::Assistant)?;
            let answer = Answer { reasoning: answer.reasoning_content, content: answer.content };
            conversation.push(Exchange { question: question.content, answer });
        }
        Ok(conversation)
    }

    /// All messages, also those that the model no longer sees.
    pub(super) fn messages(&self) -> impl Iterator<Item = Message> {
        self.messages_without(0)
    }

    /// The messages without the `num_left_out` oldest exchanges, and a question after them.
    pub(super) fn ask(&self, num_left_out: usize, question: &str) -> impl Iterator<Item = Message> {
        self.messages_without(num_left_out).chain([Message::new(Role::User, question)])
    }

    fn messages_without(&self, num_left_out: usize) -> impl Iterator<Item = Message> {
        let exchanges = self.exchanges.iter().skip(num_left_out);
        let system = self.system.iter().map(|text| Message::new(Role::System, text));
        system.chain(exchanges.flat_map(|Exchange { question, answer }| {
            let reply = Message {
                reasoning_content: answer.reasoning.clone(),
                ..Message::new(Role::Assistant, &answer.content)
            };
            [Message::new(Role::User, question), reply]
        }))
    }

    pub(super) fn num_exchanges(&self) -> usize {
        self.exchanges.len()
    }

    /// How many of the oldest exchanges the model no longer sees.
    pub(super) fn num_left_out(&self) -> usize {
        self.num_left_out
    }

    /// Lets the model no longer see the `num_exchanges` oldest exchanges.
    pub(super) fn leave_out(&mut self, num_exchanges: usize) {
        self.num_left_out = num_exchanges;
    }

    pub(super) fn push(&mut self, exchange: Exchange) {
        self.exchanges.push(exchange);
    }

    /// Takes the last exchange back.
    pub(super) fn pop(&mut self) -> Option<Exchange> {
        let last = self.exchanges.pop();
        self.num_left_out = self.num_left_out.min(self.exchanges.len());
        last
    }

    /// Forgets all exchanges, but not the system message.
    pub(super) fn clear(&mut self) {
        self.exchanges.clear();
        self.num_left_out = 0;
    }

    /// Puts another system message in place of the one there was, which is given back.
    pub(super) fn set_system(&mut self, system: Option<String>) -> Option<String> {
        std::mem::replace(&mut self.system, system)
    }
}

impl Message {
    fn new(role: Role, content: impl Into<String>) -> Self {
        Self { role, content: content.into(), reasoning_content: String::new() }
    }

    fn expect(&self, index: usize, expected: Role) -> Result<(), OutOfTurn> {
        match self.role == expected {
            true => Ok(()),
            false => Err(OutOfTurn { index, expected, found: Some(self.role) }),
        }
    }
}

impl Role {
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
        let answer = Answer { reasoning: String::new(), content: format!("answer {name}") };
        Exchange { question: format!("question {name}"), answer }
    }

    fn contents(messages: impl Iterator<Item = Message>) -> Vec<String> {
        messages.map(|message| message.content).collect()
    }

    fn two_exchanges() -> Conversation {
        let mut conversation = Conversation::new(Some("Be brief.".to_owned()));
        conversation.push(exchange("1"));
        conversation.push(exchange("2"));
        conversation
    }

    #[test]
    fn the_oldest_exchanges_are_left_out_and_the_system_message_never_is() {
        let conversation = two_exchanges();
        assert_eq!(
            contents(conversation.ask(1, "question 3")),
            ["Be brief.", "question 2", "answer 2", "question 3"]
        );
        assert_eq!(contents(conversation.ask(2, "question 3")), ["Be brief.", "question 3"]);
    }

    #[test]
    fn what_the_model_no_longer_sees_is_still_part_of_the_conversation() {
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
    fn a_cleared_conversation_keeps_its_system_message() {
        let mut conversation = two_exchanges();
        conversation.leave_out(2);
        conversation.clear();
        assert_eq!(conversation, Conversation::new(Some("Be brief.".to_owned())));
    }

    #[test]
    fn messages_make_the_same_conversation_again() {
        let mut conversation = two_exchanges();
        let answer = Answer { reasoning: "Two and two.".to_owned(), content: "Four".to_owned() };
        conversation.push(Exchange { question: "2 + 2?".to_owned(), answer });
        let messages: Vec<Message> = conversation.messages().collect();
        assert_eq!(Conversation::from_messages(messages), Ok(conversation));
    }

    #[test]
    fn messages_out_of_turn_are_refused_with_their_place() {
        use Role::{Assistant, System, User};
        for (roles, index, expected, found) in [
            (&[Assistant][..], 0, User, Some(Assistant)),
            (&[User, User], 1, Assistant, Some(User)),
            (&[System, System], 1, User, Some(System)),
            (&[System, User, Assistant, System], 3, User, Some(System)),
            (&[User, Assistant, User], 3, Assistant, None),
        ] {
            let messages = roles.iter().map(|&role| Message::new(role, "text")).collect();
            let refused = Conversation::from_messages(messages);
            assert_eq!(refused, Err(OutOfTurn { index, expected, found }), "{roles:?}");
        }
    }
}
