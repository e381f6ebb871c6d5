//! A summary of the header of a file.

use std::collections::{BTreeMap, HashSet};

use inferno_gguf::{GgmlType, Gguf};
use inferno_model::{ModelSpec, TensorScales};
use inferno_tokenizer::{SpecialTokens, Tokenizer};

/// The contents of a file in numbers.
pub(super) struct FileSummary {
    pub(super) architecture: Option<String>,
    pub(super) name: Option<String>,
    pub(super) num_parameters: u64,
    pub(super) tensor_bytes: u64,
    /// Hyperparameters with their display names, if the file contains them.
    pub(super) shape: Vec<(&'static str, u64)>,
    pub(super) types: Vec<(GgmlType, TypeShare)>,
    pub(super) tokenizer: Option<TokenizerSummary>,
}

/// The share of a file that is stored in one type.
#[derive(Default)]
pub(super) struct TypeShare {
    pub(super) num_tensors: u64,
    pub(super) num_parameters: u64,
    pub(super) num_bytes: u64,
}

/// The tokenizer of a file.
pub(super) struct TokenizerSummary {
    pub(super) model: String,
    pub(super) pre: Option<String>,
    pub(super) vocab_size: usize,
    pub(super) has_chat_template: bool,
    /// Role, id and text of the special tokens, or the reason why the tokenizer is not supported.
    pub(super) special: Result<Vec<(&'static str, u32, String)>, String>,
}

/// Display name and key of the hyperparameters in the summary.
const SHAPE_KEYS: [(&str, &str); 9] = [
    ("context length", "context_length"),
    ("layers", "block_count"),
    ("hidden size", "embedding_length"),
    ("heads", "attention.head_count"),
    ("kv heads", "attention.head_count_kv"),
    ("head dim", "attention.key_length"),
    ("feed-forward size", "feed_forward_length"),
    ("experts", "expert_count"),
    ("experts used", "expert_used_count"),
];

impl FileSummary {
    pub(super) fn of(gguf: &Gguf) -> Self {
        let text = |key: &str| gguf.metadata().optional::<String>(key).ok().flatten();
        let architecture = text("general.architecture");
        let mut shape: Vec<_> = match &architecture {
            Some(architecture) => SHAPE_KEYS
                .iter()
                .filter_map(|(label, key)| {
                    // Lists with a number per layer are omitted here; the metadata section has them.
                    let value = gguf.metadata().optional(&format!("{architecture}.{key}"));
                    Some((*label, value.ok().flatten()?))
                })
                .collect(),
            None => Vec::new(),
        };
        shape.extend(mixer_counts(gguf));
        let mut types = BTreeMap::<GgmlType, TypeShare>::new();
        let bytes = gguf.tensors().iter().filter(|info| info.ggml_type() == GgmlType::I8);
        let scales: HashSet<String> =
            bytes.map(|info| TensorScales::name_for(info.name())).collect();
        for info in gguf.tensors() {
            let share = types.entry(info.ggml_type()).or_default();
            share.num_tensors += 1;
            // The scales of bytes belong to their format.
            if !scales.contains(info.name()) {
                share.num_parameters += info.num_elements() as u64;
            }
            share.num_bytes += info.num_bytes() as u64;
        }
        let mut types: Vec<_> = types.into_iter().collect();
        types.sort_by_key(|(_, share)| std::cmp::Reverse(share.num_bytes));
        Self {
            architecture,
            name: text("general.name"),
            num_parameters: types.iter().map(|(_, share)| share.num_parameters).sum(),
            tensor_bytes: types.iter().map(|(_, share)| share.num_bytes).sum(),
            shape,
            types,
            tokenizer: TokenizerSummary::of(gguf),
        }
    }

    /// Returns the mean number of bits per parameter; `None` if there are no parameters.
    pub(super) fn bits_per_weight(&self) -> Option<f64> {
        (self.num_parameters > 0)
            .then(|| self.tensor_bytes as f64 * 8.0 / self.num_parameters as f64)
    }
}

/// Returns the numbers of layers with attention and with a recurrent state, if some have the latter.
fn mixer_counts(gguf: &Gguf) -> impl Iterator<Item = (&'static str, u64)> {
    let spec = ModelSpec::from_checkpoint(gguf).ok();
    let spec = spec.filter(|spec| spec.num_recurrent_layers() > 0);
    spec.into_iter().flat_map(|spec| {
        [
            ("attention layers", spec.num_attention_layers() as u64),
            ("recurrent layers", spec.num_recurrent_layers() as u64),
        ]
    })
}

impl TokenizerSummary {
    fn of(gguf: &Gguf) -> Option<Self> {
        let metadata = gguf.metadata();
        let model: String = metadata.optional("tokenizer.ggml.model").ok()??;
        let tokens: Option<&inferno_gguf::StringArray> =
            metadata.optional("tokenizer.ggml.tokens").ok()?;
        let special = match Tokenizer::from_metadata(metadata) {
            Ok(tokenizer) => Ok(special_tokens(&tokenizer)),
            Err(error) => Err(error.to_string()),
        };
        Some(Self {
            model,
            pre: metadata.optional("tokenizer.ggml.pre").ok().flatten(),
            vocab_size: tokens.map_or(0, |tokens| tokens.len()),
            has_chat_template: metadata.contains("tokenizer.chat_template"),
            special,
        })
    }
}

/// Returns role, id and text of the special tokens of a tokenizer.
fn special_tokens(tokenizer: &Tokenizer) -> Vec<(&'static str, u32, String)> {
    let SpecialTokens {
        bos,
        eos,
        end_of_turn,
        end_of_message,
        unknown,
        separator,
        padding,
        mask,
        ..
    } = tokenizer.special_tokens();
    let roles = [
        ("BOS", bos),
        ("EOS", eos),
        ("end of turn", end_of_turn),
        ("end of message", end_of_message),
        ("unknown", unknown),
        ("separator", separator),
        ("padding", padding),
        ("mask", mask),
    ];
    let text =
        |id| String::from_utf8_lossy(&tokenizer.token_bytes(id).unwrap_or_default()).into_owned();
    let roles = roles.into_iter().filter_map(|(role, id)| id.map(|id| (role, id)));
    let ends =
        tokenizer.special_tokens().end_of_generation.iter().map(|&id| ("end of generation", id));
    roles.chain(ends).map(|(role, id)| (role, id, text(id))).collect()
}
