//! Tells what a model says to itself, between `<think>` marks, from its answer.
//!
//! Reasoning stands before the answer: a mark anywhere else is a part of the text, such as that of a model that is asked
//! about the marks.

use super::history::Reply;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// A kind of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// What stands between the marks, and the marks.
    Reasoning,
    Content,
}

/// The text of an answer, as it comes.
#[derive(Debug)]
pub(super) struct AnswerText {
    text: String,
    /// The part that the next text belongs to; `None` before it is known.
    part: Option<Part>,
    /// Bytes at the start of the text that are reasoning, as far as it is known.
    reasoning_bytes: usize,
    /// Bytes at the start of the text that were told already.
    told_bytes: usize,
}

impl AnswerText {
    /// Of an answer to this prompt. Some templates write the first mark themselves.
    pub(super) fn after(prompt: &str) -> Self {
        let part = prompt.trim_end().ends_with(OPEN).then_some(Part::Reasoning);
        Self { text: String::new(), part, reasoning_bytes: 0, told_bytes: 0 }
    }

    /// Takes more text, and tells `show` the parts of what is known by now.
    pub(super) fn push<E>(
        &mut self,
        text: &str,
        show: impl FnMut(Part, &str) -> Result<(), E>,
    ) -> Result<(), E> {
        self.text.push_str(text);
        let start = self.text.trim_start();
        match self.part {
            None if start.starts_with(OPEN) => self.part = Some(Part::Reasoning),
            None if OPEN.starts_with(start) => return Ok(()),
            None => self.part = Some(Part::Content),
            Some(_) => {}
        }
        if self.part == Some(Part::Reasoning) {
            self.reasoning_bytes = self.text.len();
            if let Some(end) = self.find_close() {
                self.reasoning_bytes = end;
                self.part = Some(Part::Content);
            }
        }
        self.tell(show)
    }

    /// Tells what is left at the end, and gives the whole.
    pub(super) fn finish<E>(
        mut self,
        show: impl FnMut(Part, &str) -> Result<(), E>,
    ) -> Result<Reply, E> {
        self.tell(show)?;
        let (reasoning, content) = self.text.split_at(self.reasoning_bytes);
        let reasoning = reasoning.trim_start();
        let reasoning = reasoning.strip_prefix(OPEN).unwrap_or(reasoning);
        let reasoning = reasoning.strip_suffix(CLOSE).unwrap_or(reasoning).trim_matches('\n');
        let content = match self.reasoning_bytes {
            0 => content,
            // Templates write the lines between the two themselves.
            _ => content.trim_start_matches('\n'),
        };
        Ok(Reply { reasoning: reasoning.to_owned(), content: content.to_owned() })
    }

    /// Where the second mark ends.
    fn find_close(&self) -> Option<usize> {
        // It may have begun in text that was told already.
        let mut from = self.told_bytes.saturating_sub(CLOSE.len());
        while !self.text.is_char_boundary(from) {
            from -= 1;
        }
        self.text[from..].find(CLOSE).map(|at| from + at + CLOSE.len())
    }

    fn tell<E>(&mut self, mut show: impl FnMut(Part, &str) -> Result<(), E>) -> Result<(), E> {
        let reasoning_end = self.reasoning_bytes.max(self.told_bytes);
        let reasoning = &self.text[self.told_bytes..reasoning_end];
        let content = &self.text[reasoning_end..];
        self.told_bytes = self.text.len();
        for (part, text) in [(Part::Reasoning, reasoning), (Part::Content, content)] {
            if !text.is_empty() {
                show(part, text)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// What is told of these pieces, pieces of one part joined, and the answer.
    fn told(prompt: &str, pieces: &[&str]) -> (Vec<(Part, String)>, Reply) {
        let mut parts: Vec<(Part, String)> = Vec::new();
        let mut show = |part: Part, text: &str| {
            match parts.last_mut() {
                Some((last, joined)) if *last == part => joined.push_str(text),
                _ => parts.push((part, text.to_owned())),
            }
            Ok::<(), Infallible>(())
        };
        let mut answer = AnswerText::after(prompt);
        for piece in pieces {
            let Ok(()) = answer.push(piece, &mut show);
        }
        let Ok(answer) = answer.finish(&mut show);
        (parts, answer)
    }

    fn answer(reasoning: &str, content: &str) -> Reply {
        Reply { reasoning: reasoning.to_owned(), content: content.to_owned() }
    }

    /// Every way to cut `text` in three.
    fn cuts(text: &str) -> impl Iterator<Item = [&str; 3]> {
        let places = || (0..=text.len()).filter(|&at| text.is_char_boundary(at));
        places().flat_map(move |a| {
            places().filter(move |&b| a <= b).map(move |b| [&text[..a], &text[a..b], &text[b..]])
        })
    }

    #[test]
    fn reasoning_and_answer_are_told_apart_however_the_text_is_cut() {
        let text = "<think>\nHm — 4.\n</think>\n\nFour é.";
        let parts = [
            (Part::Reasoning, "<think>\nHm — 4.\n</think>".to_owned()),
            (Part::Content, "\n\nFour é.".to_owned()),
        ];
        for pieces in cuts(text) {
            let expected = (parts.to_vec(), answer("Hm — 4.", "Four é."));
            assert_eq!(told("", &pieces), expected, "{pieces:?}");
        }
    }

    #[test]
    fn a_template_may_have_written_the_first_mark() {
        for pieces in cuts("Hm.</think>Four") {
            let (_, found) = told("<|assistant|><think>\n", &pieces);
            assert_eq!(found, answer("Hm.", "Four"), "{pieces:?}");
        }
    }

    #[test]
    fn a_mark_after_the_beginning_is_text() {
        for pieces in cuts("\nIt is <think>…</think>.") {
            let expected = (
                vec![(Part::Content, "\nIt is <think>…</think>.".to_owned())],
                answer("", "\nIt is <think>…</think>."),
            );
            assert_eq!(told("", &pieces), expected, "{pieces:?}");
        }
    }

    #[test]
    fn what_looks_like_a_mark_and_ends_is_text() {
        let expected = (vec![(Part::Content, " <thi".to_owned())], answer("", " <thi"));
        assert_eq!(told("", &[" <", "thi"]), expected);
    }

    #[test]
    fn reasoning_that_does_not_end_is_no_answer() {
        let (parts, found) = told("", &["<think>", "Hm"]);
        assert_eq!(parts, [(Part::Reasoning, "<think>Hm".to_owned())]);
        assert_eq!(found, answer("Hm", ""));
    }
}
