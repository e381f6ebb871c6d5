//! Finding the name of a pre-tokenizer: that of the one which splits texts as `tokenizer.json` does.
//!
//! GGUF files have a name instead of the regular expressions. Here, the expressions are applied to a text with all kinds
//! of characters, and the results are compared with those of every known pre-tokenizer. So neither the spelling of an
//! expression nor the vocabulary matters, and no list of known files is needed.

use std::ops::Range;

use fancy_regex::Regex;
use inferno_tokenizer::pre_tokenizers;
use serde_json::Value;

use super::files::{TokenizerFiles, flattened};
use crate::ConvertError;

/// A pre-tokenizer's name.
pub(super) struct Identified {
    pub(super) name: &'static str,
    /// What the user should know.
    pub(super) notes: Vec<String>,
}

/// Texts that every pre-tokenizer must split alike: words, numbers, white space, contractions, punctuation, scripts.
const COMMON: &str = "Hello world!  The year 2024, or 12345678 and 3.14\n\n  indented\ttab\r\n \n\n x = foo(bar[0]) + 'a';  \
     don't I'll we've THEY'RE it's 1st 22nd ...!? --- ===\n\t\tif (a && b) { return \"c\"; }   \nüber naïve café Straße \
     Привет мир 你好世界，这是 测试。 これはテストです 안녕하세요 مرحبا بالعالم 🚀🙂 a1b2 C3PO snake_case $100 50% #tag @name \
     a/b\\c <tag>  end\n";

/// Texts on which pre-tokenizers with the same name differ in rare cases: marks, capitals, other digits.
const RARE: &str = "camelCase HTTPServer iPhone ÉCOLE straße'S e\u{301}a ก้าว हिन्दी ١٢٣٤ Ⅷ ½ x² \u{a0}nbsp \u{3000}wide\u{200d}join \
     ǅ ʰ Ünïcödé'd 1,234,567 0x1F 'tis ''quoted'' a\u{85}b \u{2028} ！？（全角） ㍿ — “q” /n\n/\n//\r\r ok";

/// The name of a pre-tokenizer, if there is one with this name.
pub(super) fn known(name: &str) -> Result<&str, ConvertError> {
    match pre_tokenizers().any(|it| it.names().contains(&name)) {
        true => Ok(name),
        false => Err(ConvertError::tokenizer(format!(
            "there is no pre-tokenizer {name:?}; `inferno convert --list` prints their names"
        ))),
    }
}

/// Finds the pre-tokenizer, and calls it by its `preferred` name if that is one of its names.
pub(super) fn identify(
    files: &TokenizerFiles,
    preferred: &str,
    adds_bos: bool,
) -> Result<Identified, ConvertError> {
    let stages = Stages::new(files)?;
    let ignores_merges = files.model().is_some_and(|model| model["ignore_merges"] == true);
    let (common, rare) = (stages.split(COMMON)?, stages.split(RARE)?);
    let candidates = pre_tokenizers().filter(|it| it.words(COMMON) == common);
    let rare = spans(rare.iter().map(String::as_str));
    let ends = |spans: &[Range<usize>]| spans.iter().map(|span| span.end).collect::<Vec<_>>();
    let differences = |words: &[&str]| {
        let (own, other) = (ends(&spans(words.iter().copied())), ends(&rare));
        own.iter().filter(|border| !other.contains(border)).count()
            + other.iter().filter(|border| !own.contains(border)).count()
    };
    let best = candidates.min_by_key(|it| {
        (
            differences(&it.words(RARE)),
            it.ignores_merges() != ignores_merges,
            it.adds_bos() != adds_bos,
        )
    });
    let Some(best) = best else {
        return Err(ConvertError::tokenizer(format!(
            "the pre-tokenizer of tokenizer.json is not one of those that GGUF files can name: {}; if you know the name \
             of an equivalent one, pass it with --pre NAME",
            stages.description
        )));
    };
    let named = best.names().iter().find(|name| **name == preferred);
    let name = named.copied().unwrap_or(best.names()[0]);
    let mut notes = Vec::new();
    if best.ignores_merges() != ignores_merges {
        notes.push(format!(
            "pre-tokenizer {name} differs from tokenizer.json in words that are tokens without merges"
        ));
    }
    let words = spans(best.words(RARE).into_iter());
    let other: Vec<_> = rare.into_iter().filter(|span| !words.contains(span)).collect();
    if !other.is_empty() {
        let listed: Vec<String> = other
            .iter()
            .take(MAX_LISTED)
            .map(|span| format!("{:?}", &RARE[span.clone()]))
            .collect();
        let more = match other.len().saturating_sub(MAX_LISTED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let listed = listed.join(", ");
        notes.push(format!(
            "pre-tokenizer {name} splits rare text differently from tokenizer.json, for example {listed}{more}"
        ));
    }
    Ok(Identified { name, notes })
}

/// Number of words that a note lists.
const MAX_LISTED: usize = 8;

/// The places of words that follow each other.
fn spans<'w>(words: impl Iterator<Item = &'w str>) -> Vec<Range<usize>> {
    let ranges = words.scan(0, |end, word| {
        let start = *end;
        *end += word.len();
        Some(start..*end)
    });
    ranges.collect()
}

/// The stages of a pre-tokenizer in `tokenizer.json`.
struct Stages {
    stages: Vec<Stage>,
    description: String,
}

struct Stage {
    pattern: Regex,
    /// Whether the pattern describes what is between pieces.
    is_inverted: bool,
    behavior: Behavior,
}

/// What becomes of matches.
#[derive(Clone, Copy, PartialEq)]
enum Behavior {
    Isolated,
    Contiguous,
    MergedWithPrevious,
    MergedWithNext,
}

/// The expression of byte-level pre-tokenizers.
const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
/// ASCII and Unicode punctuation.
const PUNCTUATION: &str = r"[\p{P}!-/:-@\[-`{-~]";

impl Stages {
    fn new(files: &TokenizerFiles) -> Result<Self, ConvertError> {
        let pre_tokenizer = files.tokenizer.as_ref().and_then(|all| all.get("pre_tokenizer"));
        let pre_tokenizer = pre_tokenizer.unwrap_or(&Value::Null);
        let unsupported = |what: &str| {
            ConvertError::tokenizer(format!(
                "pre-tokenizer {what} in tokenizer.json is not supported; pass --pre NAME"
            ))
        };
        let mut stages = Vec::new();
        for stage in flattened(pre_tokenizer) {
            let kind = stage["type"].as_str().unwrap_or_default();
            let behavior = match stage["behavior"].as_str() {
                None | Some("Isolated") => Behavior::Isolated,
                Some("Contiguous") => Behavior::Contiguous,
                Some("MergedWithPrevious") => Behavior::MergedWithPrevious,
                Some("MergedWithNext") => Behavior::MergedWithNext,
                // Of an inverted pattern, what is removed is empty.
                Some("Removed") if stage["invert"] == true => Behavior::Isolated,
                Some(other) => return Err(unsupported(&format!("with behavior {other}"))),
            };
            let pattern = match kind {
                "ByteLevel" if stage["use_regex"] == false => continue,
                "ByteLevel" => GPT2.to_owned(),
                "Digits" if stage["individual_digits"] == true => r"\p{N}".to_owned(),
                "Digits" => r"\p{N}+".to_owned(),
                "Punctuation" => PUNCTUATION.to_owned(),
                "Split" => {
                    match (stage["pattern"]["Regex"].as_str(), stage["pattern"]["String"].as_str())
                    {
                        (Some(pattern), _) => pattern.to_owned(),
                        (None, Some(text)) => fancy_regex::escape(text).into_owned(),
                        (None, None) => return Err(files.invalid("a Split without a pattern")),
                    }
                }
                other => return Err(unsupported(other)),
            };
            let pattern = Regex::new(&pattern).map_err(|error| {
                ConvertError::tokenizer(format!(
                    "the expression {pattern:?} is not supported ({error}); pass --pre NAME"
                ))
            })?;
            let is_inverted = kind == "Split" && stage["invert"] == true;
            stages.push(Stage { pattern, is_inverted, behavior });
        }
        let patterns =
            stages.iter().map(|stage| stage.pattern.as_str()).collect::<Vec<_>>().join(" then ");
        Ok(Self { stages, description: patterns })
    }

    fn split(&self, text: &str) -> Result<Vec<String>, ConvertError> {
        let mut pieces = vec![text.to_owned()];
        for stage in &self.stages {
            let mut split = Vec::new();
            for piece in &pieces {
                split.extend(stage.split(piece)?);
            }
            pieces = split;
        }
        Ok(pieces)
    }
}

impl Stage {
    fn split(&self, text: &str) -> Result<Vec<String>, ConvertError> {
        // Alternately gaps and matches.
        let (mut spans, mut end) = (Vec::new(), 0);
        for found in self.pattern.find_iter(text) {
            let found = found.map_err(|error| ConvertError::tokenizer(error.to_string()))?;
            if found.start() > end {
                spans.push((&text[end..found.start()], self.is_inverted));
            }
            if found.end() > found.start() {
                spans.push((&text[found.start()..found.end()], !self.is_inverted));
            }
            end = found.end();
        }
        if end < text.len() {
            spans.push((&text[end..], self.is_inverted));
        }
        let mut pieces: Vec<String> = Vec::new();
        let mut previous = None;
        let mut pending = String::new();
        for (span, is_match) in spans {
            let joins = match self.behavior {
                Behavior::Isolated => false,
                Behavior::Contiguous => previous == Some(is_match),
                Behavior::MergedWithPrevious => is_match && previous == Some(false),
                Behavior::MergedWithNext => {
                    if is_match {
                        if !pending.is_empty() {
                            pieces.push(std::mem::take(&mut pending));
                        }
                        pending.push_str(span);
                    } else {
                        pieces.push(std::mem::take(&mut pending) + span);
                    }
                    previous = Some(is_match);
                    continue;
                }
            };
            match pieces.last_mut().filter(|_| joins) {
                Some(last) => last.push_str(span),
                None => pieces.push(span.to_owned()),
            }
            previous = Some(is_match);
        }
        if !pending.is_empty() {
            pieces.push(pending);
        }
        Ok(pieces)
    }
}
