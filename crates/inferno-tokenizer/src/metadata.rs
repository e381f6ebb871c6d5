//! Building the parts of a tokenizer from the `tokenizer.*` keys of a file.
//!
//! **Source**: the GGUF specification, section "Tokenizer"; the defaults of absent keys are
//! llama.cpp's.

use std::collections::BTreeSet;

use inferno_gguf::{Metadata, MetadataArray, StringArray};

use crate::model::{
    Bpe, Charsmap, SentencePiece, TokenizerModel, Unigram, UnigramOptions, WordPiece,
    WordPieceOptions,
};
use crate::partition::{Partitioner, Stripping};
use crate::pre_tokenizer::{self, Alphabet, Bos, PreTokenizer};
use crate::vocabulary::{RawVocabulary, Spelling, Vocabulary};
use crate::{SpecialTokens, TokenizerError};

/// The supported values of `tokenizer.ggml.model`.
const MODELS: &[&str] = &["bert", "gemma4", "gpt2", "llama", "t5"];

const ADD_BOS: &str = "tokenizer.ggml.add_bos_token";
const ADD_EOS: &str = "tokenizer.ggml.add_eos_token";
const ADD_SPACE_PREFIX: &str = "tokenizer.ggml.add_space_prefix";

/// Special token ids that a tokenizer model uses if the file does not set them.
struct DefaultIds {
    bos: Option<u32>,
    eos: Option<u32>,
    unknown: Option<u32>,
    separator: Option<u32>,
    padding: Option<u32>,
    mask: Option<u32>,
}

const NO_IDS: DefaultIds =
    DefaultIds { bos: None, eos: None, unknown: None, separator: None, padding: None, mask: None };
const LLAMA_IDS: DefaultIds = DefaultIds { bos: Some(1), eos: Some(2), unknown: Some(0), ..NO_IDS };
const T5_IDS: DefaultIds =
    DefaultIds { eos: Some(1), unknown: Some(2), padding: Some(0), ..NO_IDS };
const BERT_IDS: DefaultIds = DefaultIds {
    bos: Some(101),
    unknown: Some(100),
    separator: Some(102),
    padding: Some(0),
    mask: Some(103),
    ..NO_IDS
};

/// The special tokens in a model's metadata, by the names that Hugging Face uses, such as `bos_token`.
///
/// **Errors**: a metadata key of the wrong type, a token id out of range.
pub fn special_token_texts(
    metadata: &Metadata,
) -> Result<Vec<(&'static str, &str)>, TokenizerError> {
    let defaults = match metadata.optional::<&str>("tokenizer.ggml.model")? {
        Some("llama") => &LLAMA_IDS,
        Some("t5") => &T5_IDS,
        Some("bert") => &BERT_IDS,
        _ => &NO_IDS,
    };
    let Some(texts) = metadata.optional::<&StringArray>("tokenizer.ggml.tokens")? else {
        return Ok(Vec::new());
    };
    let special = load_special_tokens(metadata, texts.len(), defaults)?;
    let roles = [
        ("bos_token", special.bos),
        ("eos_token", special.eos),
        ("unk_token", special.unknown),
        ("sep_token", special.separator),
        ("pad_token", special.padding),
        ("mask_token", special.mask),
    ];
    Ok(roles.into_iter().filter_map(|(name, id)| Some((name, texts.get(id? as usize)?))).collect())
}

/// The parts of a tokenizer.
pub(crate) struct TokenizerParts {
    pub vocabulary: Vocabulary,
    pub model: TokenizerModel,
    pub partitioner: Partitioner,
    pub affixes: Affixes,
}

/// Tokens that are added before and after a text if special tokens are requested.
#[derive(Clone, Copy, Default)]
pub(crate) struct Affixes {
    pub before: Option<u32>,
    pub after: Option<u32>,
}

/// Builds the parts of the tokenizer that `metadata` describes.
pub(crate) fn load(metadata: &Metadata) -> Result<TokenizerParts, TokenizerError> {
    let (model, vocabulary, affixes) = match metadata.required::<&str>("tokenizer.ggml.model")? {
        "gpt2" => {
            let name = metadata.optional::<&str>("tokenizer.ggml.pre")?.unwrap_or("default");
            load_bpe(metadata, pre_tokenizer::named(name)?)?
        }
        "gemma4" => load_bpe(metadata, pre_tokenizer::named("gemma4")?)?,
        "llama" => {
            let vocabulary = load_vocabulary(metadata, &LLAMA_IDS, Spelling::EscapedSpaces)?;
            let add_space_prefix = metadata.optional(ADD_SPACE_PREFIX)?.unwrap_or(true);
            let model = SentencePiece::new(&vocabulary, add_space_prefix)?;
            let affixes = load_affixes(metadata, &vocabulary.special, Bos::ByDefault, false)?;
            (TokenizerModel::SentencePiece(model), vocabulary, affixes)
        }
        "t5" => {
            let vocabulary = load_vocabulary(metadata, &T5_IDS, Spelling::EscapedSpaces)?;
            let options = UnigramOptions {
                charsmap: load_charsmap(metadata)?,
                add_space_prefix: metadata.optional(ADD_SPACE_PREFIX)?.unwrap_or(false),
                remove_extra_spaces: metadata
                    .optional("tokenizer.ggml.remove_extra_whitespaces")?
                    .unwrap_or(false),
            };
            let model = Unigram::new(&vocabulary, options)?;
            let affixes = load_affixes(metadata, &vocabulary.special, Bos::OnRequest, true)?;
            (TokenizerModel::Unigram(model), vocabulary, affixes)
        }
        "bert" => {
            let vocabulary = load_vocabulary(metadata, &BERT_IDS, Spelling::EscapedSpaces)?;
            let lowercase =
                metadata.optional("tokenizer.ggml.normalizer.lowercase")?.unwrap_or(true);
            let strip_accents =
                metadata.optional("tokenizer.ggml.normalizer.strip_accents")?.unwrap_or(lowercase);
            let options = WordPieceOptions { lowercase, strip_accents };
            let model = WordPiece::new(&vocabulary, options)?;
            let special = &vocabulary.special;
            let affixes = Affixes { before: special.bos, after: special.separator };
            (TokenizerModel::WordPiece(model), vocabulary, affixes)
        }
        name => {
            return Err(TokenizerError::UnknownModel { name: name.to_owned(), known: MODELS });
        }
    };
    let name_of = |key| Ok::<_, TokenizerError>(metadata.optional::<&str>(key)?.unwrap_or(""));
    let stripping = Stripping::of(
        name_of("tokenizer.ggml.pre")?,
        name_of("general.architecture")?,
        name_of("general.name")?,
    );
    let partitioner = Partitioner::new(&vocabulary, &stripping);
    Ok(TokenizerParts { vocabulary, model, partitioner, affixes })
}

fn load_bpe(
    metadata: &Metadata,
    pre_tokenizer: PreTokenizer,
) -> Result<(TokenizerModel, Vocabulary, Affixes), TokenizerError> {
    let spelling = match pre_tokenizer.alphabet {
        Alphabet::Bytes => Spelling::ByteAlphabet,
        Alphabet::Text { .. } => Spelling::EscapedSpaces,
    };
    let vocabulary = load_vocabulary(metadata, &NO_IDS, spelling)?;
    let merges: &StringArray = metadata.required("tokenizer.ggml.merges")?;
    let model = Bpe::new(&vocabulary, merges, pre_tokenizer)?;
    let affixes = load_affixes(metadata, &vocabulary.special, pre_tokenizer.bos, false)?;
    Ok((TokenizerModel::Bpe(model), vocabulary, affixes))
}

fn load_vocabulary(
    metadata: &Metadata,
    defaults: &DefaultIds,
    spelling: Spelling,
) -> Result<Vocabulary, TokenizerError> {
    let texts: &StringArray = metadata.required("tokenizer.ggml.tokens")?;
    let raw = RawVocabulary {
        texts: texts.clone(),
        kinds: metadata.optional("tokenizer.ggml.token_type")?,
        scores: metadata.optional("tokenizer.ggml.scores")?,
        special: load_special_tokens(metadata, texts.len(), defaults)?,
    };
    Vocabulary::new(raw, spelling)
}

fn load_special_tokens(
    metadata: &Metadata,
    vocab_size: usize,
    defaults: &DefaultIds,
) -> Result<SpecialTokens, TokenizerError> {
    // Some files use an older name for a key.
    let named = |names: &[&str], default: Option<u32>| {
        for name in names {
            if let Some(id) =
                load_id(metadata, &format!("tokenizer.ggml.{name}_token_id"), vocab_size)?
            {
                return Ok(Some(id));
            }
        }
        Ok::<_, TokenizerError>(default.filter(|&id| (id as usize) < vocab_size))
    };
    // Some files number an unused role like the token after the last.
    let if_known = |names: &[&str], default: Option<u32>| match named(names, default) {
        Err(TokenizerError::IdOutOfRange { .. }) => Ok(None),
        found => found,
    };
    Ok(SpecialTokens {
        bos: named(&["bos", "cls"], defaults.bos)?,
        eos: named(&["eos"], defaults.eos)?,
        end_of_turn: named(&["eot"], None)?,
        end_of_message: named(&["eom"], None)?,
        unknown: named(&["unknown"], defaults.unknown)?,
        separator: if_known(&["seperator", "separator"], defaults.separator)?,
        padding: if_known(&["padding"], defaults.padding)?,
        mask: if_known(&["mask"], defaults.mask)?,
        fim_prefix: if_known(&["fim_pre", "prefix"], None)?,
        fim_suffix: if_known(&["fim_suf", "suffix"], None)?,
        fim_middle: if_known(&["fim_mid", "middle"], None)?,
        fim_padding: if_known(&["fim_pad"], None)?,
        fim_repository: if_known(&["fim_rep"], None)?,
        fim_separator: if_known(&["fim_sep"], None)?,
        suppressed: load_suppressed(metadata, vocab_size)?,
        ..SpecialTokens::default()
    })
}

/// Reads which tokens must not be generated, as llama.cpp writes them. Ids outside the vocabulary, which cannot be generated, are
/// ignored.
fn load_suppressed(
    metadata: &Metadata,
    vocab_size: usize,
) -> Result<BTreeSet<u32>, TokenizerError> {
    let ids = metadata.optional::<Vec<i64>>("tokenizer.ggml.suppress_tokens")?.unwrap_or_default();
    let ids = ids.into_iter().filter_map(|id| u32::try_from(id).ok());
    Ok(ids.filter(|&id| (id as usize) < vocab_size).collect())
}

/// Reads the id of a special token. Some writers use -1, signed or unsigned, for "none".
fn load_id(
    metadata: &Metadata,
    key: &str,
    vocab_size: usize,
) -> Result<Option<u32>, TokenizerError> {
    match metadata.optional::<i64>(key)? {
        None | Some(-1) => Ok(None),
        Some(id) if id == i64::from(u32::MAX) => Ok(None),
        Some(id) => match u32::try_from(id) {
            Ok(id) if (id as usize) < vocab_size => Ok(Some(id)),
            _ => Err(TokenizerError::IdOutOfRange { key: key.to_owned(), id, vocab_size }),
        },
    }
}

/// Reads which tokens are added before and after a text; the defaults are those of the tokenizer
/// model.
fn load_affixes(
    metadata: &Metadata,
    special: &SpecialTokens,
    bos: Bos,
    eos_by_default: bool,
) -> Result<Affixes, TokenizerError> {
    let affix = |flag, token, id: Option<u32>, by_default| match (metadata.optional(flag)?, id) {
        (Some(true), None) => Err(TokenizerError::MissingSpecialToken { flag, token }),
        (wanted, id) => Ok(id.filter(|_| wanted.unwrap_or(by_default))),
    };
    let before = match bos {
        Bos::Always => special.bos,
        Bos::ByDefault | Bos::OnRequest => {
            affix(ADD_BOS, "BOS", special.bos, bos == Bos::ByDefault)?
        }
    };
    Ok(Affixes {
        before,
        after: affix(ADD_EOS, "EOS", special.eos.or(special.separator), eos_by_default)?,
    })
}

fn load_charsmap(metadata: &Metadata) -> Result<Charsmap, TokenizerError> {
    let key = "tokenizer.ggml.precompiled_charsmap";
    match metadata.optional::<&MetadataArray>(key)? {
        None => Ok(Charsmap::default()),
        Some(MetadataArray::I8(bytes)) => {
            Charsmap::parse(&bytes.iter().map(|&byte| byte as u8).collect::<Vec<_>>())
        }
        Some(_) => Charsmap::parse(&metadata.required::<Vec<u8>>(key)?),
    }
}
