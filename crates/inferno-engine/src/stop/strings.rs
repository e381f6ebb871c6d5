//! Finds stop strings in text that arrives in pieces.
//!
//! Each string has an automaton that counts how many of its bytes the text ends with. The longest such
//! run must be held back. As strings and pieces are whole characters, so is every run at the end of a
//! piece.
//!
//! **Source**: Knuth, Morris and Pratt, Fast Pattern Matching in Strings, section 2.

/// The stop strings of one generation, and the text that may still become one.
#[derive(Debug)]
pub(super) struct StopStrings {
    matchers: Vec<Matcher>,
    include_match: bool,
    held: String,
}

impl StopStrings {
    /// **Panics** when a string is empty.
    pub(super) fn new(strings: &[String], include_match: bool) -> Self {
        let matchers = strings.iter().map(|string| Matcher::new(string)).collect();
        Self { matchers, include_match, held: String::new() }
    }

    /// Appends to `released` the text so far that cannot become part of a stop string, and returns the index
    /// of the stop string that the text reached, if any.
    ///
    /// The string that is complete first wins, and of those complete at once the longest. A string that is
    /// completed while `may_stop` is false is ignored.
    pub(super) fn push(
        &mut self,
        text: &str,
        may_stop: bool,
        released: &mut String,
    ) -> Option<usize> {
        for (index, &byte) in text.as_bytes().iter().enumerate() {
            self.matchers.iter_mut().for_each(|matcher| matcher.push(byte));
            if let Some(which) = self.longest_complete().filter(|_| may_stop) {
                self.held.push_str(&text[..=index]);
                if !self.include_match {
                    self.held.truncate(self.held.len() - self.matchers[which].len());
                }
                released.push_str(&self.take_held());
                return Some(which);
            }
        }
        self.held.push_str(text);
        let pending = self.matchers.iter().map(Matcher::pending).max().unwrap_or(0);
        let release = self.held.len() - pending;
        released.extend(self.held.drain(..release));
        None
    }

    /// The text that may still become part of a stop string.
    pub(super) fn held(&self) -> &str {
        &self.held
    }

    /// Returns and clears the text that was held back.
    pub(super) fn take_held(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    /// The longest string that the text ends with; the first, if it was given twice.
    fn longest_complete(&self) -> Option<usize> {
        let complete = (0..self.matchers.len()).filter(|&at| self.matchers[at].is_complete());
        complete.rev().max_by_key(|&at| self.matchers[at].len())
    }
}

/// How much of one string the text ends with.
#[derive(Debug)]
struct Matcher {
    pattern: Vec<u8>,
    /// For each length of a matched prefix, the length of the longest shorter prefix that is its
    /// suffix.
    fallback: Vec<usize>,
    matched: usize,
}

impl Matcher {
    fn new(pattern: &str) -> Self {
        assert!(!pattern.is_empty(), "an empty stop string ends every text");
        let pattern = pattern.as_bytes().to_vec();
        let mut fallback = vec![0; pattern.len() + 1];
        let mut length = 0;
        for end in 1..pattern.len() {
            while length > 0 && pattern[end] != pattern[length] {
                length = fallback[length];
            }
            length += usize::from(pattern[end] == pattern[length]);
            fallback[end + 1] = length;
        }
        Self { pattern, fallback, matched: 0 }
    }

    fn push(&mut self, byte: u8) {
        // A complete string was ignored; continue with what its end may begin.
        self.matched = self.pending();
        while self.matched > 0 && self.pattern[self.matched] != byte {
            self.matched = self.fallback[self.matched];
        }
        self.matched += usize::from(self.pattern[self.matched] == byte);
    }

    fn is_complete(&self) -> bool {
        self.matched == self.pattern.len()
    }

    fn len(&self) -> usize {
        self.pattern.len()
    }

    /// Bytes at the end of the text that may grow into the string.
    fn pending(&self) -> usize {
        if self.is_complete() { self.fallback[self.matched] } else { self.matched }
    }
}
