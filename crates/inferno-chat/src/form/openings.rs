//! The texts with which calls certainly begin, wherever they are: those up to the name of a tool.

use serde_json::Value;

use super::{ARGUMENTS, CallForm, Head, NAME, compact, leading_tag};

/// The text before the name of a tool. With the name of a known tool after it, it is not just a mention of a tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallOpening {
    /// The tag that the text begins with.
    pub(crate) tag: String,
    /// The rest, without whitespace; it has placeholders for words.
    pub(crate) rest: String,
    /// The part of the rest before the object of the call, or before the name.
    pub(crate) lead: String,
}

impl CallOpening {
    /// Whether the tag counts only at the start of a line: models write it elsewhere to mention it. Tags with other brackets are
    /// control tokens, which are not mentioned.
    pub(crate) fn begins_line(&self) -> bool {
        !self.tag.starts_with('[') && !self.tag.contains(['|', '｜'])
    }
}

impl CallForm {
    /// The opening of a first call with its trigger; `None` if there is no trigger, or the arguments come before the name.
    pub(crate) fn opening(&self) -> Option<CallOpening> {
        let trigger = self.trigger().filter(|_| !self.begins_bare())?;
        let (before_name, _) = self.call.split_once(NAME)?;
        let lead = format!("{}{}", self.open, self.before);
        let text = format!("{}{before_name}", self.open);
        let is_first = !before_name.contains(ARGUMENTS);
        let [rest, lead] =
            [text, lead].map(|text| text.trim_start().strip_prefix(trigger).map(compact));
        let (rest, lead) = (rest.filter(|_| is_first)?, lead?);
        Some(CallOpening { tag: trigger.to_owned(), rest, lead })
    }

    /// The opening of a call without the trigger, which models omit: `<function=` after `<tool_call>`.
    pub(crate) fn inner_opening(&self) -> Option<CallOpening> {
        let trigger = self.trigger().filter(|_| self.head == Head::Text && !self.begins_bare())?;
        let text = format!("{}{}", self.open, self.before);
        let text = text.trim_start().strip_prefix(trigger)?.trim_start();
        let tag = leading_tag(text).filter(|tag| tag.starts_with('<'))?;
        let rest = compact(&text[tag.len()..]);
        Some(CallOpening { tag: tag.to_owned(), lead: rest.clone(), rest })
    }

    /// The name of a tool as calls have it.
    pub(crate) fn written_name(&self, name: &str) -> String {
        match self.head {
            Head::Text => name.to_owned(),
            Head::Object { .. } | Head::Member => {
                let quoted = Value::from(name).to_string();
                quoted[1..quoted.len() - 1].to_owned()
            }
        }
    }
}
