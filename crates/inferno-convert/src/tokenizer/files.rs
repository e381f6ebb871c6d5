//! The files of a tokenizer.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use inferno_gguf::MappedFile;
use serde_json::{Map, Value};

use super::{tiktoken, word_piece};
use crate::{ConvertError, json};

/// Sentence-piece models of XLM-RoBERTa.
pub(super) const PIECES: &str = "sentencepiece.bpe.model";
/// Tokenizers of Mistral's own files.
pub(super) const TEKKEN: &str = "tekken.json";

/// The largest vocabulary that is converted, several times that of any model.
pub(super) const MAX_TOKENS: u64 = 1 << 24;

/// A token outside of the vocabulary of a model.
#[derive(Debug, Clone)]
pub(super) struct AddedToken {
    pub(super) text: String,
    pub(super) is_special: bool,
}

/// `tokenizer.json`, `tokenizer_config.json` and the files next to them.
pub(super) struct TokenizerFiles {
    pub(super) folder: PathBuf,
    /// `tokenizer.json`
    pub(super) tokenizer: Option<Map<String, Value>>,
    /// `tokenizer_config.json`
    pub(super) config: Option<Map<String, Value>>,
    /// `added_tokens.json`
    pub(super) added_texts: Option<Map<String, Value>>,
    /// The name of the pre-tokenizer, if the files imply it.
    pub(super) pre_tokenizer: Option<&'static str>,
}

impl TokenizerFiles {
    /// Reads the files in `folder`. `size` is that of the model's vocabulary.
    pub(super) fn read(folder: &Path, size: Option<usize>) -> Result<Self, ConvertError> {
        let mut config = json::read_object(&folder.join("tokenizer_config.json"))?;
        let mut tokenizer = json::read_object(&folder.join("tokenizer.json"))?;
        if tokenizer.is_none()
            && let Some(lines) = json::read_text(&folder.join("vocab.txt"))?
        {
            tokenizer = word_piece::from_lines(&lines, &mut config)?;
        }
        let mut pre_tokenizer = None;
        if tokenizer.is_none()
            && let Some(tiktoken) = tiktoken::read(folder, &mut config, size)?
        {
            tokenizer = Some(tiktoken.tokenizer);
            pre_tokenizer = Some(tiktoken.pre_tokenizer);
        }
        Ok(Self {
            folder: folder.to_owned(),
            tokenizer,
            config,
            added_texts: json::read_object(&folder.join("added_tokens.json"))?,
            pre_tokenizer,
        })
    }

    /// A boolean of `tokenizer_config.json`.
    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        self.config.as_ref()?.get(key)?.as_bool()
    }

    /// The model of `tokenizer.json`.
    pub(super) fn model(&self) -> Option<&Value> {
        self.tokenizer.as_ref()?.get("model")
    }

    /// Whether `tokenizer.json` has a model of this kind.
    pub(super) fn has_model(&self, kind: &str) -> bool {
        // Old files have no type, and only BPE has merges.
        let found = self.model().map(|model| match model["type"].as_str() {
            Some(found) => found == kind,
            None => kind == "BPE" && model["merges"].is_array(),
        });
        found.unwrap_or(false)
    }

    fn has_byte_fallback(&self) -> bool {
        self.model().is_some_and(|model| model["byte_fallback"] == true)
    }

    /// Whether `tokenizer.json` has byte-level BPE.
    pub(super) fn is_byte_level(&self) -> bool {
        self.has_model("BPE") && !self.has_byte_fallback()
    }

    /// Whether `tokenizer.json` has BPE on text, with tokens for bytes.
    pub(super) fn is_piece_merges(&self) -> bool {
        self.has_model("BPE") && self.has_byte_fallback()
    }

    /// The contents of `tokenizer.model` or a file like it, if it exists.
    pub(super) fn sentencepiece_model(
        &self,
        name: &str,
    ) -> Result<Option<bytes::Bytes>, ConvertError> {
        let path = self.folder.join(name);
        match path.exists() {
            true => Ok(Some(MappedFile::open(path)?.bytes())),
            false => Ok(None),
        }
    }

    /// Why no kind of tokenizer was found.
    pub(super) fn unsupported(&self) -> ConvertError {
        let exists = |name: &str| self.folder.join(name).exists();
        let kind = self.model().and_then(|model| model["type"].as_str()).map(str::to_owned);
        ConvertError::tokenizer(match (kind, tiktoken::file_name(&self.folder)) {
            (Some(kind), _) => format!(
                "tokenizer.json has a model of type {kind}; supported are BPE, Unigram and WordPiece, and tokenizer.model"
            ),
            (None, Some(name)) => tiktoken::unsupported(&name),
            (None, None) if exists("vocab.json") => {
                "tokenizer.json not found; create it in Python with AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)".to_owned()
            }
            (None, None) => "tokenizer.json, tokenizer.model, tekken.json or vocab.txt not found; download the whole repository".to_owned(),
        })
    }

    /// The stages of a part of `tokenizer.json`, such as the normalizer.
    pub(super) fn stages(&self, part: &str) -> Vec<&Value> {
        let found = self.tokenizer.as_ref().and_then(|tokenizer| tokenizer.get(part));
        found.map(flattened).unwrap_or_default()
    }

    /// Whether a space is added before a text of pieces.
    pub(super) fn adds_space_prefix(&self) -> bool {
        if self.tokenizer.is_none() {
            return true;
        }
        let all = ["normalizer", "pre_tokenizer"].into_iter().flat_map(|part| self.stages(part));
        all.into_iter().any(|stage| match stage["type"].as_str() {
            Some("Prepend") => true,
            Some("Metaspace") => match stage["prepend_scheme"].as_str() {
                Some(scheme) => scheme != "never",
                None => stage["add_prefix_space"] == true,
            },
            _ => false,
        })
    }

    /// Whether byte-level BPE adds a space before a text.
    pub(super) fn adds_space_before_words(&self) -> bool {
        let stages = self.stages("pre_tokenizer");
        stages.iter().any(|it| it["type"] == "ByteLevel" && it["add_prefix_space"] == true)
    }

    /// Checks that words have no prefix or suffix, which merges in GGUF files do not have.
    ///
    /// **Errors**: an affix.
    pub(super) fn check_affixes(&self) -> Result<(), ConvertError> {
        let affix = |key: &&str| {
            let found = self.model().and_then(|model| model[*key].as_str());
            found.is_some_and(|affix| !affix.is_empty())
        };
        match ["continuing_subword_prefix", "end_of_word_suffix"].into_iter().find(affix) {
            None => Ok(()),
            Some(key) => Err(ConvertError::tokenizer(format!(
                "tokenizer.json has the BPE option {key}, which GGUF cannot store"
            ))),
        }
    }

    /// Whether several spaces count as one, by a stage that splits or replaces, or by an option.
    pub(super) fn removes_extra_spaces(&self) -> bool {
        let splits = self.stages("pre_tokenizer").iter().any(|it| it["type"] == "WhitespaceSplit");
        let spaces = [" {2,}", " +"].map(Some);
        let replaces = self
            .stages("normalizer")
            .iter()
            .any(|it| it["type"] == "Replace" && spaces.contains(&it["pattern"]["Regex"].as_str()));
        splits || replaces || self.flag("clean_up_tokenization_spaces") == Some(true)
    }

    /// The tokens that are added to the vocabulary of the model, by number.
    pub(super) fn added_tokens(&self) -> Result<BTreeMap<usize, AddedToken>, ConvertError> {
        let mut tokens = BTreeMap::new();
        let tokenizer = self.tokenizer.as_ref().and_then(|all| all.get("added_tokens")?.as_array());
        for token in tokenizer.into_iter().flatten() {
            let id = token["id"].as_u64();
            self.add(&mut tokens, id, token, "tokenizer.json")?;
        }
        let decoder =
            self.config.as_ref().and_then(|config| config.get("added_tokens_decoder")?.as_object());
        for (id, token) in decoder.into_iter().flatten() {
            self.add(&mut tokens, id.parse().ok(), token, "tokenizer_config.json")?;
        }
        Ok(tokens)
    }

    fn add(
        &self,
        tokens: &mut BTreeMap<usize, AddedToken>,
        id: Option<u64>,
        token: &Value,
        file: &str,
    ) -> Result<(), ConvertError> {
        let text = token["content"].as_str();
        match (id.filter(|id| *id < MAX_TOKENS), text) {
            (Some(id), Some(text)) => {
                let is_special = token["special"] == true;
                tokens.insert(id as usize, AddedToken { text: text.to_owned(), is_special });
                Ok(())
            }
            _ => {
                let reason = "an added token without a number or text";
                Err(ConvertError::invalid(self.folder.join(file), reason))
            }
        }
    }

    /// The texts of special tokens, such as BOS.
    pub(super) fn special_texts(&self) -> Vec<&str> {
        let Some(config) = &self.config else { return Vec::new() };
        let keys = [
            "bos_token",
            "eos_token",
            "unk_token",
            "sep_token",
            "pad_token",
            "cls_token",
            "mask_token",
        ];
        let mut texts: Vec<&str> =
            keys.iter().filter_map(|key| token_text(config.get(*key)?)).collect();
        for key in ["additional_special_tokens", "extra_special_tokens"] {
            let further = config.get(key).and_then(Value::as_array);
            texts.extend(further.into_iter().flatten().filter_map(token_text));
        }
        texts
    }

    /// The numbers of tokens under a key of `generation_config.json`.
    pub(super) fn generation_ids(&self, key: &str) -> Result<Vec<usize>, ConvertError> {
        let config = json::read_object(&self.folder.join("generation_config.json"))?;
        Ok(config.as_ref().and_then(|config| config.get(key)).map(ids).unwrap_or_default())
    }

    /// The first of several tokens that end a text in `generation_config.json`.
    pub(super) fn first_of_several_ends(&self) -> Result<Option<usize>, ConvertError> {
        let ends = self.generation_ids("eos_token_id")?;
        Ok(ends.first().copied().filter(|_| ends.len() > 1))
    }

    /// The tokens of a vocabulary of `size` that must not be generated.
    pub(super) fn suppressed_tokens(&self, size: usize) -> Result<Vec<i32>, ConvertError> {
        let ids = self.generation_ids("suppress_tokens")?.into_iter().filter(|id| *id < size);
        Ok(ids.filter_map(|id| i32::try_from(id).ok()).collect())
    }

    /// The error of an invalid `tokenizer.json`.
    pub(super) fn invalid(&self, reason: impl Into<String>) -> ConvertError {
        ConvertError::invalid(self.folder.join("tokenizer.json"), reason.into())
    }

    /// The vocabulary of the model in `tokenizer.json`, by number.
    pub(super) fn vocabulary(&self) -> Result<BTreeMap<usize, &str>, ConvertError> {
        let vocabulary = self.model().and_then(|model| model["vocab"].as_object());
        let Some(vocabulary) = vocabulary else {
            return Err(self.invalid("expected an object \"vocab\" in \"model\""));
        };
        let mut texts = BTreeMap::new();
        for (text, id) in vocabulary {
            let id = id.as_u64().filter(|id| *id < MAX_TOKENS);
            let Some(id) = id else {
                return Err(self.invalid(format!("the number of token {text:?} is invalid")));
            };
            texts.insert(id as usize, text.as_str());
        }
        Ok(texts)
    }

    /// The merges of the model in `tokenizer.json`, each as two texts.
    pub(super) fn merges(&self) -> Result<Vec<(&str, &str)>, ConvertError> {
        let merges = self.model().and_then(|model| model["merges"].as_array());
        let Some(merges) = merges else {
            return Err(self.invalid("expected a list \"merges\" in \"model\""));
        };
        merges
            .iter()
            .map(|merge| match merge {
                Value::String(text) => text.split_once(' '),
                Value::Array(texts) => match &texts[..] {
                    [first, second] => first.as_str().zip(second.as_str()),
                    _ => None,
                },
                _ => None,
            })
            .map(|merge| merge.ok_or_else(|| self.invalid("a merge is not a pair of tokens")))
            .collect()
    }

    /// The merges, with a space between two tokens; a space in a token is written in the alphabet of bytes.
    pub(super) fn merge_texts(&self) -> Result<Vec<String>, ConvertError> {
        let escaped = |text: &str| text.replace(' ', "Ġ");
        let merges = self.merges()?.into_iter();
        Ok(merges.map(|(a, b)| format!("{} {}", escaped(a), escaped(b))).collect())
    }
}

/// A stage and those in it, if it is a sequence.
pub(super) fn flattened(stage: &Value) -> Vec<&Value> {
    let inner = ["normalizers", "pretokenizers", "processors"];
    match inner.iter().find_map(|key| stage[*key].as_array()) {
        Some(stages) => stages.iter().flat_map(flattened).collect(),
        None if stage.is_null() => Vec::new(),
        None => vec![stage],
    }
}

/// The numbers of tokens in a value, which is one of them or a list.
pub(super) fn ids(value: &Value) -> Vec<usize> {
    let list = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    list.iter().filter_map(|id| Some(id.as_u64()? as usize)).collect()
}

/// The text of a special token, which is a text or an object.
pub(super) fn token_text(token: &Value) -> Option<&str> {
    token.as_str().or_else(|| token["content"].as_str())
}

/// Whether a token that is not marked as special has the form of one.
pub(super) fn looks_special(text: &str) -> bool {
    let delimiters = [("<|", "|>"), ("<｜", "｜>"), ("<unused", ">")];
    ["<pad>", "<mask>", "<2mass>", "[@BOS@]"].contains(&text)
        || delimiters.iter().any(|(start, end)| text.starts_with(start) && text.ends_with(end))
}
