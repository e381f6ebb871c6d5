//! The grammar of free text in which calls, once begun, match their schema.

use super::{Rules, literal, regex_of};
use crate::Tools;
use crate::form::{Head, PYTHON_TAG, compact};
use crate::reasoning::Reasoning;

impl Rules<'_> {
    /// The rule of any text in which calls, once begun, match their schema; reasoning is not restricted.
    ///
    /// Reasoning and calls begin here exactly where [`AnswerParser`](crate::AnswerParser) recognizes them, which includes
    /// whitespace before them and reasoning that the template does not mention. So every parsed call matches its schema.
    pub(super) fn free_text_with(
        &mut self,
        tools: &Tools,
        calls: &str,
        reasoning: Reasoning,
    ) -> String {
        let form = self.form;
        let open = regex_of(&form.reasoning.open);
        self.add(r"BLANKS: /\s+/");
        let trigger = form.calls.trigger();
        // Calls that form no list are separated by text like any other.
        let is_list = !form.calls.open.trim().is_empty() || !form.calls.close.trim().is_empty();
        let more = if is_list { "more_calls" } else { "" };
        // An answer that begins like a call without its opening is one.
        let (bare, bare_call) = match form.calls.optional_open {
            true => (format!(r"|\s*({})", self.start_of_call(tools)), "BLANKS? call more_calls | "),
            false => (String::new(), ""),
        };
        let (barred, answer) = match trigger.filter(|_| !form.calls.begins_bare()) {
            // The tag is a token of its own, but may also be spelled out.
            Some(trigger) if self.is_control(trigger) => {
                let text = self.content_or_text();
                let opened = self.calls_in_text();
                let opened = opened.map_or(String::new(), |opened| format!("({opened} {more})*"));
                let answer = format!("{bare_call}{opened} {text} {calls}?");
                (format!(r"|(.|\n)*{}{bare}", regex_of(trigger)), answer)
            }
            Some(trigger) => {
                let text = self.text_with_calls(trigger, more, tools.single);
                (bare, format!("{bare_call}{text}"))
            }
            None => {
                let start = self.start_of_call(tools);
                let token = match self.is_control(PYTHON_TAG) {
                    true => self.marked(PYTHON_TAG) + "?",
                    false => String::new(),
                };
                let text = match trigger {
                    // After content, calls begin with the text that separates them.
                    Some(trigger) => {
                        let text = self.text_with_calls(trigger, more, tools.single);
                        self.content(&format!("({text})"))
                    }
                    None => self.content_or_text(),
                };
                let close = regex_of(&form.reasoning.close);
                (format!(r"|\s*({start}|{close})"), format!("BLANKS? {token} {calls} | {text}"))
            }
        };
        self.needs_text = true;
        self.add(&format!(r"ANSWER: TEXT & ~/(\s*{open}{barred})(.|\n)*/"));
        self.add(&format!("answer: {answer}"));
        self.reasoning();
        let calls = self.calls_in_reasoning();
        let calls = calls.map_or(String::new(), |calls| format!("{calls} {more} answer | "));
        // Reasoning that is not closed extends to the end.
        self.add(&format!("reasoned: reasoning answer | {calls}TEXT"));
        match (reasoning, self.is_control(&form.reasoning.open)) {
            (Reasoning::Open, _) => "reasoned".to_owned(),
            (Reasoning::None | Reasoning::Optional, true) => {
                let open = self.marked(&form.reasoning.open);
                format!("BLANKS? {open} reasoned | answer")
            }
            (Reasoning::None | Reasoning::Optional, false) => {
                self.add(&format!(r"THINK: /\s*{open}/"));
                "THINK reasoned | answer".to_owned()
            }
        }
    }

    /// Free text, also with the delimiters of content if they are control tokens.
    fn content_or_text(&self) -> String {
        match self.is_control(&self.form.content.open) {
            true => format!("(ANSWER | {})", self.content("ANSWER")),
            false => "ANSWER".to_owned(),
        }
    }

    /// Text that may contain lists of calls after a tag of ordinary tokens.
    fn text_with_calls(&mut self, trigger: &str, more: &str, single: bool) -> String {
        let form = &self.form.calls;
        let first = format!("{}{}", form.open, form.before());
        let rest = first.trim_start().strip_prefix(trigger).unwrap_or_default();
        let rest = self.with_words(rest);
        match self.is_control(trigger) {
            true => self.add(&format!("begin: ANSWER {}", self.marked(trigger))),
            false => self.add(&format!("begin[lazy]: ANSWER {}", literal(trigger))),
        }
        let opened = self.calls_in_text();
        let opened = opened.map_or(String::new(), |opened| format!(" | {opened} {more}"));
        let repeat = if single { "?" } else { "*" };
        format!("(begin {rest} call {more}{opened}){repeat} ANSWER")
    }

    /// A regular expression of the texts with which calls without a tag begin.
    fn start_of_call(&self, tools: &Tools) -> String {
        let form = &self.form.calls;
        let before = match form.optional_open {
            true => String::new(),
            false => compact(&format!("{}{}", form.open, form.before())),
        };
        let starts: Vec<_> = match (before.is_empty(), form.head()) {
            (false, _) => {
                let characters = before.chars().map(|character| regex_of(&character.to_string()));
                vec![characters.collect::<Vec<_>>().join(r"\s*")]
            }
            (true, Head::Object { .. } | Head::Member) => vec![r"\{".to_owned()],
            (true, Head::Text) => tools.callable().map(|tool| regex_of(&tool.name)).collect(),
        };
        format!("{}|{}", regex_of(PYTHON_TAG), starts.join("|"))
    }
}
