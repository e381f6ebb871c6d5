//! Tokens with a role, and whether they are added to texts.

use std::collections::BTreeMap;

use inferno_gguf::Metadata;
use serde_json::Value;

use super::files::{TokenizerFiles, flattened, ids, token_text};
use crate::ConvertError;
use crate::config::Config;

/// Roles that the files name, in this order.
const ROLES: [&str; 7] = ["bos", "eos", "unk", "sep", "pad", "cls", "mask"];

/// Roles and their metadata keys.
const KEYS: &[(&str, &str)] = &[
    ("bos", "bos_token_id"),
    ("eos", "eos_token_id"),
    ("unk", "unknown_token_id"),
    ("sep", "seperator_token_id"),
    ("pad", "padding_token_id"),
    ("mask", "mask_token_id"),
    ("eot", "eot_token_id"),
    ("eom", "eom_token_id"),
];

/// Tokens with a role, and which are added to texts.
#[derive(Default)]
pub(super) struct SpecialTokens {
    ids: BTreeMap<&'static str, usize>,
    added: BTreeMap<&'static str, bool>,
}

impl SpecialTokens {
    /// Reads the files. Numbers from `size` on are ignored.
    pub(super) fn find(
        files: &TokenizerFiles,
        config: &Config,
        size: Option<usize>,
    ) -> Result<Self, ConvertError> {
        let mut special = Self::default();
        let mut texts: BTreeMap<&'static str, String> = BTreeMap::new();
        for role in ROLES {
            let named =
                files.config.as_ref().and_then(|config| config.get(&format!("{role}_token")));
            if let Some(text) = named.and_then(token_text) {
                texts.insert(role, text.to_owned());
            }
        }
        if files.tokenizer.is_some() {
            for (role, other) in [("bos", "cls"), ("eos", "sep")] {
                if let (false, Some(text)) = (texts.contains_key(role), texts.get(other).cloned()) {
                    texts.insert(role, text);
                }
            }
            special.post_processor(files, &mut texts);
        }
        for role in ROLES {
            if let Some(adds) = files.flag(&format!("add_{role}_token")) {
                special.added.entry(role).or_insert(adds);
            }
        }
        let fits = |id: usize| size.is_none_or(|size| id < size);
        if files.tokenizer.is_some() {
            let added =
                files.tokenizer.as_ref().and_then(|all| all.get("added_tokens")?.as_array());
            let find = |text: &str| {
                let mut tokens = added.into_iter().flatten();
                tokens.find(|token| token["content"] == text)?["id"].as_u64()
            };
            for (role, text) in &texts {
                if let Some(id) = find(text).map(|id| id as usize).filter(|id| fits(*id)) {
                    special.ids.insert(role, id);
                }
            }
        }
        for role in ROLES {
            let id = config.get(&format!("{role}_token_id")).and_then(Value::as_u64);
            if let Some(id) = id.map(|id| id as usize).filter(|id| fits(*id)) {
                special.set_default(role, id);
            }
        }
        Ok(special)
    }

    /// Completes the token that ends texts by the numbers in the configurations of model and generation, of which the next one ends
    /// turns. Numbers from `size` on are ignored.
    pub(super) fn complete_ends(
        &mut self,
        files: &TokenizerFiles,
        config: &Config,
        size: usize,
    ) -> Result<(), ConvertError> {
        const KEY: &str = "eos_token_id";
        if self.ids.contains_key("eos") {
            return Ok(());
        }
        let of_model = config.get(KEY).map(ids).unwrap_or_default();
        let all = of_model.into_iter().chain(files.generation_ids(KEY)?);
        let mut ends = Vec::new();
        for id in all.filter(|id| *id < size) {
            if !ends.contains(&id) {
                ends.push(id);
            }
        }
        for (role, id) in ["eos", "eot"].into_iter().zip(ends) {
            self.set_default(role, id);
        }
        Ok(())
    }

    /// Which tokens the post-processor of `tokenizer.json` adds. Tokens that it names become BOS and EOS.
    fn post_processor(
        &mut self,
        files: &TokenizerFiles,
        texts: &mut BTreeMap<&'static str, String>,
    ) {
        let processor = files.tokenizer.as_ref().and_then(|all| all.get("post_processor"));
        for stage in processor.into_iter().flat_map(flattened) {
            match stage["type"].as_str() {
                Some("ByteLevel") => {
                    self.added.entry("bos").or_insert(false);
                    self.added.entry("eos").or_insert(false);
                }
                Some("RobertaProcessing") => {
                    for role in ["bos", "eos", "sep"] {
                        self.added.insert(role, true);
                    }
                    for role in ["cls", "sep"] {
                        if let Some(text) = stage[role][0].as_str() {
                            texts.entry(role).or_insert_with(|| text.to_owned());
                        }
                    }
                }
                Some("TemplateProcessing") => self.template(stage, texts),
                _ => {}
            }
        }
    }

    /// A template: the first and last tokens around one text.
    fn template(&mut self, stage: &Value, texts: &mut BTreeMap<&'static str, String>) {
        let single = stage["single"].as_array().map(Vec::as_slice).unwrap_or_default();
        let token = |entry: &Value| entry["SpecialToken"]["id"].as_str().map(str::to_owned);
        let (first, last) = match single {
            [first, .., last] => (token(first), token(last)),
            _ => (None, None),
        };
        if let Some(first) = &first {
            for role in ["bos", "cls"] {
                let is_known = texts.get("bos") == Some(first) || texts.get("cls") == Some(first);
                if !is_known && !texts.contains_key(role) {
                    texts.insert(role, first.clone());
                }
            }
            let is_known = texts.get("bos") == Some(first) || texts.get("cls") == Some(first);
            self.added.insert("bos", is_known);
        }
        if let Some(last) = &last {
            // The token that ends a turn, if another one ends texts.
            if let Some(other) = texts.get("eos").filter(|eos| *eos != last).cloned() {
                texts.insert("eot", other);
            }
            texts.insert("eos", last.clone());
            self.added.insert("eos", true);
        }
        let pair = stage["pair"].as_array().map(Vec::as_slice).unwrap_or_default();
        let start = usize::from(first.is_some() && pair.first().and_then(token) == first);
        let end = usize::from(last.is_some() && pair.last().and_then(token) == last);
        let inner = pair.get(start..pair.len().saturating_sub(end)).unwrap_or_default();
        if let [a, between @ .., b] = inner {
            let is_sequence = |entry: &Value, name: &str| entry["Sequence"]["id"] == name;
            if is_sequence(a, "A") && is_sequence(b, "B") && !between.is_empty() {
                let separates = |text: &String| {
                    texts.get("sep") == Some(text) || texts.get("eos") == Some(text)
                };
                let tokens: Vec<_> = between.iter().filter_map(token).collect();
                let first_separates = tokens.first().is_some_and(separates) && last.is_none();
                let second_separates = between.len() == 2 && tokens.get(1).is_some_and(separates);
                self.added.insert("sep", first_separates || second_separates);
            }
        }
    }

    /// Sets whether a token is added, if the files do not state it.
    pub(super) fn set_added_default(&mut self, role: &'static str, adds: bool) {
        self.added.entry(role).or_insert(adds);
    }

    /// Whether the files state that BOS is added.
    pub(super) fn adds_bos(&self) -> bool {
        self.added.get("bos").copied().unwrap_or(false)
    }

    /// Sets a role that no token has.
    pub(super) fn set_default(&mut self, role: &'static str, id: usize) {
        self.ids.entry(role).or_insert(id);
    }

    /// Sets a role.
    pub(super) fn set(&mut self, role: &'static str, id: usize) {
        self.ids.insert(role, id);
    }

    /// Sets whether a token is added.
    pub(super) fn set_added(&mut self, role: &'static str, adds: bool) {
        self.added.insert(role, adds);
    }

    pub(super) fn write(&self, metadata: &mut Metadata) {
        for (role, key) in KEYS {
            if let Some(&id) = self.ids.get(role) {
                metadata.insert(format!("tokenizer.ggml.{key}"), id as u32);
            }
        }
        for role in ["bos", "eos", "sep"] {
            if let Some(&adds) = self.added.get(role) {
                metadata.insert(format!("tokenizer.ggml.add_{role}_token"), adds);
            }
        }
    }
}
