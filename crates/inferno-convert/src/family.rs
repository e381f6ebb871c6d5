//! A family of models: facts about its configuration and the names of its tensors.

use std::path::Path;

use inferno_tensor::TensorError;

use crate::ConvertError;
use crate::config::Config;
use crate::keys::Keys;
use crate::lazy::Lazy;
use crate::sources::Sources;

/// What conversions can depend on.
pub(crate) struct Context<'a> {
    pub(crate) config: &'a Config,
    pub(crate) sources: &'a Sources,
    pub(crate) folder: &'a Path,
}

/// Returns the family of a configuration in a folder.
type SelectFamily = fn(&Config, &Path) -> Result<&'static Family, ConvertError>;

/// The name and the values of a tensor that is not in the files.
pub(crate) type Constant = (&'static str, Vec<f32>);

/// Models that are converted alike.
#[derive(Clone, Copy)]
pub(crate) struct Family {
    /// Names in the list `architectures` of `config.json`.
    pub(crate) classes: &'static [&'static str],
    /// The value of `general.architecture`.
    pub(crate) architecture: &'static str,
    /// Chooses another family by the configuration and the folder.
    pub(crate) select: Option<SelectFamily>,
    /// Defaults of the configuration class in transformers, as JSON.
    pub(crate) defaults: &'static [(&'static str, &'static str)],
    /// Keys of the configuration of which the architecture has one value, as JSON; other values are errors.
    pub(crate) expected: &'static [(&'static str, &'static str)],
    /// Changes the configuration before anything reads it.
    pub(crate) prepare: fn(&mut Config) -> Result<(), ConvertError>,
    /// Names of the activation function of feed-forward layers, which architectures determine; empty if it is not checked
    /// here.
    pub(crate) activations: &'static [&'static str],
    /// Whether the metadata that most architectures share are written.
    pub(crate) has_common_keys: bool,
    /// Further metadata that are copied from the configuration.
    pub(crate) facts: &'static [Fact],
    /// Further metadata that are computed.
    pub(crate) keys: fn(&Context<'_>, &mut Keys) -> Result<(), ConvertError>,
    /// Number of layers that predict further tokens, stored after the others.
    pub(crate) prediction_layers: fn(&Context<'_>) -> Result<usize, ConvertError>,
    /// Replaces the name of a tensor before it is looked up.
    pub(crate) rename: fn(&Config, String) -> Result<String, ConvertError>,
    /// What becomes of tensors; the first list that has a name decides, and then the names that most families share.
    pub(crate) rules: &'static [&'static [Rule]],
    /// Whether embeddings are projected by the modules `Dense` of the folder.
    pub(crate) has_projections: bool,
    /// Kinds of rotary scaling that the family converts itself, in addition to those of all families.
    pub(crate) own_scalings: &'static [&'static str],
    /// Whether a key states that the ends of YaRN's ramp are rounded. Those of other architectures are.
    pub(crate) states_yarn_truncation: bool,
    /// Tensors that are not in the files, except for Llama 3's rotary scaling.
    pub(crate) constants: fn(&Context<'_>) -> Result<Vec<Constant>, ConvertError>,
    /// The tokenizer's peculiarities.
    pub(crate) tokenizer: TokenizerFacts,
}

impl Family {
    /// A family of which nothing is known.
    pub(crate) const DEFAULT: Self = Self {
        classes: &[],
        architecture: "",
        select: None,
        defaults: &[],
        expected: &[],
        prepare: |_| Ok(()),
        activations: &["silu", "swish"],
        has_common_keys: true,
        facts: &[],
        keys: |_, _| Ok(()),
        prediction_layers: |_| Ok(0),
        rename: |_, name| Ok(name),
        rules: &[],
        has_projections: false,
        own_scalings: &[],
        states_yarn_truncation: false,
        constants: |_| Ok(Vec::new()),
        tokenizer: TokenizerFacts::DEFAULT,
    };
}

/// Names of GELU and its approximations, whose differences are small.
pub(crate) const GELU: &[&str] =
    &["gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu_python"];

/// A metadata key that has the value of a key of the configuration, if that exists.
#[derive(Clone, Copy)]
pub(crate) struct Fact {
    /// Name without the architecture.
    pub(crate) key: &'static str,
    pub(crate) kind: Kind,
    /// Keys of the configuration, of which the first that exists is used.
    pub(crate) from: &'static [&'static str],
    pub(crate) is_required: bool,
}

/// The type of a metadata value.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Count,
    Float,
    Flag,
}

/// A number that is not negative.
pub(crate) const fn count(key: &'static str, from: &'static [&'static str]) -> Fact {
    Fact { key, kind: Kind::Count, from, is_required: false }
}

/// A number.
pub(crate) const fn float(key: &'static str, from: &'static [&'static str]) -> Fact {
    Fact { key, kind: Kind::Float, from, is_required: false }
}

/// A boolean.
pub(crate) const fn flag(key: &'static str, from: &'static [&'static str]) -> Fact {
    Fact { key, kind: Kind::Flag, from, is_required: false }
}

impl Fact {
    /// The fact of a key that must exist.
    pub(crate) const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }
}

/// What becomes of a tensor.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    /// The name in the files, without `.weight` and `.bias`; `{}` is any number.
    pub(crate) source: &'static str,
    pub(crate) action: Action,
}

/// A view of a tensor for the result.
pub(crate) type Transform = fn(&Context<'_>, Lazy) -> Result<Lazy, ViewError>;

/// What becomes of a tensor.
#[derive(Clone, Copy)]
pub(crate) enum Action {
    /// Another name; `{}` is the first number of the source, which is that of the layer. If the source has a second one,
    /// the tensors with all values of it are stacked.
    Rename(&'static str),
    /// Another name and view.
    Map(&'static str, Transform),
    /// Several tensors.
    Split(&'static [(&'static str, Transform)]),
    /// The tensor is computed by the runtime, or not used.
    Skip,
    /// The tensor is read together with another one.
    Consumed,
    /// Skipped, but only zeros are correct.
    SkipZeros,
    /// The blocks of MXFP4 weights of experts, with the scales next to them: names of one or two interleaved tensors.
    Mxfp4(&'static [&'static str]),
}

/// A new name.
pub(crate) const fn rename(source: &'static str, target: &'static str) -> Rule {
    Rule { source, action: Action::Rename(target) }
}

/// A new name and view.
pub(crate) const fn map(source: &'static str, target: &'static str, transform: Transform) -> Rule {
    Rule { source, action: Action::Map(target, transform) }
}

/// Several tensors.
pub(crate) const fn split(
    source: &'static str,
    targets: &'static [(&'static str, Transform)],
) -> Rule {
    Rule { source, action: Action::Split(targets) }
}

/// No tensor.
pub(crate) const fn skip(source: &'static str) -> Rule {
    Rule { source, action: Action::Skip }
}

/// Why a tensor has no such view.
#[derive(Debug)]
pub(crate) enum ViewError {
    Config(ConvertError),
    Shape(TensorError),
}

impl From<ConvertError> for ViewError {
    fn from(error: ConvertError) -> Self {
        Self::Config(error)
    }
}

impl From<TensorError> for ViewError {
    fn from(error: TensorError) -> Self {
        Self::Shape(error)
    }
}

/// The tokenizer's peculiarities.
#[derive(Clone, Copy)]
pub(crate) struct TokenizerFacts {
    /// A model name for byte-fallback BPE with merges.
    pub(crate) merges_model: Option<&'static str>,
    /// Tokens that are text although their form is that of control tokens.
    pub(crate) visible: &'static [&'static str],
    /// The vocabulary is padded to a multiple of this, or of the configuration's `pad_vocab_size_multiple`.
    pub(crate) padding: usize,
    /// Special tokens by their text.
    pub(crate) tokens: &'static [(&'static str, &'static str)],
    /// Special tokens by their number.
    pub(crate) ids: &'static [(&'static str, u32)],
    /// `add_space_prefix`, if it does not depend on the files.
    pub(crate) add_space_prefix: Option<bool>,
    /// Whether `add_prefix_space` of `tokenizer_config.json` becomes `add_space_prefix`.
    pub(crate) copies_space_prefix: bool,
    /// `add_bos_token`, if it does not depend on the files.
    pub(crate) add_bos: Option<bool>,
    /// Whether tokens are added to texts, by their role, if the files do not state it.
    pub(crate) added: &'static [(&'static str, bool)],
    /// The name of the pre-tokenizer among those that mean the same, if it is not that of the architecture.
    pub(crate) pre_tokenizer: Option<&'static str>,
    /// Set if `sentencepiece.bpe.model` has the numbers of tokens that XLM-RoBERTa has: whether `<mask>` follows its pieces.
    pub(crate) unigram_pieces: Option<bool>,
    /// Whether sentence-piece vocabularies read the added tokens of `tokenizer.json` as well.
    pub(crate) reads_added_tokens: bool,
}

impl TokenizerFacts {
    /// A tokenizer without peculiarities.
    pub(crate) const DEFAULT: Self = Self {
        merges_model: None,
        visible: &[],
        padding: 1,
        tokens: &[],
        ids: &[],
        add_space_prefix: None,
        copies_space_prefix: false,
        add_bos: None,
        added: &[],
        pre_tokenizer: None,
        unigram_pieces: None,
        reads_added_tokens: false,
    };
}
