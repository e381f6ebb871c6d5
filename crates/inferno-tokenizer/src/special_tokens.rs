//! Special tokens: beginning, end, turn, padding, fill in the middle.
//!
//! Files set some of them by id. The others are identified by their text, as are the tokens that end
//! generation. This is how llama.cpp does it, and creators of GGUF files rely on it.

use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher;

/// The tokens with a special role; `None` if the file has no token for the role.
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct SpecialTokens {
    /// Beginning of a text.
    pub bos: Option<u32>,
    /// End of a text.
    pub eos: Option<u32>,
    /// End of a turn in a conversation.
    pub end_of_turn: Option<u32>,
    /// End of a message within a turn, such as a tool call.
    pub end_of_message: Option<u32>,
    /// Replaces text that no token covers.
    pub unknown: Option<u32>,
    /// Separates two segments; in BERT, ends each of them.
    pub separator: Option<u32>,
    /// Padding of a batch, ignored by the model.
    pub padding: Option<u32>,
    /// Placeholder of a word to be predicted.
    pub mask: Option<u32>,
    /// Fill in the middle: the text before the gap follows.
    pub fim_prefix: Option<u32>,
    /// Fill in the middle: the text after the gap follows.
    pub fim_suffix: Option<u32>,
    /// Fill in the middle: the text of the gap follows.
    pub fim_middle: Option<u32>,
    /// Fill in the middle: padding of a batch.
    pub fim_padding: Option<u32>,
    /// Fill in the middle: the name of a repository follows.
    pub fim_repository: Option<u32>,
    /// Fill in the middle: the next file follows.
    pub fim_separator: Option<u32>,
    /// Every token that ends generation, in ascending order.
    pub end_of_generation: BTreeSet<u32>,
    /// Tokens that must not be generated, such as placeholders of images.
    pub suppressed: BTreeSet<u32>,
}

/// Tokens whose type in the file is wrong, by the correct type.
#[derive(Default)]
pub(crate) struct KindCorrections {
    /// Control tokens.
    pub control: Vec<u32>,
    /// Delimiters of the parts of an answer, which its reader needs: control tokens that are visible, or text that is
    /// always one token.
    pub delimiters: Vec<u32>,
    /// Normal tokens.
    pub normal: Vec<u32>,
}

const END_OF_TURN: &[&str] = &[
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "<｜end▁of▁sentence｜>",
    "<end_of_utterance>",
];
const END_OF_MESSAGE: &[&str] = &["<|eom_id|>"];
const FIM_PREFIX: &[&str] = &[
    "<|fim_prefix|>",
    "<fim-prefix>",
    "<fim_prefix>",
    "<｜fim▁begin｜>",
    "<PRE>",
    "▁<PRE>",
    "<|code_prefix|>",
    "<|prefix|>",
];
const FIM_SUFFIX: &[&str] = &[
    "<|fim_suffix|>",
    "<fim-suffix>",
    "<fim_suffix>",
    "<｜fim▁hole｜>",
    "<SUF>",
    "▁<SUF>",
    "<|code_suffix|>",
    "<|suffix|>",
];
const FIM_MIDDLE: &[&str] = &[
    "<|fim_middle|>",
    "<fim-middle>",
    "<fim_middle>",
    "<｜fim▁end｜>",
    "<MID>",
    "▁<MID>",
    "<|code_middle|>",
    "<|middle|>",
];
const FIM_PADDING: &[&str] = &["<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"];
const FIM_REPOSITORY: &[&str] =
    &["<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"];
const FIM_SEPARATOR: &[&str] = &["<|file_sep|>"];
const END_OF_GENERATION: &[&str] = &[
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "<｜end▁of▁sentence｜>",
    "[e~[",
];
/// Delimiters of the Harmony format.
const HARMONY_DELIMITERS: &[&str] = &["<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"];

impl SpecialTokens {
    /// Completes roles that the file does not set from the tokens' texts, and derives
    /// `end_of_generation`.
    pub(crate) fn complete<S: BuildHasher>(
        &mut self,
        ids: &HashMap<String, u32, S>,
    ) -> KindCorrections {
        let mut corrections = KindCorrections::default();
        let roles = [
            (&mut self.end_of_turn, END_OF_TURN),
            (&mut self.end_of_message, END_OF_MESSAGE),
            (&mut self.fim_prefix, FIM_PREFIX),
            (&mut self.fim_suffix, FIM_SUFFIX),
            (&mut self.fim_middle, FIM_MIDDLE),
            (&mut self.fim_padding, FIM_PADDING),
            (&mut self.fim_repository, FIM_REPOSITORY),
            (&mut self.fim_separator, FIM_SEPARATOR),
        ];
        for (role, names) in roles {
            if role.is_none() {
                *role = names.iter().find_map(|&name| ids.get(name).copied());
                corrections.control.extend(*role);
            }
        }

        let named = END_OF_GENERATION.iter().filter_map(|&name| ids.get(name).copied());
        self.end_of_generation.extend(named);
        corrections.control.extend(&self.end_of_generation);
        let by_role = [
            self.eos,
            self.end_of_turn,
            self.end_of_message,
            self.fim_padding,
            self.fim_repository,
            self.fim_separator,
        ];
        self.end_of_generation.extend(by_role.into_iter().flatten());

        let delimiters = HARMONY_DELIMITERS.iter().filter_map(|&name| ids.get(name).copied());
        corrections.delimiters.extend(delimiters);
        let ends = |name: &str| ids.get(name).filter(|id| self.end_of_generation.contains(id));
        let calls = ends("<|call|>").or(ends("<|calls|>")).is_some();
        // If replies end with a call or a return, <|end|> only ends one of their messages.
        let end_of_part = ends("<|end|>")
            .filter(|_| calls && (ends("<|return|>").is_some() || ends("<|flush|>").is_some()))
            .copied();
        // In Gemma 4 and PLaMo, </s> is the HTML tag; and in all vocabularies with others of these tags.
        let html_tag = ends("</s>").copied().filter(|&id| self.eos != Some(id));
        let is_text = html_tag.filter(|_| ids.contains_key("</h1>"));
        let html_tag =
            html_tag.filter(|_| ends("<|tool_response>").or(ends("<|plamo:eos|>")).is_some());
        if let Some(id) = end_of_part {
            self.end_of_generation.remove(&id);
            corrections.delimiters.push(id);
        }
        if let Some(id) = is_text {
            self.end_of_generation.remove(&id);
            corrections.control.retain(|&control| control != id);
        }
        if let Some(id) = html_tag {
            self.end_of_generation.remove(&id);
            corrections.normal.push(id);
        }
        corrections
    }
}
