//! The contents of a file as JSON.

use inferno_gguf::{Gguf, MetadataArray, MetadataValue, TensorInfo};
use inferno_model::weight_dtype;
use serde_json::{Map, Value, json};

use super::summary::{FileSummary, TokenizerSummary};

/// Longer arrays are reduced to their type and length.
const MAX_SHOWN_ELEMENTS: usize = 64;

/// Returns the description of a file.
pub(super) fn document(gguf: &Gguf, summary: &FileSummary, tensors: bool) -> Value {
    let types: Map<String, Value> = summary
        .types
        .iter()
        .map(|(ggml_type, share)| {
            let share = json!({
                "tensors": share.num_tensors,
                "parameters": share.num_parameters,
                "bytes": share.num_bytes,
            });
            (ggml_type.name().to_owned(), share)
        })
        .collect();
    let shape: Map<String, Value> = summary
        .shape
        .iter()
        .map(|(label, value)| (label.replace([' ', '-'], "_"), (*value).into()))
        .collect();
    let mut document = json!({
        "files": gguf.paths().map(|path| path.display().to_string()).collect::<Vec<_>>(),
        "bytes": gguf.file_bytes(),
        "version": gguf.version(),
        "alignment": gguf.alignment(),
        "architecture": summary.architecture,
        "name": summary.name,
        "parameters": summary.num_parameters,
        "bits_per_weight": summary.bits_per_weight(),
        "shape": shape,
        "types": types,
        "tokenizer": summary.tokenizer.as_ref().map(tokenizer),
        "metadata": gguf
            .metadata()
            .iter()
            .map(|(key, value)| (key.to_owned(), abbreviated(value)))
            .collect::<Map<_, _>>(),
    });
    if tensors {
        document["tensors"] = gguf.tensors().iter().map(|info| tensor(gguf, info)).collect();
    }
    document
}

fn tokenizer(tokenizer: &TokenizerSummary) -> Value {
    let special = match &tokenizer.special {
        Ok(special) => special
            .iter()
            .map(|(role, id, text)| json!({"role": role, "id": id, "text": text}))
            .collect(),
        Err(error) => json!({"error": error}),
    };
    json!({
        "model": tokenizer.model,
        "pre": tokenizer.pre,
        "vocab_size": tokenizer.vocab_size,
        "chat_template": tokenizer.has_chat_template,
        "special": special,
    })
}

fn tensor(gguf: &Gguf, info: &TensorInfo) -> Value {
    json!({
        "name": info.name(),
        "type": info.ggml_type().name(),
        "computable": weight_dtype(gguf, info).is_some(),
        "dims": info.dims(),
        "bytes": info.num_bytes(),
        "offset": info.file_offset(),
        "shard": info.shard() + 1,
    })
}

fn abbreviated(value: &MetadataValue) -> Value {
    match value {
        MetadataValue::Array(array) if array.len() > MAX_SHOWN_ELEMENTS => {
            json!({"array_of": array.element_type().name(), "length": array.len()})
        }
        value => self::value(value),
    }
}

/// Converts a metadata value. NaN and infinities become null.
pub(super) fn value(value: &MetadataValue) -> Value {
    match value {
        MetadataValue::U8(value) => (*value).into(),
        MetadataValue::I8(value) => (*value).into(),
        MetadataValue::U16(value) => (*value).into(),
        MetadataValue::I16(value) => (*value).into(),
        MetadataValue::U32(value) => (*value).into(),
        MetadataValue::I32(value) => (*value).into(),
        MetadataValue::F32(value) => float(*value),
        MetadataValue::Bool(value) => (*value).into(),
        MetadataValue::String(text) => text.as_str().into(),
        MetadataValue::Array(elements) => array(elements),
        MetadataValue::U64(value) => (*value).into(),
        MetadataValue::I64(value) => (*value).into(),
        MetadataValue::F64(value) => (*value).into(),
    }
}

fn array(array: &MetadataArray) -> Value {
    match array {
        MetadataArray::U8(values) => values.as_slice().into(),
        MetadataArray::I8(values) => values.as_slice().into(),
        MetadataArray::U16(values) => values.as_slice().into(),
        MetadataArray::I16(values) => values.as_slice().into(),
        MetadataArray::U32(values) => values.as_slice().into(),
        MetadataArray::I32(values) => values.as_slice().into(),
        MetadataArray::F32(values) => values.iter().copied().map(float).collect(),
        MetadataArray::Bool(values) => values.as_slice().into(),
        MetadataArray::String(strings) => strings.iter().collect(),
        MetadataArray::Array(arrays) => arrays.iter().map(self::array).collect(),
        MetadataArray::U64(values) => values.as_slice().into(),
        MetadataArray::I64(values) => values.as_slice().into(),
        MetadataArray::F64(values) => values.as_slice().into(),
    }
}

/// Returns the shortest decimal that parses to the same single-precision value.
pub(super) fn float(value: f32) -> Value {
    value.to_string().parse::<f64>().unwrap_or(f64::NAN).into()
}
