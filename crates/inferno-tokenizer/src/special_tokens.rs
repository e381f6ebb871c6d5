//! The tokens with a role: begin, end, turn, padding, fill in the middle.
//!
//! Files name some of them by id. The rest is known by its text, and so is the list of tokens that
//! end a generation: this is how llama.cpp derives it, and what the makers of GGUF files rely on.

use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher;

/// The tokens with a role; a role that the file has no token for is `None`.
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct SpecialTokens {
    /// Begins a text.
    pub bos: Option<u32>,
    /// Ends a text.
    pub eos: Option<u32>,
    /// Ends one side's turn in a conversation.
    pub end_of_turn: Option<u32>,
    /// Ends a message that the same side continues, such as a tool call.
    pub end_of_message: Option<u32>,
    /// Stands for text that no token covers.
    pub unknown: Option<u32>,
    /// Stands between two texts, and ends each in BERT.
    pub separator: Option<u32>,
    /// Fills a batch; never read.
    pub padding: Option<u32>,
    /// Stands for a word to be guessed.
    pub mask: Option<u32>,
    /// Fill in the middle: the text before the gap follows.
    pub fim_prefix: Option<u32>,
    /// Fill in the middle: the text after the gap follows.
    pub fim_suffix: Option<u32>,
    /// Fill in the middle: the text of the gap follows.
    pub fim_middle: Option<u32>,
    /// Fill in the middle: fills a batch.
    pub fim_padding: Option<u32>,
    /// Fill in the middle: the name of a repository follows.
    pub fim_repository: Option<u32>,
    /// Fill in the middle: the next file follows.
    pub fim_separator: Option<u32>,
    /// Every token after which a model has nothing more to say, in ascending order.
    pub end_of_generation: BTreeSet<u32>,
}

/// Tokens whose kind in the file is to be corrected.
#[derive(Default)]
pub(crate) struct KindCorrections {
    /// To control tokens.
    pub control: Vec<u32>,
    /// To user-defined text.
    pub text: Vec<u32>,
    /// To normal tokens.
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
/// Parts of a reply in the Harmony format, which callers want to see.
const ALWAYS_TEXT: &[&str] = &["<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"];

impl SpecialTokens {
    /// Fills the roles that the file leaves open from the tokens' texts, and derives
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

        corrections.text.extend(ALWAYS_TEXT.iter().filter_map(|&name| ids.get(name).copied()));
        let ends = |name: &str| ids.get(name).filter(|id| self.end_of_generation.contains(id));
        let calls = ends("<|call|>").or(ends("<|calls|>")).is_some();
        // Where a reply ends with a call or a return, <|end|> ends only one of its messages.
        let end_of_part = ends("<|end|>")
            .filter(|_| calls && (ends("<|return|>").is_some() || ends("<|flush|>").is_some()))
            .copied();
        // Gemma 4 and PLaMo have </s> as the HTML tag.
        let html_tag = ends("</s>")
            .filter(|_| ends("<|tool_response>").or(ends("<|plamo:eos|>")).is_some())
            .copied();
        if let Some(id) = end_of_part {
            self.end_of_generation.remove(&id);
            corrections.text.push(id);
        }
        if let Some(id) = html_tag {
            self.end_of_generation.remove(&id);
            corrections.normal.push(id);
        }
        corrections
    }
}
