//! Paths of fields that serde did not read.

use serde_ignored::Path;
use serde_json::Value;

/// Whether the value at a path is not null; null fields count as missing.
pub(crate) fn is_given(json: &Value, path: &Path<'_>) -> bool {
    !found(json, path).is_null()
}

fn found<'j>(json: &'j Value, path: &Path<'_>) -> &'j Value {
    match path {
        Path::Root => json,
        Path::Seq { parent, index } => &found(json, parent)[*index],
        Path::Map { parent, key } => &found(json, parent)[key.as_str()],
        Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => found(json, parent),
    }
}

/// A path in the notation of type errors, such as `messages[0].role`.
pub(crate) fn path_notation(path: &Path<'_>) -> String {
    match path {
        Path::Root => String::new(),
        Path::Seq { parent, index } => format!("{}[{index}]", path_notation(parent)),
        Path::Map { parent, key } => match path_notation(parent) {
            parent if parent.is_empty() => key.clone(),
            parent => format!("{parent}.{key}"),
        },
        Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => path_notation(parent),
    }
}
