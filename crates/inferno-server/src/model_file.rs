//! Facts about the file of the served model, which Ollama's and llama-server's APIs report.

use std::time::SystemTime;

use inferno_engine::Fingerprint;
use inferno_gguf::{FileWatch, GgmlType, Gguf, Metadata, MetadataValue};
use serde_json::{Map, Value, json};

/// Facts about the file of a model.
#[derive(Debug, Clone, Default)]
pub struct ModelFile {
    /// Path of the first file; empty if the model is part of the program.
    pub(crate) path: String,
    /// Size of all files.
    pub(crate) num_bytes: u64,
    pub(crate) modified: Option<SystemTime>,
    /// 16 hexadecimal digits that differ between models.
    pub(crate) digest: String,
    pub(crate) architecture: String,
    pub(crate) num_parameters: u64,
    /// The type of most of its bytes, such as `Q4_K`.
    pub(crate) weight_type: &'static str,
    /// All metadata but arrays, whose values are null.
    pub(crate) metadata: Map<String, Value>,
    pub(crate) chat_template: String,
    pub(crate) license: String,
    /// Detects changes of the file.
    pub(crate) watch: FileWatch,
}

impl ModelFile {
    /// Collects the facts from a file's header.
    pub fn of(checkpoint: &Gguf) -> Self {
        let metadata = checkpoint.metadata();
        let text = |key: &str| metadata.optional::<String>(key).ok().flatten().unwrap_or_default();
        let architecture = text("general.architecture");
        let path = checkpoint.paths().next();
        let modified = path.and_then(|path| path.metadata().ok()?.modified().ok());
        Self {
            path: path.map_or_else(String::new, |path| path.display().to_string()),
            num_bytes: checkpoint.file_bytes(),
            modified,
            digest: format!("{:016x}", Fingerprint::of_model(checkpoint, None).0),
            num_parameters: checkpoint.tensors().iter().map(|it| it.num_elements() as u64).sum(),
            weight_type: weight_type(checkpoint),
            metadata: scalars(metadata),
            chat_template: text("tokenizer.chat_template"),
            license: text("general.license"),
            architecture,
            watch: checkpoint.watch(),
        }
    }
}

/// The type of most bytes.
fn weight_type(checkpoint: &Gguf) -> &'static str {
    let mut num_bytes = std::collections::BTreeMap::<GgmlType, usize>::new();
    for tensor in checkpoint.tensors() {
        *num_bytes.entry(tensor.ggml_type()).or_default() += tensor.num_bytes();
    }
    let most = num_bytes.into_iter().max_by_key(|&(_, bytes)| bytes);
    most.map_or("unknown", |(ggml_type, _)| ggml_type.name())
}

fn scalars(metadata: &Metadata) -> Map<String, Value> {
    let value = |value: &MetadataValue| match value {
        MetadataValue::String(text) => json!(text),
        MetadataValue::Array(_) => Value::Null,
        // What is not a number in JSON is null.
        number => serde_json::from_str(&number.to_string()).unwrap_or_default(),
    };
    metadata.iter().map(|(key, it)| (key.to_owned(), value(it))).collect()
}
