//! The last messages, which can be replayed.

use std::collections::VecDeque;

use axum::body::Bytes;

/// The last messages; they are numbered from 0.
#[derive(Debug)]
pub(super) struct StoredMessages {
    messages: VecDeque<Bytes>,
    max_len: usize,
    next_number: u64,
}

impl StoredMessages {
    pub fn new(max_len: usize) -> Self {
        Self { messages: VecDeque::new(), max_len, next_number: 0 }
    }

    /// Stores the next message, and returns its number.
    pub fn push(&mut self, message: Bytes) -> u64 {
        self.messages.push_back(message);
        if self.messages.len() > self.max_len {
            self.messages.pop_front();
        }
        self.next_number += 1;
        self.next_number - 1
    }

    /// The number of the next message.
    pub fn next_number(&self) -> u64 {
        self.next_number
    }

    /// The first stored message from `number` on, with its number.
    pub fn first_from(&self, number: u64) -> Option<(u64, Bytes)> {
        let oldest = self.next_number - self.messages.len() as u64;
        let number = number.max(oldest);
        let index = usize::try_from(number - oldest).ok()?;
        Some((number, self.messages.get(index)?.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_messages_are_dropped_and_numbers_remain() {
        let mut stored = StoredMessages::new(2);
        assert_eq!(stored.first_from(0), None);
        for (number, text) in (0..).zip(["a", "b", "c"]) {
            assert_eq!(stored.push(text.into()), number);
        }
        assert_eq!(stored.next_number(), 3);
        assert_eq!(stored.first_from(0), Some((1, "b".into())));
        assert_eq!(stored.first_from(2), Some((2, "c".into())));
        assert_eq!(stored.first_from(3), None);
        assert_eq!(stored.first_from(u64::MAX), None);
    }

    #[test]
    fn a_buffer_without_room_stores_nothing() {
        let mut stored = StoredMessages::new(0);
        assert_eq!((stored.push("a".into()), stored.first_from(0)), (0, None));
    }
}
