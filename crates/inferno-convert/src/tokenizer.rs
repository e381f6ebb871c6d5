//! The tokenizer's metadata.
//!
//! What kind of tokenizer a folder has is decided by its files, not by the model: byte-level BPE in `tokenizer.json`,
//! a sentence-piece model in `tokenizer.model`, or sentence-piece BPE in `tokenizer.json`.

mod byte_level;
mod chat_template;
mod files;
mod piece_merges;
mod sentencepiece;
mod special;
mod splitting;

use inferno_gguf::{Metadata, StringArray};

use crate::ConvertError;
use crate::family::{Context, Family};
use files::TokenizerFiles;

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

/// Text for the number of a token that does not exist.
fn padding_text(number: usize) -> String {
    format!("[PAD{number}]")
}

/// Adds the metadata of the tokenizer, and returns notes for the user.
pub(crate) fn convert(
    context: &Context<'_>,
    family: &Family,
    pre_tokenizer: Option<&str>,
    metadata: &mut Metadata,
) -> Result<Vec<String>, ConvertError> {
    let files = TokenizerFiles::read(context.folder)?;
    let facts = &family.tokenizer;
    if let (true, Some(adds)) = (facts.copies_space_prefix, files.flag("add_prefix_space")) {
        metadata.insert("tokenizer.ggml.add_space_prefix", adds);
    }
    let mut notes = Vec::new();
    let tokens = if files.is_byte_level() {
        let special = special::SpecialTokens::find(&files, context.config, None)?;
        let size = padded_size(context, family)?;
        let (tokens, merges) = byte_level::tokens(&files, size)?;
        let name = match pre_tokenizer {
            Some(name) => name.to_owned(),
            None => {
                let found = splitting::identify(&files, family.architecture, special.adds_bos())?;
                notes.extend(found.note);
                found.name.to_owned()
            }
        };
        metadata.insert("tokenizer.ggml.model", "gpt2");
        metadata.insert("tokenizer.ggml.pre", name);
        write(metadata, &tokens);
        metadata.insert("tokenizer.ggml.merges", merges.into_iter().collect::<StringArray>());
        tokens
    } else if let Some(model) = files.sentencepiece_model()? {
        let size = context.config.optional_count(&["vocab_size"])?.map(|size| size as usize);
        let (tokens, note) = sentencepiece::tokens(&files, &model, size, facts.reads_added_tokens)?;
        notes.extend(note);
        metadata.insert("tokenizer.ggml.model", "llama");
        metadata.insert("tokenizer.ggml.pre", "default");
        write(metadata, &tokens);
        tokens
    } else if files.is_piece_merges() {
        let (tokens, merges) = piece_merges::tokens(&files, facts)?;
        match facts.merges_model {
            Some(model) => {
                metadata.insert("tokenizer.ggml.model", model);
                write(metadata, &tokens);
                metadata
                    .insert("tokenizer.ggml.merges", merges.into_iter().collect::<StringArray>());
            }
            None => {
                metadata.insert("tokenizer.ggml.model", "llama");
                metadata.insert("tokenizer.ggml.pre", "default");
                write(metadata, &tokens);
                if !files.adds_space_prefix() {
                    metadata.insert("tokenizer.ggml.add_space_prefix", false);
                }
            }
        }
        tokens
    } else {
        return Err(files.unsupported());
    };

    let mut special =
        special::SpecialTokens::find(&files, context.config, Some(tokens.texts.len()))?;
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
    // Hunyuan's token that ends texts, and another one that ends turns.
    if let Some(id) = context.config.optional_count(&["eod_token_id"])? {
        special.set("eos", id as usize);
        if let Some(end) = files.first_of_several_ends()? {
            special.set("eot", end);
        }
    }
    special.write(metadata);
    if let Some(adds) = facts.add_space_prefix {
        metadata.insert("tokenizer.ggml.add_space_prefix", adds);
    }
    if let Some(adds) = facts.add_bos {
        metadata.insert("tokenizer.ggml.add_bos_token", adds);
    }
    chat_template::write(&files, metadata)?;
    Ok(notes)
}

/// Roles of tokens that files of this architecture do not state, by the size of their vocabulary.
fn known_roles(
    context: &Context<'_>,
    special: &mut special::SpecialTokens,
) -> Result<(), ConvertError> {
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
    Ok(size.map(|size| (size as usize).next_multiple_of(multiple)))
}

fn write(metadata: &mut Metadata, tokens: &Tokens) {
    metadata.insert("tokenizer.ggml.tokens", tokens.texts.iter().collect::<StringArray>());
    if let Some(scores) = &tokens.scores {
        metadata.insert("tokenizer.ggml.scores", scores.clone());
    }
    let types: Vec<i32> = tokens.types.iter().map(|&kind| kind as i32).collect();
    metadata.insert("tokenizer.ggml.token_type", types);
}
