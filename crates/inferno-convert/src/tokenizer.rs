//! The tokenizer's metadata.
//!
//! What kind of tokenizer a folder has is decided by its files, not by the model: BPE on bytes or on text, Unigram or
//! WordPiece in `tokenizer.json`, a sentence-piece model in `tokenizer.model`, `tekken.json`, or a vocabulary of tiktoken.

mod chat_template;
mod files;
mod piece_merges;
mod ranks;
mod sentencepiece;
mod special;
mod splitting;
mod tekken;
mod tiktoken;
mod unigram;
mod vocabulary;
mod word_piece;

use std::path::Path;

use bytes::Bytes;
use inferno_gguf::{Metadata, StringArray};

use crate::ConvertError;
use crate::config::invalid;
use crate::family::{Context, Family, TokenizerFacts};
use crate::json;
use files::{MAX_TOKENS, PIECES, TEKKEN, TokenizerFiles};
use special::SpecialTokens;
use tekken::Tekken;
use unigram::Unigram;

/// The value of `tokenizer.ggml.pre` for WordPiece vocabularies, whose words no pre-tokenizer finds.
const WORD_PIECE: &str = "bert-bge";

/// Types of tokens in GGUF files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
enum TokenType {
    Normal = 1,
    Unknown = 2,
    Control = 3,
    UserDefined = 4,
    Unused = 5,
    Byte = 6,
}

/// The tokens of a vocabulary.
struct Tokens {
    texts: Vec<String>,
    types: Vec<TokenType>,
    /// For sentence-piece vocabularies.
    scores: Option<Vec<f32>>,
}

impl Tokens {
    /// Sets a token if the vocabulary has its number.
    fn set(&mut self, id: usize, text: &str, score: f32, kind: TokenType) {
        if id < self.texts.len() {
            self.texts[id] = text.to_owned();
            self.types[id] = kind;
            if let Some(scores) = &mut self.scores {
                scores[id] = score;
            }
        }
    }
}

/// The kinds of tokenizers.
enum Kind {
    ByteLevel,
    WordPiece,
    Unigram(Unigram),
    /// A sentence-piece model whose pieces are merged by their scores.
    Pieces(Bytes),
    /// BPE on text, with tokens for bytes.
    PieceMerges,
    Tekken(Tekken),
}

impl Kind {
    /// The kind by the files that exist.
    fn of(
        files: &TokenizerFiles,
        facts: &TokenizerFacts,
        size: Option<usize>,
    ) -> Result<Self, ConvertError> {
        if let Some(has_mask) = facts.unigram_pieces
            && let Some(model) = files.sentencepiece_model(PIECES)?
        {
            let unigram = Unigram::from_pieces(files, &model, size, has_mask)?;
            return Ok(Self::Unigram(unigram));
        }
        if files.is_byte_level() {
            return Ok(Self::ByteLevel);
        }
        if files.tokenizer.is_none()
            && let Some(tekken) = json::read_object(&files.folder.join(TEKKEN))?
        {
            return Ok(Self::Tekken(Tekken::new(files, &tekken)?));
        }
        if let Some(model) = files.sentencepiece_model("tokenizer.model")? {
            return Ok(Self::Pieces(model));
        }
        match () {
            () if files.is_piece_merges() => Ok(Self::PieceMerges),
            () if files.has_model("Unigram") => Unigram::from_json(files, size).map(Self::Unigram),
            () if files.has_model("WordPiece") => Ok(Self::WordPiece),
            () => Err(files.unsupported()),
        }
    }
}

/// Text for the number of a token that does not exist.
fn padding_text(number: usize) -> String {
    format!("[PAD{number}]")
}

/// The numbers of the tokens with these texts, in the vocabulary of `tokenizer.json` in `folder`.
pub(crate) fn token_ids(folder: &Path, texts: &[&str]) -> Result<Vec<usize>, ConvertError> {
    let tokenizer = json::read_object(&folder.join("tokenizer.json"))?.unwrap_or_default();
    let ids = texts.iter().map(|text| {
        let id = tokenizer.get("model").and_then(|model| model["vocab"][*text].as_u64());
        id.map(|id| id as usize).ok_or_else(|| {
            ConvertError::tokenizer(format!(
                "tokenizer.json has no token {text:?}, which the model answers with"
            ))
        })
    });
    ids.collect()
}

/// Adds the metadata of the tokenizer, and returns notes for the user.
pub(crate) fn convert(
    context: &Context<'_>,
    family: &Family,
    pre_tokenizer: Option<&str>,
    metadata: &mut Metadata,
) -> Result<Vec<String>, ConvertError> {
    let size = context.config.optional_count(&["vocab_size"])?;
    if let Some(size) = size.filter(|&size| u64::from(size) > MAX_TOKENS) {
        return Err(invalid("vocab_size", &format!("at most {MAX_TOKENS}"), size));
    }
    let size = size.map(|size| size as usize);
    let files = TokenizerFiles::read(context.folder, size)?;
    let facts = &family.tokenizer;
    if let (true, Some(adds)) = (facts.copies_space_prefix, files.flag("add_prefix_space")) {
        metadata.insert("tokenizer.ggml.add_space_prefix", adds);
    }
    let mut notes = Vec::new();
    let (tokens, special) = match Kind::of(&files, facts, size)? {
        Kind::ByteLevel => {
            files.check_affixes()?;
            if files.adds_space_before_words() {
                let unsupported = "a space before each text (add_prefix_space in tokenizer.json)";
                match pre_tokenizer {
                    Some(_) => {
                        notes.push(format!("{unsupported} is not added; tokens will differ"))
                    }
                    None => {
                        return Err(ConvertError::tokenizer(format!(
                            "{unsupported} is not supported for byte-level BPE; pass --pre NAME to convert without it"
                        )));
                    }
                }
            }
            let special = SpecialTokens::find(&files, context.config, None)?;
            let tokens = vocabulary::tokens(&files, padded_size(context, family)?)?;
            let merges = files.merge_texts()?;
            let name = match pre_tokenizer.or(files.pre_tokenizer) {
                Some(name) => splitting::known(name)?.to_owned(),
                None => {
                    let preferred = facts.pre_tokenizer.unwrap_or(family.architecture);
                    let found = splitting::identify(&files, preferred, special.adds_bos())?;
                    notes.extend(found.notes);
                    found.name.to_owned()
                }
            };
            notes.extend(unsupported_normalizers(&files));
            write(metadata, "gpt2", Some(&name), &tokens);
            metadata.insert("tokenizer.ggml.merges", merges.into_iter().collect::<StringArray>());
            (tokens, None)
        }
        Kind::WordPiece => {
            let tokens = word_piece::tokens(&files, padded_size(context, family)?)?;
            write(metadata, "bert", Some(pre_tokenizer.unwrap_or(WORD_PIECE)), &tokens);
            (tokens, None)
        }
        Kind::Unigram(unigram) => {
            write(metadata, "t5", Some("default"), &unigram.tokens);
            unigram.write_normalization(metadata);
            (unigram.tokens, None)
        }
        Kind::Pieces(model) => {
            let reads_added_tokens = facts.reads_added_tokens;
            let (tokens, note) = sentencepiece::tokens(&files, &model, size, reads_added_tokens)?;
            notes.extend(note);
            write(metadata, "llama", Some("default"), &tokens);
            (tokens, None)
        }
        Kind::PieceMerges => {
            files.check_affixes()?;
            let (tokens, merges) = piece_merges::tokens(&files, facts)?;
            match facts.merges_model {
                Some(model) => {
                    write(metadata, model, None, &tokens);
                    let merges: StringArray = merges.into_iter().collect();
                    metadata.insert("tokenizer.ggml.merges", merges);
                }
                None => {
                    write(metadata, "llama", Some("default"), &tokens);
                    if !files.adds_space_prefix() {
                        metadata.insert("tokenizer.ggml.add_space_prefix", false);
                    }
                }
            }
            (tokens, None)
        }
        Kind::Tekken(tekken) => {
            write(metadata, "gpt2", Some("tekken"), &tekken.tokens);
            tekken.write(metadata);
            let special = tekken.special();
            (tekken.tokens, Some(special))
        }
    };

    let mut special = match special {
        Some(special) => special,
        None => SpecialTokens::find(&files, context.config, Some(tokens.texts.len()))?,
    };
    for (role, adds) in facts.added {
        special.set_added_default(role, *adds);
    }
    for (role, text) in facts.tokens {
        if let Some(id) = tokens.texts.iter().position(|token| token == text) {
            special.set_default(role, id);
        }
    }
    for (role, id) in facts.ids.iter().filter(|(_, id)| (*id as usize) < tokens.texts.len()) {
        special.set_default(role, *id as usize);
    }
    if family.architecture == "llama" {
        known_roles(context, &mut special)?;
    }
    // The token that ends texts of dense Hunyuan models, and another one that ends turns.
    if family.architecture == "hunyuan-dense"
        && let Some(id) = context.config.optional_count(&["eod_token_id"])?
    {
        special.set("eos", id as usize);
        if let Some(end) = files.first_of_several_ends()? {
            special.set("eot", end);
        }
    }
    special.complete_ends(&files, context.config, tokens.texts.len())?;
    special.write(metadata);
    let suppressed = files.suppressed_tokens(tokens.texts.len())?;
    if !suppressed.is_empty() {
        metadata.insert("tokenizer.ggml.suppress_tokens", suppressed);
    }
    if let Some(adds) = facts.add_space_prefix {
        metadata.insert("tokenizer.ggml.add_space_prefix", adds);
    }
    if let Some(adds) = facts.add_bos {
        metadata.insert("tokenizer.ggml.add_bos_token", adds);
    }
    notes.extend(word_piece::normalization(&files, metadata));
    chat_template::write(&files, metadata)?;
    Ok(notes)
}

/// Notes on normalizers of a byte-level vocabulary, which GGUF files cannot have. The composition of decomposed characters (NFC),
/// which many models have, is left out without one, as by other programs.
fn unsupported_normalizers(files: &TokenizerFiles) -> Vec<String> {
    let stages = files.stages("normalizer");
    let kinds = stages.iter().filter_map(|stage| stage["type"].as_str());
    let unsupported = kinds.filter(|kind| *kind != "NFC").map(|kind| {
        format!(
            "the normalizer {kind} of tokenizer.json is not applied: some texts have other tokens"
        )
    });
    unsupported.collect()
}

/// Roles of tokens that files of this architecture do not state, by the size of their vocabulary.
fn known_roles(context: &Context<'_>, special: &mut SpecialTokens) -> Result<(), ConvertError> {
    match context.config.optional_count(&["vocab_size"])? {
        // Code Llama.
        Some(32016) => {
            special.set_default("eot", 32010);
        }
        // SmolLM and Granite code models have a BOS token that is not added.
        Some(49152) => special.set_added("bos", false),
        _ => {}
    }
    Ok(())
}

/// The number of tokens, with those that only fill the embeddings.
fn padded_size(context: &Context<'_>, family: &Family) -> Result<Option<usize>, ConvertError> {
    let size = context.config.optional_count(&["vocab_size"])?;
    let multiple = match family.tokenizer.padding {
        1 => 1,
        default => context.config.count_or(&["pad_vocab_size_multiple"], default)?.max(1),
    };
    let padded = size.map(|size| u64::from(size).next_multiple_of(multiple as u64));
    match padded.filter(|&padded| padded > MAX_TOKENS) {
        None => Ok(padded.map(|padded| padded as usize)),
        Some(padded) => Err(invalid(
            "pad_vocab_size_multiple",
            &format!("a padded vocabulary of at most {MAX_TOKENS}"),
            padded,
        )),
    }
}

/// Writes the kind and the tokens of a vocabulary.
fn write(metadata: &mut Metadata, model: &str, pre_tokenizer: Option<&str>, tokens: &Tokens) {
    metadata.insert("tokenizer.ggml.model", model);
    if let Some(name) = pre_tokenizer {
        metadata.insert("tokenizer.ggml.pre", name);
    }
    metadata.insert("tokenizer.ggml.tokens", tokens.texts.iter().collect::<StringArray>());
    if let Some(scores) = &tokens.scores {
        metadata.insert("tokenizer.ggml.scores", scores.clone());
    }
    let types: Vec<i32> = tokens.types.iter().map(|&kind| kind as i32).collect();
    metadata.insert("tokenizer.ggml.token_type", types);
}
