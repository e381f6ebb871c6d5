//! The metadata that describe the model to people, and recommendations for sampling.

use std::path::Path;

use inferno_gguf::Metadata;
use serde_json::Value;

use crate::plan::PlannedTensor;
use crate::{ConvertError, json};

/// Keys of `generation_config.json` and of the metadata.
const SAMPLING: [(&str, &str); 6] = [
    ("top_k", "top_k"),
    ("top_p", "top_p"),
    ("min_p", "min_p"),
    ("temperature", "temp"),
    ("penalty_repeat", "penalty_repeat"),
    ("repetition_penalty", "penalty_repeat"),
];

/// The general metadata of a model of `architecture`.
pub(crate) fn metadata(
    folder: &Path,
    architecture: &str,
    tensors: &[PlannedTensor],
) -> Result<Metadata, ConvertError> {
    let mut metadata = Metadata::new();
    metadata.insert("general.architecture", architecture);
    metadata.insert("general.type", "model");
    let generation = json::read_object(&folder.join("generation_config.json"))?.unwrap_or_default();
    for (from, key) in SAMPLING {
        let key = format!("general.sampling.{key}");
        let value = generation.get(from).and_then(Value::as_f64);
        match value {
            Some(_) if metadata.contains(&key) => {}
            Some(value) if from == "top_k" => {
                metadata.insert(key, value as i32);
            }
            Some(value) => {
                metadata.insert(key, value as f32);
            }
            None => {}
        }
    }
    // Of a relative path such as `.`, the name that the folder really has.
    let whole = folder.canonicalize();
    let whole = whole.as_deref().unwrap_or(folder);
    let name = whole.file_name().and_then(|name| name.to_str()).unwrap_or("model");
    metadata.insert("general.name", title(name));
    metadata.insert("general.size_label", size_label(tensors));
    Ok(metadata)
}

/// A folder's name as a title: words with capitals, unless they contain some already or are versions.
fn title(name: &str) -> String {
    let is_version = |word: &str| {
        word.starts_with(|char: char| char.is_ascii_digit())
            || word.strip_prefix('v').is_some_and(|rest| {
                rest.split('.')
                    .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
            })
    };
    let words = name.split(['-', ' ']).filter(|word| !word.is_empty()).map(|word| {
        let is_lower =
            word.chars().any(char::is_lowercase) && !word.chars().any(char::is_uppercase);
        if !is_lower || is_version(word) {
            return word.to_owned();
        }
        let mut in_word = false;
        let capitalized = word.chars().map(|char| {
            let first = !in_word;
            in_word = char.is_alphabetic();
            if first { char.to_ascii_uppercase() } else { char }
        });
        capitalized.collect()
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The number of parameters, rounded; for mixtures, of one expert of each layer with the number of experts.
fn size_label(tensors: &[PlannedTensor]) -> String {
    let (mut shared, mut expert, mut sum, mut count) = (0_usize, 0_usize, 0_usize, 0_usize);
    for tensor in tensors {
        let size: usize = tensor.shape.iter().product();
        let axis = if tensor.name.contains(".bias") { 2 } else { 3 };
        match tensor.name.contains("_exps.") && tensor.shape.len() >= 3 {
            true => {
                let experts = tensor.shape[tensor.shape.len() - axis];
                expert += size / experts.max(1);
                sum += experts;
                count += 1;
            }
            false => shared += size,
        }
    }
    match sum.checked_div(count) {
        Some(experts) if experts > 0 => format!("{experts}x{}", rounded(shared + expert)),
        _ => rounded(shared + expert),
    }
}

/// At least two digits and a unit.
fn rounded(parameters: usize) -> String {
    let parameters = parameters as f64;
    let units = [(1e12, "T"), (1e9, "B"), (1e6, "M")];
    let found = units.into_iter().find(|(unit, _)| parameters > *unit);
    let (unit, suffix) = found.unwrap_or((1e3, "K"));
    let scaled = parameters / unit;
    let digits = match scaled.round_ties_even() as u64 {
        0 => 0,
        whole => whole.to_string().len(),
    };
    format!("{scaled:.*}{suffix}", 2_usize.saturating_sub(digits))
}
