//! `config.json`, with the text model's part on top and the rotary parameters in one place.

use std::path::Path;

use serde_json::{Map, Value};

use crate::rope::Rope;
use crate::weights::files_named;
use crate::{ConvertError, json};

/// The configuration of a model.
///
/// Keys that are `null` count as absent.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    keys: Map<String, Value>,
    rope: Map<String, Value>,
    /// The class of the text model, if it is a part of a larger one.
    text_class: Option<String>,
    /// The `model_type` of the text model, if it is a part of a larger one.
    text_type: Option<String>,
    head: Head,
}

/// What follows the hidden states of a decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Head {
    /// Logits, or what the class has instead.
    Own,
    /// Nothing: the model is the base of its class.
    Nothing,
    /// A score of the last token.
    Score,
}

/// The largest number of layers, so that lists with a value for each of them need little memory.
pub(crate) const MAX_LAYERS: usize = 1 << 16;

/// The largest size of a head, so that tensors of rotary factors need little memory.
const MAX_HEAD_DIM: usize = 1 << 16;

/// Parts of `config.json` that describe the text model of a larger one.
const TEXT_PARTS: [&str; 4] = ["text_config", "llm_config", "lm_config", "language_config"];

impl Config {
    /// Reads `config.json` in `folder`.
    pub(crate) fn read(folder: &Path) -> Result<Self, ConvertError> {
        if !folder.is_dir() {
            return Err(ConvertError::NotFolder { path: folder.to_owned() });
        }
        let Some(mut whole) = json::read_object(&folder.join("config.json"))? else {
            if folder.join("adapter_config.json").exists() {
                return Err(ConvertError::Adapter { folder: folder.to_owned() });
            }
            return Err(ConvertError::NotCheckpoint {
                folder: folder.to_owned(),
                gguf_files: files_named(folder, "", ".gguf")?,
            });
        };
        if !whole.contains_key("quantization_config")
            && let Some(options) = modelopt_options(folder)?
        {
            whole.insert("quantization_config".to_owned(), options);
        }
        Ok(Self::new(whole))
    }

    fn new(mut whole: Map<String, Value>) -> Self {
        // The part of Qwen3-Omni that understands, whose keys are those of other composite models.
        if let Some(thinker) = whole.get("thinker_config").and_then(Value::as_object).cloned() {
            let own = |key: &String| key != "architectures" && key != "model_type";
            whole.extend(thinker.into_iter().filter(|(key, _)| own(key)));
        }
        let mut keys = whole.clone();
        for part in TEXT_PARTS.iter().filter_map(|part| whole.get(*part)?.as_object()) {
            // The name of the architecture is that of the whole model.
            let own = part.iter().filter(|(key, _)| *key != "architectures");
            keys.extend(own.map(|(key, value)| (key.clone(), value.clone())));
        }
        let class = |part: &&str| whole.get(*part)?.get("architectures")?[0].as_str();
        let text_class = TEXT_PARTS.iter().find_map(class).map(str::to_owned);
        let model_type = |part: &&str| whole.get(*part)?.get("model_type")?.as_str();
        let text_type = TEXT_PARTS.iter().find_map(model_type).map(str::to_owned);
        let mut config = Self { keys, rope: Map::new(), text_class, text_type, head: Head::Own };
        config.rope = config.rotary_parameters();
        config
    }

    /// Adds the defaults of the architecture's configuration class for keys that the file does not have.
    pub(crate) fn with_defaults(mut self, defaults: &[(&str, &str)]) -> Self {
        for (key, value) in defaults {
            // `rope_scaling` is the older name.
            let is_scaling = *key == "rope_parameters" && self.get("rope_scaling").is_some();
            if self.get(key).is_none() && !is_scaling {
                let value = serde_json::from_str(value).expect("defaults are JSON");
                self.keys.insert((*key).to_owned(), value);
            }
        }
        self.rope = self.rotary_parameters();
        self
    }

    /// Sets a key.
    pub(crate) fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.keys.insert(key.to_owned(), value.into());
    }

    /// Sets the class of the decoder that the model has another head than.
    pub(crate) fn set_decoder(&mut self, class: &str, head: Head) {
        self.set("architectures", vec![class.to_owned()]);
        self.head = head;
    }

    /// What follows the hidden states.
    pub(crate) fn head(&self) -> Head {
        self.head
    }

    /// The first name in `architectures`.
    pub(crate) fn architecture(&self) -> Result<&str, ConvertError> {
        let expected = "a list with the name of the model's class";
        match self.get("architectures") {
            None => Err(ConvertError::MissingKey { key: "architectures".to_owned(), expected }),
            Some(value) => value
                .as_array()
                .and_then(|names| names.first()?.as_str())
                .ok_or_else(|| invalid("architectures", expected, value)),
        }
    }

    /// The name of the text model's class, if it is a part of a larger model and has a name of its own.
    pub(crate) fn text_architecture(&self) -> Option<&str> {
        self.text_class.as_deref()
    }

    /// The `model_type` of the text model, if it is a part of a larger model and has one of its own.
    pub(crate) fn text_type(&self) -> Option<&str> {
        self.text_type.as_deref()
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.keys.get(key).filter(|value| !value.is_null())
    }

    /// Whether a key exists and is `null`.
    pub(crate) fn is_null(&self, key: &str) -> bool {
        self.keys.get(key).is_some_and(Value::is_null)
    }

    fn find<'k>(&self, keys: &[&'k str]) -> Option<(&'k str, &Value)> {
        keys.iter().find_map(|key| Some((*key, self.get(key)?)))
    }

    /// A number that is not negative, under the first of several keys that exists.
    pub(crate) fn optional_count(&self, keys: &[&str]) -> Result<Option<u32>, ConvertError> {
        self.find(keys)
            .map(|(key, value)| {
                count(value).ok_or_else(|| invalid(key, "a number that is not negative", value))
            })
            .transpose()
    }

    /// Like [`optional_count`](Self::optional_count), of a key that must exist.
    pub(crate) fn count(&self, keys: &[&str]) -> Result<usize, ConvertError> {
        match self.optional_count(keys)? {
            Some(number) => Ok(number as usize),
            None => Err(missing(keys, "a number")),
        }
    }

    /// Like [`count`](Self::count), or `default`.
    pub(crate) fn count_or(&self, keys: &[&str], default: usize) -> Result<usize, ConvertError> {
        Ok(self.optional_count(keys)?.map_or(default, |number| number as usize))
    }

    /// A number under the first of several keys that exists.
    pub(crate) fn optional_float(&self, keys: &[&str]) -> Result<Option<f64>, ConvertError> {
        self.find(keys)
            .map(|(key, value)| value.as_f64().ok_or_else(|| invalid(key, "a number", value)))
            .transpose()
    }

    /// Like [`optional_float`](Self::optional_float), of a key that must exist.
    pub(crate) fn float(&self, keys: &[&str]) -> Result<f64, ConvertError> {
        self.optional_float(keys)?.ok_or_else(|| missing(keys, "a number"))
    }

    /// A number, or `default` if the key is absent; none if it is `null`, for classes that distinguish these.
    pub(crate) fn float_unless_null(
        &self,
        key: &str,
        default: f64,
    ) -> Result<Option<f64>, ConvertError> {
        match self.is_null(key) {
            true => Ok(None),
            false => Ok(Some(self.optional_float(&[key])?.unwrap_or(default))),
        }
    }

    /// A boolean under the first of several keys that exists.
    pub(crate) fn optional_flag(&self, keys: &[&str]) -> Result<Option<bool>, ConvertError> {
        self.find(keys)
            .map(|(key, value)| value.as_bool().ok_or_else(|| invalid(key, "true or false", value)))
            .transpose()
    }

    /// Whether a key is true.
    pub(crate) fn is_set(&self, key: &str) -> Result<bool, ConvertError> {
        Ok(self.optional_flag(&[key])?.unwrap_or(false))
    }

    /// Fails if a key exists and is not `expected`.
    pub(crate) fn expect_flag(&self, key: &str, expected: bool) -> Result<(), ConvertError> {
        match self.optional_flag(&[key])? {
            Some(found) if found != expected => Err(invalid(key, &expected.to_string(), found)),
            _ => Ok(()),
        }
    }

    /// Fails unless a key is absent or has the value that `expected` is as JSON.
    pub(crate) fn expect(&self, key: &str, expected: &str) -> Result<(), ConvertError> {
        let value: Value = serde_json::from_str(expected).expect("expected values are JSON");
        let is_expected = |found: &Value| match (found.as_f64(), value.as_f64()) {
            (Some(found), Some(expected)) => found == expected,
            _ => *found == value,
        };
        match self.get(key) {
            Some(found) if !is_expected(found) => Err(invalid(key, expected, found)),
            _ => Ok(()),
        }
    }

    /// A text.
    pub(crate) fn text(&self, key: &str) -> Result<Option<&str>, ConvertError> {
        self.get(key)
            .map(|value| value.as_str().ok_or_else(|| invalid(key, "a text", value)))
            .transpose()
    }

    /// A list of numbers.
    pub(crate) fn floats(&self, key: &str) -> Result<Option<Vec<f64>>, ConvertError> {
        self.get(key)
            .map(|value| floats(value).ok_or_else(|| invalid(key, "a list of numbers", value)))
            .transpose()
    }

    /// A list of texts.
    pub(crate) fn texts(&self, key: &str) -> Result<Option<Vec<&str>>, ConvertError> {
        self.get(key)
            .map(|value| {
                let texts =
                    value.as_array().and_then(|all| all.iter().map(Value::as_str).collect());
                texts.ok_or_else(|| invalid(key, "a list of texts", value))
            })
            .transpose()
    }

    /// Fails unless a key is absent or has one of the texts `supported`.
    pub(crate) fn expect_text(&self, key: &str, supported: &[&str]) -> Result<(), ConvertError> {
        match self.text(key)? {
            Some(found) if !supported.contains(&found) => {
                Err(invalid(key, &supported.join(" or "), found))
            }
            _ => Ok(()),
        }
    }

    /// For each layer, whether its type is one of `types`.
    pub(crate) fn layers_of_type(&self, types: &[&str]) -> Result<Option<Vec<bool>>, ConvertError> {
        let layers = self.texts("layer_types")?;
        Ok(layers.map(|layers| layers.iter().map(|layer| types.contains(layer)).collect()))
    }

    /// For each layer, whether it is not the last of `period` layers.
    pub(crate) fn all_but_every(&self, period: usize) -> Result<Vec<bool>, ConvertError> {
        Ok((1..=self.num_layers()?).map(|layer| layer % period.max(1) != 0).collect())
    }

    /// Size of a head: `head_dim`, or the hidden size divided by the heads.
    pub(crate) fn head_dim(&self) -> Result<usize, ConvertError> {
        let size = match self.optional_count(&["head_dim"])? {
            Some(size) => size as usize,
            None => self.count(&["hidden_size", "n_embd"])? / self.num_heads()?.max(1),
        };
        head_dim("head_dim", size)
    }

    /// Number of query heads.
    pub(crate) fn num_heads(&self) -> Result<usize, ConvertError> {
        self.count(&["num_attention_heads", "n_head", "n_heads"])
    }

    /// Number of key and value heads.
    pub(crate) fn num_kv_heads(&self) -> Result<usize, ConvertError> {
        match self.optional_count(&["num_key_value_heads", "n_kv_heads"])? {
            Some(heads) => Ok(heads as usize),
            None => self.num_heads(),
        }
    }

    /// Number of layers, without those that predict further tokens.
    pub(crate) fn num_layers(&self) -> Result<usize, ConvertError> {
        let keys = &["n_layers", "num_hidden_layers", "n_layer", "num_layers"];
        self.optional_count_up_to(MAX_LAYERS, keys)?.ok_or_else(|| missing(keys, "a number"))
    }

    /// Like [`optional_count`](Self::optional_count), of a number that is at most `max`.
    pub(crate) fn optional_count_up_to(
        &self,
        max: usize,
        keys: &[&str],
    ) -> Result<Option<usize>, ConvertError> {
        let Some((key, _)) = self.find(keys) else { return Ok(None) };
        at_most(max, key, self.count(keys)?).map(Some)
    }

    /// The rotary parameters of all layers, or of those with full attention.
    pub(crate) fn rope(&self) -> Rope<'_> {
        let full = self.rope.get("full_attention").and_then(Value::as_object);
        Rope::new(full.unwrap_or(&self.rope))
    }

    /// The rotary parameters without regard to layers.
    pub(crate) fn shared_rope(&self) -> Rope<'_> {
        Rope::new(&self.rope)
    }

    /// The rotary parameters of layers with a sliding window.
    pub(crate) fn windowed_rope(&self) -> Option<Rope<'_>> {
        self.rope.get("sliding_attention")?.as_object().map(Rope::new)
    }

    /// Combines the keys of old and new files.
    fn rotary_parameters(&self) -> Map<String, Value> {
        let found = self.get("rope_parameters").or_else(|| self.get("rope_scaling"));
        let mut rope = found.and_then(Value::as_object).cloned().unwrap_or_default();
        let from = |keys: &[&str]| self.find(keys).map(|(_, value)| value.clone());
        let theta = from(&[
            "global_rope_theta",
            "rope_global_theta",
            "rope_theta_global",
            "rope_theta",
            "rotary_emb_base",
        ]);
        let windowed_theta = from(&[
            "local_rope_theta",
            "rope_local_theta",
            "rope_theta_local",
            "swa_rope_theta",
            "rope_local_base_freq",
        ]);
        let of_kinds = [
            ("full_attention", theta.clone()),
            ("sliding_attention", windowed_theta.clone().or(theta.clone())),
        ];
        if of_kinds.iter().any(|(kind, _)| rope.contains_key(*kind)) {
            for (kind, theta) in of_kinds {
                let own = rope.get_mut(kind).and_then(Value::as_object_mut);
                if let (Some(own), Some(theta)) = (own, theta) {
                    own.entry("rope_theta").or_insert(theta);
                }
            }
            return rope;
        }
        if let Some(theta) = windowed_theta {
            let own = Map::from_iter([("rope_theta".to_owned(), theta)]);
            rope.insert("sliding_attention".to_owned(), Value::Object(own));
        }
        let mut add = |key: &str, value: Option<Value>| {
            if rope.get(key).is_none_or(Value::is_null)
                && let Some(value) = value
            {
                rope.insert(key.to_owned(), value);
            }
        };
        add("rope_theta", theta);
        add("partial_rotary_factor", from(&["partial_rotary_factor", "rope_pct", "rope_percent"]));
        add("original_max_position_embeddings", from(&["original_max_position_embeddings"]));
        rope
    }
}

/// The quantization of a checkpoint of ModelOpt, if it has a file of its own.
fn modelopt_options(folder: &Path) -> Result<Option<Value>, ConvertError> {
    let Some(mut file) = json::read_object(&folder.join("hf_quant_config.json"))? else {
        return Ok(None);
    };
    let mut options = file.remove("quantization").unwrap_or_default();
    if let Some(options) = options.as_object_mut() {
        options.insert("quant_method".to_owned(), "modelopt".into());
    }
    Ok(options.is_object().then_some(options))
}

/// The size of a head that has the key `key`, unless it is larger than any model's.
pub(crate) fn head_dim(key: &str, size: usize) -> Result<usize, ConvertError> {
    at_most(MAX_HEAD_DIM, key, size)
}

fn at_most(max: usize, key: &str, number: usize) -> Result<usize, ConvertError> {
    match number <= max {
        true => Ok(number),
        false => Err(invalid(key, &format!("at most {max}"), number)),
    }
}

fn count(value: &Value) -> Option<u32> {
    let whole = value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0);
    value.as_u64().or(whole.map(|number| number as u64))?.try_into().ok()
}

/// The numbers of a list.
pub(crate) fn floats(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(Value::as_f64).collect()
}

/// The error of a key, or several with the same meaning, that must exist.
pub(crate) fn missing(keys: &[&str], expected: &'static str) -> ConvertError {
    ConvertError::MissingKey { key: keys.join("\" or \""), expected }
}

/// The error of a key with an unexpected value.
pub(crate) fn invalid(key: &str, expected: &str, found: impl ToString) -> ConvertError {
    let (mut found, limit) = (found.to_string(), 80);
    if found.chars().count() > limit {
        found = found.chars().take(limit).chain(['…']).collect();
    }
    ConvertError::InvalidKey { key: key.to_owned(), expected: expected.to_owned(), found }
}
